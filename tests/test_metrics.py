"""What a server says of itself: /metrics through Prometheus' own parser, GET /v1/requests/{id}, `timings`, and
who may see what. The traffic is random and rude; the books must balance all the same."""

import json
import random
import threading
import time
import urllib.error
import urllib.request

import openai
import pytest
from conftest import Server, scripted
from prometheus_client.parser import text_string_to_metric_families


def scrape(server):
    with urllib.request.urlopen(server.url + "/metrics", timeout=20) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
    samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k not in ("model_name", "engine")))
            assert (sample.name, labels) not in samples, f"{sample.name} {labels} twice"
            samples[sample.name, labels] = sample.value
    return samples


def value(samples, name, **labels):
    return samples[name, tuple(sorted(labels.items()))]


def client_of(server, key="none"):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)


def ask(client, text, **more):
    return client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": text}], **more)


def get(server, path, key=None):
    request = urllib.request.Request(server.url + path)
    if key:
        request.add_header("authorization", f"Bearer {key}")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def settled(server):
    """The figures once nothing waits or runs."""
    deadline = time.monotonic() + 60
    while True:
        samples = scrape(server)
        if value(samples, "weir_requests", state="waiting") + value(samples, "weir_requests", state="running") == 0:
            return samples
        assert time.monotonic() < deadline, "requests do not end"
        time.sleep(0.05)


OUTCOMES = ("finished", "cancelled", "failed", "late")


def check_balance(m):
    ended = sum(value(m, "weir_requests_total", outcome=o) for o in OUTCOMES)
    now = value(m, "weir_requests", state="waiting") + value(m, "weir_requests", state="running")
    assert value(m, "weir_requests_accepted_total") == ended + now
    fates = value(m, "weir_answer_tokens_total", fate="delivered") + value(m, "weir_answer_tokens_total", fate="wasted")
    assert fates == value(m, "vllm:generation_tokens_total")
    assert sum(value(m, "weir_pages", state=s) for s in ("free", "held", "cached")) > 0


def test_the_books_balance_through_random_rude_traffic(start_server):
    server = start_server("--running", "4", "--queue", "8")
    stop = threading.Event()
    delivered = []

    def audit():
        while not stop.is_set():
            check_balance(scrape(server))

    def visit(seed):
        draw = random.Random(seed)
        client = client_of(server)
        for _ in range(25):
            try:
                kind = draw.randrange(6)
                if kind == 0:  # Leaves in the middle.
                    stream = ask(client, "slow 2 50", stream=True)
                    for _, _chunk in zip(range(draw.randrange(4)), stream):
                        pass
                    stream.close()
                elif kind == 1:
                    with pytest.raises(openai.APIError):
                        ask(client, "fail")
                elif kind == 2:  # A stop string in the middle of a token.
                    ask(client, "count 40", stop=["12 1"])
                elif kind == 3:
                    ask(client, "say again and again", n=3)
                else:
                    delivered.append(ask(client, f"count {draw.randrange(1, 60)}").usage.completion_tokens)
            except openai.RateLimitError:
                pass

    auditor = threading.Thread(target=audit)
    auditor.start()
    visitors = [threading.Thread(target=visit, args=(seed,)) for seed in range(6)]
    for v in visitors:
        v.start()
    for v in visitors:
        v.join()
    m = settled(server)
    stop.set()
    auditor.join()
    check_balance(m)
    assert value(m, "weir_pages", state="held") == 0
    assert value(m, "weir_requests_total", outcome="finished") >= len(delivered) > 0
    assert value(m, "weir_requests_total", outcome="failed") > 0
    assert value(m, "weir_requests_total", outcome="cancelled") > 0
    assert value(m, "weir_answer_tokens_total", fate="delivered") >= sum(delivered)
    assert value(m, "weir_cancel_delay_seconds_count") >= value(m, "weir_requests_total", outcome="cancelled")
    # Each ended request is in exactly one of vLLM's reasons.
    reasons = [value(m, "vllm:request_success_total", finished_reason=r) for r in ("stop", "length", "abort", "error")]
    assert sum(reasons) == sum(value(m, "weir_requests_total", outcome=o) for o in OUTCOMES)
    finished = value(m, "weir_requests_total", outcome="finished")
    assert value(m, "vllm:time_to_first_token_seconds_count") == finished
    assert value(m, "vllm:e2e_request_latency_seconds_count") == finished
    assert value(m, "weir_steps_total") == value(m, "weir_step_seconds_count")
    used = value(m, "weir_budget_rows_total", kind="used")
    assert used == value(m, "vllm:iteration_tokens_total_sum")
    assert used <= value(m, "weir_budget_rows_total", kind="offered")


