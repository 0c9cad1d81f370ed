#include <filesystem>
#include <string_view>
#include <utility>

#include "weir/format/internal/contents.h"
#include "weir/format/internal/foreign.h"
#include "weir/format/internal/gguf_contents.h"
#include "weir/format/internal/hf_directory.h"
#include "weir/format/internal/safetensors_contents.h"
#include "weir/format/model_file.h"
#include "weir/sys/mapped_file.h"

namespace weir::format {
namespace {

namespace fs = std::filesystem;

bool is_gguf(std::span<const std::byte> bytes) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())
      .starts_with("GGUF");
}

}  // namespace

Result<std::unique_ptr<ModelFile>> open_model_file(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    WEIR_TRY(auto contents, read_hf_directory(path));
    return make_model_file(std::move(contents));
  }
  WEIR_TRY(auto map, sys::MappedFile::open(path));
  if (const auto foreign = foreign_content(path, map.bytes())) return std::unexpected(*foreign);
  const bool gguf = is_gguf(map.bytes());
  WEIR_TRY(auto contents,
           gguf ? read_gguf(path, map.bytes()) : read_safetensors(path, map.bytes()));
  contents.maps.push_back(std::move(map));
  if (!gguf) {
    const fs::path directory = fs::path(path).parent_path();
    contents.directory = directory.empty() ? "." : directory.string();
    WEIR_TRY_STATUS(add_config(contents));
  }
  return make_model_file(std::move(contents));
}

}  // namespace weir::format
