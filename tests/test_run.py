"""`weir run` as a person and as a script meet it: at a pseudo-terminal and through pipes. Needs a real
model (WEIR_TEST_SMOLLM2); without one the tests are left out, or fail where WEIR_REQUIRE_MODELS=1."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

WEIR = os.environ["WEIR_BIN"]
MODEL = os.environ.get("WEIR_TEST_SMOLLM2")
ANSI = re.compile(rb"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")

if not MODEL:
    if os.environ.get("WEIR_REQUIRE_MODELS") == "1":
        raise RuntimeError("WEIR_TEST_SMOLLM2 must name the model")
    pytest.skip("WEIR_TEST_SMOLLM2 names no model", allow_module_level=True)

GREEDY = ["--temperature", "0"]


def run(*args, stdin="", timeout=120):
    return subprocess.run([WEIR, "run", *args], input=stdin, capture_output=True, text=True, timeout=timeout)


@pytest.fixture
def home(tmp_path):
    return {**{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "XDG_STATE_HOME")},
            "HOME": str(tmp_path), "TERM": "xterm"}


class Terminal:
    """weir run at a pseudo-terminal; what it shows, without escape sequences, grows in `shown`."""

    def __init__(self, env, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(WEIR, [WEIR, "run", MODEL, *args], env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
        self.raw = b""
        self.status = None
        self.wait_for(">>> ")

    @property
    def shown(self):
        return ANSI.sub(b"", self.raw).replace(b"\r", b"").decode("utf-8", "replace")

    def read_some(self, timeout):
        if not select.select([self.fd], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: the other end is closed.
            return False
        self.raw += data
        return bool(data)

    def wait_for(self, text, since=0, timeout=120):
        """Until `text` is shown after position `since`; the position after it."""
        end = time.monotonic() + timeout
        while text not in self.shown[since:]:
            assert time.monotonic() < end, f"{text!r} did not come; shown: {self.shown[-2000:]!r}"
            self.read_some(0.2)
        return since + self.shown[since:].index(text) + len(text)

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def say(self, line):
        """Types a line; waits for the next prompt; what was shown between."""
        start = len(self.shown)
        self.send(line + "\r")
        last = line.rsplit("\n", 1)[-1]
        after = self.wait_for(last, start)
        end = self.wait_for("\n>>> ", after)
        return self.shown[after:end - len("\n>>> ")].strip("\n")

    def leave(self, timeout=30):
        """Waits for the process to end; its exit code."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.read_some(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
        raise AssertionError(f"it does not end; shown: {self.shown[-2000:]!r}")

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def chat(home):
    opened = []

    def start(*args, **env):
        opened.append(Terminal({**home, **env}, *GREEDY, *args))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


# Through pipes.

def test_a_piped_prompt_gives_the_answer_and_nothing_else_on_stdout():
    done = run(MODEL, *GREEDY, "--max-tokens", "16", stdin="What is 2 plus 2?\n")
    assert done.returncode == 0, done.stderr
    assert "4" in done.stdout
    assert done.stdout.endswith("\n")
    assert "\x1b" not in done.stdout and "weir" not in done.stdout


def test_json_is_one_object_that_agrees_with_the_plain_answer():
    ask = [MODEL, "--prompt", "Name three colours.", *GREEDY, "--max-tokens", "24"]
    plain, told = run(*ask), run(*ask, "--json")
    assert told.returncode == 0, told.stderr
    answer = json.loads(told.stdout)
    assert answer["answer"].rstrip("\n") == plain.stdout.rstrip("\n")
    assert answer["finish_reason"] in ("stop", "length")
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert 0 < usage["completion_tokens"] <= 24
    assert answer["timings"]["ttft_ms"] > 0 and answer["timings"]["tokens_per_second"] > 0


def test_a_seed_reproduces_and_seeds_differ():
    def ask(seed):
        return run(MODEL, "--prompt", "Tell me a story.", "--temperature", "1", "--seed", str(seed),
                   "--max-tokens", "24").stdout
    assert ask(1) == ask(1)
    assert ask(1) != ask(2)


