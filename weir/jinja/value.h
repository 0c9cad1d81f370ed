#pragma once

/// The values of the template language, as Python has them, and the heap they live in.
///
/// A Value is 16 trivially copyable bytes; what is larger is an Object owned by a Heap and freed
/// with it, so a render can neither leak through a cycle nor recurse while freeing. Objects are
/// immutable once published, except namespaces, loops, iterators, cyclers and joiners. The Heap
/// also meters: every object, byte and step is charged against one budget, which bounds the time
/// and the memory of a render together. Thread safety: none for one Heap; const values of a
/// finished Heap may be shared.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/result.h"
#include "weir/jinja/text.h"

namespace weir::jinja {

enum class Kind : std::uint8_t {
  kMissing,  ///< An unset variable slot; never seen by a template.
  kUndefined,
  kNone,
  kBool,
  kInt,
  kBigInt,  ///< An integer beyond 64 bits from JSON: printed and compared, never computed with.
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kIterator,  ///< A generator of Python: always true, without length, consumed once.
  kView,      ///< dict.keys(), .values(), .items()
  kNamespace,
  kLoop,
  kMacro,
  kFunction,  ///< A global function or a bound method.
  kCycler,
  kJoiner,
};

struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
};

struct TextObject;
struct ListObject;
struct DictObject;
struct RangeObject;
struct IteratorObject;
struct ViewObject;

struct Value {
  Kind kind = Kind::kMissing;
  bool trusted = true;  ///< Of scalars and of the punctuation of containers; strings know per byte.
  bool markup = false;  ///< A string that `safe` or `escape` made: + escapes the other side.
  union {
    bool boolean;
    std::int64_t integer = 0;
    double real;
    Object* object;
  };

  [[nodiscard]] bool is(Kind k) const { return kind == k; }
  [[nodiscard]] const Text& text() const;                 ///< REQUIRES: kString or kBigInt.
  [[nodiscard]] std::string_view str() const;             ///< REQUIRES: as text().
  [[nodiscard]] const std::vector<Value>& items() const;  ///< REQUIRES: kList or kTuple.
  [[nodiscard]] DictObject& dict() const;                 ///< REQUIRES: kDict or kNamespace.
  template <class T>
  [[nodiscard]] T& as() const {
    return *static_cast<T*>(object);
  }
};
static_assert(sizeof(Value) == 16);

[[nodiscard]] Value none(bool trusted = true);
[[nodiscard]] Value boolean(bool value, bool trusted = true);
[[nodiscard]] Value integer(std::int64_t value, bool trusted = true);
[[nodiscard]] Value real(double value, bool trusted = true);

struct TextObject final : Object {
  explicit TextObject(Text t) : text(std::move(t)) {}
  const Text text;
};

struct ListObject final : Object {
  std::vector<Value> items;
};

/// Insertion-ordered, as Python's. String keys are found through a tree: no hash to attack.
struct DictObject final : Object {
  std::vector<std::pair<Value, Value>> items;

  [[nodiscard]] const Value* find(std::string_view key) const;
  /// REQUIRES: hashable(key).
  [[nodiscard]] const Value* find(const Value& key) const;
  void set(const Value& key, const Value& value);

 private:
  std::map<std::string_view, std::size_t> strings_;  ///< Views into the keys' TextObjects.
  std::vector<std::size_t> others_;
};

struct RangeObject final : Object {
  std::int64_t start = 0, stop = 0, step = 1;
  [[nodiscard]] std::int64_t size() const;
};

struct IteratorObject final : Object {
  std::vector<Value> items;
  std::size_t next = 0;
  std::optional<Error> tail;  ///< Raised where Python's lazy generator would: after the items.
};

struct ViewObject final : Object {
  enum class What : std::uint8_t { kKeys, kValues, kItems };
  What what = What::kKeys;
  const DictObject* dict = nullptr;
};

struct UndefinedObject final : Object {
  std::string message;
};

struct CyclerObject final : Object {
  std::vector<Value> items;
  std::size_t position = 0;
};

struct JoinerObject final : Object {
  Value separator;
  bool used = false;
};

/// Positional and named arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

class Heap;

struct FunctionObject final : Object {
  using Native = Result<Value> (*)(Heap&, const Value& self, std::string_view name,
                                   const Arguments&);
  std::string name;
  Value self;  ///< Of a bound method.
  Native call = nullptr;
};

class Heap {
 public:
  /// `budget` counts bytes copied and, at kStep each, steps taken and objects made.
  explicit Heap(std::uint64_t budget) : left_(budget) {}

  static constexpr std::uint64_t kStep = 64;

  /// Code::kTooLarge once the budget is spent; then for ever.
  [[nodiscard]] Status charge(std::uint64_t units);
  /// For work already done whose size was bounded by its inputs; the next charge() reports.
  void note(std::uint64_t units) { left_ = units > left_ ? 0 : left_ - units; }

  template <class T, class... Args>
  T* make(Args&&... args) {
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = owned.get();
    objects_.push_back(std::move(owned));
    note(sizeof(T) + 32);
    return raw;
  }

  [[nodiscard]] Value string(Text text);
  [[nodiscard]] Value string(std::string bytes, bool trusted) {
    return string(Text(std::move(bytes), trusted));
  }
  [[nodiscard]] Value list(std::vector<Value> items, Kind kind = Kind::kList);
  [[nodiscard]] Value iterator(std::vector<Value> items, std::optional<Error> tail = {});
  [[nodiscard]] Value object(Kind kind, Object* o, bool trusted = true);
  [[nodiscard]] Value undefined(std::string message);
  [[nodiscard]] Value method(const Value& self, std::string_view name, FunctionObject::Native call);

 private:
  std::uint64_t left_;
  std::vector<std::unique_ptr<Object>> objects_;
};

/// Python's type name, for messages.
[[nodiscard]] std::string_view type_name(const Value& value);
[[nodiscard]] bool truthy(const Value& value);
[[nodiscard]] bool is_number(const Value& value);  ///< bool, int or float, as Python counts.
/// The integer of an int or a bool.
[[nodiscard]] std::optional<std::int64_t> as_integer(const Value& value);
[[nodiscard]] double as_real(const Value& value);  ///< REQUIRES: is_number(value).
[[nodiscard]] bool hashable(const Value& value, int depth = 0);
/// The error for using an undefined value, or any other value where `what` was wanted.
[[nodiscard]] std::unexpected<Error> undefined_error(const Value& undefined);
[[nodiscard]] std::unexpected<Error> type_error(std::string message);

/// Nesting of values beyond which printing, comparing and JSON refuse.
inline constexpr int kMaxValueDepth = 100;

}  // namespace weir::jinja
