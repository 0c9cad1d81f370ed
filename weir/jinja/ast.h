#pragma once

/// A parsed template. scope.h fills in what names mean; after that the tree is immutable.
/// Thread safety: a value, shared as const.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/jinja/filters.h"
#include "weir/jinja/operators.h"
#include "weir/jinja/value.h"

namespace weir::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Stmt>>;

enum class ExprKind : std::uint8_t {
  kConstant,
  kName,                ///< A variable read; as a target, written.
  kNamespaceAttribute,  ///< Target only: name.attribute
  kCaptured,            ///< The text a filter or set block captured.
  kList,
  kTuple,
  kDict,       ///< children: key, value, key, value ...
  kAttribute,  ///< children[0].name
  kItem,       ///< children[0][children[1]]
  kSlice,      ///< children[0][children[1]:children[2]:children[3]], absent ones null
  kCall,       ///< children[0](children[1..], named, *star, **star_star)
  kFilter,     ///< children[0] | name(children[1..], ...)
  kTest,       ///< children[0] is name(children[1..], ...)
  kNegate,
  kPlus,
  kNot,
  kArithmetic,  ///< children[0] op children[1]
  kCompare,     ///< children[0] ops[0] children[1] ops[1] children[2] ...
  kAnd,
  kOr,
  kConcat,
  kConditional,  ///< children: test, then, else (null: undefined)
};

/// Where a variable lives: `hops` frames outwards, then the slot.
struct Place {
  std::int32_t hops = -1;
  std::int32_t slot = -1;
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  Operator op = Operator::kAdd;
  std::uint16_t depth = 1;
  std::uint32_t offset = 0;
  std::string name;
  std::string attribute;
  Value constant;
  std::vector<ExprPtr> children;
  std::vector<Operator> ops;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, star_star;
  Place place;
  Filter filter = nullptr;
  Test test = nullptr;
};

/// How a slot begins when its frame is entered.
enum class Load : std::uint8_t { kParameter, kResolve, kAlias, kUndefined };

struct Slot {
  std::string name;
  Load load = Load::kUndefined;
  Place outer;  ///< kAlias: copied from there.
};

/// The variables of one scope.
struct FrameInfo {
  std::vector<Slot> slots;
};

enum class StmtKind : std::uint8_t {
  kOutput,  ///< exprs in turn
  kIf,      ///< exprs[i] guards bodies[i]; one more body is the else
  kFor,
  kSet,
  kSetBlock,
  kMacro,
  kCallBlock,
  kFilterBlock,
  kWith,   ///< targets and exprs in pairs
  kScope,  ///< {% generation %}: a scope of its own
  kBreak,
  kContinue,
};

struct Stmt {
  StmtKind kind = StmtKind::kOutput;
  std::uint32_t offset = 0;
  std::string name;  ///< Of a macro.
  std::vector<ExprPtr> exprs;
  std::vector<ExprPtr> targets;   ///< For, set, with; parameters of a macro or call block.
  std::vector<ExprPtr> defaults;  ///< Of the last parameters.
  ExprPtr condition;              ///< Of a for loop.
  ExprPtr filter;                 ///< Of a set or filter block, around kCaptured.
  std::vector<Body> bodies;       ///< For: body, else.
  FrameInfo frame, condition_frame, else_frame;
  Place place;                          ///< Of a macro's name.
  std::vector<Place> parameters;        ///< In frame.
  Place loop, caller, kwargs, varargs;  ///< In frame; slot -1: not used there.
};

}  // namespace weir::jinja
