"""Python's Jinja2 with the settings of Hugging Face's chat templates, and our engine beside it."""

import copy
import datetime
import functools
import json
import os
import subprocess

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1709210096  # 2024-02-29 12:34:56 UTC, a leap day.


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks the assistant's text for training; prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_body")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(lineno)

    def _body(self, caller):
        return caller()


def _raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def _tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _strftime_now(format):
    return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).replace(tzinfo=None).strftime(format)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    env.filters["tojson"] = _tojson
    env.globals["raise_exception"] = _raise_exception
    env.globals["strftime_now"] = _strftime_now
    return env


ENVIRONMENT = environment()


@functools.lru_cache(maxsize=256)
def _compiled(template):
    return ENVIRONMENT.from_string(template)


def reference(template, variables):
    """("ok", text) or ("error", exception)."""
    try:
        text = _compiled(template).render(**copy.deepcopy(variables))
        text.encode()
        return "ok", text
    except Exception as e:  # Whatever Python raises is a refusal.
        return "error", f"{type(e).__name__}: {e}"


def ours(lines):
    """One answer for each line, from a single run of the helper."""
    tool = os.path.join(os.environ["WEIR_TEST_BIN_DIR"], "render_tool")
    text = "".join(json.dumps({"now": NOW, **line}) + "\n" for line in lines)
    done = subprocess.run([tool], input=text.encode(), stdout=subprocess.PIPE, check=True, timeout=250)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def disagreements(cases):
    """The (template, variables) pairs on which the two differ, with what each said."""
    answers = ours([{"template": t, "variables": json.dumps(v)} for t, v in cases])
    out = []
    for (template, variables), answer in zip(cases, answers, strict=True):
        kind, text = reference(template, variables)
        if kind == "ok" and answer.get("ok") == text:
            continue
        if kind == "ok" and " at 0x" in text:
            continue  # Python printed an address; ours have none.
        if kind == "error" and "error" in answer:
            continue
        out.append({"template": template, "variables": variables, "python": (kind, text), "weir": answer})
    return out
