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
  Ledger ledger({.units = 16});
  const auto prompt = count_from(0, 52);
  EXPECT_EQ(serve(ledger, 1, kHere, prompt), 0U);
  EXPECT_EQ(ledger.match(kHere, prompt).tokens, 51U);
  EXPECT_EQ(serve(ledger, 2, kHere, prompt), 51U);
  EXPECT_EQ(ledger.pool().held(), 0U);
}

TEST(Ledger, APartlyFilledPageIsRememberedOnceHoweverManyCameBetween) {
  Ledger ledger({.units = 64});
  const auto prompt = count_from(0, 3);
  serve(ledger, 1, kHere, prompt);
  // More siblings than the search for a partly equal page looks at.
  for (TokenId i = 0; i < 20; ++i)
    serve(ledger, 10 + static_cast<std::uint64_t>(i), kHere, count_from(1000 + 10 * i, 3));
  serve(ledger, 2, kHere, prompt);
  EXPECT_EQ(ledger.pool().cached(), 21U);
}

TEST(Ledger, NamespacesNeverShare) {
  Ledger ledger({.units = 16});
  const auto prompt = count_from(0, 50);
  serve(ledger, 1, kHere, prompt);
  EXPECT_EQ(serve(ledger, 2, kThere, prompt), 0U);
}

TEST(Ledger, APartlyEqualPageIsCopiedUpToTheFirstDifference) {
  Ledger ledger({.units = 16});
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
  Ledger ledger({.units = 8, .prefix_cache = false});
  const auto prompt = count_from(0, 20);
  ledger.open(SequenceId{1}, kHere, 1, prompt);
  ASSERT_TRUE(ledger.reserve(SequenceId{1}, 20));
  ledger.fork(SequenceId{1}, SequenceId{2}, 2, 20);
  EXPECT_EQ(ledger.pool().held(), 2U);
  EXPECT_EQ(ledger.units_needed(SequenceId{2}, 21), 1U);
  ASSERT_TRUE(ledger.reserve(SequenceId{2}, 21));
  EXPECT_EQ(ledger.table(SequenceId{1})[0], ledger.table(SequenceId{2})[0]);
  EXPECT_NE(ledger.table(SequenceId{1})[1], ledger.table(SequenceId{2})[1]);
  EXPECT_EQ(ledger.units_needed(SequenceId{1}, 21),
            1U);  // The source is pinned until the copy is done.
  ledger.copies_done();
  EXPECT_EQ(ledger.units_needed(SequenceId{1}, 21), 0U);
  ledger.close(SequenceId{1}, prompt, 20);
  ledger.close(SequenceId{2}, prompt, 20);
  EXPECT_EQ(ledger.pool().free(), 8U);
}

TEST(Ledger, ARefusedReservationTakesNothing) {
  Ledger ledger({.units = 4});
  const auto prompt = count_from(0, 65);
  ledger.open(SequenceId{1}, kHere, 1, prompt);
  EXPECT_FALSE(ledger.reserve(SequenceId{1}, 65));
  EXPECT_EQ(ledger.pool().free(), 4U);
  ledger.close(SequenceId{1}, prompt, 0);
}

TEST(Ledger, EvictionTakesLowPriorityFirstThenTheLeastRecentlyUsed) {
  Ledger ledger({.units = 3});
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
  Ledger ledger({.units = 8});
  const auto prompt = count_from(0, 32);
  for (std::uint64_t id : {1, 2}) {
    ledger.open(SequenceId{id}, kHere, 1, prompt);
    ASSERT_TRUE(ledger.reserve(SequenceId{id}, 32));
  }
  EXPECT_EQ(ledger.pool().held(), 4U);
  ledger.advance(SequenceId{1}, prompt, 32);
  ledger.advance(SequenceId{2}, prompt, 32);
  EXPECT_EQ(ledger.pool().held(), 2U);
  EXPECT_EQ(ledger.stats().merged_pages, 2U);
  ledger.check();
}

/// 3 whole units in 5, as of 6 global and 4 local layers, which see 40 positions.
constexpr KvUnits kMixed{.layers = 2, .whole = 3, .windowed = 2, .window = 40};

