"""llama.cpp's own HTTP server, as the package xllamacpp carries it, with its defaults but for what is given.
Writes its port to PORT_FILE once it takes requests, and ends on SIGTERM.

usage: llama_cpp_server.py MODEL PORT_FILE THREADS SLOTS CONTEXT     (CONTEXT tokens for each slot)
"""

import os
import pathlib
import signal
import socket
import sys
import threading
import urllib.request

import xllamacpp


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    model, port_file, threads, slots, context = sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:6])
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = "llama.cpp"
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.hostnames = ["127.0.0.1"]
    params.port = free_port()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    server = xllamacpp.Server(params)
    with urllib.request.urlopen(f"{server.listening_address}/v1/models", timeout=60) as answer:
        assert answer.status == 200
    fresh = port_file.with_suffix(".new")
    fresh.write_text(f"{params.port}\n")
    fresh.rename(port_file)
    stop.wait()
    os._exit(0)  # Its threads do not end by themselves.


if __name__ == "__main__":
    main()
