#include "weir/text/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <unordered_map>

#include "weir/base/utf8.h"
#include "weir/text/end_of_generation.h"
#include "weir/text/internal/tokenizer_json_steps.h"
#include "weir/text/piece_model.h"
#include "weir/text/tokenizer.h"

namespace weir::text {
namespace {

namespace json = boost::json;
using json_fields::flag;
using json_fields::member;
using json_fields::object;
using json_fields::string;

std::string_view text_of(const json::string& s) { return {s.data(), s.size()}; }

Result<json::value> parse(std::string_view bytes, std::string_view name,
                          json::storage_ptr storage) {
  if (bytes.size() > kMaxTokenizerJsonBytes) {
    return fail(Code::kTooLarge, fmt::format("{} has {} bytes; at most {} are read", name,
                                             bytes.size(), kMaxTokenizerJsonBytes));
  }
  json::parse_options options;
  options.max_depth = 32;
  json::stream_parser parser(std::move(storage), options);
  json::error_code error;
  const std::size_t read = parser.write_some(bytes.data(), bytes.size(), error);
  if (!error) {
    const std::size_t rest = bytes.find_first_not_of(" \t\r\n", read);
    if (rest != std::string_view::npos) error = json::error::extra_data;
  }
  if (!error) parser.finish(error);
  if (error) {
    return fail(Code::kCorrupt, fmt::format("{}: {} at byte {}", name, error.message(), read));
  }
  return parser.release();
}

/// One reading of a tokenizer.json, section by section.
class Reader {
 public:
  Result<Vocabulary> read(const json::value& root, const json::value& config,
                          const json::value& generation) {
    if (!root.is_object()) return fail(Code::kCorrupt, "tokenizer.json is not an object");
    const json::object& all = root.get_object();
    WEIR_TRY_STATUS(read_model(all));
    WEIR_TRY_STATUS(read_added_tokens(all));
    WEIR_TRY(vocabulary_.normalizer, read_normalizer(member(all, "normalizer")));
    WEIR_TRY(Splits splits, read_pre_tokenizer(member(all, "pre_tokenizer")));
    vocabulary_.splits = std::move(splits.steps);
    byte_level_ = byte_level_ || splits.byte_level;
    WEIR_TRY_STATUS(read_decoder(member(all, "decoder"), 0));
    if (is_bpe_ && byte_level_) vocabulary_.kind = TokenizerKind::kByteBpe;
    WEIR_TRY_STATUS(read_post_processor(member(all, "post_processor"), 0));
    WEIR_TRY_STATUS(read_config(config));
    WEIR_TRY_STATUS(read_generation(generation));
    find_end_of_generation(vocabulary_);
    return std::move(vocabulary_);
  }

 private:
  Status put(std::string_view text, std::int64_t id, std::size_t entries) {
    // Files leave few holes between ids; a far one would only be a claim on memory.
    const std::size_t limit = std::min(Tokenizer::kMaxTokens, 2 * entries + 4096);
    if (id < 0 || static_cast<std::uint64_t>(id) >= limit) {
      return fail(Code::kCorrupt,
                  fmt::format("tokenizer.json: token '{}' has id {} among {} tokens",
                              utf8::sanitize(text), id, entries));
    }
    const auto at = static_cast<std::size_t>(id);
    if (at >= vocabulary_.tokens.size()) {
      VocabularyToken hole;
      hole.kind = TokenKind::kUnused;
      vocabulary_.tokens.resize(at + 1, hole);
    }
    VocabularyToken& token = vocabulary_.tokens[at];
    if (!token.text.empty() && token.text != text) {
      return fail(Code::kCorrupt,
                  fmt::format("tokenizer.json: tokens '{}' and '{}' share the id {}",
                              utf8::sanitize(token.text), utf8::sanitize(text), id));
    }
    token.text = text;
    token.kind = TokenKind::kNormal;
    return {};
  }

  [[nodiscard]] std::optional<TokenId> id_of(std::string_view text) {
    if (ids_.size() != vocabulary_.tokens.size()) {
      ids_.clear();
      for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
        ids_.emplace(vocabulary_.tokens[id].text, static_cast<TokenId>(id));
      }
    }
    const auto it = ids_.find(std::string(text));
    return it == ids_.end() ? std::nullopt : std::optional<TokenId>(it->second);
  }

  Status read_model(const json::object& all) {
    const json::object* model = object(all, "model");
    if (model == nullptr) return fail(Code::kCorrupt, "tokenizer.json: no model");
    std::string_view type = string(*model, "type");
    if (type.empty()) type = member(*model, "merges") != nullptr ? "BPE" : "";
    if (type == "BPE") return read_bpe(*model);
    if (type == "Unigram") return read_unigram(*model);
    if (type == "WordPiece") return read_word_piece(*model);
    return fail(Code::kUnsupported,
                fmt::format("tokenizer.json: a model of type '{}' is not supported (BPE, "
                            "Unigram and WordPiece are)",
                            utf8::sanitize(type)));
  }

