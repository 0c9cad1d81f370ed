#include "weir/jinja/string_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/base/utf8.h"
#include "weir/jinja/arguments.h"
#include "weir/jinja/format.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

Value same_markup(Heap& heap, const Value& self, Text text) {
  Value v = heap.string(std::move(text));
  v.markup = self.markup;
  return v;
}

Value list_of(Heap& heap, const Value& self, std::vector<Text> parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.push_back(same_markup(heap, self, std::move(part)));
  return heap.list(std::move(items));
}

Result<std::string_view> string_argument(const Value& v) {
  if (v.is(Kind::kString)) return v.str();
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  return type_error(fmt::format("must be str, not {}", type_name(v)));
}

/// Before a text is taken apart at white space: no more parts than bytes that can be white space.
Status charge_parts(Heap& heap, std::string_view text) {
  const auto n = std::count_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0xC2;
  });
  return heap.charge(text.size() + static_cast<std::size_t>(n) * sizeof(Text));
}

template <Text (*F)(const Text&)>
Result<Value> mapped(Heap& heap, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  return same_markup(heap, self, F(self.text()));
}

Result<Value> strip_method(Heap& heap, const Value& self, std::string_view name,
                           const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"chars"}, 0, 1}, args));
  const Side side = name == "strip" ? Side::kBoth : name == "lstrip" ? Side::kLeft : Side::kRight;
  if (bound.is_none(0)) return same_markup(heap, self, strip(self.text(), side));
  WEIR_TRY(const std::string_view chars, string_argument(bound[0]));
  WEIR_TRY_STATUS(charge_search(heap, self.text().size(), chars.size()));
  return same_markup(heap, self, strip(self.text(), side, chars));
}

Result<Value> split_method(Heap& heap, const Value& self, std::string_view name,
                           const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"sep", "maxsplit"}}, args));
  WEIR_TRY(const std::int64_t limit, bound.integer_or(1, -1));
  const bool right = name == "rsplit";
  if (bound.is_none(0)) {
    WEIR_TRY_STATUS(charge_parts(heap, self.str()));
    return list_of(heap, self,
                   right ? rsplit_spaces(self.text(), limit) : split_spaces(self.text(), limit));
  }
  WEIR_TRY(const std::string_view separator, string_argument(bound[0]));
  if (separator.empty()) return type_error("empty separator");
  WEIR_TRY_STATUS(charge_search(heap, self.text().size(), separator.size()));
  WEIR_TRY_STATUS(heap.charge(count(self.str(), separator) * sizeof(Text)));
  return list_of(
      heap, self,
      right ? rsplit(self.text(), separator, limit) : split(self.text(), separator, limit));
}

Result<Value> splitlines(Heap& heap, const Value& self, std::string_view name,
                         const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"keepends"}}, args));
  WEIR_TRY_STATUS(charge_parts(heap, self.str()));
  return list_of(heap, self, split_lines(self.text(), bound.is_true(0)));
}

Result<Value> partition(Heap& heap, const Value& self, std::string_view name,
                        const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"sep"}, 1, 1}, args));
  WEIR_TRY(const std::string_view separator, string_argument(bound[0]));
  if (separator.empty()) return type_error("empty separator");
  WEIR_TRY_STATUS(charge_search(heap, self.text().size(), separator.size()));
  const Text& text = self.text();
  const bool right = name == "rpartition";
  const std::size_t at = right ? text.view().rfind(separator) : text.view().find(separator);
  Text head;
  Text middle;
  Text tail;
  if (at == std::string_view::npos) {
    (right ? tail : head) = text;
  } else {
    head = text.slice(0, at);
    middle = bound[0].text();
    tail = text.slice(at + separator.size(), text.size() - at - separator.size());
  }
  return heap.list(
      {same_markup(heap, self, std::move(head)), same_markup(heap, self, std::move(middle)),
       same_markup(heap, self, std::move(tail))},
      Kind::kTuple);
}

