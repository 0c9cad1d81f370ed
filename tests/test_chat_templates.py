"""The engine against Python's Jinja2: the same bytes, or both refuse."""

import copy
import json
import os
import random

import jinja_families
import jinja_features
import jinja_random
import pytest
from jinja_reference import NOW, disagreements, environment, ours, reference

CONTEXT = {"bos_token": "<s>", "eos_token": "</s>"}


def show(bad):
    return "\n".join(json.dumps(b, ensure_ascii=False)[:2000] for b in bad[:10])


def test_every_feature_prints_what_jinja2_prints():
    assert len(jinja_features.CASES) > 300
    bad = disagreements(jinja_features.CASES)
    assert not bad, show(bad)


def test_random_programs_print_what_jinja2_prints():
    first = int(os.environ.get("WEIR_TEST_SEED", "0"))
    bad = disagreements(jinja_random.cases(first, 5000))
    assert not bad, show(bad)


def variables_of(conversation, arguments_as_text=False, absent="missing", template=""):
    """What transformers would hand to the template."""
    out = {"tools": None, "documents": None, "add_generation_prompt": True, **CONTEXT}
    out.update(copy.deepcopy({k: v for k, v in conversation.items() if k != "kwargs"}))
    out.update(conversation.get("kwargs", {}))
    for m in out["messages"]:
        if m["role"] == "developer" and "developer" not in template:
            m["role"] = "system"
        if "content" not in m and absent != "missing":
            m["content"] = None if absent == "none" else ""
        if "reasoning_content" in m:
            m["thinking"] = m["reasoning_content"]
        for c in m.get("tool_calls", []):
            if arguments_as_text:
                c["function"]["arguments"] = json.dumps(c["function"]["arguments"], ensure_ascii=False)
    return out


def conversation_line(template, conversation):
    c = copy.deepcopy(conversation)
    c["tools"] = [json.dumps(t, ensure_ascii=False) for t in c.get("tools", [])]
    c["kwargs"] = json.dumps(c["kwargs"]) if "kwargs" in c else ""
    for m in c["messages"]:
        for call in m.get("tool_calls", []):
            call["function"]["arguments"] = json.dumps(call["function"]["arguments"], ensure_ascii=False)
    return {"template": template, "chat": True, "conversation": {**c, **CONTEXT}}


def forms(conversation):
    """The ways a tool-calling message may be handed over; other conversations have only one."""
    if not any("tool_calls" in m for m in conversation["messages"]):
        return [(False, "missing")]
    return [(as_text, absent) for as_text in (False, True) for absent in ("missing", "none", "empty")]


def test_families_print_what_jinja2_prints():
    assert len(jinja_families.FAMILIES) >= 20
    cases = [(template, variables_of(c, *form, template)) for template in jinja_families.FAMILIES.values()
             for c in jinja_families.CONVERSATIONS.values() for form in forms(c)]
    bad = disagreements(cases)
    assert not bad, show(bad)


def check_conversations(templates):
    cases = [(name, t, key, c) for name, t in templates.items() for key, c in jinja_families.CONVERSATIONS.items()]
    answers = ours([conversation_line(t, c) for _, t, _, c in cases])
    refused = 0
    for (name, template, key, c), answer in zip(cases, answers, strict=True):
        expected = [reference(template, variables_of(c, *form, template)) for form in forms(c)]
        texts = [text for kind, text in expected if kind == "ok"]
        if "error" in answer:
            refused += 1
            assert len(texts) < len(expected), (name, key, answer)
        else:
            assert answer["ok"] in texts, (name, key, answer, texts[:1])
    return len(cases), refused


def test_chat_templates_print_conversations_in_a_form_the_template_takes():
    total, refused = check_conversations(jinja_families.FAMILIES)
    assert refused < total / 4, (total, refused)


@pytest.mark.parametrize("variable", ["WEIR_TEST_SMOLLM2", "WEIR_TEST_GEMMA3"])
def test_the_template_inside_a_real_model(variable):
    path = os.environ.get(variable)
    if not path:
        assert os.environ.get("WEIR_REQUIRE_MODELS") != "1", f"{variable} is not set"
        pytest.skip(f"{variable} is not set")
    import gguf

    field = gguf.GGUFReader(path).fields.get("tokenizer.chat_template")
    if field is None:
        pytest.skip(f"{path} carries no chat template")
    check_conversations({variable: bytes(field.parts[field.data[0]]).decode()})


def marked(text, rng):
    """Text of characters that occur in no template: each one printed must be untrusted."""
    alphabet = [chr(c) for c in range(0x2460, 0x24FF)]
    return "".join(rng.choice([*alphabet, " ", "\n"]) for _ in range(rng.randrange(1, 12)))


def test_no_character_of_the_conversation_is_ever_trusted():
    rng = random.Random(7)
    lines = []
    for template in [*jinja_families.FAMILIES.values(), *(t for t, _ in jinja_random.cases(100000, 1500))]:
        variables = variables_of(jinja_families.CONVERSATIONS["call"])
        variables.update({"s": marked("", rng), "u": marked("", rng), "l": [marked("", rng), 2], "e": "", "a": 1, "b": 2, "t": True, "nil": None,
                          "d": {"k": marked("", rng), marked("", rng): 1}, "ms": [{"role": "user", "content": marked("", rng)}, {"role": marked("", rng), "content": "x"}]})
        for m in variables["messages"]:
            if "content" in m:
                m["content"] = marked("", rng)
        lines.append({"template": template, "variables": json.dumps(variables, ensure_ascii=False)})
    printed = 0
    for line, answer in zip(lines, ours(lines), strict=True):
        if "error" in answer:
            continue
        data = answer["ok"].encode()
        for begin, end in answer["trusted"]:
            piece = data[begin:end].decode(errors="replace")
            assert not any(0x2460 <= ord(c) < 0x2500 or c == "\ufffd" for c in piece), (line, answer)
        printed += sum(0x2460 <= ord(c) < 0x2500 for c in answer["ok"])
    assert printed > 1000


def test_an_error_says_line_and_column():
    answers = ours([{"template": t, "variables": "{}"} for t in
                    ["a\n  {{ x.y }}", "{% for %}", "é {{ 1 | nope }}", "{{ raise_exception('no\u00e9') }}"]])
    assert [a["error"].split(":")[0] for a in answers] == [
        "line 2, column 7", "line 1, column 8", "line 1, column 10", "line 1, column 19"]


def test_the_reference_environment_is_the_one_of_transformers():
    env = environment()
    assert env.trim_blocks and env.lstrip_blocks and not env.keep_trailing_newline and not env.autoescape
    assert NOW == 1709210096
