// Promise 1 through the whole engine: with real weights, the tokens and log-probabilities of a
// request are the same bits whatever runs beside it, however its prompt is cut, wherever its pages
// lie, whether its prefix was in memory, however often it was pre-empted, and on however many
// threads. Random schedules are compared with a request that has the engine to itself, without a
// prefix cache, on one thread, its prompt read in one chunk.
//
// WEIR_INVARIANCE_ROUNDS: random schedules per model (default 8, SmolLM2 3; tools/soak runs many).
// WEIR_INVARIANCE_SEED: where they begin. WEIR_TEST_SMOLLM2 names the real model.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <thread>
#include <tuple>

#include "weir/base/math.h"
#include "weir/base/random.h"
#include "weir/engine/engine.h"
#include "weir/model/architectures.h"
#include "weir/spec/kv_type.h"

namespace weir::engine {
namespace {

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  Finish finish;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Numbers below a bound, drawn one after another from a seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t below(std::uint32_t bound) { return philox(seed_, counter_++)[0] % bound; }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) {
    return low + below(high - low + 1);
  }
  bool once_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

/// A model in a file, and how its keys and values are kept.
struct Kept {
  std::string path;
  DType kv_type;
};

/// Of every sequence, or what the model allows.
constexpr std::uint32_t kContext = 512;

KvUnits units_of(const Kept& kept) {
  const auto file = format::open_model_file(kept.path);
  EXPECT_TRUE(file) << file.error().message;
  const auto shape = model::read_shape(**file);
  EXPECT_TRUE(shape) << shape.error().message;
  return kv_units(*shape, std::min(shape->context, kContext));
}

/// An engine over a model, with what the engine needs beside it.
struct House {
  House(const Kept& kept, std::size_t threads, const EngineOptions& options) : pool(threads) {
    auto file = format::open_model_file(kept.path);
    EXPECT_TRUE(file) << file.error().message;
    auto shape = model::read_shape(**file);
    EXPECT_TRUE(shape) << shape.error().message;
    model::ModelOptions model_options;
    model_options.max_rows = 512;
    model_options.kv_type = kept.kv_type;
    model_options.max_logit_rows = 16;
    model_options.context = std::min(shape->context, kContext);
    auto loaded = model::Model::load(**file, *shape, model_options, pool);
    EXPECT_TRUE(loaded) << loaded.error().message;
    engine = std::make_unique<Engine>(*std::move(loaded), std::vector<TokenId>{}, clock, options);
  }
  compute::ThreadPool pool;
  sys::SystemClock clock;
  std::unique_ptr<Engine> engine;
};

EngineOptions alone() {
  EngineOptions o;
  o.schedule.max_running = 1;
  o.schedule.max_chunk = 512;
  o.schedule.ledger.prefix_cache = false;
  return o;
}

/// Room for one sequence of `least` positions at least.
EngineOptions random_schedule(Draw& draw, const KvUnits& kv, std::uint32_t least) {
  EngineOptions o;
  sched::Options& s = o.schedule;
  s.max_running = draw.between(2, 12);
  s.max_chunk = draw.once_in(4) ? 512 : draw.between(1, 70);
  s.chunked_prefill = !draw.once_in(6);
  s.fixed_budget = draw.once_in(3) ? 0 : draw.between(1, 120);
  s.min_prefill_rows = draw.between(1, 40);
  s.ledger.prefix_cache = !draw.once_in(4);
  s.admission = static_cast<sched::Admission>(draw.below(3));
  s.length_quantile = 0.3;  // Rash, so that memory runs out and somebody is pre-empted.
  const auto units = static_cast<std::uint32_t>(kv.of_sequence(least, s.largest_chunk()));
  o.kv_units = draw.once_in(3) ? 200 * kv.of_page() : draw.between(units, 2 * units);
  return o;
}

/// A request with one of a few beginnings, so that prefixes meet.
Request random_request(std::uint64_t seed, std::uint32_t vocabulary, std::uint32_t longest) {
  Draw draw(seed);
  Request r;
  const std::uint64_t beginning = draw.below(3);
  const std::uint32_t shared = draw.below(longest / 2);
  const std::uint32_t size = shared + draw.between(1, longest / 2);
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint64_t text = i < shared ? beginning : seed + 100;
    r.prompt.push_back(static_cast<TokenId>(philox(text, i)[0] % vocabulary));
  }
  r.max_tokens = draw.between(1, 30);
  r.sampling.seed = seed;
  r.sampling.temperature = draw.once_in(3) ? 0.0F : 0.9F;
  if (draw.once_in(3)) r.sampling.top_p = 0.9F;
  if (draw.once_in(4)) r.sampling.repetition_penalty = 1.2F;
  if (draw.once_in(4)) r.sampling.top_k = 20;
  r.priority = static_cast<Priority>(draw.below(3));
  r.tenant = policy::TenantId{draw.below(3)};
  r.top_logprobs = 2;
  return r;
}

