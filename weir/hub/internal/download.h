#pragma once

/// One file over HTTP to one place on disk, whole or not at all: what arrives is kept in PATH.part
/// (its validator in PATH.part.json), a cut is resumed by range, the checksum is compared, and only
/// then the file gets its name. Private to hub/. REQUIRES: the caller holds the lock of the model;
/// one writer per path.

#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/http/client.h"
#include "weir/hub/internal/checksum.h"
#include "weir/hub/internal/retry.h"
#include "weir/hub/internal/session.h"

namespace weir::hub {

struct Download {
  std::string url;
  http::ClientHeaders headers;  ///< Authorization; Range and If-Range are added here.
  std::string path;             ///< Where the file ends up; its folder exists.
  std::string name;             ///< For people.
  std::uint64_t bytes = 0;      ///< Of the whole file, as the hub stated.
  Digest digest;
  /// Of the whole model, for the progress: bytes of files before this one, and of all.
  std::uint64_t model_done = 0;
  std::uint64_t model_total = 0;
};

/// An answer that is not 2xx, told to a person. `what` is the thing asked for.
[[nodiscard]] Failure failure_of(const http::ClientResponse& response, const std::string& what,
                                 bool had_token);

/// Sends with retries until an answer is 2xx (or 3xx, where the client follows no further).
[[nodiscard]] Result<http::ClientResponse> ask(Session& session, const http::Client& client,
                                               const http::ClientRequest& request,
                                               const std::string& what,
                                               const RetryPolicy& policy = {});

[[nodiscard]] Status download(Session& session, const http::Client& client, const Download& file,
                              const RetryPolicy& policy = {});

}  // namespace weir::hub
