#pragma once

/// The one error vocabulary of Weir, and Result<T>, the value-or-error every fallible function
/// returns.
///
/// A fault of the outside (a file, a peer, a request, the machine) is an Error value. A fault of
/// our own is a WEIR_CHECK (weir/base/check.h). Nothing in a library prints, exits or aborts on
/// input. Thread safety: values; distinct objects are independent.

#include <expected>
#include <string>
#include <utility>

namespace weir {

/// Choose by what the caller can do about it. api/error.h holds the only table to HTTP statuses,
/// cli/exit_code.h the only table to exit codes.
enum class Code {
  kInvalidArgument,  ///< The request itself is wrong; the same call never succeeds.
  kContextLength,    ///< The prompt and the answer do not fit the model's context.
  kNotFound,         ///< The named thing (model, file, route) does not exist.
  kUnsupported,      ///< Well formed, but outside what Weir can do (architecture, tensor type).
  kCorrupt,          ///< A file or peer broke its own format.
  kTooLarge,         ///< Over a stated bound (body, header, file, template).
  kExhausted,        ///< Out of a resource for now (queue, pages, memory): try later or give more.
  kUnauthenticated,  ///< Credentials are missing or wrong.
  kPermission,       ///< Known caller, not allowed.
  kCancelled,        ///< The client left or asked to stop.
  kDeadline,         ///< The deadline passed.
  kUnavailable,      ///< Not ready, draining, or the peer is down: try later.
  kIo,               ///< The operating system failed us.
  kInternal,         ///< Our own fault, contained to one request.
};

struct [[nodiscard]] Error {
  Code code = Code::kInternal;
  std::string message;  ///< One line for a person: what, where, what to do. No trailing newline.
  std::string subject;  ///< The parameter, file or tensor at fault, or empty. OpenAI's `param`.
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(Code code, std::string message,
                                                 std::string subject = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(subject)});
}

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

/// `WEIR_TRY(auto file, MappedFile::open(path));` — declares `file`, or returns the error.
#define WEIR_TRY(declaration, expression) \
  WEIR_TRY_INNER(WEIR_CONCAT(weir_try_, __LINE__), declaration, expression)
#define WEIR_TRY_INNER(temporary, declaration, expression)              \
  auto temporary = (expression);                                        \
  if (!temporary) return std::unexpected(std::move(temporary).error()); \
  declaration = *std::move(temporary)

/// For a Status: `WEIR_TRY_STATUS(write_all(fd, bytes));`
#define WEIR_TRY_STATUS(expression)                  \
  if (auto weir_status = (expression); !weir_status) \
  return std::unexpected(std::move(weir_status).error())