/// The part of self that start and stop (arguments 1 and 2, in characters) select.
struct Window {
  std::string_view text;
  std::size_t from = 0;     ///< Bytes before it.
  bool impossible = false;  ///< start lies behind the end: not even "" is found there.
};
Result<Window> window(const Value& self, const Bound& bound) {
  if (bound.is_none(1) && bound.is_none(2)) return Window{self.str()};
  const auto size = static_cast<std::int64_t>(length(self.str()));
  const auto limit = [&](std::size_t i, std::int64_t absent) -> Result<std::int64_t> {
    if (bound.is_none(i)) return absent;
    WEIR_TRY(std::int64_t v, bound.integer_or(i, absent));
    if (v < 0) v = std::max<std::int64_t>(v + size, 0);
    return v;
  };
  WEIR_TRY(const std::int64_t start, limit(1, 0));
  WEIR_TRY(std::int64_t stop, limit(2, size));
  stop = std::min(stop, size);
  if (start > stop) return Window{{}, 0, true};
  const std::size_t from = byte_offset(self.str(), static_cast<std::size_t>(start));
  const std::size_t to = byte_offset(self.str(), static_cast<std::size_t>(stop));
  return Window{self.str().substr(from, to - from), from};
}

Result<Value> starts_ends(Heap& heap, const Value& self, std::string_view name,
                          const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"prefix", "start", "end"}, 1, 3}, args));
  WEIR_TRY(const Window w, window(self, bound));
  const auto matches = [&](const Value& v) -> Result<bool> {
    WEIR_TRY(const std::string_view part, string_argument(v));
    if (w.impossible) return false;
    return name == "startswith" ? w.text.starts_with(part) : w.text.ends_with(part);
  };
  if (!bound[0].is(Kind::kTuple)) {
    WEIR_TRY(const bool yes, matches(bound[0]));
    return boolean(yes);
  }
  WEIR_TRY_STATUS(heap.charge(bound[0].items().size()));
  for (const Value& v : bound[0].items()) {
    WEIR_TRY(const bool yes, matches(v));
    if (yes) return boolean(true);
  }
  return boolean(false);
}

Result<Value> find_method(Heap& heap, const Value& self, std::string_view name,
                          const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"sub", "start", "end"}, 1, 3}, args));
  WEIR_TRY(const std::string_view part, string_argument(bound[0]));
  WEIR_TRY(const Window w, window(self, bound));
  WEIR_TRY_STATUS(charge_search(heap, w.text.size(), part.size()));
  std::size_t at = std::string_view::npos;
  if (!w.impossible) at = name.starts_with("r") ? w.text.rfind(part) : w.text.find(part);
  const bool trusted = self.text().all_trusted();
  if (at != std::string_view::npos) {
    return integer(static_cast<std::int64_t>(length(self.str().substr(0, w.from + at))), trusted);
  }
  if (name.ends_with("index")) return type_error("substring not found");
  return integer(-1, trusted);
}

Result<Value> count_method(Heap& heap, const Value& self, std::string_view name,
                           const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"sub", "start", "end"}, 1, 3}, args));
  WEIR_TRY(const std::string_view part, string_argument(bound[0]));
  WEIR_TRY(const Window w, window(self, bound));
  WEIR_TRY_STATUS(charge_search(heap, w.text.size(), part.size()));
  const std::size_t n = w.impossible ? 0 : count(w.text, part);
  return integer(static_cast<std::int64_t>(n), self.text().all_trusted());
}

Result<Value> replace_method(Heap& heap, const Value& self, std::string_view name,
                             const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"old", "new", "count"}, 2, 3}, args));
  WEIR_TRY(const std::string_view from, string_argument(bound[0]));
  WEIR_TRY(const std::string_view to, string_argument(bound[1]));
  WEIR_TRY(const std::int64_t limit, bound.integer_or(2, -1));
  WEIR_TRY_STATUS(charge_search(heap, self.text().size(), from.size()));
  WEIR_TRY_STATUS(heap.charge((count(self.str(), from) + 1) * (to.size() + 1)));
  return same_markup(heap, self, replace(self.text(), from, bound[1].text(), limit));
}

