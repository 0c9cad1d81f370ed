// Promise 1 at its root: the logits of a sequence, bit for bit, do not depend on how its prompt was
// cut, on what else was in the batch, on which pages it got, or on the number of threads.

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

#include "weir/base/random.h"
#include "weir/model/testing/tiny_model.h"
#include "weir/spec/kv_type.h"

namespace weir::model {
namespace {

/// Numbers below a bound, drawn one after another from a seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t bound) { return philox(seed_, counter_++)[0] % bound; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

std::vector<TokenId> random_tokens(Draw& draw, std::size_t count, std::uint32_t vocabulary) {
  std::vector<TokenId> tokens(count);
  for (TokenId& t : tokens) t = static_cast<TokenId>(draw.below(vocabulary));
  return tokens;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

using Case = std::tuple<std::string, DType>;  // family, KV type

class Invariance : public ::testing::TestWithParam<Case> {};

TEST_P(Invariance, AnAnswerDependsNeitherOnChunksNorNeighboursNorPagesNorThreads) {
  constexpr std::uint32_t kMaxRows = 64;
  constexpr std::uint32_t kPages = 40;
  const auto& [family, kv_type] = GetParam();
  ModelOptions options;
  options.kv_type = kv_type;
  options.max_rows = options.max_logit_rows = kMaxRows;
  compute::ThreadPool alone(1);
  const testing::TinyModel plain = testing::load_tiny(family, alone, options);
  const std::uint32_t vocabulary = plain.model->shape().vocabulary;

  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(::testing::Message() << family << ", seed " << seed);
    Draw draw(seed);
    std::vector<std::vector<TokenId>> texts;
    std::vector<std::vector<float>> wanted;
    for (int i = 0; i < 4; ++i) {
      texts.push_back(random_tokens(draw, 1 + draw.below(60), vocabulary));
      wanted.push_back(testing::logits_of(*plain.model, texts.back()));
    }

    compute::ThreadPool pool(1 + draw.below(3));
    const testing::TinyModel mixed = testing::load_tiny(family, pool, options);
    const compute::KvArena arena(mixed.model->kv_shape(), kPages);
    std::vector<std::uint32_t> free(kPages);
    for (std::uint32_t i = 0; i < kPages; ++i) free[i] = i;
    std::vector<testing::Sequence> sequences;
    for (const auto& text : texts) {
      std::vector<PageId> pages;
      for (std::size_t held = 0; held < text.size(); held += kPageTokens) {
        const std::size_t at = draw.below(free.size());
        pages.push_back(PageId{free[at]});
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
      }
      sequences.emplace_back(text, pages);
    }
    while (!std::ranges::all_of(sequences, [](const auto& s) { return s.done(); })) {
      std::vector<SequenceRows> batch;
      std::vector<std::size_t> who;
      std::size_t room = kMaxRows;
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        const std::size_t most = std::min(sequences[i].left(), room);
        if (most == 0 || draw.below(4) == 0) continue;  // Some sit a step out.
        const std::size_t rows = draw.below(2) == 0 ? 1 : 1 + draw.below(most);
        batch.push_back(sequences[i].next(rows));
        who.push_back(i);
        room -= rows;
      }
      if (batch.empty()) continue;
      std::span<const float> logits = mixed.model->forward({batch}, arena);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const std::size_t size = batch[i].tokens.size() * vocabulary;
        sequences[who[i]].take(logits.first(size), batch[i].tokens.size());
        logits = logits.subspan(size);
      }
    }
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      EXPECT_TRUE(same_bits(sequences[i].logits(), wanted[i]))
          << "sequence " << i << " of " << texts[i].size();
    }
  }
}

