#include <utility>

#include "weir/format/internal/contents.h"
#include "weir/format/internal/gguf_contents.h"
#include "weir/format/model_file.h"
#include "weir/sys/mapped_file.h"

namespace weir::format {

Result<std::unique_ptr<ModelFile>> open_model_file(const std::string& path) {
  WEIR_TRY(auto map, sys::MappedFile::open(path));
  WEIR_TRY(auto contents, read_gguf(path, map.bytes()));
  contents.maps.push_back(std::move(map));
  return make_model_file(std::move(contents));
}

}  // namespace weir::format
