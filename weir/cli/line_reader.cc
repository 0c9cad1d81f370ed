#include "weir/cli/line_reader.h"

#include <fmt/format.h>
#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstring>
#include <utility>

#include "weir/base/utf8.h"
#include "weir/sys/files.h"

namespace weir::cli {
namespace {

constexpr const char* kFirstPrompt = ">>> ";
constexpr const char* kNextPrompt = "... ";
constexpr std::string_view kFence = "\"\"\"";
constexpr std::size_t kMaxMessage = 16U << 20;  // What a person may type or paste in one message.
constexpr int kHistorySize = 1000;

std::string history_file() {
  const auto state = sys::environment("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return *state + "/weir/run_history";
  const auto home = sys::home_directory();
  return home ? *home + "/.local/state/weir/run_history" : std::string();
}

std::wstring wide(std::string_view text) {
  std::wstring out;
  for (std::size_t at = 0; at < text.size();) {
    const utf8::Decoded c = utf8::decode(text, at);
    out.push_back(static_cast<wchar_t>(c.code_point));
    at += c.size;
  }
  return out;
}

std::string narrow(const wchar_t* text, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    const auto c = static_cast<std::uint32_t>(text[i]);
    const bool scalar = c < 0xD800 || (c >= 0xE000 && c <= 0x10FFFF);
    utf8::append(out, scalar ? c : utf8::kReplacement);
  }
  return out;
}

}  // namespace

/// libedit with our own reading of characters, so that signals and pastes are events, not
/// accidents.
struct LineReader::Editor {
  Editor(const Terminal& a_terminal, Signals& some_signals)
      : terminal(a_terminal), signals(some_signals) {
    // libedit writes what is typed in the encoding of the locale.
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
    edit = el_init("weir", stdin, stdout, stderr);
    past = history_winit();
    HistEventW event;
    history_w(past, &event, H_SETSIZE, kHistorySize);
    history_w(past, &event, H_SETUNIQUE, 1);
    file = history_file();
    if (!file.empty()) history_w(past, &event, H_LOAD, file.c_str());
    el_wset(edit, EL_CLIENTDATA, this);
    el_wset(edit, EL_PROMPT_ESC, &prompt_of, L'\1');
    el_wset(edit, EL_EDITOR, L"emacs");
    el_wset(edit, EL_HIST, history_w, past);
    el_wset(edit, EL_GETCFN, &get_character);
    el_wset(edit, EL_ADDFN, L"weir-interrupt", L"drop the line", &on_interrupt);
    el_wset(edit, EL_ADDFN, L"weir-paste", L"insert a paste", &on_paste);
    el_source(edit, nullptr);
    el_wset(edit, EL_BIND, L"^C", L"weir-interrupt", nullptr);
    el_wset(edit, EL_BIND, L"\\e[200~", L"weir-paste", nullptr);
    el_wset(edit, EL_BIND, L"^R", L"em-inc-search-prev", nullptr);
  }

  ~Editor() {
    HistEventW event;
    // History is a comfort: where it cannot be kept, nothing is said.
    if (!file.empty() && sys::make_directories(file.substr(0, file.rfind('/')))) {
      history_w(past, &event, H_SAVE, file.c_str());
    }
    history_wend(past);
    el_end(edit);
  }

  static Editor& of(EditLine* edit) {
    void* self = nullptr;
    el_wget(edit, EL_CLIENTDATA, &self);
    return *static_cast<Editor*>(self);
  }

  static wchar_t* prompt_of(EditLine* edit) { return of(edit).prompt.data(); }

  /// The next byte, or -1: the input is over, -2: Ctrl-C.
  int next_byte() {
    while (at == size) {
      if (!signals.wait_readable(STDIN_FILENO)) {
        if (signals.interrupted()) return -2;
        if (signals.screen_changed()) {
          el_wset(edit, EL_PREP_TERM, 1);  // A resumed job finds the terminal as the shell left it.
          el_resize(edit);
          el_wset(edit, EL_REFRESH);
        }
        continue;
      }
      const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
      if (got <= 0) return -1;
      at = 0;
      size = static_cast<std::size_t>(got);
    }
    return static_cast<unsigned char>(buffer[at++]);
  }

  /// One character, or -1 or -2 as next_byte().
  std::int64_t next_character() {
    std::string bytes;
    do {
      const int byte = next_byte();
      if (byte < 0) return bytes.empty() ? byte : std::int64_t{utf8::kReplacement};
      bytes.push_back(static_cast<char>(byte));
    } while (utf8::unfinished_tail(bytes) > 0);
    return utf8::decode(bytes, 0).code_point;
  }

  static int get_character(EditLine* edit, wchar_t* out) {
    const std::int64_t c = of(edit).next_character();
    if (c == -1) return 0;
    *out = c == -2 ? L'\3' : static_cast<wchar_t>(c);
    return 1;
  }

  static unsigned char on_interrupt(EditLine* edit, wint_t) {
    Editor& self = of(edit);
    self.interrupted = true;
    const LineInfoW* line = el_wline(edit);
    self.had_text = line->lastchar != line->buffer;
    return CC_EOF;
  }

