"""Starts a server that is given its port, and announces it as ours do: PORT_FILE appears once it takes requests.

usage: announce.py PORT_FILE SECONDS COMMAND...     (the word PORT in the command stands for the port)

Ends on SIGTERM, and with it the server; ends with the server's exit status if that ends first.
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def takes_requests(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


class Asked(Exception):
    pass


def asked(*_):
    raise Asked


def serve(server, port, port_file, seconds):
    deadline = time.monotonic() + seconds
    while not takes_requests(port):
        if server.poll() is not None:
            return server.returncode
        if time.monotonic() > deadline:
            return f"it takes no requests within {seconds:.0f} s"
        time.sleep(0.1)
    fresh = port_file.with_suffix(".new")
    fresh.write_text(f"{port}\n")
    fresh.rename(port_file)
    return server.wait()


def main():
    port_file, seconds, port = pathlib.Path(sys.argv[1]), float(sys.argv[2]), free_port()
    signal.signal(signal.SIGTERM, asked)
    server = subprocess.Popen([str(port) if word == "PORT" else word for word in sys.argv[3:]], start_new_session=True)
    try:
        status = serve(server, port, port_file, seconds)
    except Asked:
        status = 0
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(server.pid, signal.SIGKILL)  # It, and what it started and left behind.
    except ProcessLookupError:
        pass
    server.wait()
    sys.exit(status)


if __name__ == "__main__":
    main()
