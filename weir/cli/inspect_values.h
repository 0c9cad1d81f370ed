#pragma once

/// Metadata values as text and as JSON; the parts of inspect_report that know MetaValue.
/// Thread safety: pure functions.

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <string>

#include "weir/format/model_file.h"

namespace weir::cli {

/// One line: "49152 texts: 'a', 'b', ..." for arrays, long texts cut.
[[nodiscard]] std::string short_text(const format::MetaValue& value, std::size_t width);

/// Whole; arrays one element a line; text as it is.
[[nodiscard]] std::string whole_text(const format::MetaValue& value);

/// Whole, or arrays as {"count": N, "first": [...]}.
[[nodiscard]] boost::json::value to_json(const format::MetaValue& value, bool whole);

}  // namespace weir::cli
