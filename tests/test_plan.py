"""`weir plan` as a person and a program meet it: every question's help and example, formats, files, bad input, the report."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import xml.etree.ElementTree as xml
from html.parser import HTMLParser


import pytest

WEIR = os.environ["WEIR_BIN"]
MODEL = os.environ.get("WEIR_TEST_SMOLLM2")
QUESTIONS = ["fit", "batch", "fleet", "latency", "shard", "disagg", "speculate", "quantize", "cache", "tenants", "scale",
             "regions", "cost", "cascade", "strategy"]
FIT = ["fit", "--model", "llama-3-70b", "--device", "h100", "--devices", "8"]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """No registry of whoever runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def plan(*arguments, **more):
    return subprocess.run([WEIR, "plan", *map(str, arguments)], capture_output=True, text=True, timeout=60, **more)


def answer(*arguments):
    run = plan(*arguments, "--json")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def examples(question):
    text = plan(question, "--help").stdout
    return re.findall(rf"^  weir (plan {question} .*)$", text, re.M)


@pytest.mark.parametrize("question", QUESTIONS)
def test_help_teaches_by_examples_that_run(question):
    found = examples(question)
    assert found
    for example in found:
        if "smollm2" in example:
            continue
        run = subprocess.run(["bash", "-c", f'"$WEIR_BIN" {example}'], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        assert re.match(r"[A-Z0-9]", run.stdout)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_format_of_every_question_is_well_formed(question):
    example = next(e for e in examples(question) if "smollm2" not in e)
    for flag in ["--json", "--csv", "--svg"]:
        run = subprocess.run(["bash", "-c", f'"$WEIR_BIN" {example} {flag}'], capture_output=True, text=True, timeout=60)
        if flag == "--svg" and question == "strategy":
            assert run.returncode == 2 and "no picture" in run.stderr
            continue
        assert run.returncode == 0, run.stderr
        if flag == "--json":
            value = json.loads(run.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
            assert value["question"] == question and value["answer"]
            assert all(set(v) == {"value", "unit"} for v in value["values"].values())
        elif flag == "--csv":
            assert len(list(csv.reader(io.StringIO(run.stdout)))) > 1
        else:
            assert xml.fromstring(run.stdout).tag.endswith("svg")


def test_the_answer_comes_first():
    run = plan(*FIT)
    assert run.returncode == 0
    assert run.stdout.startswith("Llama 3 70B fits")
    assert "\x1b" not in run.stdout


BAD = [
    (["fit"], "--model is needed"),
    (["fit", "--model", "llama-3-70b", "--device", "h1000"], "did you mean 'h100'?"),
    (["fit", "--model", "lama-3-70b"], "did you mean 'llama-3-70b'?"),
    ([*FIT[:-1], "0"], "--devices is 0, but must be from 1"),
    ([*FIT[:-1], "-3"], "--devices is -3, but must be from 1"),
    ([*FIT[:-1], "nan"], "'nan' is not understood"),
    ([*FIT[:-1], "1e99"], "must be from 1 to 1000000"),
    ([*FIT, "--memory", "80"], "80GB (10^9 bytes) or 80GiB (2^30)"),
    ([*FIT, "--overhead", "20"], "write 80GB"),
    ([*FIT, "--weights", "int5"], "did you mean"),
    (["fleet", "--rate", "1000", "--slo", "soon"], "write 20ms"),
    (["batch", "--fixed", "1ms"], "go together"),
    (["batch", "--lengths", ""], "--lengths is empty"),
    (["tenants", "--capacity", "100", "--demands", "a:3"], "NAME=VALUE"),
    (["strategy", "--work", "txt"], "did you mean 'text'?"),
    (["nonsense"], ""),
    ([], ""),
    ([*FIT, "--json", "--csv"], "excludes"),
]


@pytest.mark.parametrize("arguments, says", BAD, ids=[" ".join(b[0])[:50] or "nothing" for b in BAD])
def test_bad_input_is_one_clear_line_and_exit_2(arguments, says):
    run = plan(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert says in run.stderr
    if run.stderr.startswith("weir:"):
        assert run.stderr.count("\n") == 1


def test_files_that_are_not_there_or_not_models(tmp_path):
    assert plan("fit", "--model", tmp_path / "none.gguf").returncode == 3
    text = tmp_path / "text.gguf"
    text.write_text("hello\n" * 100)
    assert plan("fit", "--model", text).returncode in (2, 4, 5)
    assert plan(*FIT, "--registry", tmp_path / "none.yaml").returncode == 3
    wrong = tmp_path / "config.json"
    wrong.write_text('{"num_hidden_layers": -1}')
    run = plan("fit", "--model", wrong)
    assert run.returncode == 2 and "num_hidden_layers" in run.stderr
    wrong.write_text("[1")
    assert plan("fit", "--model", wrong).returncode == 2


def test_a_lone_config_json_gives_the_shape(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
                                "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192}))
    from_file = answer("fit", "--model", path)["values"]
    from_registry = answer("fit", "--model", "llama-3-8b")["values"]
    assert from_file["kv_per_token"] == from_registry["kv_per_token"]
    assert from_file["weights"]["value"] == pytest.approx(from_registry["weights"]["value"], rel=0.002)


def test_experts_of_a_config_json_are_counted(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
                                "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 32768,
                                "num_local_experts": 8, "num_experts_per_tok": 2}))
    mine = answer("shard", "--model", path, "--device", "h100")["values"]
    mixtral = answer("shard", "--model", "mixtral-8x7b", "--device", "h100")["values"]
    for key in ["weights", "active"]:
        assert mine[key]["value"] == pytest.approx(mixtral[key]["value"], rel=0.01)


def test_a_registry_is_laid_over_from_a_flag_and_from_the_home(tmp_path):
    card = "accelerators: {my-card: {title: Card, memory: 24 GiB, bandwidth: 1 TB/s, fp16: 100 TFLOP/s}}\n"
    (tmp_path / "mine.yaml").write_text(card)
    total = 24 * 2**30
    flagged = answer("fit", "--model", "llama-3-8b", "--device", "my-card", "--registry", tmp_path / "mine.yaml")
    assert flagged["values"]["total"]["value"] == total
    (tmp_path / "config/weir").mkdir(parents=True)
    (tmp_path / "config/weir/registry.yaml").write_text(card)
    assert answer("fit", "--model", "llama-3-8b", "--device", "my-card")["values"]["total"]["value"] == total
    (tmp_path / "data/weir").mkdir(parents=True)
    (tmp_path / "data/weir/roofline.yaml").write_text(
        "cpus: {here: {title: This machine, memory: 16 GiB, bandwidth: 20 GB/s, fp16: 0.2 TFLOP/s}}\n")
    batch = answer("batch", "--model", "smollm2-135m", "--device", "here")
    assert batch["values"]["weights_read"]["value"] == pytest.approx(134.5e6 * 2 / 20e9, rel=1e-6)
    (tmp_path / "config/weir/registry.yaml").write_text("accelerators: {x: {memory: 1}}\n")
    run = plan(*FIT)
    assert run.returncode == 2 and "registry.yaml: accelerators.x.title: is missing" in run.stderr


class Page(HTMLParser):
    """Tags that do not close each other, and anything fetched from outside."""

    VOID = {"meta", "br", "img", "link", "rect", "line", "path"}

    def __init__(self):
        super().__init__()
        self.open, self.pictures, self.outside = [], 0, []

    def handle_starttag(self, tag, attributes):
        self.pictures += tag == "svg"
        self.outside += [v for k, v in attributes if k in ("src", "href") and v.startswith("http")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


SERVICE = """
service: Support <chat> & more
about: Answers customers.
common: {model: llama-3-70b, device: h100, devices: 8}
questions:
  strategy: {work: text}
  fit: {context: 8192}
  batch: {slo: 50ms, arrivals: 100}
  fleet: {rate: 50/s, service: 2s, slo: 5s, batch: 16}
  latency: {}
  shard: {}
  disagg: {prompt: 2048}
  speculate: {}
  quantize: {}
  cache: {}
  tenants: {capacity: 100k, demands: {free: 30k, trial: 20k, paid: 80k}}
  scale: {}
  regions: {}
  cost: {tokens: 2300, hourly: $2.5/h}
  cascade: {}
"""


def test_a_report_is_one_whole_page_with_pictures(tmp_path):
    service = tmp_path / "service.yaml"
    service.write_text(SERVICE)
    out = tmp_path / "report.html"
    run = plan("report", service, "-o", out)
    assert run.returncode == 0, run.stderr
    text = out.read_text()
    page = Page()
    page.feed(text)
    assert page.open == [] and page.outside == []
    assert page.pictures == 14
    assert "Support &lt;chat&gt; &amp; more" in text and not re.search(r"\bnan\b", text)
    assert plan("report", service).stdout == text


def test_a_report_that_is_wrong_says_where_and_writes_nothing(tmp_path):
    service = tmp_path / "service.yaml"
    out = tmp_path / "report.html"
    for text, says in [(SERVICE.replace("capacity: 100k", "capacity: -1"), "questions.tenants: --capacity is -1"),
                       (SERVICE.replace("  cache: {}", "  cachee: {}"), "did you mean 'cache'?"),
                       (SERVICE.replace("cost: {", "cost: ["), "line"), ("", "service.yaml")]:
        service.write_text(text)
        run = plan("report", service, "-o", out)
        assert run.returncode == 2 and says in run.stderr, run.stderr
        assert not out.exists()
    assert plan("report", tmp_path / "none.yaml").returncode == 3


def test_json_numbers_are_exact_counts():
    values = answer(*FIT, "--context", "131072")["values"]
    assert values["kv_per_token"] == {"value": 327680, "unit": "B"}
    assert values["kv_per_sequence"]["value"] == 327680 * 131072


needs_model = pytest.mark.skipif(not MODEL and os.environ.get("WEIR_REQUIRE_MODELS") != "1", reason="WEIR_TEST_SMOLLM2 names no model")


@needs_model
def test_fit_agrees_with_what_serving_allocates(tmp_path):
    values = answer("fit", "--model", MODEL)["values"]
    inspected = json.loads(subprocess.run([WEIR, "inspect", MODEL, "--json"], capture_output=True, text=True, timeout=60).stdout)
    for value in inspected.values():
        if isinstance(value, dict) and "kv_page_bytes" in value:
            memory = value
    assert values["weights"]["value"] == memory["weights_bytes"]
    assert values["one_sequence"]["value"] == pytest.approx(memory["total_bytes_one_context"], rel=1e-9)

    # A server's own account, and what the kernel says it holds.
    port_file = tmp_path / "port"
    log = tmp_path / "log"
    with open(log, "wb") as stream:
        server = subprocess.Popen([WEIR, "serve", MODEL, "--port", "0", "--port-file", port_file], stderr=stream, stdout=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            assert server.poll() is None, log.read_text()
            if port_file.exists():
                break
            try:
                server.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        said = re.search(r"^weights +([\d.]+) MiB", log.read_text(), re.M)
        assert values["weights"]["value"] == pytest.approx(float(said[1]) * 2**20, rel=0.02)
        page = re.search(r"bf16, \d+ pages of ([\d.]+) KiB, (\d+) tokens each", log.read_text())
        assert values["kv_per_token"]["value"] == pytest.approx(float(page[1]) * 1024 / int(page[2]), rel=0.02)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(60)
