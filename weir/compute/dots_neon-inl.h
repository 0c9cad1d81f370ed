/// The integer dot products of dots-inl.h for 64-bit Arm, in the three grades of neon_grade.h. All
/// take the panel's layout as it is: byte 4 r + t of vector j is row r, column 4 j + t, so 16 bytes
/// are four rows of four columns, a quarter of a panel. Unsigned codes have at most 6 bits and are
/// bytes with a sign as they are; activation codes are within +-127. For four activation rows, 32
/// columns are 256 multiplications that widen, or 128 sdot, or 64 smmla and 32 permutations; panels
/// with eight columns of a row side by side would spare the permutations. Proven under an emulator;
/// never measured. Only dots-inl.h includes this, and its guard serves.

HWY_BEFORE_NAMESPACE();
namespace weir::compute {
namespace HWY_NAMESPACE {

inline constexpr bool kSignedCodes = true;
inline constexpr bool kCodesInRegisters = false;  // They would be all 32.

using Quarters = int32x4_t[4];

WEIR_INLINE I32x16 wide_of(const Quarters& q) {
  using V = hn::Vec<DI>;
  return {{{V(q[0])}, {V(q[1])}}, {{V(q[2])}, {V(q[3])}}};
}
WEIR_INLINE int8x16_t codes_at(const std::uint8_t* w) { return vreinterpretq_s8_u8(vld1q_u8(w)); }

#if WEIR_NEON_GRADE == 0

/// One quarter for M rows. vmull_s8 makes sixteen products of int16, and a lane takes as many more
/// as fit: 8 of 5 bits (8 x 31 x 127 = 31496), 4 of 6 bits (32004), 2 of signed bytes (2 x 128 x
/// 127 = 32512). Then pairs widen to int32.
template <Codes kCodes, int kSteps, int M>
WEIR_INLINE void quarter(const std::uint8_t* w, const CodeRows& x, int32x4_t (&out)[M]) {
  constexpr bool kSigned = kCodes == Codes::kS8 || kCodes == Codes::kTable;
  constexpr int kAtOnce = kSigned ? 2 : kCodes == Codes::kU6 ? 4 : 8;
  constexpr int kRun = kAtOnce < kSteps ? kAtOnce : kSteps;
  int32x4_t low[M];   // Rows 0 and 1 of the quarter, two sums each.
  int32x4_t high[M];  // Rows 2 and 3.
  WEIR_UNROLL for (int first = 0; first < kSteps; first += kRun) {
    int16x8_t low16[M];
    int16x8_t high16[M];
    WEIR_UNROLL for (int j = first; j < first + kRun; ++j) {
      const int8x16_t codes = codes_at(w + 64 * j);
      WEIR_UNROLL for (int m = 0; m < M; ++m) {
        std::int32_t four;
        std::memcpy(&four, x.codes + static_cast<std::uint64_t>(m) * x.stride + 4 * j, 4);
        const int8x16_t four_x = vreinterpretq_s8_s32(vdupq_n_s32(four));
        if (j == first) {
          low16[m] = vmull_s8(vget_low_s8(codes), vget_low_s8(four_x));
          high16[m] = vmull_high_s8(codes, four_x);
        } else {
          low16[m] = vmlal_s8(low16[m], vget_low_s8(codes), vget_low_s8(four_x));
          high16[m] = vmlal_high_s8(high16[m], codes, four_x);
        }
      }
    }
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      low[m] = first == 0 ? vpaddlq_s16(low16[m]) : vpadalq_s16(low[m], low16[m]);
      high[m] = first == 0 ? vpaddlq_s16(high16[m]) : vpadalq_s16(high[m], high16[m]);
    }
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m) out[m] = vpaddq_s32(low[m], high[m]);
}

/// Quarter by quarter: the int16 sums of a whole panel would be eight vectors a row. The loop stays
/// a loop, or g++ 12 mixes the quarters and spills twice as much.
template <Codes kCodes, int kSteps, int M>
WEIR_INLINE void dot(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
  int32x4_t part[4][M];
  WEIR_KEEP_LOOP for (int q = 0; q < 4; ++q) quarter<kCodes, kSteps, M>(w + 16 * q, x, part[q]);
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    out[m] = wide_of({part[0][m], part[1][m], part[2][m], part[3][m]});
  }
}

#else

/// sdot: four products a lane straight into int32. Sixteen activation codes serve four steps by
/// their lanes, so nothing is broadcast.
template <int kLane, int M, int kChains>
WEIR_INLINE void add_steps(const std::uint8_t* w, const int8x16_t (&x)[M],
                           Quarters (&sum)[M][kChains]) {
  if constexpr (kLane < 4) {
    WEIR_UNROLL for (int q = 0; q < 4; ++q) {
      const int8x16_t codes = codes_at(w + 64 * kLane + 16 * q);
      WEIR_UNROLL for (int m = 0; m < M; ++m) {
        int32x4_t& to = sum[m][kLane % kChains][q];
        to = vdotq_laneq_s32(to, codes, x[m], kLane);
      }
    }
    add_steps<kLane + 1>(w, x, sum);
  }
}

