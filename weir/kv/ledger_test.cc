#include "weir/kv/ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "weir/base/random.h"

namespace weir::kv {
namespace {

constexpr Namespace kHere{1};
constexpr Namespace kThere{2};

std::vector<TokenId> count_from(TokenId first, std::size_t n) {
  std::vector<TokenId> tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

/// Runs a whole prompt through: open, reserve, compute all, close. Returns the cached tokens.
std::uint32_t serve(Ledger& ledger, std::uint64_t id, Namespace space,
                    const std::vector<TokenId>& tokens) {
  const auto cached = ledger.open(SequenceId{id}, space, 1, tokens);
  EXPECT_TRUE(ledger.reserve(SequenceId{id}, static_cast<std::uint32_t>(tokens.size())));
  ledger.copies_done();
  ledger.close(SequenceId{id}, tokens, static_cast<std::uint32_t>(tokens.size()));
  ledger.check();
  return cached;
}

TEST(Ledger, TheSecondRequestOfAPromptPrefillsOneTokenOnly) {
  Ledger ledger({.pages = 16});
  const auto prompt = count_from(0, 52);
  EXPECT_EQ(serve(ledger, 1, kHere, prompt), 0U);
  EXPECT_EQ(ledger.match(kHere, prompt).tokens, 51U);
  EXPECT_EQ(serve(ledger, 2, kHere, prompt), 51U);
  EXPECT_EQ(ledger.pool().held(), 0U);
}

TEST(Ledger, APartlyFilledPageIsRememberedOnceHoweverManyCameBetween) {
  Ledger ledger({.pages = 64});
  const auto prompt = count_from(0, 3);
  serve(ledger, 1, kHere, prompt);
  // More siblings than the search for a partly equal page looks at.
  for (TokenId i = 0; i < 20; ++i)
    serve(ledger, 10 + static_cast<std::uint64_t>(i), kHere, count_from(1000 + 10 * i, 3));
  serve(ledger, 2, kHere, prompt);
  EXPECT_EQ(ledger.pool().cached(), 21U);
}

TEST(Ledger, NamespacesNeverShare) {
  Ledger ledger({.pages = 16});
  const auto prompt = count_from(0, 50);
  serve(ledger, 1, kHere, prompt);
  EXPECT_EQ(serve(ledger, 2, kThere, prompt), 0U);
}

TEST(Ledger, APartlyEqualPageIsCopiedUpToTheFirstDifference) {
  Ledger ledger({.pages = 16});
  serve(ledger, 1, kHere, count_from(0, 32));
  auto other = count_from(0, 32);
  other[20] = 999;
  EXPECT_EQ(ledger.open(SequenceId{2}, kHere, 1, other), 20U);
  ASSERT_EQ(ledger.copies().size(), 1U);
  EXPECT_EQ(ledger.copies()[0].slots, 4U);
  ledger.copies_done();
  ledger.close(SequenceId{2}, other, 20);
  ledger.check();
}

TEST(Ledger, AForkCopiesTheSharedTailBeforeItWrites) {
  Ledger ledger({.pages = 8, .prefix_cache = false});
  const auto prompt = count_from(0, 20);
  ledger.open(SequenceId{1}, kHere, 1, prompt);
  ASSERT_TRUE(ledger.reserve(SequenceId{1}, 20));
  ledger.fork(SequenceId{1}, SequenceId{2}, 2, 20);
  EXPECT_EQ(ledger.pool().held(), 2U);
  EXPECT_EQ(ledger.pages_needed(SequenceId{2}, 21), 1U);
  ASSERT_TRUE(ledger.reserve(SequenceId{2}, 21));
  EXPECT_EQ(ledger.table(SequenceId{1})[0], ledger.table(SequenceId{2})[0]);
  EXPECT_NE(ledger.table(SequenceId{1})[1], ledger.table(SequenceId{2})[1]);
  EXPECT_EQ(ledger.pages_needed(SequenceId{1}, 21),
            1U);  // The source is pinned until the copy is done.
  ledger.copies_done();
  EXPECT_EQ(ledger.pages_needed(SequenceId{1}, 21), 0U);
  ledger.close(SequenceId{1}, prompt, 20);
  ledger.close(SequenceId{2}, prompt, 20);
  EXPECT_EQ(ledger.pool().free(), 8U);
}

TEST(Ledger, ARefusedReservationTakesNothing) {
  Ledger ledger({.pages = 4});
  const auto prompt = count_from(0, 65);
  ledger.open(SequenceId{1}, kHere, 1, prompt);
  EXPECT_FALSE(ledger.reserve(SequenceId{1}, 65));
  EXPECT_EQ(ledger.pool().free(), 4U);
  ledger.close(SequenceId{1}, prompt, 0);
}

TEST(Ledger, EvictionTakesLowPriorityFirstThenTheLeastRecentlyUsed) {
  Ledger ledger({.pages = 3});
  const auto serve_one = [&](std::uint64_t id, TokenId first, std::uint8_t priority) {
    const auto tokens = count_from(first, 16);
    ledger.open(SequenceId{id}, kHere, priority, tokens);
    ASSERT_TRUE(ledger.reserve(SequenceId{id}, 16));
    ledger.close(SequenceId{id}, tokens, 16);
  };
  serve_one(1, 0, 2);
  serve_one(2, 100, 1);
  serve_one(3, 200, 1);
  serve_one(4, 300, 1);  // Needs a page: 100 goes, although 0 is older.
  EXPECT_GT(ledger.match(kHere, count_from(0, 17)).tokens, 0U);
  EXPECT_EQ(ledger.match(kHere, count_from(100, 17)).tokens, 0U);
  EXPECT_GT(ledger.match(kHere, count_from(200, 17)).tokens, 0U);
  ledger.check();
}

TEST(Ledger, EqualPagesComputedAtOnceBecomeOne) {
  Ledger ledger({.pages = 8});
  const auto prompt = count_from(0, 32);
  for (std::uint64_t id : {1, 2}) {
    ledger.open(SequenceId{id}, kHere, 1, prompt);
    ASSERT_TRUE(ledger.reserve(SequenceId{id}, 32));
  }
  EXPECT_EQ(ledger.pool().held(), 4U);
  ledger.publish(SequenceId{1}, prompt, 32);
  ledger.publish(SequenceId{2}, prompt, 32);
  EXPECT_EQ(ledger.pool().held(), 2U);
  EXPECT_EQ(ledger.stats().merged_pages, 2U);
  ledger.check();
}

/// A memory that stores in every slot what the KV there would depend on: the namespace and the
/// whole prefix. Whatever the ledger shares, copies, merges or evicts, a sequence must find its own
/// prefixes.
class FakeArena {
 public:
  explicit FakeArena(std::uint32_t pages) : slots_(pages * kPageTokens, 0) {}
  std::uint64_t& at(PageId page, std::uint32_t slot) {
    return slots_[index(page) * kPageTokens + slot];
  }
  void carry_out(std::span<const PageCopy> copies) {
    for (const PageCopy& c : copies) {
      for (std::uint32_t i = 0; i < c.slots; ++i) at(c.to, i) = at(c.from, i);
    }
  }

 private:
  std::vector<std::uint64_t> slots_;
};

struct Live {
  Namespace space;
  std::vector<TokenId> tokens;
  std::vector<std::uint64_t>
      prefixes;  ///< Of each token: a hash of the space and all tokens up to it.
  std::uint32_t computed = 0;

  void append(TokenId token) {
    const std::uint64_t before =
        prefixes.empty() ? static_cast<std::uint64_t>(space) : prefixes.back();
    const auto h = philox(before, static_cast<std::uint64_t>(token));
    tokens.push_back(token);
    prefixes.push_back(std::uint64_t{h[0]} << 32 | h[1]);
  }
};

/// `prompt` draws one from a random number. Returns the tokens that needed no prefill.
template <class Prompt>
std::uint64_t random_operations(Ledger& ledger, std::uint64_t seed, std::uint64_t steps,
                                std::uint32_t max_cached, Prompt prompt) {
  FakeArena arena(ledger.pool().total());
  std::map<std::uint64_t, Live> live;
  std::uint64_t next_id = 0;
  std::uint64_t reused = 0;

  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto r = philox(seed, step);
    const auto pick = [&] {
      return std::next(live.begin(), static_cast<std::ptrdiff_t>(r[1] % live.size()));
    };
    const std::uint32_t what = r[0] % 8;
    if (what == 0 || live.empty()) {
      if (live.size() < 6) {
        Live s{r[2] % 4 == 0 ? kThere : kHere, {}, {}, 0};
        for (const TokenId token : prompt(r[2] >> 8, r[3])) s.append(token);
        const SequenceId id{next_id++};
        const auto expected = ledger.match(s.space, s.tokens).tokens;
        s.computed =
            ledger.open(id, s.space, static_cast<std::uint8_t>((r[3] >> 16) % 3), s.tokens);
        arena.carry_out(ledger.copies());
        ledger.copies_done();
        EXPECT_LE(s.computed, expected);
        EXPECT_LT(s.computed, s.tokens.size());
        reused += s.computed;
        live.emplace(static_cast<std::uint64_t>(id), std::move(s));
      }
    } else if (what <= 4) {  // Compute some positions, appending a token when all are computed.
      auto& [id, s] = *pick();
      if (s.computed == s.tokens.size()) s.append(static_cast<TokenId>(r[2] % 3));
      const auto left = static_cast<std::uint32_t>(s.tokens.size()) - s.computed;
      const std::uint32_t upto = s.computed + 1 + r[3] % left;
      const bool fits = ledger.pages_needed(SequenceId{id}, upto) <= ledger.available();
      EXPECT_EQ(ledger.reserve(SequenceId{id}, upto), fits);
      arena.carry_out(ledger.copies());
      ledger.copies_done();
      if (fits) {
        const auto table = ledger.table(SequenceId{id});
        for (std::uint32_t p = s.computed; p < upto; ++p) {
          EXPECT_EQ(ledger.pool().references(table[p / kPageTokens]), 1U)
              << "wrote to a shared page";
          arena.at(table[p / kPageTokens], p % kPageTokens) = s.prefixes[p];
        }
        s.computed = upto;
        ledger.publish(SequenceId{id}, s.tokens, s.computed);
      }
    } else if (what == 5) {
      if (live.size() < 6) {
        const auto& [id, s] = *pick();
        Live copy = s;
        copy.computed = s.computed == 0 ? 0 : r[2] % (s.computed + 1);
        ledger.fork(SequenceId{id}, SequenceId{next_id}, static_cast<std::uint8_t>(r[2] % 3),
                    copy.computed);
        live.emplace(next_id++, std::move(copy));
      }
    } else {
      const auto it = pick();
      ledger.close(SequenceId{it->first}, it->second.tokens, it->second.computed);
      live.erase(it);
    }
    ledger.check();
    EXPECT_LE(ledger.pool().cached(), max_cached);
    for (const auto& [id, s] : live) {
      const auto table = ledger.table(SequenceId{id});
      for (std::uint32_t p = 0; p < s.computed; ++p) {
        EXPECT_EQ(arena.at(table[p / kPageTokens], p % kPageTokens), s.prefixes[p])
            << "step " << step << ", sequence " << id << ", position " << p;
      }
    }
  }
  for (const auto& [id, s] : live) ledger.close(SequenceId{id}, s.tokens, s.computed);
  EXPECT_EQ(ledger.pool().held(), 0U);
  return reused;
}

TEST(Ledger, AMillionRandomOperationsFindEveryPrefixWhereItBelongs) {
  Ledger ledger({.pages = 24, .max_cached = 16});
  // Few distinct prompts over three tokens, so that prefixes meet often.
  const auto reused =
      random_operations(ledger, 42, 1'000'000, 16, [](std::uint32_t kind, std::uint32_t size) {
        std::vector<TokenId> tokens(1 + size % 70);
        for (std::uint32_t i = 0; i < tokens.size(); ++i)
          tokens[i] = static_cast<TokenId>(kind % 5 == 0 && i > 18 ? i % 3 : 0);
        return tokens;
      });
  EXPECT_GT(reused, 1'000'000U);
  EXPECT_GT(ledger.stats().evicted_pages, 1000U);
  EXPECT_GT(ledger.stats().merged_pages, 100U);
}

TEST(Ledger, ManyShortPromptsThatComeBackFindTheirOwnPages) {
  Ledger ledger({.pages = 200});
  const auto reused =
      random_operations(ledger, 43, 100'000, 200, [](std::uint32_t kind, std::uint32_t size) {
        std::vector<TokenId> tokens(1 + size % 24);
        for (std::uint32_t i = 0; i < tokens.size(); ++i)
          tokens[i] = static_cast<TokenId>(kind % 80 + i);
        return tokens;
      });
  EXPECT_GT(reused, 10'000U);
}

}  // namespace
}  // namespace weir::kv
