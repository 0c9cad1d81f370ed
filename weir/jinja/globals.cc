#include "weir/jinja/globals.h"

#include <fmt/format.h>

#include <array>

#include "weir/jinja/arguments.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/strftime.h"

namespace weir::jinja {
namespace {

/// Jinja's sandbox allows ranges of as many items.
constexpr std::int64_t kMaxRange = 100'000;
/// Keeps start + n * step far from overflow.
constexpr std::int64_t kMaxBound = std::int64_t{1} << 40;

Result<Value> range(Heap& heap, const Value&, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"start", "stop", "step"}, 1, 3}, args));
  auto* out = heap.make<RangeObject>();
  WEIR_TRY(const std::int64_t first, bound.integer_or(0, 0));
  if (bound.has(1)) {
    out->start = first;
    WEIR_TRY(out->stop, bound.integer_or(1, 0));
    WEIR_TRY(out->step, bound.integer_or(2, 1));
  } else {
    out->stop = first;
  }
  if (out->step == 0) return type_error("range() arg 3 must not be zero");
  for (const std::int64_t v : {out->start, out->stop, out->step}) {
    if (v > kMaxBound || v < -kMaxBound) return type_error("range() takes numbers up to 2^40");
  }
  if (out->size() > kMaxRange) {
    return type_error(fmt::format(
        "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", kMaxRange));
  }
  return heap.object(Kind::kRange, out);
}

Status fill(Heap& heap, DictObject& out, const Arguments& args) {
  if (args.positional.size() > 1) {
    return type_error(
        fmt::format("dict expected at most 1 argument, got {}", args.positional.size()));
  }
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.is(Kind::kDict) || from.is(Kind::kNamespace)) {
      if (from.is(Kind::kNamespace)) return type_error("'Namespace' object is not iterable");
      for (const auto& [key, value] : from.dict().items) out.set(key, value);
    } else {
      WEIR_TRY(const auto items, iterate_all(heap, from));
      for (const Value& item : items) {
        WEIR_TRY(const auto pair, iterate_all(heap, item));
        if (pair.size() != 2) {
          return type_error(fmt::format(
              "dictionary update sequence element has length {}; 2 is required", pair.size()));
        }
        if (!hashable(pair[0])) {
          return type_error(fmt::format("unhashable type: '{}'", type_name(pair[0])));
        }
        WEIR_TRY_STATUS(
            heap.charge(pair[0].is(Kind::kString) ? Heap::kStep : Heap::kStep + out.items.size()));
        out.set(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [key, value] : args.named) out.set(heap.string(key, true), value);
  heap.note(out.items.size() * 64);
  return {};
}

Result<Value> dict(Heap& heap, const Value&, std::string_view, const Arguments& args) {
  auto* out = heap.make<DictObject>();
  WEIR_TRY_STATUS(fill(heap, *out, args));
  Value v = heap.object(Kind::kDict, out);
  if (!args.positional.empty()) v.trusted = args.positional[0].trusted;
  return v;
}

Result<Value> make_namespace(Heap& heap, const Value&, std::string_view, const Arguments& args) {
  auto* out = heap.make<DictObject>();
  WEIR_TRY_STATUS(fill(heap, *out, args));
  return heap.object(Kind::kNamespace, out);
}

Result<Value> make_cycler(Heap& heap, const Value&, std::string_view, const Arguments& args) {
  if (args.positional.empty()) return type_error("at least one item has to be provided");
  if (!args.named.empty()) return type_error("cycler() got an unexpected keyword argument");
  auto* out = heap.make<CyclerObject>();
  out->items = args.positional;
  return heap.object(Kind::kCycler, out);
}

Result<Value> make_joiner(Heap& heap, const Value&, std::string_view name, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"sep"}}, args));
  auto* out = heap.make<JoinerObject>();
  out->separator = bound.value_or(0, heap.string(", ", true));
  return heap.object(Kind::kJoiner, out);
}

Result<Value> raise_exception(Heap& heap, const Value&, std::string_view name,
                              const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"message"}, 1}, args));
  WEIR_TRY(const Text message, to_text(heap, bound[0]));
  return fail(Code::kInvalidArgument,
              fmt::format("the template refuses: {}", message.view().substr(0, 1000)));
}

Result<Value> strftime_now(Heap& heap, const Value& self, std::string_view name,
                           const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({name, {"format"}, 1}, args));
  if (!bound[0].is(Kind::kString)) {
    return type_error(
        fmt::format("strftime() argument 1 must be str, not {}", type_name(bound[0])));
  }
  WEIR_TRY_STATUS(heap.charge(bound[0].text().size() * 24));
  return heap.string(strftime_utc(self.integer, bound[0].str()), bound[0].text().all_trusted());
}

struct Entry {
  std::string_view name;
  FunctionObject::Native call;
};

constexpr auto kGlobals = std::to_array<Entry>({{"cycler", make_cycler},
                                                {"dict", dict},
                                                {"joiner", make_joiner},
                                                {"namespace", make_namespace},
                                                {"raise_exception", raise_exception},
                                                {"range", range},
                                                {"strftime_now", strftime_now}});

}  // namespace

std::optional<Value> find_global(Heap& heap, std::string_view name, std::int64_t unix_seconds) {
  for (const Entry& e : kGlobals) {
    if (e.name == name) return heap.method(integer(unix_seconds), e.name, e.call);
  }
  return std::nullopt;
}

Result<Value> call_native(Heap& heap, const Value& function, const Arguments& args) {
  switch (function.kind) {
    case Kind::kFunction: {
      const auto& f = function.as<FunctionObject>();
      return f.call(heap, f.self, f.name, args);
    }
    case Kind::kJoiner: {
      WEIR_TRY(const Bound bound, bind({"joiner", {}}, args));
      auto& joiner = function.as<JoinerObject>();
      if (std::exchange(joiner.used, true)) return joiner.separator;
      return heap.string("", true);
    }
    case Kind::kUndefined:
      return undefined_error(function);
    default:
      return type_error(fmt::format("'{}' object is not callable", type_name(function)));
  }
}

}  // namespace weir::jinja
