#include "weir/server/metrics.h"

#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

#include "weir/spec/time.h"
#include "weir/sys/machine.h"

namespace weir::server {
namespace {

using Bounds = prometheus::Histogram::BucketBoundaries;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// vLLM's buckets, in seconds.
const Bounds kTtft{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                   1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
const Bounds kItl{.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                  .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
const Bounds kPhase{.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                    30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
// Ours.
const Bounds kStep{.0005, .001, .0025, .005, .01, .02, .03, .04, .05, .075, .1, .15, .2, .5, 1, 2};
const Bounds kDelay{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5};

/// 1, 2, 5, 10, ... up to `most`.
Bounds counts_to(std::uint32_t most) {
  Bounds bounds;
  for (std::uint64_t power = 1; power <= most; power *= 10) {
    for (const std::uint64_t step : {1, 2, 5}) {
      if (step * power <= most) bounds.push_back(static_cast<double>(step * power));
    }
  }
  return bounds;
}

/// Paths that clients invent must not become labels without end.
std::string_view handler_of(std::string_view path) {
  constexpr std::string_view kKnown[] = {
      "/health",         "/health/live", "/health/ready", "/metrics", "/v1/chat/completions",
      "/v1/completions", "/v1/models",   "/version"};
  for (const auto known : kKnown) {
    if (path == known) return known;
  }
  if (path.starts_with("/v1/models/")) return "/v1/models/{id}";
  if (path.starts_with("/v1/requests/")) return "/v1/requests/{id}";
  return "other";
}

std::string_view method_of(std::string_view method) {
  for (const std::string_view known : {"GET", "POST", "HEAD", "OPTIONS"}) {
    if (method == known) return known;
  }
  return "other";
}

/// Builds the families of one answer.
class Page {
 public:
  explicit Page(Labels shared) : shared_(std::move(shared)) {}

  void counter(const std::string& name, const std::string& help, double value, Labels own = {}) {
    ClientMetric& m = add(name, help, MetricType::Counter, std::move(own));
    m.counter.value = value;
  }
  void gauge(const std::string& name, const std::string& help, double value, Labels own = {}) {
    ClientMetric& m = add(name, help, MetricType::Gauge, std::move(own));
    m.gauge.value = value;
  }
  void histogram(const std::string& name, const std::string& help,
                 const prometheus::Histogram& from, Labels own = {}) {
    ClientMetric& m = add(name, help, MetricType::Histogram, std::move(own));
    m.histogram = from.Collect().histogram;
  }
  [[nodiscard]] std::string text() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  /// Metrics of one name follow each other.
  ClientMetric& add(const std::string& name, const std::string& help, MetricType type, Labels own) {
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({name, help, type, {}});
    }
    ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = shared_;
    metric.label.insert(metric.label.end(), own.begin(), own.end());
    return metric;
  }
  const Labels shared_;
  std::vector<MetricFamily> families_;
};

}  // namespace

struct Metrics::Impl {
  explicit Impl(MetricsOptions o)
      : options(std::move(o)),
        prompt_tokens(counts_to(options.context)),
        answer_tokens(counts_to(options.context)),
        max_tokens(counts_to(options.context)),
        step_rows(counts_to(options.max_rows)),
        decode_rows(counts_to(options.max_rows)),
        prefill_rows(counts_to(options.max_rows)) {}

  void vllm(Page& page, const engine::EngineStats& s) const;
  void books(Page& page, const engine::EngineStats& s) const;
  void steps(Page& page, const engine::EngineStats& s) const;
  void http(Page& page) const;

  const MetricsOptions options;
  prometheus::Histogram ttft{kTtft}, itl{kItl}, tpot{kItl}, longest_gap{kItl};
  prometheus::Histogram e2e{kPhase}, queue{kPhase}, inference{kPhase}, prefill{kPhase},
      decode{kPhase};
  prometheus::Histogram prompt_tokens, answer_tokens, max_tokens;
  prometheus::Histogram step_seconds{kStep}, step_rows, decode_rows, prefill_rows;
  prometheus::Histogram cancel_delay{kDelay};
  std::array<std::atomic<std::uint64_t>, 4> by_reason{};  // FinishReason
  std::atomic<std::uint64_t> good{0}, judged{0};
  std::atomic<std::uint64_t> budget_offered{0}, budget_used{0};
  std::atomic<std::uint32_t> last_budget{0};

  struct Http {
    std::uint64_t count = 0;
    double seconds = 0;
  };
  mutable std::mutex http_mutex;
  std::map<std::tuple<std::string, std::string, std::string>, Http> http_requests;  // Guarded.
};

Metrics::Metrics(MetricsOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Metrics::~Metrics() = default;

void Metrics::step(const engine::StepRecord& r) {
  Impl& m = *impl_;
  m.step_seconds.Observe(seconds(r.took));
  m.step_rows.Observe(r.decode_rows + r.prefill_rows);
  if (r.decode_rows > 0) m.decode_rows.Observe(r.decode_rows);
  if (r.prefill_rows > 0) m.prefill_rows.Observe(r.prefill_rows);
  m.budget_offered += r.budget;
  m.budget_used += r.decode_rows + r.prefill_rows;
  m.last_budget = r.budget;
  for (const auto gap : r.token_gaps) m.itl.Observe(seconds(gap));
}

void Metrics::ended(const engine::RequestRecord& r) {
  Impl& m = *impl_;
  ++m.by_reason[static_cast<std::size_t>(r.reason)];
  const engine::Timings& t = r.timings;
  if (r.reason == engine::FinishReason::kCancelled) return;  // Its times are its reader's doing.
  ++m.judged;
  if (r.reason == engine::FinishReason::kError) return;
  m.queue.Observe(seconds(t.queue));
  m.prefill.Observe(seconds(t.prefill));
  m.decode.Observe(seconds(t.decode));
  m.inference.Observe(seconds(t.prefill + t.decode));
  m.e2e.Observe(seconds(t.queue + t.prefill + t.decode));
  m.ttft.Observe(seconds(t.ttft()));
  m.prompt_tokens.Observe(t.prompt_tokens);
  m.answer_tokens.Observe(t.answer_tokens);
  m.max_tokens.Observe(r.max_tokens);
  std::chrono::nanoseconds tpot{0};
  if (t.answer_tokens > 1) {
    tpot = t.decode / (t.answer_tokens - 1);
    m.tpot.Observe(seconds(tpot));
    m.longest_gap.Observe(seconds(r.longest_gap));
  }
  if (t.ttft() <= m.options.ttft_target && tpot <= m.options.tpot_target) ++m.good;
}

void Metrics::left(std::chrono::nanoseconds delay) { impl_->cancel_delay.Observe(seconds(delay)); }

void Metrics::answered(std::string_view method, std::string_view path, int status,
                       std::chrono::nanoseconds took) {
  const std::lock_guard lock(impl_->http_mutex);
  std::string group = status == 0 ? "gone" : std::to_string(status / 100) + "xx";
  auto& entry = impl_->http_requests[{std::string(handler_of(path)), std::string(method_of(method)),
                                      std::move(group)}];
  ++entry.count;
  entry.seconds += seconds(took);
}

void Metrics::Impl::vllm(Page& page, const engine::EngineStats& s) const {
  const auto d = [](std::uint64_t v) { return static_cast<double>(v); };
  page.gauge("vllm:num_requests_running", "Requests in the running batch.", s.running);
  page.gauge("vllm:num_requests_waiting", "Requests that wait to be admitted.", s.waiting);
  page.gauge("vllm:num_requests_waiting_by_reason", "Requests that wait, by reason.", s.waiting,
             {{"reason", "capacity"}});
  page.gauge("vllm:num_requests_waiting_by_reason", "Requests that wait, by reason.", 0,
             {{"reason", "deferred"}});
  page.gauge("vllm:kv_cache_usage_perc", "Share of KV pages held by requests; 1 is all.",
             s.units_total == 0 ? 0 : d(s.units_held) / s.units_total);
  page.gauge("vllm:cache_config_info", "The KV cache's configuration.", 1,
             {{"block_size", std::to_string(kPageTokens)},
              {"num_gpu_blocks", std::to_string(s.units_total)},
              {"enable_prefix_caching", "True"}});
  page.counter("vllm:prompt_tokens_total", "Prompt tokens taken in, cached ones included.",
               d(s.prompt_tokens + s.cached_tokens));
  page.counter("vllm:prompt_tokens_cached_total", "Prompt tokens found in the prefix cache.",
               d(s.cached_tokens));
  page.counter("vllm:prompt_tokens_recomputed_total", "Tokens computed again after pre-emptions.",
               d(s.recomputed_tokens));
  page.counter("vllm:generation_tokens_total", "Tokens generated.", d(s.answer_tokens));
  page.counter("vllm:num_preemptions_total", "Pre-emptions.",
               d(s.memory_preemptions + s.priority_preemptions));
  page.counter("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.",
               d(s.queried_tokens));
  page.counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.",
               d(s.cached_tokens));
  constexpr const char* kReasons[] = {"stop", "length", "abort", "error"};
  for (std::size_t i = 0; i < by_reason.size(); ++i) {
    page.counter("vllm:request_success_total", "Requests that ended, by reason.",
                 d(by_reason[i].load()), {{"finished_reason", kReasons[i]}});
  }
  page.histogram("vllm:time_to_first_token_seconds", "Time to first token.", ttft);
  page.histogram("vllm:inter_token_latency_seconds", "Time between two tokens of an answer.", itl);
  page.histogram("vllm:request_time_per_output_token_seconds",
                 "Mean time per output token after the first, by request.", tpot);
  page.histogram("vllm:e2e_request_latency_seconds", "Acceptance to last token.", e2e);
  page.histogram("vllm:request_queue_time_seconds", "Time spent waiting.", queue);
  page.histogram("vllm:request_inference_time_seconds", "Time spent running.", inference);
  page.histogram("vllm:request_prefill_time_seconds", "Time spent in prefill.", prefill);
  page.histogram("vllm:request_decode_time_seconds", "Time spent in decode.", decode);
  page.histogram("vllm:request_prompt_tokens", "Prompt tokens, by request.", prompt_tokens);
  page.histogram("vllm:request_generation_tokens", "Answer tokens, by request.", answer_tokens);
  page.histogram("vllm:request_max_num_generation_tokens", "Answer tokens allowed, by request.",
                 max_tokens);
  page.histogram("vllm:request_params_max_tokens", "max_tokens, by request.", max_tokens);
  page.histogram("vllm:iteration_tokens_total", "Rows of a step.", step_rows);
}

void Metrics::Impl::books(Page& page, const engine::EngineStats& s) const {
  const auto d = [](std::uint64_t v) { return static_cast<double>(v); };
  page.counter("weir_requests_accepted_total", "Requests accepted.", d(s.accepted));
  const char* ended = "Requests that ended; accepted = the sum of these, waiting and running.";
  page.counter("weir_requests_total", ended, d(s.finished), {{"outcome", "finished"}});
  page.counter("weir_requests_total", ended, d(s.cancelled), {{"outcome", "cancelled"}});
  page.counter("weir_requests_total", ended, d(s.failed - s.late), {{"outcome", "failed"}});
  page.counter("weir_requests_total", ended, d(s.late), {{"outcome", "late"}});
  page.counter("weir_requests_refused_total", "Requests turned away.", d(s.refused));
  page.gauge("weir_requests", "Requests now.", s.waiting, {{"state", "waiting"}});
  page.gauge("weir_requests", "Requests now.", s.running, {{"state", "running"}});
  page.gauge("weir_waiting_tokens", "Prompt tokens of the requests that wait.",
             d(s.waiting_tokens));
  const char* answers = "Answer tokens by fate; their sum is what was computed.";
  page.counter("weir_answer_tokens_total", answers, d(s.delivered_tokens), {{"fate", "delivered"}});
  page.counter("weir_answer_tokens_total", answers, d(s.wasted_tokens), {{"fate", "wasted"}});
  const char* prompts = "Prompt tokens by how they came into memory.";
  page.counter("weir_prompt_tokens_total", prompts, d(s.prompt_tokens), {{"source", "computed"}});
  page.counter("weir_prompt_tokens_total", prompts, d(s.cached_tokens), {{"source", "cached"}});
  page.counter("weir_prompt_tokens_total", prompts, d(s.recomputed_tokens),
               {{"source", "recomputed"}});
  page.counter("weir_requests_judged_total", "Requests held against the targets.",
               d(judged.load()));
  page.counter("weir_requests_good_total", "Of those, within the TTFT and TPOT targets (goodput).",
               d(good.load()));
  page.gauge("weir_target_seconds", "What counts as good.", seconds(options.ttft_target),
             {{"of", "ttft"}});
  page.gauge("weir_target_seconds", "What counts as good.", seconds(options.tpot_target),
             {{"of", "tpot"}});
  page.histogram("weir_longest_gap_seconds",
                 "Longest wait for a token after the first, by request.", longest_gap);
  page.histogram("weir_cancel_delay_seconds", "From a reader leaving to the end of its work.",
                 cancel_delay);
}

void Metrics::Impl::steps(Page& page, const engine::EngineStats& s) const {
  const auto d = [](std::uint64_t v) { return static_cast<double>(v); };
  page.counter("weir_preemptions_total", "Pre-emptions.", d(s.memory_preemptions),
               {{"reason", "memory"}});
  page.counter("weir_preemptions_total", "Pre-emptions.", d(s.priority_preemptions),
               {{"reason", "priority"}});
  page.gauge("weir_pages", "KV pages by state; units of them where windows cut these.",
             s.units_total - s.units_held - s.units_cached, {{"state", "free"}});
  page.gauge("weir_pages", "KV pages by state; units of them where windows cut these.",
             s.units_held, {{"state", "held"}});
  page.gauge("weir_pages", "KV pages by state; units of them where windows cut these.",
             s.units_cached, {{"state", "cached"}});
  const auto by_class = [&](const char* name, const char* help,
                            std::uint32_t engine::ClassStats::* what) {
    constexpr const char* kClasses[] = {"background", "standard", "critical"};
    for (std::size_t p = 0; p < s.by_class.size(); ++p)
      page.gauge(name, help, s.by_class[p].*what, {{"priority", kClasses[p]}});
  };
  by_class("weir_class_running", "Running requests of a priority class.",
           &engine::ClassStats::running);
  by_class("weir_class_pages", "KV pages held by a priority class and by none above it.",
           &engine::ClassStats::units_held);
  by_class("weir_class_reserved_pages", "KV pages kept for a priority class and those above it.",
           &engine::ClassStats::units_reserved);
  page.counter("weir_pages_evicted_total", "Cached pages given up.", d(s.evicted_pages));
  page.counter("weir_windows_evicted_total",
               "Cached pages whose part for local layers was given up alone.",
               d(s.evicted_windows));
  page.counter("weir_pages_copied_total", "Pages copied on write or for a partial hit.",
               d(s.copied_pages));
  page.counter("weir_steps_total", "Steps.", d(s.steps));
  page.histogram("weir_step_seconds", "Time of a step.", step_seconds);
  page.histogram("weir_step_rows", "Rows of a step, where it had any.", decode_rows,
                 {{"kind", "decode"}});
  page.histogram("weir_step_rows", "Rows of a step, where it had any.", prefill_rows,
                 {{"kind", "prefill"}});
  page.gauge("weir_step_budget_rows", "Rows that the last step could have had.",
             last_budget.load());
  page.counter("weir_budget_rows_total", "Rows that steps could have had, and had.",
               d(budget_offered.load()), {{"kind", "offered"}});
  page.counter("weir_budget_rows_total", "Rows that steps could have had, and had.",
               d(budget_used.load()), {{"kind", "used"}});
  for (const auto& [subsystem, bytes] : options.memory) {
    page.gauge("weir_memory_planned_bytes", "What the memory plan gave each part.", d(bytes),
               {{"subsystem", subsystem}});
  }
}

void Metrics::Impl::http(Page& page) const {
  const std::lock_guard lock(http_mutex);
  const auto labels = [](const auto& key) {
    return Labels{
        {"handler", std::get<0>(key)}, {"method", std::get<1>(key)}, {"status", std::get<2>(key)}};
  };
  for (const auto& [key, entry] : http_requests) {
    page.counter("http_requests_total", "HTTP requests answered.", static_cast<double>(entry.count),
                 labels(key));
  }
  for (const auto& [key, entry] : http_requests) {
    page.counter("http_request_seconds_total", "Time from the whole request to the last byte.",
                 entry.seconds, labels(key));
  }
}

std::string Metrics::expose(const engine::EngineStats& stats) const {
  Page page({{"model_name", impl_->options.model}, {"engine", "0"}});
  impl_->vllm(page, stats);
  impl_->books(page, stats);
  impl_->steps(page, stats);
  Page process({});
  impl_->http(process);
  process.gauge("process_resident_memory_bytes", "Resident memory.",
                static_cast<double>(sys::resident_bytes()));
  process.counter("process_cpu_seconds_total", "CPU time.", sys::cpu_seconds());
  return page.text() + process.text();
}

}  // namespace weir::server
