#include "weir/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "weir/jinja/lexer.h"

namespace weir::jinja {
namespace {

constexpr int kMaxNesting = 100;  ///< Of statements, and of expressions within brackets.
constexpr std::uint16_t kMaxDepth =
    250;  ///< Of an expression's tree: a + b + c ... is one level each.

using Words = std::initializer_list<std::string_view>;

class Parser {
 public:
  Parser(std::string_view source, std::vector<Lexeme> lexemes, Heap& constants)
      : source_(source), lexemes_(std::move(lexemes)), constants_(constants) {}

  Result<Body> run() {
    WEIR_TRY(Body body, statements({}, 0));
    return body;
  }

 private:
  // -- tokens

  const Lexeme& current() const { return lexemes_[at_]; }
  const Lexeme& look() const { return lexemes_[std::min(at_ + 1, lexemes_.size() - 1)]; }
  void advance() {
    if (at_ + 1 < lexemes_.size()) ++at_;
  }
  bool is(Token token) const { return current().token == token; }
  static bool is_op(const Lexeme& l, std::string_view op) {
    return l.token == Token::kOperator && l.text == op;
  }
  bool is_op(std::string_view op) const { return is_op(current(), op); }
  bool is_name(std::string_view name) const { return is(Token::kName) && current().text == name; }
  bool accept_op(std::string_view op) {
    if (!is_op(op)) return false;
    advance();
    return true;
  }
  bool accept_name(std::string_view name) {
    if (!is_name(name)) return false;
    advance();
    return true;
  }

  std::unexpected<Error> bad(std::string_view what) const { return bad_at(current().offset, what); }
  std::unexpected<Error> bad_at(std::size_t offset, std::string_view what) const {
    return error_at(source_, offset, Code::kInvalidArgument, what);
  }

  static std::string describe(const Lexeme& l) {
    switch (l.token) {
      case Token::kData:
        return "template data";
      case Token::kVariableBegin:
        return "begin of print statement";
      case Token::kVariableEnd:
        return "end of print statement";
      case Token::kBlockBegin:
        return "begin of statement block";
      case Token::kBlockEnd:
        return "end of statement block";
      case Token::kEnd:
        return "end of template";
      case Token::kString:
        return "a string";
      default:
        return fmt::format("'{}'", l.text);
    }
  }

  Status expect_op(std::string_view op) {
    if (!accept_op(op)) return bad(fmt::format("expected '{}', got {}", op, describe(current())));
    return {};
  }
  Status expect(Token token, std::string_view what) {
    if (!is(token)) return bad(fmt::format("expected {}, got {}", what, describe(current())));
    advance();
    return {};
  }
  Result<std::string> expect_name() {
    if (!is(Token::kName)) return bad(fmt::format("expected a name, got {}", describe(current())));
    std::string name = current().text;
    advance();
    return name;
  }

  // -- nodes

  static ExprPtr make(ExprKind kind, std::uint32_t offset) {
    auto e = std::make_unique<Expr>();
    e->kind = kind;
    e->offset = offset;
    return e;
  }

  Status add_child(Expr& parent, ExprPtr child) {
    if (child) WEIR_TRY_STATUS(deepen(parent, *child));
    parent.children.push_back(std::move(child));
    return {};
  }

  Status deepen(Expr& parent, const Expr& child) {
    if (child.depth >= kMaxDepth) {
      return error_at(source_, child.offset, Code::kTooLarge,
                      "the expression is nested too deeply");
    }
    parent.depth = std::max<std::uint16_t>(parent.depth, child.depth + 1);
    return {};
  }

  Result<ExprPtr> unary(ExprKind kind, std::uint32_t offset, ExprPtr operand) {
    ExprPtr e = make(kind, offset);
    WEIR_TRY_STATUS(add_child(*e, std::move(operand)));
    return e;
  }

