// Whatever the arguments are, a question answers or refuses: it never aborts, and what it shows is
// never NaN.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "weir/base/random.h"
#include "weir/plan/ask_test.h"
#include "weir/plan/nearest.h"

namespace weir::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A source of choices, by (seed, how many were drawn).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  double draw() { return uniform(seed_, at_++); }
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(draw() * static_cast<double>(n));
  }

 private:
  std::uint64_t seed_, at_ = 0;
};

std::string number(Dice& dice, const Parameter& p) {
  static constexpr std::array<const char*, 8> kOdd = {"0",   "-1", "1e-30", "1e30",
                                                      "nan", "",   "x",     "1e18"};
  if (dice.draw() < 0.08) return kOdd[dice.below(kOdd.size())];
  // Anywhere in the range, by logarithm; the ends themselves now and then.
  const double low = std::max(p.low, p.high * 1e-12);
  double value = low * std::pow(p.high / low, dice.draw());
  if (dice.draw() < 0.15) value = dice.draw() < 0.5 ? p.low : p.high;
  if (p.whole) value = std::floor(value);
  const char* unit = "";
  if (p.unit == Unit::kBytes) unit = "B";
  if (p.unit == Unit::kSeconds) unit = "s";
  if (p.unit == Unit::kBandwidth) unit = "B/s";
  if (p.unit == Unit::kPrice) {
    value *= 3600;
    unit = "/h";
  }
  if (p.unit == Unit::kOpRate) {
    value /= 1e9;
    unit = "G";
  }
  return fmt::format("{}{}", value, unit);
}

std::string text_for(Dice& dice, const Parameter& p) {
  const auto one_of = [&](const std::vector<std::string>& names) {
    return dice.draw() < 0.03 ? std::string("nothing") : names[dice.below(names.size())];
  };
  switch (p.kind) {
    case Kind::kAmount:
      return number(dice, p);
    case Kind::kAmounts:
    case Kind::kPairs: {
      std::string text;
      const std::size_t n = 1 + dice.below(5);
      for (std::size_t i = 0; i < n; ++i) {
        if (i) text += ",";
        // Names that some questions read as numbers: batches, hours, replicas.
        if (p.kind == Kind::kPairs)
          text += (dice.draw() < 0.7 ? std::to_string(i * 3 + 1) : "ab") + std::string("=");
        text += number(dice, p);
      }
      return text;
    }
    case Kind::kChoice:
      return one_of(p.choices);
    case Kind::kModel:
      return one_of(names_of(built_in().models));
    case Kind::kDevice:
      return one_of(names_of(built_in().devices));
    case Kind::kLink:
      return one_of(names_of(built_in().links));
  }
  return {};
}

class Garbage : public testing::TestWithParam<std::string> {};

