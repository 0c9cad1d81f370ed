#pragma once

/// pip as the client of package indexes: its user's configuration, mirrors, proxies and credentials
/// apply, and no host stands in our code. Wheels only, so that nothing of a package is executed.
/// Private to hub/. Thread safety: any thread.

#include <functional>
#include <string>

#include "weir/base/result.h"
#include "weir/hub/catalogue.h"
#include "weir/hub/internal/session.h"

namespace weir::hub {

/// The path of the wheel in `folder`, fetched when it is not there whole. `scratch` is a folder pip
/// may use meanwhile. `so_far` is told the bytes of this wheel. kNotFound when python3 or pip is
/// missing (says what to install), kUnavailable with pip's own words.
[[nodiscard]] Result<std::string> pip_download(Session& session, const Package& package,
                                               const std::string& folder,
                                               const std::string& scratch,
                                               const std::function<void(std::uint64_t)>& so_far);

}  // namespace weir::hub
