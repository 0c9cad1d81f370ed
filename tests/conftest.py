"""A server on a free port of 127.0.0.1 for each test module: the whole HTTP stack over a scripted model
(tests/scripted_server.cc says what it answers), or `weir serve` over a real one."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

START_SECONDS = 120


def script(path):
    """A program without .py as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    sys.modules[path.name] = module
    loader.exec_module(module)
    return module


class Server:
    def __init__(self, command, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.port_file = folder / "port"
        self.log_path = folder / "log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command(self.port_file), stdout=subprocess.PIPE, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not self.port_file.exists():
            assert self.process.poll() is None, f"the server ended: {self.log()}"
            assert time.monotonic() < deadline, f"the server does not start: {self.log()}"
            time.sleep(0.02)
        self.port = int(self.port_file.read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def log(self):
        return self.log_path.read_text(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def wire(self, timeout=20):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def ask(self, data, timeout=20):
        """Sends bytes, returns all that comes until the server closes."""
        with self.wire(timeout) as wire:
            wire.sendall(data)
            return read_all(wire)

    def stop(self, sig=signal.SIGTERM, timeout=60):
        """Stops it and returns its exit code and what it printed on standard output."""
        if self.alive():
            self.process.send_signal(sig)
        out, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, out.decode()

    def kill(self):
        if self.alive():
            self.process.kill()
            self.process.communicate()


def read_all(wire):
    got = b""
    try:
        while chunk := wire.recv(65536):
            got += chunk
    except ConnectionResetError:
        pass
    return got


def read_until(wire, mark):
    got = b""
    while mark not in got:
        chunk = wire.recv(65536)
        if not chunk:
            break
        got += chunk
    return got


def scripted(*flags):
    tool = pathlib.Path(os.environ["WEIR_TEST_BIN_DIR"]) / "scripted_server_tool"
    return lambda port_file: [str(tool), str(port_file), *flags]


def balanced(out):
    """The books a scripted server prints when it ends; they must balance."""
    books = json.loads(out)
    assert books["requests"] == books["answered"] + books["gone"], books
    assert books["accepted"] == books["finished"] + books["cancelled"] + books["failed"], books
    assert books["pages_held"] == 0 and books["idle"], books
    return books


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Shared by a module's tests; at the end it must drain, exit 0 and have its books balanced."""
    started = Server(scripted(), tmp_path_factory.mktemp("server"))
    yield started
    try:
        code, out = started.stop()
        assert code == 0, started.log()
        balanced(out)
    finally:
        started.kill()


@pytest.fixture
def start_server(tmp_path):
    """Starts servers of a test's own: start_server("--key", "k")."""
    started = []

    def start(*flags):
        server = Server(scripted(*flags), tmp_path / str(len(started)))
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()


def serving(command, folder):
    """For a fixture: a server that is there until the fixture ends, and then leaves with code 0."""
    started = Server(command, folder)
    yield started
    try:
        code, _ = started.stop()
        assert code == 0, started.log()
    finally:
        started.kill()


@pytest.fixture(scope="module")
def real_server(tmp_path_factory):
    model = os.environ.get("WEIR_TEST_SMOLLM2")
    if not model:
        if os.environ.get("WEIR_REQUIRE_MODELS") == "1":
            pytest.fail("WEIR_TEST_SMOLLM2 is not set")
        pytest.skip("needs the real model: set WEIR_TEST_SMOLLM2 to its path")
    weir = os.environ["WEIR_BIN"]
    yield from serving(lambda port_file: [weir, "serve", model, "--port", "0", "--port-file", str(port_file),
                                          "--alias", "smollm2", "--context", "1024"],
                       tmp_path_factory.mktemp("real"))
