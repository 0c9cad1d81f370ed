#pragma once

/// One model as the service offers it: its names, and how text becomes tokens and back. The weights
/// are behind engine::Engine. Thread safety: const after construction; its functions may be called
/// from any thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/spec/chat.h"
#include "weir/spec/sampling.h"
#include "weir/text/tokenizer.h"

namespace weir::server {

struct ServedModel {
  std::string id;                    ///< What /v1/models lists and answers carry.
  std::vector<std::string> aliases;  ///< Other names requests may use.
  std::shared_ptr<const text::Tokenizer> tokenizer;
  /// A conversation to the spans of its prompt, at a time (unix seconds): the chat template. Empty
  /// when the model has none; then only raw completions are possible.
  std::function<Result<std::vector<text::Span>>(const Conversation&, std::int64_t now)> render;
  SamplingParams default_sampling;
  std::string fingerprint;   ///< Answers' system_fingerprint.
  std::int64_t created = 0;  ///< Unix seconds of loading.

  [[nodiscard]] bool is_called(const std::string& name) const {
    if (name == id) return true;
    for (const auto& alias : aliases) {
      if (name == alias) return true;
    }
    return false;
  }
};

}  // namespace weir::server
