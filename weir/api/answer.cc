#include "weir/api/answer.h"

#include "weir/api/error.h"
#include "weir/api/json_text.h"
#include "weir/base/utf8.h"

namespace weir::api {
namespace {

void append_head(std::string& out, const AnswerHead& head, std::string_view object) {
  out += R"({"id":)";
  append_json_string(out, head.id);
  out += R"(,"object":")";
  out += object;
  out += R"(","created":)";
  append_json_integer(out, head.created);
  out += R"(,"model":)";
  append_json_string(out, head.model);
  out += R"(,"system_fingerprint":)";
  append_json_string(out, head.fingerprint);
}

void append_usage(std::string& out, const Usage& usage) {
  out += R"({"prompt_tokens":)";
  append_json_integer(out, static_cast<std::int64_t>(usage.prompt_tokens));
  out += R"(,"completion_tokens":)";
  append_json_integer(out, static_cast<std::int64_t>(usage.completion_tokens));
  out += R"(,"total_tokens":)";
  append_json_integer(out,
                      static_cast<std::int64_t>(usage.prompt_tokens + usage.completion_tokens));
  out += R"(,"prompt_tokens_details":{"cached_tokens":)";
  append_json_integer(out, static_cast<std::int64_t>(usage.cached_tokens));
  out += "}}";
}

std::string_view word(FinishWord finish) { return finish == FinishWord::kStop ? "stop" : "length"; }

/// Bytes that are no whole characters are named as OpenAI names them, so that no two tokens of a
/// list look alike.
std::string display(std::string_view bytes) {
  if (utf8::find_invalid(bytes) == std::string_view::npos) return std::string(bytes);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

void append_token(std::string& out, const TokenText& token) {
  out += R"({"token":)";
  append_json_string(out, display(token.bytes));
  out += R"(,"logprob":)";
  append_json_float(out, token.logprob);
  out += R"(,"bytes":[)";
  for (std::size_t i = 0; i < token.bytes.size(); ++i) {
    if (i > 0) out += ',';
    append_json_integer(out, static_cast<unsigned char>(token.bytes[i]));
  }
  out += ']';
}

void append_chat_logprobs(std::string& out, std::span<const TokenEntry> entries) {
  out += R"({"content":[)";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out += ',';
    append_token(out, entries[i].token);
    out += R"(,"top_logprobs":[)";
    for (std::size_t j = 0; j < entries[i].top.size(); ++j) {
      if (j > 0) out += ',';
      append_token(out, entries[i].top[j]);
      out += '}';
    }
    out += "]}";
  }
  out += R"(],"refusal":null})";
}

template <class Write>
void append_list(std::string& out, std::string_view key, std::span<const TokenEntry> entries,
                 Write write) {
  out += '"';
  out += key;
  out += "\":[";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out += ',';
    write(entries[i]);
  }
  out += ']';
}

void append_legacy_logprobs(std::string& out, std::span<const TokenEntry> entries) {
  out += '{';
  append_list(out, "tokens", entries,
              [&](const TokenEntry& e) { append_json_string(out, display(e.token.bytes)); });
  out += ',';
  append_list(out, "token_logprobs", entries,
              [&](const TokenEntry& e) { append_json_float(out, e.token.logprob); });
  out += ',';
  append_list(out, "top_logprobs", entries, [&](const TokenEntry& e) {
    out += '{';
    for (std::size_t j = 0; j < e.top.size(); ++j) {
      if (j > 0) out += ',';
      append_json_string(out, display(e.top[j].bytes));
      out += ':';
      append_json_float(out, e.top[j].logprob);
    }
    out += '}';
  });
  out += ',';
  append_list(out, "text_offset", entries, [&](const TokenEntry& e) {
    append_json_integer(out, static_cast<std::int64_t>(e.text_offset));
  });
  out += '}';
}

