#include "weir/compute/kernel_probes.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/base/random.h"
#include "weir/compute/attention.h"
#include "weir/compute/cursors.h"

namespace weir::compute {
namespace {

/// In [-0.5, 0.5), the same in every run.
void fill(std::span<float> values, std::uint64_t seed) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(uniform(seed, i) - 0.5);
}

std::uint64_t copies_for(std::uint64_t packed, std::uint64_t set_bytes) {
  return std::max<std::uint64_t>(1, ceil_div(set_bytes, std::max<std::uint64_t>(packed, 1)));
}

}  // namespace

namespace {

/// Rows that one call multiplies, and where their outputs begin.
struct Slice {
  std::vector<MatrixView> stacked;
  std::uint64_t first_output = 0;
};

/// One slice of a matrix that is small enough; else slices of equally many rows, of one part each.
/// What is left over at the end of a part, fewer rows than it has slices of 16, is not measured.
std::vector<Slice> slices_of(std::span<const MatrixView> stacked, std::uint64_t packed) {
  // At 2 MB a call with 128 rows takes about a millisecond on two cores.
  constexpr std::uint64_t kSliceBytes = 2'000'000;
  if (packed <= 2 * kSliceBytes) return {{{stacked.begin(), stacked.end()}, 0}};
  std::uint64_t rows = 0;
  for (const MatrixView& m : stacked) rows += m.rows;
  const std::uint64_t wanted = std::max<std::uint64_t>(1, rows * kSliceBytes / packed);
  const std::uint64_t least = std::ranges::min(stacked, {}, &MatrixView::rows).rows;
  const std::uint64_t even = least / ceil_div(least, wanted);
  const std::uint64_t each = std::max<std::uint64_t>(even / kPanelRows, 1) * kPanelRows;
  std::vector<Slice> slices;
  std::uint64_t part_begins = 0;
  for (const MatrixView& m : stacked) {
    const std::uint64_t row = *row_bytes(m.type, m.columns);
    for (std::uint64_t at = 0; at + each <= std::max(m.rows, each); at += each) {
      const std::uint64_t count = std::min(each, m.rows - at);
      slices.push_back({{{.type = m.type,
                          .rows = count,
                          .columns = m.columns,
                          .data = m.data.subspan(at * row, count * row)}},
                        part_begins + at});
    }
    part_begins += m.rows;
  }
  return slices;
}

}  // namespace

struct ProductProbe::State {
  struct Piece {
    Linear weights;
    std::uint64_t first_output;
  };
  State(AlignedBuffer<std::byte> all_weights, std::vector<Piece> made, std::uint64_t slice_count,
        std::uint64_t packed, std::uint64_t all_outputs, std::uint64_t most)
      : memory(std::move(all_weights)),
        pieces(std::move(made)),
        slices(slice_count),
        packed_bytes(packed),
        outputs(all_outputs),
        max_rows(most),
        activations(most, pieces.front().weights.columns()),
        x(most * pieces.front().weights.columns()),
        out(most * outputs) {
    fill(x.span(), 1);
  }
  AlignedBuffer<std::byte> memory;  ///< One mapping for all, as a model has.
  std::vector<Piece> pieces;        ///< [copies, slices]
  std::uint64_t slices;
  std::uint64_t packed_bytes;
  std::uint64_t outputs;
  std::uint64_t max_rows;
  Activations activations;
  AlignedBuffer<float> x;    ///< [max_rows, columns]
  AlignedBuffer<float> out;  ///< [max_rows, outputs]
};

