#include "weir/jinja/template.h"

#include <fmt/format.h>

#include <limits>

#include "weir/base/utf8.h"
#include "weir/jinja/interpreter.h"
#include "weir/jinja/lexer.h"
#include "weir/jinja/parser.h"
#include "weir/jinja/scope.h"

namespace weir::jinja {

struct Template::Impl {
  std::string source;
  Limits limits;
  /// The template's own strings; bounded by the size of the source, so without a budget.
  Heap constants{std::numeric_limits<std::uint64_t>::max()};
  Program program;
};

Template::Template(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Result<Template> Template::compile(std::string_view source, const Limits& limits) {
  if (source.size() > limits.source_bytes) {
    return fail(Code::kTooLarge,
                fmt::format("the template has {} bytes; at most {} are allowed", source.size(),
                            limits.source_bytes),
                std::string(kTemplateSubject));
  }
  auto impl = std::make_unique<Impl>();
  impl->limits = limits;
  impl->source = normalize_source(source);
  if (const std::size_t bad = utf8::find_invalid(impl->source); bad != std::string_view::npos) {
    return error_at(std::string_view(impl->source).substr(0, bad), bad, Code::kInvalidArgument,
                    "the template is not valid UTF-8");
  }
  WEIR_TRY(Body body, parse(impl->source, impl->constants));
  WEIR_TRY(impl->program, resolve_names(impl->source, std::move(body)));
  return Template(std::move(impl));
}

Result<std::vector<Piece>> Template::render(Heap& heap, const DictObject& variables,
                                            std::int64_t unix_seconds) const {
  WEIR_TRY(const Text text, interpret(heap, {.source = impl_->source,
                                             .program = impl_->program,
                                             .variables = variables,
                                             .unix_seconds = unix_seconds,
                                             .max_output_bytes = impl_->limits.output_bytes}));
  return text.pieces();
}

bool Template::reads(std::string_view name) const {
  return impl_->program.inputs.contains(std::string(name));
}

const std::string& Template::source() const { return impl_->source; }

}  // namespace weir::jinja