def test_the_answer_does_not_depend_on_threads_or_chunks():
    ask = [MODEL, "--prompt", "List the planets of the solar system.", *GREEDY, "--max-tokens", "24"]
    assert len({run(*ask, "--threads", t, "--prefill-chunk", c).stdout
                for t, c in [("1", "512"), ("2", "7"), ("3", "1")]}) == 1


def test_raw_continues_a_text():
    done = run(MODEL, "--raw", "--prompt", "The capital of France is", *GREEDY, "--max-tokens", "6")
    assert done.returncode == 0 and "Paris" in done.stdout


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "int8"])
def test_keys_and_values_can_be_kept_in_any_type(kind):
    ask = [MODEL, "--kv-type", kind, "--raw", "--prompt", "The capital of France is", *GREEDY, "--max-tokens", "12"]
    done = run(*ask)
    assert done.returncode == 0 and "Paris" in done.stdout, done.stderr
    assert run(*ask, "--threads", "1", "--prefill-chunk", "5").stdout == done.stdout


def test_max_tokens_is_told_in_the_finish_reason():
    answer = json.loads(run(MODEL, "--prompt", "Count to one hundred.", *GREEDY, "--max-tokens", "3", "--json").stdout)
    assert answer["finish_reason"] == "length" and answer["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("args, stdin, code, message", [
    (["--temperature", "-1", "--prompt", "x"], "", 2, "temperature must be at least 0"),
    (["--top-p", "hot", "--prompt", "x"], "", 2, "top_p must be a number"),
    ([], "", 2, "standard input is empty"),
    (["--context", "64", "--prompt", "word " * 200], "", 2, "context of 64"),
    (["--no-such-flag"], "", 2, "no-such-flag"),
    (["--kv-type", "q4", "--prompt", "x"], "", 2, "--kv-type must be f32, f16, bf16 or int8, but it is 'q4'"),
])
def test_what_is_wrong_is_one_clear_line(args, stdin, code, message):
    done = run(MODEL, *args, stdin=stdin)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stdout == ""


def test_an_unknown_model_suggests_the_nearest():
    done = run("smolm2", "--prompt", "x")
    assert done.returncode == 3
    assert "smollm2" in done.stderr and done.stdout == ""


@pytest.mark.parametrize("content", [None, b"this is no model\n", b""])
def test_what_is_no_model_is_one_clear_line(tmp_path, content):
    path = tmp_path / "x.gguf"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    done = run(str(path), "--prompt", "x")
    assert done.returncode in (2, 3, 4, 5)
    assert str(path) in done.stderr and len(done.stderr.strip().splitlines()) == 1


