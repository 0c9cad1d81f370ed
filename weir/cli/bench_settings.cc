#include "weir/cli/bench_settings.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "weir/measure/trace.h"
#include "weir/measure/workload.h"
#include "weir/sys/mapped_file.h"

namespace weir::cli {
namespace {

constexpr std::uint32_t kDefaultRequests = 100;
constexpr std::size_t kMaxTraceBytes = std::size_t{256} << 20;
/// Of a closed loop that only time ends.
constexpr std::uint32_t kRequestsByTime = 10'000;

Result<measure::Tenant> parse_tenant(const std::string& text, const std::string& key) {
  measure::Tenant tenant;
  const std::size_t equals = text.find('=');
  tenant.name = text.substr(0, equals);
  tenant.key = key;
  std::string rest = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
    tenant.key = rest.substr(colon + 1);
    rest.resize(colon);
  }
  if (!rest.empty()) {
    const auto [end, fault] =
        std::from_chars(rest.data(), rest.data() + rest.size(), tenant.weight);
    if (fault != std::errc() || end != rest.data() + rest.size()) tenant.weight = 0;
  }
  const bool bad_key = std::ranges::any_of(tenant.key, [](char c) { return c <= ' ' || c > '~'; });
  if (tenant.name.empty() || !(tenant.weight > 0) || bad_key) {
    return fail(Code::kInvalidArgument,
                fmt::format("\"{}\" is no tenant: write NAME, NAME=WEIGHT or NAME=WEIGHT:KEY",
                            text.substr(0, 64)),
                "tenant");
  }
  return tenant;
}

Result<std::vector<measure::Tenant>> tenants_of(const BenchSettings& settings) {
  std::vector<measure::Tenant> tenants;
  for (const auto& text : settings.tenants) {
    WEIR_TRY(tenants.emplace_back(), parse_tenant(text, settings.api_key));
  }
  if (tenants.empty()) {
    WEIR_TRY(tenants.emplace_back(), parse_tenant("all", settings.api_key));
  }
  return tenants;
}

std::uint32_t request_count(const BenchSettings& settings, const measure::ArrivalSpec* arrivals) {
  double count = settings.requests;
  if (settings.requests == 0 && settings.seconds > 0) {
    count = arrivals != nullptr
                ? std::ceil(measure::expected_count(*arrivals, from_seconds(settings.seconds)))
                : kRequestsByTime;
  } else if (settings.requests == 0) {
    count = kDefaultRequests;
  }
  return static_cast<std::uint32_t>(std::clamp(count, 1.0, double{measure::kMaxRequests}));
}

Result<std::vector<measure::Entry>> trace_entries(const BenchSettings& settings, const Load& load,
                                                  std::uint32_t count) {
  WEIR_TRY(const auto file, sys::read_file(settings.trace, kMaxTraceBytes));
  WEIR_TRY(const auto trace, measure::parse_trace(file));
  const bool own_times = load.rate == 0 && load.users == 0;
  if (own_times && !trace.timed) {
    return fail(Code::kInvalidArgument,
                fmt::format("{} holds no times: give --rate or --users", settings.trace), "trace");
  }
  measure::TraceCut cut;
  cut.from = from_seconds(settings.trace_from_s);
  if (settings.trace_seconds > 0) cut.length = from_seconds(settings.trace_seconds);
  cut.stretch = settings.stretch;
  cut.length_scale = settings.scale_lengths;
  cut.max_tokens = settings.max_tokens;
  cut.most = own_times ? settings.requests : count;
  return measure::cut_trace(trace, cut);
}

}  // namespace

