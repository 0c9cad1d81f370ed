#pragma once

/// What every question of the planner returns: a short answer first, then the arithmetic line by
/// line, tables and one picture. One writer each turns it into text, JSON, CSV, SVG and HTML, so a
/// question knows nothing of any of them. Thread safety: values and pure functions.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/plan/amount.h"

namespace weir::plan {

/// One line of the arithmetic.
struct Step {
  std::string key;      ///< For programs, unique in the answer: "kv_per_token".
  std::string label;    ///< "KV of one token"
  std::string formula;  ///< With the numbers in it: "2 x 80 layers x 8 KV heads x 128 x 2 B"
  Amount value;
  std::string source;  ///< Where the formula is from.
};

using Cell = std::variant<std::string, Amount>;

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
};

struct Axis {
  std::string label;  ///< With its unit.
  bool log = false;
};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool dashed = false;  ///< A limit or a reference, not a result.
  bool dots = false;    ///< Each point is one measurement and shows as such.
};

struct Mark {
  std::string label;
  double at = 0;
  bool vertical = true;  ///< At an x, else at a y.
};

struct Chart {
  std::string title;
  Axis x, y;
  std::vector<Series> series;
  std::vector<Mark> marks;
};

struct Answer {
  std::string question;  ///< "fit"
  std::string headline;  ///< One or two sentences with the numbers in them.
  std::vector<Step> steps;
  std::vector<Table> tables;
  std::vector<Chart> charts;
  std::vector<std::string> notes;  ///< Conventions used, what was assumed, what to do next.

  void step(std::string key, std::string label, std::string formula, Amount value,
            std::string source) {
    steps.push_back({std::move(key), std::move(label), std::move(formula), std::move(value),
                     std::move(source)});
  }
  void note(std::string text) { notes.push_back(std::move(text)); }
  /// The value of a step. REQUIRES: there is one of that key.
  [[nodiscard]] double at(std::string_view key) const;
};

[[nodiscard]] std::string write_text(const Answer& answer);
/// An object: question, answer, values {key: {value, unit}}, steps, tables, notes. Numbers in base
/// units; what is unbounded is null.
[[nodiscard]] std::string write_json(const Answer& answer);
/// The tables, each under its heading row with units in base units, separated by an empty line; the
/// steps when there is no table. Quoted as RFC 4180 says.
[[nodiscard]] std::string write_csv(const Answer& answer);
/// A drawing of its own, 760 by 440; points that an axis cannot show (not finite, or not positive
/// on a log axis) are left out.
[[nodiscard]] std::string write_svg(const Chart& chart);
/// Several answers as one page without outside parts.
[[nodiscard]] std::string write_html(const std::string& title, const std::string& introduction,
                                     const std::vector<Answer>& answers);

}  // namespace weir::plan
