#include "weir/plan/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/plan/ask_test.h"

namespace weir::plan {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& yaml) {
  Registry r = built_in();
  const auto before = r.devices.size() + r.models.size();
  const Status laid = r.overlay(yaml, "mine.yaml");
  EXPECT_EQ(r.devices.size() + r.models.size(), before) << "an error changes nothing";
  if (laid) {
    ADD_FAILURE() << "accepted: " << yaml;
    return {};
  }
  EXPECT_EQ(laid.error().code, Code::kInvalidArgument);
  return laid.error().message;
}

TEST(Registry, TheBuiltInTextIsWhole) {
  EXPECT_GE(built_in().devices.size(), 10U);
  EXPECT_GE(built_in().models.size(), 10U);
  EXPECT_GE(built_in().links.size(), 12U);
}

TEST(Registry, AUsersEntriesAreAddedAndReplace) {
  Registry r = built_in();
  const auto laid = r.overlay(
      "accelerators:\n"
      "  h100: {title: Mine, memory: 96 GB, bandwidth: 4 TB/s, fp16: 900 TFLOP/s, link: my-link}\n"
      "links:\n"
      "  my-link: {title: Wire, bandwidth: 10 GB/s}\n",
      "mine.yaml");
  ASSERT_TRUE(laid) << laid.error().message;
  EXPECT_EQ(r.devices.at("h100").memory, gigabytes(96));
  EXPECT_EQ(r.devices.at("h100").name, "h100");
  EXPECT_EQ(r.links.at("my-link").bandwidth, gigabytes_per_second(10));
  EXPECT_EQ(r.devices.at("a100").memory, gibibytes(80));
}

TEST(Registry, AMeasuredMachineIsAnEntryLikeAnyOther) {
  Registry r = built_in();
  const auto laid = r.overlay(
      "cpus:\n  here: {title: This machine, memory: 24 GiB, bandwidth: 18.5 GB/s, fp16: 210 "
      "GFLOP/s, int8: 400 GFLOP/s}\n",
      "roofline.yaml");
  ASSERT_TRUE(laid) << laid.error().message;
  EXPECT_EQ(r.devices.at("here").bandwidth, gigabytes_per_second(18.5));
}

TEST(Registry, AWrongValueNamesItsPlace) {
  EXPECT_THAT(
      refusal("accelerators: {x: {title: X, memory: 80, bandwidth: 1 TB/s, fp16: 1 TFLOP/s}}"),
      HasSubstr("mine.yaml: accelerators.x.memory: '80' is not understood: write 80GB"));
  EXPECT_THAT(
      refusal("accelerators: {x: {title: X, memory: -80 GB, bandwidth: 1 TB/s, fp16: 1 TFLOP/s}}"),
      HasSubstr("must be over 0"));
  EXPECT_THAT(refusal("accelerators: {x: {title: X, bandwidth: 1 TB/s, fp16: 1 TFLOP/s}}"),
              HasSubstr("x.memory: is missing"));
  EXPECT_THAT(refusal("accelerators: {x: {title: X, memory: 8 GB, bandwith: 1 TB/s, bandwidth: 1 "
                      "TB/s, fp16: 1 TFLOP/s}}"),
              HasSubstr("did you mean 'bandwidth'"));
  EXPECT_THAT(refusal("accelerators: {x: {title: X, memory: 8 GB, bandwidth: 1 TB/s, fp16: 1 "
                      "TFLOP/s, link: nvlnk}}"),
              HasSubstr("did you mean 'nvlink'"));
  EXPECT_THAT(refusal("modles: {}"), HasSubstr("did you mean 'models'"));
}

TEST(Registry, AShapeThatMakesNoSenseIsRefused) {
  const auto with = [](const std::string& more) {
    return refusal(
        "models: {m: {title: M, parameters: 1B, layers: 10, width: 64, head_dim: 8, vocabulary: "
        "100, context: 100, " +
        more + "}}");
  };
  EXPECT_THAT(with("heads: 8, kv_heads: 3"), HasSubstr("cannot share"));
  EXPECT_THAT(with("heads: 8, kv_heads: 8, active: 2B"), HasSubstr("active parameters"));
  EXPECT_THAT(with("heads: 8, kv_heads: 8, experts: 4, experts_used: 8"), HasSubstr("experts"));
  EXPECT_THAT(with("heads: 8.5, kv_heads: 8"), HasSubstr("whole"));
  EXPECT_THAT(with("heads: nan, kv_heads: 8"), HasSubstr("not understood"));
}

TEST(Registry, WhatIsNotYamlOrNotARegistryIsRefusedWithItsLine) {
  EXPECT_THAT(refusal("models: [\n"), HasSubstr("mine.yaml: line"));
  EXPECT_THAT(refusal("a: &a [*a]\nb: *c"), HasSubstr("mine.yaml"));
  EXPECT_THAT(refusal("- 1\n"), HasSubstr("sections"));
  EXPECT_THAT(refusal("models: {m: 3}"), HasSubstr("must hold fields"));
  EXPECT_THAT(refusal("models: {m: {title: [a], layers: {}}}"), HasSubstr("must be one value"));
  EXPECT_THAT(refusal(std::string(2 << 20, '#')), HasSubstr("1 MiB"));
  EXPECT_THAT(refusal("models: {? [a] : {}}"), HasSubstr("must be a word"));
}

TEST(Registry, AnEmptyTextChangesNothing) {
  Registry r = built_in();
  EXPECT_TRUE(r.overlay("", "mine.yaml"));
  EXPECT_TRUE(r.overlay("# nothing\n", "mine.yaml"));
}

TEST(Registry, DeepNestingIsRefusedAndNotFollowed) {
  std::string deep = "models: ";
  for (int i = 0; i < 20'000; ++i) deep += "[";
  refusal(deep);
}

}  // namespace
}  // namespace weir::plan
