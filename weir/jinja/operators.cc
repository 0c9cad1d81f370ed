#include "weir/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weir/jinja/format.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

std::string_view symbol(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
    case Operator::kPower:
      return "**";
    case Operator::kEqual:
      return "==";
    case Operator::kNotEqual:
      return "!=";
    case Operator::kLess:
      return "<";
    case Operator::kLessEqual:
      return "<=";
    case Operator::kGreater:
      return ">";
    case Operator::kGreaterEqual:
      return ">=";
    case Operator::kIn:
      return "in";
    case Operator::kNotIn:
      return "not in";
  }
  return "?";
}

std::unexpected<Error> unsupported(Operator op, const Value& a, const Value& b) {
  if (a.is(Kind::kUndefined)) return undefined_error(a);
  if (b.is(Kind::kUndefined)) return undefined_error(b);
  return type_error(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                                type_name(a), type_name(b)));
}

std::unexpected<Error> too_large() {
  return fail(Code::kInvalidArgument, "the integer does not fit 64 bits");
}

int sign(bool less, bool greater) { return less ? -1 : greater ? 1 : 0; }

/// A double and a 64-bit integer both fit the x87 long double exactly; elsewhere this rounds, which
/// only matters beyond 2^53.
int compare_numbers(const Value& a, const Value& b) {
  if (!a.is(Kind::kFloat) && !b.is(Kind::kFloat)) {
    const auto x = *as_integer(a);
    const auto y = *as_integer(b);
    return sign(x<y, x> y);
  }
  const auto wide = [](const Value& v) {
    return v.is(Kind::kFloat) ? static_cast<long double>(v.real)
                              : static_cast<long double>(*as_integer(v));
  };
  return sign(wide(a) < wide(b), wide(a) > wide(b));
}

bool has_nan(const Value& a, const Value& b) {
  return (a.is(Kind::kFloat) && std::isnan(a.real)) || (b.is(Kind::kFloat) && std::isnan(b.real));
}

bool is_sequence(const Value& v) { return v.is(Kind::kList) || v.is(Kind::kTuple); }

Result<Value> integer_arithmetic(Operator op, std::int64_t a, std::int64_t b, bool trusted) {
  std::int64_t out = 0;
  switch (op) {
    case Operator::kAdd:
      if (__builtin_add_overflow(a, b, &out)) return too_large();
      return integer(out, trusted);
    case Operator::kSubtract:
      if (__builtin_sub_overflow(a, b, &out)) return too_large();
      return integer(out, trusted);
    case Operator::kMultiply:
      if (__builtin_mul_overflow(a, b, &out)) return too_large();
      return integer(out, trusted);
    case Operator::kDivide:
      if (b == 0) return type_error("division by zero");
      return real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)),
                  trusted);
    case Operator::kFloorDivide:
    case Operator::kModulo: {
      if (b == 0) return type_error("integer division or modulo by zero");
      if (b == -1) {  // INT64_MIN / -1 has no answer in 64 bits.
        if (op == Operator::kModulo) return integer(0, trusted);
        if (__builtin_sub_overflow(std::int64_t{0}, a, &out)) return too_large();
        return integer(out, trusted);
      }
      std::int64_t quotient = a / b;
      std::int64_t rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        --quotient;
      }
      return integer(op == Operator::kModulo ? rest : quotient, trusted);
    }
    case Operator::kPower: {
      if (b < 0) {
        if (a == 0) return type_error("0.0 cannot be raised to a negative power");
        return real(std::pow(static_cast<double>(a), static_cast<double>(b)), trusted);
      }
      std::int64_t base = a;
      out = 1;
      for (std::int64_t e = b; e > 0; e >>= 1) {
        if ((e & 1) != 0 && __builtin_mul_overflow(out, base, &out)) return too_large();
        if (e > 1 && __builtin_mul_overflow(base, base, &base)) return too_large();
      }
      return integer(out, trusted);
    }
    default:
      return too_large();
  }
}

