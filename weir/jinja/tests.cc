#include <array>
#include <cmath>

#include "weir/jinja/arguments.h"
#include "weir/jinja/filters.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

bool is_none(const Value& v) { return v.is(Kind::kNone); }
bool is_defined(const Value& v) { return !v.is(Kind::kUndefined); }
bool is_undefined(const Value& v) { return v.is(Kind::kUndefined); }
bool is_boolean(const Value& v) { return v.is(Kind::kBool); }
bool is_true(const Value& v) { return v.is(Kind::kBool) && v.boolean; }
bool is_false(const Value& v) { return v.is(Kind::kBool) && !v.boolean; }
bool is_integer(const Value& v) { return v.is(Kind::kInt) || v.is(Kind::kBigInt); }
bool is_float(const Value& v) { return v.is(Kind::kFloat); }
bool is_string(const Value& v) { return v.is(Kind::kString); }
bool is_mapping(const Value& v) { return v.is(Kind::kDict); }
bool is_any_number(const Value& v) { return is_number(v) || v.is(Kind::kBigInt); }
bool is_escaped(const Value& v) { return v.markup; }

bool is_callable(const Value& v) {
  return v.is(Kind::kMacro) || v.is(Kind::kFunction) || v.is(Kind::kJoiner) || v.is(Kind::kLoop) ||
         v.is(Kind::kUndefined);
}

/// len() and __getitem__.
bool is_sequence(const Value& v) {
  switch (v.kind) {
    case Kind::kString:
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
    case Kind::kRange:
    case Kind::kUndefined:
      return true;
    default:
      return false;
  }
}

bool is_iterable(const Value& v) {
  return is_sequence(v) || v.is(Kind::kIterator) || v.is(Kind::kView) || v.is(Kind::kLoop);
}

template <bool (*F)(const Value&)>
Result<bool> plain(Heap&, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"test", {}}, args));
  return F(v);
}

template <Operator op>
Result<bool> compared(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"test", {"other"}, 1, 1}, args));
  return comparison(heap, op, v, bound[0]);
}

Result<bool> in(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"in", {"seq"}, 1}, args));
  return contains(heap, bound[0], v);
}

Result<bool> modulo_is(Heap& heap, const Value& v, const Value& by, std::int64_t rest) {
  WEIR_TRY(const Value modulo, arithmetic(heap, Operator::kModulo, v, by));
  return equal(modulo, integer(rest));
}

Result<bool> odd(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"odd", {}}, args));
  return modulo_is(heap, v, integer(2), 1);
}

Result<bool> even(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"even", {}}, args));
  return modulo_is(heap, v, integer(2), 0);
}

Result<bool> divisible_by(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"divisibleby", {"num"}, 1}, args));
  return modulo_is(heap, v, bound[0], 0);
}

Result<bool> lower_test(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"lower", {}}, args));
  WEIR_TRY(const Text text, to_text(heap, v));
  return is_lower_text(text.view());
}

Result<bool> upper_test(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"upper", {}}, args));
  WEIR_TRY(const Text text, to_text(heap, v));
  return is_upper_text(text.view());
}

Result<bool> same_as(Heap&, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"sameas", {"other"}, 1}, args));
  const Value& other = bound[0];
  if (v.kind != other.kind) return false;
  switch (v.kind) {
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return v.boolean == other.boolean;
    case Kind::kInt:
      return v.integer == other.integer;
    case Kind::kString:
      return v.str() == other.str();
    default:
      return v.object == other.object;
  }
}

Result<bool> filter_exists(Heap&, const Value& v, const Arguments&) {
  return v.is(Kind::kString) && find_filter(v.str()) != nullptr;
}

Result<bool> test_exists(Heap&, const Value& v, const Arguments&) {
  return v.is(Kind::kString) && find_test(v.str()) != nullptr;
}

struct Entry {
  std::string_view name;
  Test test;
};

constexpr auto kTests = std::to_array<Entry>({
    {"!=", compared<Operator::kNotEqual>},
    {"<", compared<Operator::kLess>},
    {"<=", compared<Operator::kLessEqual>},
    {"==", compared<Operator::kEqual>},
    {">", compared<Operator::kGreater>},
    {">=", compared<Operator::kGreaterEqual>},
    {"boolean", plain<is_boolean>},
    {"callable", plain<is_callable>},
    {"defined", plain<is_defined>},
    {"divisibleby", divisible_by},
    {"eq", compared<Operator::kEqual>},
    {"equalto", compared<Operator::kEqual>},
    {"escaped", plain<is_escaped>},
    {"even", even},
    {"false", plain<is_false>},
    {"filter", filter_exists},
    {"float", plain<is_float>},
    {"ge", compared<Operator::kGreaterEqual>},
    {"greaterthan", compared<Operator::kGreater>},
    {"gt", compared<Operator::kGreater>},
    {"in", in},
    {"integer", plain<is_integer>},
    {"iterable", plain<is_iterable>},
    {"le", compared<Operator::kLessEqual>},
    {"lessthan", compared<Operator::kLess>},
    {"lower", lower_test},
    {"lt", compared<Operator::kLess>},
    {"mapping", plain<is_mapping>},
    {"ne", compared<Operator::kNotEqual>},
    {"none", plain<is_none>},
    {"number", plain<is_any_number>},
    {"odd", odd},
    {"sameas", same_as},
    {"sequence", plain<is_sequence>},
    {"string", plain<is_string>},
    {"test", test_exists},
    {"true", plain<is_true>},
    {"undefined", plain<is_undefined>},
    {"upper", upper_test},
});

}  // namespace

Test find_test(std::string_view name) {
  for (const Entry& e : kTests) {
    if (e.name == name) return e.test;
  }
  return nullptr;
}

}  // namespace weir::jinja