/// Reads to the end, or leaves after `enough` tokens.
Answer read(TokenStream& stream, std::size_t enough = ~std::size_t{0}) {
  Answer a;
  std::vector<TokenEvent> events;
  std::optional<Finish> finish;
  while (!finish) {
    stream.wait(std::chrono::hours(1));
    finish = stream.take(events);
    if (events.size() >= enough) stream.cancel();
  }
  for (const TokenEvent& e : events) {
    a.tokens.push_back(e.token);
    a.logprobs.push_back(e.logprob);
    for (const auto& t : e.top) a.logprobs.push_back(t.logprob);
  }
  a.finish = *std::move(finish);
  return a;
}

/// Bits, so that not even the sign of a zero may differ.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b, std::size_t count) {
  return a.size() >= count && b.size() >= count &&
         std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(count), b.begin(),
                    [](float x, float y) {
                      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
                    });
}

void expect_same(const Answer& got, const Answer& want) {
  ASSERT_NE(got.finish.reason, FinishReason::kError) << got.finish.error.message;
  const bool whole = got.finish.reason == FinishReason::kLength;
  ASSERT_LE(got.tokens.size(), want.tokens.size());
  if (whole) {
    ASSERT_EQ(got.tokens.size(), want.tokens.size());
  }
  ASSERT_TRUE(std::equal(got.tokens.begin(), got.tokens.end(), want.tokens.begin()));
  ASSERT_TRUE(same_bits(got.logprobs, want.logprobs, got.logprobs.size()));
}

/// What the random schedules really did, so that a test that proves nothing is noticed.
struct Seen {
  std::uint64_t preempted = 0, cached = 0, cancelled = 0, forked = 0, chunks = 0, windows = 0;
};

void one_round(const Kept& kept, std::uint64_t seed, const std::vector<Request>& requests,
               const std::vector<Answer>& wanted, Seen& seen) {
  Draw draw(seed);
  const std::size_t threads = draw.between(1, 3);
  const EngineOptions options = random_schedule(draw, units_of(kept), 14 * kPageTokens);
  House house(kept, threads, options);
  struct Asked {
    std::size_t which;
    std::size_t enough;
    std::shared_ptr<TokenStream> stream;
  };
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < 2 * requests.size(); ++i) {
    const std::size_t which = draw.below(static_cast<std::uint32_t>(requests.size()));
    Request r = requests[which];
    if (!asked.empty() && asked.back().which == which) r.leader = asked.back().stream->id();
    const bool leaves = draw.once_in(4);
    auto stream = house.engine->submit(std::move(r));
    ASSERT_TRUE(stream) << stream.error().message;
    asked.push_back({which, leaves ? draw.below(8) : ~std::size_t{0}, *stream});
    if (draw.once_in(5)) {  // The same prompt once more at once: an answer that shares its pages.
      Request again = requests[which];
      again.leader = (*stream)->id();
      ++seen.forked;
      auto second = house.engine->submit(std::move(again));
      ASSERT_TRUE(second) << second.error().message;
      asked.push_back({which, ~std::size_t{0}, *second});
    }
    if (draw.once_in(3)) std::this_thread::sleep_for(std::chrono::milliseconds(draw.below(4)));
  }
  std::vector<Answer> answers(asked.size());
  std::vector<std::thread> readers;
  readers.reserve(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    readers.emplace_back([&, i] { answers[i] = read(*asked[i].stream, asked[i].enough); });
  }
  for (std::thread& t : readers) t.join();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "request " << asked[i].which << ", submitted as " << i);
    expect_same(answers[i], wanted[asked[i].which]);
    const Timings& t = answers[i].finish.timings;
    seen.preempted += t.preemptions;
    seen.cached += t.cached_tokens;
    seen.chunks += t.chunks > 1;
    seen.cancelled += answers[i].finish.reason == FinishReason::kCancelled;
  }
  seen.windows += house.engine->stats().evicted_windows;
}

