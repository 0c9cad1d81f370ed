#include <fmt/format.h>

#include <algorithm>

#include "weir/measure/run_report.h"

namespace weir::measure {
namespace {

/// Three significant digits without an exponent: 1.23, 12.3, 123, 1234.
std::string short_number(double value) {
  const double size = value < 0 ? -value : value;
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

void add_latency(std::string& out, std::string_view name, const Summary& s) {
  if (s.count == 0) return;
  out += fmt::format("  {:<11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", name, short_number(s.mean),
                     short_number(s.p50), short_number(s.p90), short_number(s.p99),
                     short_number(s.p999), short_number(s.most));
}

void add_tenants(std::string& out, const RunReport& report) {
  if (report.tenants.empty()) return;
  out += fmt::format("\n  {:<16}{:>8}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}\n", "tenant", "done",
                     "failed", "out tok/s", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "good");
  for (const auto& tenant : report.tenants) {
    out += fmt::format("  {:<16.16}{:>8}{:>9}{:>10}{:>10}{:>10}{:>10}{:>10}{:>7.1f}%\n",
                       tenant.name, tenant.completed, tenant.failed,
                       short_number(tenant.output_throughput), short_number(tenant.ttft.p50),
                       short_number(tenant.ttft.p99), short_number(tenant.tpot.p50),
                       short_number(tenant.tpot.p99), 100 * tenant.attainment);
  }
}

void add_warnings(std::string& out, const RunReport& report) {
  const Figures& f = report.all;
  const auto warn = [&out](const std::string& text) { out += fmt::format("  ! {}\n", text); };
  if (!report.facts.stopped.empty()) warn("the run was stopped: " + report.facts.stopped);
  if (f.completed > 0 && !f.usage_told) {
    warn("the server tells no usage: tokens are counted as pieces of text, input as planned");
  }
  // A closed loop wants each request the moment it is sent, and so has no lag to speak of.
  if (f.lag.p99 > 10) {
    warn(fmt::format("the client began requests late (p99 {} ms): latencies include that",
                     short_number(f.lag.p99)));
  }
  if (report.facts.wall_s > 0 && report.facts.client_cpu_s > 0.5 * report.facts.wall_s) {
    warn("the client used over half a core: it, not the server, may be what was measured");
  }
}

}  // namespace

std::string table_report(const RunReport& report) {
  const Figures& f = report.all;
  const RunFacts& facts = report.facts;
  std::string out = fmt::format("\n  {}  {}\n  {}\n", facts.model, facts.url, facts.workload);
  out += facts.request_rate > 0
             ? fmt::format("  open loop, {:.4g} requests/s\n", facts.request_rate)
             : fmt::format("  closed loop, {} at once\n", facts.concurrency);
  out += fmt::format("\n  completed {} of {} ({:.1f} %)   in {:.2f} s   at most {} at once\n",
                     f.completed, f.offered, 100 * f.completion, f.duration_s, f.most_concurrent);
  for (const auto& [kind, count] : f.errors) out += fmt::format("    {}: {}\n", kind, count);
  if (f.left > 0) out += fmt::format("    hung up by plan: {}\n", f.left);
  if (f.unsent > 0) out += fmt::format("    never sent: {}\n", f.unsent);
  out +=
      fmt::format("  requests/s {}   output tok/s {} (best second {})   total tok/s {}\n",
                  short_number(f.request_throughput), short_number(f.output_throughput),
                  short_number(f.peak_output_throughput), short_number(f.total_token_throughput));
  const double each = f.completed > 0 ? 1.0 / static_cast<double>(f.completed) : 0;
  out += fmt::format(
      "  tokens in {} (mean {}), cached {} ({:.1f} %), out {} (mean {})\n", f.input_tokens,
      short_number(static_cast<double>(f.input_tokens) * each), f.cached_tokens,
      f.input_tokens > 0
          ? 100.0 * static_cast<double>(f.cached_tokens) / static_cast<double>(f.input_tokens)
          : 0,
      f.output_tokens, short_number(static_cast<double>(f.output_tokens) * each));
  if (!report.slo.empty()) {
    out += fmt::format("  goodput {} requests/s: {:.1f} % meet {}\n",
                       short_number(f.request_goodput), 100 * f.attainment, report.slo.text());
  }
  out += fmt::format("\n  {:<11}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "ms", "mean", "p50", "p90",
                     "p99", "p99.9", "max");
  add_latency(out, "TTFT", f.ttft);
  add_latency(out, "TPOT", f.tpot);
  add_latency(out, "ITL", f.itl);
  add_latency(out, "E2E", f.e2el);
  add_latency(out, "stall", f.stall);
  add_latency(out, "client lag", f.lag);
  add_tenants(out, report);
  out += fmt::format("\n  client: {:.1f} % of a core\n",
                     facts.wall_s > 0 ? 100 * facts.client_cpu_s / facts.wall_s : 0);
  add_warnings(out, report);
  return out;
}

std::string sweep_table(std::span<const RunReport> reports) {
  std::string out = fmt::format("\n  {:>9}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>8}\n",
                                "load", "req/s", "out/s", "TTFT p50", "TTFT p99", "TPOT p50",
                                "TPOT p99", "E2E p50", "stall", "good");
  for (const auto& report : reports) {
    const Figures& f = report.all;
    const std::string load = report.facts.request_rate > 0
                                 ? fmt::format("{:.4g}/s", report.facts.request_rate)
                                 : fmt::format("{} users", report.facts.concurrency);
    out += fmt::format("  {:>9}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>9}{:>7.1f}%\n", load,
                       short_number(f.request_throughput), short_number(f.output_throughput),
                       short_number(f.ttft.p50), short_number(f.ttft.p99), short_number(f.tpot.p50),
                       short_number(f.tpot.p99), short_number(f.e2el.p50),
                       short_number(f.stall.most), 100 * f.attainment);
  }
  return out;
}

}  // namespace weir::measure
