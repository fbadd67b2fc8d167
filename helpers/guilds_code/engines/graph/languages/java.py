"""Java: facts of a compilation unit, and what its names, types and members mean.

Follows the Java Language Specification: 6 (names and scope), 7 (packages), 8.4 (methods; overloads are told apart
by the number of arguments). Type arguments of methods are not inferred.
"""

from __future__ import annotations

from guilds_code.engines.graph.facts import KIND, NAME, PARENT, SCOPE
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, Walk, parser
from guilds_code.engines.graph.resolve import EXTERNAL, UNKNOWN, Resolver, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Expression, Facts
    from guilds_code.engines.graph.resolve import Value

_CLASSES = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "record_declaration": "record",
    "annotation_type_declaration": "interface",
}
_SILENT = frozenset(
    ("line_comment", "block_comment", "string_literal", "decimal_integer_literal", "null_literal", "true", "false",
     "character_literal", "hex_integer_literal", "decimal_floating_point_literal", "break_statement",
     "continue_statement", "package_declaration", "super", "this")
)  # fmt: skip
_TYPES = frozenset(
    ("type_identifier", "scoped_type_identifier", "generic_type", "array_type", "type_arguments", "annotated_type",
     "wildcard", "type_parameters", "catch_type", "throws")
)  # fmt: skip
_SEQUENCES = frozenset(
    ("List", "ArrayList", "LinkedList", "Set", "HashSet", "LinkedHashSet", "TreeSet", "SortedSet", "Collection",
     "Iterable", "Iterator", "ListIterator", "Queue", "Deque", "ArrayDeque", "Stream", "Optional", "Stack", "Vector",
     "Supplier", "Callable", "Future", "CompletableFuture", "ThreadLocal", "AtomicReference", "WeakReference",
     "SoftReference", "Provider", "CopyOnWriteArrayList", "PriorityQueue", "Iterators", "ImmutableList", "ImmutableSet")
)  # fmt: skip
_MAPS = frozenset(
    ("Map", "HashMap", "LinkedHashMap", "TreeMap", "SortedMap", "ConcurrentMap", "ConcurrentHashMap", "ImmutableMap",
     "EnumMap", "WeakHashMap", "IdentityHashMap", "NavigableMap")
)  # fmt: skip
_ELEMENT = frozenset(
    ("get", "next", "previous", "first", "last", "getFirst", "getLast", "remove", "removeFirst", "removeLast", "poll",
     "peek", "pop", "pollFirst", "pollLast", "element", "orElse", "orElseGet", "orElseThrow", "call", "join",
     "peekFirst", "peekLast", "set", "getAndSet", "firstElement", "lastElement")
)  # fmt: skip
_SAME = frozenset(
    ("stream", "iterator", "listIterator", "filter", "sorted", "limit", "skip", "distinct", "peek", "parallelStream",
     "findFirst", "findAny", "min", "max", "subList", "toList", "descendingIterator", "or", "parallel", "sequential")
)  # fmt: skip
_PER_ELEMENT = frozenset(
    ("forEach", "map", "filter", "flatMap", "anyMatch", "allMatch", "noneMatch", "removeIf", "ifPresent", "mapToInt",
     "peek", "takeWhile", "dropWhile", "mapToLong", "mapToObj", "thenApply", "thenAccept", "toArray", "forEachOrdered")
)  # fmt: skip


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one file."""
    walk = _Java(source)
    walk.visit_all(parser("tree_sitter_java").parse(source).root_node, 0)
    walk.drop_local_references()
    return walk.facts


class _Java(Walk):
    def visit(self, node: Node, scope: int) -> None:
        """Walk a node."""
        kind = node.type
        if kind == "package_declaration" and node.named_child_count:
            self.facts.package = self.text(node.named_children[-1])
        if kind in _SILENT:
            return
        if kind in _CLASSES:
            self.class_(node, scope)
        elif kind in _TYPES:
            self.visit_type(node, scope)
        elif (walk := _VISIT.get(kind)) is not None:
            walk(self, node, scope)
        else:
            self.visit_all(node, scope)

    # declarations

    def import_(self, node: Node, scope: int) -> None:
        line = node.start_point[0] + 1
        named = next((c for c in node.named_children if c.type in ("scoped_identifier", "identifier")), None)
        if named is None:
            return
        whole = self.text(named)
        if any(c.type == "asterisk" for c in node.named_children):
            self.facts.stars.append(whole)
            return
        module, _, name = whole.rpartition(".")
        self.bind(scope, name, ("i", module, name))
        self.refer(scope, line, ("import", module, name), "imports")

    def class_(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name = self.text(named)
        number = self.define(
            _CLASSES[node.type], name, node, scope, named=named, signature=self.header(node, body), opens="c",
            doc=self.comment_before(node, _is_comment),
        )  # fmt: skip
        self.bind(scope, name, ("d", number))
        self.inside(node, number, body)

    def inside(self, node: Node, number: int, body: Node | None) -> None:
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.modifiers(node, inner)
        self.type_parameters(node, inner, number)
        for child in node.named_children:
            if child.type in ("superclass", "super_interfaces", "extends_interfaces"):
                relation = "implements" if child.type == "super_interfaces" else "inherits"
                listed = [
                    c
                    for inside in child.named_children
                    for c in (inside.named_children if inside.type == "type_list" else [inside])
                ]
                for base in listed:
                    self.base(base, relation, number, inner)
            elif child.type == "formal_parameters":
                for parameter in child.named_children:
                    self.component(parameter, inner)
        if body is not None:
            self.visit_all(body, inner)
        self.current = around

    def base(self, node: Node, relation: str, number: int, scope: int) -> None:
        kind = self.kind(node)
        if kind is not None:
            self.facts.bases.setdefault(number, []).append((kind, relation, scope))
            head = kind[1] if kind[0] == "G" else kind
            self.refer(scope, node.start_point[0] + 1, ("ty", head), relation)
            if kind[0] == "G":
                for argument in node.named_children[1:]:
                    self.visit_type(argument, scope)

    def component(self, node: Node, scope: int) -> None:
        """A record's component: a field and the method that reads it."""
        named, written = node.child_by_field_name("name"), node.child_by_field_name("type")
        if named is not None and written is not None:
            kind = self.kind(written)
            number = self.define("field", self.text(named), node, scope, named=named, returns=kind,
                                 signature=self.line(node))  # fmt: skip
            self.bind(scope, self.text(named), ("d", number))
            self.visit_type(written, scope)

    def modifiers(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            for annotation in child.named_children if child.type == "modifiers" else ():
                named = annotation.child_by_field_name("name")
                if named is not None:
                    self.refer(scope, annotation.start_point[0] + 1, ("ty", self.kind(named)), "decorates")
                for part in annotation.named_children[1:]:
                    self.visit(part, scope)

    def type_parameters(self, node: Node, scope: int, number: int) -> None:
        listed = node.child_by_field_name("type_parameters")
        for position, child in enumerate(listed.named_children if listed is not None else ()):
            if child.type != "type_parameter" or not child.named_child_count:
                continue
            bound = child.named_children[1] if child.named_child_count > 1 else None
            kind = self.kind(bound.named_children[0]) if bound is not None and bound.named_child_count else None
            self.bind(scope, self.text(child.named_children[0]), ("tp", number, position, scope, kind))
            if bound is not None:
                self.visit_type(bound, scope)

    def method(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        written, listed = node.child_by_field_name("type"), node.child_by_field_name("parameters")
        name = self.text(named)
        constructor = node.type in ("constructor_declaration", "compact_constructor_declaration")
        words = [self.text(c) for m in node.named_children if m.type == "modifiers" for c in m.children]
        number = self.define(
            "method", name, node, scope, named=named, signature=self.header(node, body),
            doc=self.comment_before(node, _is_comment),
            returns=self.kind(written) if written is not None else None,
            flags=("abstract",) if "abstract" in words or (body is None and not constructor) else (), opens="f",
        )  # fmt: skip
        count = len([c for c in (listed.named_children if listed is not None else ()) if c.type == "formal_parameter"])
        open_ended = listed is not None and any(c.type == "spread_parameter" for c in listed.named_children)
        if constructor:
            self.bind(scope, "<init>", ("d", number))
        else:
            self.bind(scope, f"{name}()", ("d", number))
            if not open_ended:
                self.bind(scope, f"{name}()/{count}", ("d", number))
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.modifiers(node, inner)
        self.type_parameters(node, inner, number)
        if written is not None:
            self.visit_type(written, inner)
        self.parameters(listed, inner)
        if body is not None:
            self.visit_all(body, inner)
        self.current = around

    def parameters(self, listed: Node | None, scope: int) -> None:
        for position, child in enumerate(listed.named_children if listed is not None else ()):
            named, written = child.child_by_field_name("name"), child.child_by_field_name("type")
            if child.type == "spread_parameter":
                written = next((c for c in child.named_children if c.type in _TYPES), None)
                holder = child.named_children[-1] if child.named_child_count else None
                named = holder.child_by_field_name("name") if holder is not None else None
            kind = self.kind(written) if written is not None else None
            if child.type == "spread_parameter" and kind is not None:
                kind = ("S", kind)
            if named is not None:
                self.bind(scope, self.text(named), ("p", kind, None, position))
            if written is not None:
                self.visit_type(written, scope)

    def field(self, node: Node, scope: int) -> None:
        written = node.child_by_field_name("type")
        kind = self.kind(written) if written is not None else None
        self.modifiers(node, scope)
        if written is not None:
            self.visit_type(written, scope)
        for declarator in node.children_by_field_name("declarator"):
            named, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            if named is None:
                continue
            number = self.define(
                "field", self.text(named), node, scope, named=named, returns=kind,
                doc=self.comment_before(node, _is_comment),
                signature=self.line(node).rstrip(";"),
            )  # fmt: skip
            self.bind(scope, self.text(named), ("d", number))
            if value is not None:
                self.visit(value, scope)

    def local(self, node: Node, scope: int) -> None:
        written = node.child_by_field_name("type")
        kind = self.kind(written) if written is not None else None
        if kind is not None and kind != ("n", "var") and written is not None:
            self.visit_type(written, scope)
        for declarator in node.children_by_field_name("declarator"):
            named, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            made = self.expression(value)
            binding: Binding = (
                ("t", kind) if kind is not None and kind != ("n", "var") else ("v", made) if made else ("?",)
            )
            if named is not None:
                self.bind(scope, self.text(named), binding)
            if value is not None:
                self.visit(value, scope)

    def named_type(self, node: Node, scope: int) -> None:
        """A resource, a pattern, a caught exception: one name with a type and maybe a value."""
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        written = node.child_by_field_name("type") or node.child_by_field_name("right")
        written = written or next((c for c in node.named_children if c.type in _TYPES), None)
        kind = self.kind(written) if written is not None else None
        if kind == ("n", "var"):
            made = self.expression(value)
            kind = ("Q", made) if made else None
        elif written is not None:
            self.visit_type(written, scope)
        if named is not None:
            self.bind(scope, self.text(named), ("t", kind) if kind else ("?",))
        for part in (value, node.child_by_field_name("left"), node.child_by_field_name("pattern")):
            if part is not None:
                self.visit(part, scope)

    def type_pattern(self, node: Node, scope: int, given: Any = None) -> None:
        """`Type name`, at the end of a pattern or as a part of a record's; `given` is what `var` stands for."""
        parts = [c for c in node.named_children if c.type != "modifiers"]
        if len(parts) < 2 or parts[-1].type != "identifier":
            return
        kind = self.kind(parts[0])
        if kind == ("n", "var"):
            kind = given
        else:
            self.visit_type(parts[0], scope)
        self.bind(scope, self.text(parts[-1]), ("t", kind) if kind is not None else ("?",))

    def record_pattern(self, node: Node, scope: int) -> None:
        named = node.named_children[0]
        record = self.kind(named)
        if record is not None:
            self.refer(scope, named.start_point[0] + 1, ("ty", record[1] if record[0] == "G" else record), "uses")
        body = next((c for c in node.named_children if c.type == "record_pattern_body"), None)
        for position, child in enumerate(body.named_children if body is not None else ()):
            if child.type == "record_pattern_component" and record is not None:
                self.type_pattern(child, scope, ("Q", ("component", record, position)))
            else:
                self.visit(child, scope)

    def if_statement(self, node: Node, scope: int) -> None:
        """What a condition binds holds in its branch, and after the statement where the condition denies it."""
        condition, other = node.child_by_field_name("condition"), node.child_by_field_name("alternative")
        inner = scope
        if condition is not None:
            denied = b"!" in self.source[condition.start_byte : condition.end_byte].replace(b"!=", b"")
            inner = scope if denied else self.open_scope(scope, self.owner(scope), "b")
        for child in node.named_children:
            self.visit(child, scope if other is not None and child.id == other.id else inner)

    def for_each(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "b")
        named, value, body = (node.child_by_field_name(f) for f in ("name", "value", "body"))
        written = node.child_by_field_name("type")
        kind = self.kind(written) if written is not None else None
        given = self.expression(value)
        if named is not None:
            if kind is not None and kind != ("n", "var"):
                self.bind(inner, self.text(named), ("t", kind))
            else:
                self.bind(inner, self.text(named), ("v", ("e", given)) if given else ("?",))
        for part in (written if kind != ("n", "var") else None, value, body):
            if part is not None:
                self.visit(part, inner)

    def block(self, node: Node, scope: int) -> None:
        self.visit_all(node, self.open_scope(scope, self.owner(scope), "b"))

    def lambda_(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "l")
        listed, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        if listed is not None and listed.type == "formal_parameters":
            self.parameters(listed, inner)
        elif listed is not None:
            given = self.passed_to(node)
            names = [listed] if listed.type == "identifier" else listed.named_children
            for named in names:
                self.bind(inner, self.text(named), ("v", given) if given is not None and len(names) == 1 else ("?",))
        if body is not None:
            self.visit(body, inner)

    def passed_to(self, node: Node) -> Expression | None:
        """What a lambda's parameter is, when a container's method takes it."""
        call = node.parent.parent if node.parent is not None else None
        if call is None or call.type != "method_invocation":
            return None
        named, owner = call.child_by_field_name("name"), call.child_by_field_name("object")
        if named is None or owner is None or self.text(named) not in _PER_ELEMENT:
            return None
        given = self.expression(owner)
        return ("e", given) if given else None

    # references

    def call(self, node: Node, scope: int) -> None:
        named, owner = node.child_by_field_name("name"), node.child_by_field_name("object")
        arguments = node.child_by_field_name("arguments")
        if named is not None:
            self.refer(scope, named.start_point[0] + 1, self.callee(node), "calls")
        for part in (owner, arguments, node.child_by_field_name("type_arguments")):
            if part is not None:
                self.visit(part, scope)

    def callee(self, node: Node, depth: int = 0) -> Expression | None:
        named, owner = node.child_by_field_name("name"), node.child_by_field_name("object")
        arguments = node.child_by_field_name("arguments")
        if named is None:
            return None
        count = arguments.named_child_count if arguments is not None else 0
        name = f"{self.text(named)}()/{count}"
        if owner is None:
            return ("n", name)
        inner = self.expression(owner, depth + 1)
        if inner is not None and any(child.type == "super" for child in node.children):
            inner = ("above", inner)  # `Outer.super.method()`, `Interface.super.method()`
        return ("a", inner, name) if inner else None

    def new(self, node: Node, scope: int) -> None:
        written = node.child_by_field_name("type")
        kind = self.kind(written) if written is not None else None
        head = kind[1] if kind is not None and kind[0] == "G" else kind
        if head is not None:
            self.refer(scope, node.start_point[0] + 1, ("ty", head), "calls")
        for child in node.named_children:
            if child.type == "class_body" and head is not None:
                number = self.define(
                    "class", f"({head[-1]})", node, scope, opens="c", signature=f"new {head[-1]}() {{…}}"
                )
                self.facts.bases[number] = [(kind or head, "inherits", scope)]
                self.refer(scope, node.start_point[0] + 1, ("ty", head), "inherits")
                around, self.current = self.current, number
                self.visit_all(child, self.facts.defs[number][SCOPE])
                self.current = around
            elif written is None or child.id != written.id:
                self.visit(child, scope)

    def constructor_call(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            self.visit(child, scope)

    def field_access(self, node: Node, scope: int) -> None:
        named, owner = node.child_by_field_name("field"), node.child_by_field_name("object")
        if named is not None:
            self.refer(scope, named.start_point[0] + 1, self.expression(node), "uses")
        if owner is not None:
            self.visit(owner, scope)

    def method_reference(self, node: Node, scope: int) -> None:
        parts = node.named_children
        if len(parts) > 1:
            owner = self.expression(parts[0]) or self.kind(parts[0])
            if owner is not None:
                self.refer(scope, node.start_point[0] + 1, ("a", owner, f"{self.text(parts[-1])}()"), "uses")
        if parts:
            self.visit(parts[0], scope)

    def identifier(self, node: Node, scope: int) -> None:
        self.refer(scope, node.start_point[0] + 1, ("n", self.text(node)), "uses")

    def visit_type(self, node: Node, scope: int) -> None:
        if node.type in ("type_identifier", "scoped_type_identifier"):
            kind = self.kind(node)
            self.refer(scope, node.start_point[0] + 1, ("ty", kind) if kind else None, "uses")
        else:
            for child in node.named_children:
                self.visit_type(child, scope)

    def return_(self, node: Node, scope: int) -> None:
        self.visit_all(node, scope)

    # descriptions

    def expression(self, node: Node | None, depth: int = 0) -> Expression | None:
        """What can be said of an expression."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        if kind == "identifier":
            return ("n", self.text(node))
        if kind == "this":
            return ("self",)
        if kind == "super":
            return ("s",)
        if kind == "field_access":
            inner, named = (
                self.expression(node.child_by_field_name("object"), depth + 1),
                node.child_by_field_name("field"),
            )
            if inner is not None and named is not None and named.type == "this":  # `Outer.this`
                return ("t", inner) if inner[0] in "na" else None
            return ("a", inner, self.text(named)) if inner and named is not None else None
        if kind == "scoped_identifier":
            inner, named = (
                self.expression(node.child_by_field_name("scope"), depth + 1),
                node.child_by_field_name("name"),
            )
            return ("a", inner, self.text(named)) if inner and named is not None else None
        if kind == "method_invocation":
            callee = self.callee(node, depth)
            return ("c", callee) if callee else None
        if kind in ("object_creation_expression", "cast_expression", "array_creation_expression"):
            written = node.child_by_field_name("type")
            made = self.kind(written) if written is not None else None
            return ("t", made) if made else None
        if kind == "parenthesized_expression" and node.named_child_count:
            return self.expression(node.named_children[0], depth + 1)
        if kind == "array_access":
            inner = self.expression(node.child_by_field_name("array"), depth + 1)
            return ("i", inner) if inner else None
        if kind == "ternary_expression":
            parts = tuple(
                filter(
                    None,
                    (self.expression(node.child_by_field_name(f), depth + 1) for f in ("consequence", "alternative")),
                )
            )
            return ("u", *parts) if len(parts) > 1 else parts[0] if parts else None
        if kind == "assignment_expression":
            return self.expression(node.child_by_field_name("right"), depth + 1)
        return ("ext",) if kind in _SILENT or kind == "binary_expression" else None

    def kind(self, node: Node, depth: int = 0) -> Any:
        """The written type."""
        if depth > 8:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return ("n", self.text(node))
        if kind in ("scoped_type_identifier", "scoped_identifier"):
            parts = [p.strip() for p in self.text(node).split(".")]
            if all(p.isidentifier() for p in parts):
                named: Any = ("n", parts[0])
                for part in parts[1:]:
                    named = ("a", named, part)
                return named
            return None
        if kind == "generic_type" and node.named_child_count:
            base = self.kind(node.named_children[0], depth + 1)
            given = node.named_children[1].named_children if node.named_child_count > 1 else []
            return ("G", base, tuple(self.kind(a, depth + 1) for a in given)) if base else None
        if kind == "array_type":
            inner = node.child_by_field_name("element")
            made = self.kind(inner, depth + 1) if inner is not None else None
            return ("S", made) if made else None
        if kind in ("wildcard", "annotated_type", "catch_type", "type_bound") and node.named_child_count:
            parts2 = tuple(filter(None, (self.kind(c, depth + 1) for c in node.named_children)))
            return ("U", *parts2) if len(parts2) > 1 else parts2[0] if parts2 else None
        return None

    def header(self, node: Node, body: Node | None) -> str:
        """The signature without annotations."""
        start = next((c for c in node.children if c.type not in ("modifiers",)), node)
        words = [
            self.text(c) for m in node.named_children if m.type == "modifiers" for c in m.children if not c.is_named
        ]
        return " ".join([*words, self.signature_from(start, node, body)]).rstrip(" ;")

    def signature_from(self, start: Node, node: Node, body: Node | None) -> str:
        end = body.start_byte if body is not None else node.end_byte
        return self.one_line(start.start_byte, end)

    def drop_local_references(self) -> None:
        """Leave out bare names of local variables and type parameters."""
        kept = []
        for ref in self.facts.refs:
            expression = ref[3][1] if ref[3][0] == "ty" else ref[3]
            if expression is None:
                continue
            if expression[0] == "n" and ref[4] == "uses":
                bound = self.lexical(ref[1], expression[1])
                if bound is not None and all(b[0] in ("p", "v", "?", "t", "tp") for b in bound):
                    continue
                if bound is None and ref[3][0] == "n" and not expression[1][:1].isupper() and not self.facts.bases:
                    continue
            kept.append(ref)
        self.facts.refs = kept

    def lexical(self, scope: int, name: str) -> list[Binding] | None:
        while scope >= 0:
            if name in self.facts.names[scope]:
                return self.facts.names[scope][name]
            scope = self.facts.scopes[scope][0]
        return None


def _enum_constant(walk: _Java, node: Node, scope: int) -> None:
    named = node.child_by_field_name("name")
    owner = walk.facts.defs[walk.owner(scope)][1]
    if named is not None:
        walk.bind(scope, walk.text(named), ("t", ("n", owner)))
    for child in node.named_children[1:]:
        walk.visit(child, scope)


_VISIT = {
    "import_declaration": _Java.import_,
    "method_declaration": _Java.method,
    "constructor_declaration": _Java.method,
    "compact_constructor_declaration": _Java.method,
    "annotation_type_element_declaration": _Java.method,
    "field_declaration": _Java.field,
    "constant_declaration": _Java.field,
    "local_variable_declaration": _Java.local,
    "resource": _Java.named_type,
    "catch_formal_parameter": _Java.named_type,
    "instanceof_expression": _Java.named_type,
    "record_pattern": _Java.record_pattern,
    "type_pattern": _Java.type_pattern,
    "if_statement": _Java.if_statement,
    "enhanced_for_statement": _Java.for_each,
    "block": _Java.block,
    "for_statement": _Java.block,
    "catch_clause": _Java.block,
    "try_with_resources_statement": _Java.block,
    "switch_block_statement_group": _Java.block,
    "switch_rule": _Java.block,
    "lambda_expression": _Java.lambda_,
    "method_invocation": _Java.call,
    "object_creation_expression": _Java.new,
    "field_access": _Java.field_access,
    "method_reference": _Java.method_reference,
    "identifier": _Java.identifier,
    "enum_constant": _enum_constant,
}


def _is_comment(kind: str) -> bool:
    return kind in ("block_comment", "line_comment")


class Semantics(Resolver):
    """Packages, imports, members by name and number of arguments, and the collections."""

    CLASS_SCOPES = True
    LOOSE = "an"
    EMPTY_BASES = frozenset(("Object", "Record", "Enum"))

    def prepare(self) -> None:
        self.by_package: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self.by_package.setdefault(self.packages.get(path, ""), []).append(path)

    # packages

    def imported(self, path: str, module: str, name: str | None) -> Value | None:
        if name is None:
            return EXTERNAL
        owner = self.type_at(module, name)
        if owner is not None:
            return owner
        package, _, outer = module.rpartition(".")  # a nested class, or a static member
        holder = self.imported(path, package, outer) if outer[:1].isupper() else None
        if holder is None or holder == EXTERNAL:
            return EXTERNAL
        return self.member(holder, name) or self.member(holder, f"{name}()") or UNKNOWN

    def type_at(self, package: str, name: str) -> Value | None:
        """A type of a package: of the file that bears its name, else of any of the package's files."""
        self.keys.update((f"package:{package}", name))
        files = self.by_package.get(package, ())
        own = [path for path in files if path.rpartition("/")[2] == f"{name}.java"]
        for path in own or files:
            bindings = self.facts(path).names[0].get(name, ())
            if any(b[0] == "d" for b in bindings):
                return self.bound(path, 0, name, [b for b in bindings if b[0] == "d"])
        return None

    def beyond(self, path: str, scope: int, name: str) -> Value | None:  # noqa: ARG002
        if "(" in name:
            return self.starred(path, name)
        if not name[:1].isupper():
            return self.starred(path, name)
        value = self.type_at(self.packages.get(path, ""), name)
        return value or self.starred(path, name)

    def starred(self, path: str, name: str) -> Value | None:
        foreign = False
        for module in self.facts(path).stars:
            if module in self.by_package:
                value = self.type_at(module, name) if name[:1].isupper() else None
            else:
                package, _, outer = module.rpartition(".")
                holder = self.imported(path, package, outer) if outer[:1].isupper() else EXTERNAL
                foreign = foreign or holder == EXTERNAL
                value = self.member(holder, name) if holder not in (None, EXTERNAL) else None
            if value is not None:
                return value
        return EXTERNAL if foreign or "(" not in name else None

    # names and members

    def name(self, path: str, scope: int, name: str) -> Value | None:
        method, slash, _ = name.partition("/")
        facts = self.facts(path)
        start = scope
        while scope >= 0:
            parent, definition, kind = facts.scopes[scope]
            bindings = facts.names[scope].get(name) or (facts.names[scope].get(method) if slash else None)
            if bindings is not None and kind != "c":
                if bindings[0][0] == "i" and slash:
                    return self.imported(path, bindings[0][1], bindings[0][2])
                return self.bound(path, scope, name, bindings) or UNKNOWN
            if kind == "c":
                if bindings is not None and bindings[0][0] == "tp":
                    return self.bound(path, scope, name, bindings)
                value = self.member(("inst", path, definition, ()), name)
                if value is not None and value != EXTERNAL:
                    return value
                anonymous = facts.defs[definition][NAME].startswith("(")  # mostly of an interface, which hides nothing
                if slash and not anonymous and self.hides(path, definition):
                    return UNKNOWN  # a foreign superclass may have it, and would go before what stands around
            scope = parent
        if slash:  # a static import names the method alone
            imported = facts.names[0].get(method.removesuffix("()"))
            if imported and imported[0][0] == "i":
                return self.imported(path, imported[0][1], imported[0][2])
        return self.beyond(path, start, name)

    def member(self, owner: Value | None, name: str) -> Value | None:
        value = super().member(owner, name)
        method, slash, _ = name.partition("/")
        if slash and (value is None or value == EXTERNAL):
            bare = super().member(owner, method)
            if bare is not None and bare != EXTERNAL:
                return bare
            if value is None and owner is not None and owner[0] == "inst":
                field = super().member(owner, method.removesuffix("()"))  # a record's accessor
                if field is not None and field[0] == "var":
                    return field
        return value

    def result(self, function: Value | None) -> Value | None:
        if function is not None and function[0] == "var":
            return plain(function)
        return super().result(function)

    def targets(self, path: str, scope: int, expression: Expression) -> list[tuple[str, int]] | None:
        if expression[0] == "s":
            return []
        return super().targets(path, scope, expression)

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "tp":
            return ("par", path, *binding[1:])
        return super().binding(path, scope, name, binding)

    def parameter_bound(self, parameter: Value) -> Value | None:
        return self.instance(parameter[1], parameter[4], parameter[5]) if parameter[5] else EXTERNAL

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        if expression[0] == "ty":
            kind = expression[1]
            return self.type_name(path, scope, kind[1]) if kind[0] == "n" else self.type_member(path, scope, kind)
        if expression[0] == "component":
            record = self.instance(path, scope, expression[1])
            return self.component(record, expression[2]) if record is not None and record[0] == "inst" else None
        if expression[0] == "above":
            owner = plain(self.evaluate(path, scope, expression[1]))
            if owner is None or owner[0] != "cls":
                return owner
            return owner if self.facts(owner[1]).defs[owner[2]][KIND] == "interface" else ("sup", *owner[1:3])
        if expression[0] == "s":
            around = self.class_around(path, scope)
            return ("sup", path, around) if around >= 0 else None
        return super()._evaluate(path, scope, expression)

    def component(self, record: Value, position: int) -> Value | None:
        """What a record's component at a position holds."""
        facts = self.facts(record[1])
        own = [n for n, d in enumerate(facts.defs) if d[PARENT] == record[2] and d[KIND] == "field"]
        if facts.defs[record[2]][KIND] != "record" or position >= len(own):
            return None
        return self.substituted(plain(self.defined(record[1], own[position])), record)

    def type_member(self, path: str, scope: int, kind: Any) -> Value | None:
        inner = kind[1]
        owner = self.type_name(path, scope, inner[1]) if inner[0] == "n" else self.type_member(path, scope, inner)
        if owner is None or owner == EXTERNAL:  # a qualified name from its package
            whole = _dotted(kind)
            package, _, name = whole.rpartition(".")
            return self.imported(path, package, name)
        return self.member(plain(owner), kind[2])

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        parent = self.facts(path).scopes[scope][0] if self.facts(path).scopes[scope][2] == "c" else scope
        return self.instance(path, parent, expression)

    def generic(self, path: str, scope: int, base: Any, arguments: tuple[Value, ...]) -> Value | None:
        owner = self.type_name(path, scope, base[1]) if base[0] == "n" else self.type_member(path, scope, base)
        if owner is not None and owner != EXTERNAL:
            return self.instantiated(owner, arguments)
        name, first = base[-1], arguments[0] if arguments else UNKNOWN
        if name in _SEQUENCES:
            return ("seq", first)
        if name in _MAPS and len(arguments) > 1:
            return ("map", first, arguments[1])
        if name == "Class" and first[0] == "inst":
            return ("cls", *first[1:3])
        if name == "Entry" and len(arguments) > 1:
            return ("map", first, arguments[1])
        return EXTERNAL

    def container_member(self, owner: Value, name: str) -> Value | None:
        method = name.partition("(")[0]
        if owner[0] == "seq":
            if method in _ELEMENT:
                return ("fun", owner[1])
            return ("fun", owner) if method in _SAME else EXTERNAL
        if owner[0] == "map":
            if method in ("get", "getOrDefault", "remove", "computeIfAbsent", "put", "getValue", "putIfAbsent"):
                return ("fun", owner[2])
            if method in ("values", "keySet"):
                return ("fun", ("seq", owner[2 if method == "values" else 1]))
            if method == "entrySet":
                return ("fun", ("seq", owner))
            if method == "getKey":
                return ("fun", owner[1])
        return EXTERNAL

    def implemented(self, path: str, number: int) -> list[tuple[str, int]]:
        definition = self.facts(path).defs[number]
        found = []
        own = self.facts(path).names[self.facts(path).defs[definition[PARENT]][SCOPE]]
        keys = [key for key, bound in own.items() if ("d", number) in bound and "/" in key]
        for owner_path, owner in self.ancestors(path, definition[PARENT])[0][1:] if keys else ():
            facts = self.facts(owner_path)
            for bound in facts.names[facts.defs[owner][SCOPE]].get(keys[0], ()):
                inherited = facts.defs[bound[1]] if bound[0] == "d" else None
                if inherited is not None and (facts.defs[owner][KIND] == "interface" or "abstract" in inherited[10]):
                    found.append((owner_path, bound[1]))
        return found


def _dotted(kind: Any) -> str:
    return str(kind[1]) if kind[0] == "n" else f"{_dotted(kind[1])}.{kind[2]}"
