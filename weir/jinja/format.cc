#include "weir/jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weir/base/utf8.h"
#include "weir/jinja/attributes.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

constexpr std::int64_t kMaxWidth = 100'000;

std::unexpected<Error> bad_format(std::string_view what) {
  return type_error(fmt::format("bad format: {}", what));
}

std::unexpected<Error> too_wide() {
  return fail(Code::kTooLarge, "a format width or precision above 100000");
}

/// [[fill]align][sign][#][0][width][,][.precision][type], or the same thing in % clothes.
struct Spec {
  std::string fill = " ";
  char align = 0;  ///< < > ^ =, 0: the type's own
  char sign = '-';
  bool alternate = false;
  char grouping = 0;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 0;
};

std::string group(std::string digits, char separator, std::size_t every) {
  if (separator == 0) return digits;
  for (std::size_t i = digits.size(); i > every;) {
    i -= every;
    digits.insert(i, 1, separator);
  }
  return digits;
}

/// Digits of |value| without sign.
Result<std::string> real_digits(double value, const Spec& spec, bool python_g) {
  const bool upper = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
  const double magnitude = std::fabs(value);
  if (!std::isfinite(value)) {
    return std::string(std::isnan(value) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf"));
  }
  const auto precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  std::string out;
  switch (spec.type) {
    case 'f':
    case 'F':
      out = fmt::format("{:.{}f}", magnitude, precision);
      break;
    case '%':
      out = fmt::format("{:.{}f}", magnitude * 100, precision);
      break;
    case 'e':
      out = fmt::format("{:.{}e}", magnitude, precision);
      break;
    case 'E':
      out = fmt::format("{:.{}E}", magnitude, precision);
      break;
    case 'g':
    case 'n':
      out = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
      break;
    case 'G':
      out = fmt::format("{:.{}G}", magnitude, std::max(precision, 1));
      break;
    default: {
      if (spec.precision < 0 || !python_g) return print_real(magnitude);
      out = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
      if (out.find_first_of(".e") == std::string::npos) out += ".0";
    }
  }
  if (spec.grouping != 0) {
    const std::size_t whole = std::min(out.find_first_not_of("0123456789"), out.size());
    out = group(out.substr(0, whole), spec.grouping, 3) + out.substr(whole);
  }
  if (spec.type == '%') out += '%';
  return out;
}

std::string integer_digits(std::uint64_t magnitude, const Spec& spec) {
  switch (spec.type) {
    case 'x':
      return group(fmt::format("{:x}", magnitude), spec.grouping, 4);
    case 'X':
      return group(fmt::format("{:X}", magnitude), spec.grouping, 4);
    case 'o':
      return group(fmt::format("{:o}", magnitude), spec.grouping, 4);
    case 'b':
      return group(fmt::format("{:b}", magnitude), spec.grouping, 4);
    default:
      return group(fmt::format("{}", magnitude), spec.grouping, 3);
  }
}

std::string_view prefix(const Spec& spec) {
  if (!spec.alternate) return "";
  switch (spec.type) {
    case 'x':
      return "0x";
    case 'X':
      return "0X";
    case 'o':
      return "0o";
    case 'b':
      return "0b";
    default:
      return "";
  }
}

Status append_padded(Heap& heap, Text& out, const Spec& spec, std::string_view lead,
                     const Text& body, char own_align) {
  const char align = spec.align != 0 ? spec.align : own_align;
  const auto size = static_cast<std::int64_t>(lead.size() + length(body.view()));
  const std::int64_t missing = std::max<std::int64_t>(spec.width - size, 0);
  WEIR_TRY_STATUS(heap.charge(body.size() + static_cast<std::uint64_t>(missing)));
  const bool trusted = body.all_trusted();
  const auto fill = [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out.append(spec.fill, true);
  };
  const std::int64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  fill(left);
  out.append(lead, trusted);
  if (align == '=') fill(missing);
  out.append(body);
  if (align != '=') fill(missing - left);
  return {};
}

Status append_number(Heap& heap, Text& out, const Spec& spec, const Value& v, bool python_g) {
  std::string lead;
  std::string digits;
  const auto set_sign = [&](bool negative) {
    if (negative) {
      lead = "-";
    } else if (spec.sign != '-') {
      lead = std::string(1, spec.sign);
    }
  };
  const bool as_float = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
  if (v.is(Kind::kFloat) || (as_float && spec.type != 0)) {
    const double d = as_real(v);
    set_sign(std::signbit(d) && !std::isnan(d));
    WEIR_TRY(digits, real_digits(d, spec, python_g));
  } else {
    const std::int64_t i = *as_integer(v);
    set_sign(i < 0);
    lead += prefix(spec);
    const std::uint64_t magnitude =
        i < 0 ? ~static_cast<std::uint64_t>(i) + 1 : static_cast<std::uint64_t>(i);
    digits = integer_digits(magnitude, spec);
    if (!python_g && spec.precision > static_cast<std::int64_t>(digits.size())) {
      digits.insert(0, static_cast<std::size_t>(spec.precision) - digits.size(), '0');
    }
  }
  return append_padded(heap, out, spec, lead, Text(std::move(digits), v.trusted), '>');
}

Text truncated(const Text& text, std::int64_t precision) {
  if (precision < 0) return text;
  return text.slice(0, byte_offset(text.view(), static_cast<std::size_t>(precision)));
}

Result<std::int64_t> read_number(std::string_view text, std::size_t& at) {
  std::int64_t n = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    n = n * 10 + (text[at] - '0');
    if (n > kMaxWidth) return too_wide();
    ++at;
  }
  return n;
}

