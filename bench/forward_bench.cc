// Tokens per second of the forward pass alone: prefill of 128 and 512 tokens, decode from an empty
// context (what llama-bench calls pp128, pp512 and tg64), and decode of 32 sequences together that
// begin 128 tokens deep and share nothing (tg32). No sampling, no tokenizer. Each figure is the
// best of several runs in one process; tools/compare_llama repeats whole processes, interleaved
// with llama.cpp's, and takes medians.
//
//   forward_bench MODEL [--threads 2] [--json] [--cpu-time] [--prompts 256,2048]
//
// --prompts measures nothing but prefill of these lengths, in steps of 384 rows.
// --cpu-time counts the process's own CPU seconds instead of the clock's: with one thread, a figure
// that holds on a machine that others use too.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <vector>

#include "weir/format/model_file.h"
#include "weir/model/architectures.h"
#include "weir/model/model.h"

namespace {

using namespace weir;

constexpr std::uint32_t kTogether = 32;
constexpr std::uint32_t kDepth = 128;
constexpr std::uint32_t kSteps = 32;
constexpr std::uint32_t kLongestPrompt = 512;  // Where nothing else is asked for.
constexpr std::uint32_t kMostRows = 384;  // A step of the scheduler, if nothing else is asked for.

class Bench {
 public:
  Bench(model::Model& model, bool cpu_time, std::uint32_t longest)
      : cpu_time_(cpu_time),
        model_(model),
        arena_(model.kv_shape(), std::max(kTogether * kPagesEach, longest / kPageTokens + 1)),
        tokens_(longest) {
    for (std::uint32_t i = 0; i < arena_.units(); ++i) pages_.push_back(PageId{i});
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      tokens_[i] = static_cast<TokenId>((1000 + 37 * i % 20000) % model.shape().vocabulary);
    }
  }

  double prefill(std::size_t count) {
    return rate(count, [&] {
      for (std::size_t at = 0; at < count; at += kMostRows)
        step(at, std::min<std::size_t>(kMostRows, count - at));
    });
  }

  double generate(std::size_t count) {
    step(0, 1);
    return rate(count, [&] {
      for (std::size_t i = 0; i < count; ++i) step(1 + i, 1);
    });
  }

  /// Fills the contexts that generate_together() continues.
  void prefill_each() {
    for (std::uint32_t s = 0; s < kTogether; ++s) {
      const model::SequenceRows rows{std::span(tokens_).subspan(s, kDepth), 0, pages_of(s), 1};
      (void)model_.forward({{&rows, 1}}, arena_);
    }
  }

  double generate_together() {
    std::vector<model::SequenceRows> rows(kTogether);
    return rate(std::size_t{kTogether} * kSteps, [&] {
      for (std::uint32_t i = 0; i < kSteps; ++i) {
        for (std::uint32_t s = 0; s < kTogether; ++s) {
          rows[s] = {std::span(tokens_).subspan(s + i, 1), kDepth + i, pages_of(s), 1};
        }
        (void)model_.forward({rows}, arena_);
      }
    });
  }

  template <class F>
  double best(int times, F run) {
    double most = 0;
    for (int i = 0; i < times; ++i) most = std::max(most, run());
    return most;
  }

 private:
  static constexpr std::uint32_t kPagesEach = (kDepth + kSteps + kPageTokens - 1) / kPageTokens;

  [[nodiscard]] std::span<const PageId> pages_of(std::uint32_t sequence) const {
    return std::span(pages_).subspan(std::size_t{sequence} * kPagesEach, kPagesEach);
  }

  void step(std::size_t first, std::size_t rows) {
    const model::SequenceRows sequence{std::span(tokens_).subspan(first, rows),
                                       static_cast<std::uint32_t>(first), pages_, 1};
    (void)model_.forward({{&sequence, 1}}, arena_);
  }

  [[nodiscard]] double now() const {
    if (cpu_time_) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  template <class F>
  double rate(std::size_t count, F run) {
    const double begin = now();
    run();
    return static_cast<double>(count) / (now() - begin);
  }

  bool cpu_time_;
  model::Model& model_;
  compute::KvArena arena_;
  std::vector<TokenId> tokens_;
  std::vector<PageId> pages_;
};

template <class T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "forward_bench: {}\n", result.error().message);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tokens per second of the forward pass");
  std::string path;
  std::size_t threads = 2;
  bool json = false;
  bool cpu_time = false;
  app.add_option("model", path, "A model file or directory")->required();
  app.add_option("--threads", threads, "Workers of the kernel pool")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_flag("--json", json, "One JSON object");
  std::vector<std::uint32_t> prompts;
  app.add_option("--prompts", prompts, "Only prefill, of prompts of these lengths")
      ->delimiter(',')
      ->check(CLI::Range(1, 32768));
  app.add_flag("--cpu-time", cpu_time, "Count CPU seconds, not the clock's");
  CLI11_PARSE(app, argc, argv);

  const auto file = or_exit(format::open_model_file(path));
  compute::ThreadPool pool(threads, compute::ThreadPool::Sizing::kAdaptive);
  model::ModelOptions options;
  std::uint32_t longest = kLongestPrompt;
  for (const std::uint32_t prompt : prompts) longest = std::max(longest, prompt);
  options.context = longest + kMostRows;
  options.max_logit_rows = kTogether;
  const auto model =
      or_exit(model::Model::load(*file, or_exit(model::read_shape(*file)), options, pool));
  Bench bench(*model, cpu_time, longest);
  bench.prefill(128);
  for (const std::uint32_t prompt : prompts) {
    fmt::print("prefill {}: {:.1f} tokens/s\n", prompt,
               bench.best(3, [&] { return bench.prefill(prompt); }));
  }
  if (!prompts.empty()) return 0;
  bench.generate(8);
  const double pp128 = bench.best(5, [&] { return bench.prefill(128); });
  const double pp512 = bench.best(3, [&] { return bench.prefill(kLongestPrompt); });
  const double tg64 = bench.best(5, [&] { return bench.generate(64); });
  bench.prefill_each();
  const double tg32 = bench.best(3, [&] { return bench.generate_together(); });
  constexpr const char* kJson =
      "{{\"pp128\": {:.1f}, \"pp512\": {:.1f}, \"tg64\": {:.1f}, \"tg32\": {:.1f}}}\n";
  constexpr const char* kWords =
      "prefill 128: {:.1f} tokens/s\nprefill 512: {:.1f} tokens/s\ndecode: {:.1f} tokens/s\n"
      "decode, 32 together at 128: {:.1f} tokens/s\n";
  fmt::print(fmt::runtime(json ? kJson : kWords), pp128, pp512, tg64, tg32);
  return 0;
}
