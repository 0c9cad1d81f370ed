#include "weir/model/budget.h"

#include <fmt/format.h>

#include "weir/spec/kv_type.h"

namespace weir::model {
namespace {

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// "bf16, 10 pages of 512.0 KiB". Units are pages where a page is not cut.
std::string kv_text(const BytePlan& plan) {
  return fmt::format("{}, {} {} of {:.1f} KiB", kv_type_name(plan.kv_type), plan.kv_units,
                     plan.kv.windowed == 0 ? "pages" : "units",
                     static_cast<double>(plan.kv_per_unit) / 1024);
}

}  // namespace

std::string describe(const BytePlan& plan) {
  std::string out;
  const auto line = [&out](std::string_view what, std::uint64_t bytes, std::string_view note) {
    out +=
        fmt::format("{:<12} {:>10.1f} MiB{}{}\n", what, mib(bytes), note.empty() ? "" : "  ", note);
  };
  line("weights", plan.weights, "packed");
  line("activations", plan.activations, "scratch and logits of one step");
  line("tables", plan.tables, "RoPE");
  line("sampling", plan.sampling, "candidates of the rows chosen for at once");
  const std::string part = plan.kv.windowed == 0 ? ""
                                                 : fmt::format(" of {} layer{}", plan.kv.layers,
                                                               plan.kv.layers == 1 ? "" : "s");
  line("KV cache", plan.kv_bytes(),
       fmt::format("{}, {} tokens{} each", kv_text(plan), kPageTokens, part));
  line("total", plan.total(), "");
  return out;
}

std::uint64_t kv_units_that_fit(const BytePlan& plan, std::uint64_t available) {
  const std::uint64_t model = plan.without_kv();
  if (available <= model || plan.kv_per_unit == 0) return 0;
  return (available - model) / plan.kv_per_unit;
}

Status check_budget(const BytePlan& plan, std::uint64_t available) {
  if (plan.total() <= available) return {};
  const std::uint64_t tokens = plan.kv.positions_in(kv_units_that_fit(plan, available), plan.rows);
  const std::string advice =
      tokens == 0
          ? "the model alone does not fit: take a smaller one or free memory"
          : fmt::format(
                "{} tokens of KV cache would fit: lower the context or the number of sequences{}",
                tokens, plan.kv_type == DType::kI8 ? "" : ", or keep it in a smaller type");
  return fail(
      Code::kExhausted,
      fmt::format("not enough memory: weights {:.1f} + activations {:.1f} + tables {:.1f} "
                  "+ sampling {:.1f} + KV cache {:.1f} "
                  "({}) = {:.1f} MiB, but {:.1f} MiB are available; {}",
                  mib(plan.weights), mib(plan.activations), mib(plan.tables), mib(plan.sampling),
                  mib(plan.kv_bytes()), kv_text(plan), mib(plan.total()), mib(available), advice),
      "memory");
}

}  // namespace weir::model
