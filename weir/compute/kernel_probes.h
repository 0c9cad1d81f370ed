#pragma once

/// The kernels of a step, each alone, over memory as cold as a step finds it: a product cycles
/// through copies of its matrix, attention through sequences, so that what the caches keep of one
/// call is no help to the next. Only what the forward pass calls is called.
///
/// Thread safety: one thread, the pool's owner; the loops that probes give belong to their probe.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/compute/kv_arena.h"
#include "weir/compute/linear.h"
#include "weir/compute/timed_loop.h"

namespace weir::compute {

/// W x for one packed matrix (or several stacked, as q, k and v are). A large one is multiplied a
/// slice of rows at a time, so that a call is short enough to fall between the times other programs
/// have the cores; a slice's outputs go where the whole product's would.
class ProductProbe {
 public:
  /// Bytes make() will hold, computed without touching the data: copies of the packed matrix until
  /// they fill `set_bytes` (at least one), activations and outputs for `max_rows`.
  [[nodiscard]] static Result<std::uint64_t> planned_bytes(std::span<const MatrixView> stacked,
                                                           std::uint64_t max_rows,
                                                           std::uint64_t set_bytes);
  /// REQUIRES: the views hold their data.
  [[nodiscard]] static Result<ProductProbe> make(ThreadPool& pool,
                                                 std::span<const MatrixView> stacked,
                                                 std::uint64_t max_rows, std::uint64_t set_bytes);

  [[nodiscard]] std::uint64_t packed_bytes() const;  ///< Of one copy: what a product streams.
  [[nodiscard]] std::uint64_t copies() const;
  [[nodiscard]] std::uint64_t slices() const;  ///< Of a copy.

  /// One slice with `rows` activation rows, whose forms are made here once and are no part of the
  /// loop; its amount is operations, a slice's on average. Ends any loop given before.
  /// REQUIRES: 1 <= rows <= max_rows.
  [[nodiscard]] TimedLoop loop(ThreadPool& pool, std::uint64_t rows);

 private:
  struct State;
  explicit ProductProbe(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// One new token in each of some sequences, over the positions that each has cached.
struct AttentionLoad {
  std::uint32_t heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim = 0;
  std::uint32_t layers = 0;     ///< That the arena holds, one call each in turn.
  std::uint32_t sequences = 0;  ///< That the arena holds.
  std::uint32_t positions = 0;  ///< Of each.
  DType type = kDefaultKvType;  ///< Of keys and values.

  [[nodiscard]] double operations() const;  ///< Of one sequence in one layer.
  [[nodiscard]] double kv_bytes() const;    ///< Read for it.
};

class AttentionProbe {
 public:
  [[nodiscard]] static std::uint64_t planned_bytes(const AttentionLoad& load);
  AttentionProbe(ThreadPool& pool, const AttentionLoad& load);

  /// Attention of `at_once` of the sequences in one layer, then of the next ones, and so on; its
  /// amount is operations. Ends any loop given before.
  /// REQUIRES: at_once divides load.sequences.
  [[nodiscard]] TimedLoop loop(ThreadPool& pool, std::uint32_t at_once);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace weir::compute