/// %: the values in turn, or by name.
class Percent {
 public:
  Percent(Heap& heap, const Text& format, const Value& argument)
      : heap_(heap), format_(format), text_(format.view()), argument_(argument) {}

  Result<Text> run() {
    while (at_ < text_.size()) {
      const std::size_t percent = std::min(text_.find('%', at_), text_.size());
      out_.append(format_, at_, percent - at_);
      at_ = percent;
      if (at_ == text_.size()) break;
      WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
      WEIR_TRY_STATUS(conversion());
    }
    const bool one = !argument_.is(Kind::kTuple);
    const std::size_t given = one ? 1 : argument_.items().size();
    // Python takes whatever has [] for a mapping, whose values need not all be used.
    const bool mapping = argument_.is(Kind::kDict) || argument_.is(Kind::kList) ||
                         argument_.is(Kind::kRange) || argument_.is(Kind::kUndefined);
    if (used_ < given && !mapping) {
      return type_error("not all arguments converted during string formatting");
    }
    return std::move(out_);
  }

 private:
  Result<Value> next() {
    if (name_) {
      if (!argument_.is(Kind::kDict)) return type_error("format requires a mapping");
      const Value* found = argument_.dict().find(*name_);
      if (found == nullptr) return type_error(fmt::format("'{}'", *name_));
      return *found;
    }
    if (argument_.is(Kind::kTuple)) {
      if (used_ < argument_.items().size()) return argument_.items()[used_++];
    } else if (used_ == 0) {
      ++used_;
      return argument_;
    }
    return type_error("not enough arguments for format string");
  }

