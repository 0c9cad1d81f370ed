#include "weir/cli/kernel_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/math.h"
#include "weir/compute/roofline.h"

namespace weir::cli {
namespace {

constexpr int kLeastRounds = 3;

/// One sample of the kernel between two of its roofs.
struct Round {
  RoofsBeside::Sampled before, after;
  compute::Sample kernel;
  [[nodiscard]] bool clean() const { return before.clean && kernel.clean && after.clean; }
};

/// Values with whether each is clean; what is kept are the clean ones when there are enough, else
/// all.
class Kept {
 public:
  void add(double value, bool is_clean) {
    all_.push_back(value);
    if (is_clean) clean_.push_back(value);
  }
  [[nodiscard]] bool enough() const { return std::ssize(clean_) >= kLeastRounds; }
  [[nodiscard]] measure::Spread spread() const {
    return measure::spread_of(enough() ? clean_ : all_);
  }
  [[nodiscard]] std::uint32_t disturbed() const {
    return static_cast<std::uint32_t>(all_.size() - clean_.size());
  }

 private:
  std::vector<double> all_, clean_;
};

/// Of a mixture, the instructions that take longest.
Bound bound_of(const measure::Work& work, const measure::Roofs& roofs) {
  if (measure::memory_bound(work, roofs)) return Bound::kMemory;
  const double int8 = measure::compute_seconds({.int8_ops = work.int8_ops}, roofs);
  const double bf16 = measure::compute_seconds({.bf16_ops = work.bf16_ops}, roofs);
  const double f32 = measure::compute_seconds({.f32_ops = work.f32_ops}, roofs);
  if (int8 >= bf16 && int8 >= f32) return Bound::kInt8;
  return bf16 >= f32 ? Bound::kBf16 : Bound::kF32;
}

}  // namespace

RoofsBeside::RoofsBeside(compute::ThreadPool& pool, const sys::Clock& clock,
                         const compute::AlignedBuffer<std::byte>& memory, std::uint64_t set_bytes,
                         std::chrono::nanoseconds sample)
    : pool_(pool),
      clock_(clock),
      read_(compute::read_loop(memory, set_bytes, pool.workers())),
      int8_(*compute::peak_timed_loop(compute::Peak::kInt8Dot, pool.workers())),
      f32_(*compute::peak_timed_loop(compute::Peak::kF32Fma, pool.workers())),
      bf16_(compute::peak_timed_loop(compute::Peak::kBf16Dot, pool.workers())) {
  for (compute::TimedLoop* loop : {&read_, &int8_, &f32_})
    compute::calibrate(pool, clock, *loop, sample);
  if (bf16_) compute::calibrate(pool, clock, *bf16_, sample);
}

RoofsBeside::Sampled RoofsBeside::sample(const measure::Work& work, std::uint32_t tries) const {
  Sampled sampled;
  const auto rate = [&](const compute::TimedLoop& loop) {
    const compute::Sample sample = compute::sample_of(pool_, clock_, loop, tries);
    sampled.clean = sampled.clean && sample.clean;
    return sample.rate;
  };
  sampled.roofs.bandwidth = rate(read_);
  if (work.int8_ops > 0) sampled.roofs.int8 = rate(int8_);
  if (work.bf16_ops > 0) sampled.roofs.bf16 = rate(*bf16_);
  if (work.f32_ops > 0) sampled.roofs.f32 = rate(f32_);
  return sampled;
}

std::string_view name_of(Bound bound) {
  if (bound == Bound::kMemory) return "memory";
  if (bound == Bound::kInt8) return "int8";
  return bound == Bound::kBf16 ? "bf16" : "f32";
}

void measure_kernel(compute::ThreadPool& pool, const sys::Clock& clock, const RoofsBeside& beside,
                    compute::TimedLoop loop, const KernelBenchOptions& options,
                    MeasuredKernel& kernel) {
  const auto begin = clock.now();
  compute::calibrate(pool, clock, loop, options.sample);
  std::vector<Round> rounds;
  RoofsBeside::Sampled last = beside.sample(kernel.work, options.tries);
  for (std::uint32_t clean = 0; clean < options.rounds;) {
    if (std::ssize(rounds) >= kLeastRounds && clock.now() - begin >= options.budget) break;
    Round round;
    round.before = last;
    round.kernel = compute::sample_of(pool, clock, loop, options.tries);
    round.after = last = beside.sample(kernel.work, options.tries);
    clean += round.clean() ? 1 : 0;
    rounds.push_back(round);
  }
  Kept rates, shares, bandwidth, int8, bf16, f32;
  for (const Round& round : rounds) {
    rates.add(round.kernel.rate, round.kernel.clean);
    shares.add(
        measure::share_of(round.kernel.rate, measure::attainable(kernel.work, round.before.roofs),
                          measure::attainable(kernel.work, round.after.roofs)),
        round.clean());
    for (const auto& [roofs, clean] : {round.before, round.after}) {
      bandwidth.add(roofs.bandwidth, clean);
      int8.add(roofs.int8, clean);
      bf16.add(roofs.bf16, clean);
      f32.add(roofs.f32, clean);
    }
  }
  kernel.rate = rates.spread();
  kernel.taken = static_cast<std::uint32_t>(rounds.size());
  kernel.disturbed = rates.disturbed();
  const auto b = bandwidth.spread();
  const auto i = int8.spread();
  const auto h = bf16.spread();
  const auto f = f32.spread();
  kernel.roofs = {.bandwidth = b.median, .int8 = i.median, .bf16 = h.median, .f32 = f.median};
  const double allowed = measure::attainable(kernel.work, kernel.roofs);
  kernel.share = shares.enough() ? shares.spread()
                                 : measure::Spread{.best = kernel.rate.best / allowed,
                                                   .median = kernel.rate.median / allowed,
                                                   .p10 = kernel.rate.p10 / allowed,
                                                   .samples = kernel.rate.samples};
  kernel.best_roofs = {.bandwidth = b.best, .int8 = i.best, .bf16 = h.best, .f32 = f.best};
  kernel.bound = bound_of(kernel.work, kernel.roofs);
}

void add_operations(DType type, double operations, measure::Work& work) {
  if (info(type).block_elements > 1) {
    work.int8_ops += operations;
  } else if (type == DType::kBF16 && compute::peak_loop(compute::Peak::kBf16Dot)) {
    work.bf16_ops += operations;
  } else {
    work.f32_ops += operations;
  }
}

measure::Work product_work(std::span<const compute::MatrixView> stacked, double packed_bytes) {
  measure::Work work{.bytes = packed_bytes};
  for (const compute::MatrixView& m : stacked)
    add_operations(m.type, 2.0 * static_cast<double>(m.rows) * static_cast<double>(m.columns),
                   work);
  return work;
}

std::string type_names(std::span<const compute::MatrixView> stacked) {
  std::string names;
  DType last = DType::kBool;
  for (const compute::MatrixView& m : stacked) {
    if (m.type == last) continue;
    last = m.type;
    names += (names.empty() ? "" : "+") + std::string(info(m.type).name);
  }
  return names;
}

std::vector<std::byte> harmless_weights(std::uint64_t bytes) {
  std::vector<std::byte> weights(bytes);
  // Bytes below 32: as halves at most 0.007, as floats near 0, and codes of every kind.
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::byte>(i * 37 % 32);
  return weights;
}

Status check_room(std::span<const MemoryPart> parts, std::uint64_t available,
                  std::string_view advice) {
  std::uint64_t total = 0;
  std::string sum;
  for (const MemoryPart& part : parts) {
    total = checked_add(total, part.bytes).value_or(UINT64_MAX);
    sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", part.name, format_bytes(part.bytes));
  }
  if (total <= available) return {};
  return fail(Code::kExhausted,
              fmt::format("not enough memory: {} = {}, but {} are available; {}", sum,
                          format_bytes(total), format_bytes(available), advice),
              "memory");
}

}  // namespace weir::cli
