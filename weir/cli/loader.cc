#include "weir/cli/loader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <limits>

#include "weir/base/bytes.h"
#include "weir/base/math.h"
#include "weir/cli/progress_bar.h"
#include "weir/hub/resolve.h"
#include "weir/model/budget.h"
#include "weir/spec/kv_type.h"
#include "weir/sys/files.h"
#include "weir/sys/machine.h"

namespace weir::cli {
namespace {

/// More workers than this on one step cost more in barriers than they bring.
constexpr std::size_t kMaxThreads = 256;

Result<std::size_t> worker_count(const LoadOptions& options) {
  if (options.threads > kMaxThreads) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("--threads must be 1 to {}, but it is {}", kMaxThreads, options.threads),
        "threads");
  }
  return options.threads > 0 ? options.threads : sys::usable_cores();
}

Result<DType> kv_type_of(const LoadOptions& options) {
  if (const auto type = kv_type_named(options.kv_type)) return *type;
  return fail(Code::kInvalidArgument,
              fmt::format("--kv-type must be {}, but it is '{}'", kKvTypeNames, options.kv_type),
              "kv-type");
}

/// Bytes that weights and caches may take.
struct Allowed {
  std::uint64_t least;  ///< For weights and one conversation: what the operator says, or all free.
  std::uint64_t pool;   ///< For as many conversations as asked for: the same, or half of it, since
                        ///< a server is seldom the only program of its machine.
};

Result<Allowed> memory_allowed(const LoadOptions& options) {
  if (options.memory.empty()) {
    const std::uint64_t free = sys::available_memory_bytes();
    return Allowed{free, free / 2};
  }
  WEIR_TRY(const std::uint64_t bytes, parse_bytes(options.memory));
  return Allowed{bytes, bytes};
}

/// What is loaded: the plan, and the options it is for.
struct Fit {
  model::BytePlan plan;
  model::ModelOptions options;
};

/// The largest context not above what was asked for that fits the memory, beside what is kept for
/// higher classes, then as many units for further conversations as fit. A context that the operator
/// named is kept or refused; the model's own, often larger than anyone needs, is lowered, so that a
/// refusal says what the smallest needs.
Result<Fit> fit_memory(const model::OpenedModel& opened, const LoadOptions& options, DType kv_type,
                       std::size_t workers) {
  WEIR_TRY(const Allowed allowed, memory_allowed(options));
  if (options.context > opened.shape.context) {
    return fail(Code::kInvalidArgument,
                fmt::format("--context {} is more than this model's {}", options.context,
                            opened.shape.context),
                "context");
  }
  Fit fit;
  sched::Options schedule = options.engine.schedule;
  schedule.max_rows = std::max({schedule.max_rows, schedule.max_chunk, options.max_running});
  fit.options.max_rows = schedule.max_rows;
  fit.options.max_logit_rows = options.max_running;
  fit.options.kv_type = kv_type;
  fit.options.chosen_at_once = std::min<std::size_t>(workers, options.max_running);
  fit.options.context = options.context > 0 ? options.context : opened.shape.context;
  while (true) {
    const std::uint32_t context = fit.options.context;
    const std::uint32_t rows = std::min(context, schedule.largest_chunk());
    const std::uint64_t one = kv_units(opened.shape, context).of_sequence(context, rows);
    constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (one > kMost)
      return fail(Code::kUnsupported, "the context is too long to be kept", "context");
    const std::uint64_t units = policy::total_that_leaves(schedule.reserve, Priority::kBackground,
                                                          static_cast<std::uint32_t>(one));
    WEIR_TRY(fit.plan, model::Model::plan(*opened.file, opened.shape, fit.options, units));
    const Status fits = model::check_budget(fit.plan, allowed.least);
    const std::uint64_t possible = model::kv_units_that_fit(fit.plan, allowed.least);
    if (fits) {
      fit.plan.kv_units =
          std::clamp<std::uint64_t>(model::kv_units_that_fit(fit.plan, allowed.pool), units,
                                    std::max(units, std::min(units * options.max_running, kMost)));
      return fit;
    }
    constexpr std::uint32_t kSmallestUseful = 512;
    if (options.context > 0 || context <= kSmallestUseful) return std::unexpected(fits.error());
    const auto room = static_cast<std::uint32_t>(std::min<std::uint64_t>(possible, units));
    const std::uint32_t usable =
        room - policy::set_aside(schedule.reserve, Priority::kBackground, room);
    const std::uint64_t shorter = (ceil_div(context, kPageTokens) - 1) * kPageTokens;
    fit.options.context = std::max(
        static_cast<std::uint32_t>(std::min(fit.plan.kv.positions_in(usable, rows), shorter)),
        kSmallestUseful);
  }
}

