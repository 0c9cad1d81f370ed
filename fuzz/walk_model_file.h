#pragma once

/// Uses all that a ModelFile hands out: every byte of every tensor, every metadata value, every
/// look-up.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "weir/base/check.h"
#include "weir/format/model_file.h"

namespace weir::format {

inline void walk(const ModelFile& file) {
  std::uint64_t sum = file.path().size() + file.container().size() + file.file_bytes();
  for (const TensorView& tensor : file.tensors()) {
    for (const std::byte byte : tensor.data) sum += static_cast<std::uint64_t>(byte);
    WEIR_CHECK(tensor.elements() == tensor.rows() * tensor.columns(),
               "rows and columns cover the tensor");
    const auto row = row_bytes(tensor.type, tensor.columns());
    WEIR_CHECK(row && *row * tensor.rows() == tensor.data.size(),
               "the data are exactly the tensor's");
    WEIR_CHECK(file.tensor(tensor.name) == &tensor, "a tensor is found by its name");
  }
  for (const auto& [key, value] : file.metadata()) {
    sum += std::visit([](const auto& v) { return sizeof(v); }, value);
    sum += file.text(key).value_or("").size() + file.integer(key).value_or(0) +
           file.boolean(key).value_or(false);
    sum += static_cast<std::uint64_t>(file.number(key).has_value());
    if (const auto* texts = file.array<std::string>(key)) {
      for (const std::string& text : *texts) sum += text.size();
    }
    if (const auto* numbers = file.array<std::int64_t>(key)) sum += numbers->size();
  }
  WEIR_CHECK(file.tensor("no such tensor \x01") == nullptr, "absent names are not found");
  [[maybe_unused]] volatile std::uint64_t sink = sum;
}

/// A refusal is one line that names the file.
inline void check_error(const Error& error) {
  WEIR_CHECK(error.message.starts_with("f: "), "an error names the file");
  WEIR_CHECK(!error.message.contains('\n') && !error.message.contains('\x1b'),
             "an error is one plain line");
  WEIR_CHECK(error.message.size() < 2000, "an error is short");
}

}  // namespace weir::format
