#pragma once

/// What the client saw of one request. Instants count from the start of the run. Latency counts
/// from `scheduled`, when the workload wanted the request sent, and not from when the client came
/// to send it: otherwise a slow server slows its own measurement ("coordinated omission").
/// Thread safety: values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/spec/time.h"

namespace weir::measure {

enum class Outcome : std::uint8_t {
  kCompleted,
  kLeft,       ///< The client hung up because the plan said so.
  kUnsent,     ///< The run ended before it was sent.
  kCutOff,     ///< The run ended (or was stopped) while it was being answered.
  kNoConnect,  ///< The connection was not made.
  kStatus,     ///< An HTTP status other than 200.
  kBroken,     ///< The connection or the stream ended before the answer did.
  kError,      ///< An error inside the stream.
  kMalformed,  ///< Not HTTP, or not OpenAI's shapes.
  kTimeout,    ///< Over the limit for one request.
};

[[nodiscard]] constexpr std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kCompleted:
      return "completed";
    case Outcome::kLeft:
      return "left";
    case Outcome::kUnsent:
      return "unsent";
    case Outcome::kCutOff:
      return "cut_off";
    case Outcome::kNoConnect:
      return "no_connection";
    case Outcome::kStatus:
      return "http_status";
    case Outcome::kBroken:
      return "broken_stream";
    case Outcome::kError:
      return "error_in_stream";
    case Outcome::kMalformed:
      return "malformed";
    case Outcome::kTimeout:
      return "timeout";
  }
  return "unknown";
}

struct RequestRecord {
  std::uint32_t tenant = 0;
  Outcome outcome = Outcome::kUnsent;
  Instant scheduled{0};
  Instant sent{0};         ///< When the client began: connecting, or writing to an open connection.
  Instant first_token{0};  ///< Of the first text; of the whole answer where nothing is streamed.
  Instant last_token{0};   ///< Of the last text.
  Instant done{0};         ///< Of the end, whatever the outcome.
  std::vector<Duration> gaps;  ///< Between pieces of text: one fewer than pieces.
  std::uint32_t pieces = 0;    ///< Events that held text.
  std::uint32_t planned_prompt_tokens = 0;
  std::uint32_t planned_output_tokens = 0;
  std::uint32_t prompt_tokens = 0;      ///< By the server's usage; 0 when it told none.
  std::uint32_t completion_tokens = 0;  ///< By usage, else the pieces.
  std::uint32_t cached_tokens = 0;      ///< Of the prompt, by usage.
  bool usage_told = false;
  int status = 0;      ///< HTTP; 0 when no answer began.
  std::string detail;  ///< Of a failure: one line.

  [[nodiscard]] bool completed() const { return outcome == Outcome::kCompleted; }
  /// Neither the plan nor the run's end took it away: it should have been answered.
  [[nodiscard]] bool counts() const {
    return outcome != Outcome::kLeft && outcome != Outcome::kUnsent;
  }
  [[nodiscard]] bool failed() const { return counts() && !completed(); }
};

}  // namespace weir::measure
