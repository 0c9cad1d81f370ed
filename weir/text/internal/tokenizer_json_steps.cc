#include "weir/text/internal/tokenizer_json_steps.h"

#include <fmt/format.h>

#include <array>

#include "weir/base/utf8.h"
#include "weir/text/pretokenizer_families.h"

namespace weir::text {

namespace json = boost::json;

namespace json_fields {

const json::value* member(const json::object& from, std::string_view name) {
  return from.if_contains(name);
}

const json::object* object(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view string(const json::object& from, std::string_view name) {
  const json::value* value = from.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

bool flag(const json::object& from, std::string_view name, bool otherwise) {
  const json::value* value = from.if_contains(name);
  const bool* set = value == nullptr ? nullptr : value->if_bool();
  return set == nullptr ? otherwise : *set;
}

}  // namespace json_fields

namespace {

using json_fields::flag;
using json_fields::member;
using json_fields::object;
using json_fields::string;

constexpr int kMaxNesting = 8;  // Of Sequences; real files have one.
constexpr std::string_view kMetaSpace = "\xE2\x96\x81";
constexpr std::string_view kPunctuation =
    R"([!-/:-@\[-`{-~\p{P}])";  // ASCII punctuation or category P.
constexpr std::string_view kWhiteSpace = R"(\s)";

std::unexpected<Error> unsupported(std::string_view what, std::string_view type) {
  return fail(Code::kUnsupported,
              fmt::format("tokenizer.json: {} '{}' is not supported", what, utf8::sanitize(type)));
}

/// A regular expression that matches exactly `literal`.
std::string quoted(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (static_cast<unsigned char>(c) < 0x80 && !(c >= '0' && c <= '9') &&
        !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) {
      out += fmt::format("\\x{{{:x}}}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

Result<std::string> base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (value < 0)
      return fail(Code::kCorrupt, "tokenizer.json: precompiled_charsmap is not base64");
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFFFF;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xFF);
    }
  }
  return out;
}

Status add_normalizer(const json::value& value, int depth, std::vector<NormalizerStep>& steps) {
  const json::object* all = value.if_object();
  if (all == nullptr || depth > kMaxNesting)
    return fail(Code::kCorrupt, "tokenizer.json: a normalizer is not an object");
  const std::string_view type = string(*all, "type");
  if (type == "Sequence") {
    const json::value* list = member(*all, "normalizers");
    if (list == nullptr || !list->is_array())
      return fail(Code::kCorrupt, "tokenizer.json: normalizers is not an array");
    for (const json::value& each : list->get_array())
      WEIR_TRY_STATUS(add_normalizer(each, depth + 1, steps));
    return {};
  }
  using Kind = NormalizerStep::Kind;
  constexpr std::array<std::pair<std::string_view, Kind>, 7> kPlain = {
      {{"NFC", Kind::kNfc},
       {"NFD", Kind::kNfd},
       {"NFKC", Kind::kNfkc},
       {"NFKD", Kind::kNfkd},
       {"Lowercase", Kind::kLowercase},
       {"StripAccents", Kind::kStripAccents},
       {"Nmt", Kind::kNmt}}};
  NormalizerStep step;
  for (const auto& [name, kind] : kPlain) {
    if (type != name) continue;
    step.kind = kind;
    steps.push_back(step);
    return {};
  }
  if (type == "BertNormalizer") {
    step.kind = Kind::kBert;
    step.clean_text = flag(*all, "clean_text", true);
    step.chinese_spaces = flag(*all, "handle_chinese_chars", true);
    step.lowercase = flag(*all, "lowercase", true);
    step.strip_accents = flag(*all, "strip_accents", step.lowercase);
  } else if (type == "Prepend") {
    step.kind = Kind::kPrepend;
    step.content = string(*all, "prepend");
  } else if (type == "Strip") {
    step.kind = Kind::kStrip;
    step.left = flag(*all, "strip_left", true);
    step.right = flag(*all, "strip_right", true);
  } else if (type == "Replace") {
    const json::object* pattern = object(*all, "pattern");
    if (pattern == nullptr)
      return fail(Code::kCorrupt, "tokenizer.json: a Replace normalizer without a pattern");
    const bool literal = member(*pattern, "String") != nullptr;
    step.kind = literal ? Kind::kReplace : Kind::kReplacePattern;
    step.pattern = string(*pattern, literal ? "String" : "Regex");
    step.content = string(*all, "content");
  } else if (type == "Precompiled") {
    step.kind = Kind::kSentencePiece;
    WEIR_TRY(step.pattern, base64(string(*all, "precompiled_charsmap")));
    if (step.pattern.empty()) return {};
  } else {
    return unsupported("normalizer", type);
  }
  steps.push_back(std::move(step));
  return {};
}

Result<SplitStep::Behavior> behavior_of(std::string_view name) {
  using Behavior = SplitStep::Behavior;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return unsupported("split behaviour", name);
}

Status add_split(const json::value& value, int depth, Splits& splits) {
  const json::object* all = value.if_object();
  if (all == nullptr || depth > kMaxNesting)
    return fail(Code::kCorrupt, "tokenizer.json: a pre_tokenizer is not an object");
  const std::string_view type = string(*all, "type");
  if (type == "Sequence") {
    const json::value* list = member(*all, "pretokenizers");
    if (list == nullptr || !list->is_array())
      return fail(Code::kCorrupt, "tokenizer.json: pretokenizers is not an array");
    for (const json::value& each : list->get_array())
      WEIR_TRY_STATUS(add_split(each, depth + 1, splits));
    return {};
  }
  if (splits.byte_level) return unsupported("a pre-tokenizer after ByteLevel,", type);
  using Behavior = SplitStep::Behavior;
  const auto add = [&](std::string_view pattern, Behavior behavior, bool invert = false) {
    SplitStep step;
    step.pattern = pattern;
    step.behavior = behavior;
    step.invert = invert;
    splits.steps.push_back(std::move(step));
  };
  if (type == "ByteLevel") {
    splits.byte_level = true;
    if (flag(*all, "add_prefix_space", true)) {
      SplitStep step;
      step.kind = SplitStep::Kind::kPrefixSpace;
      splits.steps.push_back(std::move(step));
    }
    if (flag(*all, "use_regex", true)) add(kGpt2Pattern, Behavior::kIsolated);
  } else if (type == "Split") {
    const json::object* pattern = object(*all, "pattern");
    if (pattern == nullptr)
      return fail(Code::kCorrupt, "tokenizer.json: a Split pre-tokenizer without a pattern");
    WEIR_TRY(const Behavior behavior, behavior_of(string(*all, "behavior")));
    const bool literal = member(*pattern, "String") != nullptr;
    add(literal ? quoted(string(*pattern, "String")) : std::string(string(*pattern, "Regex")),
        behavior, flag(*all, "invert", false));
    if (splits.steps.back().pattern.empty())
      return fail(Code::kCorrupt, "tokenizer.json: a Split pre-tokenizer with an empty pattern");
  } else if (type == "Digits") {
    const bool each = flag(*all, "individual_digits", false);
    add(R"(\p{N})", each ? Behavior::kIsolated : Behavior::kContiguous);
  } else if (type == "Punctuation") {
    const std::string_view name = string(*all, "behavior");
    WEIR_TRY(const Behavior behavior, behavior_of(name.empty() ? "Isolated" : name));
    add(kPunctuation, behavior);
  } else if (type == "Whitespace") {
    // Rust's \w has the two joiners, Oniguruma's has not.
    add(R"([\w\x{200c}\x{200d}]+|[^\w\s\x{200c}\x{200d}]+)", Behavior::kRemoved, true);
  } else if (type == "WhitespaceSplit") {
    add(kWhiteSpace, Behavior::kRemoved);
  } else if (type == "BertPreTokenizer") {
    add(kWhiteSpace, Behavior::kRemoved);
    add(kPunctuation, Behavior::kIsolated);
  } else if (type == "CharDelimiterSplit") {
    add(quoted(string(*all, "delimiter")), Behavior::kRemoved);
    if (splits.steps.back().pattern.empty())
      return fail(Code::kCorrupt, "tokenizer.json: a CharDelimiterSplit without a delimiter");
  } else if (type == "Metaspace") {
    const std::string_view replacement = string(*all, "replacement");
    if (!replacement.empty() && replacement != kMetaSpace)
      return unsupported("Metaspace's replacement", replacement);
    SplitStep step;
    step.kind = SplitStep::Kind::kMetaspace;
    step.cut = flag(*all, "split", true);
    const std::string_view scheme = string(*all, "prepend_scheme");
    const bool prefix = scheme.empty() ? flag(*all, "add_prefix_space", true) : scheme == "always";
    step.prefix = prefix ? SplitStep::Prefix::kAlways : SplitStep::Prefix::kNever;
    if (scheme == "first") step.prefix = SplitStep::Prefix::kFirst;
    splits.steps.push_back(std::move(step));
  } else {
    return unsupported("pre-tokenizer", type);
  }
  return {};
}

}  // namespace

Result<std::vector<NormalizerStep>> read_normalizer(const json::value* value) {
  std::vector<NormalizerStep> steps;
  if (value != nullptr && !value->is_null()) WEIR_TRY_STATUS(add_normalizer(*value, 0, steps));
  return steps;
}

Result<Splits> read_pre_tokenizer(const json::value* value) {
  Splits splits;
  if (value != nullptr && !value->is_null()) WEIR_TRY_STATUS(add_split(*value, 0, splits));
  return splits;
}

}  // namespace weir::text