Result<Value> real_arithmetic(Operator op, double a, double b, bool trusted) {
  switch (op) {
    case Operator::kAdd:
      return real(a + b, trusted);
    case Operator::kSubtract:
      return real(a - b, trusted);
    case Operator::kMultiply:
      return real(a * b, trusted);
    case Operator::kDivide:
      if (b == 0) return type_error("float division by zero");
      return real(a / b, trusted);
    case Operator::kFloorDivide:
    case Operator::kModulo: {
      if (b == 0) return type_error("float floor division or modulo by zero");
      // CPython's float_divmod.
      double rest = std::fmod(a, b);
      double quotient = (a - rest) / b;
      if (rest != 0) {
        if ((b < 0) != (rest < 0)) {
          rest += b;
          quotient -= 1;
        }
      } else {
        rest = std::copysign(0.0, b);
      }
      if (op == Operator::kModulo) return real(rest, trusted);
      if (quotient == 0) return real(std::copysign(0.0, a / b), trusted);
      double floored = std::floor(quotient);
      if (quotient - floored > 0.5) floored += 1;
      return real(floored, trusted);
    }
    default: {
      if (a == 0 && b < 0) return type_error("0.0 cannot be raised to a negative power");
      const double power = std::pow(a, b);
      if (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) {
        return type_error("a negative number cannot be raised to a fractional power");
      }
      if (std::isinf(power) && std::isfinite(a) && std::isfinite(b)) {
        return type_error("the result of ** is too large");
      }
      return real(power, trusted);
    }
  }
}

Result<Value> add(Heap& heap, const Value& a, const Value& b) {
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    Text out = b.markup && !a.markup ? escape(a.text()) : a.text();
    out.append(a.markup && !b.markup ? escape(b.text()) : b.text());
    Value v = heap.string(std::move(out));
    v.markup = a.markup || b.markup;
    return v;
  }
  if (is_sequence(a) && a.kind == b.kind) {
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    Value v = heap.list(std::move(items), a.kind);
    v.trusted = a.trusted && b.trusted;
    return v;
  }
  if (a.is(Kind::kUndefined)) return undefined_error(a);
  if (b.is(Kind::kUndefined)) return undefined_error(b);
  if (a.is(Kind::kString)) {
    return type_error(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
  }
  return unsupported(Operator::kAdd, a, b);
}

Result<Value> repeat(Heap& heap, const Value& what, std::int64_t times) {
  const std::uint64_t n = times > 0 ? static_cast<std::uint64_t>(times) : 0;
  const std::uint64_t size =
      what.is(Kind::kString) ? what.text().size() : what.items().size() * sizeof(Value);
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(size, n, &total)) total = UINT64_MAX / 2;
  WEIR_TRY_STATUS(heap.charge(total));
  if (what.is(Kind::kString)) {
    Text out;
    for (std::uint64_t i = 0; i < n && size > 0; ++i) out.append(what.text());
    Value v = heap.string(std::move(out));
    v.markup = what.markup;
    return v;
  }
  std::vector<Value> items;
  for (std::uint64_t i = 0; i < n && size > 0; ++i) {
    items.insert(items.end(), what.items().begin(), what.items().end());
  }
  Value v = heap.list(std::move(items), what.kind);
  v.trusted = what.trusted;
  return v;
}

struct Bounds {
  std::int64_t start, step, count;
};

/// PySlice_AdjustIndices.
Result<Bounds> slice_bounds(std::int64_t size, const Value& start, const Value& stop,
                            const Value& step) {
  const auto bound = [](const Value& v) -> Result<std::optional<std::int64_t>> {
    if (v.is(Kind::kNone)) return std::optional<std::int64_t>();
    const auto i = as_integer(v);
    if (!i) {
      return type_error("slice indices must be integers or None or have an __index__ method");
    }
    return i;
  };
  WEIR_TRY(const auto step_bound, bound(step));
  WEIR_TRY(const auto start_bound, bound(start));
  WEIR_TRY(const auto stop_bound, bound(stop));
  const std::int64_t by = std::max(step_bound.value_or(1), -INT64_MAX);
  if (by == 0) return type_error("slice step cannot be zero");
  const auto adjust = [&](std::optional<std::int64_t> v, std::int64_t absent) {
    if (!v) return absent;
    std::int64_t i = *v;
    if (i < 0) {
      i += size;
      if (i < 0) i = by < 0 ? -1 : 0;
    } else if (i >= size) {
      i = by < 0 ? size - 1 : size;
    }
    return i;
  };
  const std::int64_t from = adjust(start_bound, by < 0 ? size - 1 : 0);
  const std::int64_t to = adjust(stop_bound, by < 0 ? -1 : size);
  std::int64_t n = 0;
  if (by < 0 && to < from) n = (from - to - 1) / -by + 1;
  if (by > 0 && from < to) n = (to - from - 1) / by + 1;
  return Bounds{from, by, n};
}

