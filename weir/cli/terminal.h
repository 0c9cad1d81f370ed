#pragma once

/// What standard input and output are: a person's terminal or a pipe, with colour or without.
/// Thread safety: immutable after construction.

#include <string>
#include <string_view>

namespace weir::cli {

class Terminal {
 public:
  /// Reads isatty, TERM and NO_COLOR once.
  Terminal();

  [[nodiscard]] bool input() const { return input_; }    ///< A person types.
  [[nodiscard]] bool output() const { return output_; }  ///< A person reads standard output.
  [[nodiscard]] bool edits() const { return edits_; }    ///< Both, and the cursor can be moved.
  [[nodiscard]] bool colours() const { return colours_; }

  /// `text` dimmed, in bold, or in the prompt's colour where colours are wanted, else as it is.
  [[nodiscard]] std::string dim(std::string_view text) const { return styled("2", text); }
  [[nodiscard]] std::string bold(std::string_view text) const { return styled("1", text); }
  [[nodiscard]] std::string accent(std::string_view text) const { return styled("36", text); }

 private:
  [[nodiscard]] std::string styled(const char* code, std::string_view text) const;
  bool input_, output_, edits_, colours_;
};

/// What a model says, fit for a terminal: control characters other than newline and tab are
/// dropped, so that no answer can move the cursor, change the title or fake what was said before.
[[nodiscard]] std::string harmless(std::string_view text);

}  // namespace weir::cli
