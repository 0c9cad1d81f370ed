#include "weir/jinja/printing.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weir/base/utf8.h"
#include "weir/jinja/merge_sort.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

std::unexpected<Error> too_deep() {
  return fail(Code::kTooLarge, "the value is nested too deeply to print");
}

void append_string_repr(Text& out, const Text& text) {
  const std::string_view view = text.view();
  const bool single = view.find('\'') != std::string_view::npos;
  const char quote = single && view.find('"') == std::string_view::npos ? '"' : '\'';
  const bool all = text.all_trusted();
  out.append(std::string_view(&quote, 1), all);
  for_each_character(view, [&](std::uint32_t c, std::size_t at, std::size_t size) {
    const bool trusted = text.trusted_at(at);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out.append("\\", trusted);
      out.append(view.substr(at, size), trusted);
    } else if (c == '\n') {
      out.append("\\n", trusted);
    } else if (c == '\r') {
      out.append("\\r", trusted);
    } else if (c == '\t') {
      out.append("\\t", trusted);
    } else if (is_printable(c)) {
      out.append(view.substr(at, size), trusted);
    } else if (c < 0x100) {
      out.append(fmt::format("\\x{:02x}", c), trusted);
    } else if (c < 0x10000) {
      out.append(fmt::format("\\u{:04x}", c), trusted);
    } else {
      out.append(fmt::format("\\U{:08x}", c), trusted);
    }
  });
  out.append(std::string_view(&quote, 1), all);
}

class Printer {
 public:
  explicit Printer(Heap& heap) : heap_(heap) {}

  Status repr(const Value& v, int depth) {
    if (depth > kMaxValueDepth) return too_deep();
    WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
    switch (v.kind) {
      case Kind::kString:
        WEIR_TRY_STATUS(heap_.charge(v.text().size()));
        if (v.markup) out_.append("Markup(", v.text().all_trusted());
        append_string_repr(out_, v.text());
        if (v.markup) out_.append(")", v.text().all_trusted());
        return {};
      case Kind::kUndefined:
        return put("Undefined", v);
      case Kind::kList:
        return sequence("[", v.items(), "]", v, depth);
      case Kind::kTuple:
        return sequence("(", v.items(), v.items().size() == 1 ? ",)" : ")", v, depth);
      case Kind::kDict:
        return dict(v, depth);
      case Kind::kNamespace:
        WEIR_TRY_STATUS(put("<Namespace ", v));
        WEIR_TRY_STATUS(dict(v, depth));
        return put(">", v);
      case Kind::kRange: {
        const auto& r = v.as<RangeObject>();
        return put(r.step == 1 ? fmt::format("range({}, {})", r.start, r.stop)
                               : fmt::format("range({}, {}, {})", r.start, r.stop, r.step),
                   v);
      }
      case Kind::kView: {
        const auto what = v.as<ViewObject>().what;
        const std::string_view name = what == ViewObject::What::kKeys     ? "dict_keys(["
                                      : what == ViewObject::What::kValues ? "dict_values(["
                                                                          : "dict_items([";
        WEIR_TRY(const auto items, iterate_all(heap_, v));
        return sequence(name, items, "])", v, depth);
      }
      default:
        return put(scalar(v), v);
    }
  }

  Text take() { return std::move(out_); }

  static std::string scalar(const Value& v) {
    switch (v.kind) {
      case Kind::kNone:
        return "None";
      case Kind::kBool:
        return v.boolean ? "True" : "False";
      case Kind::kInt:
        return fmt::format("{}", v.integer);
      case Kind::kBigInt:
        return std::string(v.str());
      case Kind::kFloat:
        return print_real(v.real);
      case Kind::kFunction:
        return fmt::format("<function {}>", v.as<FunctionObject>().name);
      default:
        return fmt::format("<{}>", type_name(v));
    }
  }

 private:
  Status put(std::string_view bytes, const Value& from) {
    out_.append(bytes, from.trusted);
    return {};
  }