Seen check(const Kept& kept, std::uint32_t vocabulary, std::uint32_t longest, std::size_t count,
           std::uint64_t rounds) {
  const std::uint64_t begin = from_environment("WEIR_INVARIANCE_SEED", 20261129);
  std::vector<Request> requests;
  std::vector<Answer> wanted;
  {
    House house(kept, 1, alone());
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(random_request(begin + i, vocabulary, longest));
      auto stream = house.engine->submit(requests.back());
      EXPECT_TRUE(stream) << stream.error().message;
      wanted.push_back(read(**stream));
      EXPECT_EQ(wanted.back().finish.reason, FinishReason::kLength);
    }
  }
  Seen seen;
  for (std::uint64_t round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(::testing::Message() << kept.path << ", KV in " << kv_type_name(kept.kv_type)
                                      << ", WEIR_INVARIANCE_SEED=" << begin << ", round " << round);
    one_round(kept, begin * 1000 + round, requests, wanted, seen);
  }
  return seen;
}

using Case = std::tuple<const char*, DType>;  // family, KV type

class GoldenModel : public ::testing::TestWithParam<Case> {};

TEST_P(GoldenModel, AnswersTheSameBitsUnderEverySchedule) {
  const auto& [family, kv_type] = GetParam();
  const Kept kept = {std::string("tests/data/golden/") + family + "/model.gguf", kv_type};
  const Seen seen = check(kept, 64, 90, 16, from_environment("WEIR_INVARIANCE_ROUNDS", 8));
  EXPECT_GT(seen.cached, 0U);
  EXPECT_GT(seen.cancelled, 0U);
  EXPECT_GT(seen.forked, 0U);
  EXPECT_GT(seen.chunks, 0U);
  EXPECT_EQ(seen.windows > 0, units_of(kept).windowed > 0);
  RecordProperty("preemptions", static_cast<int>(seen.preempted));
  RecordProperty("cached_tokens", static_cast<int>(seen.cached));
}

std::string name_of(const ::testing::TestParamInfo<Case>& test) {
  return std::string(std::get<0>(test.param)) + "_" +
         std::string(kv_type_name(std::get<1>(test.param)));
}
INSTANTIATE_TEST_SUITE_P(EveryFamily, GoldenModel,
                         ::testing::Combine(::testing::Values("llama", "llama3", "smollm2",
                                                              "mistral", "qwen2", "qwen3", "gemma2",
                                                              "gemma3", "phi3_short", "phi3_long"),
                                            ::testing::Values(model::ModelOptions().kv_type)),
                         name_of);
// With windows and caps, which leave pages half seen, and without.
INSTANTIATE_TEST_SUITE_P(EveryKvType, GoldenModel,
                         ::testing::Combine(::testing::Values("llama", "gemma2", "gemma3"),
                                            ::testing::Values(DType::kF32, DType::kF16,
                                                              DType::kBF16, DType::kI8)),
                         name_of);

TEST(SmolLM2, AnswersTheSameBitsUnderEverySchedule) {
  const char* path = std::getenv("WEIR_TEST_SMOLLM2");
  if (path == nullptr) {
    const char* required = std::getenv("WEIR_REQUIRE_MODELS");
    if (required != nullptr && std::string(required) == "1") {
      GTEST_FAIL() << "WEIR_TEST_SMOLLM2 must name the model";
    }
    GTEST_SKIP() << "WEIR_TEST_SMOLLM2 names no model";
  }
  const Seen seen = check({path, model::ModelOptions().kv_type}, 49152, 120, 8,
                          from_environment("WEIR_INVARIANCE_ROUNDS", 3));
  EXPECT_GT(seen.preempted, 0U);
  EXPECT_GT(seen.cached, 0U);
  EXPECT_GT(seen.cancelled, 0U);
}

}  // namespace
}  // namespace weir::engine
