#pragma once

/// A small chart as SVG: lines or dots over linear or logarithmic axes, with ticks at round numbers
/// and a legend in rows of its own, where it hides no point. Colours are the page's: classes c0 to
/// c7 for series, title, label, tick, key and grid for the rest. Thread safety: pure functions.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::measure {

struct Series {
  std::string name = {};
  std::vector<std::pair<double, double>> points;
  bool dots = false;     ///< Else a line.
  bool stepped = false;  ///< A line that holds its value until the next point.
};

struct Plot {
  std::string title;
  std::string x_label = {};
  std::string y_label = {};
  bool x_log = false;  ///< Points at or below 0 are left out.
  std::vector<Series> series = {};
  double x_from = 0;  ///< Points below it stand at it; 0: as the points need.
  double y_from = 0;
  double y_to = 0;  ///< At or below y_from: as the points need.
};

/// Text that may stand between tags and in quoted attributes.
[[nodiscard]] std::string html_escaped(std::string_view text);

/// An empty string when there is no point.
[[nodiscard]] std::string svg_of(const Plot& plot);

}  // namespace weir::measure
