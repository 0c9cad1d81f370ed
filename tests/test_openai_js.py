"""OpenAI's official JavaScript client (tests/openai_js/test.mjs) against Weir."""

import os
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).parent / "openai_js"


def test_the_javascript_client(start_server):
    server = start_server("--running", "1")  # One test wants a request that waits.
    assert (FOLDER / "node_modules" / "openai").exists(), "run `npm ci` in tests/openai_js (tools/setup does)"
    done = subprocess.run(["node", "--test", "--test-concurrency=1", "test.mjs"], cwd=FOLDER, timeout=240,
                          env={**os.environ, "WEIR_URL": server.url}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
