#include "weir/compute/roofline.h"

#include <algorithm>
#include <memory>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/cursors.h"
#include "weir/compute/memory_loops.h"

namespace weir::compute {
namespace {

constexpr std::uint64_t kMostBuffer = std::uint64_t{4} << 30;
constexpr std::size_t kLine = kAlignment;
/// Half a millisecond at what one memory channel gives: a sample is several.
constexpr std::uint64_t kSlice = 16U << 20;

/// Where workers leave what their loops came to, a line each, so that nothing is optimised away.
/// Shared by the copies of a loop.
struct Sums {
  explicit Sums(std::size_t workers) : values(workers * kLine / sizeof(std::uint64_t)) {}
  void add(const ThreadPool::Team& team, std::uint64_t value) const {
    values[team.index() * kLine / sizeof(std::uint64_t)] ^= value;
  }
  AlignedBuffer<std::uint64_t> values;
};

/// Each worker from a piece of its own of `each` bytes.
TimedLoop own_read_loop(const AlignedBuffer<std::byte>& memory, std::uint64_t each,
                        std::size_t workers) {
  const std::span<const std::byte> all = memory.span();
  const auto sums = std::make_shared<Sums>(workers);
  return {.amount = static_cast<double>(each * workers),
          .once = [all, each, sums](const ThreadPool::Team& team) {
            sums->add(team, read_all(all.subspan(team.index() * each, each)));
          }};
}

TimedLoop triad_loop(const AlignedBuffer<std::byte>& memory, std::size_t workers) {
  const std::size_t count = memory.size() / 3 / kLine * kLine / sizeof(double);
  const std::size_t slice =
      std::min<std::size_t>(count, kSlice / 3 / kLine * kLine / sizeof(double));
  double* const a = reinterpret_cast<double*>(memory.data());
  const auto cursors = std::make_shared<Cursors>(workers, count / slice);
  return {.amount = kTriadBytes * static_cast<double>(slice),
          .once = [a, count, slice, cursors](const ThreadPool::Team& team) {
            const Share mine = team.share(slice, kLine / sizeof(double));
            const std::size_t begin = cursors->next(team) * slice + mine.begin;
            const std::size_t n = mine.end - mine.begin;
            triad({a + begin, n}, {a + count + begin, n}, {a + 2 * count + begin, n});
          }};
}

struct Measured {
  Resource resource;
  TimedLoop loop;
};

RoofSamples kept_of(Resource resource, const std::vector<Sample>& samples) {
  const auto clean = std::ranges::count_if(samples, &Sample::clean);
  RoofSamples kept{.resource = resource,
                   .rates = {},
                   .clean = clean >= kLeastClean,
                   .disturbed = static_cast<std::uint32_t>(std::ssize(samples) - clean)};
  for (const Sample& sample : samples) {
    if (sample.clean || clean < kLeastClean) kept.rates.push_back(sample.rate);
  }
  return kept;
}

}  // namespace

std::uint64_t RoofBuffer::planned_bytes(std::uint64_t l3_bytes) {
  const std::uint64_t l3 = l3_bytes == 0 ? 32U << 20 : l3_bytes;
  return std::clamp<std::uint64_t>(std::min(l3, kMostBuffer) * 8,
                                   round_up<std::uint64_t>(kWeightSet, kHugePage), kMostBuffer);
}

RoofBuffer::RoofBuffer(std::uint64_t l2, std::uint64_t l3)
    : l2_bytes(l2 == 0 ? 1U << 20 : l2),
      l3_bytes(l3 == 0 ? 32U << 20 : l3),
      bytes(planned_bytes(l3)) {}

TimedLoop read_loop(const AlignedBuffer<std::byte>& memory, std::uint64_t bytes,
                    std::size_t workers) {
  WEIR_CHECK(bytes <= memory.size() && bytes >= kLine, "a read of more than there is");
  const std::uint64_t slice = std::min(bytes, kSlice) / kLine * kLine;
  const std::span<const std::byte> all = memory.span();
  const auto sums = std::make_shared<Sums>(workers);
  const auto cursors = std::make_shared<Cursors>(workers, bytes / slice);
  return {.amount = static_cast<double>(slice),
          .once = [all, slice, sums, cursors](const ThreadPool::Team& team) {
            const Share mine = team.share(slice, kLine);
            sums->add(team, read_all(all.subspan(cursors->next(team) * slice + mine.begin,
                                                 mine.end - mine.begin)));
          }};
}

std::optional<TimedLoop> peak_timed_loop(Peak peak, std::size_t workers) {
  const auto loop = peak_loop(peak);
  if (!loop) return std::nullopt;
  constexpr std::uint64_t kRounds = 2000;
  const auto sums = std::make_shared<Sums>(workers);
  return TimedLoop{.amount = loop->operations * static_cast<double>(kRounds * workers),
                   .once = [spin = loop->spin, sums](const ThreadPool::Team& team) {
                     sums->add(team, static_cast<std::uint64_t>(spin(kRounds)));
                   }};
}

std::vector<RoofSamples> measure_roofs(ThreadPool& pool, const sys::Clock& clock,
                                       const RoofBuffer& buffer, const RoofOptions& options) {
  const std::size_t workers = pool.workers();
  // Pages are handed out where they are first touched, so by the worker that will read them.
  pool.run([&](const ThreadPool::Team& team) {
    const Share mine = team.share(buffer.bytes.size(), kHugePage);
    std::fill(buffer.bytes.data() + mine.begin, buffer.bytes.data() + mine.end, std::byte{1});
  });
  const std::uint64_t all = buffer.bytes.size();
  const std::uint64_t l3 = std::min(buffer.l3_bytes * 5 / 8 / kLine * kLine, all);
  const std::uint64_t l2 = std::min(buffer.l2_bytes / 2, all / workers) / kLine * kLine;
  std::vector<Measured> measured;
  const auto add = [&](Resource resource, TimedLoop loop) {
    measured.push_back({resource, std::move(loop)});
  };
  add(Resource::kMemory, read_loop(buffer.bytes, all, workers));
  add(Resource::kWeights, read_loop(buffer.bytes, std::min(options.weight_set, all), workers));
  add(Resource::kTriad, triad_loop(buffer.bytes, workers));
  add(Resource::kL3, read_loop(buffer.bytes, l3, workers));
  add(Resource::kL2, own_read_loop(buffer.bytes, l2, workers));
  for (const auto& [resource, peak] :
       {std::pair(Resource::kInt8, Peak::kInt8Dot), std::pair(Resource::kBf16, Peak::kBf16Dot),
        std::pair(Resource::kF32, Peak::kF32Fma)}) {
    if (auto loop = peak_timed_loop(peak, workers)) add(resource, *std::move(loop));
  }
  if (workers > 1) {
    add(Resource::kBarrier,
        {.amount = 1, .once = [](const ThreadPool::Team& team) { team.barrier(); }});
  }
  const auto begin = clock.now();
  for (Measured& m : measured) calibrate(pool, clock, m.loop, options.sample);
  std::vector<std::vector<Sample>> samples(measured.size());
  const auto enough = [&](const std::vector<Sample>& of_one) {
    return std::ranges::count_if(of_one, &Sample::clean) >= options.rounds;
  };
  for (std::uint32_t round = 0; !std::ranges::all_of(samples, enough); ++round) {
    if (round >= kLeastRounds && clock.now() - begin >= options.budget) break;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      const Measured& m = measured[i];
      if (enough(samples[i])) continue;
      // A set that should be cached was driven out by the one before it.
      if (m.resource == Resource::kL3 || m.resource == Resource::kL2)
        (void)sample_once(pool, clock, m.loop);
      samples[i].push_back(sample_of(pool, clock, m.loop, options.tries));
    }
  }
  std::vector<RoofSamples> result;
  for (std::size_t i = 0; i < measured.size(); ++i)
    result.push_back(kept_of(measured[i].resource, samples[i]));
  return result;
}

}  // namespace weir::compute
