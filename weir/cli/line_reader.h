#pragma once

/// One message at a time from a person: with line editing and history where the terminal can do it
/// (libedit: Emacs or vi keys as ~/.editrc says, bracketed paste), plainly where it cannot.
///
/// A message may have several lines: one that begins with """ goes on until the next """, and a
/// \ at the end of a line joins the next. Thread safety: the main thread.

#include <memory>
#include <string>

#include "weir/cli/signals.h"
#include "weir/cli/terminal.h"

namespace weir::cli {

class LineReader {
 public:
  enum class Event {
    kMessage,
    kInterrupted,       ///< Ctrl-C while something was typed: it is dropped.
    kInterruptedEmpty,  ///< Ctrl-C at an empty prompt.
    kEnd,               ///< Ctrl-D at an empty prompt, or the input is over.
  };
  struct Message {
    Event event = Event::kEnd;
    std::string text;       ///< Valid UTF-8, without the marks of several lines.
    bool verbatim = false;  ///< It stood between """: never a command.
  };

  LineReader(const Terminal& terminal, Signals& signals);
  ~LineReader();

  /// Shows the prompt and blocks.
  [[nodiscard]] Message read();

 private:
  struct Line {
    Event event = Event::kEnd;
    std::string text;
  };
  [[nodiscard]] Line read_line(const char* prompt);
  [[nodiscard]] Line edited_line(const char* prompt);
  [[nodiscard]] Line plain_line(const char* prompt);

  struct Editor;
  const Terminal& terminal_;
  Signals& signals_;
  std::unique_ptr<Editor> editor_;  ///< Absent where the terminal cannot edit.
  std::string unread_;              ///< Plain reading: bytes after the last line.
};

}  // namespace weir::cli
