#pragma once

/// One kernel against the roof that bounds it, both measured within the same tenths of a second: a
/// read of as much memory, the peak loops its instructions belong to, the kernel, and again. What a
/// shared machine does to one it does to its neighbour, so the ratio holds where neither figure
/// does. Thread safety: the pool's owner.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/compute/buffer.h"
#include "weir/compute/linear.h"
#include "weir/compute/timed_loop.h"
#include "weir/measure/roofline.h"
#include "weir/sys/clock.h"

namespace weir::cli {

struct KernelBenchOptions {
  std::uint32_t rounds = 15;  ///< Clean ones; on a quiet machine they take a tenth of the budget.
  std::chrono::nanoseconds sample = std::chrono::microseconds(1500);
  std::uint32_t tries = 6;  ///< Of each sample, until nobody took a core away meanwhile.
  /// For one kernel: no further round begins after this, once three are done.
  std::chrono::nanoseconds budget = std::chrono::milliseconds(1500);
};

/// The roofs beside a kernel, ready to be sampled.
class RoofsBeside {
 public:
  /// `memory` holds at least `set_bytes` and outlives this; it has been written to.
  RoofsBeside(compute::ThreadPool& pool, const sys::Clock& clock,
              const compute::AlignedBuffer<std::byte>& memory, std::uint64_t set_bytes,
              std::chrono::nanoseconds sample);

  struct Sampled {
    measure::Roofs roofs;
    bool clean = true;  ///< All of them.
  };
  /// Those that `work` meets; the others are 0.
  [[nodiscard]] Sampled sample(const measure::Work& work, std::uint32_t tries) const;

 private:
  compute::ThreadPool& pool_;
  const sys::Clock& clock_;
  compute::TimedLoop read_, int8_, f32_;
  std::optional<compute::TimedLoop> bf16_;
};

/// What bounds a kernel, by the roofs beside it.
enum class Bound : std::uint8_t { kMemory, kInt8, kBf16, kF32 };
[[nodiscard]] std::string_view name_of(Bound bound);  ///< "memory", "int8", "bf16", "f32"

struct MeasuredKernel {
  std::string name;                        ///< "q+k+v", "attention 32 x 512"
  std::string type;                        ///< "Q4_1", "Q4_K+Q6_K", "F16"
  std::uint64_t outputs = 0, columns = 0;  ///< 0 for attention.
  std::uint64_t rows = 0;                  ///< Activation rows, or sequences of attention.
  double calls = 1;                        ///< In one step of the model.
  measure::Work work;                      ///< Of one call.
  measure::Spread rate;                    ///< Operations a second.
  /// Of what the roofs right beside it allow; where too few rounds were clean, of their medians.
  measure::Spread share;
  measure::Roofs roofs;  ///< Medians.
  measure::Roofs best_roofs;
  Bound bound = Bound::kMemory;
  std::uint32_t taken = 0;  ///< Samples.
  /// Of those, the ones during which a core was lost: left out, unless fewer than three others are
  /// left.
  std::uint32_t disturbed = 0;

  [[nodiscard]] bool clean() const { return taken >= disturbed + 3; }
  [[nodiscard]] double typical() const { return rate.typical(clean()); }
  [[nodiscard]] double seconds() const { return work.operations() / rate.median; }
  [[nodiscard]] double bandwidth() const { return work.bytes / seconds(); }
  /// The best sample over the best of each roof: where somebody else had the cores half of the
  /// time, what is left to compare.
  [[nodiscard]] double best_share() const {
    return rate.best / measure::attainable(work, best_roofs);
  }
};

/// Fills rate, share, roofs and bound. `kernel.work` is what one repetition of `loop` does.
void measure_kernel(compute::ThreadPool& pool, const sys::Clock& clock, const RoofsBeside& beside,
                    compute::TimedLoop loop, const KernelBenchOptions& options,
                    MeasuredKernel& kernel);

/// Counts operations with weights, or keys and values, of this type under what does them here.
void add_operations(DType type, double operations, measure::Work& work);
/// One product with one row of these stacked matrices, `packed_bytes` of weights in all.
[[nodiscard]] measure::Work product_work(std::span<const compute::MatrixView> stacked,
                                         double packed_bytes);
/// "Q4_1", or "Q4_K+Q6_K" of a mixture.
[[nodiscard]] std::string type_names(std::span<const compute::MatrixView> stacked);

/// Bytes that do nothing but stand for weights: small halves, and no NaN in any type.
[[nodiscard]] std::vector<std::byte> harmless_weights(std::uint64_t bytes);

/// Code::kExhausted with the sum spelled out when the parts together exceed `available`.
struct MemoryPart {
  std::string_view name;
  std::uint64_t bytes;
};
[[nodiscard]] Status check_room(std::span<const MemoryPart> parts, std::uint64_t available,
                                std::string_view advice);

}  // namespace weir::cli
