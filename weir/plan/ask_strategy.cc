#include <algorithm>
#include <cmath>

#include "weir/plan/ask_common.h"

namespace weir::plan {
namespace {

struct Primitive {
  const char* name;
  const char* why;
  const char* settings;
  const char* bound;
};

/// B8: the class of model decides the primitive.
Primitive primitive_of(const std::string& work) {
  if (work == "text") {
    return {"continuous batching with chunked prefill",
            "answers end at different lengths, so sequences enter and leave at every step; long "
            "prompts are cut so that they do not stop the others",
            "step target 50 ms, chunks of 256 to 1024 tokens, 100s of sequences",
            "memory bandwidth in decode, operations in prefill, KV memory in between"};
  }
  if (work == "stream") {
    return {"streaming without a batch",
            "a frame must be answered within its interval; waiting for others would miss it",
            "one frame a step, stages in a pipeline, frames of 10 to 20 ms", "real time"};
  }
  if (work == "lookups") {
    return {"feature-parallel batching",
            "embedding look-ups dominate: gather them by table and shard for about a millisecond, "
            "drop doubles, one call a shard",
            "window 1 ms, one round trip for all look-ups", "memory of the tables and the network"};
  }
  if (work == "offline") {
    return {"static batching", "nobody waits: the largest batch that fits wins",
            "largest batch that fits the memory", "throughput"};
  }
  return {"dynamic batching, adapted to the load",
          "requests of one size, nobody's length is unknown: wait a little, run together",
          "window min(T_max, B / rate), batch 32 to 256, SLO loop", "operations"};
}

Result<Answer> ask_strategy(const Arguments& a) {
  Answer out;
  out.question = "strategy";
  const std::string& work = a.word("work");
  const Primitive p = primitive_of(work);
  out.headline = fmt::format("{}: {}.", p.name, p.why);
  out.headline[0] = static_cast<char>(out.headline[0] - 'a' + 'A');
  Table tree{.title = "The decision tree",
             .columns = {"asked in this order", "answer", "then"},
             .rows = {}};
  const auto ask_row = [&](const char* question, bool yes, const char* then) {
    tree.rows.push_back(
        {std::string(question), std::string(yes ? "yes" : "no"), std::string(yes ? then : "")});
    return yes;
  };
  if (!ask_row("Does nobody wait for the answer?", work == "offline", "static batching") &&
      !ask_row("Is it text made token by token?", work == "text",
               "continuous batching, chunked prefill") &&
      !ask_row("Is it a stream in real time?", work == "stream", "streaming") &&
      !ask_row("Do look-ups dominate?", work == "lookups", "feature-parallel batching"))
    ask_row("Otherwise", true, "dynamic batching, adapted");
  out.tables.push_back(std::move(tree));
  Table advice{.title = "What follows", .columns = {"matter", "advice", "because"}, .rows = {}};
  const auto say = [&](const char* matter, std::string text, std::string why) {
    advice.rows.push_back({std::string(matter), std::move(text), std::move(why)});
  };
  say("settings", p.settings, fmt::format("bound by {}", p.bound));
  const bool latency = a.word("goal") == "latency";
  if (work == "text") {
    if (a.has("model") && a.has("device")) {
      const Model& m = a.model("model");
      const Device& d = a.device("device");
      const Bytes weights = weight_bytes(m, precision("fp16"));
      const double degree = std::ceil(weights / (d.memory * 0.9));
      out.step("degree", "devices for FP16 weights",
               fmt::format("ceil({} / (0.9 x {}))", show(weights), show(d.memory)),
               count(degree, "devices"), "memory budget");
      const double reads = a.number("prompt") / std::max(1.0, a.number("output"));
      out.step("prompt_to_output", "prompt over answer", "", ratio(reads), "which resource binds");
      if (degree > 1) {
        say("sharding",
            degree <= 8
                ? fmt::format("tensor parallel {} inside a node", degree)
                : fmt::format("tensor parallel 8 inside a node, pipeline parallel {} across",
                              std::ceil(degree / 8)),
            latency ? "tensor parallelism shortens each token"
                    : "the weights do not fit one device");
      } else {
        say("sharding", "none: replicas", "it fits one device");
      }
      say("quantisation", reads > 10 ? "W8A8 or FP8" : "W4A16",
          reads > 10 ? "prefill's operations dominate" : "decode's bandwidth dominates");
    } else {
      out.note("Name a --model and a --device for advice on sharding and quantisation.");
    }
    say("speculation", latency ? "on, watched per endpoint" : "off",
        latency ? "steps are bound by reading weights; a draft uses the idle operations"
                : "the batch already uses them, and a draft's pages lower the admission ceiling");
    const double heavy = a.number("prompt") / std::max(1.0, a.number("output"));
    say("prefill and decode",
        heavy > 20 && !latency ? "try disaggregation; ask plan disagg" : "together, chunked",
        "apart only when goodput under both SLOs rises");
    say("prefix cache", "on, inside a tenant", "system prompts and conversations repeat");
    say("routing", "two choices by outstanding tokens, ties to the cached prefix",
        "a 500-token answer is fifty 10-token ones; counts of connections mislead");
  } else {
    say("routing",
        work == "lookups" ? "by shard, then two choices" : "two choices, weighted by capacity",
        "no global state needed");
    say("scaling", "warm pool for the largest burst, down after a low window",
        "cold starts take minutes");
  }
  if (work == "stream")
    say("deadline", "drop a frame that is late", "an old frame is worth nothing");
  out.tables.push_back(std::move(advice));
  Table all{
      .title = "All classes of work", .columns = {"work", "primitive", "bound by"}, .rows = {}};
  for (const char* w : {"text", "stream", "lookups", "vision", "offline"})
    all.rows.push_back(
        {std::string(w), std::string(primitive_of(w).name), std::string(primitive_of(w).bound)});
  out.tables.push_back(std::move(all));
  return out;
}

}  // namespace

Question strategy_question() {
  return {
      .name = "strategy",
      .summary =
          "Which way to serve: the class of work decides the batching, with reasons and what "
          "follows",
      .parameters = {needed(choice("work", {"text", "stream", "lookups", "vision", "offline"}, "",
                                   "What is served: text (token by token), stream (speech, video), "
                                   "lookups (recommendation), vision, offline")),
                     choice("goal", {"latency", "throughput"}, "latency", "What matters more"),
                     model("model", "", "A model, for advice on sharding and quantisation"),
                     device("device", "", "Where it runs"),
                     whole("prompt", "1024", 0, 1e8, "Tokens of a prompt"),
                     whole("output", "256", 1, 1e8, "Tokens of an answer")},
      .examples = {"strategy --work text --model llama-3-70b --device h100",
                   "strategy --work lookups"},
      .ask = ask_strategy};
}

}  // namespace weir::plan
