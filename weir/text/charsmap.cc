#include "weir/text/charsmap.h"

#include <fmt/format.h>

#include "weir/base/utf8.h"

namespace weir::text {
namespace {

// A unit of the double array (darts-clone): bit 31 marks a leaf's value, bit 8 says that a leaf
// hangs here, bits 0-7 are the label, bits 10-30 the offset (shifted by 8 when bit 9 is set).
constexpr bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) == 1; }
constexpr std::uint32_t value(std::uint32_t unit) { return unit & 0x7FFFFFFF; }
constexpr std::uint32_t label(std::uint32_t unit) { return unit & 0x800000FF; }
constexpr std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }

constexpr std::size_t kLongestReplacement = 64;  // SentencePiece's own rules stay under 20 bytes.

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t v = 0;
  for (std::size_t i = 4; i-- > 0;) v = v << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return v;
}

}  // namespace

Result<CharsMap> CharsMap::parse(std::string_view bytes) {
  if (bytes.size() < 4) return fail(Code::kCorrupt, "the precompiled normalizer map is cut short");
  const std::uint32_t trie_bytes = little_endian(bytes, 0);
  if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > bytes.size() - 4) {
    return fail(Code::kCorrupt,
                fmt::format("the precompiled normalizer map claims a trie of {} bytes in {}",
                            trie_bytes, bytes.size()));
  }
  CharsMap map;
  for (std::size_t i = 0; i < trie_bytes; i += 4) map.units_.push_back(little_endian(bytes, 4 + i));
  map.texts_ = std::string(bytes.substr(4 + trie_bytes));
  if (utf8::find_invalid(map.texts_) != std::string::npos) {
    return fail(Code::kCorrupt, "the precompiled normalizer map holds invalid UTF-8");
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= map.texts_.size(); ++i) {
    if (i < map.texts_.size() && map.texts_[i] != '\0') continue;
    if (i - begin > kLongestReplacement) {
      return fail(
          Code::kCorrupt,
          fmt::format("the precompiled normalizer map replaces by {} bytes; at most {} are read",
                      i - begin, kLongestReplacement));
    }
    begin = i + 1;
  }
  return map;
}

CharsMap::Match CharsMap::longest(std::string_view text) const {
  Match best;
  std::size_t node = offset(units_[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte == 0) break;  // A zero label is how the array writes a leaf.
    node ^= byte;
    if (node >= units_.size() || label(units_[node]) != byte) break;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (has_leaf(unit) && node < units_.size()) best = {i + 1, value(units_[node])};
  }
  return best;
}

CharsMap::Change CharsMap::change(std::string_view text) const {
  const Match match = longest(text);
  if (match.length == 0 || match.value >= texts_.size()) return {};
  const std::string_view by = texts_.c_str() + match.value;
  // An offset that is no replacement's begin may point into a character.
  if (match.value > 0 && utf8::find_invalid(by) != std::string_view::npos) return {};
  std::size_t length = match.length;
  // A hostile trie may end a match within a character; what is left of it is dropped.
  while (length < text.size() && (static_cast<std::uint8_t>(text[length]) & 0xC0) == 0x80) ++length;
  return {length, by};
}

}  // namespace weir::text
