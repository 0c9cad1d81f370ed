#pragma once

/// WEIR_CHECK states what cannot be false unless Weir itself is wrong; active in every build.
/// Never for input. It prints the place and the text, then aborts.

namespace weir {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* why);
}

#define WEIR_CHECK(condition, why)                                               \
  do {                                                                           \
    if (!(condition)) ::weir::check_failed(__FILE__, __LINE__, #condition, why); \
  } while (false)
