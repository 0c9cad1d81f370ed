"""How bench/peers/goodput searches, judges and tells, with servers that are simulated, and once with real processes:
`weir bench echo`, which takes any load."""

import json
import os
import pathlib
import random
import re
import sys
import types
from xml.etree import ElementTree

import pytest

from conftest import script

ROOT = pathlib.Path(__file__).resolve().parents[1]
WEIR = os.environ["WEIR_BIN"]
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import capacity  # noqa: E402
import goodput_found  # noqa: E402
import goodput_page  # noqa: E402
import probes  # noqa: E402
import svg_chart  # noqa: E402

goodput = script(ROOT / "bench" / "peers" / "goodput")
CHAT = "ttft:1000,tpot:50"


def run_of(requests, stopped=""):
    """What weir writes of requests (outcome, first, ended, tokens): seconds since each was wanted, None where there is none."""
    done = [outcome == "completed" for outcome, *_ in requests]
    return {"ttfts": [first if ok else 0 for ok, (_, first, _, _) in zip(done, requests)],
            "latencies": [ended if ok else 0 for ok, (_, _, ended, _) in zip(done, requests)],
            "itls": [[] for _ in requests], "output_lens": [tokens if ok else 0 for ok, (_, _, _, tokens) in zip(done, requests)],
            "p90_ttft_ms": 0, "p90_tpot_ms": 0,
            "weir": {"outcomes": [outcome for outcome, *_ in requests], "stopped": stopped,
                     "first_after": [first for _, first, _, _ in requests], "ended_after": [ended for _, _, ended, _ in requests]}}


class Queue:
    """A server that answers one after another: `each` seconds a request, a fifth of it to the first token."""

    def __init__(self, each, slowest=0):
        self.each, self.slowest = each, slowest

    def answer(self, trace, rate, count):
        free, told = 0.0, []
        for i in range(count):
            takes = self.each * (10 if i < self.slowest else 1)
            at = free if rate == capacity.ALONE else trace.times[i] * trace.rate(count) / rate
            free = max(free, at) + takes
            told.append(("completed", free - .8 * takes - at, free - at, trace.outputs[i]))
        return told


@pytest.fixture
def trace(tmp_path):
    """300 Poisson arrivals, one a second."""
    drawn, at, lines = random.Random(7), 0.0, []
    for _ in range(300):
        at += drawn.expovariate(1)
        lines.append(json.dumps({"timestamp": 1e3 * at, "input_length": drawn.randrange(10, 900), "output_length": 20}))
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines))
    return probes.Trace(path)


def arguments(monkeypatch, *more):
    monkeypatch.setattr(sys, "argv", ["goodput", "--model", __file__, "--trace", __file__, *map(str, more)])
    return goodput.parsed()


class Simulated:
    """A search over servers that are simulated, each run kept as the real ones are."""

    def __init__(self, args, trace, path, servers):
        self.trace, self.servers, self.left, self.spent = trace, servers, 60 * args.budget_minutes, dict.fromkeys(servers, 0)
        self.folder = probes.Folder(path, {"load": {"trace": "t", "max_tokens": 0, "max_input": 0, "from": 0, "requests": args.requests,
                                                    "seconds": args.seconds, "threads": 2},
                                           "servers": {name: {"model": "m", "is": None} for name in servers}})
        self.search = goodput.Search(args, trace, self.folder)

    def run(self, most=100):
        for _ in range(most):
            if (one := self.search.next(self.servers, self.spent, self.left)) is None:
                return
            server, rate, slo, whole = one
            count = self.search.requests(rate)
            told = self.servers[server].answer(self.trace, rate, count)
            run = run_of(told)
            if not whole and capacity.judge(capacity.objective(slo), run, self.trace.outputs).missed > .1 * count:
                run = self.given_up(told, slo, count)
            took = max((ended for _, _, ended, _ in told)) + (0 if rate == capacity.ALONE else count / rate)
            self.spent[server] += took
            self.left -= took
            self.folder.add({"server": server, "rate": rate, "requests": count, "slo": slo, "seed": self.folder.seed, "took_s": took,
                             "run": run})

    def given_up(self, told, slo, count):
        """Ended with the first request too many, the rest was never sent."""
        for i in range(count):
            begun = told[:i + 1] + [("unsent", None, None, 20)] * (count - i - 1)
            if capacity.judge(capacity.objective(slo), run_of(begun), self.trace.outputs[:count]).missed > .1 * count:
                return run_of(begun, "so many have missed")


