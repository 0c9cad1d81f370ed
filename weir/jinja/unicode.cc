#include "weir/jinja/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "weir/base/utf8.h"
#include "weir/jinja/casing_data.h"

namespace weir::jinja {
namespace {

utf8proc_category_t category(std::uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

const SpecialCase* special_case(std::uint32_t c) {
  if (c < 0xDF) return nullptr;
  const auto* it = std::lower_bound(
      std::begin(kSpecialCases), std::end(kSpecialCases), c,
      [](const SpecialCase& s, std::uint32_t code_point) { return s.code_point < code_point; });
  return it != std::end(kSpecialCases) && it->code_point == c ? it : nullptr;
}

void append_upper(std::string& out, std::uint32_t c) {
  if (const SpecialCase* s = special_case(c)) {
    out += s->upper;
  } else {
    utf8::append(out, static_cast<std::uint32_t>(utf8proc_toupper(static_cast<int>(c))));
  }
}

void append_title(std::string& out, std::uint32_t c) {
  if (const SpecialCase* s = special_case(c)) {
    out += s->title;
  } else {
    utf8::append(out, static_cast<std::uint32_t>(utf8proc_totitle(static_cast<int>(c))));
  }
}

bool is_cased(std::uint32_t c) { return is_upper(c) || is_lower(c) || is_title(c); }

/// Word_Break MidLetter, MidNumLet, Single_Quote, or categories Mn Me Cf Lm Sk: Case_Ignorable.
bool is_case_ignorable(std::uint32_t c) {
  switch (c) {
    case 0x27:
    case 0x2E:
    case 0x3A:
    case 0xB7:
    case 0x387:
    case 0x55F:
    case 0x5F4:
    case 0x2018:
    case 0x2019:
    case 0x2024:
    case 0x2027:
    case 0xFE13:
    case 0xFE52:
    case 0xFE55:
    case 0xFF07:
    case 0xFF0E:
    case 0xFF1A:
      return true;
    default:
      break;
  }
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

/// Python lowers a capital sigma at the end of a word to the final form.
bool is_final_sigma(std::string_view text, std::size_t at, std::size_t size) {
  bool before = false;
  for (std::size_t i = at; i > 0;) {
    --i;
    while (i > 0 && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) --i;
    const std::uint32_t c = utf8::decode(text, i).code_point;
    if (is_case_ignorable(c)) continue;
    before = is_cased(c);
    break;
  }
  if (!before) return false;
  for (std::size_t i = at + size; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    i += d.size;
    if (is_case_ignorable(d.code_point)) continue;
    return !is_cased(d.code_point);
  }
  return true;
}

void append_lower(std::string& out, std::uint32_t c, std::string_view text, std::size_t at,
                  std::size_t size) {
  if (c == 0x130) {
    out += "i\u0307";
  } else if (c == 0x3A3) {
    utf8::append(out, is_final_sigma(text, at, size) ? 0x3C2 : 0x3C3);
  } else {
    utf8::append(out, static_cast<std::uint32_t>(utf8proc_tolower(static_cast<int>(c))));
  }
}

/// f(out, code point, offset, size) writes what a character becomes.
template <class F>
Text map_characters(const Text& text, F f) {
  Text out;
  std::string one;
  for_each_character(text.view(), [&](std::uint32_t c, std::size_t at, std::size_t size) {
    one.clear();
    f(one, c, at, size);
    out.append(one, text.trusted_at(at));
  });
  return out;
}

/// Title-cases a character when `starts(previous character)`.
template <class F>
Text title_by(const Text& text, F starts) {
  bool start = true;
  return map_characters(text,
                        [&](std::string& out, std::uint32_t c, std::size_t at, std::size_t n) {
                          if (start) {
                            append_title(out, c);
                          } else {
                            append_lower(out, c, text.view(), at, n);
                          }
                          start = starts(c);
                        });
}

}  // namespace

bool is_space(std::uint32_t c) {
  if (c < 0x80) return (c >= 9 && c <= 13) || (c >= 28 && c <= 32);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_upper(std::uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  // Other_Uppercase: Roman numerals and letters in circles and squares.
  return category(c) == UTF8PROC_CATEGORY_LU || (c >= 0x2160 && c <= 0x216F) ||
         (c >= 0x24B6 && c <= 0x24CF) || (c >= 0x1F130 && c <= 0x1F149) ||
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool is_lower(std::uint32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  // Other_Lowercase, its larger part.
  return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA ||
         (c >= 0x2B0 && c <= 0x2B8) || c == 0x2C0 || c == 0x2C1 || (c >= 0x2E0 && c <= 0x2E4) ||
         c == 0x345 || c == 0x37A || (c >= 0x1D2C && c <= 0x1D6A) || c == 0x1D78 ||
         (c >= 0x1D9B && c <= 0x1DBF) || c == 0x2071 || c == 0x207F ||
         (c >= 0x2090 && c <= 0x209C) || (c >= 0x2170 && c <= 0x217F) ||
         (c >= 0x24D0 && c <= 0x24E9);
}

bool is_title(std::uint32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }

bool is_alpha(std::uint32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return true;
    default:
      return false;
  }
}

bool is_decimal(std::uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return category(c) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(std::uint32_t c) {
  if (is_decimal(c)) return true;
  return std::any_of(std::begin(kDigitsNotDecimal), std::end(kDigitsNotDecimal),
                     [c](const CodePointRange& r) { return r.first <= c && c <= r.last; });
}

bool is_numeric(std::uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const auto g = category(c);
  return g == UTF8PROC_CATEGORY_ND || g == UTF8PROC_CATEGORY_NL || g == UTF8PROC_CATEGORY_NO;
}

bool is_alnum(std::uint32_t c) { return is_alpha(c) || is_numeric(c); }

bool is_printable(std::uint32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7F;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_upper_text(std::string_view text) {
  bool some = false;
  bool good = true;
  for_each_character(text, [&](std::uint32_t c, std::size_t, std::size_t) {
    some = some || is_upper(c);
    good = good && !is_lower(c) && !is_title(c);
  });
  return some && good;
}

bool is_lower_text(std::string_view text) {
  bool some = false;
  bool good = true;
  for_each_character(text, [&](std::uint32_t c, std::size_t, std::size_t) {
    some = some || is_lower(c);
    good = good && !is_upper(c) && !is_title(c);
  });
  return some && good;
}

std::size_t length(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t byte_offset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; at < text.size() && index > 0; --index) at += utf8::decode(text, at).size;
  return at;
}

std::vector<std::size_t> character_offsets(std::string_view text) {
  std::vector<std::size_t> out;
  out.reserve(text.size() + 1);
  for_each_character(text, [&](std::uint32_t, std::size_t at, std::size_t) { out.push_back(at); });
  out.push_back(text.size());
  return out;
}

Text upper(const Text& text) {
  return map_characters(text, [](std::string& out, std::uint32_t c, std::size_t, std::size_t) {
    append_upper(out, c);
  });
}

Text lower(const Text& text) {
  return map_characters(text, [&](std::string& out, std::uint32_t c, std::size_t at,
                                  std::size_t n) { append_lower(out, c, text.view(), at, n); });
}

Text swapcase(const Text& text) {
  return map_characters(text,
                        [&](std::string& out, std::uint32_t c, std::size_t at, std::size_t n) {
                          if (is_upper(c)) {
                            append_lower(out, c, text.view(), at, n);
                          } else if (is_lower(c)) {
                            append_upper(out, c);
                          } else {
                            utf8::append(out, c);
                          }
                        });
}

Text capitalize(const Text& text) {
  return title_by(text, [](std::uint32_t) { return false; });
}

Text title(const Text& text) {
  return title_by(text, [](std::uint32_t c) { return !is_cased(c); });
}

Text title_filter(const Text& text) {
  // item[0].upper() + item[1:].lower() for the pieces of re.split(r"([-\s({\[<]+)"): a final sigma
  // is judged within its piece, which a word boundary does not change.
  bool start = true;
  return map_characters(text, [&](std::string& out, std::uint32_t c, std::size_t at,
                                  std::size_t n) {
    const bool separator = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    if (start) {
      append_upper(out, c);
    } else {
      append_lower(out, c, text.view(), at, n);
    }
    start = separator;
  });
}

Text strip(const Text& text, Side side, std::optional<std::string_view> chars) {
  const std::string_view view = text.view();
  const auto drop = [&](std::string_view character) {
    if (chars) return chars->find(character) != std::string_view::npos;
    return is_space(utf8::decode(character, 0).code_point);
  };
  std::size_t begin = 0;
  std::size_t end = view.size();
  if (side != Side::kRight) {
    while (begin < end) {
      const std::size_t n = utf8::decode(view, begin).size;
      if (!drop(view.substr(begin, n))) break;
      begin += n;
    }
  }
  if (side != Side::kLeft) {
    while (end > begin) {
      std::size_t at = end - 1;
      while (at > begin && (static_cast<unsigned char>(view[at]) & 0xC0) == 0x80) --at;
      if (!drop(view.substr(at, end - at))) break;
      end = at;
    }
  }
  return text.slice(begin, end - begin);
}

std::vector<Text> split(const Text& text, std::string_view separator, std::int64_t limit) {
  std::vector<Text> out;
  std::size_t from = 0;
  while (limit < 0 || static_cast<std::int64_t>(out.size()) < limit) {
    const std::size_t at = text.view().find(separator, from);
    if (at == std::string_view::npos) break;
    out.push_back(text.slice(from, at - from));
    from = at + separator.size();
  }
  out.push_back(text.slice(from, text.size() - from));
  return out;
}

std::vector<Text> rsplit(const Text& text, std::string_view separator, std::int64_t limit) {
  std::vector<Text> out;
  std::size_t end = text.size();
  while (limit < 0 || static_cast<std::int64_t>(out.size()) < limit) {
    const std::size_t at = text.view().substr(0, end).rfind(separator);
    if (at == std::string_view::npos) break;
    out.push_back(text.slice(at + separator.size(), end - at - separator.size()));
    end = at;
  }
  out.push_back(text.slice(0, end));
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Text> split_spaces(const Text& text, std::int64_t limit) {
  std::vector<Text> out;
  const std::string_view view = text.view();
  std::size_t i = 0;
  const auto skip = [&](bool spaces) {
    while (i < view.size()) {
      const utf8::Decoded d = utf8::decode(view, i);
      if (is_space(d.code_point) != spaces) break;
      i += d.size;
    }
  };
  while (true) {
    skip(true);
    if (i == view.size()) return out;
    if (limit >= 0 && static_cast<std::int64_t>(out.size()) >= limit) {
      out.push_back(text.slice(i, view.size() - i));
      return out;
    }
    const std::size_t from = i;
    skip(false);
    out.push_back(text.slice(from, i - from));
  }
}

std::vector<Text> rsplit_spaces(const Text& text, std::int64_t limit) {
  if (limit < 0) return split_spaces(text, -1);
  const std::vector<std::size_t> offsets = character_offsets(text.view());
  std::vector<Text> out;
  std::size_t end = offsets.size() - 1;  // In characters.
  const auto space_before = [&](std::size_t i) {
    return is_space(utf8::decode(text.view(), offsets[i - 1]).code_point);
  };
  while (true) {
    while (end > 0 && space_before(end)) --end;
    if (end == 0) break;
    if (static_cast<std::int64_t>(out.size()) >= limit) {
      out.push_back(text.slice(0, offsets[end]));
      break;
    }
    std::size_t begin = end;
    while (begin > 0 && !space_before(begin)) --begin;
    out.push_back(text.slice(offsets[begin], offsets[end] - offsets[begin]));
    end = begin;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<Text> split_lines(const Text& text, bool keep_ends) {
  std::vector<Text> out;
  const std::string_view view = text.view();
  std::size_t from = 0;
  for (std::size_t i = 0; i < view.size();) {
    const utf8::Decoded d = utf8::decode(view, i);
    const std::uint32_t c = d.code_point;
    const bool ends = (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
                      c == 0x2028 || c == 0x2029;
    std::size_t next = i + d.size;
    if (ends) {
      if (c == '\r' && next < view.size() && view[next] == '\n') ++next;
      out.push_back(text.slice(from, (keep_ends ? next : i) - from));
      from = next;
    }
    i = next;
  }
  if (from < view.size()) out.push_back(text.slice(from, view.size() - from));
  return out;
}

std::size_t count(std::string_view text, std::string_view part) {
  if (part.empty()) return length(text) + 1;
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++n;
  }
  return n;
}

Text replace(const Text& text, std::string_view from, const Text& to, std::int64_t limit) {
  Text out;
  std::size_t copied = 0;
  std::int64_t done = 0;
  if (from.empty()) {
    for (const std::size_t at : character_offsets(text.view())) {
      if (limit >= 0 && done >= limit) break;
      out.append(text, copied, at - copied);
      out.append(to);
      copied = at;
      ++done;
    }
  } else {
    for (std::size_t at = text.view().find(from);
         at != std::string_view::npos && (limit < 0 || done < limit);
         at = text.view().find(from, copied)) {
      out.append(text, copied, at - copied);
      out.append(to);
      copied = at + from.size();
      ++done;
    }
  }
  out.append(text, copied, text.size() - copied);
  return out;
}

}  // namespace weir::jinja
