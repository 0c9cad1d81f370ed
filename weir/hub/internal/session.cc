#include "weir/hub/internal/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "weir/base/bytes.h"

namespace weir::hub {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kBetweenReports = std::chrono::milliseconds(200);
constexpr auto kNap = std::chrono::milliseconds(100);
/// Left free for everyone else on the disk.
constexpr std::uint64_t kSpareBytes = std::uint64_t{16} << 20;

http::ClientOptions client_options_for(const Places& places) {
  http::ClientOptions options;
  options.idle = places.idle;
  options.connect = std::min(options.connect, places.idle);
  options.proxy = http::proxy_from_environment();

  return options;
}

}  // namespace

Session::Session(std::string model, const ResolveOptions& options, const Places& places)
    : model_(std::move(model)),
      options_(options),
      places_(places),
      client_options_(client_options_for(places)) {
  progress_.model = model_;
}

Status Session::sleep(std::chrono::milliseconds time) const {
  const auto end = SteadyClock::now() + time;
  while (SteadyClock::now() < end) {
    if (cancelled()) return fail(Code::kCancelled, "stopped while waiting to try again");
    std::this_thread::sleep_for(std::min<SteadyClock::duration>(kNap, end - SteadyClock::now()));
  }
  return {};
}

void Session::tell(Stage stage, const std::string& file, const std::string& note) {
  progress_.stage = stage;
  progress_.file = file;
  progress_.note = note;
  told_ = {};
  if (options_.progress) options_.progress(progress_);
}

void Session::advance(std::uint64_t done_bytes, std::optional<std::uint64_t> total_bytes) {
  progress_.done_bytes = done_bytes;
  progress_.total_bytes = total_bytes;
  const auto now = SteadyClock::now();
  if (!options_.progress || (now - told_ < kBetweenReports && done_bytes != total_bytes)) return;
  told_ = now;
  options_.progress(progress_);
}

Result<sys::FileLock> Session::lock(const std::string& path) {
  bool told = false;
  return sys::FileLock::acquire(path, [&] {
    if (!told) tell(Stage::kWaiting, {}, "another process is fetching it");
    told = true;
    return !cancelled();
  });
}

Status Session::need_room(const std::string& path, std::uint64_t bytes) const {
  WEIR_TRY(const std::uint64_t free, places_.free_bytes(path));
  if (bytes == 0 || (free > kSpareBytes && free - kSpareBytes >= bytes)) return {};
  return fail(
      Code::kExhausted,
      fmt::format(
          "not enough room: {} needs {} more, and {} has {} free (of which {} stay untouched); "
          "free some, or put the cache elsewhere with WEIR_CACHE",
          model_, format_bytes(bytes), path, format_bytes(free), format_bytes(kSpareBytes)),
      path);
}

Status Session::check_size(std::uint64_t bytes) const {
  if (bytes <= options_.max_bytes) return {};
  return fail(Code::kTooLarge, fmt::format("{} is {}, over the bound of {}", model_,
                                           format_bytes(bytes), format_bytes(options_.max_bytes)));
}

}  // namespace weir::hub