void add_target_options(CLI::App& command, BenchSettings& s) {
  command.add_option("url", s.url, "The server, as http://HOST:PORT, with or without /v1")
      ->required();
  command.add_option("--model", s.model, "The model's name (default: the first at /v1/models)");
  command.add_option("--endpoint", s.endpoint, "chat, completions or embeddings")
      ->capture_default_str()
      ->check(CLI::IsMember({"chat", "completions", "embeddings"}));
  command.add_option("--api-key", s.api_key, "Sent as a bearer token")->envname("WEIR_API_KEY");
  command.add_option("--label", s.label, "What comparisons call this run (default: the URL)");
  command.add_option("--temperature", s.temperature, "Of sampling")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 2.0));
  command.add_flag("--stop-at-eos", s.stop_at_eos,
                   "Let answers end early; by default ignore_eos forces their length");
  command.add_option("--extra", s.extra, "More members of each body, as JSON: '\"top_k\": 1'");
  command.add_option("--slo", s.slo,
                     "What a good request meets, in ms: ttft:1000,tpot:50 (of ttft, tpot, e2el, "
                     "stall)");
  command.add_option("--warmup", s.warmup, "Requests sent first and not counted")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  command.add_option("--drain", s.drain_s, "Seconds that answers get after the last was sent")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0));
  command.add_option("--timeout", s.timeout_s, "Seconds that one answer may take")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  command
      .add_option("--give-up-below", s.give_up_below,
                  "End a run once fewer percent of its requests than this can still meet --slo")
      ->check(CLI::Range(0.0, 100.0));
  command
      .add_option("--max-outstanding", s.max_outstanding,
                  "Stop when so many requests wait: the server is drowned")
      ->capture_default_str()
      ->check(CLI::Range(1, 20000));
  command.add_option("--nice", s.nice, "Politeness of this client towards the server's cores")
      ->capture_default_str()
      ->check(CLI::Range(0, 19));
  command
      .add_option("--json", s.json, "Write the figures here, one JSON object a run; - for stdout")
      ->type_name("FILE");
  command.add_option("--html", s.html, "Write a page with tables and plots here")
      ->type_name("FILE");
  command.add_flag("--no-requests", s.no_requests, "Leave single requests out of the JSON");
  command.add_flag("--quiet", s.quiet, "No table");
}

void add_workload_options(CLI::App& command, BenchSettings& s) {
  const std::string group = "Workload";
  command.add_option("--requests", s.requests, "How many (default 100, or as --seconds says)")
      ->check(CLI::Range(1U, measure::kMaxRequests))
      ->group(group);
  command.add_option("--seconds", s.seconds, "Send for so long, then wait for what runs")
      ->check(CLI::Range(0.001, 86400.0))
      ->group(group);
  command
      .add_option("--input", s.input,
                  "Tokens of a prompt: 128, uniform:64,256, normal:256,64 or lognormal:256,0.8 "
                  "(median, deviation of the logarithm)")
      ->capture_default_str()
      ->group(group);
  command.add_option("--output", s.output, "Tokens of an answer, written likewise")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--trace", s.trace,
                  "Lengths, times and shared prefixes from a file: Azure's CSV, Mooncake's JSON "
                  "lines, or lengths alone; with --rate or --users its times are not used")
      ->type_name("FILE")
      ->check(CLI::ExistingFile)
      ->group(group);
  command.add_option("--trace-from", s.trace_from_s, "Begin so many of its seconds in")
      ->check(CLI::Range(0.0, 1e9))
      ->group(group);
  command.add_option("--trace-seconds", s.trace_seconds, "Take so many of its seconds")
      ->check(CLI::Range(0.001, 1e9))
      ->group(group);
  command.add_option("--stretch", s.stretch, "Multiply its times: 4 is a quarter of its rate")
      ->check(CLI::Range(1e-6, 1e6))
      ->group(group);
  command
      .add_option(
          "--scale-lengths", s.scale_lengths,
          "Multiply its lengths and blocks: 0.125 keeps prefixes in an eighth of the context")
      ->check(CLI::Range(1e-6, 1e6))
      ->group(group);
  command
      .add_option("--max-tokens", s.max_tokens,
                  "Leave out what is longer, prompt and answer together")
      ->check(CLI::Range(2U, measure::kMaxLength))
      ->group(group);
  command.add_option("--seed", s.seed, "All of a workload follows from it")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--shared-prefix", s.shared_prefix,
                  "Tokens of a system message that prompts have in common")
      ->check(CLI::Range(0U, measure::kMaxLength))
      ->group(group);
  command.add_option("--shared-prefixes", s.shared_prefixes, "So many different ones")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000))
      ->group(group);
  command.add_option("--turns", s.turns, "Turns of each conversation; each sends all before it")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->group(group);
  command.add_option("--think", s.think_s, "Mean seconds between an answer and the next turn")
      ->check(CLI::Range(0.0, 3600.0))
      ->group(group);
  command.add_option("--leave", s.leave_fraction, "Fraction of clients that hang up early")
      ->check(CLI::Range(0.0, 1.0))
      ->group(group);
  command.add_option("--leave-after", s.leave_after_s, "Mean seconds until they do")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0))
      ->group(group);
  command.add_option("--long-every", s.long_every, "Each so-manieth prompt is a long one instead")
      ->check(CLI::Range(1, 1'000'000))
      ->group(group);
  command.add_option("--long-tokens", s.long_tokens, "Tokens of the long prompts")
      ->check(CLI::Range(1U, measure::kMaxLength))
      ->group(group);
  command
      .add_option("--tenant", s.tenants,
                  "NAME, NAME=WEIGHT or NAME=WEIGHT:KEY; requests are drawn by weight; repeatable")
      ->group(group);
}

