#include "weir/jinja/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>

#include "weir/jinja/lexer.h"

namespace weir::jinja {
namespace {

/// The names of one scope while it is being analysed: Jinja's Symbols. A copy is a branch of an
/// `if`.
struct Symbols {
  const Symbols* parent = nullptr;
  std::map<std::string, Load> refs;
  std::set<std::string> stores;

  bool known(const std::string& name) const {
    for (const Symbols* s = this; s != nullptr; s = s->parent) {
      if (s->refs.contains(name)) return true;
    }
    return false;
  }
  void load(const std::string& name) {
    if (!known(name)) refs[name] = Load::kResolve;
  }
  void store(const std::string& name) {
    stores.insert(name);
    if (refs.contains(name)) return;
    refs[name] = parent != nullptr && parent->known(name) ? Load::kAlias : Load::kUndefined;
  }
  void parameter(const std::string& name) {
    stores.insert(name);
    refs[name] = Load::kParameter;
  }
  void merge(std::initializer_list<const Symbols*> branches) {
    std::set<std::string> assigned;
    for (const Symbols* b : branches) assigned.insert(b->stores.begin(), b->stores.end());
    for (const std::string& name : stores) assigned.erase(name);
    for (const Symbols* b : branches) {
      for (const auto& [name, how] : b->refs) refs[name] = how;
      stores.insert(b->stores.begin(), b->stores.end());
    }
    for (const std::string& name : assigned) {
      refs[name] = parent != nullptr && parent->known(name) ? Load::kAlias : Load::kResolve;
    }
  }
};

void visit(Symbols& s, const Stmt& stmt);

void visit(Symbols& s, const Expr* e) {
  if (e == nullptr) return;
  if (e->kind == ExprKind::kName || e->kind == ExprKind::kNamespaceAttribute) s.load(e->name);
  for (const ExprPtr& child : e->children) visit(s, child.get());
  for (const auto& [name, value] : e->named) visit(s, value.get());
  visit(s, e->star.get());
  visit(s, e->star_star.get());
}

void visit_target(Symbols& s, const Expr& e, bool parameter) {
  if (e.kind == ExprKind::kNamespaceAttribute) {
    s.load(e.name);
  } else if (e.kind == ExprKind::kName) {
    if (parameter) {
      s.parameter(e.name);
    } else {
      s.store(e.name);
    }
  }
  for (const ExprPtr& child : e.children) visit_target(s, *child, parameter);
}

void visit(Symbols& s, const Body& body) {
  for (const auto& stmt : body) visit(s, *stmt);
}

void visit_if(Symbols& s, const Stmt& stmt) {
  const std::size_t tests = stmt.exprs.size();
  const auto one = [&](Symbols& in, std::size_t i, auto&& rest) {
    visit(in, stmt.exprs[i].get());
    Symbols body = in;
    visit(body, stmt.bodies[i]);
    Symbols elifs = in;
    Symbols other = in;
    rest(elifs, other);
    in.merge({&body, &elifs, &other});
  };
  one(s, 0, [&](Symbols& elifs, Symbols& other) {
    for (std::size_t i = 1; i < tests; ++i) one(elifs, i, [](Symbols&, Symbols&) {});
    if (stmt.bodies.size() > tests) visit(other, stmt.bodies[tests]);
  });
}

void visit(Symbols& s, const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::kIf:
      visit_if(s, stmt);
      return;
    case StmtKind::kSet:
      visit(s, stmt.exprs[0].get());
      visit_target(s, *stmt.targets[0], false);
      return;
    case StmtKind::kSetBlock:
      visit_target(s, *stmt.targets[0], false);
      return;
    case StmtKind::kMacro:
      s.store(stmt.name);
      return;
    case StmtKind::kFilterBlock:
      visit(s, stmt.filter.get());
      return;
    default:
      // Output, the iterable of a for, the call of a call block, the values of a with.
      for (const ExprPtr& e : stmt.exprs) visit(s, e.get());
  }
}

/// Jinja's find_undeclared: which of `names` are read in `body` before being assigned in it.
class Undeclared {
 public:
  explicit Undeclared(std::set<std::string> names) : names_(std::move(names)) {}
  std::set<std::string> in(const Body& body) {
    walk(body);
    return found_;
  }

