#include "weir/jinja/sequence_filters.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/jinja/arguments.h"
#include "weir/jinja/attributes.h"
#include "weir/jinja/filters.h"
#include "weir/jinja/format.h"
#include "weir/jinja/merge_sort.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/printing.h"
#include "weir/jinja/unicode.h"

namespace weir::jinja {
namespace {

/// "a.b.0" as the steps of environment.getitem.
std::vector<Value> attribute_path(Heap& heap, const Value& attribute) {
  if (attribute.is(Kind::kNone)) return {};
  if (!attribute.is(Kind::kString)) return {attribute};
  std::vector<Value> out;
  for (const Text& part : split(attribute.text(), ".", -1)) {
    const bool digits = !part.empty() && std::ranges::all_of(part.view(), [](char c) {
      return c >= '0' && c <= '9';
    });
    const auto index = digits ? parse_integer(part.view(), 10) : std::nullopt;
    out.push_back(index ? integer(*index) : heap.string(part));
  }
  return out;
}

/// make_attrgetter: follows a path, then perhaps lowers strings.
class Getter {
 public:
  Getter(Heap& heap, const Value& attribute, bool ignore_case, const Value* fallback = nullptr)
      : heap_(heap), ignore_case_(ignore_case), fallback_(fallback) {
    path_ = attribute_path(heap, attribute);
  }

  Result<Value> operator()(Value item) const {
    WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
    for (const Value& step : path_) {
      WEIR_TRY(item, get_item(heap_, item, step));
      if (item.is(Kind::kUndefined) && fallback_ != nullptr) item = *fallback_;
    }
    if (ignore_case_ && item.is(Kind::kString)) return heap_.string(lower(item.text()));
    return item;
  }

 private:
  Heap& heap_;
  std::vector<Value> path_;
  bool ignore_case_;
  const Value* fallback_;
};

/// A generator filter: what `body` throws while walking the items comes after what it yielded.
template <class F>
Result<Value> generate(Heap& heap, const Value& value, bool only_if_true, F body) {
  std::vector<Value> out;
  const auto run = [&]() -> Status {
    if (only_if_true && !truthy(value)) return {};
    WEIR_TRY(const Sequence sequence, iterate(heap, value));
    for (const Value& item : sequence.items) {
      WEIR_TRY_STATUS(heap.charge(Heap::kStep));
      WEIR_TRY_STATUS(body(item, out));
    }
    if (sequence.tail != nullptr) return std::unexpected(*sequence.tail);
    return {};
  };
  Status status = run();
  if (status) return heap.iterator(std::move(out));
  if (status.error().code == Code::kTooLarge) return std::unexpected(std::move(status).error());
  return heap.iterator(std::move(out), std::move(status).error());
}

struct Keyed {
  Value key;
  Value item;
};

Result<std::vector<Value>> sorted(Heap& heap, std::vector<Keyed> items, bool reverse) {
  std::uint64_t cost = Heap::kStep;
  for (std::size_t n = items.size(); n > 1; n /= 2) cost += 16 * items.size();
  WEIR_TRY_STATUS(heap.charge(cost));
  const auto less = [&](const Keyed& a, const Keyed& b) -> Result<bool> {
    WEIR_TRY_STATUS(heap.charge(a.key.is(Kind::kString) ? a.key.text().size() / 16 : 4));
    return comparison(heap, Operator::kLess, a.key, b.key);
  };
  // Python's reverse keeps the order of equal items: reverse, sort, reverse.
  if (reverse) std::reverse(items.begin(), items.end());
  WEIR_TRY_STATUS(merge_sort(items, less));
  if (reverse) std::reverse(items.begin(), items.end());
  std::vector<Value> out;
  out.reserve(items.size());
  for (const Keyed& k : items) out.push_back(k.item);
  return out;
}

Result<Value> minimum_or_maximum(Heap& heap, const Value& value, const Arguments& args,
                                 Operator better) {
  WEIR_TRY(const Bound bound, bind({"min", {"case_sensitive", "attribute"}}, args));
  WEIR_TRY(const auto items, iterate_all(heap, value));
  if (items.empty()) return heap.undefined("No aggregated item, sequence was empty.");
  const Getter getter(heap, bound.value_or(1, none()), !bound.is_true(0));
  Value best = items[0];
  WEIR_TRY(Value best_key, getter(best));
  for (const Value& item : items.subspan(1)) {
    WEIR_TRY(const Value key, getter(item));
    WEIR_TRY(const bool yes, comparison(heap, better, key, best_key));
    if (yes) {
      best = item;
      best_key = key;
    }
  }
  return best;
}

/// select, reject, selectattr, rejectattr.
Result<Value> choose(Heap& heap, const Value& value, const Arguments& args, bool keep,
                     bool by_attribute) {
  const std::size_t offset = by_attribute ? 1 : 0;
  return generate(heap, value, true, [&](const Value& item, std::vector<Value>& out) -> Status {
    if (args.positional.size() < offset) {
      return type_error("Missing parameter for attribute name");
    }
    Value subject = item;
    if (by_attribute) {
      WEIR_TRY(subject, Getter(heap, args.positional[0], false)(item));
    }
    bool yes = false;
    if (args.positional.size() > offset) {
      const Value& name = args.positional[offset];
      const Test test = name.is(Kind::kString) ? find_test(name.str()) : nullptr;
      if (test == nullptr) {
        WEIR_TRY(const Text shown, to_repr(heap, name));
        return type_error(fmt::format("No test named {}.", shown.view()));
      }
      Arguments rest;
      rest.positional.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(offset) + 1,
                             args.positional.end());
      rest.named = args.named;
      WEIR_TRY(yes, test(heap, subject, rest));
    } else {
      yes = truthy(subject);
    }
    if (yes == keep) out.push_back(item);
    return {};
  });
}

}  // namespace

