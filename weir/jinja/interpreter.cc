#include "weir/jinja/interpreter.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/jinja/arguments.h"
#include "weir/jinja/attributes.h"
#include "weir/jinja/globals.h"
#include "weir/jinja/lexer.h"
#include "weir/jinja/printing.h"

namespace weir::jinja {
namespace {

/// Of expressions, statements and macro calls within each other. Chosen for a stack of 8 MiB: that
/// leaves 16 KiB a level.
constexpr int kMaxDepth = 500;

enum class Flow : std::uint8_t { kNormal, kBreak, kContinue };

struct Frame final : Object {
  Frame* parent = nullptr;
  const FrameInfo* info = nullptr;
  std::vector<Value> slots;
};

struct MacroObject final : Object {
  const Stmt* stmt = nullptr;
  Frame* closure = nullptr;
};

/// The `loop` variable, and the iteration itself.
struct LoopObject final : Object {
  std::span<const Value> items;
  const Error* tail = nullptr;
  std::size_t at = 0;
  const Stmt* stmt = nullptr;
  Frame* condition_frame = nullptr;  ///< nullptr: every item counts.
  std::optional<std::int64_t> length;
  std::optional<Value> after;  ///< Peeked at.
  std::int64_t index0 = -1;
  Value before, current;
  std::optional<std::vector<Value>> last_changed;
};

Result<Value> loop_cycle(Heap&, const Value& self, std::string_view, const Arguments& args) {
  if (args.positional.empty() || !args.named.empty())
    return type_error("no items for cycling given");
  const auto index = static_cast<std::size_t>(self.as<LoopObject>().index0);
  return args.positional[index % args.positional.size()];
}

Result<Value> loop_changed(Heap&, const Value& self, std::string_view, const Arguments& args) {
  if (!args.named.empty()) return type_error("changed() got an unexpected keyword argument");
  auto& loop = self.as<LoopObject>();
  if (loop.last_changed && loop.last_changed->size() == args.positional.size()) {
    bool same = true;
    for (std::size_t i = 0; same && i < args.positional.size(); ++i) {
      WEIR_TRY(same, equal((*loop.last_changed)[i], args.positional[i]));
    }
    if (same) return boolean(false);
  }
  loop.last_changed = args.positional;
  return boolean(true);
}

class Interpreter {
 public:
  Interpreter(Heap& heap, const Run& run) : heap_(heap), run_(run) {}

  Result<Text> render() {
    Frame* root = heap_.make<Frame>();
    root->info = &run_.program.root;
    enter(*root);
    Text out;
    out_ = &out;
    WEIR_TRY([[maybe_unused]] const Flow flow, execute(run_.program.body, *root));
    return out;
  }

 private:
  // -- variables

  Value resolve(const std::string& name) {
    if (const Value* found = run_.variables.find(std::string_view(name))) return *found;
    return find_global(heap_, name, run_.unix_seconds).value_or(Value{});
  }

  static Value& slot(Frame& from, Place place) {
    Frame* f = &from;
    for (std::int32_t i = 0; i < place.hops; ++i) f = f->parent;
    return f->slots[static_cast<std::size_t>(place.slot)];
  }

  Frame& new_frame(const FrameInfo& info, Frame& parent) {
    Frame* f = heap_.make<Frame>();
    f->info = &info;
    f->parent = &parent;
    enter(*f);
    return *f;
  }

  void enter(Frame& f) {
    heap_.note(f.info->slots.size() * sizeof(Value));
    f.slots.assign(f.info->slots.size(), Value{});
    for (std::size_t i = 0; i < f.slots.size(); ++i) {
      const Slot& s = f.info->slots[i];
      if (s.load == Load::kResolve) f.slots[i] = resolve(s.name);
      if (s.load == Load::kAlias) f.slots[i] = slot(*f.parent, s.outer);
    }
  }

  // -- errors

  std::unexpected<Error> located(Error error, std::uint32_t offset) const {
    if (error.subject == kTemplateSubject) return std::unexpected(std::move(error));
    return error_at(run_.source, offset, error.code, error.message);
  }

