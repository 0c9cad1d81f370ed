#pragma once

/// A model file, whatever its container: typed metadata and named tensors whose bytes are mapped,
/// never copied. Every length, offset, name, shape and type was checked against the file's own size
/// before this object exists; nothing is allocated in proportion to a number the file claims.
/// Thread safety: immutable; const functions may be called from any thread. Views live as long as
/// the file.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/spec/dtype.h"

namespace weir::format {

struct TensorView {
  std::string_view name;
  DType type = DType::kF32;
  std::vector<std::uint64_t> shape;  ///< Outermost first (row-major): [rows, columns] of a matrix.
  std::span<const std::byte> data;   ///< Exactly row_bytes of the last axis times the others.

  [[nodiscard]] std::uint64_t elements() const;
  /// The matrix view: all axes but the last, and the last.
  [[nodiscard]] std::uint64_t rows() const;
  [[nodiscard]] std::uint64_t columns() const;
};

/// A metadata value. Integers are widened, arrays are homogeneous.
using MetaValue =
    std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<bool>,
                 std::vector<std::int64_t>, std::vector<std::uint64_t>, std::vector<double>,
                 std::vector<std::string>>;

class ModelFile {
 public:
  virtual ~ModelFile() = default;

  [[nodiscard]] virtual std::string_view path() const = 0;
  [[nodiscard]] virtual std::string_view container() const = 0;  ///< "GGUF v3", "safetensors".
  [[nodiscard]] virtual std::uint64_t file_bytes() const = 0;    ///< Of all files together.

  /// GGUF: its key-value pairs. Safetensors: config.json flattened with dots, under its own names.
  [[nodiscard]] virtual const std::map<std::string, MetaValue, std::less<>>& metadata() const = 0;
  [[nodiscard]] virtual std::span<const TensorView> tensors() const = 0;  ///< In file order.
  [[nodiscard]] virtual const TensorView* tensor(std::string_view name) const = 0;

  /// Files beside the weights, as bytes, for Hugging Face directories: "tokenizer.json",
  /// "tokenizer_config.json", "config.json", "generation_config.json", "chat_template.jinja".
  [[nodiscard]] virtual std::optional<std::string> sidecar(std::string_view name) const = 0;

  // Typed look-ups: nothing when absent or of another type; integers convert when they fit.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key) const;
  [[nodiscard]] std::optional<std::uint64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<double> number(std::string_view key) const;  ///< Integers too.
  [[nodiscard]] std::optional<bool> boolean(std::string_view key) const;
  template <class T>
  [[nodiscard]] const std::vector<T>* array(std::string_view key) const {
    const auto it = metadata().find(key);
    return it == metadata().end() ? nullptr : std::get_if<std::vector<T>>(&it->second);
  }
};

/// Opens a .gguf file, a .safetensors file, or a Hugging Face directory (config.json beside one or
/// many safetensors files), told apart by content. Says what else it found: a directory without a
/// model, a text file, a Git LFS pointer, an empty file.
[[nodiscard]] Result<std::unique_ptr<ModelFile>> open_model_file(const std::string& path);

}  // namespace weir::format
