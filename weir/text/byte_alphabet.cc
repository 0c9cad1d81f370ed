#include "weir/text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "weir/base/utf8.h"

namespace weir::text {
namespace {

constexpr std::uint32_t kFirstMoved = 0x100;
constexpr std::uint32_t kMoved = 68;

constexpr bool stays(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<std::uint8_t, kMoved> moved_bytes() {
  std::array<std::uint8_t, kMoved> moved{};
  std::size_t n = 0;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (!stays(byte)) moved[n++] = static_cast<std::uint8_t>(byte);
  }
  return moved;
}

constexpr auto kMovedBytes = moved_bytes();

}  // namespace

std::optional<std::string> bytes_from_alphabet(std::string_view stored) {
  std::string bytes;
  bytes.reserve(stored.size());
  for (std::size_t i = 0; i < stored.size();) {
    const utf8::Decoded d = utf8::decode(stored, i);
    i += d.size;
    if (!d.valid) return std::nullopt;
    if (d.code_point < 256 && stays(d.code_point)) {
      bytes += static_cast<char>(d.code_point);
    } else if (d.code_point >= kFirstMoved && d.code_point < kFirstMoved + kMoved) {
      bytes += static_cast<char>(kMovedBytes[d.code_point - kFirstMoved]);
    } else {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string alphabet_from_bytes(std::string_view bytes) {
  std::string stored;
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (stays(byte)) {
      utf8::append(stored, byte);
      continue;
    }
    std::uint32_t place = 0;
    while (kMovedBytes[place] != byte) ++place;
    utf8::append(stored, kFirstMoved + place);
  }
  return stored;
}

}  // namespace weir::text