  class Level {
   public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& depth_;
  };

  // -- output

  Status write(const Text& text) {
    WEIR_TRY_STATUS(heap_.charge(text.size()));
    if (out_->size() + text.size() > run_.max_output_bytes) {
      return fail(Code::kTooLarge,
                  fmt::format("the prompt grows beyond {} bytes", run_.max_output_bytes));
    }
    out_->append(text);
    return {};
  }

  Status write(const Value& v) {
    if (v.is(Kind::kString)) return write(v.text());
    WEIR_TRY(const Text text, to_text(heap_, v));
    return write(text);
  }

  // -- statements

  Result<Flow> execute(const Body& body, Frame& f) {
    for (const auto& stmt : body) {
      Result<Flow> flow = execute(*stmt, f);
      if (!flow || *flow != Flow::kNormal) return flow;
    }
    return Flow::kNormal;
  }

  Result<Flow> execute(const Stmt& s, Frame& f) {
    const Level level(depth_);
    Status paid = heap_.charge(Heap::kStep);
    if (paid && depth_ > kMaxDepth)
      paid = fail(Code::kTooLarge, "the template recurses too deeply");
    if (!paid) return located(std::move(paid).error(), s.offset);
    Result<Flow> flow = dispatch(s, f);
    if (!flow) return located(std::move(flow).error(), s.offset);
    return flow;
  }

  Result<Flow> dispatch(const Stmt& s, Frame& f) {
    switch (s.kind) {
      case StmtKind::kOutput:
        return output(s, f);
      case StmtKind::kIf:
        return if_chain(s, f);
      case StmtKind::kFor:
        return for_loop(s, f);
      case StmtKind::kSet:
        return set(s, f);
      case StmtKind::kSetBlock:
      case StmtKind::kFilterBlock:
        return captured_block(s, f);
      case StmtKind::kMacro:
        slot(f, s.place) = macro(s, f);
        return Flow::kNormal;
      case StmtKind::kCallBlock:
        return call_block(s, f);
      case StmtKind::kWith:
        return with(s, f);
      case StmtKind::kScope:
        return execute(s.bodies[0], new_frame(s.frame, f));
      case StmtKind::kBreak:
        return Flow::kBreak;
      case StmtKind::kContinue:
        return Flow::kContinue;
    }
    return Flow::kNormal;
  }

  Result<Flow> output(const Stmt& s, Frame& f) {
    for (const ExprPtr& e : s.exprs) {
      WEIR_TRY(const Value v, evaluate(*e, f));
      if (Status written = write(v); !written)
        return located(std::move(written).error(), e->offset);
    }
    return Flow::kNormal;
  }

  Result<Flow> if_chain(const Stmt& s, Frame& f) {
    for (std::size_t i = 0; i < s.exprs.size(); ++i) {
      WEIR_TRY(const Value test, evaluate(*s.exprs[i], f));
      if (truthy(test)) return execute(s.bodies[i], f);
    }
    if (s.bodies.size() > s.exprs.size()) return execute(s.bodies.back(), f);
    return Flow::kNormal;
  }

  Result<Flow> set(const Stmt& s, Frame& f) {
    WEIR_TRY_STATUS(check_namespaces(*s.targets[0], f));
    WEIR_TRY(const Value v, evaluate(*s.exprs[0], f));
    WEIR_TRY_STATUS(assign(*s.targets[0], v, f));
    return Flow::kNormal;
  }

  Status check_namespaces(const Expr& target, Frame& f) {
    if (target.kind == ExprKind::kNamespaceAttribute &&
        !slot(f, target.place).is(Kind::kNamespace)) {
      return type_error("cannot assign attribute on non-namespace object");
    }
    for (const ExprPtr& child : target.children) WEIR_TRY_STATUS(check_namespaces(*child, f));
    return {};
  }

