#pragma once

/// The two sections of a tokenizer.json that are pipelines (normalizer, pre_tokenizer) as steps,
/// and the field look-ups that all sections share. Private to tokenizer_json.cc and its steps.

#include <boost/json.hpp>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/text/vocabulary.h"

namespace weir::text {

namespace json_fields {
/// Nothing, empty or the default when the field is absent or of another type.
[[nodiscard]] const boost::json::value* member(const boost::json::object& from,
                                               std::string_view name);
[[nodiscard]] const boost::json::object* object(const boost::json::object& from,
                                                std::string_view name);
[[nodiscard]] std::string_view string(const boost::json::object& from, std::string_view name);
[[nodiscard]] bool flag(const boost::json::object& from, std::string_view name, bool otherwise);
}  // namespace json_fields

struct Splits {
  std::vector<SplitStep> steps;
  bool byte_level = false;  ///< A ByteLevel step was among them: pieces are bytes.
};

/// `value` may be null: no steps.
[[nodiscard]] Result<std::vector<NormalizerStep>> read_normalizer(const boost::json::value* value);
[[nodiscard]] Result<Splits> read_pre_tokenizer(const boost::json::value* value);

}  // namespace weir::text
