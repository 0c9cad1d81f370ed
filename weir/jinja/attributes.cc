#include "weir/jinja/attributes.h"

#include <fmt/format.h>

#include <optional>

#include "weir/base/utf8.h"
#include "weir/jinja/methods.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

Value no_attribute(Heap& heap, const Value& object, std::string_view name) {
  return heap.undefined(fmt::format("'{} object' has no attribute '{}'", type_name(object), name));
}

/// getattr(), or nothing.
std::optional<Value> attribute(Heap& heap, const Value& object, std::string_view name) {
  const bool dunder = name.starts_with("__") && name.ends_with("__") && name.size() > 4;
  if (object.is(Kind::kNamespace)) {
    const Value* found = object.dict().find(name);
    return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
  }
  if (dunder || is_mutator(object, name)) {
    return heap.undefined(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)));
  }
  if (const FunctionObject::Native call = find_method(object, name)) {
    return heap.method(object, name, call);
  }
  if (object.is(Kind::kRange)) {
    const auto& range = object.as<RangeObject>();
    if (name == "start") return integer(range.start);
    if (name == "stop") return integer(range.stop);
    if (name == "step") return integer(range.step);
  }
  if (object.is(Kind::kInt) || object.is(Kind::kBool)) {
    if (name == "real" || name == "numerator") return integer(*as_integer(object), object.trusted);
    if (name == "imag") return integer(0);
    if (name == "denominator") return integer(1);
  }
  if (object.is(Kind::kCycler) && name == "current") {
    const auto& cycler = object.as<CyclerObject>();
    return cycler.items[cycler.position];
  }
  return std::nullopt;
}

/// object[key] of Python, or nothing where it raises TypeError or LookupError.
std::optional<Value> item(Heap& heap, const Value& object, const Value& key) {
  const auto position = [&](std::int64_t size) -> std::optional<std::size_t> {
    const auto i = as_integer(key);
    if (!i) return std::nullopt;
    const std::int64_t at = *i < 0 ? *i + size : *i;
    if (at < 0 || at >= size) return std::nullopt;
    return static_cast<std::size_t>(at);
  };
  switch (object.kind) {
    case Kind::kDict: {
      if (!hashable(key)) return std::nullopt;
      const Value* found = object.dict().find(key);
      return found != nullptr ? std::optional<Value>(*found) : std::nullopt;
    }
    case Kind::kList:
    case Kind::kTuple: {
      const auto at = position(static_cast<std::int64_t>(object.items().size()));
      return at ? std::optional<Value>(object.items()[*at]) : std::nullopt;
    }
    case Kind::kString: {
      if (!as_integer(key)) return std::nullopt;
      const std::string_view view = object.str();
      heap.note(view.size() / 4);
      const auto at = position(static_cast<std::int64_t>(length(view)));
      if (!at) return std::nullopt;
      const std::size_t from = byte_offset(view, *at);
      Value v = heap.string(object.text().slice(from, utf8::decode(view, from).size));
      v.markup = object.markup;
      return v;
    }
    case Kind::kRange: {
      const auto& range = object.as<RangeObject>();
      const auto at = position(range.size());
      if (!at) return std::nullopt;
      return integer(range.start + static_cast<std::int64_t>(*at) * range.step);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<Value> get_attribute(Heap& heap, const Value& object, std::string_view name) {
  if (object.is(Kind::kUndefined)) return undefined_error(object);
  if (const auto found = attribute(heap, object, name)) return *found;
  if (object.is(Kind::kDict)) {
    if (const Value* found = object.dict().find(name)) return *found;
  }
  return no_attribute(heap, object, name);
}

Result<Value> get_item(Heap& heap, const Value& object, const Value& key) {
  if (object.is(Kind::kUndefined)) return undefined_error(object);
  if (const auto found = item(heap, object, key)) return *found;
  if (key.is(Kind::kString)) {
    if (const auto found = attribute(heap, object, key.str())) return *found;
    return no_attribute(heap, object, key.str());
  }
  WEIR_TRY(const Text shown, to_repr(heap, key));
  return heap.undefined(
      fmt::format("{} object has no element {}", type_name(object), shown.view().substr(0, 200)));
}

Result<Value> get_attribute_only(Heap& heap, const Value& object, std::string_view name) {
  if (object.is(Kind::kUndefined)) return undefined_error(object);
  if (const auto found = attribute(heap, object, name)) return *found;
  return no_attribute(heap, object, name);
}

}  // namespace weir::jinja
