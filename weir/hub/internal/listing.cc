#include "weir/hub/internal/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>

#include "weir/hub/names.h"

namespace weir::hub {
namespace {

namespace json = boost::json;

/// The largest repositories of the hub hold some thousands.
constexpr std::size_t kMaxFiles = 20'000;
/// So many alternatives a message lists.
constexpr std::size_t kMaxNamed = 12;

/// Best first: quality for size as one would choose by hand for a first try.
constexpr std::array<std::string_view, 20> kQuantisations{
    "q4_k_m", "q4_k_s", "q4_0",   "q4_1",   "iq4_nl", "q5_k_m", "q5_k_s", "q5_0", "q5_1", "q6_k",
    "q8_0",   "q3_k_l", "q3_k_m", "q3_k_s", "q2_k",   "bf16",   "f16",    "fp16", "f32",  "fp32"};

/// What a Transformers or Sentence-Transformers folder may need beside its weights.
constexpr std::array<std::string_view, 16> kCompanions{"config.json",
                                                       "generation_config.json",
                                                       "tokenizer.json",
                                                       "tokenizer_config.json",
                                                       "tokenizer.model",
                                                       "special_tokens_map.json",
                                                       "added_tokens.json",
                                                       "vocab.json",
                                                       "vocab.txt",
                                                       "merges.txt",
                                                       "chat_template.jinja",
                                                       "chat_template.json",
                                                       "modules.json",
                                                       "sentence_bert_config.json",
                                                       "config_sentence_transformers.json",
                                                       "1_Pooling/config.json"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/// Whether `tag` stands in the name as a word of its own: "q4_0" does in "x-q4_0.gguf", not in
/// "xq4_01".
bool has_tag(const std::string& name, std::string_view tag) {
  for (auto at = name.find(tag); at != std::string::npos; at = name.find(tag, at + 1)) {
    const bool starts = at == 0 || !is_word(name[at - 1]);
    const bool ends = at + tag.size() == name.size() || !is_word(name[at + tag.size()]);
    if (starts && ends) return true;
  }
  return false;
}

/// "x-00001-of-00003.gguf"
bool is_shard(const std::string& name) { return name.find("-of-0") != std::string::npos; }

std::vector<std::string> gguf_models(const std::vector<std::string>& files) {
  std::vector<std::string> out;
  for (const auto& file : files) {
    const std::string name = lower(file);
    // Vision projectors are no language models.
    if (name.ends_with(".gguf") && !is_shard(name) && name.find("mmproj") == std::string::npos)
      out.push_back(file);
  }
  std::ranges::sort(out);
  return out;
}

std::string named(const std::vector<std::string>& files) {
  std::string out;
  for (std::size_t i = 0; i < files.size() && i < kMaxNamed; ++i) {
    out += fmt::format("{}{}", i == 0 ? "" : ", ", escape_controls(files[i].substr(0, 120)));
  }
  if (files.size() > kMaxNamed) out += fmt::format(" and {} more", files.size() - kMaxNamed);
  return out;
}

Result<Choice> single(const std::string& file) {
  WEIR_TRY_STATUS(check_relative_path(file));
  return Choice{{file}, file};
}

Result<Choice> by_name(const std::vector<std::string>& files, const std::string& wanted) {
  if (std::ranges::find(files, wanted) != files.end()) return single(wanted);
  std::vector<std::string_view> names(files.begin(), files.end());
  const auto near = nearest(wanted, names);
  return fail(Code::kNotFound, near.empty()
                                   ? fmt::format("the repository has no file {}; its models: {}",
                                                 wanted, named(gguf_models(files)))
                                   : fmt::format("the repository has no file {}; did you mean {}?",
                                                 wanted, escape_controls(near)));
}

Result<Choice> by_tag(const std::vector<std::string>& ggufs, const std::string& wanted) {
  std::vector<std::string> matching;
  for (const auto& file : ggufs) {
    if (has_tag(lower(file), lower(wanted))) matching.push_back(file);
  }
  if (matching.size() == 1) return single(matching[0]);
  if (matching.empty()) {
    return fail(Code::kNotFound, fmt::format("no GGUF file of the repository is {}; it has: {}",
                                             wanted, named(ggufs)));
  }
  return fail(Code::kInvalidArgument,
              fmt::format("several files are {}: {}; name one in full", wanted, named(matching)));
}

Result<Choice> best_gguf(const std::vector<std::string>& ggufs) {
  if (ggufs.size() == 1) return single(ggufs[0]);
  for (const auto tag : kQuantisations) {
    std::vector<std::string> matching;
    for (const auto& file : ggufs) {
      if (has_tag(lower(file), tag)) matching.push_back(file);
    }
    if (matching.size() == 1) return single(matching[0]);
    if (matching.size() > 1) break;  // several models in one repository: a person must say which
  }
  return fail(Code::kInvalidArgument,
              fmt::format("the repository has several models; name one, hf:OWNER/REPO:FILE: {}",
                          named(ggufs)));
}

Result<Choice> safetensors(const std::vector<std::string>& files) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(files, name) != files.end();
  };
  Choice choice;
  for (const auto& file : files) {
    const bool shard =
        file.starts_with("model-0") && is_shard(file) && file.ends_with(".safetensors");
    if (file == "model.safetensors" || (shard && !has("model.safetensors")))
      choice.files.push_back(file);
  }
  if (choice.files.empty()) {
    return fail(Code::kNotFound, "the repository has neither a GGUF file nor model.safetensors");
  }
  if (!has("config.json"))
    return fail(Code::kNotFound, "the repository has weights but no config.json");
  if (!has("model.safetensors")) {
    if (!has("model.safetensors.index.json")) {
      return fail(Code::kNotFound,
                  "the repository has shards of weights but no model.safetensors.index.json");
    }
    choice.files.emplace_back("model.safetensors.index.json");
  }
  for (const auto name : kCompanions) {
    if (has(name)) choice.files.emplace_back(name);
  }
  for (const auto& file : choice.files) WEIR_TRY_STATUS(check_relative_path(file));
  return choice;
}

}  // namespace

