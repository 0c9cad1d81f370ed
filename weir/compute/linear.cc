#include "weir/compute/linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/math.h"
#include "weir/compute/matmul.h"
#include "weir/compute/pack.h"

namespace weir::compute {

struct Linear::Part {
  DType type = DType::kF32;
  std::uint64_t rows = 0;
  std::uint64_t first_row = 0;
  std::uint64_t panels = 0;
  std::uint64_t panel_bytes = 0;
  std::span<std::byte> storage;
  AlignedBuffer<std::byte> own;  ///< Empty when the storage is somebody else's.
};

namespace {

bool quantised(DType type) { return info(type).block_elements > 1; }

/// Packed bytes of one matrix, once its sizes are seen to agree with each other.
Result<std::uint64_t> checked_bytes(const MatrixView& m) {
  const DTypeInfo& t = info(m.type);
  if (!t.weight)
    return fail(Code::kUnsupported, fmt::format("{} cannot be a weight matrix", t.name));
  if (m.rows == 0 || m.columns == 0 || m.columns % t.block_elements != 0) {
    return fail(Code::kUnsupported,
                fmt::format("a {} matrix of {} x {}: its rows must be blocks of {}", t.name, m.rows,
                            m.columns, t.block_elements));
  }
  const auto row = row_bytes(m.type, m.columns);
  const auto in_file = row ? checked_mul(*row, m.rows) : std::nullopt;
  // A panel is at most an eighth larger than 16 file rows (panel.h), so 32 rows bound it.
  const auto bound = in_file ? checked_mul<std::uint64_t>(*in_file, 32) : std::nullopt;
  if (!bound)
    return fail(Code::kTooLarge, fmt::format("a matrix of {} x {} has no size", m.rows, m.columns));
  if (!m.data.empty() && m.data.size() != *in_file) {
    return fail(Code::kCorrupt, fmt::format("a {} matrix of {} x {} is {} bytes, not {}", t.name,
                                            m.rows, m.columns, *in_file, m.data.size()));
  }
  // So that the next matrix is aligned as well.
  return round_up<std::uint64_t>(
      ceil_div<std::uint64_t>(m.rows, kPanelRows) * panel_bytes(m.type, m.columns), kAlignment);
}

}  // namespace

Linear::Linear() = default;
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

std::span<const Linear::Part> Linear::parts() const { return parts_; }

Result<std::uint64_t> Linear::packed_bytes(std::span<const MatrixView> stacked) {
  std::uint64_t total = 0;
  for (const MatrixView& m : stacked) {
    if (m.columns != stacked.front().columns) {
      return fail(Code::kUnsupported, fmt::format("matrices of {} and {} columns cannot be stacked",
                                                  stacked.front().columns, m.columns));
    }
    WEIR_TRY(const std::uint64_t bytes, checked_bytes(m));
    const auto sum = checked_add(total, bytes);
    if (!sum) return fail(Code::kTooLarge, "the stacked matrices have no size");
    total = *sum;
  }
  return total;
}

Result<Linear> Linear::pack(ThreadPool& pool, std::span<const MatrixView> stacked) {
  WEIR_TRY(const std::uint64_t bytes, packed_bytes(stacked));
  AlignedBuffer<std::byte> own(bytes);
  std::span<std::byte> memory = own.span();
  WEIR_TRY(Linear result, pack(pool, stacked, memory));
  result.parts_.front().own = std::move(own);
  return result;
}

Result<Linear> Linear::pack(ThreadPool& pool, std::span<const MatrixView> stacked,
                            std::span<std::byte>& memory) {
  if (auto size = packed_bytes(stacked); !size) return std::unexpected(std::move(size).error());
  Linear result;
  for (const MatrixView& m : stacked) {
    WEIR_TRY(const std::uint64_t bytes, checked_bytes(m));
    WEIR_CHECK(bytes <= memory.size(), "more weights than their memory was planned for");
    Part part;
    part.type = m.type;
    part.rows = m.rows;
    part.first_row = result.rows_;
    part.panels = ceil_div<std::uint64_t>(m.rows, kPanelRows);
    part.panel_bytes = panel_bytes(m.type, m.columns);
    part.storage = memory.first(bytes);
    memory = memory.subspan(bytes);
    const std::uint64_t file_row = *row_bytes(m.type, m.columns);
    WEIR_CHECK(m.data.size() == file_row * m.rows,
               "pack() needs the data that packed_bytes() may do without");
    pool.run([&](const ThreadPool::Team& team) {
      const Share mine = team.share(part.panels);
      for (std::uint64_t i = mine.begin; i < mine.end; ++i) {
        const std::uint64_t row = i * kPanelRows;
        pack_panel(m.type, m.data.data() + row * file_row,
                   std::min<std::uint64_t>(kPanelRows, m.rows - row), m.columns,
                   part.storage.data() + i * part.panel_bytes);
      }
    });
    result.rows_ += m.rows;
    result.columns_ = m.columns;
    result.forms_.int8 |= quantised(m.type);
    result.forms_.bf16 |= m.type == DType::kBF16;
    result.parts_.push_back(std::move(part));
  }
  return result;
}

std::uint64_t Linear::bytes() const {
  std::uint64_t total = 0;
  for (const Part& p : parts_) total += p.storage.size();
  return total;
}

void Inputs::fill(std::uint64_t row, std::uint64_t first, std::uint64_t count) const {
  const float* const from = floats + row * stride + first;
  if (forms.int8) {
    const std::uint64_t block = (row * columns + first) / kActivationBlock;
    quantise_blocks(from, count / kActivationBlock, codes + block * kActivationBlock,
                    scales + block, scaled_sums + block, code_sums + 2 * block);
  }
  if (forms.bf16) {
    std::uint16_t* const to = bf16 + row * round_up<std::uint64_t>(columns, 2) + first;
    round_to_bf16(from, count, to);
    if (columns % 2 != 0 && first + count == columns) to[count] = 0;
  }
}

void Inputs::fill(const ThreadPool::Team& team) const {
  if (!forms.int8 && !forms.bf16) return;
  const std::uint64_t grain = columns % kActivationBlock == 0 ? kActivationBlock : columns;
  const std::uint64_t pieces = columns / grain;
  const Share mine = team.share(rows * pieces);
  for (std::uint64_t i = mine.begin; i < mine.end;) {
    const std::uint64_t row = i / pieces;
    const std::uint64_t end = std::min((row + 1) * pieces, mine.end);
    fill(row, (i - row * pieces) * grain, (end - i) * grain);
    i = end;
  }
}

Inputs inputs_in(std::span<std::byte> memory, Forms forms, const float* x, std::uint64_t rows,
                 std::uint64_t columns, std::uint64_t stride) {
  WEIR_CHECK(Activations::bytes(rows, columns) <= memory.size(),
             "inputs larger than the room made for them");
  // The largest elements first, so that each array is aligned to its own.
  const std::uint64_t blocks = ceil_div<std::uint64_t>(columns, kActivationBlock) * rows;
  auto* const scales = reinterpret_cast<float*>(memory.data());
  auto* const bf16 = reinterpret_cast<std::uint16_t*>(scales + 4 * blocks);
  auto* const codes =
      reinterpret_cast<std::int8_t*>(bf16 + rows * round_up<std::uint64_t>(columns, 2));
  return {x,     rows,   columns,         stride,
          codes, scales, scales + blocks, reinterpret_cast<std::int32_t*>(scales + 2 * blocks),
          bf16,  forms};
}

std::uint64_t Activations::bytes(std::uint64_t max_rows, std::uint64_t columns) {
  // A code for each element; a scale, a scaled sum and two code sums for each block.
  const std::uint64_t int8 =
      columns + 4 * sizeof(float) * ceil_div<std::uint64_t>(columns, kActivationBlock);
  return max_rows * (int8 + sizeof(std::uint16_t) * round_up<std::uint64_t>(columns, 2));
}

Activations::Activations(std::uint64_t max_rows, std::uint64_t columns)
    : storage_(bytes(max_rows, columns)) {}

Inputs Activations::of(Forms forms, const float* x, std::uint64_t rows, std::uint64_t columns,
                       std::uint64_t stride) const {
  return inputs_in(storage_.span(), forms, x, rows, columns, stride);
}

void matmul_outputs(const Linear& w, const Inputs& x, std::uint64_t first, std::uint64_t last,
                    float* out, std::uint64_t out_stride, Into into) {
  WEIR_CHECK(x.columns == w.columns(), "activations of another width");
  for (const Linear::Part& part : w.parts()) {
    const std::uint64_t begin = std::clamp(first, part.first_row, part.first_row + part.rows);
    const std::uint64_t end = std::clamp(last, part.first_row, part.first_row + part.rows);
    if (begin == end) continue;
    const std::uint64_t panel = (begin - part.first_row) / kPanelRows;
    const std::uint64_t end_row = end - part.first_row;
    WEIR_CHECK(begin == part.first_row + panel * kPanelRows &&
                   (end_row % kPanelRows == 0 || end_row == part.rows),
               "outputs that cut a panel");
    const PanelProduct product = {
        .type = part.type,
        .panels = part.storage.data() + panel * part.panel_bytes,
        .panel_bytes = part.panel_bytes,
        .count = ceil_div<std::uint64_t>(end_row, kPanelRows) - panel,
        .outputs = end - begin,
        .columns = x.columns,
        .rows = x.rows,
        .x = x.floats,
        .x_stride = x.stride,
        .codes = x.codes,
        .scales = x.scales,
        .scaled_sums = x.scaled_sums,
        .code_sums = x.code_sums,
        .bf16 = x.bf16,
        .out = out + (begin - first),
        .out_stride = out_stride,
        .add = into == Into::kAdd,
    };
    if (quantised(part.type)) {
      multiply_quantised(product);
    } else if (part.type == DType::kBF16) {
      multiply_bf16(product);
    } else {
      multiply_plain(product);
    }
  }
}

namespace {

/// The first output of the panel-th panel of all parts.
std::uint64_t output_of(const Linear& w, std::uint64_t panel) {
  for (const Linear::Part& part : w.parts()) {
    if (panel < part.panels) return part.first_row + panel * kPanelRows;
    panel -= part.panels;
  }
  return w.rows();
}

}  // namespace

void matmul(const ThreadPool::Team& team, const Linear& w, const Inputs& x, float* out,
            std::uint64_t out_stride, Into into) {
  std::uint64_t panels = 0;
  for (const Linear::Part& part : w.parts()) panels += part.panels;
  const Share mine = team.share(panels);
  const std::uint64_t first = output_of(w, mine.begin);
  matmul_outputs(w, x, first, output_of(w, mine.end), out + first, out_stride, into);
}

}  // namespace weir::compute
