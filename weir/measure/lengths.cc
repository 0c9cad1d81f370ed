#include "weir/measure/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir::measure {
namespace {

struct Form {
  std::string_view name;
  LengthSpec::Kind kind;
};
constexpr Form kForms[] = {{"fixed", LengthSpec::Kind::kFixed},
                           {"uniform", LengthSpec::Kind::kUniform},
                           {"normal", LengthSpec::Kind::kNormal},
                           {"lognormal", LengthSpec::Kind::kLogNormal}};

bool read_number(std::string_view text, double& into) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
  return fault == std::errc() && end == text.data() + text.size() && std::isfinite(into);
}

}  // namespace

Result<LengthSpec> parse_length(std::string_view text, std::string_view subject) {
  const auto wrong = [&] {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: \"{}\" is no length: write 128, uniform:64,256, normal:256,64 or "
                            "lognormal:256,0.8 (at most {} tokens)",
                            subject, text.substr(0, 64), kMaxLength),
                std::string(subject));
  };
  const auto fits = [](double tokens) { return tokens >= 1 && tokens <= kMaxLength; };
  LengthSpec spec;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    if (!read_number(text, spec.a) || !fits(spec.a)) return wrong();
    return spec;
  }
  const auto* form = std::ranges::find(kForms, text.substr(0, colon), &Form::name);
  if (form == std::end(kForms)) return wrong();
  spec.kind = form->kind;
  const std::string_view numbers = text.substr(colon + 1);
  const std::size_t comma = numbers.find(',');
  if (!read_number(numbers.substr(0, comma), spec.a) || !fits(spec.a)) return wrong();
  if (spec.kind == LengthSpec::Kind::kFixed) {
    return comma == std::string_view::npos ? Result<LengthSpec>(spec) : wrong();
  }
  if (comma == std::string_view::npos || !read_number(numbers.substr(comma + 1), spec.b) ||
      spec.b < 0 || spec.b > kMaxLength) {
    return wrong();
  }
  if (spec.kind == LengthSpec::Kind::kUniform && spec.b < spec.a) return wrong();
  if (spec.kind == LengthSpec::Kind::kLogNormal && spec.b > 5) return wrong();
  return spec;
}

std::uint32_t draw_length(const LengthSpec& spec, std::uint64_t seed, Stream stream,
                          std::uint64_t index) {
  Draw draw(seed, stream, index);
  double tokens = spec.a;
  switch (spec.kind) {
    case LengthSpec::Kind::kFixed:
      break;
    case LengthSpec::Kind::kUniform:
      tokens = std::floor(spec.a + draw.uniform() * (spec.b - spec.a + 1));
      break;
    case LengthSpec::Kind::kNormal:
      tokens = spec.a + spec.b * draw.normal();
      break;
    case LengthSpec::Kind::kLogNormal:
      tokens = spec.a * std::exp(spec.b * draw.normal());
      break;
  }
  return static_cast<std::uint32_t>(std::clamp(std::round(tokens), 1.0, double{kMaxLength}));
}

}  // namespace weir::measure
