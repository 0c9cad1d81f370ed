#include "weir/jinja/text_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weir/jinja/arguments.h"
#include "weir/jinja/format.h"
#include "weir/jinja/methods.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

/// soft_str: a markup string stays one.
Result<Value> soft_string(Heap& heap, const Value& v) {
  if (v.is(Kind::kString)) return v;
  WEIR_TRY(Text text, to_text(heap, v));
  return heap.string(std::move(text));
}

Result<Value> mapped(Heap& heap, const Value& value, const Arguments& args, std::string_view name,
                     Text (*f)(const Text&)) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  WEIR_TRY(const Value text, soft_string(heap, value));
  Value v = heap.string(f(text.text()));
  v.markup = text.markup;
  return v;
}

Result<Value> by_method(Heap& heap, const Value& value, std::string_view method, Arguments args) {
  WEIR_TRY(const Value text, soft_string(heap, value));
  return find_method(text, method)(heap, text, method, args);
}

std::unexpected<Error> bad_operand(std::string_view function, const Value& v) {
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  return type_error(fmt::format("bad operand type for {}: '{}'", function, type_name(v)));
}

/// round(value, digits) of Python: half to even on the exact decimal value.
double round_decimal(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 400) return value;
  if (digits < -400) return std::copysign(0.0, value);
  if (digits < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / scale) * scale;
  }
  const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
  double out = value;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

Result<std::string> text_option(Heap& heap, const Value& v) {
  WEIR_TRY(const Text text, to_text(heap, v));
  return std::string(text.view());
}

}  // namespace

Result<Value> filter_abs(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"abs", {}}, args));
  if (v.is(Kind::kFloat)) return real(std::fabs(v.real), v.trusted);
  const auto i = as_integer(v);
  if (!i) {
    if (v.is(Kind::kUndefined)) return type_error("bad operand type for abs(): 'Undefined'");
    return bad_operand("abs()", v);
  }
  if (*i >= 0) return integer(*i, v.trusted);
  return arithmetic(heap, Operator::kSubtract, integer(0), v);
}

Result<Value> filter_capitalize(Heap& heap, const Value& v, const Arguments& args) {
  return mapped(heap, v, args, "capitalize", capitalize);
}
Result<Value> filter_lower(Heap& heap, const Value& v, const Arguments& args) {
  return mapped(heap, v, args, "lower", lower);
}
Result<Value> filter_upper(Heap& heap, const Value& v, const Arguments& args) {
  return mapped(heap, v, args, "upper", upper);
}
Result<Value> filter_title(Heap& heap, const Value& v, const Arguments& args) {
  return mapped(heap, v, args, "title", title_filter);
}

Result<Value> filter_center(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"center", {"width"}}, args));
  return by_method(heap, v, "center", {{bound.value_or(0, integer(80))}, {}});
}

Result<Value> filter_trim(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"trim", {"chars"}}, args));
  return by_method(heap, v, "strip", {{bound.value_or(0, none())}, {}});
}

Result<Value> filter_default(Heap&, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"default", {"default_value", "boolean"}}, args));
  if (!v.is(Kind::kUndefined) && !(bound.is_true(1) && !truthy(v))) return v;
  if (bound.has(0)) return bound[0];
  static const TextObject kEmpty{Text()};
  Value empty;
  empty.kind = Kind::kString;
  empty.object = const_cast<TextObject*>(&kEmpty);  // Texts are never written to.
  return empty;
}

Result<Value> filter_escape(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"escape", {}}, args));
  if (v.markup) return v;
  WEIR_TRY(const Text text, to_text(heap, v));
  WEIR_TRY_STATUS(heap.charge(text.size() * 5));
  Value out = heap.string(escape(text));
  out.markup = true;
  return out;
}

Result<Value> filter_safe(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"safe", {}}, args));
  WEIR_TRY(Value text, soft_string(heap, v));
  text.markup = true;
  return text;
}

Result<Value> filter_string(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"string", {}}, args));
  return soft_string(heap, v);
}

Result<Value> filter_float(Heap&, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"float", {"default"}}, args));
  if (is_number(v)) return real(as_real(v), v.trusted);
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  if (v.is(Kind::kString)) {
    if (const auto d = parse_real(v.str())) return real(*d, v.text().all_trusted());
  }
  return bound.value_or(0, real(0.0));
}

