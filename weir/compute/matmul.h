#pragma once

/// The kernels under matmul(): panels of one matrix times activation rows. Internal to the folder.
/// Every output element is one chain over k in increasing order, whatever the rows beside it.
/// Thread safety: pure over the caller's memory; distinct panels may run on different workers.

#include <cstdint>

#include "weir/spec/dtype.h"

namespace weir::compute {

struct PanelProduct {
  DType type = DType::kF32;
  const std::byte* panels = nullptr;  ///< The first of the panels to multiply.
  std::uint64_t panel_bytes = 0;
  std::uint64_t count = 0;    ///< Panels.
  std::uint64_t outputs = 0;  ///< Output rows in them: 16 a panel, fewer in the last.
  std::uint64_t columns = 0;

  std::uint64_t rows = 0;    ///< Activation rows.
  const float* x = nullptr;  ///< Plain weights: [rows, x_stride].
  std::uint64_t x_stride = 0;
  const std::int8_t* codes = nullptr;       ///< Quantised weights: [rows, columns]
  const float* scales = nullptr;            ///< [rows, columns / 32]
  const float* scaled_sums = nullptr;       ///< [rows, columns / 32]
  const std::int32_t* code_sums = nullptr;  ///< [rows, columns / 16]
  const std::uint16_t* bf16 = nullptr;      ///< BF16 weights: [rows, columns rounded up to even]

  float* out = nullptr;  ///< [rows, out_stride], at the first panel's first output.
  std::uint64_t out_stride = 0;
  bool add = false;  ///< out += the product, one rounding each, rather than out = the product.
};

void multiply_quantised(const PanelProduct& p);
void multiply_plain(const PanelProduct& p);
void multiply_bf16(const PanelProduct& p);

/// What prepare() makes of one block of 32: codes x 127 / amax to nearest even, scale amax / 127.
/// A block below 2^-100 is zero. A block with NaN or infinity has scale NaN and codes 0, so that
/// its row's outputs are NaN and no other row's.
void quantise_blocks(const float* x, std::uint64_t blocks, std::int8_t* codes, float* scales,
                     float* scaled_sums, std::int32_t* code_sums);

/// To nearest, ties to even; infinities become NaN, so that what is no number ends its own row.
void round_to_bf16(const float* x, std::uint64_t count, std::uint16_t* out);

}  // namespace weir::compute
