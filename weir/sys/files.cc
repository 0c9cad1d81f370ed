#include "weir/sys/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace weir::sys {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> os_error(const std::string& path, const char* doing, int error) {
  Code code = Code::kIo;
  if (error == ENOENT || error == ENOTDIR) code = Code::kNotFound;
  if (error == EACCES || error == EPERM || error == EROFS) code = Code::kPermission;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) code = Code::kExhausted;
  return fail(code, fmt::format("{}: cannot {}: {}", path, doing, std::strerror(error)), path);
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return os_error(path, "open", errno);
  // Some file systems (FUSE, 9p) have no fsync of folders; the rename itself has happened.
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0 && error != EINVAL && error != ENOSYS && error != ENOTSUP) {
    return os_error(path, "sync", error);
  }
  return {};
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

Result<std::string> home_directory() {
  if (auto home = environment("HOME")) return *std::move(home);
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr) {
    return std::string(found->pw_dir);
  }
  return fail(Code::kNotFound, "no home directory: set HOME");
}

namespace {

Result<std::string> xdg_directory(const char* variable, const char* below_home) {
  if (auto xdg = environment(variable); xdg && xdg->starts_with('/')) return *std::move(xdg);
  WEIR_TRY(const std::string home, home_directory());
  return home + below_home;
}

}  // namespace

Result<std::string> cache_directory() { return xdg_directory("XDG_CACHE_HOME", "/.cache"); }
Result<std::string> data_directory() { return xdg_directory("XDG_DATA_HOME", "/.local/share"); }
Result<std::string> config_directory() { return xdg_directory("XDG_CONFIG_HOME", "/.config"); }

bool is_regular_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Result<std::uint64_t> file_size(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return os_error(path, "read its size", errno);
  return static_cast<std::uint64_t>(status.st_size);
}

Status make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return os_error(path, "create the folder", error.value());
  return {};
}

Status remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return os_error(path, "remove", error.value());
  return {};
}

Result<std::uint64_t> free_disk_bytes(const std::string& path) {
  std::string at = path;
  struct statvfs info{};
  while (::statvfs(at.c_str(), &info) != 0) {
    if (errno == EINTR) continue;
    const std::string parent = parent_of(at);
    if (errno != ENOENT || parent == at || at == ".")
      return os_error(at, "read its free space", errno);
    at = parent;
  }
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

Status rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return os_error(to, "move into place", errno);
  return sync_directory(parent_of(to));
}

Status write_file_durably(const std::string& path, std::string_view text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  {
    WEIR_TRY(OutputFile file, OutputFile::open(temporary, OutputFile::Mode::kTruncate));
    WEIR_TRY_STATUS(file.write(text));
    WEIR_TRY_STATUS(file.sync());
  }
  return rename_durably(temporary, path);
}

OutputFile::OutputFile(int fd, std::string path, std::uint64_t size)
    : fd_(fd), path_(std::move(path)), size_(size) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<OutputFile> OutputFile::open(const std::string& path, Mode mode) {
  const int how = mode == Mode::kAppend ? O_APPEND : O_TRUNC;
  // O_NOFOLLOW: a link planted under a predictable name must not redirect what we write.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | how, 0644);
  if (fd < 0) return os_error(path, "write", errno);
  struct stat status{};
  if (::fstat(fd, &status) != 0) {
    const int error = errno;
    ::close(fd);
    return os_error(path, "read its size", error);
  }
  return OutputFile(fd, path, static_cast<std::uint64_t>(status.st_size));
}

Status OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(path_, "write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
    size_ += static_cast<std::uint64_t>(n);
  }
  return {};
}

Status OutputFile::truncate() {
  if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) < 0)
    return os_error(path_, "truncate", errno);
  size_ = 0;
  return {};
}

Status OutputFile::sync() {
  if (::fsync(fd_) != 0) return os_error(path_, "sync", errno);
  return {};
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileLock> FileLock::acquire(const std::string& path, const std::function<bool()>& waiting) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return os_error(path, "lock", errno);
  FileLock lock(fd);
  // Polled rather than blocked on, so that a caller can give up without a signal.
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return os_error(path, "lock", errno);
    if (waiting && !waiting())
      return fail(Code::kCancelled, "stopped while waiting for " + path, path);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return lock;
}

}  // namespace weir::sys