Result<std::uint64_t> ProductProbe::planned_bytes(std::span<const MatrixView> stacked,
                                                  std::uint64_t max_rows, std::uint64_t set_bytes) {
  WEIR_TRY(const std::uint64_t packed, Linear::packed_bytes(stacked));
  const std::uint64_t columns = stacked.front().columns;
  std::uint64_t rows = 0;
  for (const MatrixView& m : stacked) rows += m.rows;
  // Of an activation, four bytes and its forms, less than four more; of an output, four.
  const auto of_row = checked_add(checked_mul<std::uint64_t>(columns, 8).value_or(UINT64_MAX),
                                  checked_mul<std::uint64_t>(rows, 4).value_or(UINT64_MAX));
  const auto vectors = of_row ? checked_mul(*of_row, max_rows) : std::nullopt;
  const auto matrices = checked_mul(packed, copies_for(packed, set_bytes));
  const auto all = vectors && matrices ? checked_add(*vectors, *matrices) : std::nullopt;
  if (!all) return fail(Code::kTooLarge, "the copies of this matrix have no size");
  return *all;
}

Result<ProductProbe> ProductProbe::make(ThreadPool& pool, std::span<const MatrixView> stacked,
                                        std::uint64_t max_rows, std::uint64_t set_bytes) {
  WEIR_TRY(const std::uint64_t packed, Linear::packed_bytes(stacked));
  std::uint64_t outputs = 0;
  for (const MatrixView& m : stacked) outputs += m.rows;
  const auto slices = slices_of(stacked, packed);
  std::uint64_t of_copy = 0;
  for (const Slice& slice : slices) {
    WEIR_TRY(const std::uint64_t bytes, Linear::packed_bytes(slice.stacked));
    of_copy += bytes;
  }
  const std::uint64_t copies = copies_for(packed, set_bytes);
  AlignedBuffer<std::byte> memory(copies * of_copy);
  std::span<std::byte> rest = memory.span();
  std::vector<State::Piece> pieces;
  for (std::uint64_t i = 0; i < copies; ++i) {
    for (const Slice& slice : slices) {
      WEIR_TRY(Linear weights, Linear::pack(pool, slice.stacked, rest));
      pieces.push_back({std::move(weights), slice.first_output});
    }
  }
  return ProductProbe(std::make_shared<State>(std::move(memory), std::move(pieces), slices.size(),
                                              packed, outputs, max_rows));
}

std::uint64_t ProductProbe::packed_bytes() const { return state_->packed_bytes; }
std::uint64_t ProductProbe::copies() const { return state_->pieces.size() / state_->slices; }
std::uint64_t ProductProbe::slices() const { return state_->slices; }

TimedLoop ProductProbe::loop(ThreadPool& pool, std::uint64_t rows) {
  WEIR_CHECK(rows >= 1 && rows <= state_->max_rows, "more rows than the probe was made for");
  const auto& pieces = state_->pieces;
  const std::uint64_t columns = pieces.front().weights.columns();
  Forms forms;
  std::uint64_t outputs = 0;
  for (std::uint64_t i = 0; i < state_->slices; ++i) {
    forms.int8 = forms.int8 || pieces[i].weights.forms().int8;
    forms.bf16 = forms.bf16 || pieces[i].weights.forms().bf16;
    outputs += pieces[i].weights.rows();
  }
  const Inputs inputs = state_->activations.of(forms, state_->x.data(), rows, columns, columns);
  pool.run([&](const ThreadPool::Team& team) { inputs.fill(team); });
  const auto cursors = std::make_shared<Cursors>(pool.workers(), pieces.size());
  const double of_slice = static_cast<double>(outputs) / static_cast<double>(state_->slices);
  return {.amount = 2.0 * of_slice * static_cast<double>(columns) * static_cast<double>(rows),
          .once = [state = state_, inputs, cursors](const ThreadPool::Team& team) {
            const State::Piece& piece = state->pieces[cursors->next(team)];
            matmul(team, piece.weights, inputs, state->out.data() + piece.first_output,
                   state->outputs);
            team.barrier();
          }};
}

double AttentionLoad::operations() const {
  // q.k and p.v: a multiplication and an addition each, a head, dimension and position.
  return 4.0 * heads * head_dim * positions;
}

double AttentionLoad::kv_bytes() const {
  const KvShape one{.layers = 1, .kv_heads = kv_heads, .head_dim = head_dim, .type = type};
  return static_cast<double>(KvArena::bytes_per_page(one)) * positions / kPageTokens;
}

