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
  AlignedBuffer<std::byte> storage;
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
  return ceil_div<std::uint64_t>(m.rows, kPanelRows) * panel_bytes(m.type, m.columns);
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
  if (auto size = packed_bytes(stacked); !size) return std::unexpected(std::move(size).error());
  Linear result;
  for (const MatrixView& m : stacked) {
    Part part;
    part.type = m.type;
    part.rows = m.rows;
    part.first_row = result.rows_;
    part.panels = ceil_div<std::uint64_t>(m.rows, kPanelRows);
    part.panel_bytes = panel_bytes(m.type, m.columns);
    part.storage = AlignedBuffer<std::byte>(part.panels * part.panel_bytes);
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
    result.parts_.push_back(std::move(part));
  }
  return result;
}

std::uint64_t Linear::bytes() const {
  std::uint64_t total = 0;
  for (const Part& p : parts_) total += p.storage.bytes();
  return total;
}

bool Linear::wants(ActivationKind kind) const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Part& p) {
    return quantised(p.type) == (kind == ActivationKind::kInt8);
  });
}

Activations::Activations(std::uint64_t max_rows, std::uint64_t max_columns)
    : codes(max_rows * max_columns),
      scales(max_rows * ceil_div<std::uint64_t>(max_columns, kActivationBlock)),
      scaled_sums(scales.size()),
      code_sums(2 * scales.size()) {}

void Activations::prepare(const ThreadPool::Team& team, const float* x, std::uint64_t row_count,
                          std::uint64_t column_count, std::uint64_t row_stride, bool int8) {
  if (team.index() == 0) {
    floats = x;
    rows = row_count;
    columns = column_count;
    stride = row_stride;
  }
  if (!int8) return;
  WEIR_CHECK(column_count % kActivationBlock == 0 && row_count * column_count <= codes.size(),
             "activations larger than they were made for");
  const std::uint64_t blocks = column_count / kActivationBlock;
  const Share mine = team.share(row_count * blocks);
  for (std::uint64_t i = mine.begin; i < mine.end;) {
    const std::uint64_t row = i / blocks;
    const std::uint64_t count = std::min((row + 1) * blocks, mine.end) - i;
    quantise_blocks(x + row * row_stride + (i - row * blocks) * kActivationBlock, count,
                    codes.data() + i * kActivationBlock, scales.data() + i, scaled_sums.data() + i,
                    code_sums.data() + 2 * i);
    i += count;
  }
}

void matmul(const ThreadPool::Team& team, const Linear& w, const Activations& x, float* out,
            std::uint64_t out_stride) {
  WEIR_CHECK(x.columns == w.columns(), "activations of another width");
  std::uint64_t all_panels = 0;
  for (const Linear::Part& part : w.parts()) all_panels += part.panels;
  const Share mine = team.share(all_panels);
  std::uint64_t before = 0;  // Panels of the parts already passed.
  for (const Linear::Part& part : w.parts()) {
    const std::uint64_t begin =
        std::clamp<std::uint64_t>(mine.begin, before, before + part.panels) - before;
    const std::uint64_t end =
        std::clamp<std::uint64_t>(mine.end, before, before + part.panels) - before;
    before += part.panels;
    if (begin == end) continue;
    const std::uint64_t first_output = begin * kPanelRows;
    const PanelProduct product = {
        .type = part.type,
        .panels = part.storage.data() + begin * part.panel_bytes,
        .panel_bytes = part.panel_bytes,
        .count = end - begin,
        .outputs = std::min<std::uint64_t>(end * kPanelRows, part.rows) - first_output,
        .columns = x.columns,
        .rows = x.rows,
        .x = x.floats,
        .x_stride = x.stride,
        .codes = x.codes.data(),
        .scales = x.scales.data(),
        .scaled_sums = x.scaled_sums.data(),
        .code_sums = x.code_sums.data(),
        .out = out + part.first_row + first_output,
        .out_stride = out_stride,
    };
    if (quantised(part.type)) {
      multiply_quantised(product);
    } else {
      multiply_plain(product);
    }
  }
}

}  // namespace weir::compute
