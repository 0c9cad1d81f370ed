#include "weir/sys/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weir::sys {
namespace {

// Opening a pipe to read waits for a writer, unless told not to; for regular files the flag means
// nothing.
constexpr int kReadOnly = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<Error> os_error(const std::string& path) {
  const int error = errno;
  const Code code = error == ENOENT || error == ENOTDIR ? Code::kNotFound
                    : error == EACCES                   ? Code::kPermission
                                                        : Code::kIo;
  return fail(code, fmt::format("{}: {}", path, std::strerror(error)), path);
}

/// Size of a regular file, or why it is none.
Result<std::size_t> regular_size(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return os_error(path);
  if (S_ISDIR(status.st_mode))
    return fail(Code::kInvalidArgument, path + " is a directory, not a file", path);
  if (!S_ISREG(status.st_mode))
    return fail(Code::kInvalidArgument, path + " is not a regular file", path);
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), kReadOnly));
  if (fd.get() < 0) return os_error(path);
  WEIR_TRY(const std::size_t size, regular_size(fd.get(), path));
  MappedFile file;
  if (size == 0) return file;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return os_error(path);
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release() const {
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor fd(::open(path.c_str(), kReadOnly));
  if (fd.get() < 0) return os_error(path);
  WEIR_TRY(const std::size_t size, regular_size(fd.get(), path));
  if (size > max_bytes) {
    return fail(Code::kTooLarge,
                fmt::format("{} holds {} bytes; at most {} are read", path, size, max_bytes), path);
  }
  std::string text(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t n = ::read(fd.get(), text.data() + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return os_error(path);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  text.resize(have);
  return text;
}

}  // namespace weir::sys
