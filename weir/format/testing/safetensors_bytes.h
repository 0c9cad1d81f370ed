#pragma once

/// Safetensors bytes for tests, from the header's JSON text.
/// Thread safety: pure functions.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::format::testing {

inline std::string safetensors_bytes(std::string_view json, std::string_view data) {
  const std::uint64_t length = json.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out.append(json).append(data);
}

/// Two tensors and metadata: "a" F32 [2, 2], "b" I64 [1].
inline std::string small_safetensors() {
  return safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[1],"data_offsets":[16,24]},)"
      R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}   )",
      "aaaaaaaaaaaaaaaabbbbbbbb");
}

}  // namespace weir::format::testing
