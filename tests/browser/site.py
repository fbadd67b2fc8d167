"""A web site of the tests' own: the files of `pages/` on two origins, and addresses that misbehave.

`127.0.0.1` on one port and `localhost` on another are two sites to Chrome, so that a frame of the one in a page of
the other gets a process of its own. `{FAR}` in a page is the other origin.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

PAGES = Path(__file__).parent / "pages"
REPORT = b"id,name\n" + b"1,Ada\n" * 200
STALL_SECONDS = 90


class Site:
    """Both origins. `seen` is every path that was asked for, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.closing = threading.Event()
        self._servers = [_Server(self), _Server(self)]
        self.near = f"http://127.0.0.1:{self._servers[0].server_port}"
        self.far = f"http://localhost:{self._servers[1].server_port}"
        for server in self._servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        """End both servers."""
        self.closing.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, site: Site) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site = site

    def handle_error(self, *_: object) -> None:
        """A browser that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        site = self.server.site
        site.seen.append(self.path)
        path = urlsplit(self.path).path
        file = PAGES / path.removeprefix("/")
        if path in _ODD:
            _ODD[path](self)
        elif file.is_file():
            other = site.near if self.server.server_port != int(site.near.rpartition(":")[2]) else site.far
            kind = "image/svg+xml" if path.endswith(".svg") else "text/html; charset=utf-8"
            self.give(file.read_text().replace("{FAR}", other).encode(), Content_Type=kind)
        else:
            self.give(b"<title>Not found</title><h1>No such page</h1>", 404)

    def give(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Answer with these bytes, as HTML unless said otherwise."""
        self.send_response(status)
        kinds = {"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store"}
        for name, value in {**kinds, **{name.replace("_", "-"): value for name, value in headers.items()}}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if status == 204 else body)

    def stall(self, start: bytes) -> None:
        """Send the start of a page and then nothing more, or nothing at all."""
        if start:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(start + b" " * 2000)
            self.wfile.flush()
        self.server.site.closing.wait(STALL_SECONDS)
        self.close_connection = True

    def slow(self) -> None:
        time.sleep(1.5)
        self.give(b"<title>Slow</title><h1>At last</h1>")

    def log_message(self, *_: object) -> None:
        """The tests' output is theirs."""


def _redirect(handler: _Handler, place: str) -> None:
    handler.give(b"", 302, Location=place)


_ODD: dict[str, Callable[[_Handler], None]] = {
    "/redirect": lambda handler: _redirect(handler, "/redirect-again"),
    "/redirect-again": lambda handler: _redirect(handler, "/plain.html"),
    "/redirect-loop": lambda handler: _redirect(handler, "/redirect-loop"),
    "/204": lambda handler: handler.give(b"", 204),
    "/never": lambda handler: handler.stall(b""),
    "/half": lambda handler: handler.stall(b"<title>Half</title><h1>Half a page</h1>"),
    "/slow": lambda handler: handler.slow(),
    "/report.csv": lambda handler: handler.give(
        REPORT, Content_Type="text/csv", Content_Disposition='attachment; filename="report.csv"'
    ),
    "/evil": lambda handler: handler.give(
        REPORT, Content_Type="text/plain", Content_Disposition='attachment; filename="../../evil.txt"'
    ),
    "/words.txt": lambda handler: handler.give(b"Plain words, & more", Content_Type="text/plain"),
    "/paper.pdf": lambda handler: handler.give(b"%PDF-1.1\n", Content_Type="application/pdf"),
    "/data.json": lambda handler: handler.give(b'{"answer": 42}', Content_Type="application/json"),
    "/feed.xml": lambda handler: handler.give(b"<feed><entry>Entry</entry></feed>", Content_Type="text/xml"),
    "/locked": lambda handler: handler.give(b"Locked", 401, WWW_Authenticate='Basic realm="x"'),
    "/strict": lambda handler: handler.give(
        b"<title>Strict</title><button>Guarded</button>", Content_Security_Policy="default-src 'none'"
    ),
}
