#pragma once

/// Models of the Hugging Face hub: found in our cache or in the hub client's own, or fetched.
///
/// Our copy of OWNER/REPO lives under <cache>/models/hub/OWNER--REPO/ in the hub client's own
/// shape:
///   blobs/<etag>              the bytes; <etag>.part and <etag>.part.json while they come
///   snapshots/<commit>/<name> links to blobs (ours, or the hub client's when it has them already)
///   picks/<revision>/<file>   JSON: which commit and files a reference stood for when last fetched
///   lock                      held by the one process that fetches
/// Blobs are named by their etag, so a file that changed is another blob, and one that did not
/// change from commit to commit is fetched once. Private to hub/. Thread safety: any thread;
/// processes exclude each other by the lock.

#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/hub/internal/session.h"
#include "weir/hub/names.h"

namespace weir::hub {

/// The path of what is here already, whole; asks nobody.
[[nodiscard]] std::optional<std::string> find_hub_model(const HubReference& reference,
                                                        const Places& places);

/// Asks the hub what the reference stands for now, and fetches what is missing.
[[nodiscard]] Result<std::string> pull_hub_model(const HubReference& reference, Session& session);

}  // namespace weir::hub
