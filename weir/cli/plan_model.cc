#include "weir/cli/plan_model.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cmath>

#include "weir/cli/loader.h"
#include "weir/format/model_file.h"
#include "weir/hub/catalogue.h"
#include "weir/hub/resolve.h"
#include "weir/model/architectures.h"
#include "weir/model/model.h"
#include "weir/sys/mapped_file.h"

namespace weir::cli {
namespace {

namespace json = boost::json;

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

plan::Model from_shape(const ModelShape& s, const std::string& path) {
  plan::Model m;
  m.title = s.name.empty() ? file_name(path) : s.name.substr(0, 60);
  m.layers = s.layers;
  m.width = s.width;
  m.heads = s.heads;
  m.kv_heads = s.kv_heads;
  m.head_dim = s.head_dim;
  m.vocabulary = s.vocabulary;
  m.context = s.context;
  return m;
}

/// What `weir serve` would allocate with its defaults.
Result<plan::Model> from_file(const std::string& path) {
  WEIR_TRY(const auto file, format::open_model_file(path));
  WEIR_TRY(const ModelShape shape, model::read_shape(*file));
  model::ModelOptions options;
  const auto schedule = LoadOptions{}.engine.schedule;
  options.max_rows = schedule.max_rows;
  WEIR_TRY(const model::BytePlan bytes, model::Model::plan(*file, shape, options, 0));
  plan::Model m = from_shape(shape, path);
  for (const format::TensorView& tensor : file->tensors())
    m.parameters += static_cast<double>(tensor.elements());
  m.active = m.parameters;
  m.packed_weights = plan::bytes(static_cast<double>(bytes.weights));
  m.activations = plan::bytes(static_cast<double>(bytes.activations + bytes.sampling));
  m.tables = plan::bytes(static_cast<double>(bytes.tables));
  m.kv_unit = plan::bytes(static_cast<double>(bytes.kv_per_unit));
  m.kv = bytes.kv;
  m.chunk = schedule.largest_chunk();
  m.page_tokens = kPageTokens;
  return m;
}

/// Reads sizes of a config.json by the names Hugging Face gives them.
class Config {
 public:
  Config(const json::object& object, const std::string& path) : object_(object), path_(path) {}

  /// The first of `names` that is there; `otherwise` when none is, an error when that is 0.
  Result<double> size(std::initializer_list<const char*> names, double otherwise = 0) const {
    for (const char* name : names) {
      const json::value* value = object_.if_contains(name);
      if (value == nullptr || value->is_null()) continue;
      if (!value->is_number()) return wrong(name, "is not a number");
      const double number = value->to_number<double>();
      constexpr double kMost = 1e12;
      if (!(number >= 1) || number > kMost || number != std::floor(number))
        return wrong(name, "must be a whole number from 1 to 10^12");
      return number;
    }
    return otherwise > 0 ? Result<double>(otherwise) : wrong(*names.begin(), "is missing");
  }
  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] bool flag(const char* name) const {
    const json::value* value = object_.if_contains(name);
    return value != nullptr && value->is_bool() && value->get_bool();
  }

 private:
  [[nodiscard]] std::unexpected<Error> wrong(const char* name, const char* why) const {
    return fail(Code::kInvalidArgument, fmt::format("{}: \"{}\" {}", path_, name, why));
  }
  const json::object& object_;
  const std::string& path_;
};

/// Parameters counted from the shape: embedding and head, attention, a gated MLP for each expert.
Result<plan::Model> from_config(const json::object& object, const std::string& path) {
  const Config c(object, path);
  plan::Model m;
  m.title = path;
  WEIR_TRY(m.layers, c.size({"num_hidden_layers", "n_layer"}));
  WEIR_TRY(m.width, c.size({"hidden_size", "n_embd"}));
  WEIR_TRY(m.heads, c.size({"num_attention_heads", "n_head"}));
  WEIR_TRY(m.kv_heads, c.size({"num_key_value_heads"}, m.heads));
  WEIR_TRY(m.head_dim, c.size({"head_dim"}, std::max(1.0, std::floor(m.width / m.heads))));
  WEIR_TRY(m.vocabulary, c.size({"vocab_size"}));
  WEIR_TRY(m.context, c.size({"max_position_embeddings", "n_positions"}));
  WEIR_TRY(const double mlp, c.size({"intermediate_size", "n_inner"}, 4 * m.width));
  if (c.has("num_local_experts") || c.has("n_routed_experts") || c.has("num_experts")) {
    WEIR_TRY(m.experts, c.size({"num_local_experts", "n_routed_experts", "num_experts"}));
    WEIR_TRY(m.experts_used, c.size({"num_experts_per_tok"}, 1));
  }
  if (c.has("kv_lora_rank")) {
    WEIR_TRY(const double latent, c.size({"kv_lora_rank"}));
    WEIR_TRY(const double rope, c.size({"qk_rope_head_dim"}, 64));
    m.kv_latent = latent + rope;
  }
  WEIR_TRY(const double expert_mlp, c.size({"moe_intermediate_size"}, mlp));
  const double embedding = m.vocabulary * m.width * (c.flag("tie_word_embeddings") ? 1 : 2);
  const double attention = m.width * m.head_dim * (2 * m.heads + 2 * m.kv_heads);
  const auto with_experts = [&](double n) {
    return embedding +
           m.layers * (attention + 3 * m.width * (m.experts > 0 ? expert_mlp * n : mlp));
  };
  m.parameters = with_experts(m.experts);
  m.active = with_experts(m.experts_used);
  WEIR_TRY_STATUS(plan::check_model(m, path));
  return m;
}

Result<plan::Model> from_config_file(const std::string& path) {
  constexpr std::size_t kMost = 1 << 20;
  WEIR_TRY(const std::string text, sys::read_file(path, kMost));
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return fail(Code::kInvalidArgument, path + " is no JSON object");
  // Models that see or hear keep the language model's sizes one level down.
  const json::value* language = value.get_object().if_contains("text_config");
  return from_config(
      language != nullptr && language->is_object() ? language->get_object() : value.get_object(),
      path);
}

}  // namespace

Result<std::optional<plan::Model>> model_of_argument(const std::string& text) {
  const bool is_path = text.find('/') != std::string::npos || text.ends_with(".gguf") ||
                       text.ends_with(".safetensors") || text.ends_with(".json") ||
                       text.starts_with("hf:");
  if (!is_path && hub::find_in_catalogue(text) == nullptr) return std::optional<plan::Model>();
  if (text.ends_with(".json")) {
    WEIR_TRY(plan::Model model, from_config_file(text));
    return std::optional<plan::Model>(std::move(model));
  }
  hub::ResolveOptions only_here;
  only_here.allow_pull = false;
  WEIR_TRY(const std::string path, hub::resolve(text, only_here));
  WEIR_TRY(plan::Model model, from_file(path));
  return std::optional<plan::Model>(std::move(model));
}

}  // namespace weir::cli