TEST_P(Invariance, LogitsOfTheLastRowAloneAreTheSameAsAmongAll) {
  const auto& [family, kv_type] = GetParam();
  ModelOptions options;
  options.kv_type = kv_type;
  options.max_rows = options.max_logit_rows = 64;
  compute::ThreadPool pool(2);
  const testing::TinyModel tiny = testing::load_tiny(family, pool, options);
  const std::uint32_t vocabulary = tiny.model->shape().vocabulary;
  Draw draw(11);
  const std::vector<TokenId> tokens = random_tokens(draw, 37, vocabulary);
  const std::vector<float> all = testing::logits_of(*tiny.model, tokens);
  const compute::KvArena arena(tiny.model->kv_shape(), 3);
  const std::vector<PageId> pages = testing::pages_for(tokens.size());
  // A chunk without logits, then one with two rows of them.
  const SequenceRows first{std::span(tokens).first(20), 0, pages, 0};
  EXPECT_TRUE(tiny.model->forward({{&first, 1}}, arena).empty());
  const SequenceRows rest{std::span(tokens).subspan(20), 20, pages, 2};
  const std::span<const float> last = tiny.model->forward({{&rest, 1}}, arena);
  EXPECT_TRUE(same_bits({last.begin(), last.end()}, {all.end() - 2 * vocabulary, all.end()}));
}

TEST_P(Invariance, StepsOfSingleRowsAreTheRowsReadAtOnce) {
  const auto& [family, kv_type] = GetParam();
  ModelOptions options;
  options.kv_type = kv_type;
  options.max_rows = options.max_logit_rows = 160;
  Draw draw(5);
  // Across a border between groups of positions, where attention may be cut among workers.
  const std::uint32_t most = testing::context_of(family) == 0 ? 131 : testing::context_of(family);
  constexpr int kSteps = 5;
  compute::ThreadPool one(1);
  const testing::TinyModel plain = testing::load_tiny(family, one, options);
  const std::uint32_t vocabulary = plain.model->shape().vocabulary;
  std::vector<std::vector<TokenId>> texts;
  std::vector<std::vector<float>> wanted;
  for (const std::uint32_t shorter : {0, 20, 1, 3, 37}) {
    texts.push_back(random_tokens(draw, most - shorter, vocabulary));
    wanted.push_back(testing::logits_of(*plain.model, texts.back()));
  }
  for (const std::size_t workers : {1, 2}) {
    compute::ThreadPool pool(workers);
    const testing::TinyModel tiny = testing::load_tiny(family, pool, options);
    for (const std::size_t together : {1, 5}) {
      SCOPED_TRACE(::testing::Message() << workers << " workers, " << together << " sequences");
      const auto pages = static_cast<std::uint32_t>(most / kPageTokens + 1);
      const compute::KvArena arena(tiny.model->kv_shape(),
                                   pages * static_cast<std::uint32_t>(together));
      std::vector<testing::Sequence> sequences;
      for (std::uint32_t i = 0; i < together; ++i) {
        sequences.emplace_back(texts[i], testing::pages_for(texts[i].size(), i * pages));
        const std::size_t chunk = texts[i].size() - kSteps;
        const SequenceRows rows = sequences[i].next(chunk);
        sequences[i].take(tiny.model->forward({{&rows, 1}}, arena), chunk);
      }
      for (int step = 0; step < kSteps; ++step) {
        std::vector<SequenceRows> batch;
        for (const testing::Sequence& s : sequences) batch.push_back(s.next(1));
        std::span<const float> logits = tiny.model->forward({batch}, arena);
        for (testing::Sequence& s : sequences) {
          s.take(logits.first(vocabulary), 1);
          logits = logits.subspan(vocabulary);
        }
      }
      for (std::size_t i = 0; i < together; ++i)
        EXPECT_TRUE(same_bits(sequences[i].logits(), wanted[i])) << "sequence " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFamily, Invariance,
                         ::testing::Combine(::testing::ValuesIn(testing::families()),
                                            ::testing::Values(DType::kF32, DType::kF16,
                                                              DType::kBF16, DType::kI8)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(kv_type_name(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace weir::model
