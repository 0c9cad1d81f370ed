#pragma once

/// The JSON we write per token, without a document model: escaped strings and numbers appended to a
/// buffer. The output is always valid JSON and valid UTF-8, whatever comes in.
/// Thread safety: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::api {

/// `text` with quotes and escapes; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// The inside of a JSON string, without the quotes.
void append_json_escaped(std::string& out, std::string_view text);

/// The shortest form that reads back as the same float; what is not finite becomes -9999.0, as
/// OpenAI writes the logarithm of nothing.
void append_json_float(std::string& out, float value);

void append_json_integer(std::string& out, std::int64_t value);

}  // namespace weir::api
