#include "weir/server/request_log.h"

#include <algorithm>
#include <utility>

#include "weir/server/wire_timings.h"

namespace weir::server {
namespace {

std::string_view state_of(const engine::Account& account) {
  const auto& p = account.progress;
  if (!p.running) return p.preemptions > 0 ? "preempted" : "waiting";
  return p.answer_tokens > 0 ? "decode" : "prefill";
}

}  // namespace

void RequestLog::began(const std::string& id, std::int64_t unix_seconds, policy::TenantId tenant,
                       std::vector<engine::SequenceId> choices) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = choices.size();
  Entry entry{unix_seconds, std::move(choices), {}};
  entry.ends.resize(count);
  // A client may give its id twice; the later request is the one that is told of.
  const Key key{tenant, id};
  if (entries_.insert_or_assign(key, std::move(entry)).second) order_.push_back(key);
  if (order_.size() <= capacity_) return;
  entries_.erase(order_.front());
  order_.pop_front();
}

void RequestLog::ended(const std::string& id, policy::TenantId tenant, engine::SequenceId sequence,
                       const engine::Finish& finish) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find({tenant, id});
  if (it == entries_.end()) return;
  Entry& entry = it->second;
  const auto choice = std::find(entry.choices.begin(), entry.choices.end(), sequence);
  if (choice == entry.choices.end()) return;
  entry.ends[static_cast<std::size_t>(choice - entry.choices.begin())] =
      End{finish.reason, finish.timings};
}

std::optional<std::string> RequestLog::describe(const std::string& id, policy::TenantId tenant,
                                                const engine::Engine& engine) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find({tenant, id});
  if (it == entries_.end()) return std::nullopt;
  const Entry& entry = it->second;
  std::vector<api::ChoiceAccount> choices;
  for (std::size_t i = 0; i < entry.choices.size(); ++i) {
    if (entry.ends[i]) {
      choices.push_back({engine::name(entry.ends[i]->reason), to_wire(entry.ends[i]->timings)});
    } else if (const auto account = engine.account(entry.choices[i])) {
      choices.push_back({state_of(*account), to_wire(account->timings)});
    } else {  // Ended, and its reader was not there to take the end.
      choices.push_back({engine::name(engine::FinishReason::kCancelled), {}});
    }
  }
  return api::encode_account(id, entry.created, choices);
}

}  // namespace weir::server