  Status read_vocab_object(const json::object& model) {
    const json::object* vocab = object(model, "vocab");
    if (vocab == nullptr)
      return fail(Code::kCorrupt, "tokenizer.json: model.vocab is not an object");
    for (const auto& entry : *vocab) {
      const std::string_view text(entry.key().data(), entry.key().size());
      if (!entry.value().is_int64()) {
        return fail(Code::kCorrupt,
                    fmt::format("tokenizer.json: the id of '{}' is not an integer", text));
      }
      WEIR_TRY_STATUS(put(text, entry.value().get_int64(), vocab->size()));
    }
    const std::string_view unknown = string(model, "unk_token");
    if (!unknown.empty()) {
      vocabulary_.unknown = id_of(unknown);
      if (!vocabulary_.unknown) {
        return fail(
            Code::kCorrupt,
            fmt::format("tokenizer.json: unk_token '{}' is not in the vocabulary", unknown));
      }
    }
    return {};
  }

  Status read_bpe(const json::object& model) {
    is_bpe_ = true;
    vocabulary_.kind = TokenizerKind::kCharBpe;
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (!string(model, name).empty()) {
        return fail(Code::kUnsupported,
                    fmt::format("tokenizer.json: BPE with a {} is not supported", name));
      }
    }
    WEIR_TRY_STATUS(read_vocab_object(model));
    vocabulary_.fuse_unknown = flag(model, "fuse_unk", false);
    vocabulary_.byte_fallback = flag(model, "byte_fallback", false);
    vocabulary_.ignore_merges = flag(model, "ignore_merges", false);
    const json::value* merges = member(model, "merges");
    if (merges == nullptr || !merges->is_array())
      return fail(Code::kCorrupt, "tokenizer.json: model.merges is not an array");
    for (const json::value& merge : merges->get_array()) {
      std::string_view left, right;
      if (merge.is_string()) {
        const std::string_view both = text_of(merge.get_string());
        const std::size_t space = both.find(' ');
        if (space != std::string_view::npos) {
          left = both.substr(0, space);
          right = both.substr(space + 1);
        }
      } else if (merge.is_array() && merge.get_array().size() == 2 &&
                 merge.get_array()[0].is_string() && merge.get_array()[1].is_string()) {
        left = text_of(merge.get_array()[0].get_string());
        right = text_of(merge.get_array()[1].get_string());
      }
      if (left.empty() || right.empty()) {
        return fail(Code::kCorrupt, fmt::format("tokenizer.json: merge {} is not two texts",
                                                vocabulary_.merges.size()));
      }
      vocabulary_.merges.emplace_back(left, right);
    }
    mark_bytes();
    return {};
  }

  void mark_bytes() {
    if (!vocabulary_.byte_fallback) return;
    for (VocabularyToken& token : vocabulary_.tokens) {
      if (byte_of_token(token.text) >= 0) token.kind = TokenKind::kByte;
    }
  }

  Status read_unigram(const json::object& model) {
    vocabulary_.kind = TokenizerKind::kUnigram;
    vocabulary_.byte_fallback = flag(model, "byte_fallback", false);
    const json::value* vocab = member(model, "vocab");
    if (vocab == nullptr || !vocab->is_array())
      return fail(Code::kCorrupt, "tokenizer.json: model.vocab is not an array");
    for (const json::value& entry : vocab->get_array()) {
      const std::size_t id = vocabulary_.tokens.size();
      if (!entry.is_array() || entry.get_array().size() != 2 || !entry.get_array()[0].is_string() ||
          !entry.get_array()[1].is_number()) {
        return fail(Code::kCorrupt,
                    fmt::format("tokenizer.json: token {} is not a text and a score", id));
      }
      VocabularyToken token;
      token.text = text_of(entry.get_array()[0].get_string());
      token.score = entry.get_array()[1].to_number<double>();
      vocabulary_.tokens.push_back(std::move(token));
    }
    const json::value* unknown = member(model, "unk_id");
    if (unknown != nullptr && !unknown->is_null()) {
      if (!unknown->is_int64() || unknown->get_int64() < 0 ||
          static_cast<std::uint64_t>(unknown->get_int64()) >= vocabulary_.tokens.size()) {
        return fail(Code::kCorrupt, "tokenizer.json: unk_id is outside the vocabulary");
      }
      vocabulary_.unknown = static_cast<TokenId>(unknown->get_int64());
      vocabulary_.tokens[static_cast<std::size_t>(*vocabulary_.unknown)].kind = TokenKind::kUnknown;
    }
    mark_bytes();
    return {};
  }

