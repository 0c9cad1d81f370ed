#include <cstddef>
#include <cstdint>
#include <span>

#include "walk_model_file.h"
#include "weir/format/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = weir::format::parse_gguf("f", std::as_bytes(std::span(data, size)));
  if (file) {
    weir::format::walk(**file);
  } else {
    weir::format::check_error(file.error());
  }
  return 0;
}
