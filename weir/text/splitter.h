#pragma once

/// Cuts normalised text into pieces, step by step (SplitStep). A step that only cuts hands on
/// views; a step that inserts makes a string that the Scratch keeps until the call ends. Thread
/// safety: immutable; one Scratch belongs to one call.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/text/pattern.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

class Splitter {
 public:
  static constexpr std::size_t kMaxSteps = 32;

  [[nodiscard]] static Result<Splitter> create(const std::vector<SplitStep>& steps);

  class Scratch {
   public:
    explicit Scratch(const Splitter& splitter);

   private:
    friend class Splitter;
    std::vector<std::unique_ptr<Pattern::Matcher>>
        matchers_;  ///< By step; null where it has no pattern.
    std::deque<std::string> made_;
  };

  using Emit = std::function<void(std::string_view)>;

  /// `at_start`: text begins the whole input. Pieces live as long as text and scratch.
  /// REQUIRES: text is valid UTF-8.
  void run(std::string_view text, bool at_start, Scratch& scratch, const Emit& emit) const;

 private:
  struct Step {
    SplitStep step;
    std::optional<Pattern> pattern;
  };
  struct Part {
    std::size_t begin;
    std::size_t end;
    bool match;
  };
  Splitter() = default;
  void run_step(std::size_t index, std::string_view text, bool at_start, Scratch& scratch,
                const Emit& emit) const;
  void run_pattern(std::size_t index, std::string_view text, bool at_start, Scratch& scratch,
                   const Emit& emit) const;
  static void join(std::vector<Part>& parts, SplitStep::Behavior behavior);

  std::vector<Step> steps_;
};

}  // namespace weir::text