  Result<std::int64_t> number_or_star() {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      WEIR_TRY(const Value v, next());
      const auto n = as_integer(v);
      if (!n) return type_error("* wants int");
      if (*n > kMaxWidth || *n < -kMaxWidth) return too_wide();
      return *n;
    }
    return read_number(text_, at_);
  }

  Status conversion() {
    const std::size_t start = at_++;
    name_.reset();
    if (at_ < text_.size() && text_[at_] == '(') {
      std::size_t end = ++at_;
      for (int nested = 1; end < text_.size(); ++end) {
        if (text_[end] == '(') ++nested;
        if (text_[end] == ')' && --nested == 0) break;
      }
      if (end >= text_.size()) return type_error("incomplete format key");
      name_ = text_.substr(at_, end - at_);
      at_ = end + 1;
    }
    Spec spec;
    for (bool flags = true; flags && at_ < text_.size();) {
      switch (text_[at_]) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          if (spec.align != '<') {
            spec.align = '=';
            spec.fill = "0";
          }
          break;
        default:
          flags = false;
      }
      if (flags) ++at_;
    }
    WEIR_TRY(spec.width, number_or_star());
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      WEIR_TRY(spec.precision, number_or_star());
      spec.precision = std::max<std::int64_t>(spec.precision, 0);
    }
    while (at_ < text_.size() && (text_[at_] == 'h' || text_[at_] == 'l' || text_[at_] == 'L'))
      ++at_;
    if (at_ == text_.size()) return type_error("incomplete format");
    spec.type = text_[at_++];
    if (spec.type == '%') {
      out_.append("%", format_.trusted_at(start));
      return {};
    }
    if (std::string_view("sradiufFeEgGxXoc").find(spec.type) == std::string_view::npos) {
      return type_error(fmt::format("unsupported format character '{}'", spec.type));
    }
    if (spec.align == '<') spec.fill = " ";
    WEIR_TRY(const Value v, next());
    return convert(spec, v);
  }

  Status convert(Spec spec, const Value& v) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': {
        WEIR_TRY(const Text text, spec.type == 's' ? to_text(heap_, v) : to_repr(heap_, v));
        if (spec.align == '=') spec.align = '>';
        spec.fill = " ";
        return append_padded(heap_, out_, spec, "", truncated(text, spec.precision), '>');
      }
      case 'c': {
        spec.fill = " ";
        if (spec.align == '=') spec.align = '>';
        if (v.is(Kind::kString) && length(v.str()) == 1) {
          return append_padded(heap_, out_, spec, "", v.text(), '>');
        }
        const auto c = as_integer(v);
        if (!c || *c < 0 || *c > 0x10FFFF || (*c >= 0xD800 && *c < 0xE000)) {
          return type_error("%c requires int or char");
        }
        std::string one;
        utf8::append(one, static_cast<std::uint32_t>(*c));
        return append_padded(heap_, out_, spec, "", Text(std::move(one), v.trusted), '>');
      }
      default:
        break;
    }
    Value number = v;
    const bool integral = std::string_view("diuxXo").find(spec.type) != std::string_view::npos;
    if (!is_number(v)) {
      if (v.is(Kind::kUndefined)) return undefined_error(v);
      return type_error(
          fmt::format("%{} format: a real number is required, not {}", spec.type, type_name(v)));
    }
    if (integral && v.is(Kind::kFloat)) {
      if (spec.type == 'x' || spec.type == 'X' || spec.type == 'o') {
        return type_error(fmt::format("%{} format: an integer is required, not float", spec.type));
      }
      if (!(std::fabs(v.real) < 9.2e18))
        return type_error("cannot convert float to 64-bit integer");
      number = integer(static_cast<std::int64_t>(v.real), v.trusted);
    }
    if (spec.type == 'u' || spec.type == 'i') spec.type = 'd';
    return append_number(heap_, out_, spec, number, false);
  }

  Heap& heap_;
  const Text& format_;
  std::string_view text_;
  const Value& argument_;
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  std::optional<std::string_view> name_;
  Text out_;
};

/// {}: fields by position, name, attribute and item.
class Braces {
 public:
  Braces(Heap& heap, const Arguments& args) : heap_(heap), args_(args) {}

