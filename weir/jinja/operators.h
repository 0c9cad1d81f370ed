#pragma once

/// What Python's operators do to values. Errors are worded as Python words them, without position;
/// the interpreter adds the position.
/// Thread safety: as Heap.

#include <string_view>
#include <vector>

#include "weir/jinja/value.h"

namespace weir::jinja {

enum class Operator : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn,
};

[[nodiscard]] Result<bool> equal(const Value& a, const Value& b, int depth = 0);
/// -1, 0 or 1; an error where Python's < is not defined.
[[nodiscard]] Result<int> compare(const Value& a, const Value& b, int depth = 0);
[[nodiscard]] Result<bool> contains(Heap& heap, const Value& container, const Value& item);
[[nodiscard]] Result<Value> arithmetic(Heap& heap, Operator op, const Value& a, const Value& b);
[[nodiscard]] Result<bool> comparison(Heap& heap, Operator op, const Value& a, const Value& b);
[[nodiscard]] Result<Value> negate(const Value& value);
[[nodiscard]] Result<Value> plus(const Value& value);

/// object[start:stop:step], each bound none or an integer.
[[nodiscard]] Result<Value> slice(Heap& heap, const Value& object, const Value& start,
                                  const Value& stop, const Value& step);

/// The items a Python loop over the value would see. For lists and tuples a view of the value
/// itself; an iterator is consumed, and `tail` is the error that follows its last item.
struct Sequence {
  std::span<const Value> items;
  const Error* tail = nullptr;
};
[[nodiscard]] Result<Sequence> iterate(Heap& heap, const Value& value);
/// iterate(), with a tail raised.
[[nodiscard]] Result<std::span<const Value>> iterate_all(Heap& heap, const Value& value);
[[nodiscard]] Result<std::int64_t> length_of(const Value& value);

/// What it costs to look for `part` in `text`: the search compares part at every place it may
/// begin.
[[nodiscard]] Status charge_search(Heap& heap, std::size_t text, std::size_t part);

}  // namespace weir::jinja