Result<std::string> fetched(const std::string& model, const LoadOptions& options) {
  ProgressBar bar(options.quiet);
  hub::ResolveOptions resolve;
  resolve.progress = [&bar](const hub::Progress& progress) { bar.show(progress); };
  return hub::resolve(model, resolve);
}

/// A line redrawn on a terminal while weights are packed, gone when they are.
std::function<void(std::uint64_t, std::uint64_t)> packing_progress(const LoadOptions& options) {
  const bool can_redraw =
      ::isatty(STDERR_FILENO) == 1 && sys::environment("TERM").value_or("dumb") != "dumb";
  if (options.quiet || !can_redraw) return {};
  return [shown = std::uint64_t{101}](std::uint64_t done, std::uint64_t total) mutable {
    const std::uint64_t percent = total == 0 ? 100 : done * 100 / total;
    if (percent == shown) return;
    shown = percent;
    fmt::print(stderr, "\r\033[K");
    if (percent < 100) fmt::print(stderr, "packing weights {:3} %", percent);
    std::fflush(stderr);
  };
}

/// "smollm2" stays; "/models/Some-Model.Q4_1.gguf" is "Some-Model.Q4_1"; "hf:owner/repo:file" is
/// "owner/repo".
std::string id_of(const std::string& model) {
  if (model.starts_with("hf:")) return model.substr(3, model.find_first_of(":@", 3) - 3);
  if (model.find_first_of("/.") == std::string::npos) return model;
  std::filesystem::path path(model);
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  for (const char* suffix : {".gguf", ".safetensors"}) {
    if (name.ends_with(suffix))
      return name.substr(0, name.size() - std::string_view(suffix).size());
  }
  return name;
}

}  // namespace

CLI::Validator not_empty() {
  // A variable that a script forgot to set must not mean the default, or every interface.
  return {[](const std::string& value) { return value.empty() ? "it is empty" : std::string(); },
          ""};
}

void add_load_options(CLI::App& command, LoadOptions& options) {
  command
      .add_option("--threads,-t", options.threads,
                  "Kernel threads (default: the cores this process may use)")
      ->check(CLI::Range(0, static_cast<int>(kMaxThreads)));
  command.add_option("--context,-c", options.context,
                     "Positions of one conversation, prompt and answer (default: the model's own,\n"
                     "or what fits the memory)");
  command
      .add_option("--memory", options.memory,
                  "What weights and caches may take, as in 2GiB (default: half of what is free,\n"
                  "or more where one conversation needs it)")
      ->check(not_empty());
  command
      .add_option("--kv-type", options.kv_type,
                  fmt::format("How keys and values are kept: {}", kKvTypeNames))
      ->capture_default_str();
  command
      .add_option("--prefill-chunk", options.engine.schedule.max_chunk,
                  "Tokens of one prompt read in one step, at most")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
}

Result<std::unique_ptr<Loaded>> load_engine(const std::string& model, const LoadOptions& options) {
  WEIR_TRY(const std::size_t workers, worker_count(options));
  WEIR_TRY(const DType kv_type, kv_type_of(options));
  WEIR_TRY(const std::string path, fetched(model, options));

  auto loaded = std::make_unique<Loaded>();
  loaded->id = id_of(model);
  WEIR_TRY(loaded->opened, model::open_model(path));
  if (options.conversation && loaded->opened.chat_template == nullptr) {
    return fail(Code::kUnsupported,
                "this model has no chat template, so it cannot hold a conversation; with --raw it "
                "continues a text");
  }
  WEIR_TRY(const Fit fit, fit_memory(loaded->opened, options, kv_type, workers));
  if (!options.quiet && !options.brief) {
    if (options.context == 0 && fit.options.context < loaded->opened.shape.context) {
      fmt::print(stderr, "weir: context lowered from {} to {} positions to fit the memory\n",
                 loaded->opened.shape.context, fit.options.context);
    }
    fmt::print(stderr, "{}\n", model::describe(fit.plan));
  }
  loaded->pool =
      std::make_unique<compute::ThreadPool>(workers, compute::ThreadPool::Sizing::kAdaptive);
  WEIR_TRY(auto weights, model::Model::load(*loaded->opened.file, loaded->opened.shape, fit.options,
                                            *loaded->pool, packing_progress(options)));
  loaded->opened.file.reset();  // Everything is packed; the mapping is not needed any more.

  loaded->plan = fit.plan;
  engine::EngineOptions engine_options = options.engine;
  engine_options.context = fit.options.context;
  engine_options.kv_units = static_cast<std::uint32_t>(fit.plan.kv_units);
  engine_options.schedule.max_running = options.max_running;
  engine_options.schedule.max_rows = fit.options.max_rows;
  engine_options.schedule.max_logit_rows = options.max_running;
  loaded->engine = std::make_unique<engine::Engine>(
      std::move(weights), loaded->opened.tokenizer->vocabulary().end_of_generation, loaded->clock,
      engine_options);
  return loaded;
}

}  // namespace weir::cli