  Result<ExprPtr> binary(ExprKind kind, std::uint32_t offset, ExprPtr left, ExprPtr right) {
    ExprPtr e = make(kind, offset);
    WEIR_TRY_STATUS(add_child(*e, std::move(left)));
    WEIR_TRY_STATUS(add_child(*e, std::move(right)));
    return e;
  }

  ExprPtr constant(std::uint32_t offset, Value value) {
    ExprPtr e = make(ExprKind::kConstant, offset);
    e->constant = value;
    return e;
  }

  /// Counts one level of recursion for as long as it lives.
  class Level {
   public:
    explicit Level(int& count) : count_(count) { ++count_; }
    ~Level() { --count_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    int& count_;
  };
  Status check_nesting() const {
    if (nesting_ <= kMaxNesting) return {};
    return error_at(source_, current().offset, Code::kTooLarge,
                    "the template is nested too deeply");
  }

  // -- statements

  bool at_any(Words names) const {
    return std::ranges::any_of(names, [&](std::string_view n) { return is_name(n); });
  }

  /// Up to `{% one-of-ends`, whose name becomes the current token; with no ends, to the end.
  Result<Body> statements(Words ends, std::uint32_t opened) {
    const Level level(nesting_);
    WEIR_TRY_STATUS(check_nesting());
    Body body;
    Stmt* output = nullptr;
    const auto out = [&]() -> Stmt& {
      if (output == nullptr) {
        body.push_back(std::make_unique<Stmt>());
        output = body.back().get();
        output->offset = current().offset;
      }
      return *output;
    };
    while (!is(Token::kEnd)) {
      if (is(Token::kData)) {
        out().exprs.push_back(constant(current().offset, constants_.string(current().text, true)));
        advance();
      } else if (is(Token::kVariableBegin)) {
        advance();
        WEIR_TRY(ExprPtr e, tuple(true, {}, false));
        out().exprs.push_back(std::move(e));
        WEIR_TRY_STATUS(expect(Token::kVariableEnd, "'}}'"));
      } else {
        WEIR_TRY_STATUS(expect(Token::kBlockBegin, "a tag"));
        output = nullptr;
        if (at_any(ends)) return body;
        WEIR_TRY(std::unique_ptr<Stmt> stmt, statement());
        body.push_back(std::move(stmt));
        WEIR_TRY_STATUS(expect(Token::kBlockEnd, "'%}'"));
      }
    }
    if (ends.size() > 0) {
      return bad_at(opened, fmt::format("unexpected end of template: '{}' is missing",
                                        *std::prev(ends.end())));
    }
    return body;
  }

  /// The rest of an opening tag, then its body.
  Result<Body> block(Words ends, std::uint32_t opened) {
    accept_op(":");
    WEIR_TRY_STATUS(expect(Token::kBlockEnd, "'%}'"));
    return statements(ends, opened);
  }

  /// block() and the name of its end tag consumed.
  Result<Body> whole_block(std::string_view end, std::uint32_t opened) {
    WEIR_TRY(Body body, block({end}, opened));
    advance();
    return body;
  }

  Result<std::unique_ptr<Stmt>> statement() {
    if (!is(Token::kName)) return bad("tag name expected");
    auto s = std::make_unique<Stmt>();
    s->offset = current().offset;
    const std::string tag = current().text;
    advance();
    Status status;
    if (tag == "for") {
      status = for_loop(*s);
    } else if (tag == "if") {
      status = if_chain(*s);
    } else if (tag == "set") {
      status = set(*s);
    } else if (tag == "macro") {
      status = macro(*s);
    } else if (tag == "call") {
      status = call_block(*s);
    } else if (tag == "filter") {
      status = filter_block(*s);
    } else if (tag == "with") {
      status = with(*s);
    } else if (tag == "print") {
      status = print(*s);
    } else if (tag == "generation") {
      s->kind = StmtKind::kScope;
      const int loops = std::exchange(loops_, 0);
      WEIR_TRY(Body body, whole_block("endgeneration", s->offset));
      loops_ = loops;
      s->bodies.push_back(std::move(body));
    } else if (tag == "break" || tag == "continue") {
      s->kind = tag == "break" ? StmtKind::kBreak : StmtKind::kContinue;
      if (loops_ == 0) return bad_at(s->offset, fmt::format("'{}' outside loop", tag));
    } else if (tag == "block" || tag == "extends" || tag == "include" || tag == "import" ||
               tag == "from" || tag == "autoescape") {
      return bad_at(s->offset, fmt::format("the tag '{}' is not supported in chat templates", tag));
    } else {
      return bad_at(s->offset, fmt::format("Encountered unknown tag '{}'.", tag));
    }
    WEIR_TRY_STATUS(std::move(status));
    return s;
  }

