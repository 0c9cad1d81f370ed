#pragma once

/// `weir run` without a person at the keyboard: one prompt in, one answer out.
/// Thread safety: the main thread.

#include <string>

#include "weir/cli/chat_session.h"
#include "weir/cli/chat_terminal.h"
#include "weir/cli/terminal.h"

namespace weir::cli {

/// Standard input whole; refuses more than 16 MiB and nothing at all.
[[nodiscard]] Result<std::string> read_prompt_from_input();

/// Prints nothing but the answer on standard output, as it comes; with `json` one object:
///   {"model", "answer", "finish_reason": "stop"|"length"|"cancelled",
///    "usage": {"prompt_tokens", "completion_tokens", "total_tokens"},
///    "timings": {"queue_ms", "prefill_ms", "ttft_ms", "decode_ms", "prompt_tokens_per_second",
///                "tokens_per_second"}}
/// Returns the exit code: 0, that of the error, or 130 after Ctrl-C.
int answer_once(const ChatFacts& facts, ChatSession& session, const std::string& prompt, bool json,
                bool verbose, const Terminal& terminal);

}  // namespace weir::cli