def test_vllms_names_and_buckets_are_there(server):
    ask(client_of(server), "count 5")
    m = scrape(server)
    for gauge in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"):
        assert ("vllm:" + gauge, ()) in m
    for counter in ("prompt_tokens", "generation_tokens", "num_preemptions", "prefix_cache_queries", "prefix_cache_hits"):
        assert ("vllm:" + counter + "_total", ()) in m
    ttft = [dict(labels)["le"] for (name, labels) in m if name == "vllm:time_to_first_token_seconds_bucket"]
    assert [float(x) for x in ttft] == [.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40,
                                        80, 160, 640, 2560, float("inf")]
    itl = [dict(labels)["le"] for (name, labels) in m if name == "vllm:inter_token_latency_seconds_bucket"]
    assert len(itl) == 20 and float(itl[0]) == .01


def test_prefix_hits_are_counted_in_tokens_and_told_in_usage(start_server):
    server = start_server()
    client = client_of(server)
    text = "say " + "a rather long beginning that repeats " * 8
    first = ask(client, text)
    second = ask(client, text)
    assert first.usage.prompt_tokens_details.cached_tokens == 0
    cached = second.usage.prompt_tokens_details.cached_tokens
    assert 0.9 * second.usage.prompt_tokens < cached < second.usage.prompt_tokens
    assert second.choices[0].message.content == first.choices[0].message.content
    m = settled(server)
    assert value(m, "vllm:prefix_cache_hits_total") == cached
    assert value(m, "vllm:prefix_cache_queries_total") == 2 * first.usage.prompt_tokens


def test_further_choices_cost_no_second_prompt(start_server):
    server = start_server()
    answer = ask(client_of(server), "say " + "word " * 60, n=4)
    assert len({c.message.content for c in answer.choices}) == 1
    m = settled(server)
    prompt = answer.usage.prompt_tokens
    assert value(m, "weir_prompt_tokens_total", source="computed") == prompt + 3


def test_an_answer_tells_where_its_time_went_when_asked(server):
    client = client_of(server)
    assert not hasattr(ask(client, "count 9").choices[0], "timings")
    whole = ask(client, "count 9", extra_body={"timings": True}).choices[0].timings
    assert whole["completion_tokens"] > 0 and whole["prefill_chunks"] == 1 and whole["preemptions"] == 0
    assert whole["queue_ms"] >= 0 and whole["prefill_ms"] > 0 and whole["decode_ms"] >= 0
    last = [c for c in ask(client, "count 9", stream=True, extra_body={"timings": True}) if c.choices][-1]
    assert last.choices[0].finish_reason == "stop"
    assert last.choices[0].timings["completion_tokens"] == whole["completion_tokens"]


