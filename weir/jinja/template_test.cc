#include "weir/jinja/template.h"

#include <gtest/gtest.h>

#include "weir/jinja/json.h"

namespace weir::jinja {
namespace {

constexpr std::uint64_t kBudget = std::uint64_t{64} << 20;

/// The text, or "error: message".
std::string render(std::string_view source, std::string_view variables = "{}") {
  auto compiled = Template::compile(source);
  if (!compiled) return "error: " + compiled.error().message;
  Heap heap(kBudget);
  auto values = parse_json(heap, variables);
  if (!values) return "error: " + values.error().message;
  auto pieces = compiled->render(heap, values->dict(), 1709210096);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const Piece& p : *pieces) out += p.text;
  return out;
}

/// The text with every piece of the conversation in «».
std::string marked(std::string_view source, std::string_view variables) {
  auto compiled = Template::compile(source);
  if (!compiled) return "error: " + compiled.error().message;
  Heap heap(kBudget);
  auto values = parse_json(heap, variables);
  auto pieces = compiled->render(heap, values->dict(), 0);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const Piece& p : *pieces) out += p.trusted ? p.text : "«" + p.text + "»";
  return out;
}

/// The code of the error, or kInternal if there is none.
Code refusal(std::string_view source) {
  auto compiled = Template::compile(source);
  if (!compiled) return compiled.error().code;
  Heap heap(kBudget);
  DictObject none;
  auto pieces = compiled->render(heap, none, 0);
  return pieces ? Code::kInternal : pieces.error().code;
}

