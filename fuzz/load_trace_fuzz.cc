// Any text as a trace: refused, or requests in order with lengths in range.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/check.h"
#include "weir/measure/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto trace = weir::measure::parse_trace({reinterpret_cast<const char*>(data), size});
  if (!trace) return 0;
  weir::Duration last{0};
  for (const auto& entry : trace->entries) {
    WEIR_CHECK(entry.at >= last, "a trace is in order");
    WEIR_CHECK(entry.input >= 1 && entry.input <= weir::measure::kMaxLength, "a prompt has tokens");
    WEIR_CHECK(entry.output >= 1, "an answer has tokens");
    last = entry.at;
  }
  const auto cut = weir::measure::cut_trace(*trace, {.length_scale = 0.1, .most = 100});
  WEIR_CHECK(cut && !cut->empty(), "the front of a trace is something");
  return 0;
}
