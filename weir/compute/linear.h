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

/// The forms of activations that packed weights are multiplied with, beside the floats themselves:
/// quantised weights take int8, BF16 weights BF16 (rounded to nearest even), F16 and F32 the
/// floats.
struct Forms {
  bool int8 = false;
  bool bf16 = false;
};

class Linear {
 public:
  /// Bytes pack() will allocate, computed without touching the data.
  [[nodiscard]] static Result<std::uint64_t> packed_bytes(std::span<const MatrixView> stacked);

  /// Packs matrices of equal columns, stacked along rows (q over k over v). Types may differ
  /// between the parts. In parallel on `pool`. `rows` need not be a multiple of kPanelRows.
  [[nodiscard]] static Result<Linear> pack(ThreadPool& pool, std::span<const MatrixView> stacked);
  /// The same into the front of `memory`, which outlives the result and shrinks by packed_bytes():
  /// one mapping of huge pages holds a whole model. REQUIRES: aligned to kAlignment and large
  /// enough.
  [[nodiscard]] static Result<Linear> pack(ThreadPool& pool, std::span<const MatrixView> stacked,
                                           std::span<std::byte>& memory);

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] std::uint64_t columns() const { return columns_; }
  [[nodiscard]] std::uint64_t bytes() const;
  /// What its parts need.
  [[nodiscard]] Forms forms() const { return forms_; }

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
  Forms forms_;
};

/// The inputs of a product in every form its weights want: a view, made before a step and filled
/// row by row by whoever owns the row.
struct Inputs {
  const float* floats = nullptr;  ///< [rows, stride]
  std::uint64_t rows = 0, columns = 0, stride = 0;
  std::int8_t* codes = nullptr;       ///< [rows, columns]
  float* scales = nullptr;            ///< [rows, columns / 32]: x ~ scale * code
  float* scaled_sums = nullptr;       ///< [rows, columns / 32]: scale * sum of the block's codes
  std::int32_t* code_sums = nullptr;  ///< [rows, columns / 16]: sums of 16 codes
  std::uint16_t* bf16 = nullptr;      ///< [rows, columns rounded up to even], zero beyond columns
  Forms forms;                        ///< Those that fill() makes.

  /// Makes the forms of `count` columns of a row from `first` on, out of `floats`. The result
  /// depends on these columns alone. REQUIRES: both are multiples of kActivationBlock, or they are
  /// the row.
  void fill(std::uint64_t row, std::uint64_t first, std::uint64_t count) const;
  /// The team's share of all rows and columns; a barrier is the caller's business.
  void fill(const ThreadPool::Team& team) const;
};

/// The storage of inputs, reused between steps. Thread safety: none; workers fill disjoint columns.
class Activations {
 public:
  /// Room for `max_rows` x `columns` elements in any shape; allocates once, here.
  Activations(std::uint64_t max_rows, std::uint64_t columns);
  [[nodiscard]] static std::uint64_t bytes(std::uint64_t max_rows, std::uint64_t columns);
  [[nodiscard]] std::uint64_t bytes() const { return storage_.bytes(); }

  /// A view for rows x columns floats (leading dimension `stride`); nothing is computed yet.
  [[nodiscard]] Inputs of(Forms forms, const float* x, std::uint64_t rows, std::uint64_t columns,
                          std::uint64_t stride) const;

 private:
  AlignedBuffer<std::byte> storage_;
};

/// The same view over memory of the caller's, aligned to kAlignment.
/// REQUIRES: memory.size() >= Activations::bytes(rows, columns).
[[nodiscard]] Inputs inputs_in(std::span<std::byte> memory, Forms forms, const float* x,
                               std::uint64_t rows, std::uint64_t columns, std::uint64_t stride);

/// What becomes of the values that are there: out = W x, or out += W x (rounded once more, as if W
/// x were added afterwards).
enum class Into : std::uint8_t { kReplace, kAdd };

/// out[r, n] = sum_k W[n, k] x[r, k] for r in [0, x.rows) and outputs n in [first, last); `out` is
/// [x.rows, out_stride] and begins at output `first`. By one worker.
/// REQUIRES: first and last are panel boundaries of stacked parts, or their ends.
void matmul_outputs(const Linear& w, const Inputs& x, std::uint64_t first, std::uint64_t last,
                    float* out, std::uint64_t out_stride, Into into = Into::kReplace);

/// The team's share of the outputs; `out` begins at output 0. A barrier is the caller's business.
void matmul(const ThreadPool::Team& team, const Linear& w, const Inputs& x, float* out,
            std::uint64_t out_stride, Into into = Into::kReplace);

}  // namespace weir::compute
