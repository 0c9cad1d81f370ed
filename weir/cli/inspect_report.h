#pragma once

/// What `weir inspect` says about a model file, as text for a person or JSON for a program. Text
/// from the file is made printable; nothing here prints. Thread safety: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/format/model_file.h"
#include "weir/spec/kv_units.h"

namespace weir::cli {

/// The memory that serving the model would take; filled from model::Model::plan.
struct MemoryPlan {
  std::uint64_t weights = 0;      ///< Packed for this machine's kernels.
  std::uint64_t activations = 0;  ///< Of one step of `rows` tokens, and of choosing one.
  std::uint64_t tables = 0;
  KvUnits kv;  ///< How a page is cut.
  std::uint64_t kv_per_unit = 0;
  std::uint32_t rows = 0;
  std::uint32_t chunk = 1;  ///< Of them, of one conversation.
  std::uint32_t page_tokens = 0;
  std::uint32_t context = 0;  ///< Tokens the model was trained for.
};

/// The plan, or why there is none.
using MaybePlan = Result<MemoryPlan>;

struct ReportOptions {
  bool all_tensors = false;  ///< Every tensor in its own row, not one row for a kind.
  bool bold = false;         ///< Headings in bold: standard output is a terminal that likes it.
};

[[nodiscard]] std::string text_report(const format::ModelFile& file, const MaybePlan& plan,
                                      const ReportOptions& options);

/// One object on one line: container, sizes, metadata (each array as {"count", "first"}), types,
/// tensors, plan.
[[nodiscard]] std::string json_report(const format::ModelFile& file, const MaybePlan& plan);

/// One metadata value whole: text as it is, an array with one element in a line; or as JSON.
/// Code::kNotFound names keys that are near.
[[nodiscard]] Result<std::string> metadata_value(const format::ModelFile& file,
                                                 std::string_view key, bool json);

}  // namespace weir::cli
