#include "weir/text/stop_matcher.h"

#include <gtest/gtest.h>

#include "weir/base/random.h"

namespace weir::text {
namespace {

struct Outcome {
  std::string text;
  int which = -1;
  bool operator==(const Outcome&) const = default;
};

/// The law, spelled out: at each end, the longest stop string that ends there.
Outcome naive(const std::string& text, const std::vector<std::string>& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    int best = -1;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const bool ends = text.substr(0, end).ends_with(stops[i]);
      if (ends && (best < 0 || stops[i].size() > stops[static_cast<std::size_t>(best)].size()))
        best = static_cast<int>(i);
    }
    if (best >= 0)
      return {text.substr(0, end - stops[static_cast<std::size_t>(best)].size()), best};
  }
  return {text, -1};
}

TEST(StopMatcher, AgreesWithNaiveSearchOverRandomCuts) {
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    std::uint64_t counter = 0;
    const auto draw = [&](std::uint64_t n) { return philox(seed, counter++)[0] % n; };
    const auto word = [&](std::uint64_t longest) {
      std::string s;
      for (std::uint64_t n = 1 + draw(longest); n > 0; --n) s += static_cast<char>('a' + draw(2));
      return s;
    };
    std::vector<std::string> stops;
    for (std::uint64_t n = 1 + draw(4); n > 0; --n) stops.push_back(word(6));
    const std::string text = word(40);
    auto matcher = StopMatcher::create(stops);
    ASSERT_TRUE(matcher.has_value());
    Outcome got;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = 1 + draw(5);
      const auto step = matcher->push(std::string_view(text).substr(at, n));
      got.text += step.text;
      if (step.stopped) got.which = step.which;
      at += n;
    }
    got.text += matcher->finish();
    ASSERT_EQ(got, naive(text, stops))
        << "seed " << seed << " text " << text << " first stop " << stops[0];
  }
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBecomeAStop) {
  auto m = StopMatcher::create({"</end>"});
  EXPECT_EQ(m->push("hi </e").text, "hi ");
  EXPECT_EQ(m->push("x").text, "</ex");
  EXPECT_TRUE(m->push("</end> more").stopped);
  EXPECT_EQ(m->push("more").text, "");
  EXPECT_EQ(m->finish(), "");
}

TEST(StopMatcher, RefusesEmptyTooLongAndTooMany) {
  EXPECT_FALSE(StopMatcher::create({""}).has_value());
  EXPECT_FALSE(StopMatcher::create({std::string(StopMatcher::kMaxBytes + 1, 'a')}).has_value());
  EXPECT_FALSE(
      StopMatcher::create(std::vector<std::string>(StopMatcher::kMaxStops + 1, "a")).has_value());
  EXPECT_TRUE(StopMatcher::create({}).has_value());
}

}  // namespace
}  // namespace weir::text
