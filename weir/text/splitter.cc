#include "weir/text/splitter.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/utf8.h"

namespace weir::text {
namespace {

constexpr std::string_view kMetaSpace = "\xE2\x96\x81";  // U+2581

std::string replace_spaces(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  for (const char c : text) {
    if (c == ' ') {
      out += kMetaSpace;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Splitter::Scratch::Scratch(const Splitter& splitter) {
  for (const Step& step : splitter.steps_) {
    matchers_.push_back(step.pattern ? std::make_unique<Pattern::Matcher>(*step.pattern) : nullptr);
  }
}

Result<Splitter> Splitter::create(const std::vector<SplitStep>& steps) {
  if (steps.size() > kMaxSteps) {
    return fail(Code::kTooLarge,
                fmt::format("{} pre-tokenizer steps; at most {} are run", steps.size(), kMaxSteps));
  }
  Splitter splitter;
  for (const SplitStep& step : steps) {
    std::optional<Pattern> pattern;
    if (step.kind == SplitStep::Kind::kPattern) {
      WEIR_TRY(pattern, Pattern::compile(step.pattern));
    } else if (step.kind == SplitStep::Kind::kMetaspace && step.cut) {
      WEIR_TRY(pattern, Pattern::compile(kMetaSpace));
    }
    splitter.steps_.push_back({step, std::move(pattern)});
  }
  return splitter;
}

void Splitter::run(std::string_view text, bool at_start, Scratch& scratch, const Emit& emit) const {
  if (!text.empty()) run_step(0, text, at_start, scratch, emit);
}

// Depth is bounded by kMaxSteps.
void Splitter::run_step(std::size_t index, std::string_view text, bool at_start, Scratch& scratch,
                        const Emit& emit) const {
  if (index == steps_.size()) return emit(text);
  const SplitStep& step = steps_[index].step;
  switch (step.kind) {
    case SplitStep::Kind::kPattern:
      return run_pattern(index, text, at_start, scratch, emit);
    case SplitStep::Kind::kPrefixSpace:
      if (text.front() != ' ') text = scratch.made_.emplace_back(" " + std::string(text));
      return run_step(index + 1, text, at_start, scratch, emit);
    case SplitStep::Kind::kMetaspace: {
      std::string made = replace_spaces(text);
      const bool prefix = step.prefix == SplitStep::Prefix::kAlways ||
                          (step.prefix == SplitStep::Prefix::kFirst && at_start);
      if (prefix && !made.starts_with(kMetaSpace)) made.insert(0, kMetaSpace);
      text = scratch.made_.emplace_back(std::move(made));
      if (!step.cut) return run_step(index + 1, text, at_start, scratch, emit);
      return run_pattern(index, text, at_start, scratch, emit);
    }
  }
}

void Splitter::run_pattern(std::size_t index, std::string_view text, bool at_start,
                           Scratch& scratch, const Emit& emit) const {
  const SplitStep& step = steps_[index].step;
  const auto behavior = step.kind == SplitStep::Kind::kMetaspace
                            ? SplitStep::Behavior::kMergedWithNext
                            : step.behavior;
  const bool isolated = behavior == SplitStep::Behavior::kIsolated;
  const bool last = index + 1 == steps_.size();
  std::vector<Part> parts;
  const auto add = [&](std::size_t begin, std::size_t end, bool match) {
    if (!isolated) {
      parts.push_back({begin, end, match != step.invert});
    } else if (last) {
      emit(text.substr(begin, end - begin));
    } else {
      run_step(index + 1, text.substr(begin, end - begin), at_start && begin == 0, scratch, emit);
    }
  };
  Pattern::Matcher& matcher = *scratch.matchers_[index];
  std::size_t done = 0;
  for (std::size_t from = 0; from < text.size();) {
    const auto match = matcher.find(text, from);
    if (!match) break;
    if (match->begin > done) add(done, match->begin, false);
    if (match->end > match->begin) add(match->begin, match->end, true);
    done = match->end;
    from = match->end;
    // A match of nothing only cuts; look on from the next character.
    if (match->end == match->begin && from < text.size()) from += utf8::decode(text, from).size;
  }
  if (done < text.size()) add(done, text.size(), false);
  if (isolated) return;
  join(parts, behavior);
  for (const Part& part : parts) {
    if (behavior == SplitStep::Behavior::kRemoved && part.match) continue;
    run_step(index + 1, text.substr(part.begin, part.end - part.begin), at_start && part.begin == 0,
             scratch, emit);
  }
}

void Splitter::join(std::vector<Part>& parts, SplitStep::Behavior behavior) {
  std::vector<Part> joined;
  bool previous = false;
  switch (behavior) {
    case SplitStep::Behavior::kMergedWithPrevious:
      for (const Part& part : parts) {
        if (part.match && !previous && !joined.empty()) {
          joined.back().end = part.end;
        } else {
          joined.push_back(part);
        }
        previous = part.match;
      }
      break;
    case SplitStep::Behavior::kMergedWithNext:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->match && !previous && !joined.empty()) {
          joined.back().begin = part->begin;
        } else {
          joined.push_back(*part);
        }
        previous = part->match;
      }
      std::reverse(joined.begin(), joined.end());
      break;
    case SplitStep::Behavior::kContiguous:
      for (const Part& part : parts) {
        if (part.match == previous && !joined.empty()) {
          joined.back().end = part.end;
        } else {
          joined.push_back(part);
        }
        previous = part.match;
      }
      break;
    case SplitStep::Behavior::kIsolated:
    case SplitStep::Behavior::kRemoved:
      return;
  }
  parts = std::move(joined);
}

}  // namespace weir::text
