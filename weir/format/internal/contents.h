#pragma once

/// What every reader of this folder produces, and the one ModelFile over it.
/// Thread safety: Contents is built by one thread, then moved into an immutable ModelFile.

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/format/model_file.h"
#include "weir/sys/mapped_file.h"

namespace weir::format {

using Metadata = std::map<std::string, MetaValue, std::less<>>;

struct Contents {
  std::string path;
  std::string container;
  std::uint64_t file_bytes = 0;
  Metadata metadata;
  std::vector<TensorView> tensors;    ///< In file order.
  std::list<std::string> names;       ///< Of tensors, where the file has them only escaped.
  std::string directory;              ///< Where sidecar files lie; empty: there are none.
  std::vector<sys::MappedFile> maps;  ///< The bytes the views view, when this object owns them.
};

/// Refuses two tensors of one name.
[[nodiscard]] Result<std::unique_ptr<ModelFile>> make_model_file(Contents contents);

}  // namespace weir::format
