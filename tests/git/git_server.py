"""A git server on loopback: `git http-backend` behind HTTP with Basic authentication, a token a repository."""

from __future__ import annotations

import base64
import subprocess
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.invalid",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.invalid",
}


class GitServer:
    """Serves bare repositories below `root`. `tokens` says which token opens which; `moved` maps an old name to a new.

    `passwords` lists, in order, the name asked for and the password sent with it, None for none.
    """

    def __init__(self, root: Path) -> None:
        self.tokens: dict[str, str] = {}
        self.moved: dict[str, str] = {}
        self.passwords: list[tuple[str, str | None]] = []
        self._root = root
        self._environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(root), **IDENTITY}
        server = self

        class Handler(_Handler):
            git_server = server

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def add(self, name: str, token: str, files: dict[str, str] | None = None) -> str:
        """A repository with one commit on `main`; its URL."""
        bare, work = self._root / f"{name}.git", self._root / f"{name}-work"
        self.git("init", "-q", "--bare", "-b", "main", str(bare))
        self.git("init", "-q", "-b", "main", str(work))
        for path, content in (files or {"name.txt": name}).items():
            (work / path).write_text(content)
        self.git("-C", str(work), "add", ".")
        self.git("-C", str(work), "commit", "-q", "-m", "first")
        self.git("-C", str(work), "push", "-q", str(bare), "main")
        self.tokens[name] = token
        return f"{self.base}/{name}.git"

    def add_submodule(self, name: str, of: str) -> None:
        """Commit the repository `name` into the repository `of` as its submodule `part`."""
        work = str(self._root / f"{of}-work")
        local = str(self._root / f"{name}.git")
        self.git("-C", work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", local, "part")
        self.git("-C", work, "config", "-f", ".gitmodules", "submodule.part.url", f"{self.base}/{name}.git")
        self.git("-C", work, "commit", "-q", "-a", "-m", "with a part")
        self.git("-C", work, "push", "-q", str(self._root / f"{of}.git"), "main")

    def head(self, name: str) -> str:
        """The commit that `main` is at."""
        return self.git("-C", str(self._root / f"{name}.git"), "rev-parse", "main").strip()

    def sent(self) -> set[tuple[str, str]]:
        """Each pair of name and password that came."""
        return {(name, password) for name, password in self.passwords if password is not None}

    def git(self, *words: str) -> str:
        """Run git on the server's side."""
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=True, env=self._environment)
        return done.stdout

    def backend(self, variables: dict[str, str], body: bytes) -> bytes:
        """What `git http-backend` answers (git-http-backend(1))."""
        fixed = {"GIT_PROJECT_ROOT": str(self._root), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "ada"}
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=True,
            env={**self._environment, **fixed, **variables},
        )
        return done.stdout


class _Handler(BaseHTTPRequestHandler):
    git_server: GitServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_words: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        body = self._body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = zlib.decompress(body, wbits=31)
        self._serve(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _serve(self, body: bytes) -> None:
        server = self.git_server
        path, _, query = self.path.partition("?")
        owner, repository, *rest = path.strip("/").split("/")
        name = f"{owner}/{repository.removesuffix('.git')}"
        password = self._password()
        server.passwords.append((name, password))
        if new := server.moved.get(name):
            self._answer(301, [("Location", f"{server.base}/{new}.git/{'/'.join(rest)}?{query}")])
        elif name not in server.tokens:
            self._answer(404, [])
        elif password != server.tokens[name]:
            self._answer(401, [("WWW-Authenticate", 'Basic realm="git"')])
        else:
            self._relay(f"/{name}.git/{'/'.join(rest)}", query, body)

    def _password(self) -> str | None:
        scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
        return base64.b64decode(credentials).decode().partition(":")[2] if scheme == "Basic" else None

    def _relay(self, path: str, query: str, body: bytes) -> None:
        answer = self.git_server.backend(
            {
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            },
            body,
        )
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = [(name, value) for name, _, value in (line.partition(": ") for line in head.decode().split("\r\n"))]
        status = int(dict(headers).get("Status", "200")[:3])
        self._answer(status, [header for header in headers if header[0] != "Status"], content)

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes = b"") -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
