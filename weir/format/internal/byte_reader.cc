#include "weir/format/internal/byte_reader.h"

#include <fmt/format.h>

#include "weir/base/math.h"
#include "weir/format/printable.h"

namespace weir::format {

std::unexpected<Error> ByteReader::fail_at(std::uint64_t offset, Code code,
                                           std::string_view what) const {
  return fail(
      code, fmt::format("{}: {} at offset {}: {}", printable(path_, 4096), context_, offset, what),
      std::string(path_));
}

Status ByteReader::expect(std::uint64_t count, std::uint64_t size) const {
  const auto bytes = checked_mul(count, size);
  if (!bytes || *bytes > remaining()) {
    const std::string need = count == 1 || size == 1
                                 ? fmt::format("{} bytes are", bytes.value_or(count))
                                 : fmt::format("{} elements of at least {} bytes are", count, size);
    return fail_here(
        Code::kCorrupt,
        fmt::format("{} needed, but {} remain: the file is truncated or corrupt; download it again",
                    need, remaining()));
  }
  if (*bytes > limit_ - position_) {
    return fail_here(
        Code::kTooLarge,
        fmt::format("the header goes on past {} bytes, the most that is read", limit_));
  }
  return {};
}

Result<std::string_view> ByteReader::text(std::uint64_t max_bytes) {
  const std::uint64_t start = position_;
  WEIR_TRY(const auto length, number<std::uint64_t>());
  if (length > max_bytes && length <= remaining()) {
    return fail_at(
        start, Code::kCorrupt,
        fmt::format("a string of {} bytes, where at most {} make sense", length, max_bytes));
  }
  WEIR_TRY_STATUS(expect(length));
  const auto* data = reinterpret_cast<const char*>(bytes_.data() + position_);
  position_ += length;
  return std::string_view(data, length);
}

}  // namespace weir::format
