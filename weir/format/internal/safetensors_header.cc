#include "weir/format/internal/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <utility>

#include "weir/base/utf8.h"
#include "weir/format/printable.h"

namespace weir::format {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxDimensions = 16;  // PyTorch saves at most 64; weights have at most five.
constexpr std::string_view kMetadata = "__metadata__";

/// Receives the parser's events. `problem` says what ended the reading, when it was not the JSON
/// itself.
class Handler {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = 4096;
  static constexpr std::size_t max_string_size = std::size_t{16} << 20;

  SafetensorsHeader out;
  std::string problem;

  using Ec = json::error_code&;

  bool on_document_begin(Ec) { return true; }
  bool on_document_end(Ec) { return true; }

  bool on_object_begin(Ec ec) {
    if (depth_ == 2 || in_array_) return stop(ec, "a nested object has no meaning here");
    if (++depth_ == 2 && !in_metadata_) {
      out.entries.emplace_back().name = key_;
      seen_ = {};
    }
    return true;
  }
  bool on_object_end(std::size_t, Ec ec) {
    if (depth_-- == 2 && !in_metadata_ && !std::ranges::all_of(seen_, std::identity{})) {
      return stop(ec, fmt::format("tensor {} lacks its dtype, shape or data_offsets",
                                  in_quotes(tensor().name)));
    }
    return true;
  }

  bool on_key_part(json::string_view part, std::size_t, Ec) { return append(part); }
  bool on_key(json::string_view part, std::size_t, Ec ec) {
    append(part);
    if (depth_ == 1) {
      key_ = std::exchange(text_, {});
      in_metadata_ = key_ == kMetadata;
      const bool printable_name = !key_.empty() && std::ranges::none_of(key_, [](char c) {
        return static_cast<unsigned char>(c) < 0x20;
      });
      return printable_name || stop(ec, fmt::format("{} is no tensor name", in_quotes(key_)));
    }
    field_name_ = std::exchange(text_, {});
    if (in_metadata_) return true;
    const auto field = std::ranges::find(kFields, field_name_);
    if (field == kFields.end()) return stop(ec, describe("is no field of a tensor"));
    field_ = static_cast<std::size_t>(field - kFields.begin());
    if (std::exchange(seen_[field_], true)) return stop(ec, describe("is there twice"));
    return true;
  }

  bool on_string_part(json::string_view part, std::size_t, Ec) { return append(part); }
  bool on_string(json::string_view part, std::size_t, Ec ec) {
    append(part);
    std::string value = std::exchange(text_, {});
    if (depth_ == 2 && in_metadata_ && !in_array_) {
      const auto [place, added] =
          out.metadata.try_emplace(fmt::format("{}.{}", kMetadata, field_name_), std::move(value));
      return added || stop(ec, describe("is there twice"));
    }
    if (depth_ != 2 || in_metadata_ || field_ != kDtype) return misplaced(ec);
    tensor().dtype = std::move(value);
    return true;
  }

  bool on_array_begin(Ec ec) {
    if (depth_ != 2 || in_metadata_ || in_array_ || field_ == kDtype) return misplaced(ec);
    in_array_ = true;
    length_ = 0;
    return true;
  }
  bool on_array_end(std::size_t, Ec ec) {
    in_array_ = false;
    return field_ != kOffsets || length_ == 2 || stop(ec, describe("must be two numbers"));
  }

  bool on_number_part(json::string_view, Ec) { return true; }
  bool on_int64(std::int64_t value, json::string_view, Ec ec) {
    return value < 0 ? stop(ec, describe("holds a negative number"))
                     : number(static_cast<std::uint64_t>(value), ec);
  }
  bool on_uint64(std::uint64_t value, json::string_view, Ec ec) { return number(value, ec); }
  bool on_double(double, json::string_view, Ec ec) {
    return stop(ec, describe("holds a number that is not an integer below 2^64"));
  }
  bool on_bool(bool, Ec ec) { return misplaced(ec); }
  bool on_null(Ec ec) { return misplaced(ec); }
  bool on_comment_part(json::string_view, Ec) { return true; }
  bool on_comment(json::string_view, Ec) { return true; }

 private:
  static constexpr std::size_t kDtype = 0;
  static constexpr std::size_t kShape = 1;
  static constexpr std::size_t kOffsets = 2;
  static constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

  SafetensorsEntry& tensor() { return out.entries.back(); }

  bool append(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool number(std::uint64_t value, Ec ec) {
    if (!in_array_) return misplaced(ec);
    if (field_ == kShape) {
      if (length_ >= kMaxDimensions) return stop(ec, describe("has more than 16 dimensions"));
      tensor().shape.push_back(value);
    } else if (length_ < 2) {
      tensor().offsets[length_] = value;
    }
    ++length_;
    return true;
  }

  [[nodiscard]] std::string describe(std::string_view what) const {
    return fmt::format("{} of {} {}", in_quotes(field_name_), in_quotes(key_), what);
  }

  bool misplaced(Ec ec) {
    if (depth_ == 0) return stop(ec, "the header must be an object");
    if (depth_ == 1) return stop(ec, fmt::format("{} must be an object", in_quotes(key_)));
    return stop(ec, describe("is of the wrong type"));
  }

  bool stop(Ec ec, std::string why) {
    problem = std::move(why);
    ec = json::error::exception;  // Any error will do: `problem` carries the message.
    return false;
  }

  int depth_ = 0;  ///< Objects entered: 1 in the header, 2 in a tensor or __metadata__.
  bool in_metadata_ = false;
  bool in_array_ = false;
  std::size_t length_ = 0;      ///< Of the array so far.
  std::size_t field_ = 0;       ///< Index of kFields.
  std::array<bool, 3> seen_{};  ///< Fields of this tensor.
  std::string key_, field_name_, text_;
};

}  // namespace

Result<SafetensorsHeader> read_safetensors_header(const std::string& path, std::string_view text,
                                                  std::uint64_t offset) {
  json::parse_options options;
  options.max_depth = 4;
  json::basic_parser<Handler> parser(options);
  json::error_code ec;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
  Handler& handler = parser.handler();
  const std::string_view rest = text.substr(std::min(used, text.size()));
  if (!ec && rest.find_first_not_of(' ') != std::string_view::npos) {
    handler.problem = "text follows the header's end";
    ec = json::error::extra_data;
  }
  if (ec) {
    const std::string why =
        handler.problem.empty() ? "not valid JSON: " + ec.message() : handler.problem;
    return fail(
        Code::kCorrupt,
        fmt::format("{}: header at offset {}: {}", printable(path, 4096), offset + used, why),
        path);
  }
  return std::move(handler.out);
}

}  // namespace weir::format
