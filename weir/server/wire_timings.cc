#include "weir/server/wire_timings.h"

#include "weir/spec/time.h"

namespace weir::server {
namespace {

std::string_view word(sched::Held held) {
  switch (held) {
    case sched::Held::kNothing:
      return "a step in flight";
    case sched::Held::kBudget:
      return "the step's token budget";
    case sched::Held::kPages:
      return "free pages";
    case sched::Held::kSequences:
      return "a running sequence to end";
    case sched::Held::kLeader:
      return "the prompt of its first choice";
    case sched::Held::kReserved:
      return "room that is not kept for a higher class";
    case sched::Held::kGroup:
      return "one of about its length to end";
  }
  return "";
}

}  // namespace

api::Timings to_wire(const engine::Timings& t) {
  api::Timings wire;
  wire.queue_ms = milliseconds(t.queue);
  wire.prefill_ms = milliseconds(t.prefill);
  wire.decode_ms = milliseconds(t.decode);
  wire.prompt_tokens = t.prompt_tokens;
  wire.cached_tokens = t.cached_tokens;
  wire.completion_tokens = t.answer_tokens;
  wire.prefill_chunks = t.chunks;
  wire.preemptions = t.preemptions;
  wire.recomputed_tokens = t.recomputed_tokens;
  if (t.queue.count() > 0) wire.waited_for = word(t.waited_for);
  return wire;
}

}  // namespace weir::server
