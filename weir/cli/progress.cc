#include "weir/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "weir/base/bytes.h"

namespace weir::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBarCells = 24;
constexpr auto kPlainEvery = std::chrono::seconds(5);

std::string remaining(double seconds) {
  const auto s = static_cast<int>(std::clamp(seconds, 0.0, 359999.0));
  return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                   : fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

ProgressPrinter::ProgressPrinter(bool quiet)
    : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {}

void ProgressPrinter::pulling(const hub::Progress& p) {
  using hub::Stage;
  const std::string what = p.file.empty() ? p.model : p.file;
  switch (p.stage) {
    case Stage::kAsking:
      return line("looking for " + p.model, false);
    case Stage::kWaiting:
      return line("another process is pulling " + p.model + "; waiting for it", true);
    case Stage::kRetrying:
      return line(p.note, true);
    case Stage::kDownloading:
      return bar(what, p.done_bytes, p.total_bytes.value_or(0));
    case Stage::kUnpacking:
      return line("unpacking " + what, false);
    case Stage::kVerifying:
      return line("verifying " + what, false);
    case Stage::kReady:
      return done();
  }
}

void ProgressPrinter::loading(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  bar("packing weights", done_bytes, total_bytes);
}

void ProgressPrinter::lines(const std::string& text) {
  if (quiet_) return;
  done();
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    fmt::print(stderr, "  {}\n", text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void ProgressPrinter::bar(const std::string& what, std::uint64_t done_bytes,
                          std::uint64_t total_bytes) {
  const auto now = Clock::now();
  if (what != last_) {
    last_ = what;
    began_ = now;
    began_bytes_ = done_bytes;
  }
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double rate =
      seconds > 0.2 ? static_cast<double>(done_bytes - std::min(done_bytes, began_bytes_)) / seconds
                    : 0;
  std::string text = what + "  ";
  if (total_bytes > 0) {
    const double part =
        std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
    const int full = static_cast<int>(part * kBarCells);
    if (terminal_)
      text += '[' + std::string(static_cast<std::size_t>(full), '#') +
              std::string(static_cast<std::size_t>(kBarCells - full), '.') + "] ";
    text += fmt::format("{:3.0f} %  {} of {}", part * 100, format_bytes(done_bytes),
                        format_bytes(total_bytes));
  } else {
    text += format_bytes(done_bytes);
  }
  if (rate > 0) {
    text += fmt::format("  {}/s", format_bytes(static_cast<std::uint64_t>(rate)));
    if (total_bytes > done_bytes)
      text += "  " + remaining(static_cast<double>(total_bytes - done_bytes) / rate);
  }
  line(text, false);
}

void ProgressPrinter::line(const std::string& text, bool at_once) {
  if (quiet_) return;
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    drawn_ = true;
    return;
  }
  const auto now = Clock::now();
  if (!at_once && now - said_ < kPlainEvery) return;
  said_ = now;
  fmt::print(stderr, "{}\n", text);
}

void ProgressPrinter::done() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace weir::cli