 private:
  void walk(const Body& body) {
    for (const auto& stmt : body) walk(*stmt);
  }
  void walk(const Expr* e, bool target = false) {
    if (e == nullptr) return;
    if (e->kind == ExprKind::kName) {
      if (!target && names_.contains(e->name)) {
        found_.insert(e->name);
      } else {
        names_.erase(e->name);
      }
    }
    for (const ExprPtr& child : e->children) walk(child.get(), target);
    for (const auto& [name, value] : e->named) walk(value.get());
    walk(e->star.get());
    walk(e->star_star.get());
  }
  void walk(const Stmt& s) {
    const bool exprs_first = s.kind == StmtKind::kCallBlock;
    if (exprs_first) {
      for (const ExprPtr& e : s.exprs) walk(e.get());
    }
    for (const ExprPtr& e : s.targets) walk(e.get(), true);
    for (const ExprPtr& e : s.defaults) walk(e.get());
    if (s.kind == StmtKind::kSetBlock) walk(s.filter.get());
    for (std::size_t i = 0; i < std::max(s.exprs.size(), s.bodies.size()); ++i) {
      if (i < s.exprs.size() && !exprs_first) walk(s.exprs[i].get());
      if (i < s.bodies.size()) walk(s.bodies[i]);
    }
    walk(s.condition.get());
    if (s.kind == StmtKind::kFilterBlock) walk(s.filter.get());
  }

  std::set<std::string> names_;
  std::set<std::string> found_;
};

/// A scope after analysis, while its contents are bound.
struct Frame {
  const Frame* parent = nullptr;
  Symbols symbols;
  FrameInfo* info = nullptr;
};

class Binder {
 public:
  Binder(std::string_view source, Program& program) : source_(source), program_(program) {}

  Status run() {
    Frame root;
    visit(root.symbols, program_.body);
    settle(root, program_.root);
    return bind(program_.body, root, false);
  }

 private:
  Frame inner(const Frame& outer) const {
    Frame f;
    f.parent = &outer;
    f.symbols.parent = &outer.symbols;
    return f;
  }

  /// The analysis is complete: gives each name its slot.
  void settle(Frame& f, FrameInfo& info) {
    f.info = &info;
    for (const auto& [name, how] : f.symbols.refs) {
      Slot slot{name, how, {}};
      if (how == Load::kAlias) slot.outer = find(*f.parent, name);
      if (how == Load::kResolve) program_.inputs.insert(name);
      info.slots.push_back(std::move(slot));
    }
  }

  static Place find(const Frame& from, const std::string& name) {
    std::int32_t hops = 0;
    for (const Frame* f = &from; f != nullptr; f = f->parent, ++hops) {
      const auto it = f->symbols.refs.find(name);
      if (it != f->symbols.refs.end()) {
        return {hops, static_cast<std::int32_t>(std::distance(f->symbols.refs.begin(), it))};
      }
    }
    return {};
  }

  std::unexpected<Error> bad(std::uint32_t offset, std::string_view what) const {
    return error_at(source_, offset, Code::kInvalidArgument, what);
  }

  Status bind(Body& body, const Frame& f, bool soft) {
    for (auto& stmt : body) WEIR_TRY_STATUS(bind(*stmt, f, soft));
    return {};
  }