/// Reads `prompt` in one chunk, then answers one token after another, up to `positions`.
std::vector<TokenId> converse(Ledger& ledger, std::uint64_t id, std::vector<TokenId> prompt,
                              std::uint32_t positions) {
  auto computed = ledger.open(SequenceId{id}, kHere, 1, prompt);
  while (computed < positions) {
    const auto size = static_cast<std::uint32_t>(prompt.size());
    computed = computed < size ? std::min(size, positions) : computed + 1;
    while (prompt.size() < computed) prompt.push_back(static_cast<TokenId>(prompt.size()));
    EXPECT_TRUE(ledger.reserve(SequenceId{id}, computed));
    ledger.copies_done();
    ledger.advance(SequenceId{id}, prompt, computed);
  }
  ledger.check();
  return prompt;
}

TEST(Ledger, AConversationHoldsWindowedUnitsForItsWindowOnly) {
  for (const bool prefix_cache : {false, true}) {
    Ledger ledger({.units = 500, .shape = kMixed, .prefix_cache = prefix_cache});
    const auto tokens = converse(ledger, 1, count_from(0, 100), 1000);
    // 63 pages, of which those of positions 960 .. 999 are 3.
    EXPECT_EQ(ledger.held(), 63U * 3 + 3 * 2);
    EXPECT_EQ(ledger.held_by(SequenceId{1}), ledger.held());
    EXPECT_EQ(ledger.held_only_by(SequenceId{1}), ledger.held());
    EXPECT_EQ(ledger.held_from(1), ledger.held());
    EXPECT_EQ(ledger.held_from(2), 0U);
    EXPECT_EQ(ledger.cached(), prefix_cache ? 60U * 2 : 0);
    ledger.close(SequenceId{1}, tokens, 1000);
    ledger.check();
    EXPECT_EQ(ledger.held(), 0U);
  }
}

TEST(Ledger, APassedWindowIsTheFirstToBeEvicted) {
  Ledger ledger({.units = 30 * 5, .shape = kMixed});
  serve(ledger, 1, kHere, count_from(5000, 64));  // 4 pages, the oldest.
  const auto tokens = converse(ledger, 2, count_from(0, 10), 160);
  EXPECT_EQ(ledger.cached(), 4U * 5 + 7 * 2);
  ASSERT_EQ(ledger.units().free(), 150U - 4 * 5 - 10 * 5);
  const auto other = count_from(9000, 18 * 16);  // 90 units: 80 are free.
  ledger.open(SequenceId{3}, kHere, 1, other);
  ASSERT_TRUE(ledger.reserve(SequenceId{3}, 18 * 16));
  EXPECT_EQ(ledger.evicted().windows, 5U);
  EXPECT_EQ(ledger.evicted().pages, 0U);
  EXPECT_EQ(ledger.match(kHere, count_from(5000, 65)).tokens, 64U);
  ledger.check();
}

TEST(Ledger, APromptIsFoundAsFarAsItsLastWindowIsThere) {
  Ledger ledger({.units = 30 * 5, .shape = kMixed});
  const auto tokens = converse(ledger, 1, count_from(0, 10), 320);
  const auto begins = [&](std::size_t n) {
    return ledger.match(kHere, std::span(tokens).first(n + 1)).tokens;
  };
  EXPECT_EQ(begins(320 - 1), 319U);
  EXPECT_EQ(begins(160), 160U);
  ledger.open(SequenceId{2}, kThere, 1, tokens);
  ASSERT_TRUE(ledger.reserve(SequenceId{2}, 11 * 16));
  // Ten pages' windowed units had to make 5 room beside the 50 that were free.
  EXPECT_EQ(ledger.evicted().windows, 3U);
  EXPECT_EQ(begins(160), 160U);
  EXPECT_EQ(begins(48), 0U);   // Pages 0 .. 2 are gone, and 40 positions reach into them.
  EXPECT_EQ(begins(80), 0U);   // As they do from here: position 40 is in page 2.
  EXPECT_EQ(begins(96), 96U);  // From here they reach position 56.
  // What is found is really there.
  const auto prompt = std::vector<TokenId>(tokens.begin(), tokens.begin() + 97);
  EXPECT_EQ(ledger.open(SequenceId{3}, kHere, 1, prompt), 96U);
  ledger.check();
}

