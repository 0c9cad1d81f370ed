#pragma once

/// A model as the kernels of its step: every distinct matrix with how often a step multiplies by
/// it, read from the file's own tensors, and attention. Weights are packed a kind at a time, so a
/// model larger than memory can be measured. Thread safety: the pool's owner.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/cli/kernel_bench.h"
#include "weir/compute/kernel_probes.h"
#include "weir/format/model_file.h"
#include "weir/spec/model_shape.h"

namespace weir::cli {

struct MeasuredModel;

/// Matrices of equal types and sizes.
struct ProductKind {
  std::string name;                          ///< "q+k+v"
  std::vector<compute::MatrixView> stacked;  ///< The first of them.
  std::uint64_t packed_bytes = 0;            ///< Of one.
  std::uint32_t calls = 0;                   ///< In a step.
};

class ModelOfKernels {
 public:
  /// Resolves and opens `model`; never downloads.
  [[nodiscard]] static Result<ModelOfKernels> open(const std::string& model);

  /// Packed weights that a step of any batch reads.
  [[nodiscard]] std::uint64_t streamed_bytes() const;
  /// That measure() measures.
  [[nodiscard]] std::size_t kernels() const;
  /// The most that measure() holds at once.
  [[nodiscard]] Result<std::uint64_t> planned_bytes(std::uint64_t set_bytes) const;

  [[nodiscard]] Result<MeasuredModel> measure(
      compute::ThreadPool& pool, const sys::Clock& clock, const RoofsBeside& beside,
      std::uint64_t set_bytes, const KernelBenchOptions& options,
      const std::function<void(const std::string&)>& progress) const;

 private:
  ModelOfKernels() = default;
  /// As many layers as fill the set, so that no cache holds what is read.
  [[nodiscard]] compute::AttentionLoad attention_load(std::uint64_t set_bytes) const;

  std::string name_;
  std::unique_ptr<format::ModelFile> file_;
  ModelShape shape_;
  std::vector<ProductKind> kinds_;
};

}  // namespace weir::cli