std::vector<Value> view_items(Heap& heap, const ViewObject& view) {
  std::vector<Value> out;
  out.reserve(view.dict->items.size());
  for (const auto& [key, value] : view.dict->items) {
    switch (view.what) {
      case ViewObject::What::kKeys:
        out.push_back(key);
        break;
      case ViewObject::What::kValues:
        out.push_back(value);
        break;
      case ViewObject::What::kItems:
        out.push_back(heap.list({key, value}, Kind::kTuple));
        break;
    }
  }
  return out;
}

}  // namespace

Result<bool> equal(const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) return type_error("values are nested too deeply to compare");
  if (is_number(a) && is_number(b)) return !has_nan(a, b) && compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
    case Kind::kBigInt:
      return a.str() == b.str();
    case Kind::kList:
    case Kind::kTuple: {
      if (a.items().size() != b.items().size()) return false;
      for (std::size_t i = 0; i < a.items().size(); ++i) {
        WEIR_TRY(const bool same, equal(a.items()[i], b.items()[i], depth + 1));
        if (!same) return false;
      }
      return true;
    }
    case Kind::kDict: {
      if (a.dict().items.size() != b.dict().items.size()) return false;
      for (const auto& [key, value] : a.dict().items) {
        const Value* other = b.dict().find(key);
        if (other == nullptr) return false;
        WEIR_TRY(const bool same, equal(value, *other, depth + 1));
        if (!same) return false;
      }
      return true;
    }
    case Kind::kRange: {
      const auto& x = a.as<RangeObject>();
      const auto& y = b.as<RangeObject>();
      if (x.size() != y.size()) return false;
      return x.size() == 0 || (x.start == y.start && (x.size() == 1 || x.step == y.step));
    }
    default:
      return a.object == b.object;
  }
}

Result<int> compare(const Value& a, const Value& b, int depth) {
  if (depth > kMaxValueDepth) return type_error("values are nested too deeply to compare");
  if (is_number(a) && is_number(b)) return compare_numbers(a, b);
  if (a.is(Kind::kString) && b.is(Kind::kString)) {
    // UTF-8 sorts as its code points do.
    const int c = a.str().compare(b.str());
    return sign(c < 0, c > 0);
  }
  if (is_sequence(a) && a.kind == b.kind) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      WEIR_TRY(const bool same, equal(x[i], y[i], depth + 1));
      if (!same) return compare(x[i], y[i], depth + 1);
    }
    return sign(x.size() < y.size(), x.size() > y.size());
  }
  return unsupported(Operator::kLess, a, b);
}

