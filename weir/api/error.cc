#include "weir/api/error.h"

#include "weir/api/json_text.h"

namespace weir::api {
namespace {

std::string body(std::string_view message, std::string_view type, std::string_view param,
                 std::string_view code) {
  std::string out = R"({"error":{"message":)";
  append_json_string(out, message);
  out += R"(,"type":)";
  append_json_string(out, type);
  out += R"(,"param":)";
  if (param.empty()) {
    out += "null";
  } else {
    append_json_string(out, param);
  }
  out += R"(,"code":)";
  append_json_string(out, code);
  out += "}}";
  return out;
}

}  // namespace

ErrorShape shape_of(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
      return {400, "invalid_request_error", "invalid_value", {}};
    case Code::kContextLength:
      return {400, "invalid_request_error", "context_length_exceeded", {}};
    case Code::kNotFound:
      return {
          404, "not_found_error", error.subject == "model" ? "model_not_found" : "not_found", {}};
    case Code::kUnsupported:
      return {400, "invalid_request_error", "unsupported_value", {}};
    case Code::kTooLarge:
      return {413, "invalid_request_error", "request_too_large", {}};
    case Code::kExhausted:
      return {429, "rate_limit_error", "resource_exhausted", 1};
    case Code::kUnauthenticated:
      return {401, "authentication_error", "invalid_api_key", {}};
    case Code::kPermission:
      return {403, "permission_error", "permission_denied", {}};
    case Code::kCancelled:
      return {499, "server_error", "cancelled", {}};
    case Code::kDeadline:
      return {504, "server_error", "deadline_exceeded", {}};
    case Code::kUnavailable:
      return {503, "server_error", "unavailable", 5};
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal:
      break;
  }
  return {500, "server_error", "internal_error", {}};
}

std::string encode_error(const Error& error) {
  const ErrorShape shape = shape_of(error);
  if (shape.status == 500) {
    return body(
        "The server failed on this request; its log says why, under the request's x-request-id.",
        shape.type, {}, shape.code);
  }
  return body(error.message, shape.type, error.subject, shape.code);
}

std::string encode_http_error(int status, std::string_view message) {
  std::string_view code = "bad_http_request";
  switch (status) {
    case 404:
      code = "not_found";
      break;
    case 405:
      code = "method_not_allowed";
      break;
    case 408:
      code = "request_timeout";
      break;
    case 413:
      code = "request_too_large";
      break;
    case 431:
      code = "headers_too_large";
      break;
    case 500:
      code = "internal_error";
      break;
    case 503:
      code = "unavailable";
      break;
    default:
      break;
  }
  return body(message, status >= 500 ? "server_error" : "invalid_request_error", {}, code);
}

}  // namespace weir::api
