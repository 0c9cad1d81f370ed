// Promise 1 through the engine: with real weights, an answer and its log-probabilities are the same
// bits whatever the prefill chunk and the number of threads. On the golden models of every family,
// and on SmolLM2 when WEIR_TEST_SMOLLM2 names it.

#include <gtest/gtest.h>

#include <cstdlib>

#include "weir/base/math.h"
#include "weir/base/random.h"
#include "weir/engine/engine.h"
#include "weir/model/architectures.h"

namespace weir::engine {
namespace {

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  bool operator==(const Answer&) const = default;
};

/// One engine over the model in `path`, and its answer to `request`.
Answer answer(const std::string& path, std::size_t threads, std::uint32_t chunk,
              const Request& request) {
  auto file = format::open_model_file(path);
  EXPECT_TRUE(file) << file.error().message;
  auto shape = model::read_shape(**file);
  EXPECT_TRUE(shape) << shape.error().message;
  compute::ThreadPool pool(threads);
  model::ModelOptions options;
  options.max_rows = 512;
  options.context = std::min(shape->context, 1024U);
  auto loaded = model::Model::load(**file, *shape, options, pool);
  EXPECT_TRUE(loaded) << loaded.error().message;
  const sys::SystemClock clock;
  EngineOptions engine_options;
  engine_options.schedule.max_chunk = chunk;
  Engine engine(*std::move(loaded), {}, clock, engine_options);
  auto stream = engine.submit(request);
  EXPECT_TRUE(stream) << stream.error().message;
  Answer a;
  std::vector<TokenEvent> events;
  std::optional<Finish> finish;
  while (!finish) {
    (*stream)->wait(std::chrono::hours(1));
    finish = (*stream)->take(events);
  }
  EXPECT_EQ(finish->reason, FinishReason::kLength) << finish->error.message;
  for (const TokenEvent& e : events) {
    a.tokens.push_back(e.token);
    a.logprobs.push_back(e.logprob);
    for (const auto& t : e.top) a.logprobs.push_back(t.logprob);
  }
  return a;
}

Request request(std::size_t prompt, std::int32_t vocabulary, std::uint32_t max_tokens) {
  Request r;
  for (std::size_t i = 0; i < prompt; ++i) {
    r.prompt.push_back(
        static_cast<TokenId>(philox(prompt, i)[0] % static_cast<std::uint32_t>(vocabulary)));
  }
  r.max_tokens = max_tokens;
  r.sampling.seed = 20261129;
  r.sampling.top_p = 0.95F;
  r.top_logprobs = 3;
  return r;
}

class GoldenModel : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenModel, AnswersTheSameBitsForEveryChunkAndThreadCount) {
  const std::string path = std::string("tests/data/golden/") + GetParam() + "/model.gguf";
  const Request r = request(37, 64, 16);
  const Answer want = answer(path, 1, 512, r);
  ASSERT_EQ(want.tokens.size(), 16U);
  for (std::uint32_t chunk : {1U, 7U, 16U, 64U, 512U}) {
    for (std::size_t threads : {1U, 2U, 3U}) {
      EXPECT_EQ(answer(path, threads, chunk, r), want)
          << "chunk " << chunk << ", threads " << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFamily, GoldenModel,
                         ::testing::Values("llama", "llama3", "smollm2", "mistral", "qwen2",
                                           "qwen3", "gemma2", "gemma3", "phi3_short", "phi3_long"),
                         [](const auto& test) { return std::string(test.param); });

TEST(SmolLM2, AnswersTheSameBitsForEveryChunkAndThreadCount) {
  const char* path = std::getenv("WEIR_TEST_SMOLLM2");
  if (path == nullptr) {
    const char* required = std::getenv("WEIR_REQUIRE_MODELS");
    if (required != nullptr && std::string(required) == "1") {
      GTEST_FAIL() << "WEIR_TEST_SMOLLM2 must name the model";
    }
    GTEST_SKIP() << "WEIR_TEST_SMOLLM2 names no model";
  }
  const Request r = request(130, 49152, 12);
  const Answer want = answer(path, 1, 512, r);
  ASSERT_EQ(want.tokens.size(), 12U);
  for (const auto& [chunk, threads] : std::vector<std::pair<std::uint32_t, std::size_t>>{
           {1, 2}, {7, 2}, {16, 1}, {16, 3}, {64, 2}, {512, 2}}) {
    EXPECT_EQ(answer(path, threads, chunk, r), want)
        << "chunk " << chunk << ", threads " << threads;
  }
}

}  // namespace
}  // namespace weir::engine
