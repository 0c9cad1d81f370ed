#pragma once

/// What became of the last requests, for GET /v1/requests/{id}: running ones are asked of the
/// engine, ended ones are remembered. Bounded: the oldest is forgotten when one more comes.
/// Thread safety: every function from any thread.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/engine/engine.h"

namespace weir::server {

class RequestLog {
 public:
  explicit RequestLog(std::size_t capacity = 1024) : capacity_(capacity) {}

  /// `id` as answers carry it; `choices` in their order.
  void began(const std::string& id, std::int64_t unix_seconds, policy::TenantId tenant,
             std::vector<engine::SequenceId> choices);
  /// `sequence`: the choice that ended; one that is not (or no more) known is ignored.
  void ended(const std::string& id, policy::TenantId tenant, engine::SequenceId sequence,
             const engine::Finish& finish);

  /// The body of the answer. Nothing when `tenant` had no request of that id, or it is forgotten.
  [[nodiscard]] std::optional<std::string> describe(const std::string& id, policy::TenantId tenant,
                                                    const engine::Engine& engine) const;

 private:
  struct End {
    engine::FinishReason reason;
    engine::Timings timings;
  };
  struct Entry {
    std::int64_t created = 0;
    std::vector<engine::SequenceId> choices;
    std::vector<std::optional<End>> ends;
  };
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  /// Clients may choose ids, so two may choose the same.
  using Key = std::pair<policy::TenantId, std::string>;
  std::map<Key, Entry> entries_;  // guarded by mutex_
  std::deque<Key> order_;         // guarded by mutex_; oldest first
};

}  // namespace weir::server
