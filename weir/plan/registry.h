#pragma once

/// What the planner knows about the world: devices, memories, links, regions, round trips, prices
/// and model shapes, read from YAML whose every figure carries its unit. The built-in text is
/// registry.yaml; a user's text of the same shape is laid over it, name by name.
/// Errors: Code::kInvalidArgument, one line with the place ("accelerators.h100.memory") and what
/// would be right; Code::kNotFound never: an unknown name is an invalid argument that names its
/// nearest neighbour. Thread safety: values.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/plan/units.h"
#include "weir/spec/kv_units.h"

namespace weir::plan {

struct Device {
  std::string name, title;
  Bytes memory;
  Bandwidth bandwidth;
  OpRate fp16;             ///< Dense peak, multiply-add counted as two.
  OpRate fp8, int8, int4;  ///< 0 where the hardware has no such path: the work then runs in fp16.
  std::string link;        ///< How devices of one machine speak to each other.
  double power_watts = 0;
  Dollars purchase;  ///< 0 where unknown, as for `hourly`.
  Price hourly;
  Seconds dispatch;  ///< Fixed cost of starting one layer.
};

struct Link {
  std::string name, title;
  Bandwidth bandwidth;
  Seconds latency;  ///< Alpha: the time of an empty message.
};

struct MemoryTier {
  std::string name, title;
  Bytes capacity;
  Bandwidth bandwidth;
  Seconds latency, latency_high;
};

struct Region {
  std::string name, title, device;
  Price spot, on_demand;
};

struct RoundTrip {
  std::string name, title;
  Seconds distant, local;
};

struct Prices {
  Dollars electricity_per_kwh, egress_per_gb;
  Price training_device, inference_device;
};

struct Model {
  std::string name, title;
  double parameters = 0;
  double active = 0;  ///< Parameters one token passes through; equals `parameters` when dense.
  double layers = 0, width = 0, heads = 0, kv_heads = 0, head_dim = 0, vocabulary = 0, context = 0;
  double experts = 0, experts_used = 0;  ///< 0 when dense.
  double kv_latent = 0;  ///< Values a layer keeps of a position; 0: 2 kv_heads head_dim.
  /// What Weir itself allocates for a file, when one was read; all 0 for a shape alone.
  Bytes packed_weights, activations, tables, kv_unit;
  double page_tokens = 0;
  KvUnits kv;               ///< How a page is cut into units,
  std::uint32_t chunk = 1;  ///< and the rows of one sequence in one step.
  [[nodiscard]] bool measured() const { return packed_weights.value > 0; }
};

/// Sizes that make sense together, with bounds about ten times the largest published model.
[[nodiscard]] Status check_model(const Model& model, const std::string& place);

struct Registry {
  std::map<std::string, Device, std::less<>> devices;  ///< Accelerators and CPUs.
  std::map<std::string, MemoryTier, std::less<>> memories;
  std::map<std::string, Link, std::less<>> links;
  std::map<std::string, Region, std::less<>> regions;
  std::map<std::string, RoundTrip, std::less<>> round_trips;
  std::map<std::string, Model, std::less<>> models;
  Prices prices;

  /// The text compiled into the binary.
  [[nodiscard]] static Result<Registry> built_in();

  /// Lays the entries of `yaml` over this. `origin` names the text in errors. On an error nothing
  /// has changed.
  [[nodiscard]] Status overlay(std::string_view yaml, const std::string& origin);
};

}  // namespace weir::plan
