/// Reading panels: the codes of a block as eight vectors, its scales as sixteen lanes. Pure loads
/// and exact integer or float operations, the same values on every target.
///
/// Included once per target: per-target include guard, no #pragma once.

#if defined(WEIR_COMPUTE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_COMPUTE_BLOCKS_INL_H_
#undef WEIR_COMPUTE_BLOCKS_INL_H_
#else
#define WEIR_COMPUTE_BLOCKS_INL_H_
#endif

#include "weir/compute/dots-inl.h"

HWY_BEFORE_NAMESPACE();
WEIR_BEFORE_VNNI
namespace weir::compute {
namespace HWY_NAMESPACE {

/// IQ4_NL's values (ggml-common.h, kvalues_iq4nl).
alignas(16) inline constexpr std::int8_t kTableValues[16] = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

WEIR_INLINE void unpack_nibbles(const std::uint8_t* plane, U8x64 (&v)[8]) {
  WEIR_UNROLL for (int j = 0; j < 4; ++j) {
    const U8x64 both = load_bytes(plane + 64 * j);
    v[j] = shifted<0>(both, 15);
    v[j + 4] = shifted<-4>(both, 15);
  }
}

/// The pairs of the four vectors of one half, moved to bits kTo and kTo + 1.
template <int kTo>
WEIR_INLINE void unpack_pairs(const std::uint8_t* plane, U8x64* v) {
  const U8x64 all = load_bytes(plane);
  constexpr std::uint8_t mask = 3 << kTo;
  v[0] = shifted<kTo>(all, mask);
  v[1] = shifted<kTo - 2>(all, mask);
  v[2] = shifted<kTo - 4>(all, mask);
  v[3] = shifted<kTo - 6>(all, mask);
}

template <int kTo, int kVector8 = 0>
WEIR_INLINE void or_bits(const U8x64& all, U8x64 (&v)[8]) {
  if constexpr (kVector8 < 8) {
    v[kVector8] = bit_or(v[kVector8], shifted<kTo - kVector8>(all, 1 << kTo));
    or_bits<kTo, kVector8 + 1>(all, v);
  }
}

template <Codes kCodes>
WEIR_INLINE void unpack_codes(const std::uint8_t* block, U8x64 (&v)[8]) {
  if constexpr (kCodes == Codes::kS8) {
    WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = load_bytes(block + 64 * j);
  } else if constexpr (kCodes == Codes::kU2 || kCodes == Codes::kU3) {
    unpack_pairs<0>(block, v);
    unpack_pairs<0>(block + 64, v + 4);
    if constexpr (kCodes == Codes::kU3) or_bits<2>(load_bytes(block + 128), v);
  } else {
    unpack_nibbles(block, v);
    if constexpr (kCodes == Codes::kU5) or_bits<4>(load_bytes(block + 256), v);
    if constexpr (kCodes == Codes::kU6) {
      U8x64 high[8];
      unpack_pairs<4>(block + 256, high);
      unpack_pairs<4>(block + 320, high + 4);
      WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = bit_or(v[j], high[j]);
    }
    if constexpr (kCodes == Codes::kTable) {
      const auto* table = reinterpret_cast<const std::uint8_t*>(kTableValues);
      WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = lookup(table, v[j]);
    }
  }
  if constexpr ((kCodes == Codes::kS8 || kCodes == Codes::kTable) && !kSignedCodes) {
    WEIR_UNROLL for (int j = 0; j < 8; ++j) v[j] = bit_xor(v[j], set_bytes(128));
  }
}

WEIR_INLINE const std::uint16_t* halves(const std::uint8_t* p) {
  return reinterpret_cast<const std::uint16_t*>(p);
}

/// The blocks of a panel one after the other.
template <DType kType>
class BlockReader {
 public:
  static constexpr PanelFormat kFormat = panel_format(kType);
  static constexpr int kGroups = 32 / kFormat.group();

  WEIR_INLINE explicit BlockReader(const std::uint8_t* panel) : at_(panel) {}

  /// REQUIRES: called before every eighth block, the first included.
  WEIR_INLINE void header() {
    if constexpr (kFormat.header_bytes() != 0) {
      d_ = load_f16(halves(at_));
      if constexpr (kFormat.has_minimum()) outer_minimum_ = load_f16(halves(at_ + 32));
      at_ += kFormat.header_bytes();
    }
  }
  /// Asks L2 for what is read later, in the next panel when this one ends. With one row of
  /// activations a core waits for memory, and its own prefetcher does best when hinted at every
  /// second line a page ahead: Q8_0 then reads at 90 % of what a core of Zen 4 can, without hints
  /// at 82 %, with every line hinted at 73 %. More rows take longer than that prefetcher looks
  /// ahead and need every line: six rows of Q8_0 take 2.4 times as long with fewer hints or none.
  template <int kRows>
  WEIR_INLINE void prefetch() const {
    constexpr std::uint64_t kAhead = kRows == 1 ? 4096 : 12288;
    constexpr std::uint64_t kStep = kRows == 1 ? 128 : 64;
    WEIR_UNROLL for (std::uint64_t i = 0; i < kFormat.block_bytes(); i += kStep) {
      __builtin_prefetch(at_ + kAhead + i, 0, 2);
    }
  }
  /// Codes; w = scale q' + minimum, q' without its offset. `minimum` is left alone where there is
  /// none.
  WEIR_INLINE void next(U8x64 (&codes)[8], F32x16 (&scale)[kGroups], F32x16 (&minimum)[kGroups]) {
    unpack_codes<kFormat.codes>(at_, codes);
    const std::uint8_t* s = at_ + kFormat.code_bytes();
    at_ += kFormat.block_bytes();
    if constexpr (kFormat.scales == Scales::kD || kFormat.scales == Scales::kDM) {
      scale[0] = load_f16(halves(s));
      if constexpr (kFormat.has_minimum()) minimum[0] = load_f16(halves(s + 32));
    } else if constexpr (kFormat.scales == Scales::k32M) {
      scale[0] = mul(d_, to_f32(load_u8(s)));
      minimum[0] = mul(outer_minimum_, to_f32(load_u8(s + 16)));
    } else {
      WEIR_UNROLL for (int half = 0; half < 2; ++half, s += 16) {
        const I32x16 steps = kFormat.scales == Scales::k16
                                 ? load_s8(reinterpret_cast<const std::int8_t*>(s))
                                 : load_u8(s);
        scale[half] = mul(d_, to_f32(steps));
        if constexpr (kFormat.has_minimum()) {
          minimum[half] = mul(outer_minimum_, to_f32(load_u8(s + 32)));
        }
      }
    }
  }

 private:
  const std::uint8_t* at_;
  F32x16 d_;
  F32x16 outer_minimum_;
};

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