def test_ctrl_c_ends_a_piped_answer_with_130():
    process = subprocess.Popen([WEIR, "run", MODEL, "--prompt", "Write a very long story.", *GREEDY],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130


# At a terminal.

def test_a_conversation_remembers_and_streams(chat):
    terminal = chat("--max-tokens", "40")
    first = terminal.say("My name is Ada. Say hello.")
    assert first
    assert terminal.say("/stats").count("tokens") >= 2
    terminal.send("/quit\r")
    assert terminal.leave() == 0


def test_text_comes_while_the_answer_is_made(chat):
    terminal = chat("--max-tokens", "120")
    start = len(terminal.shown)
    terminal.send("Write a story about a lighthouse.\r")
    terminal.wait_for("lighthouse.\n", start)
    sizes = []
    while "\n>>> " not in terminal.shown[start:]:
        terminal.read_some(1)
        sizes.append(len(terminal.raw))
    assert len(set(sizes)) > 5


def test_ctrl_c_stops_the_answer_and_not_the_program(chat):
    terminal = chat()
    start = len(terminal.shown)
    terminal.send("Write a very long story about the sea.\r")
    at = terminal.wait_for("sea.\n", start)
    while len(terminal.shown) < at + 20:
        terminal.read_some(1)
    terminal.send("\x03")
    terminal.wait_for("[stopped]", at)
    terminal.wait_for("\n>>> ", at)
    assert "max_tokens" in terminal.say("/set")


def test_ctrl_c_twice_at_an_empty_prompt_leaves(chat):
    terminal = chat()
    start = len(terminal.shown)
    terminal.send("half a line")
    terminal.wait_for("half a line", start)
    terminal.send("\x03")
    at = terminal.wait_for("^C\n>>> ", start)
    terminal.send("\x03")
    at = terminal.wait_for("Ctrl-C again", at)
    terminal.wait_for(">>> ", at)
    terminal.send("\x03")
    assert terminal.leave() == 0


def test_ctrl_d_leaves(chat):
    terminal = chat()
    terminal.send("\x04")
    assert terminal.leave() == 0


def test_settings_are_checked_and_shown(chat):
    terminal = chat()
    assert "temperature must be at least 0" in terminal.say("/set temperature -3")
    assert "did you mean temperature" in terminal.say("/set temprature 1")
    assert "top_k is 40" in terminal.say("/set top_k 40")
    assert re.search(r"top_k +40", terminal.say("/set"))
    assert "did you mean /help" in terminal.say("/hepl")
    assert "/system TEXT" in terminal.say("/help")


def test_a_message_of_several_lines_is_one_message(chat, tmp_path):
    terminal = chat("--max-tokens", "4")
    start = len(terminal.shown)
    terminal.send('"""first\r')
    terminal.wait_for("... ", start)
    terminal.send("/second\r")
    terminal.wait_for("/second", start)
    terminal.say('third"""')
    start = len(terminal.shown)
    terminal.send("one \\\r")
    terminal.wait_for("... ", start)
    terminal.say("two")
    terminal.say(f"/save {tmp_path}/chat.json")
    messages = json.loads((tmp_path / "chat.json").read_text())["messages"]
    assert [m["content"] for m in messages if m["role"] == "user"] == ["first\n/second\nthird", "one \ntwo"]


def test_a_paste_of_several_lines_waits_for_enter(chat, tmp_path):
    terminal = chat("--max-tokens", "4")
    start = len(terminal.shown)
    terminal.send("\x1b[200~alpha\rbeta\x1b[201~")
    terminal.wait_for("beta", start)
    terminal.say(" gamma")
    terminal.say(f"/save {tmp_path}/chat.json")
    messages = json.loads((tmp_path / "chat.json").read_text())["messages"]
    assert messages[0]["content"] == "alpha\nbeta gamma"


def test_a_saved_conversation_can_be_taken_up_again(chat, tmp_path):
    terminal = chat("--max-tokens", "12", "--system", "Be brief.")
    terminal.say("My cat is called Mimi.")
    terminal.say(f"/save {tmp_path}/chat.json")
    saved = json.loads((tmp_path / "chat.json").read_text())
    assert [m["role"] for m in saved["messages"]] == ["system", "user", "assistant"]
    other = chat()
    assert "2 messages" in other.say(f"/load {tmp_path}/chat.json")
    assert other.say("/system") == "Be brief."
    assert "not a saved conversation" in other.say(f"/load {WEIR}")


def test_history_is_kept_between_sessions(chat, tmp_path):
    first = chat("--max-tokens", "2")
    first.say("a rather unusual question")
    first.send("/quit\r")
    assert first.leave() == 0
    second = chat("--max-tokens", "2")
    start = len(second.shown)
    second.send("\x1b[A\x1b[A")
    second.wait_for("a rather unusual question", start)


def test_a_conversation_that_outgrows_the_context_says_what_to_do(chat):
    terminal = chat("--context", "128")
    seen = ""
    for _ in range(6):
        seen = terminal.say("Tell me a long story about a whale and a ship in the cold northern sea.")
        if "context" in seen:
            break
    assert "/reset starts over" in seen
    terminal.say("/set max_tokens 8")
    terminal.say("/reset")
    assert "context" not in terminal.say("Hello")


def test_without_colour_nothing_is_coloured(chat):
    terminal = chat("--max-tokens", "4", NO_COLOR="1")
    terminal.say("Hello")
    assert not re.search(rb"\x1b\[[0-9;]*m", terminal.raw)


def test_a_dumb_terminal_gets_plain_lines(chat):
    terminal = chat("--max-tokens", "4", TERM="dumb")
    assert terminal.say("Hello")
    assert b"\x1b" not in terminal.raw
    terminal.send("\x04")
    assert terminal.leave() == 0