Result<Value> join_method(Heap& heap, const Value& self, std::string_view name,
                          const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"iterable"}, 1, 1}, args));
  WEIR_TRY(const auto items, iterate_all(heap, bound[0]));
  Text out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is(Kind::kString)) {
      return type_error(
          fmt::format("sequence item {}: expected str instance, {} found", i, type_name(items[i])));
    }
    WEIR_TRY_STATUS(heap.charge(items[i].text().size() + self.text().size()));
    if (i > 0) out.append(self.text());
    out.append(items[i].text());
  }
  return same_markup(heap, self, std::move(out));
}

Result<Value> remove_affix(Heap& heap, const Value& self, std::string_view name,
                           const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"affix"}, 1, 1}, args));
  WEIR_TRY(const std::string_view affix, string_argument(bound[0]));
  const Text& text = self.text();
  if (name == "removeprefix" && text.view().starts_with(affix)) {
    return same_markup(heap, self, text.slice(affix.size(), text.size() - affix.size()));
  }
  if (name == "removesuffix" && text.view().ends_with(affix)) {
    return same_markup(heap, self, text.slice(0, text.size() - affix.size()));
  }
  return self;
}

Result<Value> pad(Heap& heap, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"width", "fillchar"}, 1, 2}, args));
  WEIR_TRY(const std::int64_t width, bound.integer_or(0, 0));
  Text fill(name == "zfill" ? "0" : " ", true);
  if (bound.has(1)) {
    WEIR_TRY(const std::string_view given, string_argument(bound[1]));
    if (name == "zfill" || length(given) != 1) {
      return type_error("The fill character must be exactly one character long");
    }
    fill = bound[1].text();
  }
  const std::int64_t missing = width - static_cast<std::int64_t>(length(self.str()));
  if (missing <= 0) return self;
  WEIR_TRY_STATUS(heap.charge(static_cast<std::uint64_t>(missing)));
  // CPython's str.center: the odd one goes left when the width is odd.
  std::int64_t left = name == "rjust" || name == "zfill" ? missing : 0;
  if (name == "center") left = missing / 2 + (missing & width & 1);
  Text out;
  std::size_t sign = 0;
  if (name == "zfill" && (self.str().starts_with('-') || self.str().starts_with('+'))) sign = 1;
  out.append(self.text(), 0, sign);
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(self.text(), sign, self.text().size() - sign);
  for (std::int64_t i = left; i < missing; ++i) out.append(fill);
  return same_markup(heap, self, std::move(out));
}

/// Every character satisfies the test and there is one.
template <bool (*F)(std::uint32_t)>
Result<Value> all_characters(Heap&, const Value& self, std::string_view name,
                             const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  bool all = !self.text().empty() || name == "isascii" || name == "isprintable";
  for_each_character(self.str(),
                     [&](std::uint32_t c, std::size_t, std::size_t) { all = all && F(c); });
  return boolean(all);
}

bool is_ascii(std::uint32_t c) { return c < 0x80; }

Result<Value> is_case(Heap&, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  return boolean(name == "isupper" ? is_upper_text(self.str()) : is_lower_text(self.str()));
}

Result<Value> is_title_method(Heap&, const Value& self, std::string_view name,
                              const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  bool cased = false;
  bool previous_cased = false;
  bool good = true;
  for_each_character(self.str(), [&](std::uint32_t c, std::size_t, std::size_t) {
    if (is_upper(c) || is_title(c)) {
      good = good && !previous_cased;
      previous_cased = cased = true;
    } else if (is_lower(c)) {
      good = good && previous_cased;
      previous_cased = cased = true;
    } else {
      previous_cased = false;
    }
  });
  return boolean(good && cased);
}

