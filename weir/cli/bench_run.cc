#include "weir/cli/bench_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/json.hpp>
#include <cstdio>

#include "weir/sys/clock.h"
#include "weir/sys/files.h"

namespace weir::cli {
namespace {

/// `"top_k": 1` as it would stand in an object.
Status check_extra(const std::string& extra) {
  boost::system::error_code error;
  const auto value = boost::json::parse("{" + extra + "}", error);
  if (error || !value.is_object()) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("--extra {}: not members of a JSON object, as in '\"top_k\": 1'", extra),
        "extra");
  }
  return {};
}

/// A connection is a file; what many systems allow at first is 1024.
void allow_connections() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// The mean rate of an open loop; 0 for a closed one.
double offered_rate(const measure::Plan& plan, const Load& load) {
  if (load.users > 0) return 0;
  std::uint32_t opens = 0;
  Duration last{0};
  for (const auto& request : plan.requests) {
    opens += request.opens ? 1 : 0;
    if (request.opens) last = std::max(last, request.at);
  }
  return load.rate > 0 ? load.rate : last > Duration(0) ? opens / seconds(last) : opens;
}

}  // namespace

Status write_text(const std::string& path, const std::string& text) {
  if (path != "-") return sys::write_file_durably(path, text);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) return fail(Code::kIo, "the output could not be written");
  return {};
}

load::LoadOptions load_options(const BenchSettings& settings) {
  load::LoadOptions options;
  options.max_outstanding = settings.max_outstanding;
  if (settings.seconds > 0) options.send_for = from_seconds(settings.seconds);
  options.drain = from_seconds(settings.drain_s);
  options.request_timeout = from_seconds(settings.timeout_s);
  return options;
}

Result<BenchRunner> BenchRunner::prepare(const BenchSettings& settings) {
  WEIR_TRY_STATUS(check_extra(settings.extra));
  WEIR_TRY(load::Target target, load::parse_target(settings.url));
  measure::Slo slo;
  if (!settings.slo.empty()) {
    WEIR_TRY(slo, measure::parse_slo(settings.slo));
  }
  if (settings.give_up_below > 0 && slo.empty()) {
    return fail(Code::kInvalidArgument, "--give-up-below needs an objective: give --slo", "slo");
  }
  measure::BodySpec bodies;
  WEIR_TRY(bodies.endpoint, endpoint_of(settings));
  bodies.temperature = settings.temperature;
  bodies.ignore_eos = !settings.stop_at_eos;
  bodies.extra = settings.extra;
  bodies.model = settings.model;
  WEIR_TRY(const std::string key, first_key(settings));
  // A wrong plan is told before anything is sent.
  Load first;
  if (!settings.rates.empty()) first.rate = settings.rates.front();
  if (!settings.users.empty()) first.users = settings.users.front();
  WEIR_TRY_STATUS(plan_of(settings, first, 0));
  if (bodies.model.empty()) {
    WEIR_TRY(bodies.model, load::first_model(target, key));
  }
  allow_connections();
  if (settings.nice > 0) setpriority(PRIO_PROCESS, 0, settings.nice);
  WEIR_TRY(bodies.scale, load::measure_scale(target, bodies, key, settings.seed));
  return BenchRunner(settings, std::move(target), std::move(bodies), slo);
}

Result<measure::RunReport> BenchRunner::run(const Load& load) {
  Signals signals;
  const auto stop = [&] { return interrupted_ = interrupted_ || signals.interrupted(); };
  const measure::BodyWriter bodies(bodies_);
  load::LoadOptions options = load_options(settings_);
  options.endpoint = bodies_.endpoint;

  if (runs_ == 0 && settings_.warmup > 0) {
    BenchSettings warm = settings_;
    warm.requests = settings_.warmup * settings_.turns;
    warm.leave_fraction = 0;
    WEIR_TRY(const auto plan, plan_of(warm, {.users = 1}, 0));
    options.concurrency = std::max<std::uint32_t>(1, load.users);
    WEIR_TRY(const auto ignored, load::run_load(target_, options, plan, bodies, stop));
  }
  ++runs_;
  WEIR_TRY(measure::Plan plan, plan_of(settings_, load, runs_));
  options.concurrency = load.users;
  if (settings_.give_up_below > 0) {
    const double may_miss = (100 - settings_.give_up_below) / 100;
    options.slo = slo_;
    // A tenth of 30 requests is 3, whatever the product of doubles says.
    options.most_missed =
        static_cast<std::uint32_t>(may_miss * static_cast<double>(plan.requests.size()) + 1e-6);
  }
  const auto begun = sys::SystemClock().unix_seconds();
  WEIR_TRY(load::LoadRun run, load::run_load(target_, options, plan, bodies, stop));

  measure::RunReport report;
  report.slo = slo_;
  report.facts = {.label = settings_.label.empty() ? target_.text() : settings_.label,
                  .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(begun)),
                  .url = target_.text(),
                  .model = bodies_.model,
                  .endpoint = bodies_.endpoint,
                  .workload = describe(settings_),
                  .request_rate = offered_rate(plan, load),
                  .burstiness = settings_.burstiness,
                  .concurrency = load.users,
                  .seed = settings_.seed,
                  .client_cpu_s = run.client_cpu_s,
                  .wall_s = seconds(run.duration),
                  .tokens_per_word = bodies_.scale.tokens_per_word,
                  .stopped = run.stopped};
  report.all = measure::figures(run.records, slo_, report.facts.wall_s);
  report.tenants = measure::figures_by_tenant(run.records, plan.tenants, slo_, report.facts.wall_s);
  report.records = std::move(run.records);
  return report;
}

}  // namespace weir::cli
