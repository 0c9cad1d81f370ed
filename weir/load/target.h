#pragma once

/// The server that is measured: where its API is, what its model is called, and how many of its
/// tokens a word of our prompts is. Thread safety: functions that block their caller.

#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/http/url.h"
#include "weir/measure/plan.h"
#include "weir/measure/request_body.h"

namespace weir::load {

struct Target {
  http::Url url;
  std::string base;  ///< Path before "/v1", without a slash at its end.

  [[nodiscard]] std::string path(measure::Endpoint endpoint) const {
    return base + std::string(measure::path_of(endpoint));
  }
  [[nodiscard]] std::string text() const;  ///< For people: scheme, host, port and base.
};

/// "http://127.0.0.1:8080", "127.0.0.1:8080" or ":8080", with or without "/v1". kUnsupported for
/// https.
[[nodiscard]] Result<Target> parse_target(std::string_view text);

/// The first model the server names at /v1/models.
[[nodiscard]] Result<std::string> first_model(const Target& target, const std::string& key);

/// Sends two short requests, of different lengths, and fits the scale to the usage they tell; what
/// they cost also shows that the server answers at all. A server that tells no usage leaves the
/// scale as it was. `spec.scale` is not read.
[[nodiscard]] Result<measure::TextScale> measure_scale(const Target& target,
                                                       const measure::BodySpec& spec,
                                                       const std::string& key, std::uint64_t seed);

}  // namespace weir::load