  Status read_word_piece(const json::object& model) {
    vocabulary_.kind = TokenizerKind::kWordPiece;
    WEIR_TRY_STATUS(read_vocab_object(model));
    if (member(model, "continuing_subword_prefix") != nullptr) {
      vocabulary_.continuation = string(model, "continuing_subword_prefix");
    }
    const json::value* most = member(model, "max_input_chars_per_word");
    if (most != nullptr && most->is_int64() && most->get_int64() > 0) {
      vocabulary_.max_word_characters =
          static_cast<std::uint32_t>(std::min<std::int64_t>(most->get_int64(), 4096));
    }
    return {};
  }

  Status read_added_tokens(const json::object& all) {
    const json::value* list = member(all, "added_tokens");
    if (list == nullptr || list->is_null()) return {};
    if (!list->is_array())
      return fail(Code::kCorrupt, "tokenizer.json: added_tokens is not an array");
    const std::size_t entries = vocabulary_.tokens.size() + list->get_array().size();
    for (const json::value& entry : list->get_array()) {
      const json::object* added = entry.if_object();
      const json::value* id = added == nullptr ? nullptr : member(*added, "id");
      if (id == nullptr || !id->is_int64() || string(*added, "content").empty()) {
        return fail(Code::kCorrupt, "tokenizer.json: an added token lacks its id or content");
      }
      WEIR_TRY_STATUS(put(string(*added, "content"), id->get_int64(), entries));
      VocabularyToken& token = vocabulary_.tokens[static_cast<std::size_t>(id->get_int64())];
      token.kind = flag(*added, "special", false) ? TokenKind::kControl : TokenKind::kUserDefined;
      token.strip_left = flag(*added, "lstrip", false);
      token.strip_right = flag(*added, "rstrip", false);
      token.single_word = flag(*added, "single_word", false);
      token.normalized = flag(*added, "normalized", false);
    }
    return {};
  }

  Status read_decoder(const json::value* value, int depth) {
    if (value == nullptr || value->is_null()) return {};
    const json::object* decoder = value->if_object();
    if (decoder == nullptr || depth > 4)
      return fail(Code::kCorrupt, "tokenizer.json: the decoder is not an object");
    const std::string_view type = string(*decoder, "type");
    if (type == "Sequence") {
      const json::value* list = member(*decoder, "decoders");
      if (list == nullptr || !list->is_array())
        return fail(Code::kCorrupt, "tokenizer.json: decoders is not an array");
      for (const json::value& each : list->get_array())
        WEIR_TRY_STATUS(read_decoder(&each, depth + 1));
      return {};
    }
    if (type == "ByteLevel") {
      byte_level_ = true;
    } else if (type == "Metaspace") {
      vocabulary_.meta_space = true;
      const std::string_view scheme = string(*decoder, "prepend_scheme");
      vocabulary_.strip_prefix =
          scheme.empty() ? flag(*decoder, "add_prefix_space", true) : scheme != "never";
    } else if (type == "Replace") {
      const json::object* pattern = object(*decoder, "pattern");
      if (pattern == nullptr || string(*pattern, "String") != "\xE2\x96\x81" ||
          string(*decoder, "content") != " ") {
        return fail(Code::kUnsupported,
                    "tokenizer.json: a decoder that replaces anything but U+2581 by a space");
      }
      vocabulary_.meta_space = true;
    } else if (type == "Strip") {
      const json::value* start = member(*decoder, "start");
      const json::value* stop = member(*decoder, "stop");
      const bool one_space = string(*decoder, "content") == " " && start != nullptr &&
                             start->is_int64() && start->get_int64() == 1 && stop != nullptr &&
                             stop->is_int64() && stop->get_int64() == 0;
      if (!one_space)
        return fail(Code::kUnsupported,
                    "tokenizer.json: a decoder that strips more than one leading space");
      vocabulary_.strip_prefix = true;
    } else if (type == "WordPiece") {
      vocabulary_.clean_up = flag(*decoder, "cleanup", true);
    } else if (type != "ByteFallback" && type != "Fuse") {
      return fail(Code::kUnsupported, fmt::format("tokenizer.json: decoder '{}' is not supported",
                                                  utf8::sanitize(type)));
    }
    return {};
  }

  Status add_begin(std::optional<TokenId> id) {
    if (!id || vocabulary_.add_bos) {
      return fail(
          Code::kUnsupported,
          "tokenizer.json: the post-processor puts more than one known token before a text");
    }
    vocabulary_.bos = id;
    vocabulary_.add_bos = true;
    return {};
  }

  Status add_end(std::optional<TokenId> id) {
    if (!id || vocabulary_.add_eos) {
      return fail(Code::kUnsupported,
                  "tokenizer.json: the post-processor puts more than one known token after a text");
    }
    vocabulary_.eos = id;
    vocabulary_.add_eos = true;
    return {};
  }