Result<bool> contains(Heap& heap, const Value& container, const Value& item) {
  switch (container.kind) {
    case Kind::kString:
      if (!item.is(Kind::kString)) {
        return type_error(
            fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
      }
      WEIR_TRY_STATUS(charge_search(heap, container.text().size(), item.text().size()));
      return container.str().find(item.str()) != std::string_view::npos;
    case Kind::kDict:
      if (!hashable(item)) return type_error(fmt::format("unhashable type: '{}'", type_name(item)));
      WEIR_TRY_STATUS(heap.charge(item.is(Kind::kString) ? 1 : container.dict().items.size()));
      return container.dict().find(item) != nullptr;
    default:
      break;
  }
  Result<Sequence> sequence = iterate(heap, container);
  if (!sequence) {
    return type_error(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
  WEIR_TRY_STATUS(heap.charge(sequence->items.size() * 8));
  for (const Value& element : sequence->items) {
    if (element.kind == item.kind && element.object == item.object) return true;
    WEIR_TRY(const bool same, equal(element, item));
    if (same) return true;
  }
  if (sequence->tail != nullptr) return std::unexpected(*sequence->tail);
  return false;
}

Result<Value> arithmetic(Heap& heap, Operator op, const Value& a, const Value& b) {
  if (op == Operator::kModulo && a.is(Kind::kString)) return format_percent(heap, a, b);
  if (is_number(a) && is_number(b)) {
    const bool trusted = a.trusted && b.trusted;
    if (a.is(Kind::kFloat) || b.is(Kind::kFloat)) {
      return real_arithmetic(op, as_real(a), as_real(b), trusted);
    }
    return integer_arithmetic(op, *as_integer(a), *as_integer(b), trusted);
  }
  if (op == Operator::kAdd) return add(heap, a, b);
  if (op == Operator::kMultiply) {
    const auto repeatable = [](const Value& v) { return v.is(Kind::kString) || is_sequence(v); };
    if (repeatable(a) && as_integer(b)) return repeat(heap, a, *as_integer(b));
    if (repeatable(b) && as_integer(a)) return repeat(heap, b, *as_integer(a));
  }
  return unsupported(op, a, b);
}

Result<bool> comparison(Heap& heap, Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::kIn:
      return contains(heap, b, a);
    case Operator::kNotIn: {
      WEIR_TRY(const bool in, contains(heap, b, a));
      return !in;
    }
    default:
      break;
  }
  const auto size = [](const Value& v) -> std::uint64_t {
    if (v.is(Kind::kString)) return v.text().size() / 16;
    return is_sequence(v) ? v.items().size() : 1;
  };
  WEIR_TRY_STATUS(heap.charge(std::min(size(a), size(b))));
  if (op == Operator::kEqual || op == Operator::kNotEqual) {
    WEIR_TRY(const bool same, equal(a, b));
    return same == (op == Operator::kEqual);
  }
  Result<int> order = compare(a, b);
  if (!order) {
    if (a.is(Kind::kUndefined) || b.is(Kind::kUndefined)) {
      return std::unexpected(std::move(order).error());
    }
    return type_error(fmt::format("'{}' not supported between instances of '{}' and '{}'",
                                  symbol(op), type_name(a), type_name(b)));
  }
  if (has_nan(a, b)) return false;
  switch (op) {
    case Operator::kLess:
      return *order < 0;
    case Operator::kLessEqual:
      return *order <= 0;
    case Operator::kGreater:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

Result<Value> negate(const Value& v) {
  if (v.is(Kind::kFloat)) return real(-v.real, v.trusted);
  if (const auto i = as_integer(v)) {
    return integer_arithmetic(Operator::kSubtract, 0, *i, v.trusted);
  }
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  return type_error(fmt::format("bad operand type for unary -: '{}'", type_name(v)));
}

Result<Value> plus(const Value& v) {
  if (v.is(Kind::kFloat)) return v;
  if (const auto i = as_integer(v)) return integer(*i, v.trusted);
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  return type_error(fmt::format("bad operand type for unary +: '{}'", type_name(v)));
}

Result<Value> slice(Heap& heap, const Value& object, const Value& start, const Value& stop,
                    const Value& step) {
  switch (object.kind) {
    case Kind::kUndefined:
      return undefined_error(object);
    case Kind::kString: {
      const std::vector<std::size_t> offsets = character_offsets(object.str());
      heap.note(offsets.size() * sizeof(std::size_t));
      WEIR_TRY(const Bounds b,
               slice_bounds(static_cast<std::int64_t>(offsets.size() - 1), start, stop, step));
      Text out;
      if (b.step == 1 && b.count > 0) {
        const std::size_t from = offsets[static_cast<std::size_t>(b.start)];
        const std::size_t to = offsets[static_cast<std::size_t>(b.start + b.count)];
        out = object.text().slice(from, to - from);
      } else {
        for (std::int64_t i = 0; i < b.count; ++i) {
          const auto at = static_cast<std::size_t>(b.start + i * b.step);
          out.append(object.text(), offsets[at], offsets[at + 1] - offsets[at]);
        }
      }
      Value v = heap.string(std::move(out));
      v.markup = object.markup;
      return v;
    }
    case Kind::kList:
    case Kind::kTuple: {
      const auto& items = object.items();
      WEIR_TRY(const Bounds b,
               slice_bounds(static_cast<std::int64_t>(items.size()), start, stop, step));
      std::vector<Value> out;
      for (std::int64_t i = 0; i < b.count; ++i) {
        out.push_back(items[static_cast<std::size_t>(b.start + i * b.step)]);
      }
      Value v = heap.list(std::move(out), object.kind);
      v.trusted = object.trusted;
      return v;
    }
    case Kind::kRange: {
      const auto& range = object.as<RangeObject>();
      WEIR_TRY(const Bounds b, slice_bounds(range.size(), start, stop, step));
      auto* out = heap.make<RangeObject>();
      const Value by = integer(b.step);
      WEIR_TRY(const Value stride,
               integer_arithmetic(Operator::kMultiply, range.step, by.integer, true));
      out->start = range.start + b.start * range.step;
      out->step = b.count > 1 ? stride.integer : 1;
      out->stop = b.count > 0 ? out->start + out->step * b.count : out->start;
      return heap.object(Kind::kRange, out);
    }
    case Kind::kDict:
      return type_error("unhashable type: 'slice'");
    default:
      return type_error(fmt::format("'{}' object is not subscriptable", type_name(object)));
  }
}

Result<Sequence> iterate(Heap& heap, const Value& v) {
  std::vector<Value> items;
  switch (v.kind) {
    case Kind::kUndefined:
      return Sequence{};
    case Kind::kList:
    case Kind::kTuple:
      return Sequence{v.items(), nullptr};
    case Kind::kString: {
      const Text& text = v.text();
      WEIR_TRY_STATUS(heap.charge(text.size() * Heap::kStep));
      for_each_character(text.view(), [&](std::uint32_t, std::size_t at, std::size_t size) {
        items.push_back(heap.string(text.slice(at, size)));
      });
      break;
    }
    case Kind::kDict:
      for (const auto& [key, value] : v.dict().items) items.push_back(key);
      break;
    case Kind::kView:
      items = view_items(heap, v.as<ViewObject>());
      break;
    case Kind::kRange: {
      const auto& range = v.as<RangeObject>();
      WEIR_TRY_STATUS(heap.charge(static_cast<std::uint64_t>(range.size()) * sizeof(Value)));
      for (std::int64_t i = 0, n = range.size(); i < n; ++i) {
        items.push_back(integer(range.start + i * range.step));
      }
      break;
    }
    case Kind::kIterator: {
      auto& it = v.as<IteratorObject>();
      const std::span<const Value> rest = std::span<const Value>(it.items).subspan(it.next);
      it.next = it.items.size();
      return Sequence{rest, it.tail ? &*it.tail : nullptr};
    }
    default:
      return type_error(fmt::format("'{}' object is not iterable", type_name(v)));
  }
  return Sequence{heap.list(std::move(items)).items(), nullptr};
}

Result<std::span<const Value>> iterate_all(Heap& heap, const Value& value) {
  WEIR_TRY(const Sequence sequence, iterate(heap, value));
  if (sequence.tail != nullptr) return std::unexpected(*sequence.tail);
  return sequence.items;
}

Result<std::int64_t> length_of(const Value& v) {
  const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  switch (v.kind) {
    case Kind::kUndefined:
      return 0;
    case Kind::kString:
      return size(length(v.str()));
    case Kind::kList:
    case Kind::kTuple:
      return size(v.items().size());
    case Kind::kDict:
      return size(v.dict().items.size());
    case Kind::kView:
      return size(v.as<ViewObject>().dict->items.size());
    case Kind::kRange:
      return v.as<RangeObject>().size();
    default:
      return type_error(fmt::format("object of type '{}' has no len()", type_name(v)));
  }
}

Status charge_search(Heap& heap, std::size_t text, std::size_t part) {
  const std::uint64_t places = text >= part ? text - part + 1 : 0;
  std::uint64_t cost = 0;
  // memcmp compares some 16 bytes in the time of one step of ours.
  if (__builtin_mul_overflow(places, std::uint64_t{1} + part / 16, &cost)) cost = UINT64_MAX / 2;
  return heap.charge(cost);
}

}  // namespace weir::jinja