  Result<Text> run(const Text& format, int depth) {
    if (depth < 0) return type_error("Max string recursion exceeded");
    const std::string_view text = format.view();
    Text out;
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      if (c != '{' && c != '}') {
        const std::size_t end = std::min(text.find_first_of("{}", i), text.size());
        out.append(format, i, end - i);
        i = end;
        continue;
      }
      WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
      if (i + 1 < text.size() && text[i + 1] == c) {
        out.append(format, i, 1);
        i += 2;
        continue;
      }
      if (c == '}') return type_error("Single '}' encountered in format string");
      std::size_t end = i + 1;
      for (int nested = 1; end < text.size(); ++end) {
        if (text[end] == '{') ++nested;
        if (text[end] == '}' && --nested == 0) break;
      }
      if (end >= text.size()) return type_error("expected '}' before end of string");
      WEIR_TRY_STATUS(field(out, format.slice(i + 1, end - i - 1), depth));
      i = end + 1;
    }
    return out;
  }

 private:
  Status field(Text& out, const Text& field_text, int depth) {
    const std::string_view text = field_text.view();
    std::size_t name_end = 0;
    for (bool brackets = false; name_end < text.size(); ++name_end) {
      if (text[name_end] == '[') brackets = true;
      if (text[name_end] == ']') brackets = false;
      if (!brackets && (text[name_end] == ':' || text[name_end] == '!')) break;
    }
    WEIR_TRY(Value v, look_up(text.substr(0, name_end)));
    std::size_t at = name_end;
    if (at < text.size() && text[at] == '!') {
      if (at + 1 >= text.size()) return type_error("unmatched '{' in format spec");
      const char conversion = text[at + 1];
      at += 2;
      if (conversion != 's' && conversion != 'r' && conversion != 'a') {
        return type_error("unknown conversion specifier");
      }
      WEIR_TRY(Text converted, conversion == 's' ? to_text(heap_, v) : to_repr(heap_, v));
      v = heap_.string(std::move(converted));
      if (at < text.size() && text[at] != ':') {
        return type_error("expected ':' after conversion specifier");
      }
    }
    Text spec_text;
    if (at < text.size()) {
      WEIR_TRY(spec_text, run(field_text.slice(at + 1, text.size() - at - 1), depth - 1));
    }
    return convert(out, v, spec_text.view());
  }

  Result<Value> look_up(std::string_view name) {
    const std::size_t first_end = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, first_end);
    Value v;
    const bool number =
        !first.empty() && std::ranges::all_of(first, [](char c) { return c >= '0' && c <= '9'; });
    if (first.empty() || number) {
      std::size_t index = 0;
      if (first.empty()) {
        if (manual_)
          return type_error(
              "cannot switch from manual field specification to automatic field numbering");
        automatic_ = true;
        index = next_++;
      } else {
        if (automatic_)
          return type_error(
              "cannot switch from automatic field numbering to manual field specification");
        manual_ = true;
        std::size_t digits = 0;
        WEIR_TRY(const std::int64_t i, read_number(first, digits));
        index = static_cast<std::size_t>(i);
      }
      if (index >= args_.positional.size()) {
        return type_error(
            fmt::format("Replacement index {} out of range for positional args tuple", index));
      }
      v = args_.positional[index];
    } else {
      const auto it = std::ranges::find(args_.named, first, [](const auto& p) { return p.first; });
      if (it == args_.named.end()) return type_error(fmt::format("'{}'", first));
      v = it->second;
    }
    for (std::size_t at = first_end; at < name.size();) {
      if (name[at] == '.') {
        const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) return type_error("Empty attribute in format string");
        WEIR_TRY(v, get_attribute(heap_, v, name.substr(at + 1, end - at - 1)));
        at = end;
      } else if (name[at] == '[') {
        const std::size_t end = name.find(']', at);
        if (end == std::string_view::npos) return type_error("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, end - at - 1);
        if (key.empty()) return type_error("Empty attribute in format string");
        const auto index = std::ranges::all_of(key, [](char c) { return c >= '0' && c <= '9'; })
                               ? parse_integer(key, 10)
                               : std::nullopt;
        WEIR_TRY(
            v, get_item(heap_, v, index ? integer(*index) : heap_.string(std::string(key), true)));
        at = end + 1;
      } else {
        return type_error("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return v;
  }

  static Result<Spec> parse_spec(std::string_view text) {
    Spec spec;
    std::size_t at = 0;
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    if (!text.empty()) {
      const std::size_t n = utf8::decode(text, 0).size;
      if (n < text.size() && is_align(text[n])) {
        spec.fill = text.substr(0, n);
        spec.align = text[n];
        at = n + 1;
      } else if (is_align(text[0])) {
        spec.align = text[0];
        at = 1;
      }
    }
    const auto accept = [&](std::string_view any) -> char {
      if (at < text.size() && any.find(text[at]) != std::string_view::npos) return text[at++];
      return 0;
    };
    if (const char sign = accept("+- ")) spec.sign = sign;
    spec.alternate = accept("#") != 0;
    if (accept("0") != 0 && spec.align == 0) {
      spec.fill = "0";
      spec.align = '=';
    }
    WEIR_TRY(spec.width, read_number(text, at));
    spec.grouping = accept(",_");
    if (accept(".") != 0) {
      const std::size_t before = at;
      WEIR_TRY(spec.precision, read_number(text, at));
      if (at == before) return type_error("Format specifier missing precision");
    }
    if (at < text.size()) spec.type = text[at++];
    if (at < text.size()) return type_error("Invalid format specifier");
    return spec;
  }

  Status convert(Text& out, const Value& v, std::string_view spec_text) {
    if (spec_text.empty()) {
      WEIR_TRY(const Text text, to_text(heap_, v));
      WEIR_TRY_STATUS(heap_.charge(text.size()));
      out.append(text);
      return {};
    }
    WEIR_TRY(Spec spec, parse_spec(spec_text));
    const auto refuse = [&]() -> Status {
      return type_error(
          fmt::format("Unknown format code '{}' for object of type '{}'", spec.type, type_name(v)));
    };
    if (v.is(Kind::kString)) {
      if (spec.type != 0 && spec.type != 's') return refuse();
      if (spec.align == '=') {
        if (spec.fill != "0")
          return type_error("'=' alignment not allowed in string format specifier");
        spec.align = '<';
      }
      if (spec.sign != '-' || spec.grouping != 0)
        return type_error("Sign not allowed in string format specifier");
      return append_padded(heap_, out, spec, "", truncated(v.text(), spec.precision), '<');
    }
    if (!is_number(v)) {
      return type_error(
          fmt::format("unsupported format string passed to {}.__format__", type_name(v)));
    }
    static constexpr std::string_view kReal = "eEfFgGn%";
    const std::string_view allowed = v.is(Kind::kFloat) ? kReal : "bdoxXneEfFgG%";
    if (spec.type != 0 && allowed.find(spec.type) == std::string_view::npos) return refuse();
    if (spec.type == 0 && v.is(Kind::kBool)) spec.type = 'd';
    const bool as_real_number =
        v.is(Kind::kFloat) || kReal.find(spec.type) != std::string_view::npos;
    if (spec.precision >= 0 && (!as_real_number || (spec.type == 'n' && !v.is(Kind::kFloat)))) {
      return type_error("Precision not allowed in integer format specifier");
    }
    if (spec.type == 'n' && !v.is(Kind::kFloat)) spec.type = 'd';
    if (spec.fill == "0" && spec.align == '=' && spec.grouping != 0) {
      return bad_format("zero padding with digit groups");
    }
    return append_number(heap_, out, spec, v, true);
  }

  Heap& heap_;
  const Arguments& args_;
  std::size_t next_ = 0;
  bool manual_ = false;
  bool automatic_ = false;
};

std::optional<std::string> plain_digits(std::string_view text) {
  while (!text.empty() && is_space(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  std::string out;
  char previous = '_';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_') {
      const auto digit = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      };
      if (!digit(previous) || i + 1 == text.size() || !digit(text[i + 1])) return std::nullopt;
    } else {
      out += text[i];
    }
    previous = text[i];
  }
  if (out.empty()) return std::nullopt;
  return out;
}

}  // namespace

