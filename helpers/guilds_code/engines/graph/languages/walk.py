"""What every extractor stands on: text of nodes, and the facts that grow while a syntax tree is walked.

It knows tree-sitter's nodes and no language.
"""

from __future__ import annotations

from sys import intern

from guilds_code.engines.graph.facts import Facts
from guilds_wire.errors import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tree_sitter import Node, Parser

    from guilds_code.engines.graph.facts import Binding, Expression

LINE_MAX_CHARACTERS = 120
SIGNATURE_MAX_CHARACTERS = 300
SIGNATURE_MAX_BYTES = 2000
DOC_MAX_CHARACTERS = 400
"""Enough for the first paragraph; the first line is what answers show."""
TEXTS_MAX = 100_000
"""Names that are kept decoded; they repeat, but a worker's memory is bounded."""
DEPTH_MAX = 16
"""How deeply an expression is described; what is nested deeper stays unknown."""


def parser(package: str, grammar: str = "language") -> Parser:
    """The parser for the grammar of that name in a package."""
    key = f"{package}.{grammar}"
    if key not in _parsers:
        from importlib import import_module

        from tree_sitter import Language, Parser

        _parsers[key] = Parser(Language(getattr(import_module(package), grammar)()))
    return _parsers[key]


_parsers: dict[str, Parser] = {}


class Walk:
    """One file under extraction. A language's class adds a method for each kind of node that means something."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.facts = Facts()
        self.current = -1
        """The definition that references are attributed to."""

    def text(self, node: Node) -> str:
        """The node's source, interned, since names repeat over all files."""
        piece = self.source[node.start_byte : node.end_byte]
        return _texts.get(piece) or _interned(piece)

    def visit(self, node: Node, scope: int) -> None:
        """Walk a node."""
        raise NotImplementedError

    def visit_all(self, node: Node, scope: int) -> None:
        """Walk what a node holds."""
        for child in node.named_children:
            self.visit(child, scope)

    def open_scope(self, parent: int, definition: int, kind: str) -> int:
        """A new scope's number."""
        self.facts.scopes.append((parent, definition, kind))
        self.facts.names.append({})
        return len(self.facts.scopes) - 1

    def bind(self, scope: int, name: str, binding: Binding) -> None:
        """Record one more meaning of a name in a scope."""
        self.facts.names[scope].setdefault(name, []).append(binding)

    def refer(self, scope: int, line: int, expression: Expression | None, relation: str) -> None:
        """Record a reference."""
        if expression is not None:
            self.facts.refs.append((self.current, scope, line, expression, relation))

    def owner(self, scope: int) -> int:
        """The definition that a scope belongs to, or -1."""
        return self.facts.scopes[scope][1]

    def define(
        self,
        kind: str,
        name: str,
        outer: Node,
        scope: int,
        *,
        named: Node | None = None,
        signature: str = "",
        doc: str = "",
        returns: Any = None,
        flags: tuple[str, ...] = (),
        opens: str = "",
        parent: int | None = None,
        shape: str = "",
    ) -> int:
        """Record a definition in a scope, and the scope it opens (`opens` is that scope's kind). Its number."""
        number = len(self.facts.defs)
        own = self.open_scope(scope, number, opens) if opens else -1
        around = self.owner(scope) if parent is None else parent
        start, end = outer.start_point[0] + 1, outer.end_point[0] + 1
        if outer.end_point[1] == 0 and end > start:
            end -= 1
        line = named.start_point[0] + 1 if named is not None else start
        clipped = clip(signature, SIGNATURE_MAX_CHARACTERS)
        self.facts.defs.append((kind, name, around, start, end, line, clipped, doc, own, returns, flags, scope, shape))
        return number

    def signature(self, start: Node, body: Node | None) -> str:
        """The source from a node up to its body, on one line."""
        end = body.start_byte if body is not None else start.end_byte
        return self.one_line(start.start_byte, end)

    def line(self, node: Node) -> str:
        """The node's source on one line, clipped: the signature of a field or a variable."""
        return clip(self.one_line(node.start_byte, node.end_byte), LINE_MAX_CHARACTERS)

    def one_line(self, start: int, end: int) -> str:
        """This part of the source on one line; an ellipsis stands for what is not even read of a long one."""
        text = one_line(self.source[start : min(end, start + SIGNATURE_MAX_BYTES)])
        return text if end - start <= SIGNATURE_MAX_BYTES else f"{text}…"

    def comment_before(self, node: Node, is_comment: Callable[[str], bool]) -> str:
        """The comment that stands right above a node, without its marks."""
        lines: list[str] = []
        below, before = node, node.prev_sibling
        while before is not None and is_comment(before.type):
            end = before.end_point
            if below.start_point[0] - end[0] > (1 if end[1] else 0):
                break
            if before.prev_sibling is not None and before.prev_sibling.end_point[0] == before.start_point[0]:
                break
            lines.append(self.source[before.start_byte : before.end_byte].decode("utf-8", "replace"))
            below, before = before, before.prev_sibling
            if len(lines) > 40:
                break
        return plain_comment("\n".join(reversed(lines)))


_texts: dict[bytes, str] = {}


def _interned(piece: bytes) -> str:
    if len(_texts) > TEXTS_MAX:
        _texts.clear()
    found = _texts[piece] = intern(piece.decode("utf-8", "replace"))
    return found


def one_line(source: bytes) -> str:
    """White space runs as one blank."""
    return " ".join(source.decode("utf-8", "replace").split())


def plain_comment(comment: str) -> str:
    """A comment's words without slashes, stars, hashes and C#'s tags; directives and rulers count as nothing."""
    kept = []
    if "<summary>" in comment:
        import re

        comment = re.sub(r" {2,}", " ", re.sub(r'</?[a-z]+(?: [a-z]+="([^"]*)")?[ /]*>', r" \1 ", comment))
    for line in comment.split("\n"):
        if line.startswith("#!"):
            continue
        words = line.strip().strip("/*#;-!<> \t=").strip()
        if words and not words.startswith(("@", "go:", "eslint", "prettier", "noqa", "type:", "nolint")):
            kept.append(words)
    return clip("\n".join(kept), DOC_MAX_CHARACTERS)
