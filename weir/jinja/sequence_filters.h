#pragma once

/// The filters over sequences and mappings. Each is a Filter (weir/jinja/filters.h).
/// Thread safety: as Heap.

#include "weir/jinja/value.h"

namespace weir::jinja {

Result<Value> filter_attr(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_batch(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_dictsort(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_first(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_groupby(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_items(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_join(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_last(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_length(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_list(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_map(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_max(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_min(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_reject(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_rejectattr(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_reverse(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_select(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_selectattr(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_slice(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_sort(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_sum(Heap& heap, const Value& value, const Arguments& args);
Result<Value> filter_unique(Heap& heap, const Value& value, const Arguments& args);

}  // namespace weir::jinja
