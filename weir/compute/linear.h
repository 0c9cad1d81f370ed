#pragma once

/// y = W x for quantised and plain weights: the packed matrix, its packed activations, the product.
///
/// W is packed once, at load, into panels of kPanelRows output rows, so that one vector lane owns
/// one output row: no horizontal sums, and every output element is reduced over k in one fixed
/// order whatever the number of activation rows, the chunk, the worker count or the instruction set
/// (promise 1). Quantised weights multiply activations quantised to int8 per kActivationBlock
/// elements of a row (the same for every batch); plain weights multiply float activations with fma.
/// The scalar twin computes the very same values bit for bit.
///
/// Thread safety: a packed Linear is immutable; matmul is called by all workers of a team at once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/compute/buffer.h"
#include "weir/compute/thread_pool.h"
#include "weir/spec/dtype.h"

namespace weir::compute {

inline constexpr std::uint32_t kPanelRows = 16;
inline constexpr std::uint32_t kActivationBlock = 32;

/// A matrix as a file stores it: `rows` output rows of `columns` inputs.
struct MatrixView {
  DType type = DType::kF32;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::span<const std::byte> data;
};

/// What the packed weights want to be multiplied with.
enum class ActivationKind : std::uint8_t { kF32, kInt8 };

class Linear {
 public:
  /// Bytes pack() will allocate, computed without touching the data.
  [[nodiscard]] static Result<std::uint64_t> packed_bytes(std::span<const MatrixView> stacked);

  /// Packs matrices of equal columns, stacked along rows (q over k over v). Types may differ
  /// between the parts. In parallel on `pool`. `rows` need not be a multiple of kPanelRows.
  [[nodiscard]] static Result<Linear> pack(ThreadPool& pool, std::span<const MatrixView> stacked);

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t columns() const { return columns_; }
  [[nodiscard]] std::uint64_t bytes() const;
  /// Whether any part needs int8, and any part needs float activations.
  [[nodiscard]] bool wants(ActivationKind kind) const;

  Linear();
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  struct Part;  ///< One stacked matrix; internal to linear*.cc.
  [[nodiscard]] std::span<const Part> parts() const;

 private:
  std::vector<Part> parts_;
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
};

/// The inputs of a product in every form its weights want; storage is reused between steps.
/// prepare() is called by all workers (each does its share of rows, then the team barriers before
/// use).
class Activations {
 public:
  /// Room for `max_rows` x `columns` elements in any shape; allocates once, here.
  Activations(std::uint64_t max_rows, std::uint64_t columns);

  /// Quantises rows x columns floats (leading dimension `stride`). Keeps a view of `x` for kF32.
  /// Row by row: the result for a row depends on that row alone.
  void prepare(const ThreadPool::Team& team, const float* x, std::uint64_t rows,
               std::uint64_t columns, std::uint64_t stride, bool int8);

  const float* floats = nullptr;  ///< [rows, stride]
  std::uint64_t rows = 0, columns = 0, stride = 0;
  AlignedBuffer<std::int8_t> codes;  ///< [max_rows, columns]
  AlignedBuffer<float> scales;       ///< [max_rows, columns / 32]: x ~ scale * code
  AlignedBuffer<float> scaled_sums;  ///< [max_rows, columns / 32]: scale * sum of the block's codes
  AlignedBuffer<std::int32_t> code_sums;  ///< [max_rows, columns / 16]: sums of 16 codes
};

/// out[r, n] = sum_k W[n, k] x[r, k] for r in [0, x.rows) and the team's share of n.
/// `out` is [rows, out_stride]. All workers call it; a barrier is the caller's business.
void matmul(const ThreadPool::Team& team, const Linear& w, const Activations& x, float* out,
            std::uint64_t out_stride);

}  // namespace weir::compute
