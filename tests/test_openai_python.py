"""OpenAI's official Python client against Weir."""

import json
import os
import threading
import time

import openai
import pytest
from conftest import balanced


def client_of(server, key="none", **more):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0, timeout=60, **more)


@pytest.fixture
def client(server):
    return client_of(server)


def ask(client, text, **more):
    return client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": text}], **more)


def joined(stream, index=0):
    return "".join(c.delta.content or "" for chunk in stream for c in chunk.choices if c.index == index)


def test_models_are_listed_and_found(client):
    listed = client.models.list().data
    assert [m.id for m in listed] == ["scripted"]
    assert client.models.retrieve("scripted").object == "model"
    assert client.models.retrieve("org/scripted").id == "org/scripted"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-9")
    assert caught.value.code == "model_not_found"


def test_chat_answers_whole(client):
    answer = ask(client, "say hello there")
    assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-")
    assert answer.model == "scripted"
    choice = answer.choices[0]
    assert choice.message.role == "assistant" and choice.message.content == "hello there"
    assert choice.message.refusal is None
    assert choice.finish_reason == "stop" and choice.logprobs is None
    usage = answer.usage
    assert usage.prompt_tokens > 5 and usage.completion_tokens > 2
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.prompt_tokens_details.cached_tokens == 0


def test_chat_streams_in_openais_shape(client):
    chunks = list(ask(client, "say hello there", stream=True))
    assert len({c.id for c in chunks}) == 1 and len({c.created for c in chunks}) == 1
    assert all(c.object == "chat.completion.chunk" and c.model == "scripted" for c in chunks)
    first, *middle, last = [c.choices[0] for c in chunks]
    assert first.delta.role == "assistant" and first.delta.content == ""
    assert all(c.delta.role is None and c.finish_reason is None for c in middle)
    assert last.delta.content is None and last.finish_reason == "stop"
    assert "".join(c.delta.content for c in middle) == "hello there"
    assert all(c.usage is None for c in chunks)


def test_usage_comes_last_when_asked_for(client):
    chunks = list(ask(client, "say hi", stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 2
    assert all(c.usage is None for c in chunks[:-1])
    whole = ask(client, "say hi").usage
    assert chunks[-1].usage.total_tokens == whole.total_tokens


@pytest.mark.parametrize("text", ["say h\u00e9llo \U0001f600 \u4f60\u597d", "count 40", "say a\\nb\\n", "say x"])
@pytest.mark.parametrize("stop", [None, ["7 8", "\u4f60"], "l"])
def test_streamed_and_whole_answers_are_equal(client, text, stop):
    whole = ask(client, text, stop=stop, logprobs=True, top_logprobs=2)
    chunks = list(ask(client, text, stop=stop, logprobs=True, top_logprobs=2, stream=True))
    assert joined(chunks) == whole.choices[0].message.content
    finish = [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason]
    assert finish == [whole.choices[0].finish_reason]
    entries = [e for c in chunks if c.choices[0].logprobs for e in c.choices[0].logprobs.content]
    assert [e.model_dump() for e in entries] == [e.model_dump() for e in whole.choices[0].logprobs.content]
    data = bytes(b for e in entries for b in e.bytes)
    assert data.decode() == whole.choices[0].message.content
    assert all(len(e.top_logprobs) == 2 and e.top_logprobs[0].logprob <= 0 for e in entries)


def test_stop_strings_are_never_returned(client):
    answer = ask(client, "count 50", stop=["4 5", "zzz"])
    assert answer.choices[0].message.content == "1 2 3 "
    assert answer.choices[0].finish_reason == "stop"


def test_max_tokens_ends_with_length(client):
    answer = ask(client, "count 50", max_completion_tokens=5)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 5
    chunks = list(ask(client, "count 50", max_tokens=5, stream=True))
    assert chunks[-1].choices[0].finish_reason == "length"


def test_several_choices(client):
    answer = ask(client, "say two", n=3)
    assert [c.index for c in answer.choices] == [0, 1, 2]
    assert {c.message.content for c in answer.choices} == {"two"}
    chunks = list(ask(client, "say two", n=3, stream=True))
    assert [joined(chunks, i) for i in range(3)] == ["two"] * 3


def test_completions(client):
    answer = client.completions.create(model="scripted", prompt="say hello", max_tokens=20)
    assert answer.object == "text_completion" and answer.id.startswith("cmpl-")
    assert answer.choices[0].text == "hello" and answer.choices[0].finish_reason == "stop"
    assert client.completions.create(model="scripted", prompt="count 90").usage.completion_tokens == 16
    chunks = list(client.completions.create(model="scripted", prompt="say hello", max_tokens=20, stream=True))
    assert "".join(c.choices[0].text for c in chunks) == "hello"
    many = client.completions.create(model="scripted", prompt=["say a", "say b"], n=2)
    assert [c.text for c in many.choices] == ["a", "a", "b", "b"]
    assert client.completions.create(model="scripted", prompt=list(b"say abc")).choices[0].text == "abc"


def test_completions_echo_and_logprobs(client):
    echoed = client.completions.create(model="scripted", prompt="say abc", echo=True)
    assert echoed.choices[0].text == "say abcabc"
    chunks = list(client.completions.create(model="scripted", prompt="say abc", echo=True, stream=True))
    assert "".join(c.choices[0].text for c in chunks) == "say abcabc"
    logprobs = client.completions.create(model="scripted", prompt="say \u00e9bc", logprobs=2).choices[0].logprobs
    assert logprobs.text_offset == sorted(logprobs.text_offset)
    assert len(logprobs.tokens) == len(logprobs.token_logprobs) == len(logprobs.top_logprobs)


def test_typed_errors(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt-9", messages=[{"role": "user", "content": "x"}])
    assert caught.value.code == "model_not_found" and "scripted" in caught.value.message
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "x", temperature=3)
    assert caught.value.param == "temperature" and "from 0 to 2" in caught.value.message
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="scripted", messages=[])
    assert caught.value.param == "messages"
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "say " + "long " * 3000)
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "x", response_format={"type": "json_object"})
    assert caught.value.param == "response_format"
    with pytest.raises(openai.BadRequestError, match="line 1, column 2"):
        ask(client, "refuse me")
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, "x" * (9 << 20))
    assert caught.value.status_code == 413
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="scripted", input="x")


