#include "weir/measure/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "weir/base/check.h"
#include "weir/base/random.h"
#include "weir/measure/summary.h"

namespace weir::measure {
namespace {

namespace json = boost::json;

constexpr std::size_t kResamples = 1000;
constexpr std::size_t kRunsForIntervals = 3;

/// The 0.975 quantile of Student's t for 1 to 30 degrees of freedom; above, the normal's 1.96 is
/// within 2 %.
constexpr double kStudent[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};

double student(double freedom) {
  const auto whole = static_cast<std::size_t>(std::max(1.0, std::floor(freedom)));
  return whole <= std::size(kStudent) ? kStudent[whole - 1] : 1.96;
}

/// A figure of a run: a number of its own, or a statistic of its sample.
struct FigureKind {
  const char* name;
  bool more_is_better;
  double ComparedRun::* number;
  std::vector<double> ComparedRun::* sample;
  double (*statistic)(std::vector<double>&);
};

template <int kPerMille>
double quantile_of(std::vector<double>& values) {
  const double q = kPerMille / 1000.0;
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), values.begin() + low, values.end());
  const double floor = values[static_cast<std::size_t>(low)];
  if (low + 1 == static_cast<std::ptrdiff_t>(values.size())) return floor;
  const double next = *std::min_element(values.begin() + low + 1, values.end());
  return floor + (at - static_cast<double>(low)) * (next - floor);
}

const FigureKind kKinds[] = {
    {"requests/s", true, &ComparedRun::request_throughput, nullptr, nullptr},
    {"output tok/s", true, &ComparedRun::output_throughput, nullptr, nullptr},
    {"goodput req/s", true, &ComparedRun::goodput, nullptr, nullptr},
    {"TTFT p50 ms", false, nullptr, &ComparedRun::ttft_ms, quantile_of<500>},
    {"TTFT p90 ms", false, nullptr, &ComparedRun::ttft_ms, quantile_of<900>},
    {"TTFT p99 ms", false, nullptr, &ComparedRun::ttft_ms, quantile_of<990>},
    {"TPOT p50 ms", false, nullptr, &ComparedRun::tpot_ms, quantile_of<500>},
    {"TPOT p90 ms", false, nullptr, &ComparedRun::tpot_ms, quantile_of<900>},
    {"TPOT p99 ms", false, nullptr, &ComparedRun::tpot_ms, quantile_of<990>},
    {"ITL p99 ms", false, nullptr, &ComparedRun::itl_ms, quantile_of<990>},
    {"E2E p50 ms", false, nullptr, &ComparedRun::e2el_ms, quantile_of<500>},
    {"E2E p99 ms", false, nullptr, &ComparedRun::e2el_ms, quantile_of<990>},
};

using Group = std::vector<const ComparedRun*>;

double figure_of(const ComparedRun& run, const FigureKind& kind) {
  if (kind.number != nullptr) return run.*kind.number;
  std::vector<double> values = run.*kind.sample;
  return values.empty() ? 0 : kind.statistic(values);
}

struct Moments {
  double mean = 0;
  double variance = 0;  ///< Of the mean.
  double count = 0;
};

template <class Transform>
Moments moments(const Group& group, const FigureKind& kind, Transform transform) {
  Moments m;
  m.count = static_cast<double>(group.size());
  for (const auto* run : group) m.mean += transform(figure_of(*run, kind)) / m.count;
  for (const auto* run : group) {
    const double d = transform(figure_of(*run, kind)) - m.mean;
    m.variance += d * d / (m.count - 1) / m.count;
  }
  return m;
}

Estimate by_runs(const Group& group, const FigureKind& kind) {
  const Moments m = moments(group, kind, [](double x) { return x; });
  const double half = student(m.count - 1) * std::sqrt(m.variance);
  return {m.mean, std::max(0.0, m.mean - half), m.mean + half};
}