Result<Value> filter_attr(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"attr", {"name"}, 1}, args));
  if (!bound[0].is(Kind::kString)) return type_error("attribute name must be string");
  return get_attribute_only(heap, v, bound[0].str());
}

Result<Value> filter_length(Heap&, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"length", {}}, args));
  WEIR_TRY(const std::int64_t n, length_of(v));
  return integer(n, v.is(Kind::kString) ? v.text().all_trusted() : v.trusted);
}

Result<Value> filter_list(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"list", {}}, args));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  Value out = heap.list(std::vector<Value>(items.begin(), items.end()));
  out.trusted = v.is(Kind::kString) ? v.text().all_trusted() : v.trusted;
  return out;
}

Result<Value> filter_items(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"items", {}}, args));
  if (v.is(Kind::kUndefined)) return heap.iterator({});
  if (!v.is(Kind::kDict)) {
    return heap.iterator(
        {}, Error{Code::kInvalidArgument, "Can only get item pairs from a mapping.", ""});
  }
  std::vector<Value> out;
  for (const auto& [key, value] : v.dict().items)
    out.push_back(heap.list({key, value}, Kind::kTuple));
  return heap.iterator(std::move(out));
}

Result<Value> filter_join(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"join", {"d", "attribute"}}, args));
  WEIR_TRY(const Text separator, bound.has(0) ? to_text(heap, bound[0]) : Result<Text>(Text()));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  const Getter getter(heap, bound.value_or(1, none()), false);
  Text out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    WEIR_TRY(const Value item, getter(items[i]));
    WEIR_TRY(const Text text, to_text(heap, item));
    WEIR_TRY_STATUS(heap.charge(text.size() + separator.size()));
    if (i > 0) out.append(separator);
    out.append(text);
  }
  return heap.string(std::move(out));
}

Result<Value> filter_first(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"first", {}}, args));
  if (v.is(Kind::kIterator)) {
    auto& it = v.as<IteratorObject>();
    if (it.next < it.items.size()) return it.items[it.next++];
    if (it.tail) return std::unexpected(*it.tail);
    return heap.undefined("No first item, sequence was empty.");
  }
  if (v.is(Kind::kString) && !v.text().empty()) return get_item(heap, v, integer(0));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  if (items.empty()) return heap.undefined("No first item, sequence was empty.");
  return items.front();
}

Result<Value> filter_last(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"last", {}}, args));
  switch (v.kind) {
    case Kind::kIterator:
      return type_error("'generator' object is not reversible");
    case Kind::kString:
      if (v.text().empty()) break;
      return get_item(heap, v, integer(-1));
    default:
      break;
  }
  WEIR_TRY(const auto items, iterate_all(heap, v));
  if (items.empty()) return heap.undefined("No last item, sequence was empty.");
  return items.back();
}

Result<Value> filter_reverse(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"reverse", {}}, args));
  if (v.is(Kind::kString)) {
    Value out = heap.string(Text());
    WEIR_TRY(out, slice(heap, v, none(), none(), integer(-1)));
    return out;
  }
  Result<std::span<const Value>> items = iterate_all(heap, v);
  if (!items) {
    if (v.is(Kind::kIterator)) return std::unexpected(std::move(items).error());
    return type_error("argument must be iterable");
  }
  std::vector<Value> out(items->rbegin(), items->rend());
  return v.is(Kind::kIterator) ? heap.list(std::move(out)) : heap.iterator(std::move(out));
}