Result<Value> filter_int(Heap&, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"int", {"default", "base"}}, args));
  WEIR_TRY(const std::int64_t base, bound.integer_or(1, 10));
  const Value fallback = bound.value_or(0, integer(0));
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  if (v.is(Kind::kBigInt)) return v;
  if (const auto i = as_integer(v)) return integer(*i, v.trusted);
  std::optional<double> d;
  bool trusted = v.trusted;
  if (v.is(Kind::kFloat)) {
    d = v.real;
  } else if (v.is(Kind::kString)) {
    trusted = v.text().all_trusted();
    if (base == 0 || (base >= 2 && base <= 36)) {
      if (const auto i = parse_integer(v.str(), static_cast<int>(base)))
        return integer(*i, trusted);
    }
    d = parse_real(v.str());
  }
  if (!d || std::isnan(*d)) return fallback;
  if (std::isinf(*d)) {
    if (v.is(Kind::kFloat)) return type_error("cannot convert float infinity to integer");
    return fallback;
  }
  if (std::fabs(*d) >= 9.2233720368547748e18) return type_error("the integer does not fit 64 bits");
  return integer(static_cast<std::int64_t>(*d), trusted);
}

Result<Value> filter_format(Heap& heap, const Value& v, const Arguments& args) {
  if (!args.positional.empty() && !args.named.empty()) {
    return type_error("can't handle positional and keyword arguments at the same time");
  }
  WEIR_TRY(const Value format, soft_string(heap, v));
  if (args.named.empty()) {
    return format_percent(heap, format, heap.list(args.positional, Kind::kTuple));
  }
  auto* dict = heap.make<DictObject>();
  for (const auto& [name, value] : args.named) dict->set(heap.string(name, true), value);
  return format_percent(heap, format, heap.object(Kind::kDict, dict));
}

Result<Value> filter_indent(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"indent", {"width", "first", "blank"}}, args));
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  if (!v.is(Kind::kString)) {
    return type_error(
        fmt::format("unsupported operand type(s) for +=: '{}' and 'str'", type_name(v)));
  }
  Text indention;
  if (bound.has(0) && bound[0].is(Kind::kString)) {
    indention = bound[0].text();
  } else {
    WEIR_TRY(const std::int64_t width, bound.integer_or(0, 4));
    WEIR_TRY_STATUS(heap.charge(width > 0 ? static_cast<std::uint64_t>(width) : 0));
    indention =
        Text(std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' '), true);
  }
  Text with_newline = v.text();
  with_newline.append("\n", v.text().all_trusted());
  const std::vector<Text> lines = split_lines(with_newline, false);
  WEIR_TRY_STATUS(
      heap.charge(v.text().size() + (lines.size() + 1) * (indention.size() + sizeof(Text))));
  const bool blank = bound.is_true(2);
  Text out;
  if (bound.is_true(1)) out.append(indention);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      // The newline stands for one of the text's own.
      out.append("\n", v.text().all_trusted());
      if (blank || !lines[i].empty()) out.append(indention);
    }
    out.append(lines[i]);
  }
  Value result = heap.string(std::move(out));
  result.markup = v.markup;
  return result;
}

Result<Value> filter_replace(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"replace", {"old", "new", "count"}, 2}, args));
  WEIR_TRY(const Text text, to_text(heap, v));
  WEIR_TRY(Text from, to_text(heap, bound[0]));
  WEIR_TRY(Text to, to_text(heap, bound[1]));
  Arguments method{{heap.string(std::move(from)), heap.string(std::move(to))}, {}};
  if (!bound.is_none(2)) method.positional.push_back(bound[2]);
  const Value self = heap.string(text);
  return find_method(self, "replace")(heap, self, "replace", method);
}

Result<Value> filter_round(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"round", {"precision", "method"}}, args));
  WEIR_TRY(const std::int64_t precision, bound.integer_or(0, 0));
  std::string method = "common";
  if (bound.has(1)) {
    WEIR_TRY(method, text_option(heap, bound[1]));
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return type_error("method must be common, ceil or floor");
  }
  if (!is_number(v)) {
    if (v.is(Kind::kUndefined)) return undefined_error(v);
    return type_error(fmt::format("type {} doesn't define __round__ method", type_name(v)));
  }
  if (method == "common") {
    if (v.is(Kind::kFloat)) return real(round_decimal(v.real, precision), v.trusted);
    if (precision >= 0) return integer(*as_integer(v), v.trusted);
    if (precision < -18) return integer(0, v.trusted);
    std::int64_t scale = 1;
    for (std::int64_t i = precision; i < 0; ++i) scale *= 10;
    const std::int64_t value = *as_integer(v);
    std::int64_t quotient = value / scale;
    const std::int64_t rest = value - quotient * scale;
    const std::int64_t magnitude = rest < 0 ? -rest : rest;
    if (magnitude > scale - magnitude || (magnitude == scale - magnitude && quotient % 2 != 0)) {
      quotient += rest < 0 ? -1 : 1;
    }
    return arithmetic(heap, Operator::kMultiply, integer(quotient, v.trusted), integer(scale));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = as_real(v) * scale;
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  if (!std::isfinite(whole)) return type_error("cannot convert float infinity to integer");
  if (scale == 0) return type_error("division by zero");
  // math.ceil and floor give integers, so dividing them never gives -0.0.
  return real((whole == 0 ? 0.0 : whole) / scale, v.trusted);
}

