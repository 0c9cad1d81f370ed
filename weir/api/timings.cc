#include "weir/api/timings.h"

#include <fmt/format.h>

#include <iterator>

#include "weir/api/json_text.h"

namespace weir::api {

void append_timings(std::string& out, const Timings& t) {
  fmt::format_to(std::back_inserter(out),
                 R"({{"queue_ms":{:.3f},"prefill_ms":{:.3f},"decode_ms":{:.3f},)"
                 R"("prompt_tokens":{},"cached_tokens":{},"completion_tokens":{},)"
                 R"("prefill_chunks":{},"preemptions":{},"recomputed_tokens":{},"waited_for":)",
                 t.queue_ms, t.prefill_ms, t.decode_ms, t.prompt_tokens, t.cached_tokens,
                 t.completion_tokens, t.prefill_chunks, t.preemptions, t.recomputed_tokens);
  if (t.waited_for.empty()) {
    out += "null}";
  } else {
    append_json_string(out, t.waited_for);
    out += '}';
  }
}

std::string encode_account(std::string_view id, std::int64_t created,
                           const std::vector<ChoiceAccount>& choices) {
  std::string out = R"({"id":)";
  append_json_string(out, id);
  out += R"(,"object":"request","created":)";
  append_json_integer(out, created);
  out += R"(,"choices":[)";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += ',';
    fmt::format_to(std::back_inserter(out), R"({{"index":{},"state":)", i);
    append_json_string(out, choices[i].state);
    out += R"(,"timings":)";
    append_timings(out, choices[i].timings);
    out += '}';
  }
  return out + "]}";
}

}  // namespace weir::api
