#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "weir/plan/answer.h"
#include "weir/plan/markup.h"

namespace weir::plan {
namespace {

constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 76, kRight = 170, kTop = 52, kBottom = 58;
/// Okabe and Ito's colours, which colour-blind people can tell apart.
constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#555555"};

/// Where values go between two pixels.
struct Scale {
  double low = 0, high = 1;
  bool log = false;
  double from = 0, to = 1;

  [[nodiscard]] bool shows(double v) const { return std::isfinite(v) && (!log || v > 0); }
  [[nodiscard]] double at(double v) const {
    const double position = log ? (std::log(v) - std::log(low)) / (std::log(high) - std::log(low))
                                : (v - low) / (high - low);
    return from + std::clamp(position, -0.02, 1.02) * (to - from);
  }
};

Scale scale_of(const Axis& axis, double low, double high, double from, double to) {
  Scale s{.low = low, .high = high, .log = axis.log, .from = from, .to = to};
  if (!std::isfinite(low) || !std::isfinite(high))
    return {.low = axis.log ? 0.1 : 0, .log = axis.log, .from = from, .to = to};
  if (axis.log) {
    if (s.high < s.low * 1.0001) s.low /= 2, s.high *= 2;
  } else {
    if (s.low > 0) s.low = 0;  // A linear axis that does not start at nothing exaggerates.
    if (s.high <= s.low) s.high = s.low + 1;
  }
  return s;
}

/// 1, 2 or 5 times a power of ten, about five of them over a linear axis; powers of ten (and 2 and
/// 5 between, when there are few) over a log axis.
std::vector<double> ticks_of(const Scale& s) {
  std::vector<double> ticks;
  if (s.log) {
    const double decades = std::log10(s.high / s.low);
    const int stride = std::max(1, static_cast<int>(decades / 6));
    for (int e = static_cast<int>(std::floor(std::log10(s.low))); e <= std::log10(s.high); ++e) {
      for (double m : {1.0, 2.0, 5.0}) {
        const double v = m * std::pow(10.0, e);
        const bool wanted = m == 1 ? e % stride == 0 : decades < 2.5;
        if (wanted && v >= s.low * 0.999 && v <= s.high * 1.001) ticks.push_back(v);
      }
    }
    return ticks;
  }
  const double raw = (s.high - s.low) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5   ? 1
                               : raw / power < 3.5 ? 2
                               : raw / power < 7.5 ? 5
                                                   : 10);
  for (double v = std::ceil(s.low / step) * step; v <= s.high * 1.0001 && ticks.size() < 20;
       v += step)
    ticks.push_back(std::abs(v) < step / 1e6 ? 0 : v);
  return ticks;
}

std::string tick_text(double v) {
  const double size = std::abs(v);
  if (size >= 1e12) return show_number(v / 1e12) + "T";
  if (size >= 1e9) return show_number(v / 1e9) + "G";
  if (size >= 1e6) return show_number(v / 1e6) + "M";
  if (size >= 1e4) return show_number(v / 1e3) + "k";
  return show_number(v);
}

struct Range {
  double low = std::numeric_limits<double>::infinity(),
         high = -std::numeric_limits<double>::infinity();
  void include(double v, bool log) {
    if (!std::isfinite(v) || (log && v <= 0)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
};

std::string text_at(double x, double y, const char* attributes, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, attributes,
                     escaped_markup(text));
}

std::string axes(const Chart& chart, const Scale& x, const Scale& y) {
  std::string out;
  for (double v : ticks_of(y)) {
    out +=
        fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#e4e4e4\"/>\n",
                    kLeft, kWidth - kRight, y.at(v), y.at(v));
    out += text_at(kLeft - 8, y.at(v) + 4, "text-anchor=\"end\"", tick_text(v));
  }
  for (double v : ticks_of(x)) {
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\" stroke=\"#888\"/>\n",
                       x.at(v), x.at(v), kHeight - kBottom, kHeight - kBottom + 5);
    out += text_at(x.at(v), kHeight - kBottom + 20, "text-anchor=\"middle\"", tick_text(v));
  }
  out += fmt::format("<path d=\"M{} {}V{}H{}\" fill=\"none\" stroke=\"#888\"/>\n", kLeft, kTop,
                     kHeight - kBottom, kWidth - kRight);
  out +=
      text_at((kLeft + kWidth - kRight) / 2, kHeight - 14, "text-anchor=\"middle\"", chart.x.label);
  out += fmt::format(
      "<text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      (kTop + kHeight - kBottom) / 2, escaped_markup(chart.y.label));
  return out;
}

struct EndLabel {
  double x, y;
  std::string text;
  const char* colour;
};

/// Labels at the ends of their lines, pushed apart so that none covers another. Those that would
/// begin a little before another line's end, and lie across it, begin where the others do.
std::string end_labels(std::vector<EndLabel> labels) {
  constexpr double kApart = 15;
  constexpr double kNear = 100;
  double farthest = 0;
  for (const EndLabel& label : labels) farthest = std::max(farthest, label.x);
  for (EndLabel& label : labels) {
    if (label.x > farthest - kNear) label.x = farthest;
  }
  std::ranges::sort(labels, {}, [](const EndLabel& l) { return std::pair(l.y, l.text); });
  for (std::size_t i = 1; i < labels.size(); ++i)
    labels[i].y = std::max(labels[i].y, labels[i - 1].y + kApart);
  double lowest = kHeight - kBottom;
  for (std::size_t i = labels.size(); i-- > 0; lowest -= kApart) {
    labels[i].y = std::min(labels[i].y, lowest);
    lowest = labels[i].y;
  }
  std::string out;
  for (const EndLabel& label : labels) {
    out += text_at(label.x + 8, label.y + 4, fmt::format("style=\"fill:{}\"", label.colour).c_str(),
                   label.text);
  }
  return out;
}

std::string marks(const Chart& chart, const Scale& x, const Scale& y) {
  std::string out;
  int place = 0;
  for (const Mark& mark : chart.marks) {
    const Scale& s = mark.vertical ? x : y;
    if (!s.shows(mark.at) || mark.at < s.low || mark.at > s.high * 1.0001) continue;
    const double p = s.at(mark.at);
    if (mark.vertical) {
      // Names of neighbouring marks stand on lines of their own.
      const double text_y = kTop + 12 + 15.0 * (place++ % 4);
      const bool flip = p > kLeft + 0.62 * (kWidth - kRight - kLeft);
      out += fmt::format(
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#555\" "
          "stroke-dasharray=\"3 3\"/>\n",
          p, kTop, kHeight - kBottom);
      out += text_at(p + (flip ? -5 : 5), text_y,
                     flip ? "text-anchor=\"end\" class=\"m\"" : "class=\"m\"", mark.label);
    } else {
      out += fmt::format(
          "<line x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"#555\" "
          "stroke-dasharray=\"3 3\"/>\n",
          p, kLeft, kWidth - kRight);
      // Curves rise from a low mark and fall below a high one: the name stands on the other side.
      const bool low = p > (kTop + kHeight - kBottom) / 2;
      out += text_at(kLeft + 6, low ? p + 14 : p - 5, "class=\"m\"", mark.label);
    }
  }
  return out;
}

}  // namespace