Result<Value> format_percent(Heap& heap, const Value& format, const Value& argument) {
  WEIR_TRY(Text out, Percent(heap, format.text(), argument).run());
  return heap.string(std::move(out));
}

Result<Value> format_braces(Heap& heap, const Value& format, const Arguments& args) {
  WEIR_TRY(Text out, Braces(heap, args).run(format.text(), 2));
  return heap.string(std::move(out));
}

std::optional<std::int64_t> parse_integer(std::string_view text, int base) {
  auto digits = plain_digits(text);
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  const bool negative = rest.front() == '-';
  if (negative || rest.front() == '+') rest.remove_prefix(1);
  const auto has_prefix = [&](char lower) {
    return rest.size() > 2 && rest[0] == '0' && (rest[1] | 0x20) == lower;
  };
  for (const auto& [letter, its_base] :
       {std::pair{'x', 16}, std::pair{'o', 8}, std::pair{'b', 2}}) {
    if ((base == its_base || base == 0) && has_prefix(letter)) {
      rest.remove_prefix(2);
      base = its_base;
    }
  }
  if (base == 0) base = 10;
  if (rest.empty() || rest.front() == '-' || rest.front() == '+') return std::nullopt;
  const std::string number = (negative ? "-" : "") + std::string(rest);
  std::int64_t value = 0;
  const auto end = std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (end.ec != std::errc() || end.ptr != number.data() + number.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  auto digits = plain_digits(text);
  if (!digits) return std::nullopt;
  std::string_view rest = *digits;
  const bool negative = rest.front() == '-';
  if (negative || rest.front() == '+') rest.remove_prefix(1);
  if (rest.empty() || rest.front() == '-' || rest.front() == '+') return std::nullopt;
  std::string lower_text(rest);
  std::ranges::transform(lower_text, lower_text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  double value = 0;
  if (lower_text == "inf" || lower_text == "infinity") {
    value = HUGE_VAL;
  } else if (lower_text == "nan") {
    value = std::nan("");
  } else {
    if (lower_text.find_first_not_of("0123456789.e+-") != std::string::npos) return std::nullopt;
    const auto end =
        std::from_chars(lower_text.data(), lower_text.data() + lower_text.size(), value);
    if (end.ptr != lower_text.data() + lower_text.size()) return std::nullopt;
    if (end.ec == std::errc::result_out_of_range) {
      // Tiny or huge: the sign of the exponent tells which.
      value = lower_text.find("e-") != std::string::npos ? 0.0 : HUGE_VAL;
    } else if (end.ec != std::errc()) {
      return std::nullopt;
    }
  }
  return negative ? -value : value;
}

}  // namespace weir::jinja
