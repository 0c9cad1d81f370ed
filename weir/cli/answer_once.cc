#include "weir/cli/answer_once.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "weir/cli/commands.h"
#include "weir/cli/signals.h"
#include "weir/spec/time.h"

namespace weir::cli {
namespace {

constexpr std::size_t kMaxPrompt = 16U << 20;
constexpr int kExitInterrupted = 130;  // 128 + SIGINT, as shells have it.

std::string as_json(const std::string& model, const Reply& reply) {
  const engine::Timings& t = reply.timings;
  const auto rate = [](std::uint32_t tokens, std::chrono::nanoseconds d) {
    return d.count() > 0 ? tokens / seconds(d) : 0.0;
  };
  const boost::json::object object = {
      {"model", model},
      {"answer", reply.text},
      {"finish_reason", engine::name(reply.reason)},
      {"usage",
       {{"prompt_tokens", t.prompt_tokens},
        {"completion_tokens", t.answer_tokens},
        {"total_tokens", t.prompt_tokens + t.answer_tokens}}},
      {"timings",
       {{"queue_ms", milliseconds(t.queue)},
        {"prefill_ms", milliseconds(t.prefill)},
        {"ttft_ms", milliseconds(t.ttft())},
        {"decode_ms", milliseconds(t.decode)},
        {"prompt_tokens_per_second", rate(t.prompt_tokens, t.prefill)},
        {"tokens_per_second", rate(t.answer_tokens > 0 ? t.answer_tokens - 1 : 0, t.decode)}}}};
  return boost::json::serialize(object);
}

}  // namespace

Result<std::string> read_prompt_from_input() {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(Code::kIo, fmt::format("cannot read standard input: {}", std::strerror(errno)));
    if (got == 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kMaxPrompt)
      return fail(Code::kTooLarge, "standard input holds more than 16 MiB");
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  if (text.empty()) {
    return fail(Code::kInvalidArgument,
                "standard input is empty: pipe a prompt in, or give one with --prompt");
  }
  return text;
}

int answer_once(const ChatFacts& facts, ChatSession& session, const std::string& prompt, bool json,
                bool verbose, const Terminal& terminal) {
  Signals signals;
  bool stopped = false;
  char last = '\n';
  const auto print = [&](std::string_view text) {
    const std::string shown = terminal.output() ? harmless(text) : std::string(text);
    if (shown.empty()) return;
    last = shown.back();
    std::fwrite(shown.data(), 1, shown.size(), stdout);
    std::fflush(stdout);
  };
  Watch watch;
  if (!json) watch.on_text = print;
  watch.interrupted = [&] { return stopped = stopped || signals.interrupted(); };
  const auto reply = facts.raw ? session.complete(prompt, watch) : session.say(prompt, watch);
  if (last != '\n') std::fputs("\n", stdout);
  if (!reply) {
    std::fflush(stdout);
    return report(reply.error());
  }
  if (json) fmt::print("{}\n", as_json(facts.model, *reply));
  std::fflush(stdout);
  if (verbose) fmt::print(stderr, "{}\n", describe(reply->timings));
  return reply->reason == engine::FinishReason::kCancelled ? kExitInterrupted : 0;
}

}  // namespace weir::cli
