#pragma once

/// A file mapped read-only. Its size is what it was at open; a file cut shorter later raises SIGBUS
/// on access, which is why loading copies (packs) and then drops the mapping.
/// Thread safety: immutable; moves only.

#include <cstddef>
#include <span>
#include <string>

#include "weir/base/result.h"

namespace weir::sys {

class MappedFile {
 public:
  /// kNotFound, kInvalidArgument for a directory, kIo otherwise; the message names the path.
  [[nodiscard]] static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Tells the kernel the pages are not needed for now.
  void release() const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A whole small file as text; refuses one over `max_bytes`.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace weir::sys
