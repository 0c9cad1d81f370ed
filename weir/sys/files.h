#pragma once

/// The file system as the rest of Weir needs it beyond reading: directories, durable writes, locks
/// between processes, room on the disk, and the environment that says where things belong.
/// Errors: kNotFound, kPermission, kExhausted (no room, quota, file-size limit), kIo; each names
/// the path. Thread safety: functions from any thread; objects belong to one thread at a time and
/// only move.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::sys {

/// An environment variable; nothing when unset or empty.
[[nodiscard]] std::optional<std::string> environment(const char* name);

/// $HOME, else what the user database says.
[[nodiscard]] Result<std::string> home_directory();

/// $XDG_CACHE_HOME when it is absolute (the XDG specification says to ignore others), else
/// ~/.cache.
[[nodiscard]] Result<std::string> cache_directory();
/// The same of $XDG_DATA_HOME and ~/.local/share, of $XDG_CONFIG_HOME and ~/.config.
[[nodiscard]] Result<std::string> data_directory();
[[nodiscard]] Result<std::string> config_directory();

[[nodiscard]] bool is_regular_file(const std::string& path);  ///< Follows links.
[[nodiscard]] bool is_directory(const std::string& path);     ///< Follows links.
[[nodiscard]] Result<std::uint64_t> file_size(const std::string& path);

/// With all parents; existing ones are fine.
[[nodiscard]] Status make_directories(const std::string& path);
/// A file or a whole folder; what is not there is fine. Links are removed, never followed.
[[nodiscard]] Status remove_all(const std::string& path);

/// What an unprivileged process may still write to the file system of `path`, or of its nearest
/// existing parent.
[[nodiscard]] Result<std::uint64_t> free_disk_bytes(const std::string& path);

/// Moves `from` over `to` (same file system) so that after a power cut either the old or the whole
/// new one is there: the folder of `to` is synced. The file's own bytes must be synced before.
[[nodiscard]] Status rename_durably(const std::string& from, const std::string& to);

/// Writes `text` to a temporary neighbour, syncs, and renames it to `path`.
[[nodiscard]] Status write_file_durably(const std::string& path, std::string_view text);

/// A file being written from front to back.
class OutputFile {
 public:
  enum class Mode : std::uint8_t { kTruncate, kAppend };
  [[nodiscard]] static Result<OutputFile> open(const std::string& path, Mode mode);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  [[nodiscard]] Status write(std::string_view bytes);
  [[nodiscard]] Status truncate();  ///< Back to nothing.
  [[nodiscard]] Status sync();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  OutputFile(int fd, std::string path, std::uint64_t size);
  int fd_ = -1;
  std::string path_;
  std::uint64_t size_ = 0;
};

/// An advisory lock (flock) on a file made for it. The kernel drops it with the process, so a lock
/// file left behind by a crash holds nobody up; the file itself is never removed (removing it would
/// let two processes hold "the" lock on two files).
class FileLock {
 public:
  /// Waits while another process, or another FileLock of this one, holds it. `waiting` is called
  /// once when the lock is not free and then ten times a second; it returns false to give up
  /// (kCancelled).
  [[nodiscard]] static Result<FileLock> acquire(const std::string& path,
                                                const std::function<bool()>& waiting);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace weir::sys
