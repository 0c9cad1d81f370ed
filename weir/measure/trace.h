#pragma once

/// Recorded request lengths and arrival times, told apart by their first line:
///   Azure LLM inference   TIMESTAMP,ContextTokens,GeneratedTokens     (Patel et al., "Splitwise",
///                         ISCA 2024); times with a date
///   Mooncake              JSON lines: timestamp (ms), input_length, output_length, hash_ids, each
///                         naming a block of 512 tokens (Qin et al., "Mooncake", FAST 2025)
///   lengths alone         num_prefill_tokens,num_decode_tokens,...    (Sarathi-Serve's and Vidur's
///                         ShareGPT and arXiv files)
/// Thread safety: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/measure/workload.h"

namespace weir::measure {

struct Trace {
  std::string format;  ///< "azure", "mooncake" or "lengths".
  bool timed = false;
  std::vector<Entry> entries;  ///< In order of `at`, which counts from the first.
};

/// kCorrupt names the line at fault.
[[nodiscard]] Result<Trace> parse_trace(std::string_view text);

/// Which part of a trace is sent, and how it is fitted to a smaller machine.
struct TraceCut {
  Duration from{0};              ///< Of the trace's own time.
  Duration length = kNever;      ///< The same.
  double stretch = 1;            ///< Times are multiplied by it: 2 halves the rate.
  double length_scale = 1;       ///< Lengths and blocks alike, so that prefixes survive.
  std::uint32_t max_tokens = 0;  ///< Longer requests (prompt and answer) are left out; 0: none.
  std::uint32_t most = 0;        ///< So many entries at most; 0: all.
};

/// kInvalidArgument when the cut is wrong or leaves nothing.
[[nodiscard]] Result<std::vector<Entry>> cut_trace(const Trace& trace, const TraceCut& cut);

}  // namespace weir::measure
