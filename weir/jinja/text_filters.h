#pragma once

/// The filters that make or read one text or number. Each is a Filter (weir/jinja/filters.h).
/// Thread safety: as Heap.

#include "weir/jinja/value.h"

namespace weir::jinja {

Result<Value> filter_abs(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_capitalize(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_center(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_default(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_escape(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_float(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_format(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_indent(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_int(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_lower(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_replace(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_round(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_safe(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_string(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_title(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_tojson(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_trim(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_truncate(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_upper(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_urlencode(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_wordcount(Heap& heap, const Value& value, const Arguments& args);

}  // namespace weir::jinja
