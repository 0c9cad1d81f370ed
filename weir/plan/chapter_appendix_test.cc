// The tables of the chapter "Inference at Scale", as far as they are arithmetic: the appendix's
// queue and the registry (sections 20 and 22). One test a row or group of rows that one question
// answers, named after its section. What was measured there is quoted by the planner and not
// tested; where its figures disagree with each other, the test says which one is kept.

#include <gtest/gtest.h>

#include <cmath>

#include "weir/plan/ask_test.h"
#include "weir/plan/batching.h"
#include "weir/plan/queueing.h"

namespace weir::plan {
namespace {

// Section 20: the appendix's queue.

struct QueueRow {
  double batch, service_ms, rate, rho, wait_ms, gather_ms, total_ms;
};
void PrintTo(const QueueRow& r, std::ostream* out) { *out << "B=" << r.batch; }

class Chapter20Rows : public testing::TestWithParam<QueueRow> {};

TEST_P(Chapter20Rows, AreReproduced) {
  const QueueRow& r = GetParam();
  const BatchCost cost{milliseconds(50), milliseconds(0.5)};
  const BatchQueue q = batch_queue(cost, r.batch, per_second(100));
  EXPECT_NEAR(q.service.value * 1e3, r.service_ms, 1e-9);
  EXPECT_NEAR(batch_rate(cost, r.batch).value, r.rate, 0.051);
  EXPECT_NEAR(q.utilisation, r.rho, 0.0005);
  EXPECT_NEAR(q.gather.value * 1e3, r.gather_ms, 1e-9);
  if (r.rho < 1) {
    EXPECT_NEAR(q.wait.value * 1e3, r.wait_ms, 0.06);
    EXPECT_NEAR(q.total().value * 1e3, r.total_ms, 0.06);
  } else {
    EXPECT_TRUE(std::isinf(q.total().value));
  }
}

INSTANTIATE_TEST_SUITE_P(, Chapter20Rows,
                         testing::Values(QueueRow{1, 50.5, 19.8, 5.05, 0, 5, 0},
                                         QueueRow{4, 52, 76.9, 1.30, 0, 20, 0},
                                         QueueRow{8, 54, 148.1, 0.54 * 1.25, 56.1, 40, 150.1},
                                         QueueRow{16, 58, 275.9, 0.3625, 16.5, 80, 154.5},
                                         QueueRow{32, 66, 484.8, 0.20625, 8.6, 160, 234.6}),
                         [](const auto& row) {
                           return "B" + std::to_string(static_cast<int>(row.param.batch));
                         });

TEST(Chapter20, TheSmallestBatchForThreeQuartersBusy) {
  const Answer a = answer_to("batch", {{"fixed", "50ms"}, {"each", "0.5ms"}, {"arrivals", "100"}});
  EXPECT_NEAR(a.at("calm_batch"), 7.14, 0.005);
  EXPECT_NEAR(a.at("stable_batch"), 50e-3 * 100 / (1 - 0.5e-3 * 100), 1e-9);
}

TEST(Chapter20, LittleHoldsAtSixteen) {
  const BatchQueue q = batch_queue({milliseconds(50), milliseconds(0.5)}, 16, per_second(100));
  EXPECT_NEAR(in_system(per_second(100), q.total()), 15.45, 0.005);
  EXPECT_NEAR(in_system(per_second(100), q.service), 5.8, 1e-9);
  EXPECT_NEAR(in_system(per_second(100), q.gather + q.wait), 9.65, 0.005);
}

// Section 22: the registry.

struct DeviceRow {
  const char* name;
  double tera_ops, memory, terabytes_per_second, watts, purchase;
};
void PrintTo(const DeviceRow& d, std::ostream* out) { *out << d.name; }

class Chapter22Devices : public testing::TestWithParam<DeviceRow> {};

TEST_P(Chapter22Devices, AreInTheRegistry) {
  const DeviceRow& row = GetParam();
  const auto found = built_in().devices.find(row.name);
  ASSERT_NE(found, built_in().devices.end());
  const Device& d = found->second;
  EXPECT_NEAR(d.fp16.value, row.tera_ops * 1e12, 1);
  EXPECT_NEAR(d.memory.value, row.memory, 1);
  EXPECT_NEAR(d.bandwidth.value, row.terabytes_per_second * 1e12, 1);
  EXPECT_EQ(d.power_watts, row.watts);
  EXPECT_EQ(d.purchase.value, row.purchase);
}

INSTANTIATE_TEST_SUITE_P(, Chapter22Devices,
                         testing::Values(DeviceRow{"v100", 125, 32 * 0x1p30, .9, 300, 10e3},
                                         DeviceRow{"a100", 312, 80 * 0x1p30, 2.039, 400, 15e3},
                                         DeviceRow{"h100", 989, 80 * 0x1p30, 3.35, 700, 30e3},
                                         DeviceRow{"h200", 989, 141e9, 4.8, 700, 35e3},
                                         DeviceRow{"b200", 2250, 192 * 0x1p30, 8, 1000, 40e3},
                                         DeviceRow{"mi300x", 1307, 192 * 0x1p30, 5.3, 750, 15e3},
                                         DeviceRow{"t4", 65, 16 * 0x1p30, .32, 70, 2.5e3},
                                         DeviceRow{"tpuv5p", 459, 95 * 0x1p30, 2.76, 300, 0}),
                         [](const auto& row) { return row.param.name; });

TEST(Chapter22, Prices) {
  const Prices& p = built_in().prices;
  EXPECT_NEAR(p.training_device.value * 3600, 4, 1e-9);
  EXPECT_NEAR(p.inference_device.value * 3600, 2.5, 1e-9);
  EXPECT_EQ(p.electricity_per_kwh.value, 0.12);
  EXPECT_EQ(p.egress_per_gb.value, 0.09);
}

TEST(Chapter22, ModelShapes) {
  const auto shape = [](const char* name) { return built_in().models.at(name); };
  EXPECT_EQ(shape("llama-3-70b").parameters, 70.6e9);
  EXPECT_EQ(shape("llama-3-8b").kv_heads, 8);
  EXPECT_EQ(shape("llama-3-405b").layers, 126);
  EXPECT_EQ(shape("mixtral-8x7b").active, 12.9e9);
  EXPECT_EQ(shape("deepseek-v3").kv_latent, 512 + 64);
  EXPECT_EQ(shape("gpt-3").width, 12288);
}

}  // namespace
}  // namespace weir::plan
