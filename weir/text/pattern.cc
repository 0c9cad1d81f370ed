#define PCRE2_CODE_UNIT_WIDTH 8
#include "weir/text/pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/utf8.h"

namespace weir::text {
namespace {

// The sets Oniguruma and Rust's regex give these escapes in Unicode mode, written for the inside of
// a class. PCRE2's own \s adds U+180E, and its \w lacks marks and the other connectors.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{d7ff}\x{e000}-\x{10ffff})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9})";

Result<std::string> refuse(std::string_view what, std::string_view source) {
  return fail(Code::kUnsupported,
              fmt::format("regular expression '{}': {} is not supported", source, what));
}

bool opens_with(std::string_view text, std::size_t at, std::string_view what) {
  return text.substr(at, what.size()) == what;
}

}  // namespace

Result<std::string> translate_pattern(std::string_view source) {
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '\\') {
      if (++i == source.size()) return refuse("a backslash at the end", source);
      const char e = source[i];
      switch (e) {
        case 's':
          out += in_class ? std::string(kSpace) : fmt::format("[{}]", kSpace);
          break;
        case 'S':
          out += in_class ? std::string(kNotSpace) : fmt::format("[^{}]", kSpace);
          break;
        case 'w':
          out += in_class ? std::string(kWord) : fmt::format("[{}]", kWord);
          break;
        case 'W':
          if (in_class) return refuse("\\W inside a class", source);
          out += fmt::format("[^{}]", kWord);
          break;
        case 'd':
          out += "\\p{Nd}";
          break;
        case 'D':
          out += "\\P{Nd}";
          break;
        case 'h':  // A hexadecimal digit to Oniguruma, horizontal space to PCRE2.
          out += in_class ? "0-9a-fA-F" : "[0-9a-fA-F]";
          break;
        case 'u':
          if (i + 4 >= source.size()) return refuse("a short \\u", source);
          out += fmt::format("\\x{{{}}}", source.substr(i + 1, 4));
          i += 4;
          break;
        case 'p':
        case 'P':
        case 'x':
        case 'n':
        case 'r':
        case 't':
        case 'f':
        case 'v':
        case 'A':
        case 'z':
          out += '\\';
          out += e;
          break;
        default:
          if ((e >= '0' && e <= '9') || (e >= 'a' && e <= 'z') || (e >= 'A' && e <= 'Z')) {
            return refuse(fmt::format("\\{}", e), source);
          }
          out += '\\';
          out += e;
      }
      continue;
    }
    if (in_class) {
      if (c == '[') {
        if (opens_with(source, i, "[:")) return refuse("a POSIX class", source);
        return refuse("a class within a class", source);
      }
      if (opens_with(source, i, "&&")) return refuse("an intersection of classes", source);
      if (c == ']') in_class = false;
      out += c;
      continue;
    }
    if (c == '[') {
      in_class = true;
      out += c;
      if (opens_with(source, i + 1, "^")) out += source[++i];
      if (opens_with(source, i + 1, "]")) {
        out += "\\]";
        ++i;
      }
      continue;
    }
    if (c == '(' && opens_with(source, i, "(?")) {
      // Flags other than i differ in meaning; lookarounds, groups and atomic groups do not.
      const char k = i + 2 < source.size() ? source[i + 2] : '\0';
      const bool known = k == ':' || k == '=' || k == '!' || k == '>' ||
                         opens_with(source, i, "(?<=") || opens_with(source, i, "(?<!") ||
                         opens_with(source, i, "(?i:") || opens_with(source, i, "(?i)");
      if (!known) return refuse("this kind of group", source);
    }
    out += c;
  }
  return out;
}

struct Pattern::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Code() { pcre2_code_free(code); }
};

Pattern::Pattern(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view source) {
  if (source.size() > kMaxPatternBytes) {
    return fail(weir::Code::kTooLarge,
                fmt::format("a regular expression of {} bytes; at most {} are read", source.size(),
                            kMaxPatternBytes));
  }
  if (utf8::find_invalid(source) != std::string_view::npos) {
    return fail(weir::Code::kCorrupt, "a regular expression is not valid UTF-8");
  }
  WEIR_TRY(const std::string translated, translate_pattern(source));
  std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 64);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_unique<Code>();
  code->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                             &error, &offset, context.get());
  if (code->code == nullptr) {
    PCRE2_UCHAR text[256] = {};
    pcre2_get_error_message(error, text, sizeof text);
    return fail(weir::Code::kUnsupported,
                fmt::format("regular expression '{}': {} (at offset {} of '{}')", source,
                            reinterpret_cast<const char*>(text), offset, translated));
  }
  code->jit = pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE) == 0;
  return Pattern(std::move(code));
}

struct Pattern::Matcher::State {
  pcre2_match_context* context = nullptr;
  pcre2_match_data* data = nullptr;
  pcre2_jit_stack* stack = nullptr;
  bool gave_up = false;
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

Pattern::Matcher::Matcher(const Pattern& pattern)
    : pattern_(pattern), state_(std::make_unique<State>()) {
  state_->context = pcre2_match_context_create(nullptr);
  state_->data = pcre2_match_data_create(1, nullptr);
  WEIR_CHECK(state_->context != nullptr && state_->data != nullptr, "no memory for a match");
  pcre2_set_match_limit(state_->context, kMatchLimit);
  pcre2_set_heap_limit(state_->context, kHeapLimitKib);
}

Pattern::Matcher::~Matcher() = default;

std::optional<Pattern::Match> Pattern::Matcher::find(std::string_view text, std::size_t from) {
  if (state_->gave_up) return std::nullopt;
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto run = [&] {
    return pattern_.code_->jit ? pcre2_jit_match(pattern_.code_->code, subject, text.size(), from,
                                                 0, state_->data, state_->context)
                               : pcre2_match(pattern_.code_->code, subject, text.size(), from,
                                             PCRE2_NO_UTF_CHECK, state_->data, state_->context);
  };
  int found = run();
  if (found == PCRE2_ERROR_JIT_STACKLIMIT && state_->stack == nullptr) {
    // Only a pattern that backtracks into groups needs more than the 32 KiB of the machine stack.
    state_->stack = pcre2_jit_stack_create(64 * 1024, std::size_t{kHeapLimitKib} * 1024, nullptr);
    if (state_->stack != nullptr) pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
    found = run();
  }
  if (found < 0) {
    state_->gave_up = found != PCRE2_ERROR_NOMATCH;
    return std::nullopt;
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(state_->data);
  return Match{ends[0], std::max(ends[0], ends[1])};
}

}  // namespace weir::text
