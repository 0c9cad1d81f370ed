#pragma once

/// A regular expression as the reference tokenizers mean it (Oniguruma with Ruby's syntax,
/// Unicode), run by PCRE2: \s \w \d and their complements are spelled out to the same sets of
/// characters, `$` and `^` are per line, and what PCRE2 would read differently is refused by name.
///
/// Work is bounded: one match gives up after kMatchLimit steps, and Matcher then reports no further
/// match, so hostile text against a hostile pattern costs a coarser cut and not the server.
/// Thread safety: a Pattern is immutable and shared; a Matcher belongs to one call.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::text {

class Pattern {
 public:
  static constexpr std::size_t kMaxPatternBytes = 64 * 1024;
  static constexpr std::uint32_t kMatchLimit =
      50'000'000;  ///< Three steps a byte on a run of 16 MiB.
  static constexpr std::uint32_t kHeapLimitKib = 64 * 1024;

  [[nodiscard]] static Result<Pattern> compile(std::string_view source);

  struct Match {
    std::size_t begin;
    std::size_t end;
  };

  class Matcher {
   public:
    explicit Matcher(const Pattern& pattern);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    /// The leftmost match at or after `from`, or nothing.
    /// REQUIRES: text is valid UTF-8 and `from` a character's start or its end.
    [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from);

   private:
    struct State;
    const Pattern& pattern_;
    std::unique_ptr<State> state_;
  };

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

 private:
  struct Code;
  explicit Pattern(std::unique_ptr<Code> code);
  std::unique_ptr<Code> code_;
};

/// What Pattern hands to PCRE2; apart so that a test can read it.
[[nodiscard]] Result<std::string> translate_pattern(std::string_view source);

}  // namespace weir::text