Result<Value> filter_map(Heap& heap, const Value& v, const Arguments& args) {
  return generate(heap, v, true, [&](const Value& item, std::vector<Value>& out) -> Status {
    if (args.positional.empty() && !args.named.empty() &&
        std::ranges::any_of(args.named, [](const auto& p) { return p.first == "attribute"; })) {
      WEIR_TRY(const Bound bound, bind({"map", {"attribute", "default"}, 1}, args));
      const Value* fallback = bound.is_none(1) ? nullptr : &bound[1];
      WEIR_TRY(const Value got, Getter(heap, bound[0], false, fallback)(item));
      out.push_back(got);
      return {};
    }
    if (args.positional.empty()) return type_error("map requires a filter argument");
    const Value& name = args.positional[0];
    const Filter filter = name.is(Kind::kString) ? find_filter(name.str()) : nullptr;
    if (filter == nullptr) {
      WEIR_TRY(const Text shown, to_repr(heap, name));
      return type_error(fmt::format("No filter named {}.", shown.view()));
    }
    Arguments rest;
    rest.positional.assign(args.positional.begin() + 1, args.positional.end());
    rest.named = args.named;
    WEIR_TRY(const Value got, filter(heap, item, rest));
    out.push_back(got);
    return {};
  });
}

Result<Value> filter_select(Heap& heap, const Value& v, const Arguments& args) {
  return choose(heap, v, args, true, false);
}
Result<Value> filter_reject(Heap& heap, const Value& v, const Arguments& args) {
  return choose(heap, v, args, false, false);
}
Result<Value> filter_selectattr(Heap& heap, const Value& v, const Arguments& args) {
  return choose(heap, v, args, true, true);
}
Result<Value> filter_rejectattr(Heap& heap, const Value& v, const Arguments& args) {
  return choose(heap, v, args, false, true);
}

Result<Value> filter_batch(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"batch", {"linecount", "fill_with"}, 1}, args));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  std::vector<Value> out;
  std::vector<Value> row;
  for (const Value& item : items) {
    WEIR_TRY(const bool full, equal(integer(static_cast<std::int64_t>(row.size())), bound[0]));
    if (full) out.push_back(heap.list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (!bound.is_none(1)) {
      WEIR_TRY(const std::int64_t width, bound.integer_or(0, 0));
      const auto missing = width - static_cast<std::int64_t>(row.size());
      WEIR_TRY_STATUS(
          heap.charge(missing > 0 ? static_cast<std::uint64_t>(missing) * sizeof(Value) : 0));
      for (std::int64_t i = 0; i < missing; ++i) row.push_back(bound[1]);
    }
    out.push_back(heap.list(std::move(row)));
  }
  return heap.iterator(std::move(out));
}

Result<Value> filter_slice(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"slice", {"slices", "fill_with"}, 1}, args));
  WEIR_TRY(const std::int64_t slices, bound.integer_or(0, 0));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  if (slices == 0) {
    return heap.iterator({},
                         Error{Code::kInvalidArgument, "integer division or modulo by zero", ""});
  }
  if (slices < 0) return heap.iterator({});
  WEIR_TRY_STATUS(heap.charge(static_cast<std::uint64_t>(slices) * Heap::kStep));
  const auto size = static_cast<std::int64_t>(items.size());
  const std::int64_t each = size / slices;
  const std::int64_t extra = size % slices;
  std::vector<Value> out;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < slices; ++i) {
    const std::int64_t n = each + (i < extra ? 1 : 0);
    const auto part = items.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
    std::vector<Value> row(part.begin(), part.end());
    if (!bound.is_none(1) && i >= extra) row.push_back(bound[1]);
    out.push_back(heap.list(std::move(row)));
    at += n;
  }
  return heap.iterator(std::move(out));
}

