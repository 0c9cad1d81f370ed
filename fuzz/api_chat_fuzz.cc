// Request bodies of both endpoints: any bytes give a request within its bounds, or an error that
// encodes to a body with a status from 400 to 499.

#include <cstdlib>
#include <string_view>

#include "weir/api/error.h"
#include "weir/api/request.h"
#include "weir/base/check.h"

namespace {

void check(const weir::api::AnswerOptions& options) {
  WEIR_CHECK(weir::validate(options.sampling, 1000).has_value(),
             "decoded sampling is in its ranges");
  WEIR_CHECK(options.choices >= 1 && options.choices <= weir::api::kMaxChoices, "n is bounded");
  WEIR_CHECK(!options.max_tokens || *options.max_tokens >= 1, "max_tokens is at least 1");
  for (const auto& stop : options.stops) WEIR_CHECK(!stop.empty(), "stop strings are not empty");
}

void check(const weir::Error& error) {
  const auto shape = weir::api::shape_of(error);
  WEIR_CHECK(shape.status >= 400 && shape.status < 500, "a bad body is the client's fault");
  WEIR_CHECK(!weir::api::encode_error(error).empty(), "an error has a body");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  weir::api::DecodeContext context;
  context.vocabulary = 1000;
  const auto chat = weir::api::decode_chat(body, context);
  if (chat) {
    check(chat->answer);
    WEIR_CHECK(!chat->conversation.messages.empty(), "a conversation has messages");
  } else {
    check(chat.error());
  }
  const auto completion = weir::api::decode_completion(body, context);
  if (completion) {
    check(completion->answer);
    WEIR_CHECK(!completion->prompts.empty(), "a completion has prompts");
  } else {
    check(completion.error());
  }
  return 0;
}