  Status read_post_processor(const json::value* value, int depth) {
    if (value == nullptr || value->is_null()) return {};
    const json::object* post = value->if_object();
    if (post == nullptr || depth > 4)
      return fail(Code::kCorrupt, "tokenizer.json: the post_processor is not an object");
    const std::string_view type = string(*post, "type");
    if (type == "ByteLevel") return {};
    if (type == "Sequence") {
      const json::value* list = member(*post, "processors");
      if (list == nullptr || !list->is_array())
        return fail(Code::kCorrupt, "tokenizer.json: processors is not an array");
      for (const json::value& each : list->get_array())
        WEIR_TRY_STATUS(read_post_processor(&each, depth + 1));
      return {};
    }
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      const auto named = [&](const char* name) -> std::optional<TokenId> {
        const json::value* pair = member(*post, name);
        if (pair == nullptr || !pair->is_array() || pair->get_array().empty() ||
            !pair->get_array()[0].is_string())
          return std::nullopt;
        return id_of(text_of(pair->get_array()[0].get_string()));
      };
      WEIR_TRY_STATUS(add_begin(named("cls")));
      return add_end(named("sep"));
    }
    if (type != "TemplateProcessing") {
      return fail(Code::kUnsupported,
                  fmt::format("tokenizer.json: post-processor '{}' is not supported",
                              utf8::sanitize(type)));
    }
    const json::value* single = member(*post, "single");
    if (single == nullptr || !single->is_array())
      return fail(Code::kCorrupt, "tokenizer.json: the template 'single' is not an array");
    bool text_seen = false;
    for (const json::value& item : single->get_array()) {
      const json::object* piece = item.if_object();
      if (piece == nullptr)
        return fail(Code::kCorrupt, "tokenizer.json: a template item is not an object");
      if (object(*piece, "Sequence") != nullptr) {
        text_seen = true;
      } else if (const json::object* special = object(*piece, "SpecialToken")) {
        const auto id = id_of(string(*special, "id"));
        WEIR_TRY_STATUS(text_seen ? add_end(id) : add_begin(id));
      }
    }
    return {};
  }

  Status read_config(const json::value& config) {
    const json::object* all = config.if_object();
    if (all == nullptr) return {};
    const auto named = [&](const char* name) -> std::optional<TokenId> {
      const json::value* value = member(*all, name);
      if (value == nullptr) return std::nullopt;
      if (value->is_string()) return id_of(text_of(value->get_string()));
      if (value->is_object()) return id_of(string(value->get_object(), "content"));
      return std::nullopt;
    };
    const auto fill = [](std::optional<TokenId>& slot, std::optional<TokenId> id) {
      if (!slot) slot = id;
    };
    // A template that begins with [CLS] has already said what stands before a text.
    fill(vocabulary_.bos, named("bos_token"));
    fill(vocabulary_.eos, named("eos_token"));
    fill(vocabulary_.pad, named("pad_token"));
    fill(vocabulary_.separator, named("sep_token"));
    fill(vocabulary_.classifier, named("cls_token"));
    fill(vocabulary_.unknown, named("unk_token"));
    if (const auto eos = named("eos_token")) vocabulary_.end_of_generation.push_back(*eos);
    return {};
  }

  Status read_generation(const json::value& generation) {
    const json::object* all = generation.if_object();
    const json::value* ends = all == nullptr ? nullptr : member(*all, "eos_token_id");
    if (ends == nullptr) return {};
    const auto add = [&](const json::value& id) {
      if (!id.is_int64() || id.get_int64() < 0 ||
          static_cast<std::uint64_t>(id.get_int64()) >= vocabulary_.tokens.size())
        return;
      const auto end = static_cast<TokenId>(id.get_int64());
      auto& list = vocabulary_.end_of_generation;
      if (std::find(list.begin(), list.end(), end) == list.end()) list.push_back(end);
    };
    if (ends->is_array()) {
      for (const json::value& id : ends->get_array()) add(id);
    } else {
      add(*ends);
    }
    return {};
  }

  Vocabulary vocabulary_;
  bool is_bpe_ = false;
  bool byte_level_ = false;
  std::unordered_map<std::string, TokenId> ids_;
};

}  // namespace

Result<Vocabulary> read_tokenizer_json(std::string_view bytes, std::string_view config,
                                       std::string_view generation) {
  // One arena for the whole DOM: it is read once and dropped.
  json::monotonic_resource arena;
  WEIR_TRY(const json::value root, parse(bytes, "tokenizer.json", &arena));
  json::value config_value, generation_value;
  if (!config.empty()) {
    WEIR_TRY(config_value, parse(config, "tokenizer_config.json", {}));
  }
  if (!generation.empty()) {
    WEIR_TRY(generation_value, parse(generation, "generation_config.json", {}));
  }
  return Reader().read(root, config_value, generation_value);
}

}  // namespace weir::text
