#include "weir/jinja/value.h"

#include "weir/jinja/operators.h"

namespace weir::jinja {

const Text& Value::text() const { return as<TextObject>().text; }
std::string_view Value::str() const { return text().view(); }
const std::vector<Value>& Value::items() const { return as<ListObject>().items; }
DictObject& Value::dict() const { return as<DictObject>(); }

Value none(bool trusted) {
  Value v;
  v.kind = Kind::kNone;
  v.trusted = trusted;
  return v;
}

Value boolean(bool value, bool trusted) {
  Value v;
  v.kind = Kind::kBool;
  v.trusted = trusted;
  v.boolean = value;
  return v;
}

Value integer(std::int64_t value, bool trusted) {
  Value v;
  v.kind = Kind::kInt;
  v.trusted = trusted;
  v.integer = value;
  return v;
}

Value real(double value, bool trusted) {
  Value v;
  v.kind = Kind::kFloat;
  v.trusted = trusted;
  v.real = value;
  return v;
}

const Value* DictObject::find(std::string_view key) const {
  const auto it = strings_.find(key);
  return it == strings_.end() ? nullptr : &items[it->second].second;
}

const Value* DictObject::find(const Value& key) const {
  if (key.is(Kind::kString)) return find(key.str());
  for (const std::size_t i : others_) {
    if (equal(items[i].first, key).value_or(false)) return &items[i].second;
  }
  return nullptr;
}

void DictObject::set(const Value& key, const Value& value) {
  if (const Value* found = find(key)) {
    const_cast<Value&>(*found) = value;  // The items are ours; find() is shared with const readers.
    return;
  }
  if (key.is(Kind::kString)) {
    strings_.emplace(key.str(), items.size());
  } else {
    others_.push_back(items.size());
  }
  items.emplace_back(key, value);
}

std::int64_t RangeObject::size() const {
  // The bounds are within 2^62 (see globals.cc), so nothing here overflows.
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

Status Heap::charge(std::uint64_t units) {
  note(units);
  if (left_ > 0) return {};
  return fail(Code::kTooLarge, "the template does more work than its budget allows");
}

Value Heap::object(Kind kind, Object* o, bool trusted) {
  Value v;
  v.kind = kind;
  v.trusted = trusted;
  v.object = o;
  return v;
}

Value Heap::string(Text text) {
  note(text.size());
  return object(Kind::kString, make<TextObject>(std::move(text)));
}

Value Heap::list(std::vector<Value> items, Kind kind) {
  note(items.size() * sizeof(Value));
  auto* o = make<ListObject>();
  o->items = std::move(items);
  return object(kind, o);
}

Value Heap::iterator(std::vector<Value> items, std::optional<Error> tail) {
  note(items.size() * sizeof(Value));
  auto* o = make<IteratorObject>();
  o->items = std::move(items);
  o->tail = std::move(tail);
  return object(Kind::kIterator, o);
}

Value Heap::undefined(std::string message) {
  note(message.size());
  auto* o = make<UndefinedObject>();
  o->message = std::move(message);
  return object(Kind::kUndefined, o);
}

Value Heap::method(const Value& self, std::string_view name, FunctionObject::Native call) {
  auto* o = make<FunctionObject>();
  o->name = name;
  o->self = self;
  o->call = call;
  return object(Kind::kFunction, o);
}

std::string_view type_name(const Value& value) {
  switch (value.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return "generator";
    case Kind::kView:
      return "dict view";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kFunction:
      return "function";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

bool truthy(const Value& v) {
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return v.boolean;
    case Kind::kInt:
      return v.integer != 0;
    case Kind::kFloat:
      return v.real != 0;
    case Kind::kString:
      return !v.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !v.items().empty();
    case Kind::kDict:
      return !v.dict().items.empty();
    case Kind::kRange:
      return v.as<RangeObject>().size() > 0;
    case Kind::kView:
      return !v.as<ViewObject>().dict->items.empty();
    default:
      return true;
  }
}

bool is_number(const Value& v) {
  return v.is(Kind::kBool) || v.is(Kind::kInt) || v.is(Kind::kFloat);
}

std::optional<std::int64_t> as_integer(const Value& v) {
  if (v.is(Kind::kInt)) return v.integer;
  if (v.is(Kind::kBool)) return v.boolean ? 1 : 0;
  return std::nullopt;
}

double as_real(const Value& v) {
  return v.is(Kind::kFloat) ? v.real : static_cast<double>(*as_integer(v));
}

bool hashable(const Value& v, int depth) {
  switch (v.kind) {
    case Kind::kList:
    case Kind::kDict:
      return false;
    case Kind::kTuple:
      if (depth > kMaxValueDepth) return false;
      for (const Value& item : v.items()) {
        if (!hashable(item, depth + 1)) return false;
      }
      return true;
    case Kind::kView:
      return v.as<ViewObject>().what == ViewObject::What::kValues;
    default:
      return true;
  }
}

std::unexpected<Error> undefined_error(const Value& v) {
  return fail(Code::kInvalidArgument, v.as<UndefinedObject>().message);
}

std::unexpected<Error> type_error(std::string message) {
  return fail(Code::kInvalidArgument, std::move(message));
}

}  // namespace weir::jinja
