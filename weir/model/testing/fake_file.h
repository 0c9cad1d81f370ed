#pragma once

/// A ModelFile made of values in a test: metadata and zeroed F32 tensors.

#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/format/model_file.h"

namespace weir::model::testing {

class FakeFile final : public format::ModelFile {
 public:
  explicit FakeFile(std::string container = "GGUF v3") : container_(std::move(container)) {}
  FakeFile(FakeFile&&) = default;  // A copy's tensors would view the original's.

  FakeFile& set(std::string key, format::MetaValue value) {
    metadata_[std::move(key)] = std::move(value);
    return *this;
  }
  FakeFile& unset(const std::string& key) {
    metadata_.erase(key);
    return *this;
  }
  /// A tensor of `shape`, all zero, or `values` when given.
  FakeFile& add(std::string name, std::vector<std::uint64_t> shape,
                std::vector<float> values = {}) {
    std::uint64_t elements = 1;
    for (const std::uint64_t n : shape) elements *= n;
    values.resize(elements);
    names_.push_back(std::move(name));
    storage_.push_back(std::move(values));
    tensors_.push_back(
        {names_.back(), DType::kF32, std::move(shape), std::as_bytes(std::span(storage_.back()))});
    return *this;
  }

  [[nodiscard]] std::string_view path() const override { return "fake"; }
  [[nodiscard]] std::string_view container() const override { return container_; }
  [[nodiscard]] std::uint64_t file_bytes() const override { return 0; }
  [[nodiscard]] const std::map<std::string, format::MetaValue, std::less<>>& metadata()
      const override {
    return metadata_;
  }
  [[nodiscard]] std::span<const format::TensorView> tensors() const override { return tensors_; }
  [[nodiscard]] const format::TensorView* tensor(std::string_view name) const override {
    for (const auto& t : tensors_) {
      if (t.name == name) return &t;
    }
    return nullptr;
  }
  [[nodiscard]] std::optional<std::string> sidecar(std::string_view /*name*/) const override {
    return {};
  }

 private:
  std::string container_;
  std::map<std::string, format::MetaValue, std::less<>> metadata_;
  std::list<std::string> names_;  // Lists: views into them must not move.
  std::list<std::vector<float>> storage_;
  std::vector<format::TensorView> tensors_;
};

}  // namespace weir::model::testing
