#pragma once

/// The engine's account of an answer in the wire's words. Thread safety: pure functions.

#include "weir/api/timings.h"
#include "weir/engine/token_stream.h"

namespace weir::server {

[[nodiscard]] api::Timings to_wire(const engine::Timings& timings);

}  // namespace weir::server
