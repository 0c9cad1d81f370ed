#include "weir/cli/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "weir/base/bytes.h"

namespace weir::cli {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr auto kBetweenLines = std::chrono::seconds(3);
/// A line that would say the same again waits for so long.
constexpr auto kBetweenSameLines = std::chrono::seconds(30);
/// A sample this old weighs 1/e.
constexpr double kMemorySeconds = 8;
constexpr std::size_t kBarColumns = 24;

std::string time_left(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::min(seconds, 360'000.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

/// "41.3 MB of 98.4 MB, 12.1 MB/s, 5 s left"
std::string numbers(const hub::Progress& progress, const Rate& rate) {
  std::string out = format_bytes(progress.done_bytes);
  if (progress.total_bytes) out += " of " + format_bytes(*progress.total_bytes);
  if (rate.bytes_per_second() <= 0) return out;
  out += fmt::format(", {}/s", format_bytes(static_cast<std::uint64_t>(rate.bytes_per_second())));
  if (!progress.total_bytes || *progress.total_bytes <= progress.done_bytes) return out;
  return out +
         fmt::format(", {} left",
                     time_left(rate.seconds_left(*progress.total_bytes - progress.done_bytes)));
}

std::string_view word(hub::Stage stage) {
  switch (stage) {
    case hub::Stage::kAsking:
      return "asking what there is";
    case hub::Stage::kWaiting:
      return "waiting";
    case hub::Stage::kRetrying:
      return "trying again";
    case hub::Stage::kDownloading:
      return "fetching";
    case hub::Stage::kUnpacking:
      return "unpacking";
    case hub::Stage::kVerifying:
      return "checking";
    case hub::Stage::kReady:
      return "ready";
  }
  return "";
}

/// "fetching FILE", "waiting: another process is fetching it"
std::string sentence(const hub::Progress& progress) {
  std::string out(word(progress.stage));
  if (!progress.file.empty()) out += " " + progress.file;
  if (!progress.note.empty()) out += ": " + progress.note;
  return out;
}

std::size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

}  // namespace

void Rate::add(std::uint64_t bytes, Seconds at) {
  // What an earlier attempt left counts for nothing here.
  if (!begun_ || bytes < bytes_) {
    begun_ = true;
    bytes_ = bytes;
    at_ = at;
    return;
  }
  const double passed = (at - at_).count();
  if (passed < 0.1) return;
  const double now = static_cast<double>(bytes - bytes_) / passed;
  const double weight = rate_ == 0 ? 1 : 1 - std::exp(-passed / kMemorySeconds);
  rate_ += weight * (now - rate_);
  bytes_ = bytes;
  at_ = at;
}

std::string draw_progress(const hub::Progress& progress, const Rate& rate, std::size_t columns) {
  std::string line = progress.model + "  ";
  if (progress.stage == hub::Stage::kDownloading && progress.total_bytes &&
      *progress.total_bytes > 0) {
    const double share = std::min(
        1.0, static_cast<double>(progress.done_bytes) / static_cast<double>(*progress.total_bytes));
    const auto full = static_cast<std::size_t>(share * kBarColumns);
    std::string bar = std::string(full, '=') + (full < kBarColumns ? ">" : "");
    bar.resize(kBarColumns, ' ');
    // A narrow terminal keeps the numbers and gives up the picture.
    if (columns >= 90) line += fmt::format("[{}]  ", bar);
    line += fmt::format("{:3}%  {}", static_cast<int>(share * 100), numbers(progress, rate));
  } else {
    line += sentence(progress);
  }
  // Never onto the terminal's last column: some wrap there. Names may be UTF-8: cut between
  // characters.
  if (line.size() >= columns) {
    std::size_t end = columns > 1 ? columns - 1 : 0;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
    line.resize(end);
  }
  return line;
}

ProgressBar::ProgressBar(bool quiet) : quiet_(quiet), terminal_(can_redraw()) {}

ProgressBar::~ProgressBar() {
  if (open_line_) std::fputs("\n", stderr);
}

void ProgressBar::show(const hub::Progress& progress) {
  if (quiet_) return;
  if (progress.stage == hub::Stage::kDownloading)
    rate_.add(progress.done_bytes, Clock::now() - begun_);
  if (terminal_) {
    show_on_terminal(progress);
  } else {
    show_as_lines(progress);
  }
  std::fflush(stderr);
}

void ProgressBar::show_on_terminal(const hub::Progress& progress) {
  std::fputs(("\r" + draw_progress(progress, rate_, terminal_columns()) + "\x1b[K").c_str(),
             stderr);
  open_line_ = progress.stage != hub::Stage::kReady;
  // What a person should still see when the download has gone on keeps its line.
  if (progress.stage == hub::Stage::kRetrying || !open_line_) std::fputs("\n", stderr);
}

void ProgressBar::show_as_lines(const hub::Progress& progress) {
  const bool moved =
      progress.stage != stage_ || progress.file != file_ || progress.stage == hub::Stage::kRetrying;
  const auto now = Clock::now();
  const bool news = progress.done_bytes != lines_bytes_;
  if (!moved && now - last_line_ < (news ? Clock::duration(kBetweenLines) : kBetweenSameLines))
    return;
  last_line_ = now;
  lines_bytes_ = progress.done_bytes;
  stage_ = progress.stage;
  file_ = progress.file;
  const bool counting = !moved && progress.stage == hub::Stage::kDownloading;
  const std::string text = counting ? numbers(progress, rate_) : sentence(progress);
  std::fputs(fmt::format("weir: {}: {}\n", progress.model, text).c_str(), stderr);
}

}  // namespace weir::cli
