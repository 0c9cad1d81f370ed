#include "weir/text/normalizer.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <compare>
#include <span>

#include "weir/base/check.h"
#include "weir/base/utf8.h"
#include "weir/text/characters.h"

namespace weir::text {
namespace {

using Kind = NormalizerStep::Kind;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

/// Every character through `map`, which appends what it becomes.
template <class Map>
std::string each(std::string_view text, Map&& map) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    map(out, d.code_point);
    i += d.size;
  }
  return out;
}

int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

/// By combining class, equal ones in the order they stand in.
void sort_marks(std::span<utf8proc_int32_t> marks) {
  if (marks.size() == 1) return;
  struct Mark {
    int combining;
    std::size_t place;
    utf8proc_int32_t character;
    auto operator<=>(const Mark&) const = default;
  };
  std::vector<Mark> sorted;
  for (std::size_t i = 0; i < marks.size(); ++i)
    sorted.push_back({combining_class(marks[i]), i, marks[i]});
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < marks.size(); ++i) marks[i] = sorted[i].character;
}

/// NFC, NFD, NFKC, NFKD. utf8proc decomposes a character and composes a sequence; the ordering in
/// between is ours, because utf8proc's is quadratic in a run of marks.
std::string canonical(std::string_view text, bool compatible, bool compose) {
  if (is_ascii(text)) return std::string(text);
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> points;
  points.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const utf8::Decoded d = utf8::decode(text, i);
    i += d.size;
    const auto c = static_cast<utf8proc_int32_t>(d.code_point);
    if (c < 0x80) {
      points.push_back(c);
      continue;
    }
    utf8proc_int32_t parts[32];  // The longest decomposition, of U+FDFA, has 18 characters.
    const utf8proc_ssize_t n = utf8proc_decompose_char(c, parts, 32, options, nullptr);
    WEIR_CHECK(n >= 0 && n <= 32, "a decomposition of more than 32 characters");
    points.insert(points.end(), parts, parts + n);
  }
  for (auto run = points.begin(); run != points.end();) {
    if (combining_class(*run) == 0) {
      ++run;
      continue;
    }
    const auto end =
        std::find_if(run, points.end(), [](auto c) { return combining_class(c) == 0; });
    sort_marks({run, end});
    run = end;
  }
  if (compose) {
    const auto composing = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t n = utf8proc_normalize_utf32(
        points.data(), static_cast<utf8proc_ssize_t>(points.size()), composing);
    WEIR_CHECK(n >= 0, "composition cannot fail");
    points.resize(static_cast<std::size_t>(n));
  }
  std::string out;
  out.reserve(text.size());
  for (const auto c : points) utf8::append(out, static_cast<std::uint32_t>(c));
  return out;
}

void append_lower(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c == 0x130) {  // The only character whose lower case is two.
    out += "i\xCC\x87";
  } else {
    utf8::append(out,
                 static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

std::string lower(std::string_view text) { return each(text, append_lower); }

std::string bert(std::string text, const NormalizerStep& step) {
  if (step.clean_text) {
    text = each(text, [](std::string& out, std::uint32_t c) {
      // Controls go first: U+000B, U+000C and U+0085 vanish although they are white space.
      const bool kept =
          c == '\t' || c == '\n' || c == '\r' || (c != utf8::kReplacement && !is_other(c));
      if (!kept) return;
      utf8::append(out, is_white_space(c) ? ' ' : c);
    });
  }
  if (step.chinese_spaces) {
    text = each(text, [](std::string& out, std::uint32_t c) {
      const bool spaced = is_chinese(c);
      if (spaced) out += ' ';
      utf8::append(out, c);
      if (spaced) out += ' ';
    });
  }
  if (step.strip_accents) {
    text = each(canonical(text, false, false), [](std::string& out, std::uint32_t c) {
      if (!is_nonspacing_mark(c)) utf8::append(out, c);
    });
  }
  if (step.lowercase) text = lower(text);
  return text;
}

std::string nmt(std::string_view text) {
  return each(text, [](std::string& out, std::uint32_t c) {
    const bool dropped = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                         c == 0x8F || c == 0x9F;
    if (dropped) return;
    const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    utf8::append(out, space ? ' ' : c);
  });
}

std::string strip(std::string_view text, bool left, bool right) {
  std::size_t begin = 0;
  std::size_t end = text.size();
  while (left && begin < end && is_white_space(character_at(text, begin)))
    begin += utf8::decode(text, begin).size;
  while (right && end > begin && is_white_space(character_before(text, end))) {
    do --end;
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
  }
  return std::string(text.substr(begin, end - begin));
}

std::string replace(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  std::size_t done = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, done)) {
    out.append(text, done, at - done).append(by);
    done = at + what.size();
  }
  return out.append(text, done);
}

