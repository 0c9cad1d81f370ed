// Kernels against this machine's own limits, measured in the same process and minute: matrix
// products of SmolLM2-135M's shapes against the read bandwidth (one row) and the byte-product peak
// (many rows), attention against the read bandwidth, and the pool's barrier. Best of several
// rounds; a ratio, not a number, is what compares between machines and days.
//
//     weir_kernels_bench [threads [type]]     (default 2, and a handful of types; "attention"
//     alone)

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <vector>

#include "weir/base/random.h"
#include "weir/compute/attention.h"
#include "weir/compute/kernel_target.h"
#include "weir/compute/linear.h"
#include "weir/compute/memory_loops.h"
#include "weir/compute/peak_loops.h"
#include "weir/compute/thread_pool.h"

namespace weir::compute {
namespace {

/// With one thread this thread's CPU time, which neighbours on the core do not stretch; else wall
/// time.
bool cpu_time = false;
double now() {
  timespec t{};
  clock_gettime(cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class F>
double best_of(int rounds, F&& f) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const double start = now();
    f();
    best = std::min(best, now() - start);
  }
  return best;
}

/// Reads memory, each worker a contiguous share.
class ReadTest {
 public:
  ReadTest(ThreadPool& pool, std::uint64_t bytes) : pool_(pool), memory_(bytes) {
    // Written first: what never was is one page of zeros, read from the cache.
    std::ranges::fill(memory_.span(), std::byte{1});
  }
  /// GB/s of one pass.
  double once() {
    const double seconds = best_of(1, [&] {
      pool_.run([&](const ThreadPool::Team& team) {
        const Share mine = team.share(memory_.size(), kAlignment);
        (void)read_all(memory_.span().subspan(mine.begin, mine.end - mine.begin));
      });
    });
    return static_cast<double>(memory_.bytes()) / seconds / 1e9;
  }

