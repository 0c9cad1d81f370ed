#pragma once

/// A bounds-checked cursor over a little-endian file. Every read is checked against what remains,
/// and every error is one line: "FILE: CONTEXT at offset N: what is wrong". Thread safety: none; a
/// local of one parse.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir::format {

static_assert(std::endian::native == std::endian::little,
              "model files are mapped and little endian");

template <class T>
concept FileNumber = std::integral<T> || std::floating_point<T>;

class ByteReader {
 public:
  /// Reading past `limit` (of the header, to bound memory) is kTooLarge even when the file goes on.
  ByteReader(std::string_view path, std::span<const std::byte> bytes, std::uint64_t limit)
      : path_(path), bytes_(bytes), limit_(limit) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }

  /// What errors say is being read; kept until the next call.
  void enter(std::string context) { context_ = std::move(context); }

  /// An error at `offset`, which defaults to where the reader stands.
  [[nodiscard]] std::unexpected<Error> fail_at(std::uint64_t offset, Code code,
                                               std::string_view what) const;
  [[nodiscard]] std::unexpected<Error> fail_here(Code code, std::string_view what) const {
    return fail_at(position_, code, what);
  }

  /// Whether `count` pieces of at least `size` bytes can follow.
  [[nodiscard]] Status expect(std::uint64_t count, std::uint64_t size = 1) const;

  template <FileNumber T>
  [[nodiscard]] Result<T> number() {
    WEIR_TRY_STATUS(expect(sizeof(T)));
    return take<T>();
  }

  /// REQUIRES: expect() covered it.
  template <FileNumber T>
  [[nodiscard]] T take() {
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// A 64-bit length and that many bytes; a view into the file.
  [[nodiscard]] Result<std::string_view> text(std::uint64_t max_bytes);

 private:
  std::string_view path_;
  std::span<const std::byte> bytes_;
  std::uint64_t limit_;
  std::uint64_t position_ = 0;
  std::string context_;
};

}  // namespace weir::format