TEST_P(Garbage, IsAnsweredOrRefusedInOneLine) {
  const Question& question = *question_named(GetParam());
  int answered = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Dice dice(seed * 1000 + GetParam().size());
    Given given;
    // From one parameter changed to most of them.
    const double density = dice.draw() * dice.draw();
    for (const Parameter& p : question.parameters) {
      if (p.required || dice.draw() < density) given[p.name] = text_for(dice, p);
    }
    const auto answer = ask(GetParam(), given, built_in());
    if (!answer) {
      ASSERT_EQ(answer.error().code, Code::kInvalidArgument);
      ASSERT_FALSE(answer.error().message.empty());
      ASSERT_EQ(answer.error().message.find('\n'), std::string::npos);
      continue;
    }
    ++answered;
    ASSERT_FALSE(answer->headline.empty());
    const std::string json = write_json(*answer);
    for (const char* wrong : {": nan", ": -nan", ": inf", ": -inf"})
      ASSERT_THAT(json, Not(HasSubstr(wrong)));
    for (const Step& step : answer->steps)
      ASSERT_FALSE(std::isnan(step.value.value))
          << GetParam() << "." << step.key << " of seed " << seed;
    ASSERT_FALSE(write_text(*answer).empty());
    ASSERT_FALSE(write_csv(*answer).empty());
    for (const Chart& chart : answer->charts) {
      const std::string svg = write_svg(chart);
      ASSERT_THAT(svg, Not(HasSubstr("nan")));
      ASSERT_LT(svg.size(), 200'000U);
    }
  }
  EXPECT_GT(answered, 60) << "nearly all that was asked was refused: the test asks too little";
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Question& q : questions()) all.push_back(q.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(, Garbage, testing::ValuesIn(names()),
                         [](const auto& row) { return row.param; });

TEST(Questions, EveryExampleIsAnsweredWithAnAnswerAPictureAndSources) {
  for (const Question& q : questions()) {
    ASSERT_FALSE(q.examples.empty()) << q.name;
    for (const std::string& example : q.examples) {
      if (example.find("smollm2") != std::string::npos)
        continue;  // A file's name: tests/test_plan.py asks it.
      Given given;
      std::string words = example.substr(q.name.size());
      ASSERT_EQ(example.substr(0, q.name.size()), q.name);
      while (words.find("--") != std::string::npos) {
        words = words.substr(words.find("--") + 2);
        const std::size_t space = words.find(' ');
        const std::string name = words.substr(0, space);
        std::string value = words.substr(space + 1, words.find(" --", space) - space - 1);
        std::erase(value, '\'');
        given[name] = value;
        words = words.substr(space + 1);
      }
      const Answer a = answer_to(q.name, given);
      EXPECT_EQ(a.question, q.name);
      EXPECT_FALSE(a.headline.empty()) << example;
      EXPECT_EQ(a.charts.empty(), q.name == "strategy") << example;
      EXPECT_TRUE(!a.steps.empty() || !a.tables.empty()) << example;
    }
  }
}

TEST(Questions, KeysOfStepsAreUnique) {
  const Answer a = answer_to("tenants", {{"capacity", "10"}, {"demands", "x=1,y=2"}});
  std::set<std::string> seen;
  for (const Step& step : a.steps) EXPECT_TRUE(seen.insert(step.key).second) << step.key;
}

TEST(Report, AsksEveryQuestionWithWhatIsCommon) {
  const auto r = report(
      "service: Chat <b>\nabout: For people.\ncommon: {model: llama-3-70b, device: h100, devices: "
      "8}\n"
      "questions:\n  fit: {context: 8192}\n  batch: {slo: 50ms}\n  tenants: {capacity: 100k, "
      "demands: {a: 30k, b: 80k}}\n  batch: {lengths: [50, 100]}\n",
      "chat.yaml", built_in());
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_EQ(r->answers.size(), 4U);
  EXPECT_EQ(r->answers[0].at("total"), 8 * 80 * 0x1p30);
  EXPECT_EQ(r->answers[2].at("share_a"), 30e3);
  const std::string html = write_html(r->title, r->about, r->answers);
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, Not(HasSubstr("<b>")));
}

TEST(Report, SaysWhereItIsWrong) {
  const auto wrong = [](const char* yaml) {
    const auto r = report(yaml, "chat.yaml", built_in());
    return r ? std::string("accepted") : r.error().message;
  };
  EXPECT_THAT(wrong(""), HasSubstr("chat.yaml"));
  EXPECT_THAT(wrong("service: x\n"), HasSubstr("'questions:'"));
  EXPECT_THAT(wrong("service: x\nquestions: {fit: {}}\n"),
              HasSubstr("chat.yaml: questions.fit: --model is needed"));
  EXPECT_THAT(wrong("service: x\nquestions: {fti: {}}\n"), HasSubstr("did you mean 'fit'"));
  EXPECT_THAT(wrong("service: x\nquestions: {fit: [1]}\n"), HasSubstr("must hold names"));
  EXPECT_THAT(wrong("service: x\nservices: y\nquestions: {}\n"),
              HasSubstr("'services' is not known"));
  EXPECT_THAT(wrong("service: x\nquestions: {fit: {model: [[a]]}}\n"),
              HasSubstr("must be a value"));
  EXPECT_THAT(wrong("{"), HasSubstr("line"));
}

}  // namespace
}  // namespace weir::plan
