#pragma once

/// From what a person wrote as MODEL to a path on this machine, fetching when needed.
///
/// A MODEL argument is read in this order:
///   1. `hf:owner/repo[:file][@revision]` is a model of the Hugging Face hub;
///   2. an argument with '/' or '.' in it, or that names an existing regular file, is a path
///      (a file, or a folder that holds a safetensors model);
///   3. anything else is a name of the built-in catalogue (a folder of that name is reached as
///   ./NAME).
///
/// A model that is already here is used without asking the network; `refresh` asks again.
/// Thread safety: any thread; two callers, also of two processes, fetch the same model once.

#include <cstdint>
#include <functional>
#include <string>

#include "weir/base/result.h"
#include "weir/hub/places.h"
#include "weir/hub/progress.h"

namespace weir::hub {

struct ResolveOptions {
  bool allow_pull = true;  ///< false: kNotFound, with the `weir pull` to run, when it is not here.
  bool refresh = false;  ///< Ask the source for the newest even when a copy is here (`weir pull`).
  std::uint64_t max_bytes = std::uint64_t{1} << 40;  ///< Refuse a model larger than this (1 TiB).
  ProgressSink progress{};                           ///< May be empty.
  std::function<bool()> cancelled{};  ///< Polled several times a second; true ends with kCancelled.
};

/// The path of a file or folder that format::open_model() reads.
/// kNotFound (unknown name, with the nearest; missing file), kInvalidArgument (ill-formed
/// reference), kUnauthenticated, kPermission, kCorrupt (checksum), kTooLarge, kExhausted (disk),
/// kUnavailable (network), kCancelled. A pull that was cut keeps what it has and resumes at the
/// next call.
[[nodiscard]] Result<std::string> resolve(const std::string& model, const ResolveOptions& options);
[[nodiscard]] Result<std::string> resolve(const std::string& model, const ResolveOptions& options,
                                          const Places& places);

}  // namespace weir::hub
