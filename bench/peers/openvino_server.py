"""OpenVINO GenAI's continuous batching pipeline behind as much of the OpenAI wire as `weir bench serve` speaks.

usage: openvino_server.py MODEL PORT_FILE THREADS SLOTS CONTEXT     (CONTEXT tokens for each slot)

The package has no server of its own. This one adds as little as can be: one thread that reads sockets between two
steps of the pipeline, and turns ids into text by a table instead of by the package's detokenizer, a model of its
own that would run once for each token. Settings: the pipeline's own (8-bit KV, BF16 or 8-bit products as its CPU
plugin chooses), the prefix cache on as in the other servers, and KV for SLOTS sequences of CONTEXT tokens.
Writes its port to PORT_FILE once it takes requests, and ends on SIGTERM.
"""

import codecs
import json
import pathlib
import selectors
import signal
import socket
import sys
import time

BLOCK = 32  # Positions of one KV block in the CPU plugin.
HEAD_BYTES, BODY_BYTES = 1 << 16, 1 << 24


class Pieces:
    """Ids to bytes. Special tokens have no text."""

    def __init__(self, vocabulary, is_special):
        self.table = {number: b"" if text.startswith(b"<") and text.endswith(b">") and is_special(number) else text
                      for text, number in vocabulary.items()}

    def __getitem__(self, number):
        return self.table.get(number, b"")


