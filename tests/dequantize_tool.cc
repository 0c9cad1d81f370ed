/// dequantize_tool TYPE: blocks on standard input, their values on standard output as little-endian
/// floats.

#include <cstdio>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "weir/compute/dequantize.h"

int main(int argc, char** argv) {
  const auto type = argc == 2 ? weir::dtype_named(argv[1]) : std::nullopt;
  if (!type || !weir::info(*type).weight) {
    std::fputs("usage: dequantize_tool TYPE < blocks > values\n", stderr);
    return 2;
  }
  const std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  const auto& info = weir::info(*type);
  if (bytes.size() % info.block_bytes != 0) {
    std::fputs("dequantize_tool: the input is not whole blocks\n", stderr);
    return 2;
  }
  std::vector<float> values(bytes.size() / info.block_bytes * info.block_elements);
  weir::compute::dequantize(*type, std::as_bytes(std::span(bytes)), values);
  return std::fwrite(values.data(), sizeof(float), values.size(), stdout) == values.size() ? 0 : 1;
}
