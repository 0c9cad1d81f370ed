"""`weir bench` against `weir bench echo`, whose delays are known: what is measured is what happened."""

import csv
import json
import os
import re
import signal
import statistics
import subprocess
from xml.etree import ElementTree

import pytest

from conftest import Server

WEIR = os.environ["WEIR_BIN"]
ATTEMPTS = 4  # A busy machine delays both ends; a wrong client is wrong every time.


@pytest.fixture
def echo(tmp_path):
    started = []

    def start(*flags):
        folder = tmp_path / f"echo{len(started)}"
        server = Server(lambda port_file: [WEIR, "bench", "echo", "--port-file", str(port_file), "--log",
                                           str(folder / "log.csv"), *map(str, flags)], folder)
        server.csv = folder / "log.csv"
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()


def bench(*arguments, code=0):
    done = subprocess.run([WEIR, "bench", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def measure(server, tmp_path, *flags):
    path = tmp_path / "run.json"
    bench("serve", server.url, "--quiet", "--json", path, *flags)
    return json.loads(path.read_text())


def log_of(server):
    """What the server did, in milliseconds, without the two probes and the two of the warm-up."""
    code, _ = server.stop(signal.SIGINT)
    assert code == 0, server.log()
    return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(open(server.csv))][4:]


def test_figures_are_exact_to_a_millisecond(echo, tmp_path):
    worst = []
    for _ in range(ATTEMPTS):
        server = echo("--first", 50, "--gap", 10)
        run = measure(server, tmp_path, "--users", 2, "--requests", 30, "--output", 12)
        told = log_of(server)
        assert len(told) == run["completed"] == 30
        tpot = [(row["last_ms"] - row["first_ms"]) / (row["pieces"] - 1) for row in told]
        off = {"ttft": run["median_ttft_ms"] - statistics.median(row["first_ms"] for row in told),
               "tpot": run["median_tpot_ms"] - statistics.median(tpot),
               "e2el": run["median_e2el_ms"] - statistics.median(row["last_ms"] for row in told)}
        worst.append(off)
        if all(-0.1 < value < 1 for value in off.values()):
            return
    pytest.fail(f"off by {worst} ms")


def test_a_stall_is_seen_by_all_who_came_in_it(echo, tmp_path):
    """100 a second for 4 s, and the server stands still for one of them: half of the hundred that came in it waited
    over half a second. A client that sends less while the server is slow ("coordinated omission") sees one."""
    seen = []
    for _ in range(ATTEMPTS):
        slow = {}
        for load in (["--rate", 100, "--burstiness", 0], ["--users", 1]):
            server = echo("--first", 1, "--stall-at", 2, "--stall-for", 1)
            run = measure(server, tmp_path, *load, "--seconds", 4, "--output", 1, "--input", 8)
            slow[load[0]] = sum(ttft > 0.5 for ttft in run["ttfts"])
        assert slow["--rate"] >= 45, "a busy machine adds to the slow, it takes none away"
        seen.append(slow)
        if slow["--rate"] <= 60 and slow["--users"] == 1:
            return
    pytest.fail(f"slow: {seen}")


def test_tokens_are_those_asked_for(echo, tmp_path):
    run = measure(echo(), tmp_path, "--users", 1, "--requests", 20, "--input", "uniform:20,60", "--output", 7)
    assert all(20 <= n <= 60 for n in run["input_lens"]) and len(set(run["input_lens"])) > 5
    assert run["output_lens"] == [7] * 20
    assert run["weir"]["tokens_per_word"] == 1 and run["weir"]["client_cpu_percent"] > 0


def test_a_seed_makes_the_same_workload(echo, tmp_path):
    server = echo()
    flags = ["--rate", 200, "--requests", 40, "--input", "lognormal:50,0.8", "--output", "normal:8,3"]
    a, b, c = (measure(server, tmp_path, *flags, "--seed", seed) for seed in (5, 5, 6))
    for name in ("input_lens", "output_lens", "start_times"):
        assert a[name] == b[name] != c[name], name


def test_a_trace_is_replayed(echo, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,30,4\n"
                     "2023-11-16 18:17:05.9799600,40,5\n2023-11-16 18:17:07.9799600,4000,6\n")
    run = measure(echo(), tmp_path, "--trace", trace, "--stretch", 0.1, "--max-tokens", 1000)
    assert run["input_lens"] == [30, 40] and run["output_lens"] == [4, 5]
    assert run["start_times"] == pytest.approx([0, 0.2])


def test_a_run_is_given_up_once_its_objective_is_out_of_reach(echo, tmp_path):
    server, path = echo("--first", 1500), tmp_path / "run.json"
    flags = ["--quiet", "--json", path, "--requests", 100, "--warmup", 0, "--give-up-below", 90]
    bench("serve", server.url, *flags, "--rate", 1000, "--slo", "ttft:200", code=1)
    run = json.loads(path.read_text())
    assert run["weir"]["stopped"] == "11 of 100 requests have missed ttft:200"
    cut = [ended for outcome, ended in zip(run["weir"]["outcomes"], run["weir"]["ended_after"]) if outcome == "cut_off"]
    assert sum(ended > .2 for ended in cut) >= 11 and run["weir"]["first_after"] == [None] * 100
    assert "needs an objective" in bench("serve", server.url, *flags, code=2).stderr


def test_errors_are_counted_by_kind(echo, tmp_path):
    run = measure(echo("--fail-every", 5), tmp_path, "--users", 3, "--requests", 50, "--warmup", 0)
    assert run["failed"] == 10 and run["weir"]["errors_by_kind"] == {"http_500": 10}
    assert run["weir"]["completion"] == pytest.approx(0.8)


def test_clients_that_leave_are_seen_to_hang_up(echo, tmp_path):
    server = echo("--first", 3000)
    path = tmp_path / "run.json"
    bench("serve", server.url, "--quiet", "--json", path, "--users", 4, "--requests", 12, "--leave", 1,
          "--leave-after", 0.05, "--warmup", 0, code=1)  # Nothing was answered.
    assert json.loads(path.read_text())["weir"]["left"] == 12
    assert sum(row["hung_up"] for row in log_of(server)) >= 10


def test_the_search_finds_a_capacity(echo, tmp_path):
    page = tmp_path / "page.html"
    done = bench("search", echo("--first", 5, "--gap", 1).url, "--slo", "ttft:2000", "--seconds", 0.3, "--from-rate", 20,
                 "--most-rate", 40, "--input", 8, "--output", 2, "--html", page)
    assert "up to 40 requests/s" in done.stdout
    plots = re.findall("<svg.*?</svg>", page.read_text(), re.DOTALL)
    assert len(plots) == 8
    for plot in plots:
        drawn = ElementTree.fromstring(plot)
        assert drawn.findall(".//path") or drawn.findall(".//circle")


def test_comparing_reads_what_serving_wrote(echo, tmp_path):
    server = echo()
    files = []
    for i in range(3):
        for label in ("a", "b"):
            files.append(tmp_path / f"{label}{i}.json")
            bench("serve", server.url, "--quiet", "--label", label, "--requests", 10, "--seed", i, "--json", files[-1])
    table = bench("compare", *files, "--markdown").stdout
    sweep = tmp_path / "sweep.json"
    bench("serve", server.url, "--quiet", "--users", "1,2", "--requests", 5, "--json", sweep)
    assert re.findall(r"^  \d users$", bench("compare", sweep).stdout, re.MULTILINE) == ["  1 users", "  2 users"]
    assert table.startswith("a (3 runs), b (3 runs); intervals of 95 % over runs") and "| b / a |" in table


def test_mistakes_are_told(echo, tmp_path):
    server = echo()
    assert "is the server running" in bench("serve", "127.0.0.1:9", "--model", "m", code=7).stderr
    assert "give one of them" in bench("serve", server.url, "--rate", 1, "--users", 1, code=2).stderr
    assert "no length" in bench("serve", server.url, "--input", "long", code=2).stderr
    assert "no objective" in bench("serve", server.url, "--slo", "fast", code=2).stderr
    assert "JSON object" in bench("serve", server.url, "--extra", "top_k=1", code=2).stderr
    assert "https" in bench("serve", "https://localhost", code=5).stderr
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    assert "not the JSON of a run" in bench("compare", broken, code=4).stderr


def test_our_own_server_is_measured(start_server, tmp_path):
    server = start_server()
    run = measure(server, tmp_path, "--users", 1, "--requests", 5, "--output", 8, "--input", 60)
    assert run["completed"] == 5 and run["model_id"] == "scripted"
    assert run["weir"]["usage_told"] and run["output_lens"] == [8] * 5
