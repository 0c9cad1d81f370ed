#include "weir/text/pretokenizer_families.h"

#include <algorithm>
#include <array>

namespace weir::text {

namespace {

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";

template <std::size_t N>
bool among(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

SplitStep isolate(std::string_view pattern) {
  SplitStep step;
  step.pattern = pattern;
  return step;
}

}  // namespace

std::optional<PretokenizerFamily> pretokenizer_family(std::string_view name) {
  constexpr std::array<std::string_view, 6> kGpt2Names = {"gpt-2",   "phi-2",      "jina-es",
                                                          "jina-de", "jina-v2-es", "jina-v2-de"};
  constexpr std::array<std::string_view, 2> kNeoxNames = {"mpt",
                                                          "olmo"};  // GPT-2's cuts after NFC.
  constexpr std::array<std::string_view, 4> kLlama3Names = {"llama3", "llama-v3", "llama-bpe",
                                                            "falcon3"};
  constexpr std::array<std::string_view, 2> kQwenNames = {"deepseek-r1-qwen", "stablelm2"};
  constexpr std::array<std::string_view, 5> kDigitsNames = {"smollm", "starcoder", "refact",
                                                            "command-r", "codeshell"};
  PretokenizerFamily family;
  if (among(name, kGpt2Names)) {
    family.splits = {isolate(kGpt2Pattern)};
  } else if (among(name, kNeoxNames)) {
    family.splits = {isolate(kGpt2Pattern)};
    family.nfc = true;
  } else if (among(name, kLlama3Names)) {
    family.splits = {isolate(kLlama3)};
    family.ignore_merges = true;
    family.add_bos = true;
  } else if (name == "qwen2") {
    family.splits = {isolate(kQwen2)};
    family.nfc = true;
  } else if (among(name, kQwenNames)) {
    family.splits = {isolate(kQwen2)};
  } else if (among(name, kDigitsNames)) {
    family.splits = {isolate(kDigit), isolate(kGpt2Pattern)};
  } else {
    return std::nullopt;
  }
  return family;
}

}  // namespace weir::text