def test_special_tokens_in_user_text_are_text(client):
    answer = ask(client, "say <|end|> <|turn|>")
    assert answer.choices[0].message.content == "<|end|> <|turn|>"


def test_a_broken_model_breaks_its_answer_only(client):
    with pytest.raises(openai.InternalServerError) as caught:
        ask(client, "fail")
    assert caught.value.body["code"] == "internal_error"
    got = ""
    with pytest.raises(openai.APIError):
        for chunk in ask(client, "fail", stream=True):
            got += chunk.choices[0].delta.content or ""
    assert got == "ok "
    assert ask(client, "say still here").choices[0].message.content == "still here"


def test_tools_are_accepted_and_forced_calls_refused(client):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    assert ask(client, "say ok", tools=tools, tool_choice="auto").choices[0].message.content == "ok"
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, "say ok", tools=tools, tool_choice="required")
    assert caught.value.param == "tool_choice"


def test_request_ids_come_back(client):
    raw = client.chat.completions.with_raw_response.create(
        model="scripted", messages=[{"role": "user", "content": "say x"}], extra_headers={"x-request-id": "mine-7"})
    assert raw.headers["x-request-id"] == "mine-7"


def test_leaving_mid_stream_stops_the_work(start_server):
    server = start_server()
    client = client_of(server)
    stream = ask(client, "slow 20 2000", stream=True)  # 200 s of work if nobody stopped it.
    for _, chunk in zip(range(4), stream):
        pass
    stream.close()
    began = time.monotonic()
    assert ask(client, "say next").choices[0].message.content == "next"
    assert time.monotonic() - began < 30
    code, out = server.stop()
    assert code == 0
    books = balanced(out)
    assert books["cancelled"] == 1 and books["gone"] == 1 and books["finished"] == 1


def test_a_timeout_of_the_client_stops_the_work_also_before_the_first_token(start_server):
    server = start_server("--running", "1")
    client = client_of(server)
    running = ask(client, "slow 20 2000", stream=True)
    next(iter(running))
    with pytest.raises(openai.APITimeoutError):  # This one only ever waits in the queue.
        client.with_options(timeout=0.5).chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": "say never"}])
    running.close()
    assert ask(client, "say next").choices[0].message.content == "next"
    _, out = server.stop()
    books = balanced(out)
    assert books["cancelled"] == 2 and books["finished"] == 1


