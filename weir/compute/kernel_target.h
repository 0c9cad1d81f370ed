#pragma once

/// Which instruction set the kernels run on, as Highway names it ("AVX2", "AVX3_DL", "NEON") or
/// by its grade of NEON ("NEON_DOTPROD", "NEON_I8MM"): for people who ask why it is slow, and for
/// tests that must know what they tested. Thread safety: pure.

#include <string_view>

namespace weir::compute {

[[nodiscard]] std::string_view kernel_target();

}  // namespace weir::compute