Result<measure::Endpoint> endpoint_of(const BenchSettings& settings) {
  if (settings.endpoint == "completions") return measure::Endpoint::kCompletions;
  if (settings.endpoint == "embeddings") return measure::Endpoint::kEmbeddings;
  return measure::Endpoint::kChat;
}

Result<std::string> first_key(const BenchSettings& settings) {
  WEIR_TRY(const auto tenants, tenants_of(settings));
  return tenants.front().key;
}

Result<measure::Plan> plan_of(const BenchSettings& settings, const Load& load, std::uint32_t run) {
  // The golden ratio's multiples are far apart from any seeds people choose.
  const std::uint64_t seed = settings.seed + run * std::uint64_t{0x9E3779B97F4A7C15};
  const measure::ArrivalSpec arrivals{.rate = load.rate > 0 ? load.rate : 1,
                                      .end_rate = load.rate > 0 ? settings.end_rate : 0,
                                      .burstiness = settings.burstiness,
                                      .seed = seed};
  WEIR_TRY_STATUS(measure::validate(arrivals));
  const bool by_rate = load.rate > 0;
  const std::uint32_t count = request_count(settings, by_rate ? &arrivals : nullptr);
  std::vector<measure::Entry> entries;
  if (settings.trace.empty()) {
    WEIR_TRY(const auto input, measure::parse_length(settings.input, "--input"));
    WEIR_TRY(const auto output, measure::parse_length(settings.output, "--output"));
    entries = measure::synthetic_entries(input, output, count, seed);
  } else {
    WEIR_TRY(entries, trace_entries(settings, load, count));
  }
  if (by_rate) {
    const auto times = measure::arrival_times(arrivals, static_cast<std::uint32_t>(entries.size()));
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].at = times[i];
  }
  measure::WorkloadSpec workload;
  workload.seed = seed;
  workload.shared_prefix_tokens = settings.shared_prefix;
  workload.shared_prefixes = settings.shared_prefixes;
  workload.turns = settings.turns;
  workload.think = from_seconds(settings.think_s);
  workload.leave_fraction = settings.leave_fraction;
  workload.leave_after = from_seconds(settings.leave_after_s);
  workload.long_every = settings.long_every;
  workload.long_tokens = settings.long_tokens;
  WEIR_TRY(workload.tenants, tenants_of(settings));
  WEIR_TRY_STATUS(measure::validate(workload));
  return measure::make_plan(entries, workload);
}

std::string describe(const BenchSettings& s) {
  std::string text = fmt::format("{}: input {}, output {}", s.endpoint, s.input, s.output);
  if (!s.trace.empty()) {
    text = fmt::format("{}: {}", s.endpoint, s.trace.substr(s.trace.rfind('/') + 1));
    if (s.stretch != 1) text += fmt::format(", stretched {:.4g}x", s.stretch);
    if (s.scale_lengths != 1) text += fmt::format(", lengths x {:.4g}", s.scale_lengths);
    if (s.max_tokens > 0) text += fmt::format(", at most {} tokens", s.max_tokens);
  }
  if (s.shared_prefix > 0) {
    text += fmt::format(", {} shared prefixes of {}", s.shared_prefixes, s.shared_prefix);
  }
  if (s.turns > 1) text += fmt::format(", {} turns", s.turns);
  if (s.long_every > 0) text += fmt::format(", each {}th is {} long", s.long_every, s.long_tokens);
  if (s.leave_fraction > 0) text += fmt::format(", {:.3g} % leave", 100 * s.leave_fraction);
  if (!s.tenants.empty()) text += fmt::format(", {} tenants", s.tenants.size());
  return text + fmt::format(", seed {}", s.seed);
}

}  // namespace weir::cli
