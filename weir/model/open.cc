#include "weir/model/open.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <boost/json.hpp>

#include "weir/model/architectures.h"
#include "weir/model/gguf_tokenizer.h"
#include "weir/model/tensor_names.h"
#include "weir/text/tokenizer_json.h"

namespace weir::model {
namespace {

namespace json = boost::json;

/// A small JSON sidecar; nothing when it is absent. Depth is bounded by the parser.
Result<std::optional<json::object>> read_json(const format::ModelFile& file,
                                              std::string_view name) {
  const std::optional<std::string> bytes = file.sidecar(name);
  if (!bytes) return std::nullopt;
  boost::system::error_code error;
  json::parse_options options;
  options.max_depth = 64;
  json::value value = json::parse(*bytes, error, {}, options);
  if (error || !value.is_object()) {
    return fail(Code::kCorrupt,
                fmt::format("{}: {} is not a JSON object{}", file.path(), name,
                            error ? ": " + error.message() : std::string()),
                std::string(name));
  }
  return std::move(value.get_object());
}

Result<text::Vocabulary> read_vocabulary(const format::ModelFile& file) {
  if (is_gguf(file)) return read_gguf_vocabulary(file);
  const std::optional<std::string> tokenizer = file.sidecar("tokenizer.json");
  if (!tokenizer) {
    return fail(Code::kNotFound,
                fmt::format("{}: there is no tokenizer.json beside the weights", file.path()),
                "tokenizer.json");
  }
  return text::read_tokenizer_json(*tokenizer, file.sidecar("tokenizer_config.json").value_or(""),
                                   file.sidecar("generation_config.json").value_or(""));
}

/// tokenizer_config.json's chat_template is a text, or a list of named ones of which "default"
/// counts.
std::optional<std::string> template_in(const json::object& config) {
  const json::value* found = config.if_contains("chat_template");
  if (found == nullptr) return std::nullopt;
  if (found->is_string()) return std::string(found->get_string());
  if (!found->is_array()) return std::nullopt;
  for (const json::value& entry : found->get_array()) {
    if (!entry.is_object()) continue;
    const json::value* name = entry.get_object().if_contains("name");
    const json::value* source = entry.get_object().if_contains("template");
    if (name != nullptr && source != nullptr && source->is_string() && *name == "default") {
      return std::string(source->get_string());
    }
  }
  return std::nullopt;
}

Result<std::optional<std::string>> find_template(const format::ModelFile& file) {
  if (is_gguf(file)) {
    const auto source = file.text("tokenizer.chat_template");
    return source ? std::optional<std::string>(*source) : std::nullopt;
  }
  if (auto source = file.sidecar("chat_template.jinja")) return source;
  WEIR_TRY(const auto config, read_json(file, "tokenizer_config.json"));
  return config ? template_in(*config) : std::nullopt;
}

/// The authors' recommendation, where generation_config.json makes one; out-of-range values are an
/// error.
Result<SamplingParams> read_sampling(const format::ModelFile& file, std::int32_t vocabulary) {
  SamplingParams params;
  WEIR_TRY(const auto config, read_json(file, "generation_config.json"));
  if (!config) return params;
  const json::value* samples = config->if_contains("do_sample");
  if (samples != nullptr && samples->is_bool() && !samples->get_bool()) {
    params.temperature =
        0.0F;  // Greedy is what they recommend: the other fields then mean nothing.
    return params;
  }
  const auto number = [&](const char* name, float& into) {
    const json::value* value = config->if_contains(name);
    boost::system::error_code error;
    if (value == nullptr || !value->is_number()) return;
    into = value->to_number<float>(error);
  };
  float top_k = 0;
  number("temperature", params.temperature);
  number("top_p", params.top_p);
  number("min_p", params.min_p);
  number("typical_p", params.typical_p);
  number("repetition_penalty", params.repetition_penalty);
  number("top_k", top_k);
  if (top_k >= 0 && top_k < 1e9F) params.top_k = static_cast<std::int32_t>(top_k);
  if (auto valid = validate(params, vocabulary); !valid) {
    return fail(Code::kCorrupt,
                fmt::format("{}: generation_config.json: {}", file.path(), valid.error().message),
                valid.error().subject);
  }
  return params;
}

/// Embeddings are padded to round numbers (Qwen 2 by 271 rows, Phi 3 by 44), and a padding row can
/// be sampled: each gets a token without meaning, so that every id has a text.
Status pad(text::Vocabulary& vocabulary, std::uint32_t rows, const format::ModelFile& file) {
  constexpr std::size_t kMostPadding = 65536;
  const std::size_t tokens = vocabulary.tokens.size();
  if (tokens > rows || rows - tokens > kMostPadding) {
    return fail(Code::kCorrupt,
                fmt::format("{}: the tokenizer has {} tokens, but the embedding {} rows",
                            file.path(), tokens, rows),
                "vocabulary");
  }
  for (std::size_t id = tokens; id < rows; ++id) {
    text::VocabularyToken padding;
    padding.text = fmt::format("<padding {}>", id);
    padding.kind = text::TokenKind::kUnused;
    vocabulary.tokens.push_back(std::move(padding));
  }
  return {};
}

/// Weights are sampled at their ends: hashing gigabytes would read the whole file before the first
/// token.
std::uint64_t fingerprint_of(const format::ModelFile& file, const ModelShape& shape) {
  constexpr std::size_t kSample = 4096;
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const auto add = [&state](const void* data, std::size_t size) {
    XXH3_64bits_update(state.get(), data, size);
  };
  const auto add_text = [&](std::string_view text) {
    const std::uint64_t size = text.size();
    add(&size, sizeof(size));
    add(text.data(), text.size());
  };
  add_text(shape.architecture);
  add_text(fmt::format("{} {} {} {} {} {} {} {} {} {}", shape.layers, shape.width, shape.heads,
                       shape.kv_heads, shape.head_dim, shape.mlp_width, shape.vocabulary,
                       shape.rope.theta, shape.attention_scale, shape.window));
  for (const format::TensorView& tensor : file.tensors()) {
    add_text(tensor.name);
    add_text(info(tensor.type).name);
    add(tensor.shape.data(), tensor.shape.size() * sizeof(std::uint64_t));
    const std::size_t head = std::min(kSample, tensor.data.size());
    add(tensor.data.data(), head);
    add(tensor.data.data() + (tensor.data.size() - head), head);
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

Result<OpenedModel> open_model(const std::string& path) {
  OpenedModel model;
  WEIR_TRY(model.file, format::open_model_file(path));
  const format::ModelFile& file = *model.file;
  WEIR_TRY(model.shape, read_shape(file));

  WEIR_TRY(text::Vocabulary vocabulary, read_vocabulary(file));
  WEIR_TRY_STATUS(pad(vocabulary, model.shape.vocabulary, file));
  WEIR_TRY(model.tokenizer, text::Tokenizer::create(std::move(vocabulary)));
  const text::Vocabulary& v = model.tokenizer->vocabulary();
  const auto text_of = [&v](std::optional<TokenId> token) {
    return token ? v.tokens[static_cast<std::size_t>(*token)].text : std::string();
  };
  model.template_context.bos_token = text_of(v.bos);
  model.template_context.eos_token = text_of(v.eos);

  WEIR_TRY(const auto source, find_template(file));
  if (source) {
    auto compiled = text::ChatTemplate::compile(*source);
    if (!compiled) {
      return fail(compiled.error().code,
                  fmt::format("{}: chat template: {}", file.path(), compiled.error().message),
                  "chat_template");
    }
    model.chat_template = std::make_shared<const text::ChatTemplate>(*std::move(compiled));
  }
  WEIR_TRY(model.default_sampling, read_sampling(file, model.tokenizer->size()));
  model.fingerprint = fingerprint_of(file, model.shape);
  return model;
}

}  // namespace weir::model
