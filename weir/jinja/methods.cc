#include "weir/jinja/methods.h"

#include <algorithm>
#include <array>

#include "weir/jinja/arguments.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/string_methods.h"

namespace weir::jinja {
namespace {

using Native = FunctionObject::Native;

struct Entry {
  std::string_view name;
  Native call;
};

template <std::size_t N>
Native look_up(const std::array<Entry, N>& entries, std::string_view name) {
  for (const Entry& e : entries) {
    if (e.name == name) return e.call;
  }
  return nullptr;
}

Value view_of(Heap& heap, const Value& dict, ViewObject::What what) {
  auto* view = heap.make<ViewObject>();
  view->what = what;
  view->dict = &dict.dict();
  return heap.object(Kind::kView, view, dict.trusted);
}

Result<Value> dict_view(Heap& heap, const Value& self, std::string_view name,
                        const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  const auto what = name == "keys"     ? ViewObject::What::kKeys
                    : name == "values" ? ViewObject::What::kValues
                                       : ViewObject::What::kItems;
  return view_of(heap, self, what);
}

Result<Value> dict_get(Heap&, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"key", "default"}, 1, 2}, args));
  if (!hashable(bound[0]))
    return type_error("unhashable type: '" + std::string(type_name(bound[0])) + "'");
  const Value* found = self.dict().find(bound[0]);
  return found != nullptr ? *found : bound.value_or(1, none());
}

Result<Value> dict_copy(Heap&, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  return self;  // Immutable, so a copy cannot be told from it.
}

Result<Value> sequence_count(Heap& heap, const Value& self, std::string_view name,
                             const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"value"}, 1, 1}, args));
  WEIR_TRY(const auto items, iterate_all(heap, self));
  WEIR_TRY_STATUS(heap.charge(items.size() * 8));
  std::int64_t n = 0;
  for (const Value& item : items) {
    WEIR_TRY(const bool same, equal(item, bound[0]));
    n += same ? 1 : 0;
  }
  return integer(n, self.trusted);
}

Result<Value> sequence_index(Heap& heap, const Value& self, std::string_view name,
                             const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"value", "start", "stop"}, 1, 3}, args));
  WEIR_TRY(const auto items, iterate_all(heap, self));
  WEIR_TRY_STATUS(heap.charge(items.size() * 8));
  const auto size = static_cast<std::int64_t>(items.size());
  WEIR_TRY(std::int64_t start, bound.integer_or(1, 0));
  WEIR_TRY(std::int64_t stop, bound.integer_or(2, size));
  if (start < 0) start = std::max<std::int64_t>(start + size, 0);
  if (stop < 0) stop += size;
  for (std::int64_t i = start; i < std::min(stop, size); ++i) {
    WEIR_TRY(const bool same, equal(items[static_cast<std::size_t>(i)], bound[0]));
    if (same) return integer(i, self.trusted);
  }
  return type_error("the value is not in the sequence");
}

Result<Value> float_is_integer(Heap&, const Value& self, std::string_view name,
                               const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  return boolean(
      self.real - static_cast<double>(static_cast<long long>(std::clamp(self.real, -9e18, 9e18))) ==
      0);
}

Result<Value> cycler_next(Heap&, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  auto& cycler = self.as<CyclerObject>();
  const Value current = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return current;
}

Result<Value> cycler_reset(Heap&, const Value& self, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {}}, args));
  self.as<CyclerObject>().position = 0;
  return none();
}

constexpr auto kDictMethods = std::to_array<Entry>({{"get", dict_get},
                                                    {"items", dict_view},
                                                    {"keys", dict_view},
                                                    {"values", dict_view},
                                                    {"copy", dict_copy}});
constexpr auto kSequenceMethods =
    std::to_array<Entry>({{"count", sequence_count}, {"index", sequence_index}});
constexpr auto kCyclerMethods =
    std::to_array<Entry>({{"next", cycler_next}, {"reset", cycler_reset}});

}  // namespace

Native find_method(const Value& object, std::string_view name) {
  switch (object.kind) {
    case Kind::kString:
      return find_string_method(name);
    case Kind::kDict:
      return look_up(kDictMethods, name);
    case Kind::kList:
      if (name == "copy") return dict_copy;
      [[fallthrough]];
    case Kind::kTuple:
    case Kind::kRange:
      return look_up(kSequenceMethods, name);
    case Kind::kFloat:
      return name == "is_integer" ? float_is_integer : nullptr;
    case Kind::kCycler:
      return look_up(kCyclerMethods, name);
    default:
      return nullptr;
  }
}

bool is_mutator(const Value& object, std::string_view name) {
  static constexpr std::string_view kOfList[] = {"append", "clear", "pop",    "reverse",
                                                 "insert", "sort",  "extend", "remove"};
  static constexpr std::string_view kOfDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (object.is(Kind::kList)) return std::ranges::find(kOfList, name) != std::end(kOfList);
  if (object.is(Kind::kDict)) return std::ranges::find(kOfDict, name) != std::end(kOfDict);
  return false;
}

}  // namespace weir::jinja
