#pragma once

/// A Hugging Face model directory: config.json beside model.safetensors, or beside
/// model.safetensors.index.json and the shards it names.
/// Thread safety: pure over the file system.

#include <string>

#include "weir/base/result.h"
#include "weir/format/internal/contents.h"

namespace weir::format {

/// kNotFound says what a model directory must hold and what this one has instead.
[[nodiscard]] Result<Contents> read_hf_directory(const std::string& path);

/// Adds config.json of the directory of `contents`, when there is one.
[[nodiscard]] Status add_config(Contents& contents);

/// Maps one safetensors file and reads it.
[[nodiscard]] Result<Contents> read_safetensors_file(const std::string& path);

}  // namespace weir::format
