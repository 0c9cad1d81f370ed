#pragma once

/// Measures this machine's roofs and, given a model, each kernel of its step under them. Bounded in
/// time; what it needs of memory is checked before it is taken. Thread safety: the main thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/cli/kernel_bench.h"
#include "weir/compute/roofline.h"
#include "weir/sys/clock.h"
#include "weir/sys/cpu_load.h"

namespace weir::cli {

struct MachineRoof {
  compute::Resource resource = compute::Resource::kMemory;
  std::size_t threads = 0;
  measure::Spread rate;         ///< Bytes, operations or barriers a second.
  bool clean = false;           ///< Of samples during which no thread lost its core.
  std::uint32_t disturbed = 0;  ///< Samples during which one did.
};

struct MeasuredMachine {
  std::string cpu;     ///< As it calls itself.
  std::string target;  ///< Whose kernels run: "AVX3_DL".
  std::uint64_t memory_bytes = 0, l2_bytes = 0, l3_bytes = 0, buffer_bytes = 0;
  std::uint64_t weight_set = 0;  ///< What Resource::kWeights read.
  std::size_t threads = 0;       ///< The most that were measured, and what kernels ran with.
  std::vector<MachineRoof> roofs;
  std::optional<sys::CpuLoad> load;

  /// The typical rate with all threads; 0 where the machine has none.
  [[nodiscard]] double roof(compute::Resource resource) const;
  /// As kernels meet them: reading weights, and the peaks.
  [[nodiscard]] measure::Roofs decode_roofs() const;
};

/// A model's step as numbers: one row of all its weights, and the kernels measured one by one.
struct MeasuredModel {
  std::string name;
  measure::Work row;                 ///< All weight products of one row.
  double kv_bytes_per_position = 0;  ///< All layers.
  std::uint32_t layers = 0;
  bool post_norms = false;                ///< Norms after a block, as Gemma has.
  std::uint32_t positions = 0;            ///< Of each sequence, where attention was measured.
  std::vector<MeasuredKernel> products;   ///< Kinds of matrices, each with every batch of rows.
  std::vector<MeasuredKernel> attention;  ///< One sequence, and kMostSequences of them.

  /// Medians of the roofs measured beside the products: what the machine had to give just then.
  [[nodiscard]] measure::Roofs roofs_beside() const;
  /// Barriers of a step with so many rows (docs/kernels.md).
  [[nodiscard]] double barriers(std::uint64_t rows) const;
  /// The products of a step with `rows` rows, by their typical rates; nothing when that batch was
  /// not measured for all of them.
  [[nodiscard]] std::optional<double> product_seconds(std::uint64_t rows) const;
};
inline constexpr std::uint32_t kBatches[] = {1, 4, 8, 16, 32, 128};
inline constexpr std::uint32_t kMostSequences = 32;

struct RooflineRun {
  MeasuredMachine machine;
  std::optional<MeasuredModel> model;
};

struct RooflineOptions {
  std::string model;        ///< A name or path; empty: the machine alone.
  std::size_t threads = 0;  ///< 0: what this process may use.
  /// At most about so long in all; a quiet machine is done sooner.
  std::chrono::seconds time{20};
  bool quick = false;                                ///< Fewer and shorter samples.
  std::function<void(const std::string&)> progress;  ///< What is being measured; may be empty.
};

[[nodiscard]] Result<RooflineRun> run_roofline(const RooflineOptions& options,
                                               const sys::Clock& clock);

/// 1, 2, 4, ... and the most: enough to see how a machine scales.
[[nodiscard]] std::vector<std::size_t> thread_counts(std::size_t most);

}  // namespace weir::cli
