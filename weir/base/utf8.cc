#include "weir/base/utf8.h"

namespace weir::utf8 {
namespace {

/// What a lead byte promises: the sequence length and the range its second byte must lie in
/// (Unicode 15, table 3-7).
struct Lead {
  std::uint8_t size;
  std::uint8_t low;
  std::uint8_t high;
};

constexpr Lead lead(std::uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

/// How many bytes from `position` continue the sequence that begins there (>= 1 if the lead is
/// one).
std::uint8_t matched(std::string_view text, std::size_t position, Lead l) {
  std::uint8_t n = 1;
  while (n < l.size && position + n < text.size()) {
    const std::uint8_t b = byte_at(text, position + n);
    const std::uint8_t low = n == 1 ? l.low : 0x80;
    const std::uint8_t high = n == 1 ? l.high : 0xBF;
    if (b < low || b > high) break;
    ++n;
  }
  return n;
}

}  // namespace

Decoded decode(std::string_view text, std::size_t position) {
  const std::uint8_t first = byte_at(text, position);
  const Lead l = lead(first);
  if (l.size == 0) return {kReplacement, 1, false};
  if (l.size == 1) return {first, 1, true};
  const std::uint8_t n = matched(text, position, l);
  if (n < l.size) return {kReplacement, n, false};
  std::uint32_t code_point = first & (0x7Fu >> l.size);
  for (std::uint8_t i = 1; i < l.size; ++i) {
    code_point = code_point << 6 | (byte_at(text, position + i) & 0x3Fu);
  }
  return {code_point, l.size, true};
}

void append(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::size_t find_invalid(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (byte_at(text, i) < 0x80) {
      ++i;
      continue;
    }
    const Decoded d = decode(text, i);
    if (!d.valid) return i;
    i += d.size;
  }
  return std::string_view::npos;
}

std::size_t unfinished_tail(std::string_view text) {
  const std::size_t reach = text.size() < 3 ? text.size() : 3;
  for (std::size_t back = 1; back <= reach; ++back) {
    const std::size_t position = text.size() - back;
    const Lead l = lead(byte_at(text, position));
    if (l.size > back && matched(text, position, l) == back) return back;
    if (l.size != 0) return 0;  // A complete character, or one already broken.
  }
  return 0;
}

std::string sanitize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const Decoded d = decode(text, i);
    if (d.valid) {
      out.append(text, i, d.size);
    } else {
      append(out, kReplacement);
    }
    i += d.size;
  }
  return out;
}

}  // namespace weir::utf8
