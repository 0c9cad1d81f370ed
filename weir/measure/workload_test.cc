#include "weir/measure/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "weir/measure/request_body.h"
#include "weir/measure/summary.h"
#include "weir/measure/words.h"

namespace weir::measure {
namespace {

std::size_t words_in(const std::string& text) {
  return text.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
}

std::vector<Entry> entries_of(std::uint32_t count, std::uint32_t input = 20) {
  return synthetic_entries({.a = static_cast<double>(input)}, {.a = 5}, count, 1);
}

TEST(Lengths, EachFormIsReadAndDrawnWithItsMean) {
  struct Case {
    const char* text;
    double mean;
    double slack;
  };
  for (const Case& c :
       {Case{"128", 128, 0.001}, Case{"fixed:128", 128, 0.001}, Case{"uniform:64,256", 160, 3},
        Case{"normal:256,64", 256, 3}, Case{"lognormal:256,0.5", 256 * std::exp(0.125), 6}}) {
    const auto spec = parse_length(c.text, "--input");
    ASSERT_TRUE(spec) << c.text;
    std::vector<double> drawn;
    for (std::uint32_t i = 0; i < 10'000; ++i) {
      drawn.push_back(draw_length(*spec, 3, Stream::kInput, i));
    }
    EXPECT_NEAR(summarize(drawn).mean, c.mean, c.slack) << c.text;
  }
}

TEST(Lengths, UniformReachesBothEndsAndNoFurther) {
  const LengthSpec spec{LengthSpec::Kind::kUniform, 3, 6};
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < 1000; ++i) seen.insert(draw_length(spec, 5, Stream::kOutput, i));
  EXPECT_EQ(seen, (std::set<std::uint32_t>{3, 4, 5, 6}));
}

TEST(Lengths, AWrongFormSaysWhatIsRight) {
  for (const char* text : {"", "0", "-3", "x", "1e9", "uniform:5", "uniform:9,3",
                           "normal:", "gauss:1,2", "lognormal:100,99", "fixed:1,2", "12 ", "nan"}) {
    const auto spec = parse_length(text, "--input");
    ASSERT_FALSE(spec) << text;
    EXPECT_NE(spec.error().message.find("lognormal:256,0.8"), std::string::npos);
  }
}

TEST(Words, ATextHasItsWordsAndFollowsFromItsSeedAlone) {
  const std::vector<PromptPart> parts{{7, 40}, {8, 3}};
  const std::string text = prompt_text(parts, {});
  EXPECT_EQ(words_in(text), 43U);
  EXPECT_EQ(text, prompt_text(parts, {}));
  EXPECT_TRUE(text.starts_with(prompt_text(std::vector<PromptPart>{{7, 40}}, {}) + " "));
  EXPECT_NE(text, prompt_text(std::vector<PromptPart>{{9, 40}, {8, 3}}, {}));
}

TEST(Words, TheScaleTurnsTokensIntoWords) {
  const TextScale scale = fit_scale(32, 60, 192, 300);  // 1.5 tokens a word, 12 on top.
  EXPECT_DOUBLE_EQ(scale.tokens_per_word, 1.5);
  EXPECT_DOUBLE_EQ(scale.overhead, 12);
  EXPECT_EQ(words_in(prompt_text(std::vector<PromptPart>{{1, 312}}, scale)), 200U);
  EXPECT_EQ(words_in(prompt_text(std::vector<PromptPart>{{1, 4}}, scale)), 1U);
}

TEST(Words, WithoutUsageTheScaleStaysAsItWas) {
  const TextScale scale = fit_scale(32, 0, 192, 0);
  EXPECT_EQ(scale.tokens_per_word, 1);
  EXPECT_EQ(scale.overhead, 0);
}

TEST(Workload, SharedPrefixesAreSharedAndTheRestIsNot) {
  const Plan plan = make_plan(entries_of(200), {.shared_prefix_tokens = 64, .shared_prefixes = 3});
  std::set<std::uint64_t> prefixes;
  std::set<std::uint64_t> own;
  for (const auto& request : plan.requests) {
    ASSERT_EQ(request.system.size(), 1U);
    EXPECT_EQ(request.system[0].tokens, 64U);
    prefixes.insert(request.system[0].seed);
    own.insert(request.user[0].seed);
  }
  EXPECT_EQ(prefixes.size(), 3U);
  EXPECT_EQ(own.size(), 200U);
}

TEST(Workload, EqualBlocksBeginEqualPrompts) {
  std::vector<Entry> entries(2);
  entries[0] = {.input = 150, .output = 1, .blocks = {1, 2, 3}, .block_tokens = 64};
  entries[1] = {.input = 140, .output = 1, .blocks = {1, 2, 9}, .block_tokens = 64};
  const Plan plan = make_plan(entries, {});
  const auto& a = plan.requests[0].user;
  const auto& b = plan.requests[1].user;
  ASSERT_EQ(a.size(), 3U);
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[1], b[1]);
  EXPECT_NE(a[2].seed, b[2].seed);
  EXPECT_EQ(a[2].tokens, 22U);
  EXPECT_EQ(plan.requests[1].prompt_tokens(), 140U);
}

