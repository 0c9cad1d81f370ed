#include "weir/cli/commands.h"

#include <fmt/format.h>

namespace weir::cli {

int exit_code_of(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kContextLength:
    case Code::kTooLarge:
      return 2;
    case Code::kNotFound:
      return 3;
    case Code::kCorrupt:
      return 4;
    case Code::kUnsupported:
      return 5;
    case Code::kExhausted:
      return 6;
    case Code::kIo:
    case Code::kUnavailable:
    case Code::kUnauthenticated:
    case Code::kPermission:
    case Code::kDeadline:
      return 7;
    case Code::kCancelled:
    case Code::kInternal:
      return 1;
  }
  return 1;
}

int report(const Error& error) {
  fmt::print(stderr, "weir: {}\n", error.message);
  return exit_code_of(error.code);
}

}  // namespace weir::cli
