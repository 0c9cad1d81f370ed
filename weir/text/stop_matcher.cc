#include "weir/text/stop_matcher.h"

#include <fmt/format.h>

#include <array>

namespace weir::text {

/// A state of the automaton: a prefix of some stop string. `next` is complete (failures followed).
struct StopMatcher::Node {
  std::array<std::uint16_t, 256> next{};
  std::uint16_t depth = 0;  ///< Bytes of the prefix: what must be held back in this state.
  std::int16_t stop = -1;   ///< The longest stop string that ends here; of equals the first given.
};

StopMatcher::StopMatcher() = default;
StopMatcher::StopMatcher(StopMatcher&&) noexcept = default;
StopMatcher& StopMatcher::operator=(StopMatcher&&) noexcept = default;
StopMatcher::~StopMatcher() = default;

Result<StopMatcher> StopMatcher::create(const std::vector<std::string>& stops) {
  static_assert(kMaxStops * kMaxBytes + 1 <= 65536, "a state fits sixteen bits");
  if (stops.size() > kMaxStops) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} stop strings; at most {} are allowed", stops.size(), kMaxStops),
                "stop");
  }
  StopMatcher matcher;
  matcher.nodes_.emplace_back();
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) return fail(Code::kInvalidArgument, "a stop string is empty", "stop");
    if (stops[i].size() > kMaxBytes) {
      return fail(Code::kInvalidArgument,
                  fmt::format("a stop string has {} bytes; at most {} are allowed", stops[i].size(),
                              kMaxBytes),
                  "stop");
    }
    std::size_t state = 0;
    for (const char c : stops[i]) {
      const auto byte = static_cast<std::uint8_t>(c);
      if (matcher.nodes_[state].next[byte] == 0) {
        matcher.nodes_[state].next[byte] = static_cast<std::uint16_t>(matcher.nodes_.size());
        Node node;
        node.depth = static_cast<std::uint16_t>(matcher.nodes_[state].depth + 1);
        matcher.nodes_.push_back(node);
      }
      state = matcher.nodes_[state].next[byte];
    }
    if (matcher.nodes_[state].stop < 0) matcher.nodes_[state].stop = static_cast<std::int16_t>(i);
    matcher.lengths_.push_back(stops[i].size());
  }
  // Breadth first, so that a state's failure (a shorter suffix) is complete before it is needed.
  std::vector<std::uint16_t> failure(matcher.nodes_.size(), 0);
  std::vector<std::uint16_t> order;
  for (const std::uint16_t child : matcher.nodes_[0].next) {
    if (child != 0) order.push_back(child);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    Node& node = matcher.nodes_[order[at]];
    const Node& back = matcher.nodes_[failure[order[at]]];
    if (node.stop < 0) node.stop = back.stop;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      if (node.next[byte] == 0) {
        node.next[byte] = back.next[byte];
      } else {
        failure[node.next[byte]] = back.next[byte];
        order.push_back(node.next[byte]);
      }
    }
  }
  return matcher;
}

StopMatcher::Step StopMatcher::push(std::string_view text) {
  Step step;
  if (stopped_) return step;
  for (std::size_t i = 0; i < text.size(); ++i) {
    state_ = nodes_[state_].next[static_cast<std::uint8_t>(text[i])];
    const int which = nodes_[state_].stop;
    if (which < 0) continue;
    step.text = std::move(held_);
    held_.clear();
    step.text += text.substr(0, i + 1);
    step.text.resize(step.text.size() - lengths_[static_cast<std::size_t>(which)]);
    step.stopped = stopped_ = true;
    step.which = which;
    return step;
  }
  held_ += text;
  const std::size_t keep = nodes_[state_].depth;
  step.text = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return step;
}

std::string StopMatcher::finish() {
  state_ = 0;
  stopped_ = true;
  return std::exchange(held_, {});
}

}  // namespace weir::text