def test_what_is_known_of_a_request_that_was_cut_off():
    planned = [11] * 7
    run = run_of([("completed", .9, 1.4, 11), ("completed", .9, 1.41, 11), ("cut_off", None, 1.01, 11), ("cut_off", None, .99, 11),
                  ("cut_off", .5, 1.01, 11), ("cut_off", .5, .99, 11), ("unsent", None, None, 11)])
    seen = capacity.judge(capacity.objective(CHAT), run, planned)
    assert (seen.good, seen.missed, seen.of) == (1, 3, 7)  # 51 ms a token; no first token; 51 ms a token so far.
    assert seen.met(4 / 7) is None and seen.met(5 / 7) is False and seen.met(1 / 7) is True
    assert str(seen) == "at most 57.1 %"
    loose = capacity.judge(capacity.objective("ttft:2000"), run, planned)
    assert (loose.good, loose.missed) == (2, 0)
    assert capacity.judge(capacity.objective("e2el:1000"), run, planned).missed == 4


def test_what_failed_has_missed():
    run = run_of([(kind, None, .01, 1) for kind in ("http_status", "broken_stream", "timeout", "no_connection")])
    assert capacity.judge(capacity.objective(CHAT), run, [1] * 4).missed == 4


@pytest.mark.parametrize("wrong", ["", "ttft", "ttft:0", "ttft:x", "ttft:1,ttft:2", "speed:3", "ttft:inf"])
def test_what_is_no_objective_is_told(wrong):
    with pytest.raises(ValueError, match="no objective"):
        capacity.objective(wrong)


def test_a_search_brackets_and_then_halves():
    plan, tried, rates = capacity.Plan(.1, 64, 2, 1.1), {}, []
    while (rate := capacity.next_rate(tried, 1, plan)) is not None:
        rates.append(rate)
        tried[rate] = rate <= 5.3
    assert rates[:5] == [0, 1, 2, 4, 8]
    met, missed = capacity.known({rate: met for rate, met in tried.items() if rate})
    assert met <= 5.3 < missed <= 1.1 * met and len(rates) == 8
    assert capacity.next_rate({0: False}, 1, plan) is None
    assert capacity.next_rate({0: True, .1: False}, 1, plan) is None, "below the least rate nothing is tried"
    assert capacity.next_rate({0: True, 64: True}, 1, plan) is None, "nor above the most"


@pytest.mark.parametrize("each", [.05, .2, .6])
def test_the_search_finds_what_a_long_search_would(trace, tmp_path, monkeypatch, each):
    args = arguments(monkeypatch, "--budget-minutes", 1e6, "--requests", 200, "--precision", 1.05, "--curve", 0)
    simulated = Simulated(args, trace, tmp_path / "runs", {"weir": Queue(each)})
    simulated.run()
    met, missed = simulated.search.found().capacity("weir", CHAT)

    def holds(rate):
        count = simulated.search.requests(rate)
        return capacity.judge(capacity.objective(CHAT), run_of(simulated.servers["weir"].answer(trace, rate, count)),
                              trace.outputs[:count]).met(.9)
    assert holds(met) and not holds(missed) and missed / met <= 1.051 and len(simulated.folder.probes) <= 12


def test_a_server_that_misses_alone_is_asked_once_and_for_its_curve(trace, tmp_path, monkeypatch):
    args = arguments(monkeypatch, "--budget-minutes", 1e6, "--curve", 2)
    simulated = Simulated(args, trace, tmp_path / "runs", {"llama.cpp": Queue(.4, slowest=15), "weir": Queue(.1)})
    simulated.run()
    rates = [probe["rate"] for probe in simulated.folder.probes if probe["server"] == "llama.cpp"]
    assert rates[0] == 0 and len(rates) == 3
    told = goodput_found.summary(simulated.search.found(), CHAT)
    assert told[0] == ("llama.cpp meets it at no rate: of requests sent one at a time, with nobody else there, 75 % do, not 90 %.")
    assert "There is no ratio of weir to llama.cpp" in " ".join(told)


@pytest.mark.parametrize(("theirs", "told"), [
    ((.5, .55), "weir takes 4.0 times the rate of llama.cpp, and 3.6 times a rate that it misses."),
    ((.5, None), "There is no ratio of weir to llama.cpp yet, whose limit was not found."),
    ((None, .1), "weir takes over 20.0 times the rate of llama.cpp.")])
def test_a_ratio_is_told_of_limits_that_were_found(theirs, told):
    limits = {"llama.cpp": theirs, "weir": (2, 2.2)}
    found = types.SimpleNamespace(servers=list(limits), capacity=lambda name, _: limits[name], tried=lambda *_: {0: True})
    assert goodput_found.ratio(found, CHAT) == [told]


