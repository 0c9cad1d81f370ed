#pragma once

/// The two checksums the hub states: SHA-256 of a large file, and git's SHA-1 of a small one (over
/// "blob SIZE\0" and the bytes), computed as the bytes pass.
/// Thread safety: an object belongs to one thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::hub {

struct Digest {
  enum class Kind : std::uint8_t { kNone, kSha256, kGitSha1 };
  Kind kind = Kind::kNone;
  std::string hex;  ///< Lower case; 64 or 40 digits.

  /// From an etag: 64 hex digits are a SHA-256, 40 are git's SHA-1, anything else states nothing.
  [[nodiscard]] static Digest from_etag(std::string_view etag);
};

class Hasher {
 public:
  /// `bytes` is the size of the whole file; git's checksum begins with it.
  Hasher(Digest::Kind kind, std::uint64_t bytes);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(std::string_view bytes);
  /// Ends the computation; "" for kNone.
  [[nodiscard]] std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string sha256_hex(std::string_view text);

/// Feeds a file to the hasher. `go_on` is asked every few MB; false ends with kCancelled.
[[nodiscard]] Status hash_file(const std::string& path, Hasher& hasher,
                               const std::function<bool()>& go_on);

}  // namespace weir::hub
