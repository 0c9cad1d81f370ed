#include "weir/cli/kernel_report.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace weir::cli {

namespace json = boost::json;

plan::Table kernel_table(std::span<const MeasuredKernel> kernels) {
  plan::Table table;
  table.title = "Kernels, each between two readings of its roofs";
  table.columns = {"kernel", "type", "size",     "rows",        "a call",       "GB/s", "Gop/s",
                   "best",   "roof", "bound by", "of the roof", "best of best", "clean"};
  for (const MeasuredKernel& k : kernels) {
    const auto number = [](double value) { return plan::ratio(value); };
    table.rows.push_back(
        {k.name, k.type, k.outputs > 0 ? fmt::format("{} x {}", k.outputs, k.columns) : "",
         number(static_cast<double>(k.rows)), plan::Amount(plan::Seconds{k.seconds()}),
         number(k.bandwidth() / 1e9), number(k.rate.median / 1e9), number(k.rate.best / 1e9),
         number(measure::attainable(k.work, k.roofs) / 1e9), std::string(name_of(k.bound)),
         plan::share(k.share.median), plan::share(k.best_share()),
         fmt::format("{} of {}", k.taken - k.disturbed, k.taken)});
  }
  return table;
}

json::object spread_json(const measure::Spread& spread, double unit) {
  return {{"best", spread.best / unit},
          {"median", spread.median / unit},
          {"p10", spread.p10 / unit},
          {"samples", spread.samples}};
}

json::object kernel_json(const MeasuredKernel& k) {
  return {{"name", k.name},
          {"type", k.type},
          {"outputs", k.outputs},
          {"columns", k.columns},
          {"rows", k.rows},
          {"calls_per_step", k.calls},
          {"bytes", k.work.bytes},
          {"operations", k.work.operations()},
          {"intensity", k.work.intensity()},
          {"seconds", k.seconds()},
          {"gb_per_s", k.bandwidth() / 1e9},
          {"gop_per_s", spread_json(k.rate, 1e9)},
          {"share_of_roof", spread_json(k.share)},
          {"best_share_of_best_roof", k.best_share()},
          {"roof_gop_per_s", measure::attainable(k.work, k.roofs) / 1e9},
          {"taken", k.taken},
          {"disturbed", k.disturbed},
          {"bound", name_of(k.bound)},
          {"read_gb_per_s", k.roofs.bandwidth / 1e9},
          {"int8_gop_per_s", k.roofs.int8 / 1e9},
          {"bf16_gop_per_s", k.roofs.bf16 / 1e9},
          {"f32_gop_per_s", k.roofs.f32 / 1e9}};
}

std::string clean_note() {
  return "A sample is clean when all threads began together and none lost its core. Figures are of "
         "the clean ones "
         "where there are three, else of all, and then they say more of the machine's other users "
         "than of the kernel. best of best: the best sample over the best roof of the same second.";
}

std::string load_note(const std::optional<sys::CpuLoad>& load) {
  if (!load) return "This system does not say what else kept its cores busy.";
  constexpr double kMuch = 0.05;
  const std::string shares = fmt::format(
      "Meanwhile the cores spent {:.1f} % of their time on this, {:.1f} % on other programs and "
      "{:.1f} % elsewhere (steal).",
      100 * load->own, 100 * load->others, 100 * load->steal);
  return load->others + load->steal < kMuch
             ? shares
             : shares +
                   " The machine was shared: the best is nearest to what it can do, and the "
                   "shares of roofs hold better than the rates.";
}

json::value load_json(const std::optional<sys::CpuLoad>& load) {
  if (!load) return nullptr;
  return json::object{
      {"own", load->own}, {"others", load->others}, {"steal", load->steal}, {"idle", load->idle}};
}

}  // namespace weir::cli
