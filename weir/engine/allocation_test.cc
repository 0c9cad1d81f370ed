// Promise 4: once warm, a step of the engine allocates nothing, whether it decodes or reads a
// prompt. Every operator new of this binary counts for its thread; the decoder looks at the count
// of the engine's thread whenever a step reaches it.

// Not under a sanitizer, whose own operator new these would replace.

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "weir/base/random.h"
#include "weir/engine/engine.h"
#include "weir/engine/model_decoder.h"
#include "weir/model/architectures.h"

namespace {
thread_local std::uint64_t allocations = 0;
}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace weir::engine {
namespace {

/// Counts the steps between which the engine's thread did, and did not, allocate.
class Counting final : public Decoder {
 public:
  Counting(std::unique_ptr<Decoder> inner, std::atomic<std::uint64_t>& clean,
           std::atomic<std::uint64_t>& dirty)
      : inner_(std::move(inner)), clean_(clean), dirty_(dirty) {}
  const DecoderFacts& facts() const override { return inner_->facts(); }
  std::span<const float> forward(const model::Batch& batch) override {
    ++(allocations == before_ ? clean_ : dirty_);
    const auto logits = inner_->forward(batch);
    before_ = allocations;
    return logits;
  }
  std::span<const float> peaks() const override { return inner_->peaks(); }
  void look_up_units(std::span<const UnitId> table) override { inner_->look_up_units(table); }
  void copy(std::span<const kv::PageCopy> copies) override { inner_->copy(copies); }
  void for_each(std::size_t count,
                const std::function<void(std::size_t, std::size_t)>& f) override {
    inner_->for_each(count, f);
  }

 private:
  const std::unique_ptr<Decoder> inner_;
  std::atomic<std::uint64_t>& clean_;
  std::atomic<std::uint64_t>& dirty_;
  std::uint64_t before_ = 0;
};

Request request(std::uint32_t prompt, std::uint32_t max_tokens, std::uint64_t seed) {
  Request r;
  for (std::uint32_t i = 0; i < prompt; ++i)
    r.prompt.push_back(static_cast<TokenId>(3 + philox(seed, i)[0] % 60));
  r.max_tokens = max_tokens;
  r.sampling.seed = seed;
  r.sampling.top_p = 0.9F;
  r.sampling.frequency_penalty = 0.1F;
  r.ignore_eos = true;
  return r;
}

void read(TokenStream& stream) {
  std::vector<TokenEvent> events;
  do stream.wait(std::chrono::hours(1));
  while (!stream.take(events));
}

std::unique_ptr<model::Model> tiny_model(const char* path, compute::ThreadPool& pool) {
  auto file = format::open_model_file(path);
  EXPECT_TRUE(file);
  auto shape = model::read_shape(**file);
  EXPECT_TRUE(shape);
  model::ModelOptions options;
  options.max_rows = 64;
  options.max_logit_rows = 8;
  options.context = 256;
  auto model = model::Model::load(**file, *shape, options, pool);
  EXPECT_TRUE(model) << model.error().message;
  return *std::move(model);
}

void expect_warm_steps_to_allocate_nothing(const char* path) {
  compute::ThreadPool pool(2);
  std::atomic<std::uint64_t> clean{0};
  std::atomic<std::uint64_t> dirty{0};
  const sys::SystemClock clock;
  EngineOptions options;
  options.schedule.max_chunk = 16;
  options.schedule.max_running = 4;
  Engine engine(std::make_unique<Counting>(
                    std::make_unique<ModelDecoder>(tiny_model(path, pool), 128), clean, dirty),
                {}, clock, options);
  const auto round = [&](std::uint64_t seed) {
    std::vector<std::shared_ptr<TokenStream>> streams;
    for (std::uint64_t i = 0; i < 4; ++i)
      streams.push_back(*engine.submit(request(100, 150, seed + i)));
    std::vector<std::thread> readers;
    for (const auto& stream : streams) readers.emplace_back([&stream] { read(*stream); });
    for (std::thread& t : readers) t.join();
  };
  round(1);
  clean = dirty = 0;
  round(100);
  // 400 prompt tokens in chunks of 16 and 150 decode steps of four answers. Steps in which a
  // request is admitted or ends allocate for it, and so does a stream whose reader has fallen
  // far behind, as a loaded machine may let it.
  EXPECT_GT(clean, 150U);
  EXPECT_LT(dirty, 16U);
}

TEST(Engine, AWarmStepAllocatesNothing) {
  expect_warm_steps_to_allocate_nothing("tests/data/golden/llama/model.gguf");
}

TEST(Engine, AWarmStepThatMovesWindowsAllocatesNothing) {
  expect_warm_steps_to_allocate_nothing("tests/data/golden/gemma3/model.gguf");
}

}  // namespace
}  // namespace weir::engine

#endif
