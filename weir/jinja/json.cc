#include "weir/jinja/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "weir/base/utf8.h"

namespace weir::jinja {
namespace {

class Parser {
 public:
  Parser(Heap& heap, std::string_view text) : heap_(heap), text_(text) {}

  Result<Value> document() {
    WEIR_TRY(const Value v, value(0));
    skip();
    if (at_ != text_.size()) return bad("text after the end of the value");
    return v;
  }

 private:
  std::unexpected<Error> bad(std::string_view what) const {
    return fail(Code::kInvalidArgument, fmt::format("invalid JSON at byte {}: {}", at_, what));
  }

  void skip() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }

  bool accept(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<Value> word(std::string_view word, Value v) {
    if (!text_.substr(at_).starts_with(word)) return bad("not a value");
    at_ += word.size();
    return v;
  }

  Result<Value> value(int depth) {
    if (depth > kMaxValueDepth - 10) return bad("nested too deeply");
    WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
    skip();
    if (at_ == text_.size()) return bad("the value is missing");
    switch (text_[at_]) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return word("true", boolean(true, false));
      case 'f':
        return word("false", boolean(false, false));
      case 'n':
        return word("null", none(false));
      default:
        return number();
    }
  }

  Result<Value> object(int depth) {
    ++at_;
    auto* dict = heap_.make<DictObject>();
    const Value out = heap_.object(Kind::kDict, dict, false);
    if (accept('}')) return out;
    do {
      skip();
      if (at_ == text_.size() || text_[at_] != '"') return bad("expected a key");
      WEIR_TRY(const Value key, string());
      if (!accept(':')) return bad("expected ':'");
      WEIR_TRY(const Value v, value(depth + 1));
      dict->set(key, v);
    } while (accept(','));
    if (!accept('}')) return bad("expected ',' or '}'");
    return out;
  }

  Result<Value> array(int depth) {
    ++at_;
    std::vector<Value> items;
    if (!accept(']')) {
      do {
        WEIR_TRY(const Value v, value(depth + 1));
        items.push_back(v);
      } while (accept(','));
      if (!accept(']')) return bad("expected ',' or ']'");
    }
    Value out = heap_.list(std::move(items));
    out.trusted = false;
    return out;
  }

  Result<std::uint32_t> hex4() {
    std::uint32_t c = 0;
    if (text_.size() - at_ < 4) return bad("an unfinished \\u escape");
    const auto end = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, c, 16);
    if (end.ec != std::errc() || end.ptr != text_.data() + at_ + 4)
      return bad("a broken \\u escape");
    at_ += 4;
    return c;
  }

  Result<Value> string() {
    ++at_;
    std::string out;
    while (true) {
      const std::size_t end = text_.find_first_of("\"\\", at_);
      if (end == std::string_view::npos) return bad("an unfinished string");
      for (std::size_t i = at_; i < end; ++i) {
        if (static_cast<unsigned char>(text_[i]) < 0x20) {
          at_ = i;
          return bad("a control character in a string");
        }
      }
      out += text_.substr(at_, end - at_);
      at_ = end + 1;
      if (text_[end] == '"') break;
      if (at_ == text_.size()) return bad("an unfinished escape");
      switch (text_[at_++]) {
        case '"':
          out += '"';
          break;
        case '\\':
          out += '\\';
          break;
        case '/':
          out += '/';
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
        case 'u': {
          WEIR_TRY(std::uint32_t c, hex4());
          if (c >= 0xD800 && c < 0xDC00 && text_.substr(at_).starts_with("\\u")) {
            at_ += 2;
            WEIR_TRY(const std::uint32_t low, hex4());
            if (low < 0xDC00 || low > 0xDFFF) return bad("half a surrogate pair");
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
          }
          if (c >= 0xD800 && c < 0xE000) return bad("half a surrogate pair");
          utf8::append(out, c);
          break;
        }
        default:
          return bad("an unknown escape");
      }
    }
    if (utf8::find_invalid(out) != std::string::npos) return bad("a string that is not UTF-8");
    return heap_.string(std::move(out), false);
  }

  Result<Value> number() {
    const std::size_t start = at_;
    const auto digits = [&] {
      const std::size_t before = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ > before;
    };
    const auto next_is = [&](std::string_view any) {
      return at_ < text_.size() && any.find(text_[at_]) != std::string_view::npos;
    };
    if (next_is("-")) ++at_;
    const bool zero = next_is("0");
    const std::size_t first = at_;
    if (!digits()) return bad("not a value");
    if (zero && at_ > first + 1) return bad("a number that begins with 0");
    bool whole = true;
    if (next_is(".")) {
      whole = false;
      ++at_;
      if (!digits()) return bad("a number without digits after its point");
    }
    if (next_is("eE")) {
      whole = false;
      ++at_;
      if (next_is("+-")) ++at_;
      if (!digits()) return bad("a number without digits in its exponent");
    }
    const std::string_view text = text_.substr(start, at_ - start);
    const char* end = text.data() + text.size();
    if (whole) {
      std::int64_t i = 0;
      if (std::from_chars(text.data(), end, i).ec == std::errc()) return integer(i, false);
      Value big = heap_.string(std::string(text), false);
      big.kind = Kind::kBigInt;
      big.trusted = false;
      return big;
    }
    double d = 0;
    if (std::from_chars(text.data(), end, d).ec != std::errc()) {
      const bool tiny =
          text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
      d = std::copysign(tiny ? 0.0 : HUGE_VAL, text.front() == '-' ? -1.0 : 1.0);
    }
    return real(d, false);
  }

  Heap& heap_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Value> parse_json(Heap& heap, std::string_view text) {
  return Parser(heap, text).document();
}

}  // namespace weir::jinja