class Answer:
    """One request in the pipeline: what it has said, and the events that say so."""

    def __init__(self, number, handle, prompt_tokens, model, pieces, stream, include_usage):
        self.handle, self.prompt_tokens, self.pieces, self.stream = handle, prompt_tokens, pieces, stream
        self.include_usage, self.tokens, self.text = include_usage, 0, []
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.head = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": model}

    def usage(self):
        return {"prompt_tokens": self.prompt_tokens, "completion_tokens": self.tokens,
                "total_tokens": self.prompt_tokens + self.tokens}

    def event(self, **fields):
        body = json.dumps({**self.head, "object": "chat.completion.chunk", **fields}, ensure_ascii=False)
        return b"data: " + body.encode() + b"\n\n"

    def choice(self, delta, finish=None):
        return self.event(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])

    def take(self, ids):
        """Events for these tokens: none where they end within a character."""
        self.tokens += len(ids)
        text = self.decoder.decode(b"".join(self.pieces[number] for number in ids))
        self.text.append(text)
        return self.choice({"content": text}) if text and self.stream else b""

    def finish(self, reason):
        rest = self.decoder.decode(b"", final=True)
        self.text.append(rest)
        if not self.stream:
            message = {"role": "assistant", "content": "".join(self.text)}
            return json.dumps({**self.head, "object": "chat.completion", "usage": self.usage(),
                               "choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode()
        last = (self.choice({"content": rest}) if rest else b"") + self.choice({}, reason)
        if self.include_usage:
            last += self.event(choices=[], usage=self.usage())
        return last + b"data: [DONE]\n\n"


class Connection:
    """Bytes of one socket: whole requests out of what came, and what is still to be sent."""

    def __init__(self, wire):
        self.wire, self.came, self.out, self.answer, self.close = wire, b"", b"", None, False

    def request(self):
        """(method, path, body) once it is whole, else None. Raises ValueError for what is no request."""
        head, mark, rest = self.came.partition(b"\r\n\r\n")
        if not mark:
            if len(self.came) > HEAD_BYTES:
                raise ValueError("the head of the request is too long")
            return None
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(fields.get("content-length", "0"))
        if not 0 <= length <= BODY_BYTES or "transfer-encoding" in fields:
            raise ValueError("a body needs a content-length within reason")
        if len(rest) < length:
            return None
        self.came = rest[length:]
        self.close = fields.get("connection", "").lower() == "close"
        return method, path, rest[:length]

    def reply(self, status, body):
        self.out += (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                     f"Connection: {'close' if self.close else 'keep-alive'}\r\n\r\n").encode() + body

    def begin_stream(self):
        self.out += (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: "
                     + (b"close" if self.close else b"keep-alive") + b"\r\n\r\n")

    def chunk(self, data):
        if data:
            self.out += b"%x\r\n%s\r\n" % (len(data), data)

    def end_stream(self):
        self.out += b"0\r\n\r\n"


def error(message):
    return json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()


class Server:
    """`engine` has name, pieces, encode(messages) -> prompt, count(prompt), add(number, prompt, most, ignore_eos,
    temperature) -> handle, busy(), step(); a handle has poll() -> (ids, finish reason or None) and cancel()."""

    def __init__(self, engine):
        self.engine, self.number, self.running = engine, 0, True
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.answering = set()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def run(self):
        while self.running:
            self.turn(0 if self.engine.busy() else 0.1)

    def turn(self, patience):
        """Takes what the sockets have, then runs one step."""
        for key, events in self.selector.select(patience):
            if key.data is None:
                self.accept()
            elif events & selectors.EVENT_READ:
                self.read(key.data)
            else:
                self.send(key.data)
        if self.engine.busy():
            self.engine.step()
            for connection in list(self.answering):
                self.deliver(connection)

    def accept(self):
        while True:
            try:
                wire, _ = self.listener.accept()
            except BlockingIOError:
                return
            wire.setblocking(False)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(wire, selectors.EVENT_READ, Connection(wire))

    def drop(self, connection):
        if connection.answer is not None:
            connection.answer.handle.cancel()
            connection.answer = None
        self.answering.discard(connection)
        self.selector.unregister(connection.wire)
        connection.wire.close()

    def read(self, connection):
        try:
            data = connection.wire.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop(connection)
            return
        connection.came += data
        self.serve(connection)

    def serve(self, connection):
        """Begins the next request of a connection that is not answering one."""
        try:
            while connection.answer is None and (request := connection.request()) is not None:
                self.begin(connection, *request)
        except (ValueError, KeyError, TypeError, RuntimeError) as fault:  # The last is the pipeline's.
            connection.close = True
            connection.reply("400 Bad Request", error(f"not a request for a chat: {fault}"))
        self.send(connection)

    def begin(self, connection, method, path, body):
        if (method, path) == ("GET", "/v1/models"):
            listed = {"object": "list", "data": [{"id": self.engine.name, "object": "model", "owned_by": "openvino"}]}
            connection.reply("200 OK", json.dumps(listed).encode())
            return
        if (method, path) != ("POST", "/v1/chat/completions"):
            connection.reply("404 Not Found", error(f"{method} {path} is not served here"))
            return
        asked = json.loads(body)
        prompt = self.engine.encode(asked["messages"])
        self.number += 1
        most = int(asked.get("max_completion_tokens", asked.get("max_tokens", 256)))
        stream = bool(asked.get("stream"))
        handle = self.engine.add(self.number, prompt, most, bool(asked.get("ignore_eos")), float(asked.get("temperature", 1)))
        usage = bool((asked.get("stream_options") or {}).get("include_usage"))
        connection.answer = Answer(self.number, handle, self.engine.count(prompt), self.engine.name, self.engine.pieces,
                                   stream, usage)
        if stream:
            connection.begin_stream()
        self.answering.add(connection)

    def deliver(self, connection):
        answer = connection.answer
        ids, reason = answer.handle.poll()
        data = answer.take(ids)
        if reason is not None:
            data += answer.finish(reason)
            connection.answer = None
            self.answering.discard(connection)
        if answer.stream:
            connection.chunk(data)
            if reason is not None:
                connection.end_stream()
        elif reason is not None:
            connection.reply("200 OK", data)
        if data:
            self.send(connection)
        if reason is not None and connection.wire.fileno() >= 0:
            self.serve(connection)

    def send(self, connection):
        try:
            if connection.out:
                connection.out = connection.out[connection.wire.send(connection.out):]
        except BlockingIOError:
            pass
        except OSError:
            self.drop(connection)
            return
        if not connection.out and connection.close and connection.answer is None:
            self.drop(connection)
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.out else 0)
        self.selector.modify(connection.wire, events, connection)


class Pipeline:
    def __init__(self, model, threads, slots, context):
        import openvino_genai
        self.genai, self.name = openvino_genai, pathlib.Path(model).name
        schedule = openvino_genai.SchedulerConfig()
        schedule.num_kv_blocks = slots * (context // BLOCK + 1)
        schedule.max_num_seqs = slots
        schedule.enable_prefix_caching = True
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(
            model, schedule, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
        self.tokenizer = self.pipeline.get_tokenizer()
        self.stops = self.pipeline.get_config().eos_token_id
        self.pieces = Pieces(self.tokenizer.get_vocab(), lambda number: self.tokenizer.decode([number]) == "")

    def encode(self, messages):
        text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True)
        return self.tokenizer.encode(text, add_special_tokens=False).input_ids

    def count(self, prompt):
        return prompt.shape[1]

    def add(self, number, prompt, most, ignore_eos, temperature):
        config = self.genai.GenerationConfig()
        config.max_new_tokens = most
        config.ignore_eos = ignore_eos
        if self.stops >= 0:
            config.set_eos_token_id(self.stops)
        config.do_sample = temperature > 0
        if config.do_sample:
            config.temperature = temperature
        return Handle(self.genai, self.pipeline.add_request(number, prompt, config), most)

    def busy(self):
        return self.pipeline.has_non_finished_requests()

    def step(self):
        self.pipeline.step()


class Handle:
    def __init__(self, genai, handle, most):
        self.genai, self.handle, self.most, self.told = genai, handle, most, 0

    def poll(self):
        running = self.handle.get_status() == self.genai.GenerationStatus.RUNNING  # Before reading: none is lost.
        ids = []
        while self.handle.can_read():
            for output in self.handle.read().values():
                ids.extend(output.generated_ids)
        self.told += len(ids)
        return ids, None if running else "length" if self.told >= self.most else "stop"

    def cancel(self):
        self.handle.cancel()


def main():
    model, port_file, threads, slots, context = sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:6])
    server = Server(Pipeline(model, threads, slots, context))
    signal.signal(signal.SIGTERM, lambda *_: setattr(server, "running", False))
    fresh = port_file.with_suffix(".new")
    fresh.write_text(f"{server.port}\n")
    fresh.rename(port_file)
    server.run()


if __name__ == "__main__":
    main()
