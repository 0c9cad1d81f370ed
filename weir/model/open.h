#pragma once

/// From a path to everything that serving a model needs: the file, its shape, its tokenizer, its
/// chat template. Reads metadata only; weights are packed later by Model::load. Thread safety: pure
/// over the file system.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/format/model_file.h"
#include "weir/spec/model_shape.h"
#include "weir/spec/sampling.h"
#include "weir/text/chat_template.h"
#include "weir/text/tokenizer.h"

namespace weir::model {

struct OpenedModel {
  std::unique_ptr<format::ModelFile> file;
  ModelShape shape;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  /// Absent when the file has none: then only raw completions are possible.
  std::shared_ptr<const text::ChatTemplate> chat_template;
  text::TemplateContext template_context;  ///< bos and eos filled in; the time is the caller's.
  /// The sampling the model's authors recommend (generation_config.json), else OpenAI's defaults.
  SamplingParams default_sampling;
  /// Of shape, tensor names, types, sizes and a sample of the weights: names cache entries.
  std::uint64_t fingerprint = 0;
};

[[nodiscard]] Result<OpenedModel> open_model(const std::string& path);

}  // namespace weir::model
