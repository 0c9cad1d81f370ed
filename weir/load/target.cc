#include "weir/load/target.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "weir/http/client.h"
#include "weir/load/run_load.h"

namespace weir::load {
namespace {

/// Far enough apart that the slope is exact to a percent, short enough for any context.
constexpr std::uint32_t kFewWords = 32;
constexpr std::uint32_t kManyWords = 192;

}  // namespace

std::string Target::text() const { return url.scheme + "://" + url.authority() + base; }

Result<Target> parse_target(std::string_view text) {
  const bool has_scheme = text.find("://") != std::string_view::npos;
  const char* before = has_scheme ? "" : text.starts_with(':') ? "http://127.0.0.1" : "http://";
  WEIR_TRY(http::Url url, http::parse_url(before + std::string(text)));
  if (url.tls()) {
    return fail(Code::kUnsupported,
                "https cannot be measured: name the server behind the proxy by its http address",
                "url");
  }
  if (!url.user.empty()) {
    return fail(Code::kInvalidArgument, "credentials do not belong in the URL: use --api-key",
                "url");
  }
  Target target{.url = url, .base = url.target};
  while (target.base.ends_with('/')) target.base.pop_back();
  if (target.base.ends_with("/v1")) target.base.resize(target.base.size() - 3);
  return target;
}

Result<std::string> first_model(const Target& target, const std::string& key) {
  http::ClientOptions options;
  options.total = std::chrono::seconds(30);
  http::ClientRequest request;
  request.url = target.text() + "/v1/models";
  if (!key.empty()) request.headers.add("Authorization", "Bearer " + key);
  WEIR_TRY(const auto response, http::Client(options).send(request));
  if (response.status != 200) {
    return fail(response.status == 401 ? Code::kUnauthenticated : Code::kUnavailable,
                fmt::format("{} answers {} with status {}: give the model's name with --model",
                            target.text(), "/v1/models", response.status));
  }
  boost::system::error_code error;
  const auto document = boost::json::parse(response.body, error);
  const auto* data =
      !error && document.is_object() ? document.get_object().if_contains("data") : nullptr;
  const auto* first = data != nullptr && data->is_array() && !data->get_array().empty()
                          ? data->get_array().front().if_object()
                          : nullptr;
  const auto* id = first != nullptr ? first->if_contains("id") : nullptr;
  if (id == nullptr || !id->is_string()) {
    return fail(
        Code::kCorrupt,
        fmt::format("{}/v1/models names no model: give its name with --model", target.text()));
  }
  return std::string(id->get_string());
}

Result<measure::TextScale> measure_scale(const Target& target, const measure::BodySpec& spec,
                                         const std::string& key, std::uint64_t seed) {
  measure::Plan plan;
  plan.tenants = {{"probe", key, 1}};
  plan.requests.resize(2);
  // A seed of the probes' own: the run must not find its prompts in the server's cache.
  plan.requests[0].user = {{~seed, kFewWords}};
  plan.requests[1].user = {{~seed ^ 1, kManyWords}};
  measure::BodySpec plain = spec;
  plain.scale = {};
  LoadOptions options;
  options.endpoint = spec.endpoint;
  options.concurrency = 1;
  options.give_up_after = 1;
  WEIR_TRY(const LoadRun run, run_load(target, options, plan, measure::BodyWriter(plain), {}));
  for (const auto& record : run.records) {
    if (record.completed()) continue;
    return fail(Code::kUnavailable,
                fmt::format("{} does not answer a first request ({}): {}", target.text(),
                            measure::name_of(record.outcome), record.detail));
  }
  return measure::fit_scale(kFewWords, run.records[0].prompt_tokens, kManyWords,
                            run.records[1].prompt_tokens);
}

}  // namespace weir::load