Result<Listing> parse_listing(std::string_view text) {
  const auto bad = [](std::string_view why) {
    return fail(Code::kCorrupt, fmt::format("the hub's list of files cannot be read: {}", why));
  };
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error) return bad(error.message());
  const auto* object = value.if_object();
  const auto* sha = object != nullptr ? object->if_contains("sha") : nullptr;
  const auto* siblings = object != nullptr ? object->if_contains("siblings") : nullptr;
  if (sha == nullptr || !sha->is_string() || siblings == nullptr || !siblings->is_array()) {
    return bad("no sha or no siblings in it");
  }
  Listing listing;
  listing.commit = std::string(sha->get_string());
  if (listing.commit.size() != 40 ||
      listing.commit.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return bad("its sha is no commit");
  }
  if (siblings->get_array().size() > kMaxFiles)
    return bad(fmt::format("more than {} files", kMaxFiles));
  for (const auto& sibling : siblings->get_array()) {
    const auto* entry = sibling.if_object();
    const auto* name = entry != nullptr ? entry->if_contains("rfilename") : nullptr;
    if (name == nullptr || !name->is_string()) return bad("a file without a name");
    listing.files.emplace_back(name->get_string());
  }
  return listing;
}

Result<Choice> choose(const std::vector<std::string>& files, const std::string& wanted) {
  if (wanted.find('.') != std::string::npos) return by_name(files, wanted);
  const auto ggufs = gguf_models(files);
  if (!wanted.empty()) return by_tag(ggufs, wanted);
  if (!ggufs.empty()) return best_gguf(ggufs);
  return safetensors(files);
}

}  // namespace weir::hub
