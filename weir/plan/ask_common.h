#pragma once

/// What several questions share: the conventions of sizes, and a model's time on a device.
/// Thread safety: pure functions.

#include <fmt/format.h>

#include <string>

#include "weir/plan/memory.h"
#include "weir/plan/parameters.h"
#include "weir/plan/questions.h"

namespace weir::plan {

/// --sizes: whether "80" on a device means 80 GiB (the registry, after MLSysIM) or 80 GB (the
/// chapter).
[[nodiscard]] Parameter sizes_parameter();
[[nodiscard]] Bytes memory_of(const Device& device, bool decimal);

[[nodiscard]] inline Parameter precision_choice(std::string name, std::string otherwise,
                                                std::string help) {
  return choice(std::move(name), precision_names(), std::move(otherwise), std::move(help));
}

/// One decode step of `batch` sequences of `context` tokens on `devices` that share weights and KV,
/// without communication: max(weights / BW, 2 B P / peak) + KV / BW, which is policy/step_cost.h,
/// the model the scheduler itself steers by.
struct DecodeStep {
  const Model& model;
  const Device& device;
  double devices = 1;
  Precision weights{"fp16", 16};
  Precision kv{"fp16", 16};
  double efficiency = 1;  ///< Of the peak operations.
  [[nodiscard]] Seconds time(double rows, double kv_tokens) const;
  /// Tokens of prefill computed in one go; operations bind, weights are read once.
  [[nodiscard]] Seconds prefill(double tokens) const { return time(tokens, 0); }
};

[[nodiscard]] inline std::unexpected<Error> contradiction(std::string message,
                                                          std::string parameter) {
  return fail(Code::kInvalidArgument, "--" + parameter + ": " + std::move(message), parameter);
}

/// 1, 2, 4, ... up to `most`, and `most` itself.
[[nodiscard]] std::vector<double> doublings(double first, double most);

}  // namespace weir::plan
