#include "weir/format/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "weir/format/internal/contents.h"
#include "weir/format/printable.h"

namespace weir::format {
namespace {

// The largest side file in use is a tokenizer.json of a 262k vocabulary, 33 MB.
constexpr std::size_t kMaxSidecarBytes = std::size_t{128} << 20;

class LoadedFile final : public ModelFile {
 public:
  LoadedFile(Contents contents, std::vector<std::uint32_t> by_name)
      : contents_(std::move(contents)), by_name_(std::move(by_name)) {}

  [[nodiscard]] std::string_view path() const override { return contents_.path; }
  [[nodiscard]] std::string_view container() const override { return contents_.container; }
  [[nodiscard]] std::uint64_t file_bytes() const override { return contents_.file_bytes; }
  [[nodiscard]] const Metadata& metadata() const override { return contents_.metadata; }
  [[nodiscard]] std::span<const TensorView> tensors() const override { return contents_.tensors; }

  [[nodiscard]] const TensorView* tensor(std::string_view name) const override {
    const auto it = std::ranges::lower_bound(
        by_name_, name, {}, [this](std::uint32_t i) { return contents_.tensors[i].name; });
    if (it == by_name_.end() || contents_.tensors[*it].name != name) return nullptr;
    return &contents_.tensors[*it];
  }

  [[nodiscard]] std::optional<std::string> sidecar(std::string_view name) const override {
    const bool plain =
        !name.empty() && name.front() != '.' && !name.contains('/') && !name.contains('\0');
    if (contents_.directory.empty() || !plain) return std::nullopt;
    auto text = sys::read_file(fmt::format("{}/{}", contents_.directory, name), kMaxSidecarBytes);
    if (!text) return std::nullopt;
    return std::move(*text);
  }

 private:
  Contents contents_;
  std::vector<std::uint32_t> by_name_;  ///< Indices of tensors, ordered by name.
};

}  // namespace

Result<std::unique_ptr<ModelFile>> make_model_file(Contents contents) {
  std::vector<std::uint32_t> by_name(contents.tensors.size());
  std::iota(by_name.begin(), by_name.end(), 0U);
  const auto name = [&](std::uint32_t i) { return contents.tensors[i].name; };
  std::ranges::sort(by_name, {}, name);
  if (const auto twice = std::ranges::adjacent_find(by_name, {}, name); twice != by_name.end()) {
    return fail(Code::kCorrupt,
                fmt::format("{}: tensor {} is listed twice", printable(contents.path, 4096),
                            in_quotes(name(*twice))),
                contents.path);
  }
  return std::make_unique<LoadedFile>(std::move(contents), std::move(by_name));
}

std::uint64_t TensorView::elements() const { return rows() * columns(); }

std::uint64_t TensorView::rows() const {
  std::uint64_t product = 1;  // Cannot overflow: the reader checked the product of all axes.
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) product *= shape[i];
  return product;
}

std::uint64_t TensorView::columns() const { return shape.empty() ? 1 : shape.back(); }

std::optional<std::string_view> ModelFile::text(std::string_view key) const {
  const auto it = metadata().find(key);
  if (it == metadata().end()) return std::nullopt;
  const auto* value = std::get_if<std::string>(&it->second);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

std::optional<std::uint64_t> ModelFile::integer(std::string_view key) const {
  const auto it = metadata().find(key);
  if (it == metadata().end()) return std::nullopt;
  if (const auto* value = std::get_if<std::uint64_t>(&it->second)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&it->second); value != nullptr && *value >= 0) {
    return static_cast<std::uint64_t>(*value);
  }
  return std::nullopt;
}

std::optional<double> ModelFile::number(std::string_view key) const {
  const auto it = metadata().find(key);
  if (it == metadata().end()) return std::nullopt;
  if (const auto* value = std::get_if<double>(&it->second)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&it->second))
    return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::int64_t>(&it->second))
    return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<bool> ModelFile::boolean(std::string_view key) const {
  const auto it = metadata().find(key);
  if (it == metadata().end()) return std::nullopt;
  const auto* value = std::get_if<bool>(&it->second);
  return value == nullptr ? std::nullopt : std::optional<bool>(*value);
}

}  // namespace weir::format
