"""A local server that speaks the Hugging Face hub's protocol, and can be told to misbehave.

It answers what a client asks of the hub: the list of a revision's files, HEAD and GET of
/OWNER/REPO/resolve/REVISION/FILE (small files in place, large ones as a redirect to a second origin, the
"CDN"), ranges with If-Range, and errors with their x-error-code. Faults are queued per path and consumed
one request each, so a test says exactly what goes wrong and when:

    with HubServer() as hub:
        hub.add("owner/repo", {"model.gguf": b"..."})
        hub.fault("cdn", cut(1000), status(503))
"""

import hashlib
import json
import re
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 4096  # bytes from which a file is "LFS": on the CDN, with a SHA-256 for an etag


@dataclass
class Fault:
    """What to do in place of the right answer."""

    status: int = 0  # answer this and nothing else
    headers: dict = field(default_factory=dict)
    cut_after: int = -1  # close the connection after so many bytes of the body
    stall_after: int = -1  # send so many bytes and then wait for `release`
    spoil: bool = False  # right length, wrong bytes
    length: int = -1  # claim this Content-Length, send that many
    chunked: bool = False
    extra: bytes = b""  # after the right body
    ignore_range: bool = False
    wrong_range: bool = False
    pace: float = 0  # seconds between pieces of 8 KiB
    gate: threading.Event = None  # wait for it before answering


def status(code, **headers):
    return Fault(status=code, headers={k.replace("_", "-"): v for k, v in headers.items()})


def cut(after):
    return Fault(cut_after=after)


@dataclass
class Repo:
    files: dict
    commit: str = COMMIT
    private: str = ""  # the token it wants
    gated: bool = False
    listed: list = None  # names to list in place of the real ones
    etags: dict = field(default_factory=dict)


def etag_of(data):
    if len(data) >= LARGE:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.route()

    def do_GET(self):
        self.route()

    def route(self):
        hub = self.server.hub
        role = self.server.role
        path = unquote(urlsplit(self.path).path)
        with hub.lock:
            hub.requests.append((role, self.command, path, dict(self.headers)))
        kind = role if role == "cdn" else "api" if path.startswith("/api/") else self.command.lower()
        fault = hub.take_fault(kind)
        try:
            if fault.gate:
                fault.gate.wait(60)
            if fault.status:
                self.answer(fault.status, b"no", fault.headers)
            elif role == "cdn":
                self.serve_bytes(hub.blobs[path], '"cdn-%s"' % path.strip("/"), fault)
            elif kind == "api":
                self.list_files(path, fault)
            else:
                self.resolve(path, fault)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass
        self.close_connection = True

    def error(self, code, name):
        self.answer(code, b"", {"X-Error-Code": name, "X-Error-Message": name})

    def answer(self, code, body, headers=None):
        self.send_response(code)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def repo_of(self, name, revision):
        """The repository when the caller may see it; else the error is answered."""
        repo = self.server.hub.repos.get(name)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repo is None:
            # The hub does not tell strangers whether a repository exists.
            self.error(404 if token else 401, "RepoNotFound")
            return None
        if repo.private and token != repo.private:
            self.error(401, "RepoNotFound")
            return None
        if repo.gated:
            self.error(403, "GatedRepo")
            return None
        if revision not in ("main", repo.commit):
            self.error(404, "RevisionNotFound")
            return None
        return repo

    def list_files(self, path, fault):
        match = re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path)
        repo = self.repo_of(match[1], match[2])
        if repo is None:
            return
        names = repo.listed if repo.listed is not None else sorted(repo.files)
        body = json.dumps({"id": match[1], "sha": repo.commit, "siblings": [{"rfilename": n} for n in names]})
        self.answer(200, body.encode(), {"Content-Type": "application/json"})

    def resolve(self, path, fault):
        match = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if not match:
            return self.error(404, "EntryNotFound")
        hub = self.server.hub
        if match[1] in hub.moved:
            return self.answer(307, b"", {"Location": self.path.replace(match[1], hub.moved[match[1]], 1)})
        repo = self.repo_of(match[1], match[2])
        if repo is None:
            return
        if match[3] not in repo.files:
            return self.error(404, "EntryNotFound")
        data = repo.files[match[3]]
        etag = repo.etags.get(match[3], etag_of(data))
        headers = {"X-Repo-Commit": repo.commit, "ETag": f'"{etag}"'}
        if len(data) < LARGE:
            return self.serve_bytes(data, f'"{etag}"', fault, headers)
        blob = f"/blob-{hashlib.sha256(data).hexdigest()[:16]}"
        hub.blobs[blob] = data
        headers |= {"X-Linked-Size": str(len(data)), "X-Linked-Etag": f'"{etag}"',
                    "Location": f"{hub.cdn_url}{blob}?signature=abc"}
        self.answer(302, b"", headers)

    def serve_bytes(self, data, etag, fault, headers=None):
        first = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        holds = self.headers.get("If-Range", etag) == etag
        if wanted and holds and not fault.ignore_range:
            first = int(wanted[1])
            if first >= len(data):
                return self.answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
        body = bytes(b ^ 0x55 for b in data[first:]) if fault.spoil else data[first:]
        body += fault.extra
        if fault.length >= 0:
            body = body[: fault.length]
        self.send_response(206 if first else 200)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        if not headers:
            self.send_header("ETag", etag)
        if first:
            shown = first + 1 if fault.wrong_range else first
            self.send_header("Content-Range", f"bytes {shown}-{len(data) - 1}/{len(data)}")
        if fault.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.send_body(body, fault)

    def send_body(self, body, fault):
        sent = 0
        limit = min([n for n in (fault.cut_after, fault.stall_after) if n >= 0], default=len(body))
        while sent < min(limit, len(body)):
            piece = body[sent : min(sent + 8192, limit)]
            if fault.chunked:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            else:
                self.wfile.write(piece)
            self.wfile.flush()
            sent += len(piece)
            if fault.pace:
                time.sleep(fault.pace)
        if fault.stall_after >= 0:
            self.server.hub.stalled.set()
            self.server.hub.release.wait(60)
        elif fault.chunked and fault.cut_after < 0:
            self.wfile.write(b"0\r\n\r\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients that leave, handshakes that fail: the tests look at the client


class HubServer:
    def __init__(self, tls=None):
        """`tls`: (certificate file, key file) to speak https on both ports."""
        self.lock = threading.Lock()
        self.repos, self.blobs, self.moved, self.requests, self.faults = {}, {}, {}, [], {}
        self.release, self.stalled = threading.Event(), threading.Event()
        self.servers = [self.start("hub", tls), self.start("cdn", tls)]
        scheme = "https" if tls else "http"
        self.url, self.cdn_url = (f"{scheme}://127.0.0.1:{s.server_address[1]}" for s in self.servers)

    def start(self, role, tls):
        server = _Server(("127.0.0.1", 0), _Handler)
        server.hub, server.role = self, role
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def add(self, name, files, **options):
        self.repos[name] = Repo(files, **options)

    def fault(self, where, *faults):
        """`where`: "api", "head", "get" (of the hub) or "cdn"; one fault a request, in order."""
        with self.lock:
            self.faults.setdefault(where, []).extend(faults)

    def take_fault(self, where):
        with self.lock:
            queue = self.faults.get(where, [])
            return queue.pop(0) if queue else Fault()

    def seen(self, role, command=None):
        with self.lock:
            return [r for r in self.requests if r[0] == role and command in (None, r[1])]
