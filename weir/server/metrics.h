#pragma once

/// The service's figures in Prometheus' text format: Weir's own names (weir_*) and vLLM's (vllm:*),
/// with vLLM's meanings, buckets and labels, so that dashboards made for it work unchanged.
///
/// Counters are read from the engine's books at the moment of asking, so they balance as those do;
/// histograms are fed by the engine as its observer. Thread safety: every function from any thread.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/engine/engine.h"

namespace weir::server {

struct MetricsOptions {
  std::string model;           ///< The label model_name.
  std::uint32_t context = 0;   ///< Bounds the buckets of token counts.
  std::uint32_t max_rows = 0;  ///< Of one step.
  /// What a request must keep to count as good.
  std::chrono::nanoseconds ttft_target = std::chrono::seconds(1);
  std::chrono::nanoseconds tpot_target = std::chrono::milliseconds(50);
  /// What the plan gave each part: (subsystem, bytes).
  std::vector<std::pair<std::string, std::uint64_t>> memory;
};

class Metrics final : public engine::Observer {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics() override;

  void step(const engine::StepRecord& record) override;
  void ended(const engine::RequestRecord& record) override;
  void left(std::chrono::nanoseconds delay) override;

  /// One answered HTTP request.
  void answered(std::string_view method, std::string_view path, int status,
                std::chrono::nanoseconds took);

  /// The body of GET /metrics.
  [[nodiscard]] std::string expose(const engine::EngineStats& stats) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::server
