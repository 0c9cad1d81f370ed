#pragma once

/// The golden models of tests/data/golden, loaded, and sequences run through them in any cut.
/// Tests run from the source root.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "weir/model/architectures.h"
#include "weir/model/model.h"

namespace weir::model::testing {

inline const std::vector<std::string>& families() {
  static const std::vector<std::string> names = {"llama",      "llama3",   "smollm2", "mistral",
                                                 "qwen2",      "qwen3",    "gemma2",  "gemma3",
                                                 "phi3_short", "phi3_long"};
  return names;
}

inline std::string golden(const std::string& family, const std::string& file) {
  return "tests/data/golden/" + family + "/" + file;
}

/// Only the short LongRoPE factors apply when no more than the original positions are asked for.
inline std::uint32_t context_of(const std::string& family) {
  return family == "phi3_short" ? 64 : 0;
}

template <class T>
T expect(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return *std::move(result);
}

struct TinyModel {
  std::unique_ptr<format::ModelFile> file;
  std::unique_ptr<Model> model;
};

inline TinyModel load_tiny(const std::string& family, compute::ThreadPool& pool,
                           ModelOptions options = {}, const std::string& container = "model.gguf") {
  TinyModel tiny;
  tiny.file = expect(format::open_model_file(golden(family, container)));
  if (options.context == 0) options.context = context_of(family);
  const ModelShape shape = expect(read_shape(*tiny.file));
  tiny.model = expect(Model::load(*tiny.file, shape, options, pool));
  return tiny;
}

/// One sequence with pages of its own, fed in chunks; keeps the logits of every row it asked for.
class Sequence {
 public:
  Sequence(std::vector<TokenId> tokens, std::vector<PageId> pages)
      : tokens_(std::move(tokens)), pages_(std::move(pages)) {}

  [[nodiscard]] bool done() const { return fed_ == tokens_.size(); }
  [[nodiscard]] std::size_t left() const { return tokens_.size() - fed_; }
  [[nodiscard]] SequenceRows next(std::size_t rows) const {
    return {std::span(tokens_).subspan(fed_, rows), static_cast<std::uint32_t>(fed_), pages_,
            static_cast<std::uint32_t>(rows)};
  }
  void take(std::span<const float> logits, std::size_t rows) {
    logits_.insert(logits_.end(), logits.begin(), logits.end());
    fed_ += rows;
  }
  [[nodiscard]] const std::vector<float>& logits() const { return logits_; }

 private:
  std::vector<TokenId> tokens_;
  std::vector<PageId> pages_;
  std::size_t fed_ = 0;
  std::vector<float> logits_;
};

inline std::vector<PageId> pages_for(std::size_t tokens, std::uint32_t first = 0) {
  std::vector<PageId> pages;
  for (std::size_t i = 0; i * kPageTokens < tokens; ++i) {
    pages.push_back(PageId{first + static_cast<std::uint32_t>(i)});
  }
  return pages;
}

/// All logits of one sequence, alone, in one chunk.
inline std::vector<float> logits_of(Model& model, const std::vector<TokenId>& tokens) {
  const compute::KvArena arena(model.kv_shape(),
                               static_cast<std::uint32_t>(tokens.size() / kPageTokens + 1));
  const std::vector<PageId> pages = pages_for(tokens.size());
  const SequenceRows rows{tokens, 0, pages, static_cast<std::uint32_t>(tokens.size())};
  const std::span<const float> logits = model.forward({{&rows, 1}}, arena);
  return {logits.begin(), logits.end()};
}

}  // namespace weir::model::testing
