/// Any bytes as a template over a fixed conversation, under tight limits: an answer or an error,
/// soon.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/check.h"
#include "weir/base/utf8.h"
#include "weir/jinja/json.h"
#include "weir/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weir;
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  auto compiled =
      jinja::Template::compile(source, {.source_bytes = 1 << 14, .output_bytes = 1 << 16});
  if (!compiled) return 0;
  jinja::Heap heap(std::uint64_t{1} << 21);
  auto variables = jinja::parse_json(
      heap,
      R"({"messages": [{"role": "system", "content": "S é"}, {"role": "user", "content": "<|x|>"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, null]}}}]}],
        "tools": [{"type": "function"}], "bos_token": "<s>", "add_generation_prompt": true, "n": 7})");
  WEIR_CHECK(variables.has_value(), "the fixed conversation is valid");
  const auto pieces = compiled->render(heap, variables->dict(), 1709210096);
  if (!pieces) return 0;
  for (const jinja::Piece& p : *pieces) {
    WEIR_CHECK(utf8::find_invalid(p.text) == std::string_view::npos, "text stays UTF-8");
  }
  return 0;
}
