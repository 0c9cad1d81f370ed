#include "weir/api/internal/options.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace weir::api {
namespace {

/// Fields that would change the answer in ways we do not have. Any value but null, false, or an
/// empty list or object is refused.
constexpr std::string_view kRefused[] = {
    "functions",    "function_call",      "structured_outputs",     "guided_json",
    "guided_regex", "guided_choice",      "guided_grammar",         "grammar",
    "json_schema",  "prompt_logprobs",    "use_beam_search",        "include_stop_str_in_output",
    "audio",        "web_search_options", "continue_final_message", "truncate_prompt_tokens",
    "bad_words",    "return_token_ids",
};

bool asks_nothing(const json::value& value) {
  if (const auto* b = value.if_bool()) return !*b;
  if (const auto* a = value.if_array()) return a->empty();
  if (const auto* o = value.if_object()) return o->empty();
  return false;
}

Status refuse_unsupported(const Fields& fields) {
  for (const std::string_view key : kRefused) {
    const auto* value = fields.find(key);
    if (value != nullptr && !asks_nothing(*value)) {
      return fail(Code::kUnsupported, fmt::format("{} is not supported; leave it out", key),
                  std::string(key));
    }
  }
  WEIR_TRY(const auto skip_special, fields.boolean("skip_special_tokens"));
  if (skip_special && !*skip_special) {
    return fail(Code::kUnsupported,
                "skip_special_tokens can only be true: special tokens are not text",
                "skip_special_tokens");
  }
  WEIR_TRY(const auto* format, fields.object("response_format"));
  if (format != nullptr) {
    const Fields inner(*format, "response_format");
    WEIR_TRY(const auto type, inner.string("type"));
    if (!type)
      return fail(Code::kInvalidArgument, "response_format.type is missing",
                  "response_format.type");
    if (*type != "text") {
      return fail(
          Code::kUnsupported,
          fmt::format("response_format.type \"{}\" is not supported; only \"text\" is, for now",
                      type->substr(0, 64)),
          "response_format");
    }
  }
  WEIR_TRY(const auto* modalities, fields.array("modalities", 8));
  if (modalities != nullptr) {
    for (const auto& modality : *modalities) {
      WEIR_TRY(const auto name, to_string(modality, "modalities"));
      if (name != "text") {
        return fail(Code::kUnsupported, "modalities can only be [\"text\"]", "modalities");
      }
    }
  }
  return {};
}

/// The wire's ranges; spec's validate() looks again before sampling.
Result<SamplingParams> decode_sampling(const Fields& fields, const DecodeContext& context) {
  constexpr double kTiny = std::numeric_limits<float>::min();
  struct Knob {
    const char* name;
    float SamplingParams::* field;
    double low;
    double high;
  };
  constexpr Knob kKnobs[] = {
      {"temperature", &SamplingParams::temperature, 0, 2},
      {"top_p", &SamplingParams::top_p, kTiny, 1},
      {"min_p", &SamplingParams::min_p, 0, 1},
      {"typical_p", &SamplingParams::typical_p, kTiny, 1},
      {"repetition_penalty", &SamplingParams::repetition_penalty, kTiny, 10},
      {"presence_penalty", &SamplingParams::presence_penalty, -2, 2},
      {"frequency_penalty", &SamplingParams::frequency_penalty, -2, 2},
  };
  SamplingParams params = context.defaults;
  for (const Knob& knob : kKnobs) {
    WEIR_TRY(const auto number, fields.number(knob.name, knob.low, knob.high));
    if (number) params.*knob.field = static_cast<float>(*number);
  }
  WEIR_TRY(const auto top_k, fields.integer("top_k", -1, std::numeric_limits<std::int32_t>::max()));
  if (top_k) params.top_k = static_cast<std::int32_t>(*top_k);
  WEIR_TRY(const auto seed, fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                           std::numeric_limits<std::int64_t>::max()));
  if (seed) params.seed = static_cast<std::uint64_t>(*seed);

