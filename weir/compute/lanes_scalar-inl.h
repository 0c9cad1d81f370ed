/// The scalar twin of the vectors of lanes-inl.h, which includes this within its namespace and its
/// guard: the same functions over plain arrays, lane by lane.

struct F32x16 {
  float v[kLanes];
};
struct I32x16 {
  std::int32_t v[kLanes];
};
struct U8x64 {
  std::uint8_t v[64];
};

#define WEIR_LANES_2(name, type, count, expression)          \
  WEIR_INLINE type name(const type& a, const type& b) {      \
    type r;                                                  \
    for (int i = 0; i < (count); ++i) r.v[i] = (expression); \
    return r;                                                \
  }
WEIR_LANES_2(add, F32x16, kLanes, a.v[i] + b.v[i])
WEIR_LANES_2(sub, F32x16, kLanes, a.v[i] - b.v[i])
WEIR_LANES_2(mul, F32x16, kLanes, a.v[i] * b.v[i])
WEIR_LANES_2(div, F32x16, kLanes, a.v[i] / b.v[i])
// Wraps, as vectors do.
WEIR_LANES_2(add, I32x16, kLanes,
             static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) +
                                       static_cast<std::uint32_t>(b.v[i])))
WEIR_LANES_2(sub, I32x16, kLanes,
             static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) -
                                       static_cast<std::uint32_t>(b.v[i])))
WEIR_LANES_2(bit_and, I32x16, kLanes, a.v[i] & b.v[i])
WEIR_LANES_2(bit_or, I32x16, kLanes, a.v[i] | b.v[i])
WEIR_LANES_2(bit_xor, I32x16, kLanes, a.v[i] ^ b.v[i])
WEIR_LANES_2(bit_and, U8x64, 64, a.v[i] & b.v[i])
WEIR_LANES_2(bit_or, U8x64, 64, a.v[i] | b.v[i])
WEIR_LANES_2(bit_xor, U8x64, 64, a.v[i] ^ b.v[i])
#undef WEIR_LANES_2

WEIR_INLINE F32x16 abs(const F32x16& a) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = std::fabs(a.v[i]);
  return r;
}
/// a * b + c, rounded once.
WEIR_INLINE F32x16 fma(const F32x16& a, const F32x16& b, const F32x16& c) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
  return r;
}
/// a * b - c, rounded once.
WEIR_INLINE F32x16 fma_sub(const F32x16& a, const F32x16& b, const F32x16& c) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = std::fma(a.v[i], b.v[i], -c.v[i]);
  return r;
}
/// a < b ? yes : no; a comparison with NaN is false.
WEIR_INLINE F32x16 select_less(const F32x16& a, const F32x16& b, const F32x16& yes,
                               const F32x16& no) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] < b.v[i] ? yes.v[i] : no.v[i];
  return r;
}

WEIR_INLINE F32x16 set(float x) {
  F32x16 r;
  for (float& y : r.v) y = x;
  return r;
}
WEIR_INLINE I32x16 set(std::int32_t x) {
  I32x16 r;
  for (std::int32_t& y : r.v) y = x;
  return r;
}
WEIR_INLINE U8x64 set_bytes(std::uint8_t x) {
  U8x64 r;
  for (std::uint8_t& y : r.v) y = x;
  return r;
}

template <class W>
WEIR_INLINE W load_array(const void* p) {
  W r;
  std::memcpy(r.v, p, sizeof r.v);
  return r;
}
WEIR_INLINE F32x16 load(const float* p) { return load_array<F32x16>(p); }
WEIR_INLINE I32x16 load(const std::int32_t* p) { return load_array<I32x16>(p); }
WEIR_INLINE U8x64 load_bytes(const std::uint8_t* p) { return load_array<U8x64>(p); }
WEIR_INLINE void store(const F32x16& a, float* p) { std::memcpy(p, a.v, sizeof a.v); }
WEIR_INLINE void store(const I32x16& a, std::int32_t* p) { std::memcpy(p, a.v, sizeof a.v); }
WEIR_INLINE void store(const U8x64& a, std::uint8_t* p) { std::memcpy(p, a.v, sizeof a.v); }

