#pragma once

/// From what a person typed (a catalogue name, a path, hf:owner/repo) to a running engine: resolve,
/// open, plan, refuse what does not fit, pack, start. Shared by `run` and `serve`.
/// Progress goes to standard error.
/// Thread safety: the main thread.

#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/result.h"
#include "weir/engine/engine.h"
#include "weir/model/open.h"
#include "weir/spec/kv_type.h"
#include "weir/sys/clock.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace weir::cli {

struct LoadOptions {
  std::size_t threads = 0;    ///< Kernel workers; 0: every core this process may use.
  std::uint32_t context = 0;  ///< Positions per conversation; 0: the model's own.
  /// Conversations held in memory and computed at once.
  std::uint32_t max_running = 1;
  std::string memory;  ///< "2GiB"; empty: half of what the machine has free.
  /// What else the schedule is to be; its bounds follow from the above.
  engine::EngineOptions engine;  ///< The reserve's shares are under 100 % together.
  std::string kv_type{kv_type_name(kDefaultKvType)};  ///< One of kKvTypeNames.
  bool conversation = false;  ///< Refuse what has no chat template, before it is packed.
  bool quiet = false;         ///< No progress, no plan.
  bool brief = false;         ///< No plan: only work that takes time is shown.
};

/// Refuses an empty value.
[[nodiscard]] CLI::Validator not_empty();

/// Declares the flags that both commands share.
void add_load_options(CLI::App& command, LoadOptions& options);

struct Loaded {
  model::OpenedModel opened;
  std::string id;        ///< What clients call it: the catalogue name, or the file's name.
  model::BytePlan plan;  ///< What was allocated.
  sys::SystemClock clock;
  std::unique_ptr<compute::ThreadPool> pool;
  std::unique_ptr<engine::Engine> engine;  ///< Last: it stops before what it uses goes.
};

[[nodiscard]] Result<std::unique_ptr<Loaded>> load_engine(const std::string& model,
                                                          const LoadOptions& options);

}  // namespace weir::cli
