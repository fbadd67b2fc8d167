"""Markup, styles and configuration: headings, selectors and keys for an outline, and no references."""

from __future__ import annotations

from guilds_code.engines.graph.languages.walk import Walk, one_line, parser
from guilds_wire.errors import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Facts

KEY_DEPTH_MAX = 3
"""Levels of keys in YAML, JSON and HCL; deeper ones are data rather than structure."""
YAML_LEVELS_MAX = 100
"""The scanner of tree-sitter-yaml keeps up to two entries a level and writes them into a buffer of 1,024 bytes, 254
entries, without looking at its end; deeper files overwrite memory."""
ENTRIES_MAX = 1000
NAME_MAX_CHARACTERS = 120


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The headings, selectors or keys of one file as definitions. Raises RecursionError for one nested too deeply."""
    if language == "yaml" and _levels_of_yaml(source) > YAML_LEVELS_MAX:
        raise RecursionError
    walk = _Outline(source)
    root = parser(f"tree_sitter_{language}").parse(source).root_node
    if language == "markdown":
        walk.headings(root)
    elif language == "html":
        walk.html(root, -1, 0)
    else:
        walk.entries(root, -1, 0, _ENTRIES[language])
    return walk.facts


def _levels_of_yaml(source: bytes) -> int:
    """How deeply blocks are nested, by where lines and `- `, `? ` and `: ` before anything else begin; 0 where no line
    begins far enough to the right for many levels."""
    import re

    begins = rb"(?:^|(?<=[\r\n]))"
    if re.search(begins + rb"[-?: \t]{%d}" % YAML_LEVELS_MAX, source) is None:
        return 0
    deepest = 0
    open_: list[int] = []
    for line in re.finditer(begins + rb"( *)((?:[-?:](?:[ \t]+|(?=[\r\n])))*)([^\s#]?)", source):
        if not line[2] and not line[3]:  # blank, or a comment
            continue
        while open_ and open_[-1] > len(line[1]):
            open_.pop()
        marks = [at for at, letter in enumerate(line[2], len(line[1])) if letter in b"-?:"]
        for column in [*marks, len(line[1]) + len(line[2])] if line[3] else marks:
            if not open_ or column > open_[-1]:
                open_.append(column)
        deepest = max(deepest, len(open_))
    return deepest


class _Outline(Walk):
    def add(self, kind: str, name: str, node: Node, parent: int) -> int:
        """Record an entry; the parent when there are too many already."""
        if len(self.facts.defs) >= ENTRIES_MAX or not name:
            return parent
        shown = clip(" ".join(name.split()), NAME_MAX_CHARACTERS)
        return self.define(kind, shown, node, 0, signature=shown, parent=parent)

    def headings(self, root: Node) -> None:
        """Markdown: each heading spans its section, nested by level."""
        found: list[tuple[int, Node]] = []
        pending = [root]
        while pending:
            node = pending.pop()
            if node.type in ("atx_heading", "setext_heading"):
                marker = next((c.type for c in node.children if "_h" in c.type), "atx_h1_marker")
                found.append((int(marker.partition("_h")[2][0]), node))
            else:
                pending.extend(reversed(node.named_children))
        last = root.end_point[0] + (1 if root.end_point[1] else 0)
        open_: list[tuple[int, int]] = []
        for place, (level, node) in enumerate(found):
            while open_ and open_[-1][0] >= level:
                open_.pop()
            content = node.child_by_field_name("heading_content")
            title = one_line(self.source[content.start_byte : content.end_byte]) if content is not None else ""
            parent = open_[-1][1] if open_ else -1
            number = self.add("heading", f"{'#' * level} {title}".strip(), node, parent)
            if number == parent:
                break
            start = node.start_point[0] + 1
            end = next((n.start_point[0] for next_level, n in found[place + 1 :] if next_level <= level), last)
            definition = self.facts.defs[number]
            self.facts.defs[number] = (*definition[:3], start, max(start, end), *definition[5:])
            open_.append((level, number))

    def html(self, node: Node, parent: int, depth: int) -> None:
        """HTML: headings, and elements with an id or that structure a page."""
        for child in node.named_children:
            inner = parent
            tag = child.named_children[0] if child.named_child_count else None
            if (
                child.type in ("element", "script_element", "style_element")
                and tag is not None
                and tag.named_child_count
            ):
                name = self.text(tag.named_children[0]).lower()
                identity = self.attribute(tag, "id")
                if len(name) == 2 and name[0] == "h" and name[1].isdigit():
                    inner = self.add("heading", f"{name} {self.words_of(child)}", child, parent)
                elif identity or name in _LANDMARKS:
                    inner = self.add("element", name + (f"#{identity}" if identity else ""), child, parent)
            if depth < 200:
                self.html(child, inner, depth + 1)

    def attribute(self, tag: Node, wanted: str) -> str:
        for child in tag.named_children:
            if (
                child.type == "attribute"
                and child.named_child_count > 1
                and self.text(child.named_children[0]) == wanted
            ):
                return self.text(child.named_children[1]).strip("\"'")
        return ""

    def words_of(self, node: Node) -> str:
        if node.type == "text":
            return self.text(node)
        return " ".join(filter(None, (self.words_of(child) for child in node.named_children)))

    def entries(self, node: Node, parent: int, depth: int, naming: dict[str, Callable[[_Outline, Node], str]]) -> None:
        """What a table of kinds names, nested."""
        for child in node.named_children:
            name = naming.get(child.type)
            if child.type in ("array", "block_sequence", "flow_sequence"):
                continue
            if name is None:
                self.entries(child, parent, depth, naming)
            elif depth < KEY_DEPTH_MAX:
                kind = "selector" if naming is _CSS else "key"
                self.entries(child, self.add(kind, name(self, child), child, parent), depth + 1, naming)


def _key(walk: _Outline, node: Node) -> str:
    named = node.child_by_field_name("key") or (node.named_children[0] if node.named_child_count else None)
    return walk.text(named).strip("\"'") if named is not None else ""


def _table(walk: _Outline, node: Node) -> str:
    text = walk.text(node.named_children[0]) if node.named_child_count else ""
    return f"[[{text}]]" if node.type == "table_array_element" else f"[{text}]"


def _block(walk: _Outline, node: Node) -> str:
    return " ".join(walk.text(c) for c in node.named_children if c.type in ("identifier", "string_lit"))


def _before_block(walk: _Outline, node: Node) -> str:
    last = node.children[-1].start_byte if node.child_count > 1 else node.end_byte
    return one_line(walk.source[node.start_byte : last])


_CSS: dict[str, Callable[[_Outline, Node], str]] = dict.fromkeys(
    ("rule_set", "media_statement", "keyframes_statement", "supports_statement", "at_rule"), _before_block
)
_ENTRIES: dict[str, dict[str, Callable[[_Outline, Node], str]]] = {
    "css": _CSS,
    "yaml": {"block_mapping_pair": _key, "flow_pair": _key},
    "toml": {"pair": _key, "table": _table, "table_array_element": _table},
    "json": {"pair": _key},
    "hcl": {"block": _block, "attribute": _key},
}
_LANDMARKS = frozenset(
    ("head", "body", "header", "footer", "main", "nav", "section", "article", "aside", "form", "table", "template")
)
