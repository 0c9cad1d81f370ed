#include <fmt/format.h>

#include "weir/plan/answer.h"
#include "weir/plan/markup.h"

namespace weir::plan {
namespace {

constexpr const char* kStyle =
    "body{font:16px/1.5 system-ui,-apple-system,sans-serif;color:#222;max-width:60rem;margin:2rem "
    "auto;padding:0 1rem}"
    "h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid "
    "#ddd;padding-top:1.5rem}"
    ".headline{font-size:1.1rem}nav a{margin-right:1rem}svg{max-width:100%;height:auto}"
    "table{border-collapse:collapse;font-size:.9rem;margin:.7rem 0;display:block;overflow-x:auto}"
    "caption{text-align:left;font-weight:600;padding:.3rem 0}"
    "th,td{padding:.25rem .8rem .25rem 0;text-align:left;border-bottom:1px solid "
    "#eee;vertical-align:top}"
    "td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.s{color:#767676;"
    "font-size:.85em}"
    "summary{cursor:pointer;color:#0072b2}";

std::string table_html(const Table& table) {
  std::string out = "<table><caption>" + escaped_markup(table.title) + "</caption>\n<tr>";
  for (const std::string& column : table.columns) out += "<th>" + escaped_markup(column) + "</th>";
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (const Cell& cell : row) {
      if (const auto* text = std::get_if<std::string>(&cell)) {
        out += "<td>" + escaped_markup(*text) + "</td>";
      } else {
        out += "<td class=\"n\">" + escaped_markup(show(std::get<Amount>(cell))) + "</td>";
      }
    }
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string section(const Answer& answer) {
  std::string out = fmt::format("<h2 id=\"{0}\">{0}</h2>\n<p class=\"headline\">{1}</p>\n",
                                escaped_markup(answer.question), escaped_markup(answer.headline));
  for (const Chart& chart : answer.charts) out += write_svg(chart);
  for (const Table& table : answer.tables) out += table_html(table);
  if (!answer.steps.empty()) {
    out += "<details><summary>The arithmetic</summary>\n<table>\n";
    for (const Step& step : answer.steps) {
      out += fmt::format(
          "<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"s\">{}</td></tr>\n",
          escaped_markup(step.label), escaped_markup(show(step.value)),
          escaped_markup(step.formula), escaped_markup(step.source));
    }
    out += "</table></details>\n";
  }
  for (const std::string& note : answer.notes)
    out += "<p class=\"s\">" + escaped_markup(note) + "</p>\n";
  return out;
}

}  // namespace

std::string write_html(const std::string& title, const std::string& introduction,
                       const std::vector<Answer>& answers) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width\">\n<title>{0}</title>\n<style>{1}</style></"
      "head><body>\n<h1>{0}</h1>\n",
      escaped_markup(title), kStyle);
  if (!introduction.empty()) out += "<p>" + escaped_markup(introduction) + "</p>\n";
  out += "<nav>";
  for (const Answer& answer : answers)
    out += fmt::format("<a href=\"#{0}\">{0}</a>", escaped_markup(answer.question));
  out += "</nav>\n<table><caption>In short</caption>\n";
  for (const Answer& answer : answers) {
    out += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped_markup(answer.question),
                       escaped_markup(answer.headline));
  }
  out += "</table>\n";
  for (const Answer& answer : answers) out += section(answer);
  return out + "</body></html>\n";
}

}  // namespace weir::plan
