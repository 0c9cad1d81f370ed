#include <fmt/format.h>

#include <boost/json.hpp>

#include "weir/measure/run_report.h"

namespace weir::measure {
namespace {

namespace json = boost::json;

void add_summary(json::object& out, std::string_view name, const Summary& s) {
  out[fmt::format("mean_{}_ms", name)] = s.mean;
  out[fmt::format("median_{}_ms", name)] = s.p50;
  out[fmt::format("std_{}_ms", name)] = s.deviation;
  out[fmt::format("p50_{}_ms", name)] = s.p50;
  out[fmt::format("p90_{}_ms", name)] = s.p90;
  out[fmt::format("p95_{}_ms", name)] = s.p95;
  out[fmt::format("p99_{}_ms", name)] = s.p99;
  out[fmt::format("p99.9_{}_ms", name)] = s.p999;
  out[fmt::format("max_{}_ms", name)] = s.most;
}

void add_figures(json::object& out, const Figures& f) {
  out["duration"] = f.duration_s;
  out["completed"] = f.completed;
  out["failed"] = f.failed;
  out["total_input_tokens"] = f.input_tokens;
  out["total_output_tokens"] = f.output_tokens;
  out["request_throughput"] = f.request_throughput;
  out["request_goodput"] = f.request_goodput;
  out["output_throughput"] = f.output_throughput;
  out["total_token_throughput"] = f.total_token_throughput;
  out["max_output_tokens_per_s"] = f.peak_output_throughput;
  out["max_concurrent_requests"] = f.most_concurrent;
  add_summary(out, "ttft", f.ttft);
  add_summary(out, "tpot", f.tpot);
  add_summary(out, "itl", f.itl);
  add_summary(out, "e2el", f.e2el);
}

/// What vLLM's tool has no name for.
json::object own_figures(const Figures& f) {
  json::object out;
  out["offered"] = f.offered;
  out["left"] = f.left;
  out["unsent"] = f.unsent;
  out["good"] = f.good;
  out["attainment"] = f.attainment;
  out["completion"] = f.completion;
  out["cached_tokens"] = f.cached_tokens;
  out["usage_told"] = f.usage_told;
  add_summary(out, "stall", f.stall);
  add_summary(out, "client_lag", f.lag);
  json::object errors;
  for (const auto& [kind, count] : f.errors) errors[kind] = count;
  out["errors_by_kind"] = std::move(errors);
  return out;
}

void add_requests(json::object& out, const RunReport& report) {
  json::array input_lens, output_lens, ttfts, itls, latencies, start_times, errors, outcomes,
      tenants, lags, first_after, ended_after;
  for (const auto& record : report.records) {
    const bool done = record.completed();
    input_lens.push_back(record.prompt_tokens);
    output_lens.push_back(done ? record.completion_tokens : 0);
    ttfts.push_back(done ? seconds(record.first_token - record.scheduled) : 0.0);
    latencies.push_back(done ? seconds(record.last_token - record.scheduled) : 0.0);
    json::array gaps;
    for (const Duration gap : record.gaps) gaps.push_back(seconds(gap));
    itls.push_back(std::move(gaps));
    start_times.push_back(seconds(record.scheduled));
    errors.push_back(json::string(record.detail));
    outcomes.push_back(json::string(name_of(record.outcome)));
    tenants.push_back(record.tenant);
    lags.push_back(seconds(record.sent - record.scheduled));
    // Also of what did not complete, so that other objectives can be judged by the same records.
    const bool sent = record.outcome != Outcome::kUnsent;
    const bool began = done || record.pieces > 0;
    first_after.push_back(began ? json::value(seconds(record.first_token - record.scheduled))
                                : json::value());
    ended_after.push_back(sent ? json::value(seconds(record.done - record.scheduled))
                               : json::value());
  }
  out["input_lens"] = std::move(input_lens);
  out["output_lens"] = std::move(output_lens);
  out["ttfts"] = std::move(ttfts);
  out["itls"] = std::move(itls);
  out["latencies"] = std::move(latencies);
  out["start_times"] = std::move(start_times);
  out["errors"] = std::move(errors);
  json::object& own = out["weir"].as_object();
  own["outcomes"] = std::move(outcomes);
  own["request_tenants"] = std::move(tenants);
  own["client_lags"] = std::move(lags);
  own["first_after"] = std::move(first_after);
  own["ended_after"] = std::move(ended_after);
}

constexpr std::string_view backend_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kChat:
      return "openai-chat";
    case Endpoint::kCompletions:
      return "openai";
    case Endpoint::kEmbeddings:
      return "openai-embeddings";
  }
  return "";
}

}  // namespace

std::string json_report(const RunReport& report, bool with_requests) {
  const RunFacts& facts = report.facts;
  json::object out;
  out["date"] = facts.date;
  out["backend"] = json::string(backend_of(facts.endpoint));
  out["endpoint_type"] = json::string(backend_of(facts.endpoint));
  out["label"] = facts.label;
  out["model_id"] = facts.model;
  out["num_prompts"] = report.records.size();
  // As that tool writes it: all at once is "inf", which is also what a closed loop offers.
  if (facts.request_rate > 0) {
    out["request_rate"] = facts.request_rate;
  } else {
    out["request_rate"] = "inf";
  }
  out["burstiness"] = facts.burstiness;
  if (facts.concurrency > 0) {
    out["max_concurrency"] = facts.concurrency;
  } else {
    out["max_concurrency"] = nullptr;
  }
  add_figures(out, report.all);
  if (report.slo.empty()) out["request_goodput"] = nullptr;
  json::object own = own_figures(report.all);
  own["url"] = facts.url;
  own["workload"] = facts.workload;
  own["seed"] = facts.seed;
  own["slo"] = report.slo.text();
  own["client_cpu_percent"] = facts.wall_s > 0 ? 100 * facts.client_cpu_s / facts.wall_s : 0;
  own["client_cpu_s"] = facts.client_cpu_s;
  own["tokens_per_word"] = facts.tokens_per_word;
  own["stopped"] = facts.stopped;
  json::object tenants;
  for (const auto& tenant : report.tenants) {
    json::object figures;
    add_figures(figures, tenant);
    figures["weir"] = own_figures(tenant);
    tenants[tenant.name] = std::move(figures);
  }
  if (!tenants.empty()) own["tenants"] = std::move(tenants);
  out["weir"] = std::move(own);
  if (with_requests) add_requests(out, report);
  return json::serialize(out) + "\n";
}

}  // namespace weir::measure