def test_a_full_queue_is_429_with_retry_after(start_server):
    server = start_server("--running", "1", "--queue", "1")
    client = client_of(server)
    running = ask(client, "slow 20 2000", stream=True)
    next(iter(running))
    answers = []

    def wait_in_line():
        while not answers:
            try:
                answers.append(ask(client, "say waited").choices[0].message.content)
            except openai.RateLimitError:
                time.sleep(0.05)

    waiting = threading.Thread(target=wait_in_line)
    waiting.start()
    deadline = time.monotonic() + 20
    while True:  # Until the waiting one has taken the only place.
        try:
            ask(client.with_options(timeout=0.3), "say x")
        except openai.APITimeoutError:
            pass
        except openai.RateLimitError as e:
            assert e.response.headers["retry-after"] and e.type == "rate_limit_error"
            break
        assert time.monotonic() < deadline
    running.close()
    waiting.join(30)
    assert answers == ["waited"]
    balanced(server.stop()[1])


def test_keys(start_server):
    server = start_server("--key", "secret-1")
    for key in ("none", "secret-", "secret-11", "SECRET-1"):
        with pytest.raises(openai.AuthenticationError) as caught:
            client_of(server, key).models.list()
        assert caught.value.code == "invalid_api_key"
    assert client_of(server, "secret-1").models.list().data
    assert ask(client_of(server, "secret-1"), "say in").choices[0].message.content == "in"
    assert "secret-1" not in server.log()


def test_draining_finishes_what_runs_and_exits_0(start_server):
    server = start_server()
    client = client_of(server)
    stream = iter(ask(client, "slow 20 20", stream=True))
    next(stream)
    server.process.terminate()
    rest = "".join(c.choices[0].delta.content or "" for c in stream)
    assert rest.count("tick") == 20
    code, out = server.stop()
    assert code == 0 and balanced(out)["finished"] == 1


def test_draining_cuts_what_takes_too_long(start_server):
    server = start_server("--grace", "300")
    stream = iter(ask(client_of(server), "slow 20 2000", stream=True))
    next(stream)
    server.process.terminate()
    with pytest.raises(openai.APIError, match="shutting down"):
        for _ in stream:
            pass
    code, out = server.stop()
    assert code == 0 and balanced(out)["cancelled"] == 1


def test_many_clients_at_once_get_their_own_answers(client):
    answers = {}

    def one(i):
        if i % 2:
            answers[i] = ask(client, f"say number {i}").choices[0].message.content
        else:
            answers[i] = joined(ask(client, f"say number {i}", stream=True))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == {i: f"number {i}" for i in range(40)}


# The same, over `weir serve` with a real model.


def test_real_model_answers_the_same_streamed_and_whole(real_server):
    client = client_of(real_server)
    assert [m.id for m in client.models.list().data] == ["smollm2"]
    question = dict(model="smollm2", temperature=0, max_tokens=24,
                    messages=[{"role": "user", "content": "What is the capital of France?"}])
    whole = client.chat.completions.create(**question, logprobs=True)
    assert len(whole.choices[0].message.content) > 20
    raw = client.completions.create(model="smollm2", prompt="The capital of France is", temperature=0, max_tokens=4)
    assert "Paris" in raw.choices[0].text
    chunks = list(client.chat.completions.create(**question, stream=True, stream_options={"include_usage": True}))
    assert joined(chunks) == whole.choices[0].message.content
    assert chunks[-1].usage.total_tokens == whole.usage.total_tokens
    data = bytes(b for e in whole.choices[0].logprobs.content for b in e.bytes)
    assert data.decode() == whole.choices[0].message.content


def test_real_model_obeys_seed_stop_and_limits(real_server):
    client = client_of(real_server)
    question = dict(model="smollm2", prompt="Once upon a time", temperature=1, max_tokens=12)
    a = client.completions.create(**question, seed=7).choices[0].text
    assert a == client.completions.create(**question, seed=7).choices[0].text
    counted = client.completions.create(model="smollm2", prompt="1 2 3 4 5 6", temperature=0, max_tokens=20, stop="9")
    assert "9" not in counted.choices[0].text
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model="smollm2", prompt="word " * 2000)
    assert caught.value.code == "context_length_exceeded"


def test_real_model_stops_working_when_the_client_leaves(real_server):
    client = client_of(real_server)
    stream = client.completions.create(model="smollm2", prompt="Tell", max_tokens=900, stream=True,
                                       extra_body={"ignore_eos": True})
    for _, _chunk in zip(range(3), stream):
        pass
    stream.close()
    assert client.completions.create(model="smollm2", prompt="Hi", max_tokens=1).choices
    assert " gone" in real_server.log()
