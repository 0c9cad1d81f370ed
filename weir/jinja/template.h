#pragma once

/// A compiled Jinja template, with the environment that Hugging Face's chat templates are written
/// for: ImmutableSandboxedEnvironment(trim_blocks, lstrip_blocks, loopcontrols), their `tojson`,
/// `raise_exception`, `strftime_now` and `generation` tag. The aim is byte for byte what Python's
/// Jinja2 3.1 prints (tests/test_chat_templates.py compares). Known differences: integers have 64
/// bits; functions and generators print no address; no extends, include, import, block, autoescape
/// or recursive loop; no filters pprint, random, urlize, wordwrap, xmlattr, striptags,
/// filesizeformat; no
/// \\N{name} escape; groupby gives plain pairs; beyond a literal beside `and` or `or`, no
/// expression is folded before it runs.
///
/// A template comes from a model file and is not believed: its size, nesting, work and output are
/// bounded, and it sees nothing but its variables and the time that it is given.
/// Thread safety: immutable after compile(); render() may be called from any thread.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/jinja/text.h"
#include "weir/jinja/value.h"

namespace weir::jinja {

struct Limits {
  std::size_t source_bytes = std::size_t{1} << 20;
  std::size_t output_bytes = std::size_t{64} << 20;  ///< Of one render.
};

class Template {
 public:
  /// Code::kInvalidArgument with line and column; Code::kTooLarge over a bound.
  [[nodiscard]] static Result<Template> compile(std::string_view source, const Limits& limits = {});

  /// `heap` holds the variables and takes all that the render makes; its budget bounds the render.
  /// `unix_seconds` is the time that strftime_now shows, as UTC.
  [[nodiscard]] Result<std::vector<Piece>> render(Heap& heap, const DictObject& variables,
                                                  std::int64_t unix_seconds) const;

  /// True if the template reads `name` from its variables anywhere.
  [[nodiscard]] bool reads(std::string_view name) const;
  [[nodiscard]] const std::string& source() const;  ///< Newlines normalised.

  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

 private:
  struct Impl;
  explicit Template(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::jinja
