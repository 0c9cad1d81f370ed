#pragma once

/// The folders of one repository in our cache and in the hub client's (see hugging_face.h for the
/// shape). Private to hub/.
/// Thread safety: values; writing needs the repository's lock.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/hub/internal/listing.h"
#include "weir/hub/names.h"
#include "weir/hub/places.h"

namespace weir::hub {

/// What a reference stood for.
struct Pick {
  std::string commit;
  std::string main;  ///< The model's file, or "" for the folder.
  std::vector<std::pair<std::string, std::uint64_t>> files;  ///< Name and size.
};

class HubCache {
 public:
  HubCache(const Places& places, const std::string& repo);

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string lock_path() const { return root_ + "/lock"; }
  [[nodiscard]] std::string blob(const std::string& etag) const;
  [[nodiscard]] std::string snapshot(const std::string& commit) const {
    return root_ + "/snapshots/" + commit;
  }

  /// The hub client's copy of a blob, when it is there with this size.
  [[nodiscard]] std::optional<std::string> foreign_blob(const std::string& etag,
                                                        std::uint64_t bytes) const;

  /// Makes snapshots/COMMIT/NAME a link to `blob`, whatever stood there.
  /// REQUIRES: `name` passed check_relative_path.
  [[nodiscard]] Status link(const std::string& commit, const std::string& name,
                            const std::string& blob) const;

  [[nodiscard]] Status remember(const HubReference& reference, const Pick& pick) const;
  /// The path a remembered pick stands for, when all its files are still whole.
  [[nodiscard]] std::optional<std::string> recall(const HubReference& reference) const;
  /// The same from the hub client's own cache.
  [[nodiscard]] std::optional<std::string> recall_foreign(const HubReference& reference) const;

  /// Unfinished blobs no longer wanted by anyone, once a pull is through.
  [[nodiscard]] Status drop_parts() const;

 private:
  [[nodiscard]] std::string pick_path(const HubReference& reference) const;
  std::string root_;
  std::string foreign_;
};

}  // namespace weir::hub
