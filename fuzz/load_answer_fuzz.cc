// What a measured server sends: any bytes, and the same record however they are cut.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/check.h"
#include "weir/load/flight.h"

namespace {

weir::measure::RequestRecord read(std::string_view bytes, std::size_t step, bool streamed) {
  weir::load::Flight flight({.streamed = streamed, .keep_text = true});
  for (std::size_t at = 0; at < bytes.size() && !flight.ended(); at += step) {
    flight.feed(bytes.substr(at, step), weir::Instant(0));
  }
  flight.cut(weir::Instant(0), "the end");
  return flight.record();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool streamed = data[0] % 2 == 0;
  const auto whole = read(bytes, bytes.size() + 1, streamed);
  const auto cut = read(bytes, data[0] / 2 % 16 + 1, streamed);
  WEIR_CHECK(whole.outcome == cut.outcome && whole.pieces == cut.pieces &&
                 whole.status == cut.status && whole.completion_tokens == cut.completion_tokens,
             "an answer does not depend on how it is cut");
  return 0;
}