  Status for_loop(Stmt& s) {
    s.kind = StmtKind::kFor;
    WEIR_TRY(ExprPtr target, assign_target({"in"}, false));
    if (!accept_name("in")) return bad(fmt::format("expected 'in', got {}", describe(current())));
    WEIR_TRY(ExprPtr iterable, tuple(false, {"recursive"}, false));
    if (accept_name("if")) {
      WEIR_TRY(s.condition, expression());
    }
    if (is_name("recursive")) return bad("recursive loops are not supported in chat templates");
    s.targets.push_back(std::move(target));
    s.exprs.push_back(std::move(iterable));
    ++loops_;
    WEIR_TRY(Body body, block({"endfor", "else"}, s.offset));
    --loops_;
    s.bodies.push_back(std::move(body));
    const bool has_else = is_name("else");
    advance();
    if (has_else) {
      WEIR_TRY(Body other, whole_block("endfor", s.offset));
      s.bodies.push_back(std::move(other));
    }
    return {};
  }

  Status if_chain(Stmt& s) {
    s.kind = StmtKind::kIf;
    while (true) {
      WEIR_TRY(ExprPtr test, tuple(false, {}, false));
      s.exprs.push_back(std::move(test));
      WEIR_TRY(Body body, block({"elif", "else", "endif"}, s.offset));
      s.bodies.push_back(std::move(body));
      if (accept_name("elif")) continue;
      const bool has_else = is_name("else");
      advance();
      if (has_else) {
        WEIR_TRY(Body other, whole_block("endif", s.offset));
        s.bodies.push_back(std::move(other));
      }
      return {};
    }
  }

  Status set(Stmt& s) {
    WEIR_TRY(ExprPtr target, assign_target({}, true));
    s.targets.push_back(std::move(target));
    if (accept_op("=")) {
      s.kind = StmtKind::kSet;
      WEIR_TRY(ExprPtr value, tuple(true, {}, false));
      s.exprs.push_back(std::move(value));
      return {};
    }
    s.kind = StmtKind::kSetBlock;
    WEIR_TRY(s.filter, filters(make(ExprKind::kCaptured, s.offset)));
    WEIR_TRY(Body body, whole_block("endset", s.offset));
    s.bodies.push_back(std::move(body));
    return {};
  }

  Status signature(Stmt& s) {
    WEIR_TRY_STATUS(expect_op("("));
    while (!is_op(")")) {
      if (!s.targets.empty()) WEIR_TRY_STATUS(expect_op(","));
      const std::uint32_t offset = current().offset;
      WEIR_TRY(std::string name, expect_name());
      if (is_reserved(name)) return bad_at(offset, fmt::format("can't assign to '{}'", name));
      ExprPtr parameter = make(ExprKind::kName, offset);
      parameter->name = std::move(name);
      if (accept_op("=")) {
        WEIR_TRY(ExprPtr value, expression());
        s.defaults.push_back(std::move(value));
      } else if (!s.defaults.empty()) {
        return bad("non-default argument follows default argument");
      }
      s.targets.push_back(std::move(parameter));
    }
    return expect_op(")");
  }

