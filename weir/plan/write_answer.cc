#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weir/base/check.h"
#include "weir/plan/answer.h"
#include "weir/plan/text_columns.h"

namespace weir::plan {
namespace {

std::string cell_text(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return show(std::get<Amount>(cell));
}

/// Twelve digits: enough for every exact count here, and 0.1 + 0.2 stays 0.3.
std::string number_json(double value) {
  return std::isfinite(value) ? fmt::format("{:.12g}", value) : "null";
}

std::string quoted_json(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string amount_json(const Amount& amount) {
  return fmt::format(R"({{"value": {}, "unit": {}}})", number_json(amount.value),
                     quoted_json(base_unit(amount)));
}

std::string quoted_csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string number_csv(double value) {
  return std::isfinite(value) ? fmt::format("{:.12g}", value) : "";
}

/// Columns where any row holds an amount are numbers; the unit is the first one's.
bool is_number_column(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows, [&](const auto& row) {
    return column < row.size() && std::holds_alternative<Amount>(row[column]);
  });
}

std::string table_csv(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::string unit;
    for (const auto& row : table.rows) {
      if (unit.empty() && i < row.size() && std::holds_alternative<Amount>(row[i]))
        unit = base_unit(std::get<Amount>(row[i]));
    }
    const bool says_it = unit.empty() || table.columns[i].find(unit) != std::string::npos;
    out += (i ? "," : "") + quoted_csv(table.columns[i] + (says_it ? "" : " [" + unit + "]"));
  }
  out += "\r\n";
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* amount = std::get_if<Amount>(&row[i]);
      out += (i ? "," : "") +
             (amount ? number_csv(amount->value) : quoted_csv(std::get<std::string>(row[i])));
    }
    out += "\r\n";
  }
  return out;
}

std::string table_text(const Table& table) {
  std::vector<bool> right(table.columns.size());
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = is_number_column(table, i);
  std::vector<std::vector<std::string>> rows = {table.columns};
  for (const auto& row : table.rows) {
    auto& cells = rows.emplace_back();
    std::ranges::transform(row, std::back_inserter(cells), cell_text);
  }
  return (table.title.empty() ? "" : table.title + "\n") + columns_text(rows, right);
}

}  // namespace

double Answer::at(std::string_view key) const {
  const auto found = std::ranges::find(steps, key, &Step::key);
  WEIR_CHECK(found != steps.end(), "an answer has a step of this key");
  return found->value.value;
}

std::string write_text(const Answer& answer) {
  constexpr std::size_t kWidth = 110;
  std::string out = wrapped(answer.headline, kWidth, "");
  std::vector<std::vector<std::string>> lines;
  for (const Step& step : answer.steps) {
    lines.push_back({step.label, show(step.value), step.formula.empty() ? "" : "= " + step.formula,
                     step.source.empty() ? "" : "[" + step.source + "]"});
  }
  if (!lines.empty()) out += "\nArithmetic\n" + columns_text(lines, {false, true, false, false});
  for (const Table& table : answer.tables) out += "\n" + table_text(table);
  if (!answer.notes.empty()) out += "\nNotes\n";
  for (const std::string& note : answer.notes) out += wrapped(note, kWidth, "  ");
  return out;
}

std::string write_json(const Answer& answer) {
  std::string out = fmt::format("{{\n  \"question\": {},\n  \"answer\": {},\n  \"values\": {{",
                                quoted_json(answer.question), quoted_json(answer.headline));
  const char* comma = "";
  for (const Step& step : answer.steps) {
    out += fmt::format("{}\n    {}: {}", comma, quoted_json(step.key), amount_json(step.value));
    comma = ",";
  }
  out += "\n  },\n  \"steps\": [";
  comma = "";
  for (const Step& step : answer.steps) {
    out += fmt::format(R"({}
    {{"key": {}, "label": {}, "formula": {}, "shown": {}, "source": {}}})",
                       comma, quoted_json(step.key), quoted_json(step.label),
                       quoted_json(step.formula), quoted_json(show(step.value)),
                       quoted_json(step.source));
    comma = ",";
  }
  out += "\n  ],\n  \"tables\": [";
  comma = "";
  for (const Table& table : answer.tables) {
    out += fmt::format("{}\n    {{\"title\": {}, \"columns\": [", comma, quoted_json(table.title));
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      out += (i ? ", " : "") + quoted_json(table.columns[i]);
    out += "], \"rows\": [";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      out += r ? ",\n      [" : "\n      [";
      for (std::size_t i = 0; i < table.rows[r].size(); ++i) {
        const Cell& cell = table.rows[r][i];
        const auto* amount = std::get_if<Amount>(&cell);
        out += (i ? ", " : "") +
               (amount ? amount_json(*amount) : quoted_json(std::get<std::string>(cell)));
      }
      out += "]";
    }
    out += "]}";
    comma = ",";
  }
  out += "\n  ],\n  \"notes\": [";
  for (std::size_t i = 0; i < answer.notes.size(); ++i)
    out += (i ? ", " : "") + quoted_json(answer.notes[i]);
  return out + "]\n}\n";
}

std::string write_csv(const Answer& answer) {
  if (answer.tables.empty()) {
    std::string out = "key,label,value,unit,formula\r\n";
    for (const Step& step : answer.steps) {
      out += fmt::format("{},{},{},{},{}\r\n", quoted_csv(step.key), quoted_csv(step.label),
                         number_csv(step.value.value), quoted_csv(base_unit(step.value)),
                         quoted_csv(step.formula));
    }
    return out;
  }
  std::string out;
  for (const Table& table : answer.tables) out += (out.empty() ? "" : "\r\n") + table_csv(table);
  return out;
}

}  // namespace weir::plan
