#include "weir/format/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "weir/base/math.h"
#include "weir/base/utf8.h"
#include "weir/format/internal/byte_reader.h"
#include "weir/format/internal/gguf_contents.h"
#include "weir/format/internal/gguf_types.h"
#include "weir/format/printable.h"

namespace weir::format {
namespace {

// Bounds several times beyond any published file; with them a hostile header of the largest size
// costs about eight times its own bytes (one-byte integers widened), never what it claims.
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxArray = std::uint64_t{1} << 24;  // The largest vocabulary is 2^18.
constexpr std::uint64_t kMaxKeyBytes = 65535;                // The specification's own bound.
constexpr std::uint64_t kMaxNameBytes = 255;                 // The specification says 64.
constexpr std::uint32_t kMaxDimensions = 4;                  // The specification's own bound.
constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefaultAlignment = 32;

enum class ValueType : std::uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
};

/// The smallest size of a value in the file; 0 for an array or an unknown type.
std::uint64_t value_bytes(ValueType type) {
  switch (type) {
    case ValueType::kU8:
    case ValueType::kI8:
    case ValueType::kBool:
      return 1;
    case ValueType::kU16:
    case ValueType::kI16:
      return 2;
    case ValueType::kU32:
    case ValueType::kI32:
    case ValueType::kF32:
      return 4;
    case ValueType::kU64:
    case ValueType::kI64:
    case ValueType::kF64:
    case ValueType::kString:
      return 8;  // A string is its length and its bytes.
    case ValueType::kArray:
      return 0;
  }
  return 0;
}

/// Names must be fit to print, compare and write into other formats.
bool is_name(std::string_view text) {
  return !text.empty() && utf8::find_invalid(text) == std::string_view::npos &&
         std::ranges::none_of(
             text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

class Parser {
 public:
  Parser(std::string path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes), reader_(path_, bytes, kMaxHeaderBytes) {
    out_.path = path_;
    out_.file_bytes = bytes.size();
  }

  Result<Contents> parse() {
    WEIR_TRY_STATUS(read_header());
    for (std::uint64_t i = 0; i < pairs_; ++i) WEIR_TRY_STATUS(read_pair(i));
    // A tensor's entry is at least a name of one byte, a dimension count, a type and an offset.
    reader_.enter("tensor list");
    WEIR_TRY_STATUS(reader_.expect(tensors_, 8 + 1 + 4 + 4 + 8));
    for (std::uint64_t i = 0; i < tensors_; ++i) WEIR_TRY_STATUS(read_tensor(i));
    WEIR_TRY_STATUS(place_tensors());
    return std::move(out_);
  }

 private:
  Status read_header();
  Status read_pair(std::uint64_t index);
  Status obey(std::string_view key, const MetaValue& value, std::uint64_t start);
  Status read_tensor(std::uint64_t index);
  Status place_tensors();

  Result<MetaValue> read_value(ValueType type);
  Result<MetaValue> read_array();
  Result<std::vector<bool>> read_bools(std::uint64_t count);
  template <class Stored, class Wide>
  Result<MetaValue> read_number() {
    WEIR_TRY(const auto value, reader_.number<Stored>());
    return MetaValue(static_cast<Wide>(value));
  }
  template <class Stored, class Wide>
  MetaValue take_numbers(std::uint64_t count) {
    std::vector<Wide> values(count);
    for (Wide& value : values) value = static_cast<Wide>(reader_.take<Stored>());
    return values;
  }

  std::string path_;
  std::span<const std::byte> bytes_;
  ByteReader reader_;
  Contents out_;
  std::uint64_t pairs_ = 0;
  std::uint64_t tensors_ = 0;
  std::uint64_t alignment_ = kDefaultAlignment;
  struct Place {
    std::uint64_t entry;   ///< Where the tensor's offset stands, for errors.
    std::uint64_t offset;  ///< From the start of the data.
    std::uint64_t bytes;
  };
  std::vector<Place> places_;  ///< Parallel to out_.tensors.
};

Status Parser::read_header() {
  reader_.enter("header");
  WEIR_TRY(const auto magic, reader_.number<std::uint32_t>());
  if (magic != 0x46554747)
    return reader_.fail_at(0, Code::kCorrupt, "not a GGUF file (no 'GGUF' at its start)");
  WEIR_TRY(const auto version, reader_.number<std::uint32_t>());
  if (version != 2 && version != 3) {
    const std::uint32_t swapped = __builtin_bswap32(version);
    if (swapped == 2 || swapped == 3) {
      return reader_.fail_at(
          4, Code::kUnsupported,
          "a big-endian GGUF file; convert it with gguf-py's gguf_convert_endian.py FILE little");
    }
    if (version == 1) {
      return reader_.fail_at(4, Code::kUnsupported,
                             "GGUF version 1 is from August 2023; convert the model again");
    }
    return reader_.fail_at(4, Code::kUnsupported,
                           fmt::format("GGUF version {}; versions 2 and 3 are read", version));
  }
  out_.container = fmt::format("GGUF v{}", version);
  WEIR_TRY(tensors_, reader_.number<std::uint64_t>());
  WEIR_TRY(pairs_, reader_.number<std::uint64_t>());
  // A pair is at least a key of one byte, a type and a value of one byte.
  reader_.enter("metadata");
  return reader_.expect(pairs_, 8 + 1 + 4 + 1);
}

Status Parser::read_pair(std::uint64_t index) {
  reader_.enter(fmt::format("metadata key {}", index + 1));
  const std::uint64_t start = reader_.position();
  WEIR_TRY(const auto key, reader_.text(kMaxKeyBytes));
  if (!is_name(key))
    return reader_.fail_at(start, Code::kCorrupt, fmt::format("{} is no key", in_quotes(key)));
  reader_.enter("metadata " + in_quotes(key));
  WEIR_TRY(const auto type, reader_.number<std::uint32_t>());
  WEIR_TRY(auto value, read_value(static_cast<ValueType>(type)));
  WEIR_TRY_STATUS(obey(key, value, start));
  const auto [place, added] = out_.metadata.try_emplace(std::string(key), std::move(value));
  if (!added) return reader_.fail_at(start, Code::kCorrupt, "the key is there twice");
  return {};
}

Result<MetaValue> Parser::read_value(ValueType type) {
  switch (type) {
    case ValueType::kU8:
      return read_number<std::uint8_t, std::uint64_t>();
    case ValueType::kU16:
      return read_number<std::uint16_t, std::uint64_t>();
    case ValueType::kU32:
      return read_number<std::uint32_t, std::uint64_t>();
    case ValueType::kU64:
      return read_number<std::uint64_t, std::uint64_t>();
    case ValueType::kI8:
      return read_number<std::int8_t, std::int64_t>();
    case ValueType::kI16:
      return read_number<std::int16_t, std::int64_t>();
    case ValueType::kI32:
      return read_number<std::int32_t, std::int64_t>();
    case ValueType::kI64:
      return read_number<std::int64_t, std::int64_t>();
    case ValueType::kF32:
      return read_number<float, double>();
    case ValueType::kF64:
      return read_number<double, double>();
    case ValueType::kBool: {
      WEIR_TRY(auto one, read_bools(1));
      return MetaValue(bool{one[0]});
    }
    case ValueType::kString: {
      WEIR_TRY(const auto text, reader_.text(kMaxHeaderBytes));
      return MetaValue(std::string(text));
    }
    case ValueType::kArray:
      return read_array();
  }
  return reader_.fail_at(reader_.position() - 4, Code::kCorrupt,
                         fmt::format("{} is no value type", static_cast<std::uint32_t>(type)));
}

Result<std::vector<bool>> Parser::read_bools(std::uint64_t count) {
  WEIR_TRY_STATUS(reader_.expect(count));
  std::vector<bool> values(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto byte = reader_.take<std::uint8_t>();
    if (byte > 1) {
      return reader_.fail_at(reader_.position() - 1, Code::kCorrupt,
                             fmt::format("a boolean of value {}", byte));
    }
    values[i] = byte == 1;
  }
  return values;
}

Result<MetaValue> Parser::read_array() {
  const std::uint64_t start = reader_.position();
  WEIR_TRY(const auto number, reader_.number<std::uint32_t>());
  const auto type = static_cast<ValueType>(number);
  if (type == ValueType::kArray) {
    return reader_.fail_at(start, Code::kUnsupported, "an array of arrays, which is not read");
  }
  if (value_bytes(type) == 0) {
    return reader_.fail_at(start, Code::kCorrupt, fmt::format("{} is no value type", number));
  }
  WEIR_TRY(const auto count, reader_.number<std::uint64_t>());
  WEIR_TRY_STATUS(reader_.expect(count, value_bytes(type)));
  if (count > kMaxArray) {
    return reader_.fail_at(
        start, Code::kTooLarge,
        fmt::format("an array of {} elements, where at most {} are read", count, kMaxArray));
  }
  switch (type) {
    case ValueType::kU8:
      return take_numbers<std::uint8_t, std::uint64_t>(count);
    case ValueType::kU16:
      return take_numbers<std::uint16_t, std::uint64_t>(count);
    case ValueType::kU32:
      return take_numbers<std::uint32_t, std::uint64_t>(count);
    case ValueType::kU64:
      return take_numbers<std::uint64_t, std::uint64_t>(count);
    case ValueType::kI8:
      return take_numbers<std::int8_t, std::int64_t>(count);
    case ValueType::kI16:
      return take_numbers<std::int16_t, std::int64_t>(count);
    case ValueType::kI32:
      return take_numbers<std::int32_t, std::int64_t>(count);
    case ValueType::kI64:
      return take_numbers<std::int64_t, std::int64_t>(count);
    case ValueType::kF32:
      return take_numbers<float, double>(count);
    case ValueType::kF64:
      return take_numbers<double, double>(count);
    case ValueType::kBool: {
      WEIR_TRY(auto values, read_bools(count));
      return MetaValue(std::move(values));
    }
    case ValueType::kString:
    case ValueType::kArray:
      break;
  }
  std::vector<std::string> texts;
  texts.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    WEIR_TRY(const auto text, reader_.text(kMaxHeaderBytes));
    texts.emplace_back(text);
  }
  return MetaValue(std::move(texts));
}

/// The keys that change how the rest of the file is read.
Status Parser::obey(std::string_view key, const MetaValue& value, std::uint64_t start) {
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (key == "general.alignment") {
    if (number == nullptr || !std::has_single_bit(*number) || *number < 8 ||
        *number > kMaxAlignment) {
      return reader_.fail_at(
          start, Code::kCorrupt,
          fmt::format("must be a power of two from 8 to {}, stored unsigned", kMaxAlignment));
    }
    alignment_ = *number;
  }
  if (key == "split.count" && number != nullptr && *number > 1) {
    return reader_.fail_at(
        start, Code::kUnsupported,
        fmt::format("this is one part of a model split into {} files; join them first: "
                    "llama-gguf-split --merge FIRST-PART WHOLE.gguf",
                    *number));
  }
  return {};
}

Status Parser::read_tensor(std::uint64_t index) {
  reader_.enter(fmt::format("tensor {}", index + 1));
  std::uint64_t start = reader_.position();
  TensorView tensor;
  WEIR_TRY(tensor.name, reader_.text(kMaxNameBytes));
  if (!is_name(tensor.name)) {
    return reader_.fail_at(start, Code::kCorrupt,
                           fmt::format("{} is no tensor name", in_quotes(tensor.name)));
  }
  reader_.enter("tensor " + in_quotes(tensor.name));

  start = reader_.position();
  WEIR_TRY(const auto dimensions, reader_.number<std::uint32_t>());
  if (dimensions > kMaxDimensions) {
    return reader_.fail_at(
        start, Code::kCorrupt,
        fmt::format("{} dimensions, where at most {} are allowed", dimensions, kMaxDimensions));
  }
  std::optional<std::uint64_t> elements = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    WEIR_TRY(const auto size, reader_.number<std::uint64_t>());
    elements = elements ? checked_mul(*elements, size) : elements;
    tensor.shape.push_back(size);
  }
  if (!elements || *elements == 0) {
    return reader_.fail_at(
        start, Code::kCorrupt,
        fmt::format("its shape [{}] holds {} elements", fmt::join(tensor.shape, ", "),
                    elements ? "no" : "more than 2^64"));
  }
  std::ranges::reverse(tensor.shape);  // The file lists the fastest axis first.

  start = reader_.position();
  WEIR_TRY(const auto type, reader_.number<std::uint32_t>());
  const auto dtype = gguf_dtype(type);
  if (!dtype) {
    return reader_.fail_at(
        start, Code::kUnsupported,
        fmt::format("its type is {}; Weir does not read that", gguf_type_name(type)));
  }
  tensor.type = *dtype;
  const auto row = row_bytes(tensor.type, tensor.columns());
  if (!row) {
    return reader_.fail_at(
        start, Code::kCorrupt,
        fmt::format("rows of {} elements are not whole blocks of {} ({} elements each)",
                    tensor.columns(), info(tensor.type).name, info(tensor.type).block_elements));
  }
  const auto bytes = checked_mul(*row, tensor.rows());
  if (!bytes) return reader_.fail_at(start, Code::kCorrupt, "its size is more than 2^64 bytes");

  start = reader_.position();
  WEIR_TRY(const auto offset, reader_.number<std::uint64_t>());
  if (offset % alignment_ != 0) {
    return reader_.fail_at(
        start, Code::kCorrupt,
        fmt::format("its data offset {} is not a multiple of {}", offset, alignment_));
  }
  out_.tensors.push_back(std::move(tensor));
  places_.push_back({start, offset, *bytes});
  return {};
}

/// Gives every tensor its bytes: inside the file, and none over another's.
Status Parser::place_tensors() {
  const std::uint64_t data_start = round_up(reader_.position(), alignment_);
  const std::uint64_t data_bytes = bytes_.size() > data_start ? bytes_.size() - data_start : 0;
  std::uint64_t needed = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto end = checked_add(places_[i].offset, places_[i].bytes).value_or(UINT64_MAX);
    if (end > needed) last = i;
    needed = std::max(needed, end);
  }
  if (needed > data_bytes) {
    reader_.enter("tensor " + in_quotes(out_.tensors[last].name));
    const auto whole = checked_add(data_start, needed).value_or(UINT64_MAX);
    return reader_.fail_at(
        places_[last].entry, Code::kCorrupt,
        fmt::format("its data ends at byte {}, but the file holds {}: the download is "
                    "incomplete ({} bytes are missing) or the file is corrupt",
                    whole, bytes_.size(), whole - bytes_.size()));
  }
  std::vector<std::uint32_t> order(places_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair(places_[i].offset, i); });
  for (std::size_t n = 0; n < order.size(); ++n) {
    const Place& place = places_[order[n]];
    TensorView& tensor = out_.tensors[order[n]];
    tensor.data = bytes_.subspan(data_start + place.offset, place.bytes);
    if (n == 0) continue;
    const Place& before = places_[order[n - 1]];
    if (before.offset + before.bytes > place.offset) {
      reader_.enter("tensor " + in_quotes(tensor.name));
      return reader_.fail_at(
          place.entry, Code::kCorrupt,
          fmt::format("its data overlaps that of {}", in_quotes(out_.tensors[order[n - 1]].name)));
    }
  }
  return {};
}

}  // namespace

Result<Contents> read_gguf(std::string path, std::span<const std::byte> bytes) {
  return Parser(std::move(path), bytes).parse();
}

Result<std::unique_ptr<ModelFile>> parse_gguf(std::string path, std::span<const std::byte> bytes) {
  WEIR_TRY(auto contents, read_gguf(std::move(path), bytes));
  return make_model_file(std::move(contents));
}

}  // namespace weir::format
