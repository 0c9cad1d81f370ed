"""Weir against raw sockets and curl: malformed, slow, rude and sudden clients. The process lives, other
clients are served, and the books balance (the fixture checks them at the end)."""

import json
import random
import shutil
import socket
import struct
import subprocess
import threading
import time

import pytest
from conftest import balanced, read_all, read_until


def post(path, body, *headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def chat(text, *headers, **more):
    return post("/v1/chat/completions",
                {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}, *headers)


def get(path, *headers):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers]).encode() + b"\r\n\r\n"


CLOSE = "Connection: close"


def status(answer):
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer[9:12])


def body(answer):
    return answer.partition(b"\r\n\r\n")[2]


def error(answer):
    found = json.loads(body(answer))["error"]
    assert set(found) == {"message", "type", "param", "code"}
    assert isinstance(found["code"], str)
    return found


def serves(server):
    answer = server.ask(chat("say fine", CLOSE))
    return server.alive() and status(answer) == 200 and b'"content":"fine"' in answer


def reset(wire):
    """Closes with a reset, as a crashed or killed client does."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


@pytest.mark.parametrize("data,wanted", [
    (b"hello\r\n\r\n", 400),
    (b"GET\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 400),
    (b"GET / HTTP/7.7\r\nHost: x\r\n\r\n", 505),
    (b"GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
    (b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"".join(b"h%d: v\r\n" % i for i in range(5000)) + b"\r\n", 431),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdefgh", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    (b"\x00" * 100, 400),
], ids=lambda value: repr(value[:60]) if isinstance(value, bytes) else str(value))
def test_malformed_http_is_answered_and_closed(server, data, wanted):
    answer = server.ask(data)
    assert status(answer) == wanted
    assert b"connection: close" in answer
    error(answer)


def test_random_bytes_never_hurt(server):
    seed = 20261129
    rng = random.Random(seed)
    pieces = [b"GET ", b"POST /v1/completions HTTP/1.1\r\n", b"Host: x\r\n", b"Content-Length: 5\r\n", b"\r\n",
              b"Transfer-Encoding: chunked\r\n", b"5\r\n", b"{}", b"\x00", b"\xff\xfe", b": ", b"HTTP/1.1", b"0\r\n\r\n"]
    for _ in range(150):
        data = b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 12)))
        with server.wire() as wire:
            wire.sendall(data)
            wire.shutdown(socket.SHUT_WR)
            read_all(wire)
    assert serves(server), seed


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
@pytest.mark.parametrize("data,words", [
    (b"", "empty"),
    (b"{", "at byte 1"),
    (b'{"model":!', "at byte 9"),
    (b'{"model":"\xff"}', "at byte"),
    (b'{"model":"\\ud800"}', "at byte"),
    (b"[]", "JSON object"),
    (b"null", "JSON object"),
    (b"{} {}", "at byte 3"),
    (b'{"a":' + b"[" * 60000, "at byte"),
])
def test_bad_json_says_where(server, path, data, words):
    answer = server.ask(post(path, data, CLOSE))
    assert status(answer) == 400
    assert words in error(answer)["message"]


def test_routes(server):
    assert status(server.ask(get("/nowhere", CLOSE))) == 404
    wrong = server.ask(get("/v1/chat/completions", CLOSE))
    assert status(wrong) == 405 and b"\r\nallow: POST, OPTIONS\r\n" in wrong
    error(wrong)
    head = server.ask(b"HEAD /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert status(head) == 200 and body(head) == b"" and b"content-length: 15" in head
    options = server.ask(b"OPTIONS /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert status(options) == 204 and b"allow: GET, HEAD, OPTIONS" in options
    assert b"access-control" not in options
    for path in ("/health", "/health/live", "/health/ready"):
        assert json.loads(body(server.ask(get(path, CLOSE)))) == {"status": "ok"}
    assert b"access-control" not in server.ask(get("/v1/models", CLOSE, "Origin: http://evil"))


def test_cors_is_a_choice(start_server):
    server = start_server("--cors", "https://app.example")
    assert b"access-control-allow-origin: https://app.example\r\n" in server.ask(get("/v1/models", CLOSE))
    preflight = server.ask(b"OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b"access-control-allow-headers: authorization" in preflight


def test_only_health_is_open_when_keys_are_set(start_server):
    server = start_server("--key", "k")
    for path in ("/v1/models", "/v1/models/scripted", "/version"):
        answer = server.ask(get(path, CLOSE))
        assert status(answer) == 401 and b"www-authenticate: Bearer" in answer
    assert status(server.ask(chat("say x", CLOSE))) == 401
    for path in ("/health", "/health/live", "/health/ready"):
        assert status(server.ask(get(path, CLOSE))) == 200
    assert status(server.ask(get("/v1/models", CLOSE, "Authorization: bearer k"))) == 200


def test_pipelined_requests_are_answered_in_order(server):
    answers = server.ask(chat("say one") + get("/health") + chat("say two", stream=True) + chat("say three", CLOSE))
    places = [answers.index(w) for w in (b'"content":"one"', b'{"status":"ok"}', b"data: [DONE]", b'"content":"three"')]
    assert places == sorted(places)
    assert answers.count(b"HTTP/1.1 200 OK") == 4


def test_a_body_in_odd_chunks(server):
    data = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "say chunked"}]}).encode()
    chunks = b"".join(b"%x;name=value\r\n%s\r\n" % (len(data[i:i + 3]), data[i:i + 3]) for i in range(0, len(data), 3))
    request = (b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
               b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\nTrailer: t\r\n\r\n")
    with server.wire() as wire:
        for i in range(0, len(request), 7):
            wire.sendall(request[i:i + 7])
        assert b'"content":"chunked"' in read_all(wire)


def test_expect_continue(server):
    request = chat("say expected", "Expect: 100-continue", CLOSE)
    head, _, data = request.partition(b"\r\n\r\n")
    with server.wire() as wire:
        wire.sendall(head + b"\r\n\r\n")
        assert read_until(wire, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(data)
        assert b'"content":"expected"' in read_all(wire)
    big = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n"
    assert status(server.ask(big)) == 413


def test_a_slow_sender_is_cut_off(server):
    began = time.monotonic()
    with server.wire() as wire:
        wire.sendall(b"GET /health HTTP/1.1\r\n")
        answer = b""
        wire.settimeout(0.05)
        while time.monotonic() - began < 20 and not answer:
            try:
                wire.sendall(b"a: b\r\n")
                answer = wire.recv(65536)
            except socket.timeout:
                pass
            except (BrokenPipeError, ConnectionResetError):
                break
    assert status(answer) == 408
    with server.wire() as wire:
        wire.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        assert status(read_all(wire)) == 408
    with server.wire() as silent:
        assert read_all(silent) == b""


def test_half_closed_clients(server):
    with server.wire() as wire:
        wire.sendall(get("/health"))
        wire.shutdown(socket.SHUT_WR)
        assert status(read_all(wire)) == 200
    with server.wire() as wire:
        wire.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        wire.shutdown(socket.SHUT_WR)
        assert status(read_all(wire)) == 400


def test_a_thousand_connections_come_and_go(server):
    for i in range(1000):
        wire = server.wire()
        if i % 4 == 1:
            wire.sendall(b"GET /he")
        elif i % 4 == 2:
            wire.sendall(chat("slow 5 100", stream=True))
        (reset if i % 2 else socket.socket.close)(wire)
    assert serves(server)


def test_leaving_mid_stream_under_load(start_server):
    server = start_server()

    def rude(seed):
        rng = random.Random(seed)
        for _ in range(12):
            with server.wire() as wire:
                wire.sendall(chat("slow 1 200", stream=rng.random() < 0.7))
                wire.settimeout(rng.random() * 0.3)
                try:
                    while wire.recv(4096):
                        if rng.random() < 0.2:
                            break
                except (socket.timeout, ConnectionResetError):
                    pass
                if rng.random() < 0.5:
                    reset(wire)

    threads = [threading.Thread(target=rude, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert serves(server)
    code, out = server.stop()
    assert code == 0, server.log()
    books = balanced(out)
    assert books["gone"] > 0 and books["cancelled"] > 0


def test_a_reader_that_stops_reading_holds_back_only_itself(start_server):
    server = start_server("--context", "60000")
    stalled = socket.socket()
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    stalled.settimeout(60)
    stalled.connect(("127.0.0.1", server.port))
    stalled.sendall(chat("count 9000", stream=True))
    assert serves(server)
    stalled.close()
    code, out = server.stop()
    assert code == 0
    balanced(out)


def test_a_request_for_too_many_tokens_is_refused_not_believed(server):
    for field, value in (("max_tokens", 2**31), ("max_tokens", 2**63), ("n", 2**31), ("top_k", 2**40),
                         ("seed", 2**64), ("max_tokens", -1), ("min_tokens", 1e300)):
        answer = server.ask(chat("say x", CLOSE, **{field: value}))
        assert status(answer) == 400 and error(answer)["param"] == field
    answer = server.ask(chat("say x", CLOSE, max_tokens=2**30))
    assert status(answer) == 400 and error(answer)["code"] == "context_length_exceeded"


def test_ready_says_no_while_draining(start_server):
    server = start_server()
    running = server.wire(60)
    running.sendall(chat("slow 20 20", stream=True))
    read_until(running, b'"content":"t"')
    idle = server.wire(60)
    idle.sendall(get("/health/ready"))
    assert status(read_until(idle, b"}")) == 200
    server.process.terminate()
    deadline = time.monotonic() + 20
    while True:
        try:
            server.wire(1).close()
        except (ConnectionRefusedError, ConnectionResetError):  # Refused, or reset in the backlog.
            break
        assert time.monotonic() < deadline
    idle.sendall(get("/health/ready"))
    answer = read_all(idle)
    assert status(answer) == 503 and b"connection: close" in answer
    assert b"data: [DONE]" in read_until(running, b"[DONE]")
    running.close()
    assert server.stop()[0] == 0


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_curl(server):
    def curl(*arguments):
        done = subprocess.run(["curl", "-sS", "--max-time", "30", *arguments], capture_output=True, check=True)
        return done.stdout

    assert json.loads(curl(server.url + "/v1/models"))["data"][0]["id"] == "scripted"
    request = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "say curl"}]})
    answer = json.loads(curl(server.url + "/v1/chat/completions", "-d", request))
    assert answer["choices"][0]["message"]["content"] == "curl"
    streamed = curl("-N", server.url + "/v1/chat/completions", "-d", request[:-1] + ', "stream": true}')
    events = [e for e in streamed.decode().split("\n\n") if e]
    assert events[-1] == "data: [DONE]" and all(e.startswith("data: ") for e in events)