  /// A body that runs elsewhere: loops around it cannot be left from inside.
  Status detached_body(Stmt& s, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    WEIR_TRY(Body body, whole_block(end, s.offset));
    loops_ = loops;
    s.bodies.push_back(std::move(body));
    return {};
  }

  Status macro(Stmt& s) {
    s.kind = StmtKind::kMacro;
    WEIR_TRY(s.name, expect_name());
    if (is_reserved(s.name)) return bad_at(s.offset, fmt::format("can't assign to '{}'", s.name));
    WEIR_TRY_STATUS(signature(s));
    return detached_body(s, "endmacro");
  }

  Status call_block(Stmt& s) {
    s.kind = StmtKind::kCallBlock;
    if (is_op("(")) WEIR_TRY_STATUS(signature(s));
    WEIR_TRY(ExprPtr call, expression());
    if (call->kind != ExprKind::kCall) return bad_at(s.offset, "expected call");
    s.exprs.push_back(std::move(call));
    return detached_body(s, "endcall");
  }

  Status filter_block(Stmt& s) {
    s.kind = StmtKind::kFilterBlock;
    WEIR_TRY(ExprPtr first, one_filter(make(ExprKind::kCaptured, s.offset)));
    WEIR_TRY(s.filter, filters(std::move(first)));
    WEIR_TRY(Body body, whole_block("endfilter", s.offset));
    s.bodies.push_back(std::move(body));
    return {};
  }

  Status with(Stmt& s) {
    s.kind = StmtKind::kWith;
    while (!is(Token::kBlockEnd)) {
      if (!s.targets.empty()) WEIR_TRY_STATUS(expect_op(","));
      WEIR_TRY(ExprPtr target, assign_target({}, false));
      s.targets.push_back(std::move(target));
      WEIR_TRY_STATUS(expect_op("="));
      WEIR_TRY(ExprPtr value, expression());
      s.exprs.push_back(std::move(value));
    }
    WEIR_TRY(Body body, whole_block("endwith", s.offset));
    s.bodies.push_back(std::move(body));
    return {};
  }

  Status print(Stmt& s) {
    while (!is(Token::kBlockEnd)) {
      if (!s.exprs.empty()) WEIR_TRY_STATUS(expect_op(","));
      WEIR_TRY(ExprPtr e, expression());
      s.exprs.push_back(std::move(e));
    }
    return {};
  }

  // -- targets

  static bool is_reserved(std::string_view name) {
    return name == "true" || name == "false" || name == "none" || name == "True" ||
           name == "False" || name == "None";
  }

  Result<ExprPtr> assign_target(Words ends, bool with_namespace) {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr target, tuple(true, ends, false, true, with_namespace));
    if (!can_assign(*target)) return bad_at(offset, "can't assign to this expression");
    return target;
  }

  static bool can_assign(const Expr& e) {
    if (e.kind == ExprKind::kName || e.kind == ExprKind::kNamespaceAttribute) return true;
    return e.kind == ExprKind::kTuple &&
           std::ranges::all_of(e.children, [](const ExprPtr& c) { return can_assign(*c); });
  }

  // -- expressions, loosest first

  Result<ExprPtr> expression(bool with_conditional = true) {
    const Level level(nesting_);
    WEIR_TRY_STATUS(check_nesting());
    return with_conditional ? conditional() : disjunction();
  }

  Result<ExprPtr> conditional() {
    std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr then, disjunction());
    while (accept_name("if")) {
      WEIR_TRY(ExprPtr test, disjunction());
      ExprPtr otherwise;
      if (accept_name("else")) {
        const Level level(nesting_);
        WEIR_TRY_STATUS(check_nesting());
        WEIR_TRY(otherwise, conditional());
      }
      ExprPtr e = make(ExprKind::kConditional, offset);
      WEIR_TRY_STATUS(add_child(*e, std::move(test)));
      WEIR_TRY_STATUS(add_child(*e, std::move(then)));
      WEIR_TRY_STATUS(add_child(*e, std::move(otherwise)));
      then = std::move(e);
      offset = current().offset;
    }
    return then;
  }

