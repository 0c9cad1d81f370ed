#pragma once

/// Writes a file's rows into panels. Internal to the folder.
/// Thread safety: distinct panels may be written by different workers.

#include <cstddef>
#include <cstdint>

#include "weir/spec/dtype.h"

namespace weir::compute {

/// Bytes of one panel of `columns`: PanelFormat for quantised types, [columns, 16] values for
/// plain, [columns / 2 rounded up, 16, 2] for BF16.
[[nodiscard]] std::uint64_t panel_bytes(DType type, std::uint64_t columns);

/// Packs `rows` <= 16 rows, each `columns` wide and contiguous at `source`; lanes past `rows` are
/// zero. REQUIRES: `panel` holds panel_bytes zeroed bytes; columns is whole blocks of the type.
void pack_panel(DType type, const std::byte* source, std::uint64_t rows, std::uint64_t columns,
                std::byte* panel);

}  // namespace weir::compute
