#include "weir/cli/inspect_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <map>
#include <tuple>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/utf8.h"
#include "weir/cli/inspect_values.h"
#include "weir/format/printable.h"

namespace weir::cli {
namespace {

namespace json = boost::json;
using format::ModelFile;
using format::TensorView;

constexpr std::size_t kLine = 100;

/// "134.5 M"; three or four significant digits.
std::string short_count(std::uint64_t count) {
  const auto value = static_cast<double>(count);
  if (value >= 1e9) return fmt::format("{:.4g} B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.4g} M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.4g} K", value / 1e3);
  return std::to_string(count);
}

std::string shape_text(const TensorView& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Rows of cells under no ruling: columns as wide as their widest cell, two spaces between.
class Table {
 public:
  explicit Table(std::vector<bool> right) : right_(std::move(right)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(right_.size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string padding(widths[i] - width_of(row[i]), ' ');
        line += "  " + (right_[i] ? padding + row[i] : row[i] + padding);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

struct TypeTotal {
  std::uint64_t tensors = 0, values = 0, bytes = 0;
};

std::map<DType, TypeTotal> totals_by_type(const ModelFile& file) {
  std::map<DType, TypeTotal> totals;
  for (const TensorView& tensor : file.tensors()) {
    TypeTotal& total = totals[tensor.type];
    ++total.tensors;
    total.values += tensor.elements();
    total.bytes += tensor.data.size();
  }
  return totals;
}

TypeTotal sum_of(const std::map<DType, TypeTotal>& totals) {
  TypeTotal sum;
  for (const auto& [type, total] : totals) {
    sum.tensors += total.tensors;
    sum.values += total.values;
    sum.bytes += total.bytes;
  }
  return sum;
}

/// "blk.12.attn_q.weight" -> "blk.*.attn_q.weight": tensors of one kind share it.
std::string kind_of(std::string_view name) {
  std::string kind;
  while (true) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, dot);
    const bool number =
        !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
    kind += number ? std::string("*") : format::printable(part, 255);
    if (dot == name.size()) return kind;
    kind += '.';
    name.remove_prefix(dot + 1);
  }
}

std::string tensor_rows(const ModelFile& file) {
  Table table({false, false, false, true});
  for (const TensorView& tensor : file.tensors()) {
    table.row({format::printable(tensor.name, 255), std::string(info(tensor.type).name),
               shape_text(tensor), format_bytes(tensor.data.size())});
  }
  return table.text();
}

/// One row for tensors of equal kind, type and shape, in the order of the first of each.
std::string kind_rows(const ModelFile& file) {
  struct Kind {
    const TensorView* first = nullptr;
    std::uint64_t count = 0, bytes = 0;
  };
  using Key = std::tuple<std::string, DType, std::vector<std::uint64_t>>;
  std::map<Key, std::size_t> place;
  std::vector<Kind> kinds;
  for (const TensorView& tensor : file.tensors()) {
    const auto [at, added] =
        place.try_emplace(Key(kind_of(tensor.name), tensor.type, tensor.shape), kinds.size());
    if (added) kinds.push_back({&tensor});
    ++kinds[at->second].count;
    kinds[at->second].bytes += tensor.data.size();
  }
  Table table({true, false, false, false, true});
  for (const Kind& kind : kinds) {
    const std::string name =
        kind.count == 1 ? format::printable(kind.first->name, 255) : kind_of(kind.first->name);
    table.row({fmt::format("{} x", kind.count), name, std::string(info(kind.first->type).name),
               shape_text(*kind.first), format_bytes(kind.bytes)});
  }
  return table.text();
}

std::string metadata_rows(const ModelFile& file) {
  std::size_t widest = 0;
  for (const auto& [key, value] : file.metadata())
    widest = std::max(widest, std::min(width_of(key), std::size_t{44}));
  Table table({false, false});
  for (const auto& [key, value] : file.metadata()) {
    table.row({format::printable(key, 120), short_text(value, kLine - widest - 4)});
  }
  return table.text();
}

std::string type_rows(const std::map<DType, TypeTotal>& totals) {
  Table table({false, true, true, true, true});
  for (const auto& [type, total] : totals) {
    const double bits = total.values == 0 ? 0
                                          : 8.0 * static_cast<double>(total.bytes) /
                                                static_cast<double>(total.values);
    table.row({std::string(info(type).name),
               fmt::format("{} tensor{}", total.tensors, total.tensors == 1 ? "" : "s"),
               short_count(total.values) + " values", format_bytes(total.bytes),
               fmt::format("{:.4g} bits a value", bits)});
  }
  return table.text();
}

/// KV bytes of `tokens` positions of one sequence: whole pages, and the window's part of them.
std::uint64_t kv_bytes(const MemoryPlan& plan, std::uint64_t tokens) {
  const std::uint64_t rows = std::clamp<std::uint64_t>(tokens, 1, plan.chunk);
  return plan.kv.of_sequence(tokens, static_cast<std::uint32_t>(rows)) * plan.kv_per_unit;
}

std::uint64_t kv_page_bytes(const MemoryPlan& plan) { return plan.kv.of_page() * plan.kv_per_unit; }

std::string plan_rows(const MemoryPlan& plan) {
  const std::uint64_t fixed = plan.weights + plan.activations + plan.tables;
  Table table({false, true, false});
  table.row({"weights", format_bytes(plan.weights), "packed for the kernels"});
  table.row({"activations", format_bytes(plan.activations),
             fmt::format("steps of at most {} tokens", plan.rows)});
  table.row({"tables", format_bytes(plan.tables), "rotary positions"});
  table.row({"KV", format_bytes(kv_page_bytes(plan)),
             fmt::format("a page of {} tokens", plan.page_tokens)});
  if (plan.kv.windowed > 0) {
    table.row({"", format_bytes(plan.kv.windowed * plan.kv_per_unit),
               fmt::format("of it for the last {} tokens only", plan.kv.window)});
  }
  table.row({"", format_bytes(kv_bytes(plan, 1000)), "1000 tokens"});
  table.row({"", format_bytes(kv_bytes(plan, plan.context)),
             fmt::format("the whole context, {} tokens", plan.context)});
  table.row(
      {"in all", format_bytes(fixed + kv_bytes(plan, plan.context)), "with one whole context"});
  return table.text();
}

json::object plan_json(const MaybePlan& plan) {
  if (!plan) return {{"unavailable", utf8::sanitize(plan.error().message)}};
  return {{"weights_bytes", plan->weights},
          {"activations_bytes", plan->activations},
          {"tables_bytes", plan->tables},
          {"step_tokens", plan->rows},
          {"kv_page_bytes", kv_page_bytes(*plan)},
          {"kv_page_windowed_bytes", plan->kv.windowed * plan->kv_per_unit},
          {"kv_window_tokens", plan->kv.window},
          {"kv_page_tokens", plan->page_tokens},
          {"context_tokens", plan->context},
          {"total_bytes_one_context",
           plan->weights + plan->activations + plan->tables + kv_bytes(*plan, plan->context)}};
}

}  // namespace

std::string text_report(const ModelFile& file, const MaybePlan& plan,
                        const ReportOptions& options) {
  const auto heading = [&](std::string_view text) {
    return options.bold ? fmt::format("\n\x1b[1m{}\x1b[0m\n", text) : fmt::format("\n{}\n", text);
  };
  const auto totals = totals_by_type(file);
  const TypeTotal sum = sum_of(totals);
  std::string out = fmt::format(
      "{}: {}, {}, {} tensors, {} values\n", format::printable(file.path(), 4096), file.container(),
      format_bytes(file.file_bytes()), sum.tensors, short_count(sum.values));
  out += heading(fmt::format("Metadata ({} keys)", file.metadata().size())) + metadata_rows(file);
  out += heading("Types") + type_rows(totals);
  out += heading("Tensors") + (options.all_tensors ? tensor_rows(file) : kind_rows(file));
  out += heading("Memory to serve it");
  out += plan ? plan_rows(*plan)
              : fmt::format("  not known: {}\n", format::printable(plan.error().message, 1024));
  return out;
}

std::string json_report(const ModelFile& file, const MaybePlan& plan) {
  const auto totals = totals_by_type(file);
  json::object types;
  for (const auto& [type, total] : totals) {
    types[info(type).name] =
        json::object{{"tensors", total.tensors}, {"values", total.values}, {"bytes", total.bytes}};
  }
  json::object metadata;
  for (const auto& [key, value] : file.metadata())
    metadata[utf8::sanitize(key)] = to_json(value, false);
  json::array tensors;
  for (const TensorView& tensor : file.tensors()) {
    tensors.push_back(json::object{{"name", utf8::sanitize(tensor.name)},
                                   {"type", info(tensor.type).name},
                                   {"shape", json::array(tensor.shape.begin(), tensor.shape.end())},
                                   {"bytes", tensor.data.size()}});
  }
  const json::object report = {
      {"path", utf8::sanitize(file.path())}, {"container", file.container()},
      {"file_bytes", file.file_bytes()},     {"values", sum_of(totals).values},
      {"metadata", std::move(metadata)},     {"types", std::move(types)},
      {"tensors", std::move(tensors)},       {"memory", plan_json(plan)}};
  return json::serialize(report) + "\n";
}

Result<std::string> metadata_value(const ModelFile& file, std::string_view key, bool json) {
  const auto it = file.metadata().find(key);
  if (it != file.metadata().end()) {
    return json ? json::serialize(to_json(it->second, true)) + "\n" : whole_text(it->second);
  }
  std::vector<std::string> near;
  for (const auto& [name, value] : file.metadata()) {
    if (near.size() < 5 && !key.empty() && name.contains(key))
      near.push_back(format::in_quotes(name));
  }
  return fail(Code::kNotFound,
              fmt::format("{} has no metadata key {}; {}", format::printable(file.path(), 4096),
                          format::in_quotes(key),
                          near.empty() ? std::string("without --metadata all keys are listed")
                                       : fmt::format("near it are {}", fmt::join(near, ", "))),
              std::string(key));
}

}  // namespace weir::cli