struct AttentionProbe::State {
  explicit State(const AttentionLoad& l)
      : load(l),
        pages_each(ceil_div(l.positions, kPageTokens)),
        arena(shape_of(l), pages_each * l.sequences),
        q(std::size_t{l.sequences} * l.heads * l.head_dim),
        out(q.size()) {}

  static KvShape shape_of(const AttentionLoad& l) {
    return {.layers = l.layers, .kv_heads = l.kv_heads, .head_dim = l.head_dim, .type = l.type};
  }

  AttentionLoad load;
  std::uint32_t pages_each;
  KvArena arena;
  AlignedBuffer<float> q;  ///< [sequences, heads, head_dim]
  AlignedBuffer<float> out;
  std::vector<PageId> pages;        ///< [sequences, pages_each]
  std::vector<AttentionRows> rows;  ///< [sequences]
};

std::uint64_t AttentionProbe::planned_bytes(const AttentionLoad& load) {
  const std::uint64_t pages = std::uint64_t{ceil_div(load.positions, kPageTokens)} * load.sequences;
  const std::uint64_t vectors = std::uint64_t{load.sequences} * load.heads * load.head_dim * 8;
  return KvArena::bytes_per_page(State::shape_of(load)) * pages + vectors;
}

AttentionProbe::AttentionProbe(ThreadPool& pool, const AttentionLoad& load)
    : state_(std::make_shared<State>(load)) {
  State& s = *state_;
  fill(s.q.span(), 2);
  const std::size_t width = std::size_t{load.heads} * load.head_dim;
  const std::uint32_t pages = s.arena.units();
  // Pages of a sequence lie far apart, as they do once a pool has been in use for a while.
  const std::uint32_t step = load.sequences;
  for (std::uint32_t i = 0; i < pages; ++i)
    s.pages.push_back(PageId{i % s.pages_each * step + i / s.pages_each});
  for (std::uint32_t i = 0; i < load.sequences; ++i) {
    AttentionRows rows;
    rows.q = s.q.data() + i * width;
    rows.out = s.out.data() + i * width;
    rows.q_stride = width;
    rows.out_stride = width;
    rows.rows = 1;
    rows.first_position = load.positions - 1;
    rows.pages = std::span(s.pages).subspan(std::size_t{i} * s.pages_each, s.pages_each);
    s.rows.push_back(rows);
  }
  pool.run([&](const ThreadPool::Team& team) {
    const Share mine = team.share(pages);
    std::vector<float> kv(std::size_t{load.kv_heads} * load.head_dim);
    fill(kv, 3);
    for (std::uint32_t layer = 0; layer < load.layers; ++layer) {
      for (std::size_t page = mine.begin; page < mine.end; ++page) {
        for (std::uint32_t slot = 0; slot < kPageTokens; ++slot)
          s.arena.write(layer, PageId{static_cast<std::uint32_t>(page)}, slot, kv.data(),
                        kv.data());
      }
    }
  });
}

TimedLoop AttentionProbe::loop(ThreadPool& pool, std::uint32_t at_once) {
  const AttentionLoad& load = state_->load;
  WEIR_CHECK(at_once >= 1 && load.sequences % at_once == 0, "sequences in equal parts");
  const std::uint64_t parts = load.sequences / at_once;
  const auto cursors = std::make_shared<Cursors>(pool.workers(), parts * load.layers);
  return {.amount = load.operations() * at_once,
          .once = [state = state_, cursors, at_once, parts](const ThreadPool::Team& team) {
            const std::uint64_t at = cursors->next(team);
            AttentionShape shape;
            shape.layer = static_cast<std::uint32_t>(at / parts);
            shape.heads = state->load.heads;
            shape.scale = 0.125F;
            attend(team, state->arena, shape,
                   std::span(state->rows).subspan(at % parts * at_once, at_once));
            team.barrier();
          }};
}

}  // namespace weir::compute
