#include "weir/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "weir/base/utf8.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Lexeme>> run() {
    while (at_ < source_.size()) WEIR_TRY_STATUS(data());
    push(Token::kEnd, "", at_);
    return std::move(out_);
  }

 private:
  std::unexpected<Error> bad(std::size_t offset, std::string_view what) const {
    return error_at(source_, offset, Code::kInvalidArgument, what);
  }

  Lexeme& push(Token token, std::string text, std::size_t offset) {
    Lexeme& lexeme = out_.emplace_back();
    lexeme.token = token;
    lexeme.text = std::move(text);
    lexeme.offset = static_cast<std::uint32_t>(offset);
    return lexeme;
  }

  bool looking_at(std::string_view what) const { return source_.substr(at_).starts_with(what); }

  void skip_spaces() {
    while (at_ < source_.size()) {
      const utf8::Decoded d = utf8::decode(source_, at_);
      if (!is_space(d.code_point)) break;
      at_ += d.size;
    }
  }

  /// The template text before a tag, as its marker and lstrip_blocks leave it.
  std::string_view before_tag(std::string_view text, char marker, bool variable) const {
    if (marker == '-') {
      while (!text.empty()) {
        std::size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
        if (!is_space(utf8::decode(text, last).code_point)) break;
        text = text.substr(0, last);
      }
      return text;
    }
    if (marker == '+' || variable) return text;
    const std::size_t newline = text.rfind('\n');
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !line_starting_) return text;
    bool blank = true;
    for_each_character(text.substr(line), [&](std::uint32_t c, std::size_t, std::size_t) {
      blank = blank && is_space(c);
    });
    return blank ? text.substr(0, line) : text;
  }

  char take_marker() {
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) return source_[at_++];
    return 0;
  }

  void add_data(std::string_view text, std::size_t offset) {
    if (!text.empty()) push(Token::kData, std::string(text), offset);
  }

  /// Consumes `{%-? raw -?%}` at at_, or nothing.
  bool raw_begin(char& marker) {
    const std::size_t start = at_;
    at_ += 2;
    marker = take_marker();
    skip_spaces();
    if (looking_at("raw")) {
      at_ += 3;
      skip_spaces();
      if (looking_at("-%}")) {
        at_ += 3;
        skip_spaces();
        return true;
      }
      if (looking_at("%}")) {
        at_ += 2;
        return true;
      }
    }
    at_ = start;
    return false;
  }

  Status data() {
    const std::size_t start = at_;
    std::size_t tag = start;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos) {
        add_data(source_.substr(start), start);
        at_ = source_.size();
        return {};
      }
      if (tag + 1 < source_.size() &&
          std::string_view("{%#").find(source_[tag + 1]) != std::string_view::npos) {
        break;
      }
      ++tag;
    }
    at_ = tag;
    const std::string_view text = source_.substr(start, tag - start);
    const char kind = source_[tag + 1];
    char marker = 0;
    if (kind == '%' && raw_begin(marker)) {
      add_data(before_tag(text, marker, false), start);
      line_starting_ = source_[at_ - 1] == '\n';
      return raw(tag);
    }
    at_ += 2;
    marker = take_marker();
    add_data(before_tag(text, marker, kind == '{'), start);
    line_starting_ = false;
    if (kind == '#') return comment(tag);
    push(kind == '{' ? Token::kVariableBegin : Token::kBlockBegin, "", tag);
    return tag_body(kind == '%');
  }

  /// After a tag that closed at at_: trim_blocks, or all white space after '-'.
  void after_close(char marker, bool trims_newline) {
    if (marker == '-') {
      skip_spaces();
    } else if (marker == 0 && trims_newline && looking_at("\n")) {
      ++at_;
    }
    line_starting_ = source_[at_ - 1] == '\n';
  }

  Status comment(std::size_t tag) {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) return bad(tag, "Missing end of comment tag");
    const char marker =
        end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+') ? source_[end - 1] : '\0';
    at_ = end + 2;
    after_close(marker, true);
    return {};
  }

  Status raw(std::size_t tag) {
    const std::size_t start = at_;
    for (std::size_t end = source_.find("{%", start); end != std::string_view::npos;
         end = source_.find("{%", end + 1)) {
      at_ = end + 2;
      const char open_marker = take_marker();
      skip_spaces();
      if (!looking_at("endraw")) continue;
      at_ += 6;
      skip_spaces();
      const char close_marker = take_marker();
      if (!looking_at("%}")) continue;
      at_ += 2;
      add_data(before_tag(source_.substr(start, end - start), open_marker, false), start);
      after_close(close_marker, true);
      return {};
    }
    return bad(tag, "Missing end of raw directive");
  }

  Status tag_body(bool block) {
    std::string closers;
    const std::string_view close = block ? "%}" : "}}";
    while (true) {
      if (closers.empty()) {
        const bool plus = block && looking_at("+%}");
        const bool minus = looking_at(block ? "-%}" : "-}}");
        if (plus || minus || looking_at(close)) {
          const std::size_t start = at_;
          at_ += plus || minus ? 3 : 2;
          push(block ? Token::kBlockEnd : Token::kVariableEnd, "", start);
          after_close(minus ? '-' : plus ? '+' : '\0', block);
          return {};
        }
      }
      if (at_ == source_.size()) return {};  // The parser says what is missing.
      WEIR_TRY_STATUS(one_token(closers));
    }
  }

  Status one_token(std::string& closers) {
    const utf8::Decoded d = utf8::decode(source_, at_);
    if (is_space(d.code_point)) {
      skip_spaces();
      return {};
    }
    const char c = source_[at_];
    if (is_digit_char(c)) return number();
    if (c == '"' || c == '\'') return string();
    if (c == '_' || is_alnum(d.code_point)) return name();
    return op(closers);
  }

  std::size_t digits_end(std::size_t from, std::string_view digits) const {
    std::size_t end = from;
    while (end < source_.size()) {
      if (digits.find(source_[end]) != std::string_view::npos) {
        ++end;
      } else if (source_[end] == '_' && end > from && end + 1 < source_.size() &&
                 digits.find(source_[end + 1]) != std::string_view::npos) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }

  static std::string without_underscores(std::string_view text) {
    std::string out(text);
    std::erase(out, '_');
    return out;
  }

  Status number() {
    const std::size_t start = at_;
    const std::size_t whole = digits_end(start, kDigits);
    std::size_t end = whole;
    const bool after_dot = start > 0 && source_[start - 1] == '.';
    if (!after_dot) {
      if (end + 1 < source_.size() && source_[end] == '.' && is_digit_char(source_[end + 1])) {
        end = digits_end(end + 1, kDigits);
      }
      if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
        std::size_t exponent = end + 1;
        if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-'))
          ++exponent;
        if (exponent < source_.size() && is_digit_char(source_[exponent]))
          end = digits_end(exponent, kDigits);
      }
    }
    if (end != whole) {
      const std::string text = without_underscores(source_.substr(start, end - start));
      Lexeme& lexeme = push(Token::kFloat, text, start);
      const auto read = std::from_chars(text.data(), text.data() + text.size(), lexeme.real);
      if (read.ec != std::errc()) {
        lexeme.real = text.find("e-") != std::string::npos || text.find("E-") != std::string::npos
                          ? 0.0
                          : HUGE_VAL;
      }
      at_ = end;
      return {};
    }
    return integer(start, whole);
  }

  Status integer(std::size_t start, std::size_t decimal_end) {
    int base = 10;
    std::size_t digits = start;
    std::size_t end = decimal_end;
    if (source_[start] == '0') {
      const char letter =
          start + 1 < source_.size() ? static_cast<char>(source_[start + 1] | 0x20) : ' ';
      const std::string_view alphabet = letter == 'x'   ? "0123456789abcdefABCDEF"
                                        : letter == 'o' ? "01234567"
                                        : letter == 'b' ? "01"
                                                        : "";
      std::size_t first = start + 2;
      if (first < source_.size() && source_[first] == '_') ++first;
      const std::size_t prefixed_end = alphabet.empty() ? first : digits_end(first, alphabet);
      if (prefixed_end > first) {
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
        digits = first;
        end = prefixed_end;
      } else {
        end = digits_end(start, "0");  // "01" is two integers, as Jinja reads it.
      }
    }
    const std::string text = without_underscores(source_.substr(digits, end - digits));
    Lexeme& lexeme = push(Token::kInteger, text, start);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), lexeme.integer, base);
    if (read.ec != std::errc()) return bad(start, "the integer does not fit 64 bits");
    at_ = end;
    return {};
  }

  Status name() {
    const std::size_t start = at_;
    while (at_ < source_.size()) {
      const utf8::Decoded d = utf8::decode(source_, at_);
      if (d.code_point != '_' && !is_alnum(d.code_point)) break;
      at_ += d.size;
    }
    push(Token::kName, std::string(source_.substr(start, at_ - start)), start);
    return {};
  }

  Status op(std::string& closers) {
    static constexpr std::string_view kTwo[] = {"**", "//", "==", "!=", ">=", "<="};
    static constexpr std::string_view kOne = "+-/*%~[](){}><=.:|,;";
    for (const std::string_view two : kTwo) {
      if (!looking_at(two)) continue;
      push(Token::kOperator, std::string(two), at_);
      at_ += 2;
      return {};
    }
    const char c = source_[at_];
    if (kOne.find(c) == std::string_view::npos) {
      const std::size_t size = utf8::decode(source_, at_).size;
      return bad(at_, fmt::format("unexpected char '{}'", source_.substr(at_, size)));
    }
    switch (c) {
      case '(':
        closers += ')';
        break;
      case '[':
        closers += ']';
        break;
      case '{':
        closers += '}';
        break;
      case ')':
      case ']':
      case '}':
        if (closers.empty()) return bad(at_, fmt::format("unexpected '{}'", c));
        if (closers.back() != c)
          return bad(at_, fmt::format("unexpected '{}', expected '{}'", c, closers.back()));
        closers.pop_back();
        break;
      default:
        break;
    }
    push(Token::kOperator, std::string(1, c), at_);
    ++at_;
    return {};
  }

  Status string() {
    const std::size_t start = at_;
    const char quote = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size())
      return bad(start, fmt::format("unexpected char '{}': the string has no end", quote));
    WEIR_TRY(std::string value, unescape(source_.substr(start + 1, end - start - 1), start));
    push(Token::kString, std::move(value), start);
    at_ = end + 1;
    return {};
  }

  /// Python's unicode-escape.
  Result<std::string> unescape(std::string_view text, std::size_t offset) const {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t next = std::min(text.find('\\', i), text.size());
      out += text.substr(i, next - i);
      i = next;
      if (i == text.size()) break;
      const char c = text[i + 1];
      i += 2;
      switch (c) {
        case '\n':
          break;
        case '\\':
        case '\'':
        case '"':
          out += c;
          break;
        case 'a':
          out += '\a';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'n':
          out += '\n';
          break;
        case 'r':
          out += '\r';
          break;
        case 't':
          out += '\t';
          break;
        case 'v':
          out += '\v';
          break;
        case 'x':
        case 'u':
        case 'U': {
          const std::size_t size = c == 'x' ? 2 : c == 'u' ? 4 : 8;
          std::uint32_t code_point = 0;
          const std::string_view hex = text.substr(i, size);
          const auto read = std::from_chars(hex.data(), hex.data() + hex.size(), code_point, 16);
          if (hex.size() != size || read.ptr != hex.data() + size) {
            return bad(offset, fmt::format("truncated \\{} escape", c));
          }
          if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
            return bad(offset, "the escape is not a Unicode character");
          }
          utf8::append(out, code_point);
          i += size;
          break;
        }
        case 'N':
          return bad(offset, "\\N{name} is not supported; write the character itself");
        default:
          if (c >= '0' && c <= '7') {
            std::uint32_t code_point = static_cast<std::uint32_t>(c - '0');
            for (int n = 0; n < 2 && i < text.size() && text[i] >= '0' && text[i] <= '7'; ++n) {
              code_point = code_point * 8 + static_cast<std::uint32_t>(text[i++] - '0');
            }
            utf8::append(out, code_point);
          } else if (static_cast<unsigned char>(c) >= 0x80) {
            // Jinja first writes such a character as \xe9, so the backslash before it escapes that.
            const utf8::Decoded d = utf8::decode(text, i - 1);
            i += d.size - 1;
            out += d.code_point < 0x100     ? fmt::format("\\x{:02x}", d.code_point)
                   : d.code_point < 0x10000 ? fmt::format("\\u{:04x}", d.code_point)
                                            : fmt::format("\\U{:08x}", d.code_point);
          } else {
            out += '\\';
            out += c;
          }
      }
    }
    return out;
  }

  std::string_view source_;
  std::size_t at_ = 0;
  bool line_starting_ = true;
  std::vector<Lexeme> out_;
};

}  // namespace

std::string describe_position(std::string_view source, std::size_t offset) {
  const std::string_view before = source.substr(0, std::min(offset, source.size()));
  const std::size_t newline = before.rfind('\n');
  const std::string_view line = before.substr(newline == std::string_view::npos ? 0 : newline + 1);
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     length(line) + 1);
}

std::unexpected<Error> error_at(std::string_view source, std::size_t offset, Code code,
                                std::string_view message) {
  return fail(code, fmt::format("{}: {}", describe_position(source, offset), message),
              std::string(kTemplateSubject));
}

std::string normalize_source(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

Result<std::vector<Lexeme>> tokenize(std::string_view source) { return Lexer(source).run(); }

}  // namespace weir::jinja
