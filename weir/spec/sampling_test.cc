#include "weir/spec/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace weir {
namespace {

std::string refused(const std::function<void(SamplingParams&)>& change) {
  SamplingParams p;
  change(p);
  const Status status = validate(p, 100);
  return status ? "accepted" : status.error().subject;
}

TEST(SamplingParams, TheDefaultsAreValid) { EXPECT_TRUE(validate(SamplingParams{}, 100)); }

TEST(SamplingParams, EachFieldOutOfRangeIsNamed) {
  EXPECT_EQ(refused([](auto& p) { p.temperature = -0.1F; }), "temperature");
  EXPECT_EQ(refused([](auto& p) { p.temperature = std::nanf(""); }), "temperature");
  EXPECT_EQ(refused([](auto& p) { p.temperature = INFINITY; }), "temperature");
  EXPECT_EQ(refused([](auto& p) { p.top_k = -2; }), "top_k");
  EXPECT_EQ(refused([](auto& p) { p.top_p = 0; }), "top_p");
  EXPECT_EQ(refused([](auto& p) { p.top_p = 1.01F; }), "top_p");
  EXPECT_EQ(refused([](auto& p) { p.min_p = 1.5F; }), "min_p");
  EXPECT_EQ(refused([](auto& p) { p.typical_p = 0; }), "typical_p");
  EXPECT_EQ(refused([](auto& p) { p.repetition_penalty = 0; }), "repetition_penalty");
  EXPECT_EQ(refused([](auto& p) { p.presence_penalty = 2.5F; }), "presence_penalty");
  EXPECT_EQ(refused([](auto& p) { p.frequency_penalty = -2.5F; }), "frequency_penalty");
  EXPECT_EQ(refused([](auto& p) { p.logit_bias = {{100, 0.0F}}; }), "logit_bias");
  EXPECT_EQ(refused([](auto& p) { p.logit_bias = {{-1, 0.0F}}; }), "logit_bias");
  EXPECT_EQ(refused([](auto& p) { p.logit_bias = {{1, 101.0F}}; }), "logit_bias");
  EXPECT_EQ(refused([](auto& p) { p.logit_bias.resize(1025, {1, 0.0F}); }), "logit_bias");
}

}  // namespace
}  // namespace weir