  static unsigned char on_paste(EditLine* edit, wint_t) {
    constexpr std::wstring_view kEnd = L"\x1b[201~";
    std::wstring text;
    while (!text.ends_with(kEnd) && text.size() < kMaxMessage) {
      const std::int64_t c = of(edit).next_character();
      if (c < 0) return CC_EOF;
      text.push_back(c == '\r' ? L'\n' : static_cast<wchar_t>(c));
    }
    text.erase(text.size() - std::min(text.size(), kEnd.size()));
    while (text.ends_with(L'\n')) text.pop_back();
    return el_winsertstr(edit, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  const Terminal& terminal;
  Signals& signals;
  EditLine* edit = nullptr;
  HistoryW* past = nullptr;
  std::string file;  // Of the history; empty: not kept.
  std::wstring prompt;
  bool interrupted = false;
  bool had_text = false;
  char buffer[4096];
  std::size_t at = 0, size = 0;
};

LineReader::LineReader(const Terminal& terminal, Signals& signals)
    : terminal_(terminal), signals_(signals) {
  if (terminal.edits()) editor_ = std::make_unique<Editor>(terminal, signals);
}

LineReader::~LineReader() = default;

LineReader::Line LineReader::edited_line(const char* prompt) {
  Editor& e = *editor_;
  e.prompt = wide(prompt);
  if (terminal_.colours()) {
    // Codes between two \1 take no room on the line. libedit drops those at the very end of a
    // prompt, so the colour ends before the last space.
    e.prompt = L"\1\x1b[36m\1" + e.prompt.substr(0, e.prompt.size() - 1) + L"\1\x1b[0m\1 ";
  }
  e.interrupted = false;
  std::fputs("\x1b[?2004h", stdout);  // Pastes come marked, so that their newlines send nothing.
  std::fflush(stdout);
  // libedit would do so only once it reads, after the prompt: what is typed in between would be
  // echoed by the kernel, and lost to Ctrl-C.
  el_wset(e.edit, EL_PREP_TERM, 1);
  int size = 0;
  const wchar_t* text = el_wgets(e.edit, &size);
  std::fputs("\x1b[?2004l", stdout);
  std::fflush(stdout);
  if (e.interrupted) {
    std::fputs("^C\n", stdout);
    return {e.had_text ? Event::kInterrupted : Event::kInterruptedEmpty, {}};
  }
  if (text == nullptr || size <= 0) {
    std::fputs("\n", stdout);
    return {Event::kEnd, {}};
  }
  std::wstring line(text, static_cast<std::size_t>(size));
  if (line.ends_with(L'\n')) line.pop_back();
  if (line.find_first_not_of(L" \t\n") != std::wstring::npos) {
    HistEventW event;
    history_w(e.past, &event, H_ENTER, line.c_str());
  }
  return {Event::kMessage, narrow(line.data(), line.size())};
}

LineReader::Line LineReader::plain_line(const char* prompt) {
  if (terminal_.input()) {
    // The answer may be redirected to a file; the prompt is for the person.
    std::FILE* to = terminal_.output() ? stdout : stderr;
    std::fputs(prompt, to);
    std::fflush(to);
  }
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return {Event::kMessage, utf8::sanitize(line)};
    }
    if (!signals_.wait_readable(STDIN_FILENO)) {
      (void)signals_.screen_changed();
      if (!signals_.interrupted()) continue;
      std::fputs("\n", stderr);
      return {std::exchange(unread_, {}).empty() ? Event::kInterruptedEmpty : Event::kInterrupted,
              {}};
    }
    char buffer[4096];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0 || unread_.size() > kMaxMessage) {
      if (unread_.empty()) return {Event::kEnd, {}};
      return {Event::kMessage, utf8::sanitize(std::exchange(unread_, {}))};
    }
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
}

LineReader::Line LineReader::read_line(const char* prompt) {
  return editor_ ? edited_line(prompt) : plain_line(prompt);
}

LineReader::Message LineReader::read() {
  Line line = read_line(kFirstPrompt);
  if (line.event != Event::kMessage) return {line.event, {}, false};
  std::string text = std::move(line.text);
  const bool fenced = text.starts_with(kFence);
  if (fenced) text.erase(0, kFence.size());
  for (;;) {
    if (fenced) {
      if (const auto end = text.find(kFence); end != std::string::npos) {
        text.erase(end);
        break;
      }
    } else if (text.ends_with('\\')) {
      text.pop_back();
    } else {
      break;
    }
    line = read_line(kNextPrompt);
    // Ctrl-C drops what was begun; the end of the input completes it.
    if (line.event == Event::kEnd) break;
    if (line.event != Event::kMessage) return {Event::kInterrupted, {}, false};
    text += '\n';
    text += line.text;
    if (text.size() > kMaxMessage) break;
  }
  if (fenced && text.starts_with('\n')) text.erase(0, 1);
  if (fenced && text.ends_with('\n')) text.pop_back();
  return {Event::kMessage, std::move(text), fenced};
}

}  // namespace weir::cli
