// Input that begins with '{' is a config.json; any other is a safetensors file.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "walk_model_file.h"
#include "weir/format/internal/flat_json.h"
#include "weir/format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir::format;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with('{')) {
    Metadata metadata;
    if (const auto flat = flatten_json("f", text, metadata); !flat) check_error(flat.error());
    return 0;
  }
  const auto file = parse_safetensors("f", std::as_bytes(std::span(data, size)));
  if (file) {
    walk(**file);
  } else {
    check_error(file.error());
  }
  return 0;
}
