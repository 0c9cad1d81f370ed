#pragma once

/// The JSON header of a safetensors file, read by events and never as a tree: what is kept is a
/// small multiple of the header's own bytes, and the first field out of place ends the reading.
/// Thread safety: pure function.

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/format/internal/contents.h"

namespace weir::format {

struct SafetensorsEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::array<std::uint64_t, 2> offsets{};  ///< [begin, end) within the data.
};

struct SafetensorsHeader {
  std::deque<SafetensorsEntry> entries;
  Metadata metadata;  ///< "__metadata__.KEY"
};

/// `offset` is where `json` begins in the file, for errors.
[[nodiscard]] Result<SafetensorsHeader> read_safetensors_header(const std::string& path,
                                                                std::string_view json,
                                                                std::uint64_t offset);

}  // namespace weir::format