template <int kSteps, int M>
WEIR_INLINE void dot_by_vectors(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
  static_assert(kSteps % 4 == 0);
  constexpr int kChains = M <= 2 ? 2 : 1;  // Two hide the latency when there are few rows.
  Quarters sum[M][kChains];
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    WEIR_UNROLL for (int c = 0; c < kChains; ++c) {
      WEIR_UNROLL for (int q = 0; q < 4; ++q) sum[m][c][q] = vdupq_n_s32(0);
    }
  }
  WEIR_UNROLL for (int first = 0; first < kSteps; first += 4) {
    int8x16_t sixteen[M];
    WEIR_UNROLL for (int m = 0; m < M; ++m) {
      sixteen[m] = vld1q_s8(x.codes + static_cast<std::uint64_t>(m) * x.stride + 4 * first);
    }
    add_steps<0>(w + 64 * first, sixteen, sum);
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    if constexpr (kChains == 2) {
      WEIR_UNROLL for (int q = 0; q < 4; ++q) {
        sum[m][0][q] = vaddq_s32(sum[m][0][q], sum[m][1][q]);
      }
    }
    out[m] = wide_of(sum[m][0]);
  }
}

#if WEIR_NEON_GRADE == 2

/// smmla: 2 x 8 bytes times 8 x 2, twice the products of sdot. It wants eight columns of two rows
/// side by side, and zipping two quarters of neighbouring vectors gives just that: one permutation
/// for 16 codes, shared by all activation rows. An odd last row is paired with itself.
template <int kSteps, int M>
WEIR_INLINE void dot_by_matrices(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
  static_assert(kSteps % 2 == 0);
  constexpr int kPairs = (M + 1) / 2;
  int32x4_t sum[kPairs][4][2];  // [row 2 i, activation 0], [.., 1], [row 2 i + 1, 0], [.., 1]
  WEIR_UNROLL for (int i = 0; i < kPairs; ++i) {
    WEIR_UNROLL for (int q = 0; q < 4; ++q) sum[i][q][0] = sum[i][q][1] = vdupq_n_s32(0);
  }
  WEIR_UNROLL for (int j = 0; j < kSteps; j += 2) {
    int8x16_t eight[kPairs];
    WEIR_UNROLL for (int i = 0; i < kPairs; ++i) {
      const std::int8_t* at = x.codes + static_cast<std::uint64_t>(2 * i) * x.stride + 4 * j;
      eight[i] = vcombine_s8(vld1_s8(at), vld1_s8(2 * i + 1 < M ? at + x.stride : at));
    }
    WEIR_UNROLL for (int q = 0; q < 4; ++q) {
      const int32x4_t left = vreinterpretq_s32_s8(codes_at(w + 64 * j + 16 * q));
      const int32x4_t right = vreinterpretq_s32_s8(codes_at(w + 64 * (j + 1) + 16 * q));
      const int8x16_t rows01 = vreinterpretq_s8_s32(vzip1q_s32(left, right));
      const int8x16_t rows23 = vreinterpretq_s8_s32(vzip2q_s32(left, right));
      WEIR_UNROLL for (int i = 0; i < kPairs; ++i) {
        sum[i][q][0] = vmmlaq_s32(sum[i][q][0], rows01, eight[i]);
        sum[i][q][1] = vmmlaq_s32(sum[i][q][1], rows23, eight[i]);
      }
    }
  }
  WEIR_UNROLL for (int m = 0; m < M; ++m) {
    Quarters quarters;
    WEIR_UNROLL for (int q = 0; q < 4; ++q) {
      const auto& s = sum[m / 2][q];
      quarters[q] = m % 2 == 0 ? vuzp1q_s32(s[0], s[1]) : vuzp2q_s32(s[0], s[1]);
    }
    out[m] = wide_of(quarters);
  }
}

#endif

template <Codes kCodes, int kSteps, int M>
WEIR_INLINE void dot(const std::uint8_t* w, const CodeRows& x, I32x16 (&out)[M]) {
#if WEIR_NEON_GRADE == 2
  // With one or two rows sdot takes as many instructions, and none to zip.
  if constexpr (M > 2) return dot_by_matrices<kSteps>(w, x, out);
#endif
  dot_by_vectors<kSteps>(w, x, out);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace weir::compute
HWY_AFTER_NAMESPACE();