  Status sequence(std::string_view open, std::span<const Value> items, std::string_view close,
                  const Value& from, int depth) {
    WEIR_TRY_STATUS(put(open, from));
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) WEIR_TRY_STATUS(put(", ", from));
      WEIR_TRY_STATUS(repr(items[i], depth + 1));
    }
    return put(close, from);
  }

  Status dict(const Value& v, int depth) {
    WEIR_TRY_STATUS(put("{", v));
    bool first = true;
    for (const auto& [key, value] : v.dict().items) {
      if (!first) WEIR_TRY_STATUS(put(", ", v));
      first = false;
      WEIR_TRY_STATUS(repr(key, depth + 1));
      WEIR_TRY_STATUS(put(": ", v));
      WEIR_TRY_STATUS(repr(value, depth + 1));
    }
    return put("}", v);
  }

  Heap& heap_;
  Text out_;
};

void append_json_string(Text& out, const Text& text, bool ensure_ascii, bool trusted_quotes) {
  const std::string_view view = text.view();
  out.append("\"", trusted_quotes);
  for_each_character(view, [&](std::uint32_t c, std::size_t at, std::size_t size) {
    const bool trusted = text.trusted_at(at);
    switch (c) {
      case '"':
        out.append("\\\"", trusted);
        return;
      case '\\':
        out.append("\\\\", trusted);
        return;
      case '\n':
        out.append("\\n", trusted);
        return;
      case '\r':
        out.append("\\r", trusted);
        return;
      case '\t':
        out.append("\\t", trusted);
        return;
      case '\f':
        out.append("\\f", trusted);
        return;
      case '\b':
        out.append("\\b", trusted);
        return;
      default:
        break;
    }
    if (c < 0x20 || (ensure_ascii && c >= 0x80 && c < 0x10000)) {
      out.append(fmt::format("\\u{:04x}", c), trusted);
    } else if (ensure_ascii && c >= 0x10000) {
      const std::uint32_t rest = c - 0x10000;
      out.append(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF)),
                 trusted);
    } else {
      out.append(view.substr(at, size), trusted);
    }
  });
  out.append("\"", trusted_quotes);
}

class JsonPrinter {
 public:
  JsonPrinter(Heap& heap, const JsonStyle& style) : heap_(heap), style_(style) {}

  Status print(const Value& v, int depth) {
    if (depth > kMaxValueDepth) return too_deep();
    WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
    switch (v.kind) {
      case Kind::kNone:
        out_.append("null", v.trusted);
        return {};
      case Kind::kBool:
        out_.append(v.boolean ? "true" : "false", v.trusted);
        return {};
      case Kind::kInt:
      case Kind::kBigInt:
        out_.append(Printer::scalar(v), v.trusted);
        return {};
      case Kind::kFloat:
        out_.append(real_text(v.real), v.trusted);
        return {};
      case Kind::kString:
        WEIR_TRY_STATUS(heap_.charge(v.text().size()));
        append_json_string(out_, v.text(), style_.ensure_ascii, v.text().all_trusted());
        return {};
      case Kind::kList:
      case Kind::kTuple:
        return list(v, depth);
      case Kind::kDict:
        return dict(v, depth);
      default:
        return type_error(fmt::format("Object of type {} is not JSON serializable", type_name(v)));
    }
  }

  Text take() { return std::move(out_); }

 private:
  static std::string real_text(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d > 0 ? "Infinity" : "-Infinity";
    return print_real(d);
  }

  Status line(int depth, bool trusted) {
    if (!style_.indent) return {};
    WEIR_TRY_STATUS(heap_.charge(style_.indent->size() * static_cast<std::size_t>(depth)));
    out_.append("\n", trusted);
    for (int i = 0; i < depth; ++i) out_.append(*style_.indent, trusted);
    return {};
  }

  Status list(const Value& v, int depth) {
    if (v.items().empty()) {
      out_.append("[]", v.trusted);
      return {};
    }
    out_.append("[", v.trusted);
    bool first = true;
    for (const Value& item : v.items()) {
      if (!first) out_.append(style_.item_separator, v.trusted);
      first = false;
      WEIR_TRY_STATUS(line(depth + 1, v.trusted));
      WEIR_TRY_STATUS(print(item, depth + 1));
    }
    WEIR_TRY_STATUS(line(depth, v.trusted));
    out_.append("]", v.trusted);
    return {};
  }

