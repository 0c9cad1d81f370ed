#pragma once

/// What names mean, decided before the template runs, by the very rules of Jinja's compiler (its
/// idtracking): a name that a scope assigns anywhere is that scope's own from its start, copied
/// from the outer variable of that name if there is one; other names are looked up outwards and in
/// the end in the render's variables. Also binds filters and tests: an unknown one is an error
/// here, unless it stands under a condition, where Jinja too waits until it is reached. Thread
/// safety: pure function.

#include <set>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/jinja/ast.h"

namespace weir::jinja {

struct Program {
  Body body;
  FrameInfo root;
  std::set<std::string> inputs;  ///< Names that come from the render's variables or the globals.
};

[[nodiscard]] Result<Program> resolve_names(std::string_view source, Body body);

}  // namespace weir::jinja