Result<Value> is_identifier(Heap&, const Value& self, std::string_view name,
                            const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  bool good = !self.text().empty();
  for_each_character(self.str(), [&](std::uint32_t c, std::size_t at, std::size_t) {
    good = good && (c == '_' || is_alpha(c) || (at > 0 && is_decimal(c)));
  });
  return boolean(good);
}

Result<Value> format_method(Heap& heap, const Value& self, std::string_view,
                            const Arguments& args) {
  return format_braces(heap, self, args);
}

Result<Value> format_map(Heap& heap, const Value& self, std::string_view name,
                         const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"mapping"}, 1, 1}, args));
  if (!bound[0].is(Kind::kDict)) return type_error("format_map() wants a mapping");
  Arguments named;
  for (const auto& [key, value] : bound[0].dict().items) {
    if (key.is(Kind::kString)) named.named.emplace_back(key.str(), value);
  }
  return format_braces(heap, self, named);
}

Result<Value> expandtabs(Heap& heap, const Value& self, std::string_view name,
                         const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"tabsize"}}, args));
  WEIR_TRY(const std::int64_t size, bound.integer_or(0, 8));
  Text out;
  std::int64_t column = 0;
  Status spent;
  for_each_character(self.str(), [&](std::uint32_t c, std::size_t at, std::size_t n) {
    if (!spent) return;
    if (c == '\t') {
      const std::int64_t spaces = size > 0 ? size - column % size : 0;
      spent = heap.charge(static_cast<std::uint64_t>(spaces));
      if (spent)
        out.append(std::string(static_cast<std::size_t>(spaces), ' '), self.text().trusted_at(at));
      column += spaces;
    } else {
      out.append(self.text(), at, n);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  });
  WEIR_TRY_STATUS(std::move(spent));
  return same_markup(heap, self, std::move(out));
}

struct Entry {
  std::string_view name;
  FunctionObject::Native call;
};

constexpr auto kMethods = std::to_array<Entry>({
    {"capitalize", mapped<capitalize>},
    {"center", pad},
    {"count", count_method},
    {"endswith", starts_ends},
    {"expandtabs", expandtabs},
    {"find", find_method},
    {"format", format_method},
    {"format_map", format_map},
    {"index", find_method},
    {"isalnum", all_characters<is_alnum>},
    {"isalpha", all_characters<is_alpha>},
    {"isascii", all_characters<is_ascii>},
    {"isdecimal", all_characters<is_decimal>},
    {"isdigit", all_characters<is_digit>},
    {"isidentifier", is_identifier},
    {"islower", is_case},
    {"isnumeric", all_characters<is_numeric>},
    {"isprintable", all_characters<is_printable>},
    {"isspace", all_characters<is_space>},
    {"istitle", is_title_method},
    {"isupper", is_case},
    {"join", join_method},
    {"ljust", pad},
    {"lower", mapped<lower>},
    {"lstrip", strip_method},
    {"partition", partition},
    {"removeprefix", remove_affix},
    {"removesuffix", remove_affix},
    {"replace", replace_method},
    {"rfind", find_method},
    {"rindex", find_method},
    {"rjust", pad},
    {"rpartition", partition},
    {"rsplit", split_method},
    {"rstrip", strip_method},
    {"split", split_method},
    {"splitlines", splitlines},
    {"startswith", starts_ends},
    {"strip", strip_method},
    {"swapcase", mapped<swapcase>},
    {"title", mapped<title>},
    {"upper", mapped<upper>},
    {"zfill", pad},
});

}  // namespace

FunctionObject::Native find_string_method(std::string_view name) {
  for (const Entry& e : kMethods) {
    if (e.name == name) return e.call;
  }
  return nullptr;
}

}  // namespace weir::jinja
