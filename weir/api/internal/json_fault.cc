#include "weir/api/internal/json_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "weir/base/utf8.h"

namespace weir::api {
namespace {

using boost::json::error;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '-' ||
         c == '.';
}

/// Follows a text that is JSON so far, and knows what may come next.
class Expectation {
 public:
  explicit Expectation(std::string_view before) {
    for (std::size_t i = 0; i < before.size();) i = take(before, i);
  }
  [[nodiscard]] std::string_view next() const { return next_; }
  [[nodiscard]] bool in_string() const { return in_string_; }

 private:
  static constexpr std::string_view kValue = "a value";

  std::size_t take(std::string_view text, std::size_t i) {
    const char c = text[i];
    if (is_space(c)) return i + 1;
    if (c == '"') return take_string(text, i);
    if (is_word(c)) return take_word(text, i);
    if (c == '{' || c == '[') {
      open_.push_back(c);
      is_key_ = c == '{';
      next_ = c == '{' ? "a key in double quotes or '}'" : "a value or ']'";
    } else if (c == ',') {
      is_key_ = !open_.empty() && open_.back() == '{';
      next_ = is_key_ ? "a key in double quotes" : kValue;
    } else if (c == ':') {
      is_key_ = false;
      next_ = kValue;
    } else {  // '}' or ']'
      if (!open_.empty()) open_.pop_back();
      after_value();
    }
    return i + 1;
  }

  std::size_t take_string(std::string_view text, std::size_t i) {
    for (++i; i < text.size(); ++i) {
      if (text[i] == '\\') {
        ++i;
      } else if (text[i] == '"') {
        if (is_key_) {
          next_ = "':'";
        } else {
          after_value();
        }
        return i + 1;
      }
    }
    next_ = "the end of a string";
    in_string_ = true;
    return i;
  }

  std::size_t take_word(std::string_view text, std::size_t i) {
    const auto end =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_word);
    const std::string_view word(text.begin() + static_cast<std::ptrdiff_t>(i), end);
    const bool whole = word == "true" || word == "false" || word == "null" || is_digit(word.back());
    if (whole) {
      after_value();
    } else {
      next_ = "true, false, null or a number";
    }
    return i + word.size();
  }

  void after_value() {
    is_key_ = false;
    next_ = open_.empty() ? "the end" : open_.back() == '{' ? "',' or '}'" : "',' or ']'";
  }

  std::vector<char> open_;  // As deep as the parser went, which is bounded.
  bool is_key_ = false;     // Whether a string now is one.
  bool in_string_ = false;  // It ends in the midst of one.
  std::string_view next_ = kValue;
};

std::string what_stands(std::string_view text, std::size_t at) {
  const utf8::Decoded d = utf8::decode(text, at);
  const auto byte = static_cast<unsigned char>(text[at]);
  if (!d.valid || byte < 0x20 || byte == 0x7F) return fmt::format("the byte 0x{:02X}", byte);
  if (byte == '\'') return "a single quote";
  return fmt::format("'{}'", text.substr(at, d.size));
}

}  // namespace

std::string describe_json_fault(std::string_view text, std::size_t at, error fault) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0.
  const std::string where = line == 1
                                ? fmt::format("at byte {}", at)
                                : fmt::format("at byte {} (line {}, column {})", at, line, column);
  const bool cut_short = fault == error::incomplete;
  if (cut_short || ((fault == error::syntax || fault == error::extra_data) && at < text.size())) {
    const Expectation expectation(before);
    if (cut_short) return fmt::format("it ends {} where {} is expected", where, expectation.next());
    const bool unescaped = static_cast<unsigned char>(text[at]) < 0x20;
    const bool in_string = expectation.in_string();
    if (in_string && (unescaped || !utf8::decode(text, at).valid)) {
      return fmt::format("{} stands {} in a string, {}", where, what_stands(text, at),
                         unescaped ? "where it must be escaped" : "which is no UTF-8");
    }
    return fmt::format("{} {} stands where {} is expected", where, what_stands(text, at),
                       in_string ? "an escape like \\n or \\u0041" : expectation.next());
  }
  return fmt::format("{} {}", where, make_error_code(fault).message());
}

}  // namespace weir::api