Result<Value> filter_sort(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"sort", {"reverse", "case_sensitive", "attribute"}}, args));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  const bool ignore_case = !bound.is_true(1);
  const Value attribute = bound.value_or(2, none());
  std::vector<Getter> getters;
  if (attribute.is(Kind::kString)) {
    for (const Text& part : split(attribute.text(), ",", -1)) {
      getters.emplace_back(heap, heap.string(part), ignore_case);
    }
  } else {
    getters.emplace_back(heap, attribute, ignore_case);
  }
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const Getter& getter : getters) {
      WEIR_TRY(const Value part, getter(item));
      key.push_back(part);
    }
    keyed.push_back({heap.list(std::move(key)), item});
  }
  WEIR_TRY(std::vector<Value> out, sorted(heap, std::move(keyed), bound.is_true(0)));
  return heap.list(std::move(out));
}

Result<Value> filter_dictsort(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"dictsort", {"case_sensitive", "by", "reverse"}}, args));
  bool by_value = false;
  if (bound.has(1)) {
    WEIR_TRY(const Text by, to_text(heap, bound[1]));
    by_value = by.view() == "value";
    if (!by_value && by.view() != "key") {
      return type_error("You can only sort by either \"key\" or \"value\"");
    }
  }
  if (v.is(Kind::kUndefined)) return undefined_error(v);
  if (!v.is(Kind::kDict)) {
    return type_error(fmt::format("'{}' object has no attribute 'items'", type_name(v)));
  }
  const Getter getter(heap, none(), !bound.is_true(0));
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : v.dict().items) {
    WEIR_TRY(const Value by, getter(by_value ? value : key));
    keyed.push_back({by, heap.list({key, value}, Kind::kTuple)});
  }
  WEIR_TRY(std::vector<Value> out, sorted(heap, std::move(keyed), bound.is_true(2)));
  return heap.list(std::move(out));
}

Result<Value> filter_groupby(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound,
           bind({"groupby", {"attribute", "default", "case_sensitive"}, 1}, args));
  const Value* fallback = bound.is_none(1) ? nullptr : &bound[1];
  const Getter key_of(heap, bound[0], !bound.is_true(2), fallback);
  const Getter shown_key(heap, bound[0], false, fallback);
  WEIR_TRY(const auto items, iterate_all(heap, v));
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    WEIR_TRY(const Value key, key_of(item));
    keyed.push_back({key, item});
  }
  WEIR_TRY(const std::vector<Value> order, sorted(heap, std::move(keyed), false));
  std::vector<Value> out;
  std::vector<Value> group;
  Value group_key;
  const auto flush = [&]() -> Status {
    if (group.empty()) return {};
    WEIR_TRY(const Value shown, shown_key(group[0]));
    out.push_back(heap.list({shown, heap.list(std::exchange(group, {}))}, Kind::kTuple));
    return {};
  };
  for (const Value& item : order) {
    WEIR_TRY(const Value key, key_of(item));
    WEIR_TRY(const bool same, group.empty() ? Result<bool>(false) : equal(key, group_key));
    if (!same) WEIR_TRY_STATUS(flush());
    group_key = key;
    group.push_back(item);
  }
  WEIR_TRY_STATUS(flush());
  return heap.list(std::move(out));
}

Result<Value> filter_sum(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"sum", {"attribute", "start"}}, args));
  WEIR_TRY(const auto items, iterate_all(heap, v));
  const Getter getter(heap, bound.value_or(0, none()), false);
  Value total = bound.value_or(1, integer(0));
  if (total.is(Kind::kString))
    return type_error("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : items) {
    WEIR_TRY(const Value term, getter(item));
    WEIR_TRY(total, arithmetic(heap, Operator::kAdd, total, term));
  }
  return total;
}

Result<Value> filter_min(Heap& heap, const Value& v, const Arguments& args) {
  return minimum_or_maximum(heap, v, args, Operator::kLess);
}
Result<Value> filter_max(Heap& heap, const Value& v, const Arguments& args) {
  return minimum_or_maximum(heap, v, args, Operator::kGreater);
}

Result<Value> filter_unique(Heap& heap, const Value& v, const Arguments& args) {
  WEIR_TRY(const Bound bound, bind({"unique", {"case_sensitive", "attribute"}}, args));
  const Getter getter(heap, bound.value_or(1, none()), !bound.is_true(0));
  DictObject seen;
  return generate(heap, v, false, [&](const Value& item, std::vector<Value>& out) -> Status {
    WEIR_TRY(const Value key, getter(item));
    if (!hashable(key)) return type_error(fmt::format("unhashable type: '{}'", type_name(key)));
    WEIR_TRY_STATUS(heap.charge(key.is(Kind::kString) ? 1 : seen.items.size()));
    if (seen.find(key) != nullptr) return {};
    seen.set(key, none());
    out.push_back(item);
    return {};
  });
}

}  // namespace weir::jinja
