#include "weir/measure/request_body.h"

#include <fmt/format.h>

#include <vector>

#include "weir/api/json_text.h"

namespace weir::measure {
namespace {

void append_message(std::string& out, std::string_view role, std::string_view content) {
  if (!out.empty()) out += ',';
  out += fmt::format(R"({{"role":"{}","content":)", role);
  api::append_json_string(out, content);
  out += '}';
}

}  // namespace

/// This turn alone: messages of a chat separated by commas, or plain text.
std::string BodyWriter::turn(const PlannedRequest& request, bool first) const {
  std::string out;
  if (spec_.endpoint == Endpoint::kChat) {
    if (first && !request.system.empty()) {
      append_message(out, "system", prompt_text(request.system, {spec_.scale.tokens_per_word, 0}));
    }
    append_message(out, "user", prompt_text(request.user, spec_.scale));
    return out;
  }
  std::vector<PromptPart> parts;
  if (first) parts = request.system;
  parts.insert(parts.end(), request.user.begin(), request.user.end());
  return prompt_text(parts, spec_.scale);
}

std::string BodyWriter::extend(std::string_view history, const PlannedRequest& request,
                               std::string_view answer) const {
  std::string out(history);
  const std::string own = turn(request, history.empty());
  if (spec_.endpoint == Endpoint::kChat) {
    if (!out.empty()) out += ',';
    out += own;
    append_message(out, "assistant", answer);
    return out;
  }
  if (!out.empty()) out += ' ';
  out += own;
  out += answer;
  return out;
}

std::string BodyWriter::body(const PlannedRequest& request, std::string_view history) const {
  std::string out = R"({"model":)";
  api::append_json_string(out, spec_.model);
  const std::string own = turn(request, history.empty());
  switch (spec_.endpoint) {
    case Endpoint::kChat:
      out += R"(,"messages":[)";
      out += history;
      if (!history.empty()) out += ',';
      out += own;
      out += ']';
      break;
    case Endpoint::kCompletions:
      out += R"(,"prompt":)";
      api::append_json_string(out, history.empty() ? own : fmt::format("{} {}", history, own));
      break;
    case Endpoint::kEmbeddings:
      out += R"(,"encoding_format":"float","input":)";
      api::append_json_string(out, own);
      break;
  }
  if (spec_.endpoint != Endpoint::kEmbeddings) {
    out += fmt::format(
        R"(,"max_tokens":{},"temperature":{},"stream":true,"stream_options":{{"include_usage":true}})",
        request.output_tokens, spec_.temperature);
    if (spec_.ignore_eos) out += R"(,"ignore_eos":true)";
  }
  if (!spec_.extra.empty()) {
    out += ',';
    out += spec_.extra;
  }
  out += '}';
  return out;
}

}  // namespace weir::measure