def test_one_run_is_judged_for_every_objective(trace, tmp_path, monkeypatch):
    """What meets the strict one meets the loose one, so the second search has less to ask."""
    args = arguments(monkeypatch, "--budget-minutes", 1e6, "--curve", 0, "--slo", CHAT, "--slo", "ttft:4000,tpot:50")
    both = Simulated(args, trace, tmp_path / "both", {"weir": Queue(.3)})
    both.run()
    apart = 0
    for slo in args.slo:
        args.slo = [slo]
        alone = Simulated(args, trace, tmp_path / slo, {"weir": Queue(.3)})
        alone.run()
        apart += len(alone.folder.probes)
        args.slo = [CHAT, "ttft:4000,tpot:50"]
        assert alone.search.found().capacity("weir", slo) == pytest.approx(both.search.found().capacity("weir", slo), rel=.2)
    assert len(both.folder.probes) < apart - 1


def test_a_search_that_was_ended_goes_on_where_it_was(trace, tmp_path, monkeypatch):
    args = arguments(monkeypatch, "--budget-minutes", 1e6, "--curve", 0)
    whole = Simulated(args, trace, tmp_path / "whole", {"weir": Queue(.2)})
    whole.run()
    for _ in range(len(whole.folder.probes)):
        Simulated(args, trace, tmp_path / "parts", {"weir": Queue(.2)}).run(most=1)
    parts = probes.Folder(tmp_path / "parts")
    order = lambda folder: [(probe["rate"], probe["seed"]) for probe in folder.probes]
    assert order(parts) == order(whole.folder)
    assert len({probe["seed"] for probe in parts.probes}) == len(parts.probes)


def test_nothing_is_begun_that_the_budget_does_not_hold(trace, tmp_path, monkeypatch):
    args = arguments(monkeypatch, "--budget-minutes", 16)
    simulated = Simulated(args, trace, tmp_path / "runs", {"llama.cpp": Queue(1), "weir": Queue(.1)})
    simulated.run()
    assert simulated.left > -60 and simulated.search.wanted("llama.cpp") and not simulated.search.wanted("weir")


def test_the_first_objective_comes_first_whoever_had_more_time(trace, tmp_path, monkeypatch):
    args = arguments(monkeypatch, "--budget-minutes", 1e6, "--slo", CHAT, "--slo", "ttft:4000,tpot:50")
    simulated = Simulated(args, trace, tmp_path / "runs", {"llama.cpp": Queue(1), "weir": Queue(.1)})
    simulated.run()
    for_slo = [args.slo.index(probe["slo"]) for probe in simulated.folder.probes]
    last_strict = max(i for i, probe in enumerate(simulated.folder.probes)
                      if probe["slo"] == CHAT and not goodput_found.whole(probe))
    assert last_strict < for_slo.index(1), "curves, which are whole, are all that comes after"


def test_runs_of_another_load_are_not_mixed(tmp_path):
    settings = {"load": {"trace": "a", "slots": "8"}, "servers": {"weir": {"model": "m"}}}
    probes.Folder(tmp_path, settings)
    probes.Folder(tmp_path, settings).add({"server": "weir", "seed": 1})
    with pytest.raises(ValueError, match="another slots"):
        probes.Folder(tmp_path, {"load": {"trace": "a", "slots": "4"}, "servers": {}})
    with pytest.raises(ValueError, match="another weir"):
        probes.Folder(tmp_path, {"load": settings["load"], "servers": {"weir": {"model": "other"}}})
    for model in ("m", "n"):  # Nothing was measured of the first.
        more = probes.Folder(tmp_path, {"load": settings["load"], "servers": {"llama.cpp": {"model": model}}})
    assert set(more.settings["servers"]) == {"weir", "llama.cpp"}
    with pytest.raises(ValueError, match="run one first"):
        probes.Folder(tmp_path / "none")


def test_a_part_of_a_trace(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
        f"2023-11-16 18:17:{second:02}.5000000,{prompt},{answer}\n" for second, prompt, answer in
        [(0, 10, 10), (10, 20, 0), (20, 5000, 5), (30, 30, 7), (36, 900, 5)]))
    part = probes.Trace(path, start=5, max_tokens=1000, max_input=500)
    assert part.times == [0, 20] and part.outputs == [1, 7] and part.rate(2) == pytest.approx(1 / 20)
    part.write(tmp_path / "b.csv")
    again = probes.Trace(tmp_path / "b.csv")
    assert (again.times, again.inputs, again.outputs) == (part.times, part.inputs, part.outputs)
    with pytest.raises(ValueError, match="fewer than two"):
        probes.Trace(path, start=36)


