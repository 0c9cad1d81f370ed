#pragma once

/// What the kernel pool asks of a processor and no library names: a short wait, and the mode that
/// flushes subnormal numbers. Internal to the folder. x86-64 and 64-bit Arm.
/// Thread safety: the mode is the calling thread's own.

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif !defined(__aarch64__)
#error "Weir runs on x86-64 and 64-bit Arm; a third processor starts here"
#endif

namespace weir::compute {

/// The control word for floats.
[[nodiscard]] inline std::uint64_t float_mode() {
#if defined(__x86_64__)
  return _mm_getcsr();
#else
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode)::"memory");
  return mode;
#endif
}
inline void set_float_mode(std::uint64_t mode) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(mode));
#else
  asm volatile("msr fpcr, %0" ::"r"(mode) : "memory");
#endif
}

#if defined(__x86_64__)
/// Rounds to nearest even, no exceptions; subnormals become zero where they are read (DAZ, bit 6)
/// and where they are written (FTZ, bit 15).
inline constexpr std::uint64_t kFlushingMode = 0x1F80 | 0x8040;
#else
/// The same: FZ, bit 24, does both. Halves keep their subnormals, as on x86.
inline constexpr std::uint64_t kFlushingMode = 1U << 24;
#endif

/// A wait inside a spinning loop that leaves the core's other thread alone: 65 cycles on Zen 3, 140
/// on Skylake. On Arm `yield` does nothing on most cores, and isb empties the pipeline instead.
inline void wait_a_little() {
#if defined(__x86_64__)
  _mm_pause();
#else
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace weir::compute
