#include "weir/format/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "weir/base/math.h"
#include "weir/format/internal/byte_reader.h"
#include "weir/format/internal/safetensors_contents.h"
#include "weir/format/internal/safetensors_header.h"
#include "weir/format/printable.h"

namespace weir::format {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // The reference implementation's bound.

// What the specification has and Weir does not read; anything else is no dtype at all.
constexpr std::array<std::string_view, 12> kForeignTypes = {
    "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F6_E2M3",
    "F6_E3M2", "F4",      "U16",     "U32",         "U64",         "C64"};

std::optional<DType> plain_dtype(std::string_view name) {
  const auto type = dtype_named(name);
  return type && info(*type).block_elements == 1 ? type : std::nullopt;
}

class Placer {
 public:
  Placer(const std::string& path, std::span<const std::byte> data, std::uint64_t data_start)
      : path_(path), data_(data), data_start_(data_start) {}

  /// The tensor's view; entries come in order of their offsets.
  Result<TensorView> place(const SafetensorsEntry& entry, std::string_view name) {
    const auto [begin, end] = entry.offsets;
    if (begin > end)
      return wrong(entry, Code::kCorrupt,
                   fmt::format("its data ends ({}) before it begins ({})", end, begin));
    if (begin < covered_) return wrong(entry, Code::kCorrupt, "its data overlaps another tensor's");
    if (begin > covered_) {
      return wrong(entry, Code::kCorrupt,
                   fmt::format("{} bytes before its data belong to no tensor", begin - covered_));
    }
    const auto type = plain_dtype(entry.dtype);
    if (!type) {
      const bool known = std::ranges::find(kForeignTypes, entry.dtype) != kForeignTypes.end();
      return wrong(entry, known ? Code::kUnsupported : Code::kCorrupt,
                   known ? fmt::format("its type is {}; Weir does not read that", entry.dtype)
                         : fmt::format("{} is no element type", in_quotes(entry.dtype)));
    }
    std::optional<std::uint64_t> bytes = info(*type).block_bytes;
    for (const std::uint64_t size : entry.shape) bytes = bytes ? checked_mul(*bytes, size) : bytes;
    if (bytes != end - begin) {
      return wrong(entry, Code::kCorrupt,
                   fmt::format("its shape [{}] of {} needs {} bytes, but it has {}",
                               fmt::join(entry.shape, ", "), entry.dtype,
                               bytes ? std::to_string(*bytes) : "more than 2^64", end - begin));
    }
    if (end > data_.size()) {
      return wrong(
          entry, Code::kCorrupt,
          fmt::format(
              "its data ends at byte {}, but the file holds {}: the download is incomplete or the "
              "file is corrupt",
              checked_add(data_start_, end).value_or(UINT64_MAX), data_start_ + data_.size()));
    }
    covered_ = end;
    return TensorView{name, *type, entry.shape, data_.subspan(begin, end - begin)};
  }

  /// All bytes belong to a tensor.
  Status finish() const {
    if (covered_ == data_.size()) return {};
    return fail(
        Code::kCorrupt,
        fmt::format("{}: data at offset {}: {} bytes belong to no tensor", printable(path_, 4096),
                    data_start_ + covered_, data_.size() - covered_),
        path_);
  }

 private:
  std::unexpected<Error> wrong(const SafetensorsEntry& entry, Code code,
                               std::string_view what) const {
    return fail(
        code, fmt::format("{}: tensor {}: {}", printable(path_, 4096), in_quotes(entry.name), what),
        path_);
  }

  const std::string& path_;
  std::span<const std::byte> data_;
  std::uint64_t data_start_;
  std::uint64_t covered_ = 0;
};

}  // namespace

Result<Contents> read_safetensors(std::string path, std::span<const std::byte> bytes) {
  ByteReader reader(path, bytes, kMaxHeaderBytes + 8);
  reader.enter("header length");
  WEIR_TRY(const auto header_bytes, reader.number<std::uint64_t>());
  if (header_bytes > kMaxHeaderBytes) {
    return reader.fail_at(0, Code::kTooLarge,
                          fmt::format("{} bytes, where at most {} are allowed: no safetensors file",
                                      header_bytes, kMaxHeaderBytes));
  }
  reader.enter("header");
  WEIR_TRY_STATUS(reader.expect(header_bytes));
  const std::uint64_t data_start = 8 + header_bytes;
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes);
  if (!json.starts_with('{')) return reader.fail_here(Code::kCorrupt, "it does not begin with '{'");
  WEIR_TRY(auto header, read_safetensors_header(path, json, 8));

  Contents out;
  out.container = "safetensors";
  out.file_bytes = bytes.size();
  out.metadata = std::move(header.metadata);
  // The specification lists no order; the data's order is the file's.
  std::ranges::sort(header.entries, {}, [](const SafetensorsEntry& e) {
    return std::pair(e.offsets, std::string_view(e.name));
  });
  Placer placer(path, bytes.subspan(data_start), data_start);
  out.tensors.reserve(header.entries.size());
  for (const SafetensorsEntry& entry : header.entries) {
    WEIR_TRY(auto view, placer.place(entry, out.names.emplace_back(entry.name)));
    out.tensors.push_back(std::move(view));
  }
  WEIR_TRY_STATUS(placer.finish());
  out.path = std::move(path);
  return out;
}

Result<std::unique_ptr<ModelFile>> parse_safetensors(std::string path,
                                                     std::span<const std::byte> bytes) {
  WEIR_TRY(auto contents, read_safetensors(std::move(path), bytes));
  return make_model_file(std::move(contents));
}

}  // namespace weir::format
