"""C: facts of a file, and what its names and members mean.

A name means what the file or what it includes declares (C17, 6.2.1 and 6.10.2); a declared function is the one of
that name with external linkage (6.2.2). The preprocessor is not run: both branches of a condition count.
"""

from __future__ import annotations

import posixpath

from guilds_code.engines.graph.facts import END, FLAGS, HOME, KIND, SCOPE, TYPE
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, Walk, parser
from guilds_code.engines.graph.resolve import EXTERNAL, UNKNOWN, VARIABLES, Resolver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Expression, Facts
    from guilds_code.engines.graph.resolve import Value

_TAGGED = {"struct_specifier": "struct", "union_specifier": "union", "enum_specifier": "enum"}
_SILENT = frozenset(
    ("comment", "string_literal", "number_literal", "char_literal", "system_lib_string", "primitive_type", "true",
     "false", "null", "break_statement", "continue_statement", "goto_statement", "preproc_arg", "field_identifier",
     "statement_identifier", "storage_class_specifier", "type_qualifier", "sized_type_specifier")
)  # fmt: skip
_STATEMENTS = frozenset(
    ("expression_statement", "if_statement", "else_clause", "for_statement", "while_statement", "do_statement",
     "switch_statement", "case_statement", "return_statement", "labeled_statement", "compound_statement")
)  # fmt: skip
_BLOCKS = frozenset(("compound_statement", "for_statement"))
INCLUDED_MAX = 400
"""Files that one file's includes are followed into."""


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one file."""
    walk = _C(source)
    walk.items(parser("tree_sitter_c").parse(source).root_node)
    walk.drop_local_references()
    return walk.facts


class _C(Walk):
    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.begun = -1
        """The function that begins before what is walked at file scope."""

    def items(self, node: Node) -> None:
        """Walk what stands at file scope. Where a condition splits a function's braces, its head is left in an error,
        and its statements stand there too."""
        inside = False
        for child in node.named_children:
            kind = child.type
            if kind == "ERROR":
                self.items(child)
            elif node.type == "ERROR" and kind in ("function_declarator", "pointer_declarator"):
                function, named = self.function_declarator(child)
                if function is not None and named is not None:
                    self.begun = self.function_def(child, named, child.prev_named_sibling, child, ())
                    inside = True
                    self.parameters(function, self.facts.defs[self.begun][SCOPE])
            elif kind == "function_definition":
                inside = False
                self.visit(child, 0)
            elif self.begun >= 0 and (inside or kind in _STATEMENTS):
                self.left_over(child)
            else:
                self.visit(child, 0)

    def left_over(self, node: Node) -> None:
        """Walk a part of the function that begins before, which so reaches to its end."""
        definition = self.facts.defs[self.begun]
        end = max(definition[END], node.end_point[0] + 1)
        self.facts.defs[self.begun] = (*definition[:END], end, *definition[END + 1 :])
        around, self.current = self.current, self.begun
        self.visit(node, definition[SCOPE])
        self.current = around

    def visit(self, node: Node, scope: int) -> None:
        """Walk a node."""
        kind = node.type
        if kind in _SILENT:
            return
        if kind in _BLOCKS:
            self.visit_all(node, self.open_scope(scope, self.owner(scope), "b"))
        elif kind in _TAGGED:
            self.tagged(node, scope)
        elif (method := _VISIT.get(kind)) is not None:
            method(self, node, scope)
        else:
            self.visit_all(node, scope)

    # declarations

    def include(self, node: Node, scope: int) -> None:
        path = node.child_by_field_name("path")
        if path is not None:
            module = self.text(path)
            self.facts.stars.append(module)
            self.refer(scope, node.start_point[0] + 1, ("import", module, None), "imports")

    def macro(self, node: Node, scope: int) -> None:  # noqa: ARG002
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if named is not None and (value is not None or node.type == "preproc_function_def"):
            number = self.define("macro", self.text(named), node, 0, named=named, parent=-1, doc=self.doc(node),
                                 signature=self.signature(node, value))  # fmt: skip
            self.bind(0, self.text(named), ("d", number))

    def function(self, node: Node, scope: int) -> None:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        written = node.child_by_field_name("type")
        function, named = self.function_declarator(declarator)
        if function is None or named is None:
            self.visit_all(node, scope)
            return
        number = self.begun = self.function_def(node, named, written, body, ())
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        if written is not None:
            self.visit(written, 0)
        self.parameters(function, inner)
        if body is not None:
            self.visit_all(body, inner)
        self.current = around

    def function_def(
        self, node: Node, named: Node, written: Node | None, body: Node | None, flags: tuple[str, ...]
    ) -> int:
        static = any(self.text(c) == "static" for c in node.named_children if c.type == "storage_class_specifier")
        number = self.define(
            "function", self.text(named), node, 0, named=named, signature=self.signature(node, body).rstrip("; "),
            doc=self.doc(node), returns=self.kind(written), flags=(*flags, *(("static",) if static else ())),
            opens="f" if body is not None else "", parent=-1,
        )  # fmt: skip
        self.bind(0, self.text(named), ("d", number))
        return number

    def function_declarator(self, node: Node | None) -> tuple[Node | None, Node | None]:
        """The function declarator inside pointers, and the name in it; (None, None) for a pointer to a function."""
        while node is not None and node.type in ("pointer_declarator", "attributed_declarator"):
            node = node.child_by_field_name("declarator") or (
                node.named_children[0] if node.named_child_count else None
            )
        if node is None or node.type != "function_declarator":
            return None, None
        named = node.child_by_field_name("declarator")
        if named is not None and named.type == "parenthesized_declarator" and named.named_child_count == 1:
            named = named.named_children[0]
        return (node, named) if named is not None and named.type == "identifier" else (None, None)

    def parameters(self, function: Node, scope: int) -> None:
        listed = function.child_by_field_name("parameters")
        for position, child in enumerate(listed.named_children if listed is not None else ()):
            written = child.child_by_field_name("type")
            named, function_pointer = self.declared(child.child_by_field_name("declarator"))
            kind = self.kind(written)
            if named is not None:
                kind = ("F", kind) if function_pointer else kind
                self.bind(scope, self.text(named), ("p", kind, None, position))
            if written is not None:
                self.visit(written, scope)

    def declared(self, node: Node | None) -> tuple[Node | None, bool]:
        """The name in a declarator, and whether it is a pointer to a function."""
        function = False
        while node is not None and node.type not in ("identifier", "field_identifier", "type_identifier"):
            function = function or node.type == "function_declarator"
            inner = node.child_by_field_name("declarator")
            if inner is None:
                inner = next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)
            node = inner
        return node, function

    def declaration(self, node: Node, scope: int) -> None:
        written = node.child_by_field_name("type")
        if written is not None:
            self.visit(written, scope)
        kind = self.kind(written)
        for declarator in node.children_by_field_name("declarator"):
            value = declarator.child_by_field_name("value") if declarator.type == "init_declarator" else None
            function, named = self.function_declarator(declarator)
            if function is not None and named is not None:
                if self.facts.scopes[scope][2] == "m":
                    self.function_def(node, named, written, None, ("prototype",))
                else:
                    self.bind(scope, self.text(named), ("linked",))
                self.visit_all(function, scope)
                continue
            named, pointer = self.declared(declarator)
            if named is None:
                continue
            self.variable(node, named, ("F", kind) if pointer else kind, scope, value)

    def variable(self, node: Node, named: Node, kind: Any, scope: int, value: Node | None) -> None:
        name, around = self.text(named), self.current
        if self.facts.scopes[scope][2] == "m":
            words = [self.text(c) for c in node.named_children if c.type == "storage_class_specifier"]
            number = self.define(
                "variable", name, node, 0, named=named, returns=kind, parent=-1, doc=self.doc(node),
                signature=self.line(node).rstrip(";"),
                flags=tuple(w for w in words if w in ("static", "extern")),
            )  # fmt: skip
            self.bind(0, name, ("d", number))
            self.current = number
        else:
            self.bind(scope, name, ("t", kind) if kind is not None else ("?",))
        if value is not None:
            self.visit(value, scope)
        self.current = around

    def tagged(self, node: Node, scope: int, alias: Node | None = None) -> int:
        """A struct, union or enum: its definition, or a mention. The definition's number or -1."""
        kind = _TAGGED[node.type]
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None:
            if named is not None:
                self.refer(scope, node.start_point[0] + 1, ("n", f"{kind} {self.text(named)}"), "uses")
            return -1
        holder = named or alias
        name = self.text(holder) if holder is not None else ""
        if not name:
            if kind == "enum":
                self.enumerators(body, name)
            else:
                self.fields(body, scope)
            return -1
        outer = node.parent if alias is not None and node.parent is not None else node
        number = self.define(kind, name, outer, scope, named=holder, opens="c", doc=self.doc(outer),
                             signature=f"{kind} {name}")  # fmt: skip
        self.bind(0, f"{kind} {name}", ("d", number))
        if named is None:
            self.bind(0, name, ("d", number))
        around, self.current = self.current, number
        if kind == "enum":
            self.enumerators(body, name)
        else:
            self.fields(body, self.facts.defs[number][SCOPE])
        self.current = around
        return number

    def enumerators(self, body: Node, owner: str) -> None:
        for child in body.named_children:
            named = child.child_by_field_name("name")
            if child.type == "enumerator" and named is not None:
                number = self.define("constant", self.text(named), child, 0, named=named,
                                     parent=self.current if owner else -1, signature=self.text(named))  # fmt: skip
                self.bind(0, self.text(named), ("d", number))

    def fields(self, body: Node, scope: int) -> None:
        for child in body.named_children:
            written = child.child_by_field_name("type")
            if child.type.startswith("preproc"):
                self.fields(child, scope)
            if child.type != "field_declaration" or written is None:
                continue
            if written.type in _TAGGED and written.child_by_field_name("name") is None:
                inner = written.child_by_field_name("body")
                declared = child.child_by_field_name("declarator")
                if inner is not None and declared is None:  # its members are the outer one's
                    self.fields(inner, scope)
                    continue
                number = self.tagged(written, scope, self.declared(declared)[0]) if declared is not None else -1
                kind = ("d", number) if number >= 0 else None
            else:
                kind = self.kind(written)
                self.visit(written, scope)
            for declarator in child.children_by_field_name("declarator"):
                named, pointer = self.declared(declarator)
                if named is not None and self.facts.scopes[scope][2] == "c":
                    number = self.define(
                        "field", self.text(named), child, scope, named=named, returns=("F", kind) if pointer else kind,
                        signature=self.line(child).rstrip(";"),
                    )  # fmt: skip
                    self.bind(scope, self.text(named), ("d", number))

    def typedef(self, node: Node, scope: int) -> None:
        written = node.child_by_field_name("type")
        declarators = node.children_by_field_name("declarator")
        names = [self.declared(d) for d in declarators]
        first = names[0][0] if names else None
        if written is None:
            return
        number = -1
        if written.type in _TAGGED and written.child_by_field_name("body") is not None:
            number = self.tagged(written, scope, first)
        else:
            self.visit(written, scope)
        head = self.signature(written, written.child_by_field_name("body"))
        for place, (named, pointer) in enumerate(names):
            if named is None or (place == 0 and number >= 0 and written.child_by_field_name("name") is None):
                continue
            kind = ("d", number) if number >= 0 else self.kind(written)
            alias = self.define(
                "type", self.text(named), node, scope, named=named, returns=("F", kind) if pointer else kind, parent=-1,
                doc=self.doc(node), signature=f"typedef {head} {self.text(named)}",
            )  # fmt: skip
            self.bind(0, self.text(named), ("d", alias))

    # references

    def call(self, node: Node, scope: int) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        while function is not None and function.type in ("parenthesized_expression", "pointer_expression"):
            function = function.child_by_field_name("argument") or (
                function.named_children[0] if function.named_child_count else None
            )
        if function is not None:
            self.refer(scope, function.end_point[0] + 1, self.expression(function), "calls")
            if function.type != "identifier":
                inner = function.child_by_field_name("argument") if function.type == "field_expression" else function
                if inner is not None:
                    self.visit(inner, scope)
        if arguments is not None:
            self.visit_all(arguments, scope)

    def field_expression(self, node: Node, scope: int) -> None:
        argument = node.child_by_field_name("argument")
        self.refer(scope, node.end_point[0] + 1, self.expression(node), "uses")
        if argument is not None:
            self.visit(argument, scope)

    def identifier(self, node: Node, scope: int) -> None:
        self.refer(scope, node.start_point[0] + 1, ("n", self.text(node)), "uses")

    # descriptions

    def expression(self, node: Node | None, depth: int = 0) -> Expression | None:
        """What can be said of an expression; a pointer is what it points to."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        if kind == "identifier":
            return ("n", self.text(node))
        if kind == "field_expression":
            inner, field = (
                self.expression(node.child_by_field_name("argument"), depth + 1),
                node.child_by_field_name("field"),
            )
            return ("a", inner, self.text(field)) if inner and field is not None else None
        if kind in ("subscript_expression", "pointer_expression"):
            return self.expression(node.child_by_field_name("argument"), depth + 1)
        if kind == "parenthesized_expression" and node.named_child_count:
            return self.expression(node.named_children[-1], depth + 1)
        if kind == "call_expression":
            inner = self.expression(node.child_by_field_name("function"), depth + 1)
            return ("c", inner) if inner else None
        if kind in ("cast_expression", "compound_literal_expression"):
            written = node.child_by_field_name("type")
            made = self.kind(written.child_by_field_name("type")) if written is not None else None
            return ("t", made) if made else None
        if kind == "conditional_expression":
            parts = tuple(
                filter(
                    None,
                    (self.expression(node.child_by_field_name(f), depth + 1) for f in ("consequence", "alternative")),
                )
            )
            return ("u", *parts) if len(parts) > 1 else parts[0] if parts else None
        if kind == "assignment_expression":
            return self.expression(node.child_by_field_name("left"), depth + 1)
        return ("ext",) if kind in _SILENT else None

    def kind(self, node: Node | None) -> Any:
        """The written type, pointers and arrays aside."""
        if node is None:
            return None
        if node.type == "type_identifier":
            return ("n", self.text(node))
        if node.type in _TAGGED:
            named = node.child_by_field_name("name")
            return ("n", f"{_TAGGED[node.type]} {self.text(named)}") if named is not None else None
        return None

    def doc(self, node: Node) -> str:
        return self.comment_before(node, lambda kind: kind == "comment")

    def drop_local_references(self) -> None:
        """Leave out local variables."""
        kept = []
        for ref in self.facts.refs:
            if ref[3][0] == "n" and ref[4] == "uses":
                scope = ref[1]
                while scope > 0 and ref[3][1] not in self.facts.names[scope]:
                    scope = self.facts.scopes[scope][0]
                if scope > 0 and self.facts.names[scope][ref[3][1]][0] != ("linked",):
                    continue
            kept.append(ref)
        self.facts.refs = kept


_VISIT = {
    "preproc_include": _C.include,
    "preproc_def": _C.macro,
    "preproc_function_def": _C.macro,
    "function_definition": _C.function,
    "declaration": _C.declaration,
    "type_definition": _C.typedef,
    "call_expression": _C.call,
    "field_expression": _C.field_expression,
    "identifier": _C.identifier,
    "type_identifier": _C.identifier,
}


class Semantics(Resolver):
    """Includes, tags and typedefs, and external linkage."""

    def prepare(self) -> None:
        self.by_name: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self.by_name.setdefault(path.rpartition("/")[2], []).append(path)
        self._reached: dict[str, frozenset[str]] = {}

    # includes

    def imported(self, path: str, module: str, name: str | None) -> Value | None:  # noqa: ARG002
        found = self.file(path, module)
        return ("mod", found) if found is not None else EXTERNAL

    def file(self, path: str, module: str) -> str | None:
        """The file that an include names: beside the file, else the nearest below any folder."""
        name = module.strip('"<>')
        self.keys.add(name.rpartition("/")[2])
        if module.startswith('"'):
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            if beside in self.paths:
                return beside
        found = [p for p in self.by_name.get(name.rpartition("/")[2], ()) if f"/{p}".endswith(f"/{name}")]
        if module.startswith("<") and "/" not in name:
            found = [p for p in found if "include" in p.split("/")[:-1] or "/" not in p]
        folder = posixpath.dirname(path).split("/")
        return min(found, key=lambda p: (-_common(folder, p.split("/")), p.count("/"), p), default=None)

    def reached(self, path: str) -> frozenset[str]:
        """The file and everything it includes."""
        found = self._reached.get(path)
        if found is None:
            seen = {path: None}
            for at in seen_in_order(seen):
                for module in self.facts(at).stars:
                    inner = self.file(at, module)
                    if inner is not None and len(seen) < INCLUDED_MAX:
                        seen.setdefault(inner)
            found = self._reached[path] = frozenset(seen)
        self.on |= found
        self.keys.update(m.strip('"<>').rpartition("/")[2] for p in found for m in self.facts(p).stars)
        return found

    # names

    def beyond(self, path: str, scope: int, name: str) -> Value | None:  # noqa: ARG002
        return self.once(("b", path, name), self.visible, path, name)

    def name(self, path: str, scope: int, name: str) -> Value | None:
        facts = self.facts(path)
        while scope > 0:
            bindings = facts.names[scope].get(name) if facts.scopes[scope][2] != "c" else None
            if bindings is not None:
                return self.bound(path, scope, name, bindings) or UNKNOWN
            scope = facts.scopes[scope][0]
        return self.beyond(path, 0, name)

    def visible(self, path: str, name: str) -> Value | None:
        """What a file-scope name means in a file."""
        found = self.declared_in(path, name)
        if not found:
            bare = name.partition(" ")[2] or name
            reached = self.reached(path)
            self.keys.add(f"name:{bare}")
            places = [p for p in self.named(bare) if p[0] in reached]
            found = [p for p in places if self.is_bound(p, name)]
            if not found and bare != name:  # an opaque type's tag
                found = self.only([p for p in self.named(bare) if self.is_bound(p, name)], [path])
        whole = [place for place in found if not self.is_declaration(place)]
        if not whole and found:
            whole = self.linked(path, name, found)
        chosen = whole[0] if whole else found[0] if found else None
        return self.defined(*chosen) if chosen is not None else None

    def is_bound(self, place: tuple[str, int], name: str) -> bool:
        return ("d", place[1]) in self.facts(place[0]).names[0].get(name, ())

    def only(self, places: list[tuple[str, int]], declared: list[str]) -> list[tuple[str, int]]:
        """The definition in the one file that includes one of those which declare it; [] where several files do."""
        files = {p for p, _ in places if any(header in self.reached(p) for header in declared)}
        return [place for place in places if place[0] in files][:1] if len(files) == 1 else []

    def declared_in(self, path: str, name: str) -> list[tuple[str, int]]:
        return [(path, b[1]) for b in self.facts(path).names[0].get(name, ()) if b[0] == "d"]

    def is_declaration(self, place: tuple[str, int]) -> bool:
        flags = self.facts(place[0]).defs[place[1]][FLAGS]
        return "prototype" in flags or "extern" in flags

    def linked(self, path: str, name: str, found: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """The definition with external linkage that a declaration stands for. Of several files that have one, as
        programs and mocks do, that of the only one which includes the declaration, else none."""
        if found and all("static" in self.facts(p).defs[n][FLAGS] for p, n in found):
            return []
        self.keys.add(f"name:{name}")
        kinds = {self.facts(p).defs[n][KIND] for p, n in found} or {"function"}
        places = []
        for place in self.named(name):
            definition = self.facts(place[0]).defs[place[1]]
            linked = definition[KIND] in kinds and definition[HOME] == 0 and "static" not in definition[FLAGS]
            if linked and not self.is_declaration(place):
                places.append(place)
        if len({p for p, _ in places}) > 1:
            return self.only(places, [p for p, _ in found if p != path])
        return places[:1]

    # types and members

    def defined(self, path: str, number: int) -> Value | None:
        definition = self.facts(path).defs[number]
        if definition[KIND] == "macro":
            return ("var", path, number, UNKNOWN)
        if definition[KIND] in VARIABLES:
            kind = definition[TYPE]
            return ("var", path, number, self.instance(path, definition[HOME], kind) if kind is not None else UNKNOWN)
        return super().defined(path, number)

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "linked":  # a function that is declared inside another
            places = [] if (value := self.beyond(path, 0, name)) is not None else self.linked(path, name, [])
            return value or (self.defined(*places[0]) if places else EXTERNAL)
        return super().binding(path, scope, name, binding)

    def bound(self, path: str, scope: int, name: str, bindings: list[Binding]) -> Value | None:
        if bindings[0][0] == "d":
            return self.defined(path, bindings[0][1])
        return super().bound(path, scope, name, bindings)

    def foreign(self, function: Expression) -> Value:  # noqa: ARG002
        """What another module's function gives is a type of that module or those below it."""
        return EXTERNAL

    def _instance(self, path: str, scope: int, kind: Any, depth: int) -> Value | None:
        if kind[0] == "d":
            return ("inst", path, kind[1], ())
        made = super()._instance(path, scope, kind, depth)
        if made is None and kind[0] == "n":  # a header's name for a type that this file completes
            alias = self.name(path, scope, kind[1])
            held = self.facts(alias[1]).defs[alias[2]][TYPE] if alias is not None and alias[0] == "cls" else None
            if alias is not None and held is not None and held[0] == "n" and alias[1] != path:
                made = self.instance(path, 0, held, depth + 1)
        return made

    def instantiated(self, owner: Value | None, arguments: tuple[Value, ...]) -> Value | None:
        if owner is not None and owner[0] == "cls":
            definition = self.facts(owner[1]).defs[owner[2]]
            if definition[KIND] == "type":
                held = definition[TYPE]
                return self.instance(owner[1], 0, held) if held is not None else EXTERNAL
        return super().instantiated(owner, arguments)

    def indexed(self, value: Value) -> Value | None:
        return value

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        facts = self.facts(path)
        scope = facts.defs[number][SCOPE]
        bindings = facts.names[scope].get(name) if scope >= 0 else None
        return self.bound(path, scope, name, bindings) if bindings else None


def seen_in_order(seen: dict[str, None]) -> Any:
    """The keys of a dict, those too that are added meanwhile."""
    done = 0
    while done < len(seen):
        for key in list(seen)[done:]:
            done += 1
            yield key


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
