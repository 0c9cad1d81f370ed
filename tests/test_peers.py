"""What bench/peers and tools/convert_gguf decide themselves, without any of the peers: a pipeline that is scripted
stands for OpenVINO's."""

import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

import gguf
import numpy as np
import pytest

from conftest import script

ROOT = pathlib.Path(__file__).resolve().parents[1]
WEIR = os.environ["WEIR_BIN"]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import environments  # noqa: E402
import openvino_server  # noqa: E402


compare, convert_gguf = script(ROOT / "bench" / "peers" / "compare"), script(ROOT / "tools" / "convert_gguf")


class Scripted:
    """A pipeline of one token a step for each request: the answer is the bytes of WORDS, one id each. Id 300 is a
    special token."""

    WORDS = "wörds that são 日本 "

    def __init__(self, delay=0.0):
        self.name, self.delay, self.running, self.cancelled = "scripted", delay, [], 0
        vocabulary = {bytes([number]): number for number in range(256)} | {b"<|end|>": 300, b"<b>": 301}
        self.pieces = openvino_server.Pieces(vocabulary, lambda number: number == 300)

    def encode(self, messages):
        return " ".join(message["content"] for message in messages).split()

    def count(self, prompt):
        return len(prompt)

    def add(self, number, prompt, most, ignore_eos, temperature):
        self.running.append(ScriptedHandle(self, most, ignore_eos))
        return self.running[-1]

    def busy(self):
        return bool(self.running)

    def step(self):
        time.sleep(self.delay)
        for handle in list(self.running):
            handle.step()


class ScriptedHandle:
    def __init__(self, pipeline, most, ignore_eos):
        self.pipeline, self.most, self.ignore_eos, self.ids, self.at, self.reason = pipeline, most, ignore_eos, [], 0, None

    def step(self):
        answer = self.pipeline.WORDS.encode()
        self.ids.append(answer[self.at % len(answer)] if self.at < len(answer) or self.ignore_eos else 300)
        self.at += 1
        self.reason = "stop" if self.ids[-1] == 300 else "length" if self.at == self.most else None
        if self.reason:
            self.pipeline.running.remove(self)

    def poll(self):
        ids, self.ids = self.ids, []
        return ids, self.reason

    def cancel(self):
        self.pipeline.cancelled += 1
        if self in self.pipeline.running:
            self.pipeline.running.remove(self)


@pytest.fixture
def scripted():
    started = []

    def start(delay=0.0):
        server = openvino_server.Server(Scripted(delay))
        thread = threading.Thread(target=server.run)
        thread.start()
        started.append((server, thread))
        return server

    yield start
    for server, thread in started:
        server.running = False
        thread.join(10)
        assert not thread.is_alive()


def chat(server, **fields):
    wire = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    wire.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "a b c"}], **fields}))
    return wire, wire.getresponse()


