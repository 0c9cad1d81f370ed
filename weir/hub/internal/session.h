#pragma once

/// What one pull carries with it: where things are, how it tells of its progress, and whether it
/// may go on. Private to hub/. Thread safety: the thread that pulls.

#include <chrono>
#include <optional>

#include "weir/base/result.h"
#include "weir/http/client.h"
#include "weir/hub/places.h"
#include "weir/hub/resolve.h"
#include "weir/sys/files.h"

namespace weir::hub {

class Session {
 public:
  Session(std::string model, const ResolveOptions& options, const Places& places);

  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] const ResolveOptions& options() const { return options_; }
  [[nodiscard]] const http::ClientOptions& client_options() const { return client_options_; }

  [[nodiscard]] bool cancelled() const { return options_.cancelled && options_.cancelled(); }
  /// Sleeps in short steps; kCancelled when told to stop.
  [[nodiscard]] Status sleep(std::chrono::milliseconds time) const;

  /// A new stage, told at once.
  void tell(Stage stage, const std::string& file = {}, const std::string& note = {});
  /// Bytes of the whole model that are here, told at most five times a second.
  void advance(std::uint64_t done_bytes, std::optional<std::uint64_t> total_bytes);

  /// The lock of one model's folder; says once that it waits for another process.
  [[nodiscard]] Result<sys::FileLock> lock(const std::string& path);
  /// kExhausted with the arithmetic when the file system of `path` lacks room for `bytes` more.
  [[nodiscard]] Status need_room(const std::string& path, std::uint64_t bytes) const;
  /// kTooLarge when the model is over ResolveOptions::max_bytes.
  [[nodiscard]] Status check_size(std::uint64_t bytes) const;

 private:
  std::string model_;
  const ResolveOptions& options_;
  const Places& places_;
  http::ClientOptions client_options_;
  Progress progress_;
  std::chrono::steady_clock::time_point told_;
};

}  // namespace weir::hub