  Status bind(Expr* e, const Frame& f, bool soft) {
    if (e == nullptr) return {};
    switch (e->kind) {
      case ExprKind::kName:
      case ExprKind::kNamespaceAttribute:
        e->place = find(f, e->name);
        break;
      case ExprKind::kConditional:
        soft = true;
        break;
      case ExprKind::kFilter:
        e->filter = find_filter(e->name);
        if (e->filter == nullptr && !soft) {
          return bad(e->offset, fmt::format("No filter named '{}'.", e->name));
        }
        break;
      case ExprKind::kTest:
        e->test = find_test(e->name);
        if (e->test == nullptr && !soft) {
          return bad(e->offset, fmt::format("No test named '{}'.", e->name));
        }
        break;
      default:
        break;
    }
    for (ExprPtr& child : e->children) {
      // Jinja folds `none and x`: what a literal on the left keeps from running is never bound.
      const Expr* left = child == e->children.front() ? nullptr : e->children.front().get();
      const bool dead = (e->kind == ExprKind::kAnd || e->kind == ExprKind::kOr) &&
                        left != nullptr && left->kind == ExprKind::kConstant &&
                        truthy(left->constant) == (e->kind == ExprKind::kOr);
      WEIR_TRY_STATUS(bind(child.get(), f, soft || dead));
    }
    for (auto& [name, value] : e->named) WEIR_TRY_STATUS(bind(value.get(), f, soft));
    WEIR_TRY_STATUS(bind(e->star.get(), f, soft));
    return bind(e->star_star.get(), f, soft);
  }

  Status bind_target(Expr& e, const Frame& f) {
    if (e.kind != ExprKind::kTuple) e.place = find(f, e.name);
    if (e.kind == ExprKind::kName && e.name == "loop" && loops_ > 0) {
      return bad(e.offset, "Can't assign to special loop variable in for-loop target");
    }
    for (ExprPtr& child : e.children) WEIR_TRY_STATUS(bind_target(*child, f));
    return {};
  }

  Status bind(Stmt& s, const Frame& f, bool soft) {
    switch (s.kind) {
      case StmtKind::kIf:
        for (ExprPtr& e : s.exprs) WEIR_TRY_STATUS(bind(e.get(), f, true));
        for (Body& body : s.bodies) WEIR_TRY_STATUS(bind(body, f, true));
        return {};
      case StmtKind::kFor:
        return bind_for(s, f, soft);
      case StmtKind::kSet:
        WEIR_TRY_STATUS(bind(s.exprs[0].get(), f, soft));
        return bind_target(*s.targets[0], f);
      case StmtKind::kSetBlock: {
        WEIR_TRY_STATUS(bind_target(*s.targets[0], f));
        Frame block = inner(f);
        visit(block.symbols, s.bodies[0]);
        visit(block.symbols, s.filter.get());
        settle(block, s.frame);
        WEIR_TRY_STATUS(bind(s.filter.get(), block, false));
        return bind(s.bodies[0], block, false);
      }
      case StmtKind::kFilterBlock: {
        Frame block = inner(f);
        visit(block.symbols, s.bodies[0]);
        visit(block.symbols, s.filter.get());
        settle(block, s.frame);
        WEIR_TRY_STATUS(bind(s.filter.get(), block, false));
        return bind(s.bodies[0], block, false);
      }
      case StmtKind::kMacro:
        s.place = find(f, s.name);
        return bind_macro(s, f);
      case StmtKind::kCallBlock:
        WEIR_TRY_STATUS(bind(s.exprs[0].get(), f, soft));
        return bind_macro(s, f);
      case StmtKind::kWith: {
        for (ExprPtr& e : s.exprs) WEIR_TRY_STATUS(bind(e.get(), f, soft));
        Frame block = inner(f);
        for (const ExprPtr& e : s.targets) visit_target(block.symbols, *e, true);
        visit(block.symbols, s.bodies[0]);
        settle(block, s.frame);
        const int loops = std::exchange(loops_, 0);  // Its targets are parameters.
        for (ExprPtr& e : s.targets) WEIR_TRY_STATUS(bind_target(*e, block));
        loops_ = loops;
        return bind(s.bodies[0], block, false);
      }
      case StmtKind::kScope: {
        Frame block = inner(f);
        visit(block.symbols, s.bodies[0]);
        settle(block, s.frame);
        return bind(s.bodies[0], block, false);
      }
      default:
        for (ExprPtr& e : s.exprs) WEIR_TRY_STATUS(bind(e.get(), f, soft));
        return {};
    }
  }

