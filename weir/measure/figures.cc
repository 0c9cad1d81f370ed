#include "weir/measure/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace weir::measure {
namespace {

std::uint32_t most_concurrent(std::span<const RequestRecord> records) {
  std::vector<std::pair<Instant, int>> changes;  // An end sorts before a beginning at its instant.
  for (const auto& record : records) {
    if (record.outcome == Outcome::kUnsent) continue;
    changes.emplace_back(record.sent, +1);
    changes.emplace_back(record.done, -1);
  }
  std::ranges::sort(changes);
  int now = 0;
  int most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now += change);
  return static_cast<std::uint32_t>(most);
}

/// Tokens are spread over an answer's pieces, since a piece may hold several.
double peak_output_throughput(std::span<const RequestRecord> records) {
  std::map<std::int64_t, double> per_second;
  for (const auto& record : records) {
    if (!record.completed() || record.pieces == 0) continue;
    const double each = static_cast<double>(record.completion_tokens) / record.pieces;
    Instant at = record.first_token;
    per_second[at / std::chrono::seconds(1)] += each;
    for (const Duration gap : record.gaps) {
      at += gap;
      per_second[at / std::chrono::seconds(1)] += each;
    }
  }
  double peak = 0;
  for (const auto& [second, tokens] : per_second) peak = std::max(peak, tokens);
  return peak;
}

std::string error_kind(const RequestRecord& record) {
  if (record.outcome == Outcome::kStatus) return fmt::format("http_{}", record.status);
  return std::string(name_of(record.outcome));
}

}  // namespace

Figures figures(std::span<const RequestRecord> records, const Slo& slo, double duration_s) {
  Figures f;
  f.name = "all";
  f.duration_s = duration_s;
  f.usage_told = true;
  std::vector<double> ttft, tpot, itl, e2el, stall, lag;
  std::map<std::string, std::uint64_t> errors;
  for (const auto& record : records) {
    f.left += record.outcome == Outcome::kLeft ? 1 : 0;
    f.unsent += record.outcome == Outcome::kUnsent ? 1 : 0;
    if (record.outcome != Outcome::kUnsent)
      lag.push_back(milliseconds(record.sent - record.scheduled));
    if (!record.counts()) continue;
    ++f.offered;
    if (!record.completed()) {
      ++f.failed;
      ++errors[error_kind(record)];
      continue;
    }
    ++f.completed;
    f.usage_told = f.usage_told && record.usage_told;
    f.input_tokens += record.prompt_tokens;
    f.output_tokens += record.completion_tokens;
    f.cached_tokens += record.cached_tokens;
    if (slo.met(record)) ++f.good;
    ttft.push_back(ttft_ms(record));
    e2el.push_back(e2el_ms(record));
    stall.push_back(stall_ms(record));
    if (const auto value = tpot_ms(record)) tpot.push_back(*value);
    for (const Duration gap : record.gaps) itl.push_back(milliseconds(gap));
  }
  f.usage_told = f.usage_told && f.completed > 0;
  if (duration_s > 0) {
    f.request_throughput = static_cast<double>(f.completed) / duration_s;
    f.request_goodput = static_cast<double>(f.good) / duration_s;
    f.output_throughput = static_cast<double>(f.output_tokens) / duration_s;
    f.total_token_throughput = static_cast<double>(f.input_tokens + f.output_tokens) / duration_s;
  }
  if (f.offered > 0) {
    f.attainment = static_cast<double>(f.good) / static_cast<double>(f.offered);
    f.completion = static_cast<double>(f.completed) / static_cast<double>(f.offered);
  }
  f.peak_output_throughput = peak_output_throughput(records);
  f.most_concurrent = most_concurrent(records);
  f.ttft = summarize(std::move(ttft));
  f.tpot = summarize(std::move(tpot));
  f.itl = summarize(std::move(itl));
  f.e2el = summarize(std::move(e2el));
  f.stall = summarize(std::move(stall));
  f.lag = summarize(std::move(lag));
  f.errors.assign(errors.begin(), errors.end());
  std::ranges::stable_sort(f.errors,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  return f;
}

std::vector<Figures> figures_by_tenant(std::span<const RequestRecord> records,
                                       std::span<const Tenant> tenants, const Slo& slo,
                                       double duration_s) {
  std::vector<Figures> all;
  if (tenants.size() < 2) return all;
  for (std::uint32_t i = 0; i < tenants.size(); ++i) {
    std::vector<RequestRecord> own;
    std::ranges::copy_if(records, std::back_inserter(own),
                         [&](const auto& record) { return record.tenant == i; });
    all.push_back(figures(own, slo, duration_s));
    all.back().name = tenants[i].name;
  }
  return all;
}

}  // namespace weir::measure