/// From sixteen narrow values: f16 and bf16 bits, bytes. Exact.
WEIR_INLINE F32x16 load_f16(const std::uint16_t* p) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) {
    // The exponent is re-biased by a multiplication, which normalises subnormals as well;
    // infinities and NaNs keep their mantissa under the widest exponent.
    const std::uint32_t magnitude = p[i] & 0x7FFFU;
    const std::uint32_t sign = (p[i] & 0x8000U) << 16;
    const std::uint32_t bits =
        magnitude >= 0x7C00
            ? 0x7F800000 | (magnitude & 0x3FF) << 13 | (magnitude > 0x7C00 ? 0x400000U : 0)
            : std::bit_cast<std::uint32_t>(static_cast<float>(magnitude < 0x400 ? magnitude : 0) *
                                           0x1p-24F) |
                  (magnitude < 0x400 ? 0 : (magnitude << 13) + (112U << 23));
    r.v[i] = std::bit_cast<float>(sign | bits);
  }
  return r;
}
WEIR_INLINE F32x16 load_bf16(const std::uint16_t* p) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i)
    r.v[i] = std::bit_cast<float>(static_cast<std::uint32_t>(p[i]) << 16);
  return r;
}
WEIR_INLINE I32x16 load_u8(const std::uint8_t* p) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = p[i];
  return r;
}
WEIR_INLINE I32x16 load_s8(const std::int8_t* p) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = p[i];
  return r;
}
/// To nearest, ties to even.
WEIR_INLINE void store_f16(const F32x16& a, std::uint16_t* p) {
  for (int i = 0; i < kLanes; ++i) p[i] = f32_to_f16(a.v[i]);
}

/// Exact below 2^24, else rounded to nearest even.
WEIR_INLINE F32x16 to_f32(const I32x16& a) {
  F32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = static_cast<float>(a.v[i]);
  return r;
}
WEIR_INLINE I32x16 bits_of(const F32x16& a) { return std::bit_cast<I32x16>(a); }
WEIR_INLINE F32x16 from_bits(const I32x16& a) { return std::bit_cast<F32x16>(a); }

template <int kBits>
WEIR_INLINE I32x16 shift_left(const I32x16& a) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) {
    r.v[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(a.v[i]) << kBits);
  }
  return r;
}
/// Arithmetic.
template <int kBits>
WEIR_INLINE I32x16 shift_right(const I32x16& a) {
  I32x16 r;
  for (int i = 0; i < kLanes; ++i) r.v[i] = a.v[i] >> kBits;
  return r;
}
/// Bytes shifted left by kShift (right when negative) and masked. REQUIRES: `mask` drops the bits a
/// neighbour byte may have shifted in.
template <int kShift>
WEIR_INLINE U8x64 shifted(const U8x64& a, std::uint8_t mask) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) {
    const unsigned moved = kShift >= 0
                               ? static_cast<unsigned>(a.v[i]) << (kShift >= 0 ? kShift : 0)
                               : static_cast<unsigned>(a.v[i]) >> (kShift < 0 ? -kShift : 0);
    r.v[i] = static_cast<std::uint8_t>(moved & mask);
  }
  return r;
}
/// table[a] byte by byte. REQUIRES: every byte of `a` < 16.
WEIR_INLINE U8x64 lookup(const std::uint8_t* table, const U8x64& a) {
  U8x64 r;
  for (int i = 0; i < 64; ++i) r.v[i] = table[a.v[i]];
  return r;
}
/// Lanes i and i + 8 first, then 4, 2, 1: the one order of every reduction over lanes.
WEIR_INLINE float sum_lanes(const F32x16& a) {
  float x[kLanes];
  std::memcpy(x, a.v, sizeof x);
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) x[i] += x[i + width];
  }
  return x[0];
}
/// Thirty-two floats: those at even and those at odd places.
WEIR_INLINE void load_pairs(const float* p, F32x16& even, F32x16& odd) {
  for (int i = 0; i < kLanes; ++i) {
    even.v[i] = p[2 * i];
    odd.v[i] = p[2 * i + 1];
  }
}
WEIR_INLINE void store_pairs(const F32x16& even, const F32x16& odd, float* p) {
  for (int i = 0; i < kLanes; ++i) {
    p[2 * i] = even.v[i];
    p[2 * i + 1] = odd.v[i];
  }
}
/// Exact, so that its order does not matter. REQUIRES: the sum fits.
WEIR_INLINE std::int32_t sum_lanes(const I32x16& a) {
  std::int32_t sum = 0;
  for (const std::int32_t x : a.v) sum += x;
  return sum;
}
/// REQUIRES: no NaN.
WEIR_INLINE float largest_lane(const F32x16& a) {
  float largest = a.v[0];
  for (const float x : a.v) largest = x > largest ? x : largest;
  return largest;
}
/// REQUIRES: every lane within [-128, 127].
WEIR_INLINE void store_s8(const I32x16& a, std::int8_t* p) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::int8_t>(a.v[i]);
}
/// REQUIRES: every lane within [0, 65535].
WEIR_INLINE void store_u16(const I32x16& a, std::uint16_t* p) {
  for (int i = 0; i < kLanes; ++i) p[i] = static_cast<std::uint16_t>(a.v[i]);
}
