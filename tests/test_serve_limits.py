"""What an operator bounds on the command line of `weir serve`: caps of a request, capacity kept for a class,
memory. Needs a real model (WEIR_TEST_SMOLLM2), as conftest.py says."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from conftest import serving

WEIR = os.environ["WEIR_BIN"]
MODEL = os.environ.get("WEIR_TEST_SMOLLM2")

if not MODEL:
    if os.environ.get("WEIR_REQUIRE_MODELS") == "1":
        raise RuntimeError("WEIR_TEST_SMOLLM2 must name the model")
    pytest.skip("WEIR_TEST_SMOLLM2 names no model", allow_module_level=True)


@pytest.fixture(scope="module")
def bounded(tmp_path_factory):
    yield from serving(
        lambda port_file: [WEIR, "serve", MODEL, "--port", "0", "--port-file", str(port_file), "--alias", "m",
                           "--context", "1024", "--max-running", "8", "--memory", "512MiB",
                           "--max-input-tokens", "100", "--max-output-tokens", "20", "--max-request-seconds", "30",
                           "--reserve", "critical=10%", "--reserve", "standard=20%",
                           "--length-caps", "50=8,rest=4"],
        tmp_path_factory.mktemp("bounded"))


def ask(server, path="/v1/completions", headers=None, **fields):
    """(status, body)."""
    request = urllib.request.Request(
        server.url + path, json.dumps({"model": "m", "prompt": "One two", **fields}).encode(),
        {"content-type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_prompt_over_its_cap_is_told_so(bounded):
    status, body = ask(bounded, prompt="word " * 200)
    assert status == 400 and body["error"]["code"] == "context_length_exceeded"
    assert "at most 100 tokens of input" in body["error"]["message"]


def test_an_answer_over_its_cap_is_refused_and_one_of_no_length_ends_at_it(bounded):
    status, body = ask(bounded, max_tokens=21)
    assert status == 400 and body["error"]["param"] == "max_tokens"
    assert "at most 20 tokens" in body["error"]["message"]
    status, body = ask(bounded, "/v1/chat/completions", prompt=None, ignore_eos=True,
                       messages=[{"role": "user", "content": "Count."}])
    assert status == 200 and body["usage"]["completion_tokens"] == 20


def test_a_longer_time_than_a_request_may_take_is_refused(bounded):
    status, body = ask(bounded, headers={"x-request-timeout-ms": "30001"}, max_tokens=1)
    assert status == 400 and "at most 30000 ms" in body["error"]["message"]
    assert ask(bounded, headers={"x-request-timeout-ms": "30000"}, max_tokens=1)[0] == 200


def test_metrics_say_what_is_kept_for_whom(bounded):
    assert ask(bounded, max_tokens=1, priority="critical")[0] == 200
    with urllib.request.urlopen(bounded.url + "/metrics") as answer:
        text = answer.read().decode()
    kept = {name: float(value) for name, value in
            re.findall(r'^weir_class_reserved_pages\{.*priority="(\w+)".*\} (\S+)$', text, re.M)}
    total = sum(float(v) for v in re.findall(r"^weir_pages\{.*\} (\S+)$", text, re.M))
    assert kept["background"] == 0 and total > 0
    assert kept["critical"] == -(-total * 10 // 100) and kept["standard"] == -(-total * 20 // 100)


def refused(*flags):
    done = subprocess.run([WEIR, "serve", MODEL, "--port", "0", *flags], capture_output=True, text=True, timeout=60)
    assert done.returncode not in (0, None)
    return done.stderr


def test_too_little_memory_is_told_the_least_that_would_do():
    # 512 positions are the fewest it lowers its context to by itself.
    said = refused("--memory", "100MiB")
    assert ", 32 pages of" in said
    least = float(re.search(r"= ([\d.]+) MiB, but", said)[1])
    assert "not enough memory" in refused("--memory", f"{int(least)}MiB")
    # A tenth kept for critical requests asks for a tenth more of pages.
    assert ", 36 pages of" in refused("--memory", "100MiB", "--reserve", "critical=10%")


@pytest.mark.parametrize("flags,words", [
    (["--reserve", "urgent=10%"], "critical=N%"), (["--reserve", "background=10%"], "everyone may use"),
    (["--reserve", "critical=95%"], "0% to 90%"), (["--length-caps", "50"], "TOKENS=N"),
    (["--length-caps", "50=1,20=1"], "ascend"), (["--max-output-tokens", "15"], "at least 16")])
def test_flags_that_make_no_sense_are_refused_before_the_model_is_loaded(flags, words):
    assert words in refused(*flags)
