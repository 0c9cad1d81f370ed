#pragma once

/// What is wrong with a text that is not JSON, for whoever wrote it: where, what stands there and
/// what was expected. Thread safety: pure.

#include <boost/json.hpp>
#include <string>
#include <string_view>

namespace weir::api {

/// `at`: the byte at which the parser stopped with `fault`; what is before it can begin a JSON
/// text.
[[nodiscard]] std::string describe_json_fault(std::string_view text, std::size_t at,
                                              boost::json::error fault);

}  // namespace weir::api
