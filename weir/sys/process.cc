#include "weir/sys/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "weir/base/check.h"

extern char** environ;

namespace weir::sys {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kGrace = std::chrono::seconds(2);

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] bool open() const { return ends_[0] >= 0; }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t i) {
    if (ends_[i] >= 0) ::close(ends_[i]);
    ends_[i] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

/// posix_spawn's two option objects, released whatever happens.
struct SpawnOptions {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnOptions() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnOptions() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnOptions(const SpawnOptions&) = delete;
  SpawnOptions& operator=(const SpawnOptions&) = delete;
};

std::vector<std::string> merged_environment(const ProcessSpec& spec) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : spec.environment) {
      replaced |= text.starts_with(name) && text.substr(name.size()).starts_with('=');
    }
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : spec.environment) merged.push_back(name + "=" + value);
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(const ProcessSpec& spec, const Pipe& out, const Pipe& err) {
  SpawnOptions options;
  ::posix_spawn_file_actions_addopen(&options.actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&options.actions, out.writer(), 1);
  ::posix_spawn_file_actions_adddup2(&options.actions, err.writer(), 2);
  // A server may ignore or block signals; its child starts with the defaults. It stays in our
  // process group, so that Ctrl-C at the terminal reaches it as well.
  sigset_t none;
  sigset_t usual;
  ::sigemptyset(&none);
  ::sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT}) ::sigaddset(&usual, signal);
  ::posix_spawnattr_setsigmask(&options.attributes, &none);
  ::posix_spawnattr_setsigdefault(&options.attributes, &usual);
  ::posix_spawnattr_setflags(&options.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = spec.arguments;
  std::vector<std::string> environment = merged_environment(spec);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments[0].c_str(), &options.actions, &options.attributes,
                     pointers(arguments).data(), pointers(environment).data());
  if (error == 0) return child;
  const Code code = error == ENOENT   ? Code::kNotFound
                    : error == EACCES ? Code::kPermission
                                      : Code::kIo;
  return fail(code, fmt::format("cannot run {}: {}", arguments[0], std::strerror(error)),
              arguments[0]);
}

/// Takes what is there to read; false at the end of the stream.
bool drain(int fd, std::string& into, std::size_t max_bytes) {
  std::array<char, 16 * 1024> chunk{};
  const ssize_t n = ::read(fd, chunk.data(), chunk.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  into.append(chunk.data(), static_cast<std::size_t>(n));
  if (into.size() > max_bytes) into.erase(0, into.size() - max_bytes);
  return true;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Ends the child and reaps it.
void end(pid_t child) {
  ::kill(child, SIGTERM);
  const auto deadline = SteadyClock::now() + kGrace;
  int status = 0;
  while (SteadyClock::now() < deadline) {
    if (::waitpid(child, &status, WNOHANG) != 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(child, SIGKILL);
  wait_for(child);
}

}  // namespace

Result<ProcessResult> run_process(const ProcessSpec& spec) {
  WEIR_CHECK(!spec.arguments.empty(), "run_process needs a program");
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) {
    return fail(Code::kIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  WEIR_TRY(const pid_t child, spawn(spec, out, err));
  out.close_writer();
  err.close_writer();

  ProcessResult result;
  auto next_tick = SteadyClock::now() + spec.poll;
  while (out.open() || err.open()) {
    std::array<pollfd, 2> waits{pollfd{out.reader(), POLLIN, 0}, pollfd{err.reader(), POLLIN, 0}};
    ::poll(waits.data(), waits.size(), static_cast<int>(spec.poll.count()));
    if (waits[0].revents != 0 && !drain(out.reader(), result.output, spec.max_output_bytes)) {
      out.close_reader();
    }
    if (waits[1].revents != 0 && !drain(err.reader(), result.errors, spec.max_output_bytes)) {
      err.close_reader();
    }
    if (!spec.tick || SteadyClock::now() < next_tick) continue;
    next_tick = SteadyClock::now() + spec.poll;
    if (!spec.tick()) {
      end(child);
      return fail(Code::kCancelled, "stopped " + spec.arguments[0], spec.arguments[0]);
    }
  }
  result.exit_code = wait_for(child);
  return result;
}

}  // namespace weir::sys
