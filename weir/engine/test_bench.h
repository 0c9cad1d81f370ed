#pragma once

/// An engine over a script, its requests and their answers in one line each, for the engine's
/// tests. Thread safety: one owner.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "weir/base/random.h"
#include "weir/engine/engine.h"
#include "weir/engine/scripted_decoder.h"

namespace weir::engine {

inline constexpr TokenId kEnd = 2;

struct Answer {
  std::vector<TokenId> tokens;
  std::vector<float> logprobs;
  std::vector<TokenId> top;
  Finish finish;
  friend bool operator==(const Answer& a, const Answer& b) {
    return a.tokens == b.tokens && a.logprobs == b.logprobs && a.top == b.top &&
           a.finish.reason == b.finish.reason;
  }
};

inline Answer read(TokenStream& stream) {
  Answer answer;
  std::vector<TokenEvent> events;
  for (;;) {
    stream.wait(std::chrono::hours(1));
    events.clear();
    auto finish = stream.take(events);
    for (const TokenEvent& e : events) {
      answer.tokens.push_back(e.token);
      answer.logprobs.push_back(e.logprob);
      for (const auto& t : e.top) answer.top.push_back(t.token);
    }
    if (finish) {
      answer.finish = *std::move(finish);
      return answer;
    }
  }
}

/// An engine over a script, and requests in one line.
struct Bench {
  sys::ManualClock clock;
  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::unique_ptr<Engine> engine;

  explicit Bench(EngineOptions options = {}, ScriptOptions s = {}) {
    s.clock = &clock;
    engine = std::make_unique<Engine>(std::make_unique<ScriptedDecoder>(s, script),
                                      std::vector<TokenId>{kEnd}, clock, options);
  }
  ~Bench() { script->release(); }

  std::shared_ptr<TokenStream> submit(Request r) {
    auto stream = engine->submit(std::move(r));
    EXPECT_TRUE(stream.has_value()) << stream.error().message;
    return *stream;
  }
  Answer ask(Request r) { return read(*submit(std::move(r))); }
  Error refusal(Request r) {
    auto stream = engine->submit(std::move(r));
    EXPECT_FALSE(stream.has_value());
    return stream ? Error{} : stream.error();
  }
  /// When everything accepted has ended.
  EngineStats settled() {
    while (engine->stats().waiting + engine->stats().running > 0) std::this_thread::yield();
    return engine->stats();
  }
};

/// What tests set of the schedule, in one line.
inline EngineOptions chunks_of(std::uint32_t rows) {
  EngineOptions o;
  o.schedule.max_chunk = rows;
  return o;
}
inline EngineOptions running(std::uint32_t most) {
  EngineOptions o;
  o.schedule.max_running = most;
  return o;
}

inline Request request(std::size_t prompt, std::uint32_t max_tokens, std::uint64_t seed = 1) {
  Request r;
  for (std::size_t i = 0; i < prompt; ++i) {
    r.prompt.push_back(static_cast<TokenId>(3 + philox(seed, i)[0] % 90));
  }
  r.max_tokens = max_tokens;
  r.sampling.seed = seed;
  r.ignore_eos = true;
  return r;
}
}  // namespace weir::engine
