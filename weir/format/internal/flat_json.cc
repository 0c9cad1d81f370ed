#include "weir/format/internal/flat_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "weir/format/printable.h"

namespace weir::format {
namespace {

namespace json = boost::json;

template <class T, class Convert>
std::vector<T> collect(const json::array& array, Convert convert) {
  std::vector<T> out;
  out.reserve(array.size());
  for (const json::value& value : array) out.push_back(convert(value));
  return out;
}

/// An array of one scalar kind as a value; nothing for any other.
std::optional<MetaValue> homogeneous(const json::array& array) {
  const auto all = [&](auto is) { return std::ranges::all_of(array, is); };
  if (all([](const json::value& v) { return v.is_string(); })) {
    return collect<std::string>(array,
                                [](const json::value& v) { return std::string(v.get_string()); });
  }
  if (all([](const json::value& v) { return v.is_bool(); })) {
    return collect<bool>(array, [](const json::value& v) { return v.get_bool(); });
  }
  if (all([](const json::value& v) { return v.is_int64(); })) {
    return collect<std::int64_t>(array, [](const json::value& v) { return v.get_int64(); });
  }
  if (all([](const json::value& v) { return v.is_number(); })) {
    return collect<double>(array, [](const json::value& v) { return v.to_number<double>(); });
  }
  return std::nullopt;
}

constexpr std::size_t kMaxEntries = 100'000;  // A long config.json has a thousand.
constexpr std::size_t kMaxKeyBytes =
    512;  // Keys repeat their parents', so they must be bounded too.

class Flattener {
 public:
  explicit Flattener(Metadata& into) : into_(into) {}

  /// The parser bounds the depth of what it accepts, and so this recursion.
  Status flatten(const std::string& key, const json::value& value) {
    switch (value.kind()) {
      case json::kind::null:
        return {};
      case json::kind::bool_:
        return put(key, value.get_bool());
      case json::kind::int64:
        return put(key, std::int64_t{value.get_int64()});
      case json::kind::uint64:
        return put(key, std::uint64_t{value.get_uint64()});
      case json::kind::double_:
        return put(key, value.get_double());
      case json::kind::string:
        return put(key, std::string(value.get_string()));
      case json::kind::object:
        if (key.size() > kMaxKeyBytes) return put(key, false);  // Refused there.
        for (const auto& member : value.get_object()) {
          WEIR_TRY_STATUS(flatten(inner(key, member.key()), member.value()));
        }
        return {};
      case json::kind::array:
        break;
    }
    const json::array& array = value.get_array();
    if (auto whole = homogeneous(array)) return put(key, *std::move(whole));
    for (std::size_t i = 0; i < array.size(); ++i) {
      WEIR_TRY_STATUS(flatten(inner(key, std::to_string(i)), array[i]));
    }
    return {};
  }

 private:
  static std::string inner(std::string_view key, std::string_view name) {
    return key.empty() ? std::string(name) : fmt::format("{}.{}", key, name);
  }

  Status put(const std::string& key, MetaValue value) {
    if (key.size() > kMaxKeyBytes) {
      return fail(Code::kTooLarge,
                  fmt::format("the key {} is over {} bytes long", in_quotes(key), kMaxKeyBytes));
    }
    if (++entries_ > kMaxEntries) {
      return fail(Code::kTooLarge, fmt::format("more than {} values", kMaxEntries));
    }
    into_.try_emplace(key, std::move(value));
    return {};
  }

  Metadata& into_;
  std::size_t entries_ = 0;
};

}  // namespace

Status flatten_json(const std::string& path, std::string_view text, Metadata& into) {
  json::error_code ec;
  json::parser parser;  // Depth at most 32.
  const std::size_t used = parser.write_some(text.data(), text.size(), ec);
  if (!ec && text.find_first_not_of(" \t\r\n", used) != std::string_view::npos)
    ec = json::error::extra_data;
  if (ec) {
    return fail(Code::kCorrupt,
                fmt::format("{}: not valid JSON at offset {}: {}", printable(path, 4096), used,
                            ec.message()),
                path);
  }
  const json::value value = parser.release();
  if (!value.is_object())
    return fail(Code::kCorrupt, printable(path, 4096) + ": must be a JSON object", path);
  if (auto status = Flattener(into).flatten({}, value); !status) {
    return fail(status.error().code,
                fmt::format("{}: {}", printable(path, 4096), status.error().message), path);
  }
  return {};
}

}  // namespace weir::format