TEST(Template, BlocksSwallowTheirLineAsHuggingFaceSetsIt) {
  EXPECT_EQ(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(render("a  {{- 1 -}}  b"), "a1b");
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}{# y #}"), "{{ x }}");
}

TEST(Template, ALoopKnowsWhereItIs) {
  EXPECT_EQ(
      render(
          "{% for x in [5, 6, 7] if x != 6 %}{{ loop.index }}{{ loop.last }}{{ x }} {% endfor %}"),
      "1False5 2True7 ");
  EXPECT_EQ(render("{% for x in [] %}{% else %}none{% endfor %}"), "none");
}

TEST(Template, AssignmentsStayInTheirLoopUnlessInANamespace) {
  EXPECT_EQ(render("{% set x = 0 %}{% set n = namespace(x=0) %}{% for i in [1, 2] %}{% set x = i %}"
                   "{% set n.x = n.x + i %}{% endfor %}{{ x }}{{ n.x }}"),
            "03");
}

TEST(Template, NumbersPrintAsPythonPrintsThem) {
  EXPECT_EQ(render("{{ [1/3, 1e16, 1e-5, 5.0, -7 // 2, -7 % 3, 2 ** -1] }}"),
            "[0.3333333333333333, 1e+16, 1e-05, 5.0, -4, 2, 0.5]");
  EXPECT_EQ(render("{{ x }} {{ x|tojson }}", R"({"x": 18446744073709551615})"),
            "18446744073709551615 18446744073709551615");
}

TEST(Template, JsonKeepsKeyOrderAndDoesNotEscapeHtml) {
  EXPECT_EQ(render("{{ x|tojson }}", R"({"x": {"b": "<é>", "a": [1.0, null, true]}})"),
            R"({"b": "<é>", "a": [1.0, null, true]})");
}

TEST(Template, AnUndefinedValuePrintsNothingAndHasNoParts) {
  EXPECT_EQ(render("[{{ x }}{{ x is defined }}]"), "[False]");
  EXPECT_EQ(render("\n {{ x.y }}"), "error: line 2, column 6: 'x' is undefined");
}

TEST(Template, AnErrorSaysWhereAndWhat) {
  EXPECT_EQ(render("é{{ 1 | nope }}"), "error: line 1, column 9: No filter named 'nope'.");
  EXPECT_EQ(render("{% if x %}"),
            "error: line 1, column 4: unexpected end of template: 'endif' is missing");
  EXPECT_EQ(render("{{ raise_exception('why') }}"),
            "error: line 1, column 19: the template refuses: why");
  EXPECT_EQ(render("a\xFF"), "error: line 1, column 2: the template is not valid UTF-8");
}

TEST(Template, TheSandboxChangesNothing) {
  EXPECT_EQ(refusal("{% set l = [1] %}{{ l.append(2) }}"), Code::kInvalidArgument);
  EXPECT_EQ(refusal("{{ ''.__class__.x }}"), Code::kInvalidArgument);
}

TEST(Template, TheTimeIsAParameter) {
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y %H:%M:%S %j') }}"), "29 Feb 2024 12:34:56 060");
}

TEST(Provenance, SurvivesEveryWayToMakeText) {
  constexpr std::string_view kVariables = R"({"u": "a<|x|>b", "l": ["p", "q"], "n": 60})";
  EXPECT_EQ(marked("A{{ u }}B", kVariables), "A«a<|x|>b»B");
  EXPECT_EQ(marked("{{ 'A' + u|upper + 'B' }}", kVariables), "A«A<|X|>B»B");
  EXPECT_EQ(marked("{{ u[1:-1] ~ '.' ~ u[::-1] }}", kVariables), "«<|x|>».«b>|x|<a»");
  EXPECT_EQ(marked("{{ u.replace('x', 'T') }}", kVariables), "«a<|»T«|>b»");
  EXPECT_EQ(marked("{{ 'TxT'.replace('x', u) }}", kVariables), "T«a<|x|>b»T");
  EXPECT_EQ(marked("{{ u.split('|')[0] }}{{ l|join('-') }}", kVariables), "«a<p»-«q»");
  EXPECT_EQ(marked("{{ '%s!' % u }}{{ '{}?'.format(u) }}", kVariables), "«a<|x|>b»!«a<|x|>b»?");
  EXPECT_EQ(marked("{{ u|tojson }}", kVariables), "«\"a<|x|>b\"»");
  EXPECT_EQ(marked("{{ {'k': u}|tojson }}", kVariables), "{\"k\": «\"a<|x|>b\"»}");
  EXPECT_EQ(marked("{% set y %}[{{ u }}]{% endset %}{{ y|indent }}", kVariables), "[«a<|x|>b»]");
  EXPECT_EQ(marked("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(u) }}", kVariables), "<«a<|x|>b»>");
  EXPECT_EQ(marked("{{ '%c' % n }}{{ '%c' % (u|length + 53) }}", kVariables), "«<<»");
  EXPECT_EQ(marked("{% for c in u %}{{ c }}.{% endfor %}", R"({"u": "é<"})"), "«é».«<».");
  EXPECT_EQ(marked("{{ u|e }}{{ [u] }}", R"({"u": "<"})"), "«&lt;»[«'<'»]");
}

TEST(Bounds, AHostileTemplateEndsInAnError) {
  for (const char* source :
       {"{{ 'a' * 10000000000 }}",
        "{% set n = namespace(x='aaaaaaaaaa') %}{% for i in range(99999) %}{% set n.x = n.x ~ n.x "
        "%}{% endfor %}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set n = namespace(l=[]) %}{% for i in range(5000) %}{% set n.l = [n.l] %}{% endfor "
        "%}{{ n.l }}",
        "{% set n = namespace() %}{% set n.x = [n] %}{{ n }}",
        "{{ ('a' * 4000000).count('a' * 2000000 ~ 'b') }}", "{{ '%99999999999d' % 1 }}",
        "{{ '{:99999999}'.format(1) }}", "{{ 'x'.center(9999999999) }}",
        "{{ [1]|batch(9999999999, 0)|list }}", "{{ ('a,' * 3000000).split(',')|length }}",
        "{{ ([['x' * 1000000] * 1000] * 1000)|tojson }}"}) {
    EXPECT_EQ(refusal(source), Code::kTooLarge) << source;
  }
  EXPECT_EQ(refusal("{{ range(100001) }}"), Code::kInvalidArgument);
  EXPECT_EQ(refusal("{{ 9223372036854775807 + 1 }}"), Code::kInvalidArgument);
}

TEST(Bounds, DeepNestingIsAnErrorAtCompileTime) {
  const auto times = [](std::string_view text, int n) {
    std::string out;
    for (int i = 0; i < n; ++i) out += text;
    return out;
  };
  for (const std::string& source :
       {"{{ " + times("(", 100000) + "1" + times(")", 100000) + " }}", "{{ " + times("[", 100000),
        "{{ " + times("-", 100000) + "1 }}", "{{ " + times("not ", 100000) + "1 }}",
        times("{% if 1 %}", 10000), "{{ 1" + times(" + 1", 10000) + " }}",
        "{{ x" + times("|string", 10000) + " }}", "{{ " + times("1 if 1 else ", 10000) + "1 }}",
        "{{ x" + times(".a", 10000) + " }}"}) {
    EXPECT_EQ(refusal(source), Code::kTooLarge) << source.substr(0, 30);
  }
  EXPECT_EQ(refusal(std::string((std::size_t{1} << 20) + 1, 'x')), Code::kTooLarge);
}

}  // namespace
}  // namespace weir::jinja
