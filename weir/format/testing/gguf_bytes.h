#pragma once

/// Writes GGUF bytes for tests: valid ones by default, and wrong ones on request.
///
///   GgufBytes f;
///   f.put("general.architecture", "llama");
///   f.tensor("w", {64, 2}, DType 0, bytes);   // shape as the file has it: fastest axis first
///   auto file = parse_gguf("t.gguf", f.bytes());
///
/// Thread safety: none; a local of one test.

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::format::testing {

class GgufBytes {
 public:
  std::uint32_t version = 3;
  std::uint32_t alignment = 32;   ///< Written as general.alignment only by put().
  std::uint64_t extra_pairs = 0;  ///< Claimed beyond those written.
  std::uint64_t extra_tensors = 0;

  enum Type : std::uint32_t {
    kU8,
    kI8,
    kU16,
    kI16,
    kU32,
    kI32,
    kF32,
    kBool,
    kString,
    kArray,
    kU64,
    kI64,
    kF64
  };

  void put_raw(std::string_view key, std::uint32_t type, std::string_view value) {
    text(pairs_, key);
    number(pairs_, type);
    pairs_ += value;
    ++pair_count_;
  }
  template <class T>
  void put(std::string_view key, Type type, T value) {
    put_raw(key, type, bytes_of(value));
  }
  void put(std::string_view key, std::string_view value) {
    std::string out;
    text(out, value);
    put_raw(key, kString, out);
  }
  template <class T>
  void put_array(std::string_view key, Type type, const std::vector<T>& values) {
    std::string out = bytes_of(std::uint32_t{type}) + bytes_of(std::uint64_t{values.size()});
    for (const T& value : values) out += bytes_of(value);
    put_raw(key, kArray, out);
  }
  void put_array(std::string_view key, const std::vector<std::string>& values) {
    std::string out = bytes_of(std::uint32_t{kString}) + bytes_of(std::uint64_t{values.size()});
    for (const std::string& value : values) text(out, value);
    put_raw(key, kArray, out);
  }

  /// Data is placed after that of the tensor before, aligned.
  void tensor(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
              std::string_view data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    tensor_at(name, shape, type, data_.size());
    data_ += data;
  }
  void tensor_at(std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                 std::uint64_t offset) {
    text(tensors_, name);
    number(tensors_, static_cast<std::uint32_t>(shape.size()));
    for (std::uint64_t size : shape) number(tensors_, size);
    number(tensors_, type);
    number(tensors_, offset);
    ++tensor_count_;
  }

  [[nodiscard]] std::string text_bytes() const {
    std::string out = "GGUF" + bytes_of(version) + bytes_of(tensor_count_ + extra_tensors) +
                      bytes_of(pair_count_ + extra_pairs) + pairs_ + tensors_;
    if (!data_.empty()) out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

  template <class T>
  [[nodiscard]] static std::string bytes_of(T value) {
    std::string out(sizeof(T), '\0');
    std::memcpy(out.data(), &value, sizeof(T));
    return out;
  }

 private:
  static void text(std::string& to, std::string_view value) {
    number(to, std::uint64_t{value.size()});
    to += value;
  }
  template <class T>
  static void number(std::string& to, T value) {
    to += bytes_of(value);
  }

  std::string pairs_, tensors_, data_;
  std::uint64_t pair_count_ = 0, tensor_count_ = 0;
};

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace weir::format::testing
