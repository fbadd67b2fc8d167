"""Ask pyright where every call of a repository's Python files leads, and write the pairs as JSON.

For measuring alone: `python oracle_python.py REPOSITORY OUT.json [PYRIGHT_LANGSERVER_JS]`. Needs node and the npm
package pyright. Each record is {path, line, name, state: found | foreign | unknown, targets: [[path, line, name]]}.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

WAIT_SECONDS = 300


class Server:
    """A language server over stdin and stdout (Language Server Protocol 3.17)."""

    def __init__(self, script: str, root: Path) -> None:
        self.root = root
        self.process = subprocess.Popen(
            ["node", script, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._lock, self._number, self._waiting = threading.Lock(), 0, dict[int, Queue[Any]]()
        threading.Thread(target=self._read, daemon=True).start()
        folder = {"uri": root.as_uri(), "name": "repository"}
        capabilities = {"workspace": {"configuration": True, "workspaceFolders": True}}
        start = {
            "processId": None,
            "rootUri": root.as_uri(),
            "workspaceFolders": [folder],
            "capabilities": capabilities,
        }
        self.ask("initialize", start).get(timeout=WAIT_SECONDS)
        self.tell("initialized", {})

    def tell(self, method: str, parameters: object) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": parameters})

    def ask(self, method: str, parameters: object) -> Queue[Any]:
        self._number += 1
        answer: Queue[Any] = Queue()
        self._waiting[self._number] = answer
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        return answer

    def _send(self, message: object) -> None:
        body = json.dumps(message).encode()
        with self._lock:
            assert self.process.stdin is not None
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while header := stream.readline():
            size = int(header.split(b":")[1]) if header.lower().startswith(b"content-length") else 0
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(size))
            if "method" in message and "id" in message:
                self._send({"jsonrpc": "2.0", "id": message["id"], "result": self._configuration(message)})
            elif "id" in message:
                self._waiting.pop(message["id"]).put(message.get("result"))

    def _configuration(self, message: dict[str, Any]) -> object:
        if message["method"] != "workspace/configuration":
            return None
        analysis = {
            "diagnosticMode": "openFilesOnly", "typeCheckingMode": "off", "useLibraryCodeForTypes": True,
            "extraPaths": [str(self.root), str(self.root / "src")],
        }  # fmt: skip
        return [{"pythonPath": sys.executable, "analysis": analysis, **analysis} for _ in message["params"]["items"]]


def main(repository: str, out: str, script: str = "node_modules/pyright/langserver.index.js") -> None:
    root = Path(repository).resolve()
    server = Server(script, root)
    records = [record for path in python_files(root) for record in calls_of(server, root, path)]
    Path(out).write_text(json.dumps(records, separators=(",", ":")), "utf-8")
    server.process.kill()


def python_files(root: Path) -> list[str]:
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "*.py"], capture_output=True, check=True)
    return [name for name in listed.stdout.decode().split("\0") if name]


def calls_of(server: Server, root: Path, path: str) -> list[dict[str, Any]]:
    source = (root / path).read_text("utf-8", "replace")
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    uri, lines = (root / path).as_uri(), source.split("\n")
    document = {"uri": uri, "languageId": "python", "version": 1, "text": source}
    server.tell("textDocument/didOpen", {"textDocument": document})
    asked = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        match call.func:
            case ast.Name(id=name, lineno=line, col_offset=column):
                pass
            case ast.Attribute(attr=name, end_lineno=int(line), end_col_offset=int(end)):
                column = end - len(name.encode())
            case _:
                continue
        character = len(lines[line - 1].encode()[:column].decode("utf-8", "ignore"))
        place = {"textDocument": {"uri": uri}, "position": {"line": line - 1, "character": character}}
        asked.append((line, name, server.ask("textDocument/definition", place)))
    records = []
    for line, name, answer in asked:
        places = answer.get(timeout=WAIT_SECONDS) or []
        targets = [target for place in places if (target := target_of(root, place)) is not None]
        state = "found" if targets else "foreign" if places else "unknown"
        records.append({"path": path, "line": line, "name": name, "state": state, "targets": targets})
    server.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
    return records


def target_of(root: Path, place: dict[str, Any]) -> list[object] | None:
    uri = place.get("uri") or place["targetUri"]
    span = place.get("range") or place["targetSelectionRange"]
    if not uri.startswith(root.as_uri() + "/"):
        return None
    path = uri[len(root.as_uri()) + 1 :]
    line = (root / path).read_text("utf-8", "replace").split("\n")[span["start"]["line"]]
    return [path, span["start"]["line"] + 1, line[span["start"]["character"] : span["end"]["character"]]]


if __name__ == "__main__":
    main(*sys.argv[1:])
