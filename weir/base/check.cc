#include "weir/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void check_failed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "%s:%d: broken promise: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace weir
