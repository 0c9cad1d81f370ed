#include "weir/measure/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir::measure {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 300;
constexpr double kLeft = 62;
constexpr double kRight = 16;
constexpr double kTop = 34;  // With the title, without names.
constexpr double kBottom = 46;
constexpr int kColours = 8;
constexpr double kNameHeight = 15;
constexpr double kNameGap = 14;
constexpr double kCharWidth = 6.1;  // At 11 pixels, a little over what system fonts take.
constexpr std::size_t kMostChars = 48;
constexpr std::size_t kMostNames = 12;
/// A browser draws this many without effort; more are thinned evenly.
constexpr std::size_t kMostPoints = 4000;

struct Axis {
  double from = 0;
  double to = 1;
  bool log = false;
  double begin = 0;  ///< Pixels.
  double end = 1;

  [[nodiscard]] double at(double value) const {
    const double share =
        log ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
    return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
  }

  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> out;
    if (log) {
      const bool few = std::log10(to / from) < 2.5;
      for (double decade = std::pow(10, std::floor(std::log10(from))); decade <= to; decade *= 10) {
        for (const double step : {1.0, 2.0, 5.0}) {
          const double tick = decade * step;
          if ((few || step == 1) && tick >= from * 0.999 && tick <= to * 1.001) out.push_back(tick);
        }
      }
      if (out.size() > 1) return out;
      out.clear();  // Between 40 and 45 there is none of these.
    }
    const double raw = (to - from) / 5.2;
    const double decade = std::pow(10, std::floor(std::log10(raw)));
    double step = decade * 10;
    for (const double round : {1.0, 2.0, 5.0}) {
      if (decade * round >= raw) {
        step = decade * round;
        break;
      }
    }
    for (double tick = std::ceil(from / step - 1e-9) * step; tick <= to + step * 1e-9;
         tick += step) {
      out.push_back(std::abs(tick) < step * 1e-9 ? 0 : tick);
    }
    return out;
  }
};

struct Bounds {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
  void take(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

std::vector<std::pair<double, double>> drawn_points(const Series& series, bool x_log) {
  std::vector<std::pair<double, double>> points;
  const std::size_t stride = series.points.size() / kMostPoints + 1;
  for (std::size_t i = 0; i < series.points.size(); i += stride) {
    const auto& [x, y] = series.points[i];
    if (std::isfinite(x) && std::isfinite(y) && (!x_log || x > 0)) points.emplace_back(x, y);
  }
  return points;
}

std::string frame(const Plot& plot, const Axis& x, const Axis& y) {
  std::string out;
  for (const double tick : y.ticks()) {
    const double at = y.at(tick);
    out += fmt::format(
        R"(<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/><text class="tick" x="{}" y="{:.1f}" text-anchor="end">{:.6g}</text>)",
        x.begin, x.end, at, at, x.begin - 6, at + 4, tick);
  }
  for (const double tick : x.ticks()) {
    const double at = x.at(tick);
    out += fmt::format(
        R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/><text class="tick" x="{:.1f}" y="{}" text-anchor="middle">{:.6g}</text>)",
        at, at, y.begin, y.end, at, y.begin + 16, tick);
  }
  out += fmt::format(R"(<text class="title" x="{}" y="18">{}</text>)", x.begin,
                     html_escaped(plot.title));
  out += fmt::format(R"(<text class="label" x="{:.0f}" y="{}" text-anchor="middle">{}</text>)",
                     (x.begin + x.end) / 2, y.begin + kBottom - 10, html_escaped(plot.x_label));
  out += fmt::format(
      "<text class=\"label\" transform=\"translate(14 {:.0f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>",
      (y.begin + y.end) / 2, html_escaped(plot.y_label));
  return out;
}

std::string drawing(const Series& series, bool x_log, const Axis& x, const Axis& y, int colour) {
  std::string out;
  const auto points = drawn_points(series, x_log);
  if (series.dots) {
    out += fmt::format(R"(<g class="c{}" fill="currentColor" fill-opacity=".65">)", colour);
    for (const auto& [px, py] : points) {
      out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2"/>)", x.at(px), y.at(py));
    }
    return out + "</g>";
  }
  out += fmt::format(
      R"(<path class="c{}" fill="none" stroke="currentColor" stroke-width="1.8" d=")", colour);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double px = x.at(points[i].first);
    if (i > 0 && series.stepped) out += fmt::format("H{:.1f}", px);
    out += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", px, y.at(points[i].second));
  }
  out += R"("/>)";
  if (points.size() <= 40 && !series.stepped) {
    out += fmt::format(R"(<g class="c{}" fill="currentColor">)", colour);
    for (const auto& [px, py] : points) {
      out += fmt::format(
          R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.6"><title>{:.5g}, {:.5g}</title></circle>)",
          x.at(px), y.at(py), px, py);
    }
    out += "</g>";
  }
  return out;
}

struct Legend {
  std::string svg;
  double height = 0;
};

/// Names side by side under the title, in as many rows as they need.
Legend legend(const Plot& plot) {
  if (plot.series.size() < 2) return {};
  Legend out;
  double x = kLeft;
  out.height = kNameHeight;
  for (std::size_t i = 0; i < std::min(plot.series.size(), kMostNames); ++i) {
    const std::string name = plot.series[i].name.substr(0, kMostChars);
    const double width = kCharWidth * static_cast<double>(name.size());
    if (x > kLeft && x + width > kWidth - kRight) {
      x = kLeft;
      out.height += kNameHeight;
    }
    out.svg +=
        fmt::format(R"(<text class="key c{}" x="{:.0f}" y="{:.0f}" fill="currentColor">{}</text>)",
                    i % kColours, x, kTop + out.height - 10, html_escaped(name));
    x += width + kNameGap;
  }
  return out;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_of(const Plot& plot) {
  Bounds bx;
  Bounds by;
  for (const auto& series : plot.series) {
    for (const auto& [px, py] : drawn_points(series, plot.x_log)) {
      bx.take(px);
      by.take(py);
    }
  }
  if (!(bx.least <= bx.most)) return "";
  const double least = std::min(std::max(bx.least, plot.x_from), bx.most);
  Axis x{plot.x_log ? least / 1.05 : std::min(0.0, least), plot.x_log ? bx.most * 1.05 : bx.most,
         plot.x_log, kLeft, kWidth - kRight};
  if (!(x.to > x.from)) x.to = x.from + 1;
  const Legend key = legend(plot);
  const double height = kHeight + key.height;
  Axis y{plot.y_from, plot.y_to > plot.y_from ? plot.y_to : by.most * 1.05, false, height - kBottom,
         kTop + key.height};
  if (!(y.to > y.from)) y.to = y.from + 1;
  std::string out = fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth,
                                height, html_escaped(plot.title));
  out += frame(plot, x, y) + key.svg;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    out += drawing(plot.series[i], plot.x_log, x, y, static_cast<int>(i % kColours));
  }
  return out + "</svg>\n";
}

}  // namespace weir::measure