Estimate ratio_by_runs(const Group& group, const Group& base, const FigureKind& kind) {
  const auto logarithm = [](double x) { return std::log(std::max(x, 1e-12)); };
  const Moments a = moments(group, kind, logarithm);
  const Moments b = moments(base, kind, logarithm);
  const double variance = a.variance + b.variance;
  const double middle = a.mean - b.mean;
  if (variance == 0) return {std::exp(middle), std::exp(middle), std::exp(middle)};
  const double freedom =
      variance * variance /
      (a.variance * a.variance / (a.count - 1) + b.variance * b.variance / (b.count - 1));
  const double half = student(freedom) * std::sqrt(variance);
  return {std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
}

std::vector<double> pooled(const Group& group, const FigureKind& kind) {
  std::vector<double> all;
  for (const auto* run : group) {
    all.insert(all.end(), (run->*kind.sample).begin(), (run->*kind.sample).end());
  }
  return all;
}

/// The statistic of resamples of `values`; `stream` sets samples apart.
std::vector<double> resampled(const std::vector<double>& values, const FigureKind& kind,
                              std::uint64_t stream) {
  std::vector<double> statistics(kResamples);
  std::vector<double> drawn(values.size());
  for (std::size_t r = 0; r < kResamples; ++r) {
    for (std::size_t i = 0; i < drawn.size(); i += 4) {
      const auto words = philox(r, i, stream);
      for (std::size_t j = 0; j < std::min<std::size_t>(4, drawn.size() - i); ++j) {
        drawn[i + j] = values[words[j] % values.size()];
      }
    }
    statistics[r] = kind.statistic(drawn);
  }
  return statistics;
}

Estimate interval(double value, std::vector<double> statistics) {
  std::ranges::sort(statistics);
  return {value, quantile(statistics, 0.025), quantile(statistics, 0.975)};
}

/// The estimates of a figure where there are too few runs to be the unit.
void add_by_requests(ComparedFigure& figure, std::span<const Group> groups,
                     const FigureKind& kind) {
  std::vector<double> base;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (kind.number != nullptr) {
      Estimate mean;
      for (const auto* run : groups[g]) {
        mean.value += run->*kind.number / static_cast<double>(groups[g].size());
      }
      figure.of_label.push_back(mean);
      const double first = figure.of_label.front().value;
      figure.ratio_to_first.push_back({first > 0 ? mean.value / first : 0, {}, {}});
      continue;
    }
    std::vector<double> values = pooled(groups[g], kind);
    if (values.empty()) {
      figure.of_label.push_back({});
      figure.ratio_to_first.push_back({});
      continue;
    }
    std::vector<double> statistics = resampled(values, kind, g);
    figure.of_label.push_back(interval(kind.statistic(values), statistics));
    if (g == 0) base = statistics;
    if (base.empty()) {
      figure.ratio_to_first.push_back({});
      continue;
    }
    for (std::size_t r = 0; r < kResamples; ++r) statistics[r] /= std::max(base[r], 1e-12);
    const double first = std::max(figure.of_label.front().value, 1e-12);
    figure.ratio_to_first.push_back(
        g == 0 ? Estimate{1, 1, 1}
               : interval(figure.of_label.back().value / first, std::move(statistics)));
  }
}

std::string shown(const Estimate& estimate, int decimals) {
  if (!estimate.low) return fmt::format("{:.{}f}", estimate.value, decimals);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", estimate.value, decimals, *estimate.low,
                     decimals, *estimate.high, decimals);
}

int decimals_for(double value) { return value < 10 ? 2 : value < 100 ? 1 : 0; }

/// Better or worse only where the interval of the ratio says so.
const char* verdict(const ComparedFigure& figure, const Estimate& ratio) {
  if (!ratio.low || (*ratio.low <= 1 && *ratio.high >= 1)) return "";
  return (ratio.value > 1) == figure.more_is_better ? "better" : "worse";
}

std::string units(const Comparison& comparison) {
  std::string text;
  for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
    text +=
        fmt::format("{}{} ({} runs)", i == 0 ? "" : ", ", comparison.labels[i], comparison.runs[i]);
  }
  return text + (comparison.by_run
                     ? "; intervals of 95 % over runs"
                     : "; intervals of 95 % over requests: three runs of each would also show "
                       "how runs differ");
}

double number_in(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  boost::system::error_code error;
  const double number = value != nullptr ? value->to_number<double>(error) : 0;
  return error || !std::isfinite(number) ? 0 : number;
}

std::vector<double> numbers_in(const json::object& object, std::string_view name) {
  std::vector<double> numbers;
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_array()) return numbers;
  for (const auto& element : value->get_array()) {
    boost::system::error_code error;
    const double number = element.to_number<double>(error);
    numbers.push_back(error || !std::isfinite(number) ? 0 : number);
  }
  return numbers;
}

std::string load_of(const json::object& object) {
  const double users = number_in(object, "max_concurrency");
  const double rate = number_in(object, "request_rate");
  if (rate > 0) return fmt::format("{:.4g} requests/s", rate);
  return users > 0 ? fmt::format("{:.0f} users", users) : "all at once";
}