  WEIR_TRY(const auto* bias, fields.object("logit_bias"));
  if (bias != nullptr) {
    if (bias->size() > SamplingParams::kMaxLogitBias) {
      return fail(Code::kInvalidArgument,
                  fmt::format("logit_bias may name at most {} tokens, but names {}",
                              SamplingParams::kMaxLogitBias, bias->size()),
                  "logit_bias");
    }
    params.logit_bias.clear();
    for (const auto& [key, value] : *bias) {
      TokenId token = -1;
      const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), token);
      // One way to write a token, so that none is named twice: of two equal keys the last counts,
      // as for every field of the body (and in OpenAI's own reader).
      const bool plain = key.size() == 1 || !key.starts_with('0');
      if (fault != std::errc() || end != key.data() + key.size() || token < 0 || !plain ||
          token >= context.vocabulary) {
        return fail(Code::kInvalidArgument,
                    fmt::format("logit_bias names \"{}\", but its keys are token ids from 0 to {}",
                                std::string_view(key).substr(0, 64), context.vocabulary - 1),
                    "logit_bias");
      }
      WEIR_TRY(const auto amount, to_number(value, fmt::format("logit_bias.{}", token), -100, 100));
      params.logit_bias.emplace_back(token, static_cast<float>(amount));
    }
  }
  return params;
}

Result<std::vector<std::string>> decode_stops(const Fields& fields) {
  std::vector<std::string> stops;
  const auto* stop = fields.find("stop");
  if (stop == nullptr) return stops;
  if (stop->is_string()) {
    WEIR_TRY(auto text, to_string(*stop, "stop"));
    stops.push_back(std::move(text));
  } else if (stop->is_array()) {
    WEIR_TRY(const auto* array, fields.array("stop", kMaxStopStrings));
    for (const auto& element : *array) {
      WEIR_TRY(auto text, to_string(element, fmt::format("stop[{}]", stops.size())));
      stops.push_back(std::move(text));
    }
  } else {
    return wrong_type("stop", "a string or an array of strings", *stop);
  }
  for (const auto& text : stops) {
    if (text.empty() || text.size() > kMaxStopBytes) {
      return fail(Code::kInvalidArgument,
                  fmt::format("a stop string must have from 1 to {} bytes, but one has {}",
                              kMaxStopBytes, text.size()),
                  "stop");
    }
  }
  return stops;
}

/// OpenAI's classes of service.
Result<Priority> decode_service_tier(const Fields& fields) {
  WEIR_TRY(const auto tier, fields.string("service_tier"));
  if (!tier || *tier == "auto" || *tier == "default" || *tier == "scale")
    return Priority::kStandard;
  if (*tier == "flex") return Priority::kBackground;
  if (*tier == "priority") return Priority::kCritical;
  return fail(Code::kInvalidArgument,
              fmt::format("Invalid value: '{}'. Supported values are: 'auto', 'default', 'flex', "
                          "'scale', and 'priority'.",
                          tier->substr(0, 64)),
              "service_tier");
}

Result<Priority> decode_priority(const Fields& fields) {
  WEIR_TRY(const Priority tier, decode_service_tier(fields));
  const auto* value = fields.find("priority");
  if (value == nullptr) return tier;
  if (!value->is_string() && !value->is_number())
    return wrong_type("priority", "a class or a number", *value);
  if (!value->is_string()) {
    WEIR_TRY(const auto number, to_integer(*value, "priority", std::numeric_limits<int>::min(),
                                           std::numeric_limits<int>::max()));
    if (number == 0) return Priority::kStandard;
    return number < 0 ? Priority::kCritical : Priority::kBackground;
  }
  WEIR_TRY(const auto name, to_string(*value, "priority"));
  if (name == "critical") return Priority::kCritical;
  if (name == "standard") return Priority::kStandard;
  if (name == "background") return Priority::kBackground;
  return fail(Code::kInvalidArgument,
              fmt::format("priority must be \"critical\", \"standard\", \"background\" or a "
                          "number, but it is \"{}\"",
                          name.substr(0, 64)),
              "priority");
}

}  // namespace