Result<Value> filter_tojson(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound,
           bind({"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}}, args));
  JsonStyle style;
  style.ensure_ascii = bound.is_true(0);
  style.sort_keys = bound.is_true(3);
  if (!bound.is_none(1)) {
    if (bound[1].is(Kind::kString)) {
      style.indent = std::string(bound[1].str());
    } else {
      WEIR_TRY(const std::int64_t width, bound.integer_or(1, 0));
      if (width > 1000) return type_error("tojson: an indent above 1000");
      style.indent = std::string(static_cast<std::size_t>(std::max<std::int64_t>(width, 0)), ' ');
    }
    style.item_separator = ",";
  }
  if (!bound.is_none(2)) {
    WEIR_TRY(const auto pair, iterate_all(heap, bound[2]));
    if (pair.size() != 2 || !pair[0].is(Kind::kString) || !pair[1].is(Kind::kString)) {
      return type_error("tojson: separators must be two strings");
    }
    style.item_separator = pair[0].str();
    style.key_separator = pair[1].str();
  }
  WEIR_TRY(Text out, to_json(heap, v, style));
  return heap.string(std::move(out));
}

Result<Value> filter_truncate(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"truncate", {"length", "killwords", "end", "leeway"}}, args));
  WEIR_TRY(const std::int64_t limit, bound.integer_or(0, 255));
  const Text end = bound.has(2) && bound[2].is(Kind::kString) ? bound[2].text() : Text("...", true);
  WEIR_TRY(const std::int64_t leeway,
           bound.is_none(3) ? Result<std::int64_t>(5) : bound.integer_or(3, 5));
  const auto end_size = static_cast<std::int64_t>(length(end.view()));
  if (limit < end_size)
    return type_error(fmt::format("expected length >= {}, got {}", end_size, limit));
  if (leeway < 0) return type_error(fmt::format("expected leeway >= 0, got {}", leeway));
  if (!v.is(Kind::kString)) {
    WEIR_TRY(const std::int64_t size, length_of(v));
    if (size <= limit || size - limit <= leeway) return v;
    return type_error("truncate wants a string");
  }
  const Text& text = v.text();
  const auto size = static_cast<std::int64_t>(length(text.view()));
  if (size <= limit || size - limit <= leeway) return v;
  Text out = text.slice(0, byte_offset(text.view(), static_cast<std::size_t>(limit - end_size)));
  if (!bound.is_true(1)) {
    const std::size_t space = out.view().rfind(' ');
    if (space != std::string_view::npos) out = out.slice(0, space);
  }
  out.append(end);
  Value result = heap.string(std::move(out));
  result.markup = v.markup;
  return result;
}

Result<Value> filter_urlencode(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"urlencode", {}}, args));
  if (v.is(Kind::kDict) || v.is(Kind::kList) || v.is(Kind::kTuple)) {
    return type_error("urlencode of a collection is not supported in chat templates");
  }
  WEIR_TRY(const Text text, to_text(heap, v));
  WEIR_TRY_STATUS(heap.charge(text.size() * 3));
  Text out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text.view()[i]);
    const bool plain =
        c < 0x80 && (is_alnum(c) || c == '_' || c == '.' || c == '-' || c == '~' || c == '/');
    out.append(plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c),
               text.trusted_at(i));
  }
  return heap.string(std::move(out));
}

Result<Value> filter_wordcount(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"wordcount", {}}, args));
  WEIR_TRY(const Text text, to_text(heap, v));
  std::int64_t words = 0;
  bool inside = false;
  for_each_character(text.view(), [&](std::uint32_t c, std::size_t, std::size_t) {
    const bool word = c == '_' || is_alnum(c);
    words += word && !inside ? 1 : 0;
    inside = word;
  });
  return integer(words, text.all_trusted());
}

}  // namespace weir::jinja
