#include "weir/plan/nearest.h"

#include <algorithm>
#include <cstddef>

namespace weir::plan {
namespace {

std::string letters(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 64)) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

std::size_t distance(const std::string& a, const std::string& b) {
  // d[i][j] between the first i of a and the first j of b; a transposition looks two rows back.
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string wanted = letters(name);
  std::string best;
  std::size_t best_distance = wanted.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(wanted, letters(candidate));
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  if (!best.empty() || wanted.size() < 2) return best;
  for (const std::string& candidate : candidates) {
    if (letters(candidate).starts_with(wanted)) return candidate;
  }
  return {};
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest(name, candidates);
  std::string out = near.empty() ? "known are: " : "did you mean '" + near + "'? Known are: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) out += (i ? ", " : "") + candidates[i];
  return out;
}

}  // namespace weir::plan
