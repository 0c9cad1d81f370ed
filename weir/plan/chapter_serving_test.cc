// The tables of the chapter "Inference at Scale", as far as they are arithmetic: what serving
// costs, batching, hops and budgets (sections 1 to 10). One test a row or group of rows that one
// question answers, named after its section. What was measured there is quoted by the planner and
// not tested; where its figures disagree with each other, the test says which one is kept.

#include <gtest/gtest.h>

#include <string>

#include "weir/plan/ask_test.h"
#include "weir/plan/batching.h"

namespace weir::plan {
namespace {

// Sections 1 to 4: why distribute, what serving costs.

TEST(Chapter01, FourHundredGigabytesDoNotFitEightyGigabytes) {
  const Answer a = answer_to(
      "fit",
      {{"model", "dense-400b"}, {"weights", "fp8"}, {"device", "h100"}, {"sizes", "decimal"}});
  EXPECT_EQ(a.at("max_batch"), 0);
  EXPECT_GE(a.at("min_devices"), 5);
  EXPECT_NE(a.headline.find("does not fit"), std::string::npos);
}

TEST(Chapter03, ARecommendersTrainingCountsItsFailedRuns) {
  const Answer a = answer_to("cost", {{"train-hours", "1000"},
                                      {"train-price", "$3/h"},
                                      {"train-overhead", "3"},
                                      {"rate", "10000"},
                                      {"per-million", "$10"},
                                      {"life", "730days"}});
  EXPECT_NEAR(a.at("train"), 12'000, 1e-6);
  EXPECT_NEAR(a.at("ratio"), 525.6, 1e-6);
}

TEST(Chapter03, OwningPaysWhereADeviceIsBusyEnough) {
  const Answer a = answer_to("cost", {{"device", "h100"}, {"tokens", "1000"}, {"hourly", "$4/h"}});
  EXPECT_NEAR(a.at("power_price") * 3600, 0.084, 1e-9);  // 700 W at $0.12.
  EXPECT_NEAR(a.at("own_price") * 3600, 30'000 / (3 * 8760.0) + 0.084, 1e-9);
  EXPECT_NEAR(a.at("own_break_even"), a.at("own_price") * 3600 / 4, 1e-9);
  EXPECT_NEAR(a.at("egress"), 0.018, 1e-9);  // 200 MB at $0.09.
}

TEST(Chapter03, CrossoverMonths) {
  const auto months = [](const char* train, const char* yearly) {
    // One request a second all year; its price makes the monthly sum.
    const double monthly = *parse_amount(yearly, Unit::kDollars);
    const std::string each = "$" + std::to_string(monthly * 12 / 31'536'000);
    return answer_to("cost", {{"train", train}, {"rate", "1"}, {"per-request", each}})
        .at("crossover_months");
  };
  EXPECT_NEAR(months("$50K", "5K"), 10, 0.01);
  EXPECT_NEAR(months("$2M", "1.5M"), 1.333, 0.001);
  EXPECT_NEAR(months("$12K", "250K"), 0.048, 0.0001);
}

TEST(Chapter03, CostCurvesByVolume) {
  const Answer a = answer_to("cost", {{"tokens", "1000"}});
  // Rows are 1e5, 1e6, ...: at a million tokens a day every curve is at its base.
  EXPECT_NEAR(cell(a, 0, 1, 1), 0.15, 1e-12);
  EXPECT_NEAR(cell(a, 0, 1, 2), 0.08, 1e-12);
  EXPECT_NEAR(cell(a, 0, 1, 3), 0.02, 1e-12);
  EXPECT_NEAR(cell(a, 0, 2, 1), 0.15 * 0.5012, 1e-4);
  EXPECT_GT(cell(a, 0, 0, 3), 0.05);  // Below the break-even line of 0.05 only from some volume on.
  EXPECT_LT(cell(a, 0, 1, 3), 0.05);
}

// Sections 6, 7: batching.

TEST(Chapter06, EightyAreInServiceAndTwentyWait) {
  const Answer a =
      answer_to("fleet", {{"rate", "1000"}, {"batch", "8"}, {"service", "80ms"}, {"slo", "100ms"}});
  EXPECT_NEAR(a.at("in_service"), 80, 1e-9);
  EXPECT_NEAR(a.at("in_flight") - a.at("in_service"), 20, 1e-9);
}

TEST(Chapter07, TheLineThroughTwoMeasuredBatches) {
  const Answer a = answer_to("batch", {{"measured", "1=5ms,32=25ms"}});
  EXPECT_NEAR(a.at("fixed"), 4.355e-3, 0.0005e-3);
  EXPECT_NEAR(a.at("each"), 0.6452e-3, 0.00005e-3);
}

struct BatchOption {
  const char* name;
  double batch, milliseconds, per_request, rho;
};
void PrintTo(const BatchOption& o, std::ostream* out) { *out << o.name; }

class Chapter07Options : public testing::TestWithParam<BatchOption> {};

TEST_P(Chapter07Options, CostOfARequestAndUtilisation) {
  const BatchOption& o = GetParam();
  // A point of the table: the whole batch is its fixed cost.
  const BatchQueue q = batch_queue({milliseconds(o.milliseconds), {}}, o.batch, per_second(500));
  EXPECT_NEAR((q.service / o.batch).value * 1e3, o.per_request, 1e-9);
  EXPECT_NEAR(q.utilisation, o.rho, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(, Chapter07Options,
                         testing::Values(BatchOption{"A", 1, 5, 5, 2.5},
                                         BatchOption{"B", 5, 8, 1.6, 0.8},
                                         BatchOption{"C", 10, 12, 1.2, 0.6}),
                         [](const auto& row) { return row.param.name; });

TEST(Chapter07, OptionCHasAThirdMoreCapacityThanB) {
  const Rate b = batch_rate({milliseconds(8), {}}, 5), c = batch_rate({milliseconds(12), {}}, 10);
  EXPECT_NEAR(c / b, 4.0 / 3, 1e-9);
  EXPECT_NEAR(b / c, 0.75, 1e-9);
}

// Section 8: continuous batching.

TEST(Chapter08, FourAnswersOfOneBatch) {
  const Answer a = answer_to("batch", {{"lengths", "50,200,100,150"}});
  EXPECT_NEAR(1 - a.at("continuous_mean") / a.at("static_time"), 0.375, 1e-9);
  const double faster[] = {4, 1, 2, 4.0 / 3};
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(cell(a, 0, i, 1) / cell(a, 0, i, 2), faster[i], 1e-9);
}

struct Gain {
  const char* name;
  double speedup, waste;
};
void PrintTo(const Gain& g, std::ostream* out) { *out << g.name; }

class Chapter08Gains : public testing::TestWithParam<Gain> {};

TEST_P(Chapter08Gains, WasteIsOneLessTheReciprocalOfTheGain) {
  // Two lengths whose longest is `speedup` times their mean.
  const double most = 1000, other = 2 * most / GetParam().speedup - most;
  // Beyond a gain of 2 it takes more short ones than long ones.
  std::string lengths = "1000";
  if (other >= 1) {
    lengths += "," + std::to_string(other);
  } else {
    const int n = 20;
    const double each = (n * most / GetParam().speedup - most) / (n - 1);
    for (int i = 1; i < n; ++i) lengths += "," + std::to_string(each);
  }
  const Answer a = answer_to("batch", {{"lengths", lengths}});
  EXPECT_NEAR(a.at("continuous_gain"), GetParam().speedup, 1e-4);
  EXPECT_NEAR(a.at("waste"), GetParam().waste, 0.0006);
}

INSTANTIATE_TEST_SUITE_P(, Chapter08Gains,
                         testing::Values(Gain{"code", 1.2, 0.167}, Gain{"chat", 1.5, 0.333},
                                         Gain{"general", 2.0, 0.5}, Gain{"creative", 2.8, 0.643},
                                         Gain{"rag", 3.5, 0.714}),
                         [](const auto& row) { return row.param.name; });

TEST(Chapter08, AChunkOfTwoHundredTokensKeepsTwentyMilliseconds) {
  const Answer a = answer_to(
      "latency", {{"ttft", "1s"}, {"tpot", "20ms"}, {"prefill-rate", "10000"}, {"tbt", "20ms"}});
  EXPECT_EQ(a.at("chunk_by_rate"), 200);
}

// Sections 9, 10: hops and budgets.

TEST(Chapter09, AHundredMegabytesOverPcieAndNvlink) {
  EXPECT_NEAR(answer_to("disagg", {{"state", "100MB"}, {"bandwidth", "32GB/s"}}).at("handoff"),
              3.1e-3, 0.05e-3);
  EXPECT_NEAR(answer_to("disagg", {{"state", "100MB"}, {"bandwidth", "600GB/s"}}).at("handoff"),
              0.17e-3, 0.005e-3);
}

TEST(Chapter10, LookupsOfARecommender) {
  const Answer a = answer_to("shard", {{"embeddings", "100TB"},
                                       {"queries", "10M"},
                                       {"shards", "1000"},
                                       {"lookups", "5000"},
                                       {"window", "1ms"}});
  EXPECT_NEAR(a.at("shard_lookups"), 50e6, 1);
  EXPECT_NEAR(a.at("window_requests"), 10'000, 1e-6);
  EXPECT_NEAR(a.at("window_lookups"), 50'000, 1e-6);
}

TEST(Chapter10, TheRecommendersStagesTakeHalfOfItsBudget) {
  const Answer a = answer_to(
      "latency",
      {{"stream", "routing=0.2ms,accumulate=0.5ms,embedding=2ms,feature=1ms,ranking=1.5ms"},
       {"budget", "10ms"}});
  EXPECT_NEAR(a.at("stream_total"), 5.2e-3, 1e-9);
}

TEST(Chapter10, AFrameOfSpeechTakesNinetyMilliseconds) {
  const Answer a = answer_to(
      "latency",
      {{"stream",
        "capture=0ms,network=20ms,mfcc=5ms,encoder=30ms,decoder=15ms,format=5ms,back=15ms"},
       {"budget", "100ms"},
       {"frame", "20ms"}});
  EXPECT_NEAR(a.at("stream_total"), 0.09, 1e-9);
  EXPECT_NEAR(a.at("stream_left"), 0.01, 1e-9);
}

}  // namespace
}  // namespace weir::plan