Result<std::vector<TokenId>> decode_tokens(const json::array& array, const std::string& name,
                                           const DecodeContext& context, std::size_t max_size) {
  if (array.size() > max_size) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{} may have at most {} tokens, but has {}", name, max_size, array.size()),
        name);
  }
  std::vector<TokenId> tokens;
  tokens.reserve(array.size());
  for (const auto& element : array) {
    const auto* small = element.if_int64();
    if (small != nullptr && *small >= 0 && *small < context.vocabulary) {
      tokens.push_back(static_cast<TokenId>(*small));
      continue;
    }
    WEIR_TRY(const auto token, to_integer(element, fmt::format("{}[{}]", name, tokens.size()), 0,
                                          context.vocabulary - 1));
    tokens.push_back(static_cast<TokenId>(token));
  }
  return tokens;
}

Result<AnswerOptions> decode_options(const Fields& fields, const DecodeContext& context) {
  AnswerOptions options;
  WEIR_TRY(auto model, fields.string("model"));
  if (!model || model->empty()) {
    return fail(Code::kInvalidArgument, "model is missing: name one that GET /v1/models lists",
                "model");
  }
  options.model = *std::move(model);
  WEIR_TRY_STATUS(refuse_unsupported(fields));
  WEIR_TRY(options.sampling, decode_sampling(fields, context));
  WEIR_TRY(options.stops, decode_stops(fields));

  WEIR_TRY(const auto old_limit, fields.integer("max_tokens", 1, kMaxTokensAsked));
  WEIR_TRY(const auto limit, fields.integer("max_completion_tokens", 1, kMaxTokensAsked));
  if (limit || old_limit)
    options.max_tokens = static_cast<std::uint32_t>(limit ? *limit : *old_limit);
  WEIR_TRY(const auto least, fields.integer("min_tokens", 0, kMaxTokensAsked));
  if (least) options.min_tokens = static_cast<std::uint32_t>(*least);
  if (options.max_tokens && options.min_tokens > *options.max_tokens) {
    return fail(Code::kInvalidArgument,
                fmt::format("min_tokens ({}) is above max_tokens ({})", options.min_tokens,
                            *options.max_tokens),
                "min_tokens");
  }
  WEIR_TRY(const auto ignore_eos, fields.boolean("ignore_eos"));
  options.ignore_eos = ignore_eos.value_or(false);
  WEIR_TRY(const auto* stop_tokens, fields.array("stop_token_ids", kMaxStopTokens));
  if (stop_tokens != nullptr) {
    WEIR_TRY(options.stop_tokens,
             decode_tokens(*stop_tokens, "stop_token_ids", context, kMaxStopTokens));
  }

  WEIR_TRY(options.priority, decode_priority(fields));
  WEIR_TRY(const auto timings, fields.boolean("timings"));
  options.timings = timings.value_or(false);
  WEIR_TRY(const auto choices, fields.integer("n", 1, kMaxChoices));
  if (choices) options.choices = static_cast<std::uint32_t>(*choices);
  WEIR_TRY(const auto stream, fields.boolean("stream"));
  options.stream = stream.value_or(false);
  WEIR_TRY(const auto* stream_options, fields.object("stream_options"));
  if (stream_options != nullptr) {
    if (!options.stream) {
      return fail(Code::kInvalidArgument, "stream_options is only allowed when stream is true",
                  "stream_options");
    }
    WEIR_TRY(const auto usage, Fields(*stream_options, "stream_options").boolean("include_usage"));
    options.include_usage = usage.value_or(false);
  }
  return options;
}

}  // namespace weir::api
