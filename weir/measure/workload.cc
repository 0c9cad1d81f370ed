#include "weir/measure/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/check.h"
#include "weir/base/random.h"

namespace weir::measure {
namespace {

/// Seeds of texts that must not meet: what is one request's own, what a group shares, and blocks
/// that a trace names.
enum class TextOf : std::uint64_t { kRequest = 1, kPrefix = 2, kBlock = 3 };

std::uint64_t text_seed(std::uint64_t seed, TextOf what, std::uint64_t name) {
  const auto mixed = philox(seed, name, static_cast<std::uint64_t>(what) << 32);
  return std::uint64_t{mixed[0]} << 32 | mixed[1];
}

std::vector<PromptPart> own_parts(const Entry& entry, std::uint64_t seed, std::uint64_t index) {
  if (entry.blocks.empty() || entry.block_tokens == 0) {
    return {{text_seed(seed, TextOf::kRequest, index), entry.input}};
  }
  std::vector<PromptPart> parts;
  std::uint32_t left = entry.input;
  for (const std::uint64_t block : entry.blocks) {
    const std::uint32_t tokens = std::min(left, entry.block_tokens);
    if (tokens == 0) break;
    parts.push_back({text_seed(seed, TextOf::kBlock, block), tokens});
    left -= tokens;
  }
  if (left > 0) parts.push_back({text_seed(seed, TextOf::kRequest, index), left});
  return parts;
}

std::uint32_t draw_tenant(std::span<const Tenant> tenants, std::uint64_t seed,
                          std::uint64_t index) {
  double sum = 0;
  for (const auto& tenant : tenants) sum += tenant.weight;
  double at = Draw(seed, Stream::kTenant, index).uniform() * sum;
  for (std::uint32_t i = 0; i + 1 < tenants.size(); ++i) {
    at -= tenants[i].weight;
    if (at < 0) return i;
  }
  return static_cast<std::uint32_t>(tenants.size() - 1);
}

}  // namespace

std::vector<Entry> synthetic_entries(const LengthSpec& input, const LengthSpec& output,
                                     std::uint32_t count, std::uint64_t seed) {
  std::vector<Entry> entries(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    entries[i].input = draw_length(input, seed, Stream::kInput, i);
    entries[i].output = draw_length(output, seed, Stream::kOutput, i);
  }
  return entries;
}

Status validate(const WorkloadSpec& spec) {
  const auto wrong = [](const char* field, const char* what) {
    return fail(Code::kInvalidArgument, fmt::format("{} {}", field, what), field);
  };
  if (spec.shared_prefix_tokens > kMaxLength) return wrong("shared prefix", "is too long");
  if (spec.shared_prefixes == 0) return wrong("shared prefixes", "are at least one");
  if (spec.turns == 0 || spec.turns > 1000) return wrong("turns", "are between 1 and 1000");
  if (!(spec.leave_fraction >= 0 && spec.leave_fraction <= 1)) {
    return wrong("the fraction that leaves", "is between 0 and 1");
  }
  if (spec.leave_after < Duration(0) || spec.think < Duration(0)) {
    return wrong("times", "are not negative");
  }
  if (spec.long_every > 0 && (spec.long_tokens == 0 || spec.long_tokens > kMaxLength)) {
    return wrong("long prompts", "have between 1 and 1048576 tokens");
  }
  for (const auto& tenant : spec.tenants) {
    if (!(tenant.weight > 0 && tenant.weight <= 1e9)) {
      return wrong("a tenant's weight", "is above 0 and at most 1e9");
    }
  }
  return {};
}

Plan make_plan(std::span<const Entry> entries, const WorkloadSpec& spec) {
  WEIR_CHECK(validate(spec).has_value(), "a workload is validated before it is planned");
  Plan plan;
  plan.tenants = spec.tenants;
  if (plan.tenants.empty()) plan.tenants.push_back({"all", "", 1});
  const std::size_t named = plan.tenants.size();
  plan.requests.reserve(entries.size());
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t conversation = i / spec.turns;
    const std::uint32_t turn = i % spec.turns;
    PlannedRequest request;
    request.at = entries[i].at;
    request.tenant = draw_tenant({plan.tenants.data(), named}, spec.seed, conversation);
    request.user = own_parts(entries[i], spec.seed, i);
    request.output_tokens = entries[i].output;
    request.opens = turn == 0;
    if (turn == 0 && spec.shared_prefix_tokens > 0) {
      const std::uint64_t group = philox(spec.seed, conversation, 7)[0] % spec.shared_prefixes;
      request.system = {{text_seed(spec.seed, TextOf::kPrefix, group), spec.shared_prefix_tokens}};
    }
    if (turn + 1 < spec.turns && i + 1 < entries.size()) request.next = i + 1;
    request.think =
        from_seconds(seconds(spec.think) * Draw(spec.seed, Stream::kThink, i).exponential());
    Draw leave(spec.seed, Stream::kLeave, i);
    if (leave.uniform() < spec.leave_fraction) {
      request.leave_after = from_seconds(seconds(spec.leave_after) * leave.exponential());
    }
    if (spec.long_every > 0 && i % spec.long_every == spec.long_every - 1) {
      if (plan.tenants.size() == named) plan.tenants.push_back({"long", plan.tenants[0].key, 1});
      request.tenant = static_cast<std::uint32_t>(named);
      request.user = {{text_seed(spec.seed, TextOf::kRequest, i), spec.long_tokens}};
    }
    plan.requests.push_back(std::move(request));
  }
  return plan;
}

}  // namespace weir::measure
