#pragma once

/// Tokens to a tree, by Jinja's grammar. Deep nesting is an error, so no walk over the tree can
/// overflow the stack.
/// Thread safety: pure function.

#include <string_view>

#include "weir/base/result.h"
#include "weir/jinja/ast.h"

namespace weir::jinja {

/// `source` as for tokenize(); constants live in `constants`, which must outlive the tree.
[[nodiscard]] Result<Body> parse(std::string_view source, Heap& constants);

}  // namespace weir::jinja
