#pragma once

/// What `/set` changes and the flags of `weir run` set: sampling, the length of an answer, the
/// system message. Every value is range-checked by the rule that requests obey. Thread safety: a
/// value.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/spec/sampling.h"

namespace weir::cli {

struct ChatSettings {
  SamplingParams sampling;
  std::uint32_t max_tokens = 0;  ///< 0: what the context leaves.
  std::string system;            ///< Empty: none.
  bool verbose = false;          ///< Times after each answer.
};

/// The names `/set` knows, in the order in which they are shown.
[[nodiscard]] const std::vector<std::string_view>& setting_names();

/// Changes nothing when it fails: an unknown name (with the nearest known one), a value that is no
/// number, or one out of range.
[[nodiscard]] Status change_setting(ChatSettings& settings, std::string_view name,
                                    std::string_view value, std::int32_t vocabulary);

/// "0.7", "off", as change_setting() reads it back. REQUIRES: a name of setting_names().
[[nodiscard]] std::string show_setting(const ChatSettings& settings, std::string_view name);

}  // namespace weir::cli