 private:
  ThreadPool& pool_;
  AlignedBuffer<std::byte> memory_;
};
double read_bandwidth(ThreadPool& pool, std::uint64_t bytes) {
  ReadTest test(pool, bytes);
  double best = 0.0;
  for (int i = 0; i < 5; ++i) best = std::max(best, test.once());
  return best;
}

/// Gop/s of the byte products of this target.
double product_peak(ThreadPool& pool) {
  constexpr std::uint64_t kRounds = 200'000;
  const PeakLoop loop = *peak_loop(Peak::kInt8Dot);
  const double seconds =
      best_of(5, [&] { pool.run([&](const ThreadPool::Team&) { (void)loop.spin(kRounds); }); });
  return static_cast<double>(pool.workers() * kRounds) * loop.operations / seconds / 1e9;
}

struct Layer {
  std::uint64_t rows, columns;
};
// q+k+v, output, gate+up, down of SmolLM2-135M (width 576, 9 and 3 heads of 64, MLP 1536).
constexpr Layer kLayers[] = {{960, 576}, {576, 576}, {3072, 576}, {576, 1536}};
// The same volume with rows of whole K-quant blocks (Gemma-3-270M's widths are of this kind).
constexpr Layer kLayersK[] = {{1024, 512}, {512, 512}, {3072, 512}, {512, 1536}};

void bench_products(ThreadPool& pool, DType type, int layers, double bandwidth) {
  const bool k_quant = info(type).block_elements == 256;
  // One mapping of huge pages, as a model has.
  std::uint64_t all = 0;
  for (const Layer& shape : k_quant ? kLayersK : kLayers) {
    const MatrixView view = {type, shape.rows, shape.columns, {}};
    all += *Linear::packed_bytes(std::span(&view, 1));
  }
  const AlignedBuffer<std::byte> memory(all * static_cast<std::uint64_t>(layers));
  std::span<std::byte> room = memory.span();
  std::vector<Linear> weights;
  std::vector<std::byte> bytes;
  double packed = 0.0;
  double operations = 0.0;
  for (int l = 0; l < layers; ++l) {
    for (const Layer& shape : k_quant ? kLayersK : kLayers) {
      bytes.resize(shape.rows * *row_bytes(type, shape.columns));
      for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::byte>(i * 37 % 32);  // Small halves.
      const MatrixView view = {type, shape.rows, shape.columns, bytes};
      weights.push_back(*Linear::pack(pool, std::span(&view, 1), room));
      packed += static_cast<double>(weights.back().bytes());
      operations += 2.0 * static_cast<double>(shape.rows * shape.columns);
    }
  }
  for (const std::uint64_t rows : {1, 6, 32, 128, 512}) {
    Activations a(rows, 1536);
    std::vector<float> x(rows * 1536);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(uniform(1, i) - 0.5);
    AlignedBuffer<float> out(rows * 3072);
    double seconds = 1e9;
    double peak = 0.0;
    for (int round = 0; round < (rows > 64 ? 4 : 12); ++round) {
      peak = std::max(peak, product_peak(pool));
      seconds = std::min(seconds, best_of(1, [&] {
                           pool.run([&](const ThreadPool::Team& team) {
                             for (const Linear& w : weights) {
                               const Inputs in = a.of(w.forms(), x.data(), rows, w.columns(), 1536);
                               in.fill(team);
                               team.barrier();
                               matmul(team, w, in, out.data(), w.rows());
                               team.barrier();
                             }
                           });
                         }));
    }
    const double gb = packed / seconds / 1e9;
    const double gop = operations * static_cast<double>(rows) / seconds / 1e9;
    fmt::print(
        "{:7} {:4} rows  {:8.3f} ms  {:6.1f} GB/s ({:3.0f} % of read)  {:7.1f} Gop/s ({:3.0f} % of "
        "peak)\n",
        info(type).name, rows, seconds * 1e3, gb, 100 * gb / bandwidth, gop, 100 * gop / peak);
  }
}

/// Attention of SmolLM2-135M's shape over `sequences` contexts on shuffled pages, the last `rows`
/// positions of each: all 30 layers, as in a step. The rate counts every byte of keys and values
/// once.
void bench_attention(ThreadPool& pool, DType type, std::uint32_t sequences, std::uint32_t context,
                     std::uint32_t rows, ReadTest& read) {
  constexpr std::uint32_t kLayerCount = 30;
  const KvShape shape = {.layers = kLayerCount, .kv_heads = 3, .head_dim = 64, .type = type};
  const std::uint32_t pages = (context + kPageTokens - 1) / kPageTokens;
  const KvArena arena(shape, sequences * pages);
  std::vector<float> kv(192 + 64);
  for (std::size_t i = 0; i < kv.size(); ++i) kv[i] = static_cast<float>(uniform(2, i) - 0.5);
  std::vector<PageId> table;
  for (std::uint32_t i = 0; i < sequences * pages; ++i) table.push_back(PageId{i});
  for (std::size_t i = table.size(); i > 1; --i) {
    const auto j = static_cast<std::size_t>(uniform(3, i) * static_cast<double>(i));
    std::swap(table[i - 1], table[j]);
  }
  for (std::uint32_t l = 0; l < kLayerCount; ++l) {
    for (std::uint32_t p = 0; p < sequences * pages * kPageTokens; ++p)
      arena.write(l, table[p / kPageTokens], p % kPageTokens, &kv[p % 61], &kv[p % 53]);
  }
  std::vector<float> q(std::size_t{sequences} * rows * 576);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(uniform(4, i) - 0.5);
  std::vector<float> out(q.size());
  std::vector<AttentionRows> batch;
  for (std::uint32_t s = 0; s < sequences; ++s) {
    const std::size_t at = std::size_t{s} * rows * 576;
    batch.push_back({&q[at], &out[at], 576, 576, rows, context - rows,
                     std::span(table).subspan(std::size_t{s} * pages, pages)});
  }
  double seconds = 1e9;
  double bandwidth = 0.0;
  for (int round = 0; round < 9; ++round) {
    bandwidth = std::max(bandwidth, read.once());
    seconds = std::min(seconds, best_of(1, [&] {
                         pool.run([&](const ThreadPool::Team& team) {
                           for (std::uint32_t l = 0; l < kLayerCount; ++l) {
                             attend(team, arena, {.layer = l, .heads = 9, .scale = 0.125F}, batch);
                             team.barrier();
                           }
                         });
                       }));
  }
  const double gb = static_cast<double>(arena.bytes()) / seconds / 1e9;
  const double seen = rows * (context - (rows - 1) / 2.0);
  fmt::print(
      "attention {:4} {:2} x {:3} rows at {:4} positions  {:8.3f} ms  {:6.1f} GB/s ({:3.0f} % of "
      "read)  "
      "{:6.1f} GFLOP/s\n",
      info(type).name, sequences, rows, context, seconds * 1e3, gb, 100 * gb / bandwidth,
      4.0 * 64 * 9 * kLayerCount * sequences * seen / seconds / 1e9);
}

void bench_attentions(ThreadPool& pool) {
  // Memory as large as 32 contexts, and so as far from the caches.
  ReadTest read(pool, 384'000'000);
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    bench_attention(pool, type, 32, 512, 1, read);
    bench_attention(pool, type, 1, 512, 1, read);
    bench_attention(pool, type, 1, 2048, 1, read);
    bench_attention(pool, type, 1, 512, 128, read);
  }
}

void run(std::size_t threads, std::string_view only) {
  cpu_time = threads == 1;
  ThreadPool pool(threads);
  const double bandwidth = read_bandwidth(pool, 96'000'000);
  const double peak = product_peak(pool);
  fmt::print(
      "{} threads, kernels for {}; read of 96 MB {:.1f} GB/s, byte-product peak {:.0f} Gop/s\n",
      threads, kernel_target(), bandwidth, peak);
  for (const DType type : {DType::kQ4_1, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kBF16,
                           DType::kF16, DType::kF32}) {
    if (!only.empty() && only != info(type).name) continue;
    bench_products(pool, type, info(type).block_elements == 1 ? 8 : 30, bandwidth);
  }
  if (only.empty() || only == "attention") bench_attentions(pool);
  const double barriers = best_of(5, [&] {
    pool.run([](const ThreadPool::Team& team) {
      for (int i = 0; i < 10000; ++i) team.barrier();
    });
  });
  fmt::print("barrier {:.0f} ns\n", barriers / 10000 * 1e9);
}

}  // namespace
}  // namespace weir::compute

int main(int argc, char** argv) {
  std::size_t threads = 2;
  if (argc > 1) std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), threads);
  weir::compute::run(std::max<std::size_t>(threads, 1), argc > 2 ? argv[2] : "");
  return 0;
}