  Status assign(const Expr& target, const Value& v, Frame& f) {
    if (target.kind == ExprKind::kName) {
      slot(f, target.place) = v;
      return {};
    }
    if (target.kind == ExprKind::kNamespaceAttribute) {
      const Value& ns = slot(f, target.place);
      if (!ns.is(Kind::kNamespace)) {
        return type_error("cannot assign attribute on non-namespace object");
      }
      ns.dict().set(heap_.string(target.attribute, true), v);
      return {};
    }
    WEIR_TRY(const auto items, iterate_all(heap_, v));
    if (items.size() < target.children.size()) {
      return type_error(fmt::format("not enough values to unpack (expected {}, got {})",
                                    target.children.size(), items.size()));
    }
    if (items.size() > target.children.size()) {
      return type_error(
          fmt::format("too many values to unpack (expected {})", target.children.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      WEIR_TRY_STATUS(assign(*target.children[i], items[i], f));
    }
    return {};
  }

  /// Runs `body` into a text of its own.
  Result<Flow> capture(const Body& body, Frame& f, Text& into) {
    Text* outer = std::exchange(out_, &into);
    Result<Flow> flow = execute(body, f);
    out_ = outer;
    return flow;
  }

  Result<Flow> captured_block(const Stmt& s, Frame& f) {
    Frame& inner = new_frame(s.frame, f);
    Text text;
    WEIR_TRY(const Flow flow, capture(s.bodies[0], inner, text));
    if (flow != Flow::kNormal) return flow;  // A loop left from inside: the text goes with it.
    const Value outer = std::exchange(captured_, heap_.string(std::move(text)));
    Result<Value> filtered = evaluate(*s.filter, inner);
    captured_ = outer;
    if (!filtered) return std::unexpected(std::move(filtered).error());
    if (s.kind == StmtKind::kFilterBlock) {
      WEIR_TRY_STATUS(write(*filtered));
    } else {
      WEIR_TRY_STATUS(assign(*s.targets[0], *filtered, f));
    }
    return Flow::kNormal;
  }

  Value macro(const Stmt& s, Frame& f) {
    auto* m = heap_.make<MacroObject>();
    m->stmt = &s;
    m->closure = &f;
    return heap_.object(Kind::kMacro, m);
  }

  Result<Flow> call_block(const Stmt& s, Frame& f) {
    const Value caller = macro(s, f);
    WEIR_TRY(const Value v, call(*s.exprs[0], f, &caller));
    WEIR_TRY_STATUS(write(v));
    return Flow::kNormal;
  }

  Result<Flow> with(const Stmt& s, Frame& f) {
    Frame& inner = new_frame(s.frame, f);
    for (std::size_t i = 0; i < s.targets.size(); ++i) {
      WEIR_TRY(const Value v, evaluate(*s.exprs[i], f));
      WEIR_TRY_STATUS(assign(*s.targets[i], v, inner));
    }
    return execute(s.bodies[0], inner);
  }

  // -- loops

  /// The next item that the loop's condition lets through.
  Result<std::optional<Value>> pull(LoopObject& loop) {
    while (loop.at < loop.items.size()) {
      const Value item = loop.items[loop.at++];
      WEIR_TRY_STATUS(heap_.charge(Heap::kStep));
      if (loop.condition_frame == nullptr) return item;
      enter(*loop.condition_frame);
      WEIR_TRY_STATUS(assign_condition(*loop.stmt->targets[0], item, *loop.condition_frame));
      WEIR_TRY(const Value yes, evaluate(*loop.stmt->condition, *loop.condition_frame));
      if (!truthy(yes)) continue;
      // Jinja's generator yields the unpacked target, so a list comes out as a tuple.
      WEIR_TRY(const Value unpacked, repack(*loop.stmt->targets[0], item));
      return unpacked;
    }
    if (loop.tail != nullptr) return std::unexpected(*loop.tail);
    return std::optional<Value>();
  }

  /// The target's places are those of the loop's own frame; in the condition's frame the names are
  /// the same and the slots others.
  Status assign_condition(const Expr& target, const Value& v, Frame& f) {
    if (target.kind == ExprKind::kName) {
      for (std::size_t i = 0; i < f.slots.size(); ++i) {
        if (f.info->slots[i].name == target.name) f.slots[i] = v;
      }
      return {};
    }
    WEIR_TRY(const auto items, iterate_all(heap_, v));
    if (items.size() != target.children.size()) {
      return type_error(
          fmt::format("cannot unpack {} values into {}", items.size(), target.children.size()));
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      WEIR_TRY_STATUS(assign_condition(*target.children[i], items[i], f));
    }
    return {};
  }

  Result<Value> repack(const Expr& target, const Value& v) {
    if (target.kind != ExprKind::kTuple) return v;
    WEIR_TRY(const auto items, iterate_all(heap_, v));
    std::vector<Value> out;
    for (std::size_t i = 0; i < std::min(items.size(), target.children.size()); ++i) {
      WEIR_TRY(const Value part, repack(*target.children[i], items[i]));
      out.push_back(part);
    }
    return heap_.list(std::move(out), Kind::kTuple);
  }

  Result<bool> advance(LoopObject& loop) {
    std::optional<Value> next = std::exchange(loop.after, std::nullopt);
    if (!next) {
      WEIR_TRY(next, pull(loop));
    }
    if (!next) return false;
    ++loop.index0;
    loop.before = loop.current;
    loop.current = *next;
    return true;
  }

  Result<std::int64_t> loop_length(LoopObject& loop) {
    if (loop.length) return *loop.length;
    std::vector<Value> rest;
    while (true) {
      WEIR_TRY(const std::optional<Value> item, pull(loop));
      if (!item) break;
      rest.push_back(*item);
    }
    loop.length = static_cast<std::int64_t>(rest.size()) + loop.index0 + 1 + (loop.after ? 1 : 0);
    loop.items = heap_.list(std::move(rest)).items();
    loop.at = 0;
    loop.condition_frame = nullptr;
    loop.tail = nullptr;
    return *loop.length;
  }

  Status peek(LoopObject& loop) {
    if (loop.after) return {};
    WEIR_TRY(loop.after, pull(loop));
    return {};
  }

  Result<Value> loop_attribute(const Value& v, std::string_view name) {
    auto& loop = v.as<LoopObject>();
    if (name == "index") return integer(loop.index0 + 1);
    if (name == "index0") return integer(loop.index0);
    if (name == "first") return boolean(loop.index0 == 0);
    if (name == "depth") return integer(1);
    if (name == "depth0") return integer(0);
    if (name == "cycle") return heap_.method(v, name, loop_cycle);
    if (name == "changed") return heap_.method(v, name, loop_changed);
    if (name == "previtem") {
      return loop.index0 == 0 ? heap_.undefined("there is no previous item") : loop.before;
    }
    if (name == "last" || name == "nextitem") {
      WEIR_TRY_STATUS(peek(loop));
      if (name == "last") return boolean(!loop.after);
      return loop.after ? *loop.after : heap_.undefined("there is no next item");
    }
    if (name == "length" || name == "revindex" || name == "revindex0") {
      WEIR_TRY(const std::int64_t n, loop_length(loop));
      if (name == "length") return integer(n);
      return integer(n - loop.index0 - (name == "revindex0" ? 1 : 0));
    }
    return heap_.undefined(fmt::format("'LoopContext object' has no attribute '{}'", name));
  }

  Result<Flow> for_loop(const Stmt& s, Frame& f) {
    WEIR_TRY(const Value iterable, evaluate(*s.exprs[0], f));
    WEIR_TRY(const Sequence sequence, iterate(heap_, iterable));
    LoopObject& loop = *heap_.make<LoopObject>();
    loop.items = sequence.items;
    loop.tail = sequence.tail;
    loop.stmt = &s;
    if (s.condition) {
      loop.condition_frame = heap_.make<Frame>();
      loop.condition_frame->info = &s.condition_frame;
      loop.condition_frame->parent = &f;
    } else if (!iterable.is(Kind::kIterator)) {
      loop.length = static_cast<std::int64_t>(sequence.items.size());
    }
    Frame* body = nullptr;
    bool run_else = true;
    while (true) {
      WEIR_TRY(const bool more, advance(loop));
      if (!more) break;
      if (body == nullptr) {
        body = &new_frame(s.frame, f);
      } else {
        enter(*body);
      }
      if (s.loop.slot >= 0) slot(*body, s.loop) = heap_.object(Kind::kLoop, &loop);
      WEIR_TRY_STATUS(assign(*s.targets[0], loop.current, *body));
      WEIR_TRY(const Flow flow, execute(s.bodies[0], *body));
      if (flow == Flow::kBreak) break;
      // As Jinja has it, only a body that ran to its end keeps the else from running.
      if (flow == Flow::kNormal) run_else = false;
    }
    if (s.bodies.size() > 1 && run_else) return execute(s.bodies[1], new_frame(s.else_frame, f));
    return Flow::kNormal;
  }

  // -- calls

  Result<Arguments> arguments(const Expr& e, Frame& f) {
    Arguments args;
    for (std::size_t i = 1; i < e.children.size(); ++i) {
      WEIR_TRY(const Value v, evaluate(*e.children[i], f));
      args.positional.push_back(v);
    }
    for (const auto& [name, expr] : e.named) {
      WEIR_TRY(const Value v, evaluate(*expr, f));
      args.named.emplace_back(name, v);
    }
    if (e.star) {
      WEIR_TRY(const Value v, evaluate(*e.star, f));
      WEIR_TRY(const auto items, iterate_all(heap_, v));
      WEIR_TRY_STATUS(heap_.charge(items.size() * sizeof(Value)));
      args.positional.insert(args.positional.end(), items.begin(), items.end());
    }
    if (e.star_star) {
      WEIR_TRY(const Value v, evaluate(*e.star_star, f));
      if (!v.is(Kind::kDict)) return type_error("argument after ** must be a mapping");
      for (const auto& [key, value] : v.dict().items) {
        if (!key.is(Kind::kString)) return type_error("keywords must be strings");
        WEIR_TRY_STATUS(heap_.charge(Heap::kStep + args.named.size() * 4));
        if (std::ranges::any_of(args.named, [&](const auto& n) { return n.first == key.str(); })) {
          return type_error(
              fmt::format("got multiple values for keyword argument '{}'", key.str()));
        }
        args.named.emplace_back(key.str(), value);
      }
    }
    return args;
  }

  Result<Value> call(const Expr& e, Frame& f, const Value* caller = nullptr) {
    WEIR_TRY(const Value function, evaluate(*e.children[0], f));
    WEIR_TRY(Arguments args, arguments(e, f));
    if (caller != nullptr) args.named.emplace_back("caller", *caller);
    Result<Value> v = function.is(Kind::kMacro) ? call_macro(function.as<MacroObject>(), args)
                                                : call_native(heap_, function, args);
    if (!v) return located(std::move(v).error(), e.offset);
    return v;
  }

  Result<Value> call_macro(const MacroObject& m, Arguments& args) {
    const Stmt& s = *m.stmt;
    Frame& f = new_frame(s.frame, *m.closure);
    const auto take = [&](std::string_view name) -> Value {
      const auto it = std::ranges::find(args.named, name, [](const auto& n) { return n.first; });
      if (it == args.named.end()) return {};
      const Value v = it->second;
      args.named.erase(it);
      return v;
    };
    const std::size_t count = s.targets.size();
    for (std::size_t i = 0; i < count; ++i) {
      slot(f, s.parameters[i]) =
          i < args.positional.size() ? args.positional[i] : take(s.targets[i]->name);
    }
    if (s.caller.slot >= 0) {
      const Value caller = take("caller");
      slot(f, s.caller) = caller.is(Kind::kMissing) || caller.is(Kind::kNone)
                              ? heap_.undefined("No caller defined")
                              : caller;
    }
    if (s.kwargs.slot >= 0) {
      auto* rest = heap_.make<DictObject>();
      for (const auto& [name, value] : args.named) rest->set(heap_.string(name, true), value);
      slot(f, s.kwargs) = heap_.object(Kind::kDict, rest);
    } else if (!args.named.empty()) {
      return type_error(fmt::format("macro '{}' takes no keyword argument '{}'", s.name,
                                    args.named.front().first));
    }
    if (s.varargs.slot >= 0) {
      std::vector<Value> rest;
      for (std::size_t i = count; i < args.positional.size(); ++i)
        rest.push_back(args.positional[i]);
      slot(f, s.varargs) = heap_.list(std::move(rest), Kind::kTuple);
    } else if (args.positional.size() > count) {
      return type_error(
          fmt::format("macro '{}' takes not more than {} argument(s)", s.name, count));
    }
    return run_macro(s, f);
  }

  Result<Value> run_macro(const Stmt& s, Frame& f) {
    const std::size_t count = s.targets.size();
    const std::size_t required = count - s.defaults.size();
    for (std::size_t i = 0; i < count; ++i) {
      Value& parameter = slot(f, s.parameters[i]);
      if (!parameter.is(Kind::kMissing)) continue;
      if (i < required) {
        parameter =
            heap_.undefined(fmt::format("parameter '{}' was not provided", s.targets[i]->name));
      } else {
        WEIR_TRY(parameter, evaluate(*s.defaults[i - required], f));
      }
    }
    Text text;
    WEIR_TRY([[maybe_unused]] const Flow flow, capture(s.bodies[0], f, text));
    return heap_.string(std::move(text));
  }

  // -- expressions

  Result<Value> evaluate(const Expr& e, Frame& f) {
    if (e.kind == ExprKind::kConstant) return e.constant;
    const Level level(depth_);
    Status paid = heap_.charge(Heap::kStep);
    if (paid && depth_ > kMaxDepth)
      paid = fail(Code::kTooLarge, "the template recurses too deeply");
    if (!paid) return located(std::move(paid).error(), e.offset);
    Result<Value> v = compute(e, f);
    if (!v) return located(std::move(v).error(), e.offset);
    return v;
  }

  Result<Value> compute(const Expr& e, Frame& f) {
    switch (e.kind) {
      case ExprKind::kConstant:
        return e.constant;
      case ExprKind::kName: {
        const Value v = slot(f, e.place);
        if (!v.is(Kind::kMissing)) return v;
        return heap_.undefined(fmt::format("'{}' is undefined", e.name));
      }
      case ExprKind::kNamespaceAttribute:
        return type_error("not a value");
      case ExprKind::kCaptured:
        return captured_;
      case ExprKind::kList:
      case ExprKind::kTuple:
        return list(e, f);
      case ExprKind::kDict:
        return dict(e, f);
      case ExprKind::kAttribute:
      case ExprKind::kItem:
        return member(e, f);
      case ExprKind::kSlice:
        return sliced(e, f);
      case ExprKind::kCall:
        return call(e, f);
      case ExprKind::kFilter:
      case ExprKind::kTest:
        return apply(e, f);
      case ExprKind::kNegate:
      case ExprKind::kPlus:
      case ExprKind::kNot:
        return unary(e, f);
      case ExprKind::kArithmetic: {
        WEIR_TRY(const Value left, evaluate(*e.children[0], f));
        WEIR_TRY(const Value right, evaluate(*e.children[1], f));
        return arithmetic(heap_, e.op, left, right);
      }
      case ExprKind::kCompare:
        return compare(e, f);
      case ExprKind::kAnd:
      case ExprKind::kOr: {
        WEIR_TRY(const Value left, evaluate(*e.children[0], f));
        if (truthy(left) == (e.kind == ExprKind::kOr)) return left;
        return evaluate(*e.children[1], f);
      }
      case ExprKind::kConcat:
        return concat(e, f);
      case ExprKind::kConditional: {
        WEIR_TRY(const Value test, evaluate(*e.children[0], f));
        if (truthy(test)) return evaluate(*e.children[1], f);
        if (e.children[2]) return evaluate(*e.children[2], f);
        return heap_.undefined(
            "the inline if-expression evaluated to false and no else section was defined.");
      }
    }
    return none();
  }

  Result<Value> list(const Expr& e, Frame& f) {
    std::vector<Value> items;
    items.reserve(e.children.size());
    for (const ExprPtr& child : e.children) {
      WEIR_TRY(const Value v, evaluate(*child, f));
      items.push_back(v);
    }
    return heap_.list(std::move(items), e.kind == ExprKind::kList ? Kind::kList : Kind::kTuple);
  }

  Result<Value> dict(const Expr& e, Frame& f) {
    auto* out = heap_.make<DictObject>();
    for (std::size_t i = 0; i < e.children.size(); i += 2) {
      WEIR_TRY(const Value key, evaluate(*e.children[i], f));
      WEIR_TRY(const Value v, evaluate(*e.children[i + 1], f));
      if (!hashable(key)) return type_error(fmt::format("unhashable type: '{}'", type_name(key)));
      WEIR_TRY_STATUS(heap_.charge(Heap::kStep + (key.is(Kind::kString) ? 0 : out->items.size())));
      out->set(key, v);
    }
    return heap_.object(Kind::kDict, out);
  }

  Result<Value> member(const Expr& e, Frame& f) {
    WEIR_TRY(const Value object, evaluate(*e.children[0], f));
    if (e.kind == ExprKind::kAttribute) {
      if (object.is(Kind::kLoop)) return loop_attribute(object, e.name);
      return get_attribute(heap_, object, e.name);
    }
    WEIR_TRY(const Value key, evaluate(*e.children[1], f));
    if (object.is(Kind::kLoop) && key.is(Kind::kString)) return loop_attribute(object, key.str());
    return get_item(heap_, object, key);
  }

  Result<Value> sliced(const Expr& e, Frame& f) {
    WEIR_TRY(const Value object, evaluate(*e.children[0], f));
    Value bounds[3] = {none(), none(), none()};
    for (std::size_t i = 0; i < 3; ++i) {
      if (e.children[i + 1]) {
        WEIR_TRY(bounds[i], evaluate(*e.children[i + 1], f));
      }
    }
    return slice(heap_, object, bounds[0], bounds[1], bounds[2]);
  }

  Result<Value> apply(const Expr& e, Frame& f) {
    const bool is_filter = e.kind == ExprKind::kFilter;
    if (is_filter ? e.filter == nullptr : e.test == nullptr) {
      return type_error(
          fmt::format("No {} named '{}' found.", is_filter ? "filter" : "test", e.name));
    }
    WEIR_TRY(const Value subject, evaluate(*e.children[0], f));
    WEIR_TRY(const Arguments args, arguments(e, f));
    if (is_filter) return e.filter(heap_, subject, args);
    WEIR_TRY(const bool yes, e.test(heap_, subject, args));
    return boolean(yes);
  }

  Result<Value> unary(const Expr& e, Frame& f) {
    WEIR_TRY(const Value v, evaluate(*e.children[0], f));
    if (e.kind == ExprKind::kNot) return boolean(!truthy(v));
    return e.kind == ExprKind::kNegate ? negate(v) : plus(v);
  }

  Result<Value> compare(const Expr& e, Frame& f) {
    WEIR_TRY(Value left, evaluate(*e.children[0], f));
    for (std::size_t i = 0; i < e.ops.size(); ++i) {
      WEIR_TRY(const Value right, evaluate(*e.children[i + 1], f));
      WEIR_TRY(const bool yes, comparison(heap_, e.ops[i], left, right));
      if (!yes) return boolean(false);
      left = right;
    }
    return boolean(true);
  }

  Result<Value> concat(const Expr& e, Frame& f) {
    std::vector<Value> parts;
    for (const ExprPtr& child : e.children) {
      WEIR_TRY(const Value v, evaluate(*child, f));
      parts.push_back(v);
    }
    Text out;
    for (const Value& v : parts) {
      WEIR_TRY(const Text text, to_text(heap_, v));
      WEIR_TRY_STATUS(heap_.charge(text.size()));
      out.append(text);
    }
    return heap_.string(std::move(out));
  }

  Heap& heap_;
  const Run& run_;
  Text* out_ = nullptr;
  Value captured_;
  int depth_ = 0;
};

}  // namespace

Result<Text> interpret(Heap& heap, const Run& run) { return Interpreter(heap, run).render(); }

}  // namespace weir::jinja
