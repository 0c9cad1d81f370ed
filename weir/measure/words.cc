#include "weir/measure/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "weir/base/random.h"
#include "weir/measure/random_draw.h"

namespace weir::measure {
namespace {

constexpr std::array<std::string_view, 256> kWords = {
    "time",        "year",        "people",     "way",        "day",          "man",
    "thing",       "woman",       "life",       "child",      "world",        "school",
    "state",       "family",      "student",    "group",      "country",      "problem",
    "hand",        "part",        "place",      "case",       "week",         "company",
    "system",      "program",     "question",   "work",       "government",   "number",
    "night",       "point",       "home",       "water",      "room",         "mother",
    "area",        "money",       "story",      "fact",       "month",        "lot",
    "right",       "study",       "book",       "eye",        "job",          "word",
    "business",    "issue",       "side",       "kind",       "head",         "house",
    "service",     "friend",      "father",     "power",      "hour",         "game",
    "line",        "end",         "member",     "law",        "car",          "city",
    "community",   "name",        "president",  "team",       "minute",       "idea",
    "body",        "information", "back",       "parent",     "face",         "others",
    "level",       "office",      "door",       "health",     "person",       "art",
    "war",         "history",     "party",      "result",     "change",       "morning",
    "reason",      "research",    "girl",       "guy",        "moment",       "air",
    "teacher",     "force",       "education",  "foot",       "boy",          "age",
    "policy",      "process",     "music",      "market",     "sense",        "nation",
    "plan",        "college",     "interest",   "death",      "experience",   "effect",
    "use",         "class",       "control",    "field",      "development",  "role",
    "effort",      "rate",        "heart",      "drug",       "show",         "leader",
    "light",       "voice",       "wife",       "police",     "mind",         "price",
    "report",      "decision",    "son",        "view",       "relationship", "town",
    "road",        "arm",         "difference", "value",      "building",     "action",
    "season",      "society",     "tax",        "director",   "position",     "player",
    "record",      "paper",       "space",      "ground",     "form",         "event",
    "matter",      "center",      "couple",     "site",       "project",      "activity",
    "star",        "table",       "need",       "court",      "oil",          "situation",
    "cost",        "industry",    "figure",     "street",     "image",        "phone",
    "data",        "picture",     "practice",   "piece",      "land",         "product",
    "doctor",      "wall",        "news",       "test",       "movie",        "north",
    "love",        "step",        "support",    "technology", "south",        "summer",
    "river",       "century",     "evidence",   "west",       "window",       "culture",
    "chance",      "brother",     "energy",     "period",     "course",       "plant",
    "opportunity", "term",        "letter",     "condition",  "choice",       "rule",
    "daughter",    "color",       "floor",      "sea",        "model",        "language",
    "island",      "garden",      "bridge",     "forest",     "mountain",     "winter",
    "spring",      "stone",       "glass",      "silver",     "gold",         "iron",
    "bread",       "milk",        "sugar",      "salt",       "fruit",        "apple",
    "horse",       "bird",        "fish",       "dog",        "cat",          "tree",
    "leaf",        "root",        "seed",       "wind",       "rain",         "snow",
    "storm",       "fire",        "smoke",      "sand",       "clock",        "watch",
    "chair",       "bed",         "desk",       "lamp",
};

}  // namespace

void append_words(std::string& out, std::uint64_t seed, std::uint32_t words) {
  constexpr std::uint32_t kPerDraw = 16;  // Philox gives 16 bytes, a byte names a word.
  for (std::uint32_t i = 0; i < words; i += kPerDraw) {
    const auto draw = philox(seed, i / kPerDraw, static_cast<std::uint64_t>(Stream::kWords));
    for (std::uint32_t j = 0; j < std::min(kPerDraw, words - i); ++j) {
      out += ' ';
      out += kWords[draw[j / 4] >> (j % 4 * 8) & 0xFF];
    }
  }
}

std::string prompt_text(std::span<const PromptPart> parts, const TextScale& scale) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double tokens = parts[i].tokens - (i + 1 == parts.size() ? scale.overhead : 0);
    append_words(
        text, parts[i].seed,
        static_cast<std::uint32_t>(std::max(1.0, std::round(tokens / scale.tokens_per_word))));
  }
  if (!text.empty()) text.erase(0, 1);
  return text;
}

TextScale fit_scale(std::uint32_t words_a, std::uint32_t tokens_a, std::uint32_t words_b,
                    std::uint32_t tokens_b) {
  if (tokens_b <= tokens_a || words_b <= words_a) return {};
  TextScale scale;
  scale.tokens_per_word =
      static_cast<double>(tokens_b - tokens_a) / static_cast<double>(words_b - words_a);
  scale.overhead = std::max(0.0, tokens_a - scale.tokens_per_word * words_a);
  return scale;
}

}  // namespace weir::measure
