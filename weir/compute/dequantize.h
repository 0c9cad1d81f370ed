#pragma once

/// The scalar truth of every tensor type: the values its blocks stand for. The oracle that packed
/// kernels are tested against, and the slow path where none exists.
/// Block layouts: ggml's `ggml-common.h`; each is checked against the `gguf` Python package.
/// Thread safety: pure functions.

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/spec/dtype.h"

namespace weir::compute {

/// REQUIRES: info(type).weight, out.size() is whole blocks, and blocks.size() is their row_bytes.
void dequantize(DType type, std::span<const std::byte> blocks, std::span<float> out);

/// IEEE half and bfloat16 to float, exactly.
[[nodiscard]] float f16_to_f32(std::uint16_t bits);
[[nodiscard]] float bf16_to_f32(std::uint16_t bits);

}  // namespace weir::compute