def test_a_request_can_be_looked_up_while_it_runs_and_after(start_server):
    server = start_server("--running", "1")
    client = client_of(server)
    running = ask(client, "slow 10 300", stream=True, extra_headers={"x-request-id": "me"})
    first = next(iter(running))
    account = get(server, "/v1/requests/" + first.id)
    assert account["id"] == first.id and account["choices"][0]["state"] == "decode"
    waiting = threading.Thread(target=lambda: ask(client, "say hi", extra_headers={"x-request-id": "w"}))
    waiting.start()
    deadline = time.monotonic() + 20
    while True:
        try:
            if get(server, "/v1/requests/chatcmpl-w")["choices"][0]["state"] == "waiting":
                break
        except urllib.error.HTTPError as error:
            assert error.code == 404
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.close()
    waiting.join()
    done = get(server, "/v1/requests/chatcmpl-w")["choices"][0]
    assert done["state"] == "stop" and done["timings"]["waited_for"] == "a running sequence to end"
    while get(server, "/v1/requests/" + first.id)["choices"][0]["state"] != "cancelled":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_request_of_another_key_is_not_found_and_its_prompt_not_shared(start_server):
    server = start_server("--key", "k")
    mine, theirs = client_of(server, "k"), client_of(server, "k-2")
    text = "say " + "our secret plan is long and detailed " * 6
    answer = ask(mine, text)
    assert get(server, "/v1/requests/" + answer.id, "k")["choices"][0]["state"] == "stop"
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(server, "/v1/requests/" + answer.id, "k-2")
    assert refused.value.code == 404
    assert ask(theirs, text).usage.prompt_tokens_details.cached_tokens == 0
    # The same id from both: each is told of its own.
    same = {"x-request-id": "same"}
    assert ask(mine, "count 3", extra_headers=same).id == ask(theirs, "count 30", extra_headers=same).id
    short, long = (get(server, "/v1/requests/chatcmpl-same", k)["choices"][0]["timings"] for k in ("k", "k-2"))
    assert short["completion_tokens"] < long["completion_tokens"]
    assert ask(mine, text).usage.prompt_tokens_details.cached_tokens > 0


def test_more_answers_than_may_wait_are_refused_for_good(start_server):
    server = start_server("--queue", "4")
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client_of(server), "say x", n=5)
    assert "at most 4" in str(refused.value)
    assert value(scrape(server), "weir_requests_accepted_total") == 0


def test_a_deadline_ends_a_request_with_408(start_server):
    server = start_server()
    client = client_of(server)
    with pytest.raises(openai.APIStatusError) as late:
        ask(client, "slow 20 200", extra_headers={"x-request-timeout-ms": "300"})
    assert late.value.status_code in (408, 504), late.value
    m = settled(server)
    assert value(m, "weir_requests_total", outcome="late") == 1
    for wrong in ("0", "-1", "soon", "99999999999"):
        with pytest.raises(openai.BadRequestError):
            ask(client, "say x", extra_headers={"x-request-timeout-ms": wrong})


def test_urgent_requests_pass_those_that_can_wait(start_server):
    server = start_server("--running", "1")
    client = client_of(server)
    running = ask(client, "slow 20 2000", stream=True)
    next(iter(running))
    order = []

    def wait(name, **more):
        ask(client, f"say {name}", **more)
        order.append(name)

    patient = threading.Thread(target=wait, args=("patient",), kwargs={"service_tier": "flex"})
    patient.start()
    while value(scrape(server), "weir_requests", state="waiting") < 1:
        time.sleep(0.02)
    urgent = threading.Thread(target=wait, args=("urgent",), kwargs={"extra_body": {"priority": "critical"}})
    urgent.start()
    urgent.join()  # It sends the running one away, and that one comes back afterwards.
    running.close()
    patient.join()
    assert order == ["urgent", "patient"]
    m = settled(server)
    assert value(m, "weir_preemptions_total", reason="priority") >= 1
    with pytest.raises(openai.BadRequestError):
        ask(client, "say x", extra_body={"priority": "huge"})


def test_an_idle_server_sleeps(tmp_path):
    """No thread of an idle server runs: CPU time stands still."""
    server = Server(scripted(), tmp_path)
    try:
        ask(client_of(server), "count 3")
        time.sleep(0.5)
        before = value(scrape(server), "process_cpu_seconds_total")
        time.sleep(1)
        spent = value(scrape(server), "process_cpu_seconds_total") - before
        assert spent < 0.02, f"{spent} s of CPU in one idle second"
    finally:
        server.kill()
