#pragma once

/// The names a pull meets: hub references written by people, file names sent by a peer, and the
/// nearest name to a mistyped one. A name that passes here is safe to join to a folder of ours.
/// Thread safety: pure functions.

#include <span>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::hub {

/// `hf:owner/repo[:file][@revision]`
struct HubReference {
  std::string repo;               ///< "owner/repo".
  std::string file;               ///< A file's path in it, a quantisation ("Q4_K_M"), or empty.
  std::string revision = "main";  ///< Branch, tag, commit or "refs/pr/N".

  /// Whether `file` names one file exactly rather than a quantisation to look for.
  [[nodiscard]] bool names_file() const { return file.find('.') != std::string::npos; }
  [[nodiscard]] std::string text() const;  ///< Back to the written form.
};

[[nodiscard]] bool is_hub_reference(std::string_view model);
/// kInvalidArgument with the grammar.
[[nodiscard]] Result<HubReference> parse_hub_reference(std::string_view model);

/// A relative path whose parts are plain names: not empty, not "." or "..", no control byte, no
/// backslash, valid UTF-8, at most 255 bytes a part, 16 parts and 1024 bytes. kCorrupt otherwise (a
/// peer said it).
[[nodiscard]] Status check_relative_path(std::string_view path);

/// For messages: `text` as valid UTF-8 without control bytes, so that a peer cannot drive a
/// terminal.
[[nodiscard]] std::string escape_controls(std::string_view text);

/// A name that is a file name as it stands, or else its SHA-256: for etags and revisions.
[[nodiscard]] std::string as_file_name(std::string_view text);

/// The candidate closest in edit distance (swaps of neighbours count once, case does not count), or
/// empty when none is near enough to be what was meant.
[[nodiscard]] std::string_view nearest(std::string_view name,
                                       std::span<const std::string_view> candidates);

}  // namespace weir::hub