  Status bind_for(Stmt& s, const Frame& f, bool soft) {
    WEIR_TRY_STATUS(bind(s.exprs[0].get(), f, soft));
    ++loops_;
    if (s.condition) {
      Frame test = inner(f);
      visit_target(test.symbols, *s.targets[0], true);
      visit(test.symbols, s.condition.get());
      settle(test, s.condition_frame);
      WEIR_TRY_STATUS(bind(s.condition.get(), test, false));
    }
    Frame loop = inner(f);
    const bool uses_loop = Undeclared({"loop"}).in(s.bodies[0]).contains("loop");
    if (uses_loop) loop.symbols.parameter("loop");
    visit_target(loop.symbols, *s.targets[0], true);
    visit(loop.symbols, s.bodies[0]);
    settle(loop, s.frame);
    if (uses_loop) s.loop = find(loop, "loop");
    WEIR_TRY_STATUS(bind_target(*s.targets[0], loop));
    WEIR_TRY_STATUS(bind(s.bodies[0], loop, false));
    if (s.bodies.size() > 1) {
      Frame other = inner(f);
      visit(other.symbols, s.bodies[1]);
      settle(other, s.else_frame);
      WEIR_TRY_STATUS(bind(s.bodies[1], other, false));
    }
    --loops_;
    return {};
  }

  Status bind_macro(Stmt& s, const Frame& f) {
    Frame body = inner(f);
    for (const ExprPtr& e : s.targets) visit_target(body.symbols, *e, true);
    for (const ExprPtr& e : s.defaults) visit(body.symbols, e.get());
    visit(body.symbols, s.bodies[0]);
    const std::set<std::string> special =
        Undeclared({"caller", "kwargs", "varargs"}).in(s.bodies[0]);
    const auto own = [&](std::string_view name) {
      const auto it = std::ranges::find(s.targets, name, [](const ExprPtr& e) { return e->name; });
      return it == s.targets.end() ? -1 : static_cast<int>(it - s.targets.begin());
    };
    std::map<std::string, Place*> wanted;
    for (const auto& [name, place] : std::initializer_list<std::pair<const char*, Place*>>{
             {"caller", &s.caller}, {"kwargs", &s.kwargs}, {"varargs", &s.varargs}}) {
      if (!special.contains(name)) continue;
      const int parameter = own(name);
      if (parameter < 0) {
        body.symbols.parameter(name);
        wanted[name] = place;
      } else if (place == &s.caller &&
                 parameter < static_cast<int>(s.targets.size() - s.defaults.size())) {
        return bad(s.offset,
                   "When defining macros or call blocks the special \"caller\" argument must be "
                   "omitted or be given a default.");
      }
    }
    settle(body, s.frame);
    for (const auto& [name, place] : wanted) *place = find(body, name);
    for (ExprPtr& e : s.targets) {
      e->place = find(body, e->name);
      s.parameters.push_back(e->place);
    }
    for (ExprPtr& e : s.defaults) WEIR_TRY_STATUS(bind(e.get(), body, false));
    const int loops = loops_;
    WEIR_TRY_STATUS(bind(s.bodies[0], body, false));
    loops_ = loops;
    return {};
  }

  std::string_view source_;
  Program& program_;
  int loops_ = 0;
};

}  // namespace

Result<Program> resolve_names(std::string_view source, Body body) {
  Program program;
  program.body = std::move(body);
  WEIR_TRY_STATUS(Binder(source, program).run());
  return program;
}

}  // namespace weir::jinja