  Result<ExprPtr> disjunction() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr left, conjunction());
    while (accept_name("or")) {
      WEIR_TRY(ExprPtr right, conjunction());
      WEIR_TRY(left, binary(ExprKind::kOr, offset, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExprPtr> conjunction() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr left, negation());
    while (accept_name("and")) {
      WEIR_TRY(ExprPtr right, negation());
      WEIR_TRY(left, binary(ExprKind::kAnd, offset, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExprPtr> negation() {
    const std::uint32_t offset = current().offset;
    if (!accept_name("not")) return compare();
    const Level level(nesting_);
    WEIR_TRY_STATUS(check_nesting());
    WEIR_TRY(ExprPtr operand, negation());
    return unary(ExprKind::kNot, offset, std::move(operand));
  }

  std::optional<Operator> accept_comparison() {
    static constexpr std::pair<std::string_view, Operator> kSymbols[] = {
        {"==", Operator::kEqual},     {"!=", Operator::kNotEqual}, {"<", Operator::kLess},
        {"<=", Operator::kLessEqual}, {">", Operator::kGreater},   {">=", Operator::kGreaterEqual}};
    for (const auto& [text, op] : kSymbols) {
      if (accept_op(text)) return op;
    }
    if (accept_name("in")) return Operator::kIn;
    if (is_name("not") && look().token == Token::kName && look().text == "in") {
      advance();
      advance();
      return Operator::kNotIn;
    }
    return std::nullopt;
  }

  Result<ExprPtr> compare() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr first, sum());
    ExprPtr e;
    while (const auto op = accept_comparison()) {
      if (!e) {
        e = make(ExprKind::kCompare, offset);
        WEIR_TRY_STATUS(add_child(*e, std::move(first)));
      }
      WEIR_TRY(ExprPtr next, sum());
      e->ops.push_back(*op);
      WEIR_TRY_STATUS(add_child(*e, std::move(next)));
    }
    return e ? std::move(e) : std::move(first);
  }

  using Table = std::initializer_list<std::pair<std::string_view, Operator>>;
  std::optional<Operator> accept_any(Table table) {
    for (const auto& [text, op] : table) {
      if (accept_op(text)) return op;
    }
    return std::nullopt;
  }

  Result<ExprPtr> arithmetic(Operator op, std::uint32_t offset, ExprPtr left, ExprPtr right) {
    WEIR_TRY(ExprPtr e, binary(ExprKind::kArithmetic, offset, std::move(left), std::move(right)));
    e->op = op;
    return e;
  }

  Result<ExprPtr> sum() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr left, concatenation());
    while (const auto op = accept_any({{"+", Operator::kAdd}, {"-", Operator::kSubtract}})) {
      WEIR_TRY(ExprPtr right, concatenation());
      WEIR_TRY(left, arithmetic(*op, offset, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExprPtr> concatenation() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr first, product());
    if (!is_op("~")) return first;
    ExprPtr e = make(ExprKind::kConcat, offset);
    WEIR_TRY_STATUS(add_child(*e, std::move(first)));
    while (accept_op("~")) {
      WEIR_TRY(ExprPtr next, product());
      WEIR_TRY_STATUS(add_child(*e, std::move(next)));
    }
    return e;
  }

  Result<ExprPtr> product() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr left, power());
    while (const auto op = accept_any({{"*", Operator::kMultiply},
                                       {"/", Operator::kDivide},
                                       {"//", Operator::kFloorDivide},
                                       {"%", Operator::kModulo}})) {
      WEIR_TRY(ExprPtr right, power());
      WEIR_TRY(left, arithmetic(*op, offset, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExprPtr> power() {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(ExprPtr left, signed_value(true));
    while (accept_op("**")) {
      WEIR_TRY(ExprPtr right, signed_value(true));
      WEIR_TRY(left, arithmetic(Operator::kPower, offset, std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExprPtr> signed_value(bool with_filter) {
    const std::uint32_t offset = current().offset;
    ExprPtr e;
    if (is_op("-") || is_op("+")) {
      const ExprKind kind = is_op("-") ? ExprKind::kNegate : ExprKind::kPlus;
      advance();
      const Level level(nesting_);
      WEIR_TRY_STATUS(check_nesting());
      WEIR_TRY(ExprPtr operand, signed_value(false));
      WEIR_TRY(e, unary(kind, offset, std::move(operand)));
    } else {
      WEIR_TRY(e, primary(false));
    }
    WEIR_TRY(e, postfix(std::move(e)));
    if (!with_filter) return e;
    return filters_and_tests(std::move(e));
  }

  Result<ExprPtr> primary(bool with_namespace) {
    const Lexeme& token = current();
    const std::uint32_t offset = token.offset;
    switch (token.token) {
      case Token::kName: {
        advance();
        if (token.text == "true" || token.text == "True") return constant(offset, boolean(true));
        if (token.text == "false" || token.text == "False") return constant(offset, boolean(false));
        if (token.text == "none" || token.text == "None") return constant(offset, none());
        ExprPtr e = make(ExprKind::kName, offset);
        e->name = token.text;
        if (with_namespace && accept_op(".")) {
          e->kind = ExprKind::kNamespaceAttribute;
          WEIR_TRY(e->attribute, expect_name());
        }
        return e;
      }
      case Token::kString: {
        std::string text;
        while (is(Token::kString)) {
          text += current().text;
          advance();
        }
        return constant(offset, constants_.string(std::move(text), true));
      }
      case Token::kInteger:
        advance();
        return constant(offset, integer(token.integer));
      case Token::kFloat:
        advance();
        return constant(offset, real(token.real));
      default:
        break;
    }
    if (accept_op("(")) {
      WEIR_TRY(ExprPtr e, tuple(true, {}, true));
      WEIR_TRY_STATUS(expect_op(")"));
      return e;
    }
    if (accept_op("[")) return list(offset);
    if (accept_op("{")) return dict(offset);
    return bad(fmt::format("unexpected {}", describe(token)));
  }

  Result<ExprPtr> list(std::uint32_t offset) {
    ExprPtr e = make(ExprKind::kList, offset);
    while (!is_op("]")) {
      if (!e->children.empty()) WEIR_TRY_STATUS(expect_op(","));
      if (is_op("]")) break;
      WEIR_TRY(ExprPtr item, expression());
      WEIR_TRY_STATUS(add_child(*e, std::move(item)));
    }
    advance();
    return e;
  }

  Result<ExprPtr> dict(std::uint32_t offset) {
    ExprPtr e = make(ExprKind::kDict, offset);
    while (!is_op("}")) {
      if (!e->children.empty()) WEIR_TRY_STATUS(expect_op(","));
      if (is_op("}")) break;
      WEIR_TRY(ExprPtr key, expression());
      WEIR_TRY_STATUS(expect_op(":"));
      WEIR_TRY(ExprPtr value, expression());
      WEIR_TRY_STATUS(add_child(*e, std::move(key)));
      WEIR_TRY_STATUS(add_child(*e, std::move(value)));
    }
    advance();
    return e;
  }

  bool at_tuple_end(Words ends) const {
    return is(Token::kVariableEnd) || is(Token::kBlockEnd) || is_op(")") || at_any(ends);
  }

  /// An expression, or several with commas between. `simplified`: names and literals only
  /// (targets).
  Result<ExprPtr> tuple(bool with_conditional, Words ends, bool parentheses,
                        bool simplified = false, bool with_namespace = false) {
    const Level level(nesting_);
    WEIR_TRY_STATUS(check_nesting());
    ExprPtr e = make(ExprKind::kTuple, current().offset);
    bool is_tuple = false;
    while (true) {
      if (!e->children.empty()) WEIR_TRY_STATUS(expect_op(","));
      if (at_tuple_end(ends)) break;
      WEIR_TRY(ExprPtr item, simplified ? primary(with_namespace) : expression(with_conditional));
      WEIR_TRY_STATUS(add_child(*e, std::move(item)));
      if (!is_op(",")) break;
      is_tuple = true;
    }
    if (is_tuple) return e;
    if (!e->children.empty()) return std::move(e->children[0]);
    if (!parentheses)
      return bad(fmt::format("Expected an expression, got {}", describe(current())));
    return e;
  }

  Result<ExprPtr> postfix(ExprPtr e) {
    while (true) {
      if (is_op(".") || is_op("[")) {
        WEIR_TRY(e, subscript(std::move(e)));
      } else if (is_op("(")) {
        WEIR_TRY(e, call(std::move(e)));
      } else {
        return e;
      }
    }
  }

  Result<ExprPtr> filters_and_tests(ExprPtr e) {
    while (true) {
      if (is_op("|")) {
        WEIR_TRY(e, filters(std::move(e)));
      } else if (is_name("is")) {
        WEIR_TRY(e, test(std::move(e)));
      } else if (is_op("(")) {
        WEIR_TRY(e, call(std::move(e)));
      } else {
        return e;
      }
    }
  }

  Result<ExprPtr> subscript(ExprPtr object) {
    const std::uint32_t offset = current().offset;
    if (accept_op(".")) {
      const Lexeme& name = current();
      advance();
      if (name.token == Token::kName) {
        WEIR_TRY(ExprPtr e, unary(ExprKind::kAttribute, offset, std::move(object)));
        e->name = name.text;
        return e;
      }
      if (name.token != Token::kInteger) return bad_at(name.offset, "expected name or number");
      return binary(ExprKind::kItem, offset, std::move(object),
                    constant(name.offset, integer(name.integer)));
    }
    advance();
    std::vector<ExprPtr> keys;
    bool sliced = false;
    ExprPtr slice = make(ExprKind::kSlice, offset);
    while (!is_op("]")) {
      if (!keys.empty() || sliced) {
        if (sliced) return bad("a slice stands alone in its brackets");
        WEIR_TRY_STATUS(expect_op(","));
      }
      ExprPtr start;
      if (!is_op(":")) {
        WEIR_TRY(start, expression());
      }
      if (!accept_op(":")) {
        keys.push_back(std::move(start));
        continue;
      }
      if (!keys.empty()) return bad("a slice stands alone in its brackets");
      sliced = true;
      const auto at_bound_end = [&] { return is_op(":") || is_op("]") || is_op(","); };
      ExprPtr stop;
      ExprPtr step;
      if (!at_bound_end()) {
        WEIR_TRY(stop, expression());
      }
      if (accept_op(":") && !at_bound_end()) {
        WEIR_TRY(step, expression());
      }
      WEIR_TRY_STATUS(add_child(*slice, std::move(object)));
      WEIR_TRY_STATUS(add_child(*slice, std::move(start)));
      WEIR_TRY_STATUS(add_child(*slice, std::move(stop)));
      WEIR_TRY_STATUS(add_child(*slice, std::move(step)));
    }
    advance();
    if (sliced) return slice;
    ExprPtr key;
    if (keys.size() == 1) {
      key = std::move(keys[0]);
    } else {
      key = make(ExprKind::kTuple, offset);
      for (ExprPtr& k : keys) WEIR_TRY_STATUS(add_child(*key, std::move(k)));
    }
    return binary(ExprKind::kItem, offset, std::move(object), std::move(key));
  }

  /// `( ... )` into the children, named, star and star_star of `e`.
  Status call_arguments(Expr& e) {
    const std::uint32_t offset = current().offset;
    WEIR_TRY_STATUS(expect_op("("));
    const auto wrong = [&] {
      return bad_at(offset, "invalid syntax for function call expression");
    };
    for (bool first = true; !is_op(")"); first = false) {
      if (!first) {
        WEIR_TRY_STATUS(expect_op(","));
        if (is_op(")")) break;
      }
      if (is_op("*")) {
        if (e.star || e.star_star) return wrong();
        advance();
        WEIR_TRY(e.star, expression());
        WEIR_TRY_STATUS(deepen(e, *e.star));
      } else if (is_op("**")) {
        if (e.star_star) return wrong();
        advance();
        WEIR_TRY(e.star_star, expression());
        WEIR_TRY_STATUS(deepen(e, *e.star_star));
      } else if (is(Token::kName) && is_op(look(), "=")) {
        if (e.star_star) return wrong();
        std::string key = current().text;
        const std::uint32_t at = current().offset;
        advance();
        advance();
        WEIR_TRY(ExprPtr value, expression());
        WEIR_TRY_STATUS(deepen(e, *value));
        if (std::ranges::any_of(e.named, [&](const auto& n) { return n.first == key; })) {
          return bad_at(at, fmt::format("keyword argument repeated: {}", key));
        }
        e.named.emplace_back(std::move(key), std::move(value));
      } else {
        if (e.star || e.star_star || !e.named.empty()) return wrong();
        WEIR_TRY(ExprPtr value, expression());
        WEIR_TRY_STATUS(add_child(e, std::move(value)));
      }
    }
    return expect_op(")");
  }

  Result<ExprPtr> call(ExprPtr function) {
    WEIR_TRY(ExprPtr e, unary(ExprKind::kCall, current().offset, std::move(function)));
    WEIR_TRY_STATUS(call_arguments(*e));
    return e;
  }

  Result<std::string> dotted_name() {
    WEIR_TRY(std::string name, expect_name());
    while (accept_op(".")) {
      WEIR_TRY(const std::string part, expect_name());
      name += "." + part;
    }
    return name;
  }

  Result<ExprPtr> one_filter(ExprPtr subject) {
    const std::uint32_t offset = current().offset;
    WEIR_TRY(std::string name, dotted_name());
    WEIR_TRY(ExprPtr e, unary(ExprKind::kFilter, offset, std::move(subject)));
    e->name = std::move(name);
    if (is_op("(")) WEIR_TRY_STATUS(call_arguments(*e));
    return e;
  }

  Result<ExprPtr> filters(ExprPtr e) {
    while (accept_op("|")) {
      WEIR_TRY(e, one_filter(std::move(e)));
    }
    return e;
  }

  Result<ExprPtr> test(ExprPtr subject) {
    advance();
    const bool negated = accept_name("not");
    const std::uint32_t offset = current().offset;
    WEIR_TRY(std::string name, dotted_name());
    WEIR_TRY(ExprPtr e, unary(ExprKind::kTest, offset, std::move(subject)));
    e->name = std::move(name);
    const bool starts_value = is(Token::kName) || is(Token::kString) || is(Token::kInteger) ||
                              is(Token::kFloat) || is_op("[") || is_op("{");
    if (is_op("(")) {
      WEIR_TRY_STATUS(call_arguments(*e));
    } else if (starts_value && !at_any({"else", "or", "and"})) {
      if (is_name("is")) return bad("You cannot chain multiple tests with is");
      WEIR_TRY(ExprPtr argument, primary(false));
      WEIR_TRY(argument, postfix(std::move(argument)));
      WEIR_TRY_STATUS(add_child(*e, std::move(argument)));
    }
    if (!negated) return e;
    return unary(ExprKind::kNot, offset, std::move(e));
  }

  std::string_view source_;
  std::vector<Lexeme> lexemes_;
  Heap& constants_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;  ///< Around the current statement, within its macro.
};

}  // namespace

Result<Body> parse(std::string_view source, Heap& constants) {
  WEIR_TRY(std::vector<Lexeme> lexemes, tokenize(source));
  return Parser(source, std::move(lexemes), constants).run();
}

}  // namespace weir::jinja
