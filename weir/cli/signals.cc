#include "weir/cli/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace weir::cli {
namespace {

// What a signal handler may touch: lock-free flags, and a pipe that makes poll() return.
std::atomic<bool> interrupt_came{false};
std::atomic<bool> screen_change_came{false};
std::atomic<int> wake_fd{-1};
int wait_fd = -1;
struct sigaction old_interrupt, old_window, old_resume;

void on_signal(int number) {
  const int saved = errno;
  (number == SIGINT ? interrupt_came : screen_change_came).store(true);
  const char byte = 0;
  [[maybe_unused]] const auto written =
      write(wake_fd.load(), &byte, 1);  // Full: poll() returns anyway.
  errno = saved;
}

}  // namespace

Signals::Signals() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    wait_fd = ends[0];
    wake_fd = ends[1];
  }
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt);
  action.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &action, &old_window);
  sigaction(SIGCONT, &action, &old_resume);
}

Signals::~Signals() {
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGWINCH, &old_window, nullptr);
  sigaction(SIGCONT, &old_resume, nullptr);
  close(wake_fd.exchange(-1));
  close(wait_fd);
  wait_fd = -1;
}

bool Signals::interrupted() { return interrupt_came.exchange(false); }
bool Signals::screen_changed() { return screen_change_came.exchange(false); }

bool Signals::wait_readable(int fd) {
  pollfd both[2] = {{fd, POLLIN, 0}, {wait_fd, POLLIN, 0}};
  for (;;) {
    if (interrupt_came.load() || screen_change_came.load()) return false;
    if (poll(both, 2, -1) < 0 && errno != EINTR) return true;  // Let the read find out.
    if ((both[1].revents & POLLIN) != 0) {
      char drain[64];
      while (read(wait_fd, drain, sizeof drain) > 0) {
      }
      if (interrupt_came.load() || screen_change_came.load()) return false;
    }
    if (both[0].revents != 0) return true;
  }
}

}  // namespace weir::cli