def test_the_pictures_hold_what_was_found(trace, tmp_path, monkeypatch):
    args = arguments(monkeypatch, "--budget-minutes", 1e6, "--slo", CHAT, "--slo", "ttft:4000,tpot:200")
    simulated = Simulated(args, trace, tmp_path / "runs", {"llama.cpp": Queue(.4, slowest=15), "weir": Queue(.1)})
    simulated.run()
    found = simulated.search.found()
    page = goodput_page.page(found, "today", "a <fine> processor")
    assert "http://www.w3.org/2000/svg" in page and page.count("http") == page.count("http://www.w3.org/2000/svg")
    assert "<script" not in page and "a &lt;fine&gt; processor" in page and "nan" not in page and "inf" not in page
    drawn = [ElementTree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", page, re.DOTALL)]
    assert len(drawn) == 6
    marks = [len(drawn[0].findall(".//{*}circle")) + sum("h8m" in one.get("d") for one in drawn[0].findall(".//{*}path"))]
    told = [found.verdict(probe, CHAT) for probe in found.shown]
    assert marks == [sum(one.exact or one.at_most < .9 for one in told)] and marks[0] > len(told) / 2
    alone = ElementTree.fromstring(svg_chart.alone(goodput_page.attainment_chart(found, CHAT)))
    assert alone.get("width") and "style" in alone[0].tag
    section = goodput_page.section(found, "command", "today", "cpu", goodput.MARKS, ["One note."], "goodput.svg")
    assert section.startswith(goodput.MARKS[0]) and section.endswith(goodput.MARKS[1]) and "(goodput.svg)" in section
    assert len(re.findall(r"^\| (?:llama\.cpp|weir) \|", section, re.MULTILINE)) == len(found.shown)


def test_numbers_on_axes_are_round_and_few():
    for low, high in ((.02, .09), (.1, 3), (.05, 64), (3, 9000)):
        ticks = svg_chart.Axis("", low, high, log=True).ticks()
        assert 2 <= len(ticks) <= 9 and all(low * .999 <= tick <= high * 1.001 for tick in ticks)
    assert svg_chart.Axis("", 0, 1, percent=True).ticks() == pytest.approx([0, .2, .4, .6, .8, 1])


def test_two_servers_are_searched_and_the_page_written_and_written_again(tmp_path, monkeypatch, trace):
    """Real processes. One server needs 300 ms to its first token, which is too long; the other takes all that comes."""
    echo = lambda first: lambda args, port_file: [WEIR, "bench", "echo", "--first", first, "--gap", "1", "--port-file", str(port_file)]
    monkeypatch.setattr(goodput.compare, "PEERS", {"slow": (echo("300"), "a slow one"), "weir": (echo("1"), None)})
    page = tmp_path / "page.md"
    flags = ["--only", "slow,weir", "--slo", "ttft:200", "--slo", "ttft:20000", "--weir", WEIR, "--requests", "6", "--seconds", ".1",
             "--most-rate", "6", "--results", tmp_path / "runs", "--page", page, "--budget-minutes", "2", "--svg", tmp_path / "a.svg",
             "--curve", "0"]
    monkeypatch.setattr(sys, "argv", ["goodput", "--model", __file__, "--trace", str(tmp_path / "trace.jsonl"), *map(str, flags)])
    goodput.main()
    text = page.read_text()
    assert "slow meets it at no rate: of requests sent one at a time, with nobody else there, 0 % do, not 90 %." in text
    assert "weir meets it at 6 requests/s (6 of 6 did) and no higher rate was tried." in text
    assert "(a.svg)" in text and "--model MODEL --trace trace.jsonl" in text and str(tmp_path) not in text
    runs = sorted(one.name for one in (tmp_path / "runs").iterdir())
    kept = probes.Folder(tmp_path / "runs").probes
    assert [probe["run"]["weir"]["stopped"] for probe in kept if probe["rate"] == 0] == ["", ""], "one at a time is never given up"

    monkeypatch.setattr(sys, "argv", ["goodput", "--report-only", "--results", str(tmp_path / "runs"), "--page", str(page)])
    goodput.main()
    assert "slow meets it at no rate" in page.read_text() and "--model MODEL" in page.read_text()
    assert sorted(one.name for one in (tmp_path / "runs").iterdir()) == runs


def test_weir_and_the_page_agree_on_who_met(tmp_path, monkeypatch, trace):
    """The objective is judged here again, from the records; a run that went to its end gives both the same share."""
    echo = lambda args, port_file: [WEIR, "bench", "echo", "--first", "2", "--gap", "1", "--fail-every", "4", "--port-file",
                                    str(port_file)]
    monkeypatch.setattr(goodput.compare, "PEERS", {"weir": (echo, None)})
    flags = ["--only", "weir", "--weir", WEIR, "--requests", "40", "--results", tmp_path / "runs", "--page", tmp_path / "page.md",
             "--curve", "0"]
    monkeypatch.setattr(sys, "argv", ["goodput", "--model", __file__, "--trace", str(tmp_path / "trace.jsonl"), *map(str, flags)])
    goodput.main()
    found = probes.Folder(tmp_path / "runs").probes
    assert len(found) == 1
    seen = capacity.judge(capacity.objective(CHAT), found[0]["run"], trace.outputs[:40])
    assert seen.missed == 10 and seen.at_least == found[0]["run"]["weir"]["attainment"] and seen.exact