TEST(Workload, TurnsAreChainedAndOnlyTheFirstOpens) {
  const Plan plan = make_plan(entries_of(7), {.shared_prefix_tokens = 8, .turns = 3});
  std::vector<bool> opens;
  for (const auto& request : plan.requests) opens.push_back(request.opens);
  EXPECT_EQ(opens, (std::vector<bool>{true, false, false, true, false, false, true}));
  EXPECT_EQ(plan.requests[0].next, 1U);
  EXPECT_EQ(plan.requests[1].next, 2U);
  EXPECT_EQ(plan.requests[2].next, kNoNext);
  EXPECT_EQ(plan.requests[6].next, kNoNext);
  EXPECT_TRUE(plan.requests[1].system.empty());
  EXPECT_EQ(plan.requests[0].tenant, plan.requests[2].tenant);
}

TEST(Workload, TenantsAreDrawnByWeight) {
  const Plan plan = make_plan(entries_of(8000), {.tenants = {{"a", "", 1}, {"b", "", 3}}});
  const auto b = std::ranges::count_if(plan.requests, [](const auto& r) { return r.tenant == 1; });
  EXPECT_NEAR(static_cast<double>(b), 6000, 150);
}

TEST(Workload, LongPromptsAreATenantOfTheirOwn) {
  const Plan plan = make_plan(entries_of(10), {.long_every = 5, .long_tokens = 4000});
  ASSERT_EQ(plan.tenants.size(), 2U);
  EXPECT_EQ(plan.tenants[1].name, "long");
  for (std::uint32_t i = 0; i < 10; ++i) {
    const bool is_long = i % 5 == 4;
    EXPECT_EQ(plan.requests[i].tenant, is_long ? 1U : 0U);
    EXPECT_EQ(plan.requests[i].prompt_tokens(), is_long ? 4000U : 20U);
  }
}

TEST(Workload, TheFractionThatLeavesLeaves) {
  const Plan plan =
      make_plan(entries_of(4000), {.leave_fraction = 0.25, .leave_after = std::chrono::seconds(2)});
  std::vector<double> after;
  for (const auto& request : plan.requests) {
    if (request.leave_after != kNever) after.push_back(seconds(request.leave_after));
  }
  EXPECT_NEAR(static_cast<double>(after.size()), 1000, 80);
  EXPECT_NEAR(summarize(after).mean, 2, 0.2);
}

TEST(Workload, WrongSpecsAreRefused) {
  EXPECT_FALSE(validate(WorkloadSpec{.turns = 0}));
  EXPECT_FALSE(validate(WorkloadSpec{.leave_fraction = 1.5}));
  EXPECT_FALSE(validate(WorkloadSpec{.long_every = 3}));
  EXPECT_FALSE(validate(WorkloadSpec{.shared_prefixes = 0}));
  EXPECT_FALSE(validate(WorkloadSpec{.tenants = {{"a", "", 0}}}));
}

TEST(RequestBody, AChatCarriesTheTurnsBeforeIt) {
  const BodyWriter writer(
      {.endpoint = Endpoint::kChat, .model = "a \"model\"", .extra = "\"top_k\":1"});
  PlannedRequest first;
  first.system = {{1, 2}};
  first.user = {{2, 3}};
  PlannedRequest second;
  second.user = {{3, 4}};
  second.output_tokens = 9;
  const std::string history = writer.extend("", first, "An \"answer\"\n");
  const auto body = boost::json::parse(writer.body(second, history)).as_object();
  EXPECT_EQ(body.at("model"), "a \"model\"");
  EXPECT_EQ(body.at("max_tokens"), 9);
  EXPECT_EQ(body.at("top_k"), 1);
  EXPECT_EQ(body.at("stream_options").at("include_usage"), true);
  const auto& messages = body.at("messages").as_array();
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[0].at("role"), "system");
  EXPECT_EQ(messages[1].at("role"), "user");
  EXPECT_EQ(messages[2].at("role"), "assistant");
  EXPECT_EQ(messages[2].at("content"), "An \"answer\"\n");
  EXPECT_EQ(words_in(std::string(messages[3].at("content").as_string())), 4U);
}

TEST(RequestBody, ACompletionGoesOnWithItsText) {
  const BodyWriter writer({.endpoint = Endpoint::kCompletions, .model = "m"});
  PlannedRequest request;
  request.system = {{1, 2}};
  request.user = {{2, 3}};
  const auto first = boost::json::parse(writer.body(request)).as_object();
  EXPECT_EQ(words_in(std::string(first.at("prompt").as_string())), 5U);
  const auto second =
      boost::json::parse(writer.body(request, writer.extend("", request, " and more"))).as_object();
  EXPECT_TRUE(std::string(second.at("prompt").as_string())
                  .starts_with(std::string(first.at("prompt").as_string()) + " and more "));
}

TEST(RequestBody, AnEmbeddingIsNotStreamed) {
  const BodyWriter writer({.endpoint = Endpoint::kEmbeddings, .model = "m"});
  PlannedRequest request;
  request.user = {{2, 3}};
  const auto body = boost::json::parse(writer.body(request)).as_object();
  EXPECT_EQ(words_in(std::string(body.at("input").as_string())), 3U);
  EXPECT_FALSE(body.contains("stream"));
}

}  // namespace
}  // namespace weir::measure