std::string replace_matches(std::string_view text, const Pattern& pattern, std::string_view by) {
  std::string out;
  Pattern::Matcher matcher(pattern);
  std::size_t done = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const auto match = matcher.find(text, from);
    if (!match) break;
    out.append(text, done, match->begin - done).append(by);
    done = match->end;
    from = match->end;
    if (match->begin == match->end) {
      if (from == text.size()) break;
      from += utf8::decode(text, from).size;
    }
  }
  return out.append(text, done);
}

}  // namespace

Result<Normalizer> Normalizer::create(const std::vector<NormalizerStep>& steps) {
  if (steps.size() > kMaxSteps) {
    return fail(Code::kTooLarge,
                fmt::format("{} normalizer steps; at most {} are run", steps.size(), kMaxSteps));
  }
  Normalizer normalizer;
  std::size_t growth = 1;
  for (const NormalizerStep& step : steps) {
    if (step.content.size() > kMaxContentBytes) {
      return fail(Code::kTooLarge,
                  fmt::format("a normalizer inserts {} bytes at once; at most {} are allowed",
                              step.content.size(), kMaxContentBytes));
    }
    if (utf8::find_invalid(step.content) != std::string::npos) {
      return fail(Code::kCorrupt, "a normalizer inserts invalid UTF-8");
    }
    if (step.kind == Kind::kReplace &&
        (step.pattern.empty() || utf8::find_invalid(step.pattern) != std::string::npos)) {
      return fail(Code::kCorrupt, "a normalizer replaces an empty or invalid text");
    }
    // Steps that multiply text multiply each other: bound the product, not only each factor.
    if (step.kind == Kind::kReplace)
      growth *= std::max<std::size_t>(1, step.content.size() / step.pattern.size());
    if (step.kind == Kind::kReplacePattern) growth *= step.content.size() + 1;
    if (growth > 4 * kMaxContentBytes) {
      return fail(Code::kTooLarge,
                  "the normalizer's replacements could grow a text more than 256 times");
    }
    Step built{step, std::nullopt, std::nullopt};
    if (step.kind == Kind::kReplacePattern) {
      WEIR_TRY(built.pattern, Pattern::compile(step.pattern));
    }
    if (step.kind == Kind::kSentencePiece) {
      WEIR_TRY(built.rules, SentencePieceRules::create(step));
    }
    normalizer.steps_.push_back(std::move(built));
  }
  return normalizer;
}

std::string Normalizer::apply(std::string_view input, bool prepend) const {
  std::string text(input);
  for (const Step& built : steps_) {
    const NormalizerStep& step = built.step;
    switch (step.kind) {
      case Kind::kNfc:
        text = canonical(text, false, true);
        break;
      case Kind::kNfd:
        text = canonical(text, false, false);
        break;
      case Kind::kNfkc:
        text = canonical(text, true, true);
        break;
      case Kind::kNfkd:
        text = canonical(text, true, false);
        break;
      case Kind::kLowercase:
        text = lower(text);
        break;
      case Kind::kStripAccents:
        text = each(text, [](std::string& out, std::uint32_t c) {
          if (!is_mark(c)) utf8::append(out, c);
        });
        break;
      case Kind::kBert:
        text = bert(std::move(text), step);
        break;
      case Kind::kPrepend:
        if (prepend && (input.empty() || !text.empty())) text.insert(0, step.content);
        break;
      case Kind::kReplace:
        text = replace(text, step.pattern, step.content);
        break;
      case Kind::kReplacePattern:
        text = replace_matches(text, *built.pattern, step.content);
        break;
      case Kind::kStrip:
        text = strip(text, step.left, step.right);
        break;
      case Kind::kNmt:
        text = nmt(text);
        break;
      case Kind::kSentencePiece:
        text = built.rules->apply(text, prepend);
        break;
    }
  }
  return text;
}

}  // namespace weir::text