  Status dict(const Value& v, int depth) {
    const auto& items = v.dict().items;
    if (items.empty()) {
      out_.append("{}", v.trusted);
      return {};
    }
    std::vector<const std::pair<Value, Value>*> order;
    order.reserve(items.size());
    for (const auto& item : items) order.push_back(&item);
    if (style_.sort_keys) {
      WEIR_TRY_STATUS(merge_sort(order, [&](const auto* a, const auto* b) {
        return comparison(heap_, Operator::kLess, a->first, b->first);
      }));
    }
    out_.append("{", v.trusted);
    bool first = true;
    for (const auto* item : order) {
      if (!first) out_.append(style_.item_separator, v.trusted);
      first = false;
      WEIR_TRY_STATUS(line(depth + 1, v.trusted));
      WEIR_TRY_STATUS(key(item->first));
      out_.append(style_.key_separator, v.trusted);
      WEIR_TRY_STATUS(print(item->second, depth + 1));
    }
    WEIR_TRY_STATUS(line(depth, v.trusted));
    out_.append("}", v.trusted);
    return {};
  }

  Status key(const Value& k) {
    std::string text;
    switch (k.kind) {
      case Kind::kString:
        WEIR_TRY_STATUS(heap_.charge(k.text().size()));
        append_json_string(out_, k.text(), style_.ensure_ascii, k.text().all_trusted());
        return {};
      case Kind::kNone:
        text = "null";
        break;
      case Kind::kBool:
        text = k.boolean ? "true" : "false";
        break;
      case Kind::kInt:
      case Kind::kBigInt:
        text = Printer::scalar(k);
        break;
      case Kind::kFloat:
        text = real_text(k.real);
        break;
      default:
        return type_error(
            fmt::format("keys must be str, int, float, bool or None, not {}", type_name(k)));
    }
    out_.append("\"" + text + "\"", k.trusted);
    return {};
  }

  Heap& heap_;
  const JsonStyle& style_;
  Text out_;
};

}  // namespace

std::string print_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  // Shortest digits that read back, then Python's choice of form: an exponent below -4 or from 16
  // on.
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  int exponent = 0;
  const std::string_view exponent_text = text.substr(e + (text[e + 1] == '+' ? 2 : 1));
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
  std::string out = std::signbit(value) ? "-" : "";
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) {
    return out + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  }
  return out + digits.substr(0, static_cast<std::size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<std::size_t>(exponent) + 1);
}

Result<Text> to_text(Heap& heap, const Value& v) {
  if (v.is(Kind::kString)) return v.text();
  if (v.is(Kind::kUndefined)) return Text();
  return to_repr(heap, v);
}

Result<Text> to_repr(Heap& heap, const Value& v) {
  Printer printer(heap);
  WEIR_TRY_STATUS(printer.repr(v, 0));
  Text out = printer.take();
  WEIR_TRY_STATUS(heap.charge(out.size()));
  return out;
}

Result<Text> to_json(Heap& heap, const Value& v, const JsonStyle& style) {
  JsonPrinter printer(heap, style);
  WEIR_TRY_STATUS(printer.print(v, 0));
  Text out = printer.take();
  WEIR_TRY_STATUS(heap.charge(out.size()));
  return out;
}

Text escape(const Text& text) {
  Text out;
  std::size_t copied = 0;
  const std::string_view view = text.view();
  for (std::size_t i = 0; i < view.size(); ++i) {
    std::string_view entity;
    switch (view[i]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '"':
        entity = "&#34;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      default:
        continue;
    }
    out.append(text, copied, i - copied);
    out.append(entity, text.trusted_at(i));
    copied = i + 1;
  }
  out.append(text, copied, text.size() - copied);
  return out;
}

}  // namespace weir::jinja