TEST(Ledger, AForkNeedsTheWindowBeforeIt) {
  for (const bool prefix_cache : {false, true}) {
    Ledger ledger({.units = 60 * 5, .shape = kMixed, .prefix_cache = prefix_cache});
    const auto tokens = converse(ledger, 1, count_from(0, 80), 80);
    // The last row of the prompt can be computed again by as many as want another answer to it.
    EXPECT_TRUE(ledger.can_fork(SequenceId{1}, 79));
    ledger.fork(SequenceId{1}, SequenceId{2}, 1, 79);
    const auto more = count_from(0, 200);
    ASSERT_TRUE(ledger.reserve(SequenceId{1}, 200));
    ledger.copies_done();
    ledger.advance(SequenceId{1}, more, 200);
    // It has passed what the second one holds, and has a last page of its own where that was not
    // remembered.
    EXPECT_EQ(ledger.can_fork(SequenceId{1}, 79), prefix_cache);
    ledger.check();
    ledger.close(SequenceId{2}, tokens, 79);
    EXPECT_EQ(ledger.can_fork(SequenceId{1}, 79), prefix_cache);
    ledger.check();
  }
}

TEST(Ledger, ATwinWhoseWindowIsGoneGetsTheOthers) {
  Ledger ledger({.units = 20 * 5, .shape = kMixed});
  const auto tokens = count_from(0, 160);
  for (std::uint64_t id : {1, 2}) ledger.open(SequenceId{id}, kHere, 1, tokens);
  ASSERT_TRUE(ledger.reserve(SequenceId{1}, 160));
  ledger.advance(SequenceId{1}, tokens, 160);  // It has passed 7 of 10 pages,
  ASSERT_TRUE(ledger.reserve(SequenceId{2}, 80));
  ledger.fork(SequenceId{2}, SequenceId{3}, 1, 0);
  ledger.open(SequenceId{4}, kThere, 1, tokens);
  ASSERT_TRUE(ledger.reserve(SequenceId{4}, 7 * 16));  // of which the first 5 lose their windows.
  ASSERT_EQ(ledger.evicted().windows, 5U);
  ledger.advance(SequenceId{2}, tokens, 80);
  EXPECT_EQ(ledger.stats().merged_pages, 5U);
  ledger.check();
  EXPECT_EQ(ledger.match(kHere, count_from(0, 81)).tokens, 80U);
  for (std::uint64_t id : {1, 2, 3, 4}) ledger.close(SequenceId{id}, tokens, 0);
  ledger.check();
}

/// A memory that stores in every slot what the KV there would depend on: the namespace and the
/// whole prefix. Whatever the ledger shares, copies, merges or evicts, a sequence must find its own
/// prefixes.
class FakeArena {
 public:
  explicit FakeArena(const Ledger& ledger)
      : units_(ledger.units()), slots_(units_.total() * kPageTokens, 0) {}
  void write(PageId page, std::uint32_t slot, std::uint64_t value) {
    each_unit(page, [&](std::uint32_t, UnitId unit) { at(unit, slot) = value; });
  }
  /// Whether a row that sees the slot, through windows too or not, finds the value.
  [[nodiscard]] bool holds(PageId page, std::uint32_t slot, std::uint64_t value, bool in_window) {
    bool all = true;
    each_unit(page, [&](std::uint32_t i, UnitId unit) {
      if (i < units_.shape().whole || in_window) all &= unit != kNoUnit && at(unit, slot) == value;
    });
    return all;
  }
  void carry_out(std::span<const PageCopy> copies) {
    for (const PageCopy& c : copies) {
      each_unit(c.from, [&](std::uint32_t i, UnitId from) {
        const UnitId to = units_.table()[index(c.to) * units_.shape().of_page() + i];
        for (std::uint32_t slot = 0; slot < c.slots; ++slot) at(to, slot) = at(from, slot);
      });
    }
  }