def events(answer):
    lines = [line[6:] for line in answer.read().decode().split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_an_answer_is_streamed_in_whole_characters(scripted):
    _, answer = chat(scripted(), max_tokens=100, stream=True, stream_options={"include_usage": True})
    told = events(answer)
    pieces = [event["choices"][0]["delta"].get("content", "") for event in told if event["choices"]]
    assert "".join(pieces) == Scripted.WORDS and "\ufffd" not in "".join(pieces)
    assert told[-2]["choices"][0]["finish_reason"] == "stop"
    tokens = len(Scripted.WORDS.encode()) + 1  # The end is a token without text.
    assert told[-1]["usage"] == {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": tokens + 3}


def test_an_answer_cut_within_a_character_ends_in_a_mark(scripted):
    _, answer = chat(scripted(), max_tokens=2, stream=True)
    told = events(answer)
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in told) == "w\ufffd"
    assert told[-1]["choices"][0]["finish_reason"] == "length"


def test_a_whole_answer_and_two_on_one_connection(scripted):
    server = scripted()
    wire, answer = chat(server, max_tokens=1)
    body = json.loads(answer.read())
    assert body["choices"][0] == {"index": 0, "message": {"role": "assistant", "content": "w"}, "finish_reason": "length"}
    wire.request("GET", "/v1/models")
    assert json.loads(wire.getresponse().read())["data"][0]["id"] == "scripted"


def test_what_is_no_chat_is_refused_and_the_server_lives(scripted):
    server = scripted()
    for method, path, body, status in (("GET", "/", "", 404), ("POST", "/v1/chat/completions", "{", 400),
                                       ("POST", "/v1/chat/completions", '{"messages": 1}', 400)):
        wire = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        wire.request(method, path, body)
        answer = wire.getresponse()
        assert answer.status == status and "error" in json.loads(answer.read())
    assert chat(server, max_tokens=1)[1].status == 200


def test_a_client_that_leaves_frees_its_place(scripted):
    server = scripted(0.01)
    wire, answer = chat(server, max_tokens=10**6, ignore_eos=True, stream=True)
    assert answer.read(10)
    answer.close()
    wire.close()
    deadline = time.monotonic() + 10
    while server.engine.running and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.engine.running and server.engine.cancelled == 1


def test_the_client_measures_it(scripted, tmp_path):
    path = tmp_path / "run.json"
    done = subprocess.run([WEIR, "bench", "serve", f"http://127.0.0.1:{scripted(0.001).port}", "--users", "4", "--requests", "20",
                           "--output", "60", "--quiet", "--json", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    run = json.loads(path.read_text())
    assert run["completed"] == 20 and run["output_lens"] == [60] * 20 and run["weir"]["usage_told"]


def test_a_server_is_announced_when_it_takes_requests(tmp_path):
    port_file = tmp_path / "port"
    announce = [sys.executable, str(ROOT / "bench" / "peers" / "announce.py"), str(port_file), "20"]
    process = subprocess.Popen([*announce, WEIR, "bench", "echo", "--port", "PORT"])
    try:
        deadline = time.monotonic() + 20
        while not port_file.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        wire = http.client.HTTPConnection("127.0.0.1", int(port_file.read_text()), timeout=20)
        wire.request("GET", "/v1/models")
        assert wire.getresponse().status == 200
        child = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0 and not pathlib.Path(f"/proc/{child}").exists()
    finally:
        process.kill()
    port_file.unlink()
    assert subprocess.run([*announce, "sh", "-c", "exit 7"]).returncode == 7 and not port_file.exists()


def test_all_processes_of_a_peer_are_counted_and_stopped(tmp_path):
    """One that waits spinning, below a shell, as a server of several processes does."""
    spin = f"import pathlib\npathlib.Path({str(tmp_path / 'port')!r}).write_text('1')\nwhile True: pass"
    peer = compare.Peer("spinner", lambda port_file: ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", spin], tmp_path)
    used = lambda: compare.cpu_seconds(peer.process.pid)
    try:
        assert len(compare.family(peer.process.pid)) == 2
        deadline = time.monotonic() + 20
        while used() < 0.2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        peer.signal_all(signal.SIGSTOP)
        time.sleep(0.1)
        before = used()
        time.sleep(0.5)
        assert used() == before
        peer.signal_all(signal.SIGCONT)
        while used() < before + 0.05:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        peer.signal_all(signal.SIGKILL)
        peer.process.wait()
    assert used() == 0


def test_only_what_stands_between_the_marks_is_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{compare.BEGIN}\nold\n{compare.END}\nafter\n")
    compare.write(page, f"{compare.BEGIN}\nnew\n{compare.END}")
    assert page.read_text() == f"before\n{compare.BEGIN}\nnew\n{compare.END}\nafter\n"


def test_an_environment_is_made_once_and_again_when_its_pins_change(tmp_path):
    calls = []

    def make(folder):
        calls.append(folder)
        (folder / "half").touch()
        if len(calls) == 1:
            raise environments.Skip("no")

    with pytest.raises(environments.Skip):
        environments.made("peer", ["a==1"], make, tmp_path)
    for pins in (["a==1"], ["a==1"], ["a==2"]):  # The first failed half way, so it is made anew.
        environments.made("peer", pins, make, tmp_path)
    assert len(calls) == 3


def test_what_a_peer_needs_is_asked_for_without_what_is_pinned_apart():
    asked = ["torch==2.13.0+cpu; platform_machine == \"x86_64\"", "torchaudio", "numpy", "fastapi[standard]<1",
             "datasets; extra == \"bench\""]
    assert environments.needs(asked, {"torch", "torchaudio"}) == ["numpy", "fastapi[standard]<1"]


def test_every_peer_is_pinned():
    for packages in (environments.XLLAMACPP, environments.OPENVINO, environments.VLLM_WITH,
                     [environments.VLLM, environments.LLAMA_CPP_SOURCE, environments.IK_LLAMA_CPP_SOURCE]):
        assert all(re.fullmatch(r"[a-z-]+==[0-9.]+", package) for package in packages)
    assert set(compare.DEFAULT.split(",")) <= set(compare.PEERS)


def test_a_build_that_is_gone_is_made_again(tmp_path, monkeypatch):
    """As when the folder that it was a link to has been removed."""
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    commands, archive = [], tmp_path / "x.tar.gz"
    with tarfile.open(archive, "w:gz") as made:
        made.add(__file__, "x-1/vendor/x/source.cpp")

    def download(command, what):
        commands.append(command[0])
        if "download" in command:
            shutil.copy(archive, command[command.index("-d") + 1])
        if "--build" in command:
            server = command[command.index("--build") + 1] / "bin" / "llama-server"
            server.parent.mkdir(parents=True)
            server.touch()
    monkeypatch.setattr(environments, "do", download)
    build = lambda: environments.built("x", "x==1", "x-*/vendor/x", ["-DA=ON"], {"deep/missing.txt": "text"})
    folder = build()
    assert folder == build() and len(commands) == 3
    assert next(tmp_path.glob("x-built/x-1/vendor/x/deep/missing.txt")).read_text() == "text"
    shutil.rmtree(folder)
    assert build() == folder and len(commands) == 6


def test_a_page_tells_no_paths_and_each_server_has_its_file(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["compare", "--model", "/a/m.gguf", "--model-of", "weir=/b/fast.gguf", "--page", "/c/p.md", "--rounds", "2"])
    args = argparse.Namespace(model="/a/m.gguf", model_of={"weir": "/b/fast.gguf"}, rounds=2)
    assert compare.told_command("compare", args) == "bench/peers/compare --model MODEL --model-of weir=fast.gguf --rounds 2"
    assert compare.peer_args(args, "weir").model == "/b/fast.gguf" and compare.peer_args(args, "vLLM").model == "/a/m.gguf"


def test_weights_are_written_again_in_another_type(tmp_path):
    source, target = tmp_path / "a.gguf", tmp_path / "b.gguf"
    values = np.random.default_rng(5).standard_normal((8, 64)).astype(np.float32)
    writer = gguf.GGUFWriter(source, "llama")
    writer.add_uint32("llama.block_count", 1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "ü"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    for name, kind in (("w1", "Q4_1"), ("w2", "Q4_1"), ("head", "Q8_0")):
        kind = gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.add_tensor("norm", values[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    assert convert_gguf.convert(source, target, gguf.GGMLQuantizationType.Q4_0) == 2
    before, after = gguf.GGUFReader(source), gguf.GGUFReader(target)
    told = {name: field.contents() for name, field in after.fields.items()}
    assert told.pop("general.file_type") == gguf.LlamaFileType.MOSTLY_Q4_0
    assert told.items() <= {name: field.contents() for name, field in before.fields.items()}.items()
    was, now = ({tensor.name: tensor for tensor in reader.tensors} for reader in (before, after))
    assert {name: tensor.tensor_type.name for name, tensor in now.items()} == {"w1": "Q4_0", "w2": "Q4_0", "head": "Q8_0",
                                                                               "norm": "F32"}
    for name in now:
        assert list(now[name].shape) == list(was[name].shape)
        a, b = (gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(-1) for tensor in (was[name], now[name]))
        assert np.array_equal(a, b) if name in ("head", "norm") else np.abs(a - b).max() < 0.6, name