std::string write_svg(const Chart& chart) {
  Range xs, ys;
  for (const Series& series : chart.series) {
    for (const auto& [px, py] : series.points) {
      if (!std::isfinite(px) || !std::isfinite(py)) continue;
      xs.include(px, chart.x.log);
      ys.include(py, chart.y.log);
    }
  }
  for (const Mark& mark : chart.marks) {
    if (!mark.vertical) ys.include(mark.at, chart.y.log);
  }
  if (!chart.y.log) ys.high *= 1.05;
  const Scale x = scale_of(chart.x, xs.low, xs.high, kLeft, kWidth - kRight);
  const Scale y = scale_of(chart.y, ys.low, ys.high, kHeight - kBottom, kTop);

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\">\n"
      "<style>text{{font:13px system-ui,-apple-system,'DejaVu "
      "Sans',sans-serif;fill:#222}}.m{{font-size:12px;fill:#444;"
      "paint-order:stroke;stroke:#fff;stroke-width:4px}}</style>\n"
      "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      kWidth, kHeight, escaped_markup(chart.title));
  out += fmt::format("<text x=\"{}\" y=\"28\" style=\"font-size:16px;font-weight:600\">{}</text>\n",
                     kLeft, escaped_markup(chart.title));
  out += axes(chart, x, y);
  std::vector<EndLabel> labels;
  std::size_t colour = 0;
  for (const Series& series : chart.series) {
    const char* const stroke = series.dashed ? "#666666" : kColours[colour++ % kColours.size()];
    std::string path;
    std::string dots;
    double last_x = 0;
    double last_y = 0;
    bool alone = true;
    for (const auto& [px, py] : series.points) {
      if (!x.shows(px) || !y.shows(py)) continue;
      alone = path.empty();
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x.at(px), y.at(py));
      if (series.dots) {
        dots += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" fill=\"{}\"><title>{}: {} at "
            "{}</title></circle>\n",
            x.at(px), y.at(py), stroke, escaped_markup(series.name), show_number(py),
            show_number(px));
      }
      last_x = x.at(px);
      last_y = y.at(py);
    }
    if (path.empty()) continue;
    if (alone) path += "h0.1";  // A single point shows as a dot of the round cap.
    out += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\" "
        "stroke-linejoin=\"round\"{}/>\n",
        path, stroke, alone ? 6 : 2.2, series.dashed ? " stroke-dasharray=\"6 4\"" : "");
    out += dots;
    labels.push_back({last_x, last_y, series.name, stroke});
  }
  return out + marks(chart, x, y) + end_labels(std::move(labels)) + "</svg>\n";
}

}  // namespace weir::plan