/// Requests that gave no answer stand as zeros in the arrays.
void read_latencies(const json::object& object, ComparedRun& run) {
  const auto ttfts = numbers_in(object, "ttfts");
  const auto lengths = numbers_in(object, "output_lens");
  auto latencies = numbers_in(object, "latencies");
  const auto* itls = object.if_contains("itls");
  for (std::size_t i = 0; i < ttfts.size(); ++i) {
    if (ttfts[i] <= 0) continue;
    run.ttft_ms.push_back(ttfts[i] * 1e3);
    double sum = 0;
    if (itls != nullptr && itls->is_array() && i < itls->get_array().size()) {
      const auto* gaps = itls->get_array()[i].if_array();
      for (std::size_t j = 0; gaps != nullptr && j < gaps->size(); ++j) {
        boost::system::error_code error;
        const double gap = (*gaps)[j].to_number<double>(error);
        if (error) continue;
        run.itl_ms.push_back(gap * 1e3);
        sum += gap;
      }
    }
    const double e2e = i < latencies.size() && latencies[i] > 0 ? latencies[i] : ttfts[i] + sum;
    run.e2el_ms.push_back(e2e * 1e3);
    if (i < lengths.size() && lengths[i] > 1) {
      run.tpot_ms.push_back((e2e - ttfts[i]) * 1e3 / (lengths[i] - 1));
    }
  }
}

}  // namespace

Result<ComparedRun> read_run(std::string_view text, std::string_view default_label) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  const auto* object = error ? nullptr : value.if_object();
  if (object == nullptr || !object->contains("request_throughput")) {
    return fail(Code::kCorrupt,
                fmt::format("{}: not the JSON of a run (weir bench serve --json)", default_label));
  }
  ComparedRun run;
  const auto* label = object->if_contains("label");
  run.label = label != nullptr && label->is_string() && !label->get_string().empty()
                  ? std::string(label->get_string())
                  : std::string(default_label);
  run.load = load_of(*object);
  run.request_throughput = number_in(*object, "request_throughput");
  run.output_throughput = number_in(*object, "output_throughput");
  run.goodput = number_in(*object, "request_goodput");
  const auto* own = object->if_contains("weir");
  if (own != nullptr && own->is_object())
    run.attainment = number_in(own->get_object(), "attainment");
  read_latencies(*object, run);
  return run;
}

Comparison compare(std::span<const ComparedRun> runs) {
  WEIR_CHECK(!runs.empty(), "a comparison has at least one run");
  Comparison comparison;
  std::vector<Group> groups;
  for (const auto& run : runs) {
    const auto found = std::ranges::find(comparison.labels, run.label);
    const auto at = static_cast<std::size_t>(found - comparison.labels.begin());
    if (found == comparison.labels.end()) {
      comparison.labels.push_back(run.label);
      groups.emplace_back();
    }
    groups[at].push_back(&run);
  }
  comparison.by_run = true;
  for (const auto& group : groups) {
    comparison.runs.push_back(group.size());
    comparison.by_run = comparison.by_run && group.size() >= kRunsForIntervals;
  }
  for (const auto& kind : kKinds) {
    ComparedFigure figure{kind.name, kind.more_is_better, {}, {}};
    if (comparison.by_run) {
      for (const auto& group : groups) {
        figure.of_label.push_back(by_runs(group, kind));
        figure.ratio_to_first.push_back(&group == &groups.front()
                                            ? Estimate{1, 1, 1}
                                            : ratio_by_runs(group, groups.front(), kind));
      }
    } else {
      add_by_requests(figure, groups, kind);
    }
    const bool any =
        std::ranges::any_of(figure.of_label, [](const auto& e) { return e.value > 0; });
    if (any) comparison.figures.push_back(std::move(figure));
  }
  return comparison;
}

std::string comparison_table(const Comparison& comparison) {
  std::string out = fmt::format("\n  {}\n", units(comparison));
  for (const auto& figure : comparison.figures) {
    out += fmt::format("\n  {}\n", figure.name);
    for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
      const Estimate& value = figure.of_label[i];
      out += fmt::format("    {:<28.28} {:<28}", comparison.labels[i],
                         shown(value, decimals_for(value.value)));
      if (i > 0) {
        out += fmt::format(" x {:<22} {}", shown(figure.ratio_to_first[i], 2),
                           verdict(figure, figure.ratio_to_first[i]));
      }
      while (out.ends_with(' ')) out.pop_back();
      out += '\n';
    }
  }
  return out;
}

std::string comparison_markdown(const Comparison& comparison) {
  std::string out = fmt::format("{}.\n\n|", units(comparison));
  std::string rule = "|---|";
  for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
    out += fmt::format(" | {}", comparison.labels[i]);
    rule += "---|";
    if (i > 0) {
      out += fmt::format(" | {} / {}", comparison.labels[i], comparison.labels[0]);
      rule += "---|";
    }
  }
  out += " |\n" + rule + "\n";
  for (const auto& figure : comparison.figures) {
    out += fmt::format("| {}", figure.name);
    for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
      const Estimate& value = figure.of_label[i];
      out += fmt::format(" | {}", shown(value, decimals_for(value.value)));
      if (i > 0) out += fmt::format(" | {}", shown(figure.ratio_to_first[i], 2));
    }
    out += " |\n";
  }
  return out;
}

}  // namespace weir::measure