 private:
  template <class F>
  void each_unit(PageId page, const F& f) {
    const std::uint32_t of_page = units_.shape().of_page();
    for (std::uint32_t i = 0; i < of_page; ++i) f(i, units_.table()[index(page) * of_page + i]);
  }
  std::uint64_t& at(UnitId unit, std::uint32_t slot) {
    return slots_.at(std::size_t{index(unit)} * kPageTokens + slot);
  }
  const UnitTable& units_;
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
  FakeArena arena(ledger);
  const KvUnits& shape = ledger.units().shape();
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
      const bool fits = ledger.units_needed(SequenceId{id}, upto) <= ledger.available();
      EXPECT_EQ(ledger.reserve(SequenceId{id}, upto), fits);
      arena.carry_out(ledger.copies());
      ledger.copies_done();
      if (fits) {
        const auto table = ledger.table(SequenceId{id});
        for (std::uint32_t p = s.computed; p < upto; ++p) {
          EXPECT_EQ(ledger.pool().references(table[p / kPageTokens]), 1U)
              << "wrote to a shared page";
          arena.write(table[p / kPageTokens], p % kPageTokens, s.prefixes[p]);
        }
        EXPECT_LE(ledger.held_by(SequenceId{id}), shape.of_sequence(upto, upto - s.computed));
        s.computed = upto;
        ledger.advance(SequenceId{id}, s.tokens, s.computed);
      }
    } else if (what == 5) {
      if (live.size() < 6) {
        const auto& [id, s] = *pick();
        Live copy = s;
        copy.computed = s.computed == 0 ? 0 : r[2] % (s.computed + 1);
        if (!ledger.can_fork(SequenceId{id}, copy.computed)) {
          EXPECT_GT(s.computed, shape.window);
          continue;
        }
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
    EXPECT_LE(ledger.cached(), max_cached);
    for (const auto& [id, s] : live) {
      const auto table = ledger.table(SequenceId{id});
      for (std::uint32_t p = 0; p < s.computed; ++p) {
        const bool in_window = shape.windowed > 0 && p + shape.window >= s.computed;
        EXPECT_TRUE(arena.holds(table[p / kPageTokens], p % kPageTokens, s.prefixes[p], in_window))
            << "step " << step << ", sequence " << id << ", position " << p;
      }
    }
  }
  for (const auto& [id, s] : live) ledger.close(SequenceId{id}, s.tokens, s.computed);
  EXPECT_EQ(ledger.held(), 0U);
  return reused;
}

/// Few distinct prompts over three tokens, so that prefixes meet often.
std::vector<TokenId> one_of_few(std::uint32_t kind, std::uint32_t size) {
  std::vector<TokenId> tokens(1 + size % 70);
  for (std::uint32_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<TokenId>(kind % 5 == 0 && i > 18 ? i % 3 : 0);
  return tokens;
}

TEST(Ledger, AMillionRandomOperationsFindEveryPrefixWhereItBelongs) {
  Ledger ledger({.units = 24, .max_cached = 16});
  EXPECT_GT(random_operations(ledger, 42, 1'000'000, 16, one_of_few), 1'000'000U);
  EXPECT_GT(ledger.evicted().pages, 1000U);
  EXPECT_GT(ledger.stats().merged_pages, 100U);
}

TEST(Ledger, RandomOperationsWithWindowsFindWhatEveryWindowShows) {
  struct Case {
    KvUnits shape;
    std::uint32_t units, pages;
    bool prefix_cache;
  };
  const Case cases[] = {
      {kMixed, 24 * 4, 0, true},
      {kMixed, 24 * 4, 0, false},
      {{.layers = 1, .whole = 1, .windowed = 5, .window = 20}, 24 * 4, 0, true},
      {{.layers = 1, .whole = 1, .windowed = 1, .window = 1}, 24 * 3 / 2, 0, true},
      {{.layers = 2, .whole = 0, .windowed = 1, .window = 33}, 20, 200, true},
      {{.layers = 2, .whole = 0, .windowed = 2, .window = 17}, 40, 60, true},
  };
  std::uint64_t seed = 50;
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message()
                 << c.shape.whole << " + " << c.shape.windowed << ", window " << c.shape.window);
    Ledger ledger({.units = c.units,
                   .shape = c.shape,
                   .pages = c.pages,
                   .prefix_cache = c.prefix_cache,
                   .max_cached = c.units * 2 / 3});
    const auto reused = random_operations(ledger, seed++, 200'000, c.units * 2 / 3, one_of_few);
    if (!c.prefix_cache) continue;
    EXPECT_GT(reused, 100'000U);
    EXPECT_GT(ledger.evicted().windows, 1000U);
    EXPECT_GT(ledger.stats().merged_pages, 20U);
  }
}

TEST(Ledger, ManyShortPromptsThatComeBackFindTheirOwnPages) {
  Ledger ledger({.units = 200});
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
