#pragma once

/// One request in the air: bytes and the instants they were read go in, a record comes out. No
/// socket and no clock, so that what a stream is worth can be tested to the nanosecond.
/// Thread safety: none; one owner.

#include <string>
#include <string_view>

#include "weir/load/event_reader.h"
#include "weir/load/response_reader.h"
#include "weir/measure/plan.h"
#include "weir/measure/record.h"

namespace weir::load {

struct FlightSpec {
  bool streamed = true;
  bool keep_text = false;  ///< For a conversation that goes on.
};

class Flight {
 public:
  explicit Flight(FlightSpec spec) : spec_(spec) {}

  /// Bytes that were read at `now`. Afterwards ended() may be true.
  void feed(std::string_view bytes, Instant now);
  /// The connection was closed, or failed with `why`, at `now`.
  void cut(Instant now, std::string_view why);
  /// It ends now for a reason outside the stream.
  void end(Instant now, measure::Outcome outcome, std::string_view detail);

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] bool answered() const { return response_.began(); }
  /// Ended where the response ended: the connection may carry the next request.
  [[nodiscard]] bool keeps_connection() const {
    return ended_ && response_.done() && response_.keeps_connection();
  }
  [[nodiscard]] measure::RequestRecord& record() { return record_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void take_piece(std::string_view piece, Instant now);
  void take_event(std::string_view data, Instant now);
  void finish(Instant now);  ///< The response is whole.

  FlightSpec spec_;
  ResponseReader response_;
  EventReader events_;
  measure::RequestRecord record_;
  std::string body_;  ///< Of an error, or of an answer that is not streamed.
  std::string text_;
  std::string error_;  ///< An error event came.
  bool done_mark_ = false;
  bool ended_ = false;
};

}  // namespace weir::load
