#pragma once

/// Tokens of one choice to its text: characters completed, stop strings cut out, logprobs kept
/// beside the text they belong to. Streaming and whole answers are both made of its deltas, so they
/// cannot differ, and the deltas joined do not depend on how the tokens were cut into steps.
///
/// The bytes of all entries joined are the text, also when a stop string begins inside a token:
/// that token's entry ends where the text does. Thread safety: none; one object per choice. The
/// tokenizer must outlive it.

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "weir/api/answer.h"
#include "weir/base/result.h"
#include "weir/engine/token_stream.h"
#include "weir/text/detokenizer.h"
#include "weir/text/stop_matcher.h"
#include "weir/text/tokenizer.h"

namespace weir::server {

class Generation {
 public:
  [[nodiscard]] static Result<Generation> create(const text::Tokenizer& tokenizer,
                                                 const std::vector<std::string>& stops,
                                                 bool logprobs);

  struct Delta {
    std::string text;
    std::vector<api::TokenEntry> entries;
    [[nodiscard]] bool empty() const { return text.empty() && entries.empty(); }
  };

  /// Nothing comes after stopped().
  [[nodiscard]] Delta push(std::span<const engine::TokenEvent> events);
  /// What is still held back, when the tokens ended for another reason than a stop string. Once.
  [[nodiscard]] Delta finish();

  [[nodiscard]] bool stopped() const { return stopped_; }         ///< By a stop string.
  [[nodiscard]] std::uint64_t tokens() const { return tokens_; }  ///< Taken in, up to the stop.

 private:
  struct Pending {
    api::TokenEntry entry;
    std::size_t begin;  ///< Byte of the answer where the token begins.
  };

  Generation(const text::Tokenizer& tokenizer, text::StopMatcher matcher, bool logprobs);
  void remember(const engine::TokenEvent& event);
  void release(Delta& delta, bool last);

  const text::Tokenizer* tokenizer_;
  text::Detokenizer detokenizer_;
  text::StopMatcher matcher_;
  bool logprobs_;
  bool stopped_ = false;
  std::uint64_t tokens_ = 0;
  std::deque<Pending> pending_;  ///< Tokens whose text is not all out yet.
  std::size_t bytes_in_ = 0;
  std::size_t characters_in_ = 0;
  std::size_t bytes_out_ = 0;
};

}  // namespace weir::server
