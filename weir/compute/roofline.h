#pragma once

/// What this machine can do at most, measured: the roofs over every kernel (Williams, Waterman and
/// Patterson, "Roofline", CACM 2009). Memory is read from a buffer of eight times the last cache,
/// asked for in huge pages, and from sets that caches hold; arithmetic runs in the loops of
/// peak_loops.h; both by a pool of the project's own workers. Every resource is sampled in turn,
/// round after round, so that a minute's mood meets them all.
///
/// Thread safety: one thread, the pool's owner; calls block for some seconds.

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/result.h"
#include "weir/compute/buffer.h"
#include "weir/compute/peak_loops.h"
#include "weir/compute/thread_pool.h"
#include "weir/compute/timed_loop.h"
#include "weir/sys/clock.h"

namespace weir::compute {

enum class Resource : std::uint8_t {
  kMemory,   ///< Bytes a second read from the whole buffer.
  kWeights,  ///< The same over as much as a model streams: of a small one the cache keeps a part.
  kTriad,    ///< Bytes a second of STREAM's triad over the whole buffer.
  kL3,       ///< Bytes a second read from a set of 5/8 of the last cache.
  kL2,       ///< Bytes a second, each worker from half of its own second cache.
  kInt8,     ///< Operations a second; the three of peak_loops.h.
  kBf16,
  kF32,
  kBarrier,  ///< The pool's barriers a second.
};
inline constexpr std::uint64_t kWeightSet = 96'000'000;

/// The buffer that memory's roofs are measured in, sized by the machine's caches.
struct RoofBuffer {
  /// Bytes for caches of these sizes (0: unknown, taken as 1 MiB and 32 MiB): eight times the last
  /// one, and never less than kWeightSet. At most 4 GiB.
  [[nodiscard]] static std::uint64_t planned_bytes(std::uint64_t l3_bytes);

  RoofBuffer(std::uint64_t l2_bytes, std::uint64_t l3_bytes);

  std::uint64_t l2_bytes, l3_bytes;  ///< As known or taken.
  AlignedBuffer<std::byte> bytes;
};

/// Reads `bytes` of `memory` over and over, a slice after the other, the workers a contiguous share
/// of each.
/// REQUIRES: memory outlives the loop and holds them.
[[nodiscard]] TimedLoop read_loop(const AlignedBuffer<std::byte>& memory, std::uint64_t bytes,
                                  std::size_t workers);
/// Nothing where peak_loop() has none.
[[nodiscard]] std::optional<TimedLoop> peak_timed_loop(Peak peak, std::size_t workers);

struct RoofOptions {
  std::uint64_t weight_set = kWeightSet;  ///< Of kWeights; at most the buffer.
  std::uint32_t rounds = 25;              ///< Clean samples of each resource.
  std::chrono::nanoseconds sample = std::chrono::microseconds(1500);
  std::uint32_t tries = 6;  ///< Of each sample, until nobody took a core away meanwhile.
  /// No further round begins after this, once kLeastRounds are done.
  std::chrono::nanoseconds budget = std::chrono::seconds(5);
};
inline constexpr std::uint32_t kLeastRounds = 9;
inline constexpr std::uint32_t kLeastClean = 3;

struct RoofSamples {
  Resource resource;
  std::vector<double> rates;    ///< The clean ones when they are kLeastClean or more, else all.
  bool clean = false;           ///< Whether those are the clean ones.
  std::uint32_t disturbed = 0;  ///< Samples that were not clean.
};

/// For as many threads as `pool` has. A resource that this machine lacks is left out.
[[nodiscard]] std::vector<RoofSamples> measure_roofs(ThreadPool& pool, const sys::Clock& clock,
                                                     const RoofBuffer& buffer,
                                                     const RoofOptions& options);

}  // namespace weir::compute