void append_logprobs(std::string& out, AnswerKind kind, bool wanted,
                     std::span<const TokenEntry> entries) {
  if (!wanted) {
    out += "null";
  } else if (kind == AnswerKind::kChat) {
    append_chat_logprobs(out, entries);
  } else {
    append_legacy_logprobs(out, entries);
  }
}

void append_optional_timings(std::string& out, const std::optional<Timings>& timings) {
  if (!timings) return;
  out += R"(,"timings":)";
  append_timings(out, *timings);
}

}  // namespace

std::string encode_answer(const AnswerHead& head, std::span<const Choice> choices,
                          const Usage& usage) {
  const bool chat = head.kind == AnswerKind::kChat;
  std::string out;
  append_head(out, head, chat ? "chat.completion" : "text_completion");
  out += R"(,"choices":[)";
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) out += ',';
    out += R"({"index":)";
    append_json_integer(out, static_cast<std::int64_t>(i));
    out += chat ? R"(,"message":{"role":"assistant","content":)" : R"(,"text":)";
    append_json_string(out, choices[i].text);
    if (chat) out += R"(,"refusal":null})";
    out += R"(,"logprobs":)";
    append_logprobs(out, head.kind, head.logprobs, choices[i].entries);
    out += R"(,"finish_reason":")";
    out += word(choices[i].finish);
    out += '"';
    append_optional_timings(out, choices[i].timings);
    out += '}';
  }
  out += R"(],"usage":)";
  append_usage(out, usage);
  out += '}';
  return out;
}

ChunkEncoder::ChunkEncoder(const AnswerHead& head)
    : kind_(head.kind),
      include_usage_(head.include_usage),
      logprobs_(head.logprobs),
      prefix_("data: "),
      suffix_(head.include_usage ? "}],\"usage\":null}\n\n" : "}]}\n\n") {
  append_head(prefix_, head,
              kind_ == AnswerKind::kChat ? "chat.completion.chunk" : "text_completion");
  prefix_ += R"(,"choices":[)";
}

void ChunkEncoder::open(std::string& out, std::uint32_t choice) const {
  if (kind_ == AnswerKind::kCompletion) return;
  out += prefix_;
  out += R"({"index":)";
  append_json_integer(out, choice);
  out +=
      R"(,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null)";
  out += suffix_;
}

void ChunkEncoder::delta(std::string& out, std::uint32_t choice, std::string_view text,
                         std::span<const TokenEntry> entries) const {
  out += prefix_;
  out += R"({"index":)";
  append_json_integer(out, choice);
  out += kind_ == AnswerKind::kChat ? R"(,"delta":{"content":")" : R"(,"text":")";
  append_json_escaped(out, text);
  out += kind_ == AnswerKind::kChat ? R"("},"logprobs":)" : R"(","logprobs":)";
  append_logprobs(out, kind_, logprobs_ && !entries.empty(), entries);
  out += R"(,"finish_reason":null)";
  out += suffix_;
}

void ChunkEncoder::close(std::string& out, std::uint32_t choice, FinishWord finish,
                         const std::optional<Timings>& timings) const {
  out += prefix_;
  out += R"({"index":)";
  append_json_integer(out, choice);
  out += kind_ == AnswerKind::kChat ? R"(,"delta":{})" : R"(,"text":"")";
  out += R"(,"logprobs":null,"finish_reason":")";
  out += word(finish);
  out += '"';
  append_optional_timings(out, timings);
  out += suffix_;
}

void ChunkEncoder::usage(std::string& out, const Usage& usage) const {
  if (!include_usage_) return;
  out += prefix_;
  out += R"(],"usage":)";
  append_usage(out, usage);
  out += "}\n\n";
}

void ChunkEncoder::done(std::string& out) { out += "data: [DONE]\n\n"; }

void ChunkEncoder::error(std::string& out, const Error& error) {
  out += "data: ";
  out += encode_error(error);
  out += "\n\n";
}

}  // namespace weir::api
