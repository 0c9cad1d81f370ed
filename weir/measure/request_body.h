#pragma once

/// JSON bodies of requests in OpenAI's shapes. Generation is streamed with usage at the end, and
/// answers get their planned length through max_tokens and ignore_eos (which Weir, vLLM, SGLang and
/// llama.cpp take). Thread safety: immutable after construction.

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/measure/plan.h"
#include "weir/measure/words.h"

namespace weir::measure {

struct BodySpec {
  Endpoint endpoint = Endpoint::kChat;
  std::string model = {};
  double temperature = 0;
  bool ignore_eos = true;
  std::string extra = {};  ///< More members of the object, as JSON: "\"top_k\":1". Empty: none.
  TextScale scale = {};
};

class BodyWriter {
 public:
  explicit BodyWriter(BodySpec spec) : spec_(std::move(spec)) {}

  /// `history` is what extend() made of the turns before, or empty.
  [[nodiscard]] std::string body(const PlannedRequest& request,
                                 std::string_view history = {}) const;

  /// The history that the next turn sends: this turn's messages and the answer to them.
  [[nodiscard]] std::string extend(std::string_view history, const PlannedRequest& request,
                                   std::string_view answer) const;

  [[nodiscard]] const BodySpec& spec() const { return spec_; }

 private:
  [[nodiscard]] std::string turn(const PlannedRequest& request, bool first) const;
  BodySpec spec_;
};

[[nodiscard]] constexpr std::string_view path_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return "/v1/chat/completions";
    case Endpoint::kCompletions:
      return "/v1/completions";
    case Endpoint::kEmbeddings:
      return "/v1/embeddings";
  }
  return "";
}

}  // namespace weir::measure
