"""Java: facts of a compilation unit, and what its names, types and members mean.

Follows the Java Language Specification: 6 (names and scope), 7 (packages), 8.4 (methods). Overloads are told apart
(15.12) by the number of arguments and by the types of those that show one; else none is taken. Type arguments of
methods are not inferred.
"""

from __future__ import annotations

from guilds_code.engines.graph.facts import FLAGS, KIND, NAME, PARENT, SCOPE, TYPE
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
_PRIMITIVES = frozenset(("integral_type", "floating_point_type", "boolean_type"))
_LITERALS = {
    "string_literal": "String",
    "decimal_integer_literal": "int",
    "hex_integer_literal": "int",
    "decimal_floating_point_literal": "double",
    "character_literal": "char",
    "true": "boolean",
    "false": "boolean",
}
_BOXES = {"boolean": "Boolean", "char": "Character", "byte": "Byte", "short": "Short", "int": "Integer", "long": "Long",
          "float": "Float", "double": "Double"}  # fmt: skip
_WIDER = ("byte", "short", "int", "long", "float", "double")
_FINAL = frozenset(("String", *_BOXES, *_BOXES.values()))
_TELLING = frozenset(
    ("identifier", "this", "field_access", "method_invocation", "object_creation_expression", "cast_expression")
)
"""Arguments whose type is looked for."""
_EXACT, _WIDENED, _BOXED, _UNKNOWN, _NEVER = 4, 3, 2, 1, 0
"""How an argument fits a parameter, best first (15.12.2: by subtyping before by boxing)."""


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
        abstract = ("abstract",) if body is None and not constructor else ()
        number = self.define(
            "method", name, node, scope, named=named, signature=self.header(node, body),
            doc=self.comment_before(node, _is_comment),
            returns=self.kind(written) if written is not None else None,
            flags=(*abstract, *self.access(node, scope)), opens="f",
        )  # fmt: skip
        count = len([c for c in (listed.named_children if listed is not None else ()) if c.type == "formal_parameter"])
        open_ended = listed is not None and any(c.type == "spread_parameter" for c in listed.named_children)
        if constructor:
            self.bind(scope, "<init>", ("d", number))
        else:
            self.bind(scope, f"{name}()", ("d", number))
            self.bind(scope, f"{name}()/{'*' if open_ended else count}", ("d", number))
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

    def access(self, node: Node, scope: int) -> tuple[str, ...]:
        """Who inherits a member, where that is not everyone."""
        words = {self.text(c) for m in node.named_children if m.type == "modifiers" for c in m.children}
        owner = self.owner(scope)
        in_interface = owner >= 0 and self.facts.defs[owner][KIND] == "interface"
        if not in_interface and not words & {"public", "protected", "private"}:
            words.add("package")
        return tuple(word for word in ("private", "package", "static") if word in words)

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
                doc=self.comment_before(node, _is_comment), flags=self.access(node, scope),
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
        """What a call calls, by name and number of arguments; last comes what tells the types of these."""
        named, owner = node.child_by_field_name("name"), node.child_by_field_name("object")
        arguments = node.child_by_field_name("arguments")
        if named is None:
            return None
        given = [c for c in arguments.named_children if not _is_comment(c.type)] if arguments is not None else []
        name = f"{self.text(named)}()/{len(given)}"
        shown = tuple(self.argument(c, depth) for c in given)
        if owner is None:
            return ("n", name, shown)
        inner = self.expression(owner, depth + 1)
        if inner is not None and any(child.type == "super" for child in node.children):
            inner = ("above", inner)  # `Outer.super.method()`, `Interface.super.method()`
        return ("a", inner, name, shown) if inner else None

    def argument(self, node: Node, depth: int) -> Expression | None:
        """What tells the type of an argument."""
        if (literal := _LITERALS.get(node.type)) is not None:
            long = literal == "int" and self.source[node.end_byte - 1 : node.end_byte] in b"lL"
            return ("t", ("n", "long" if long else literal))
        return self.expression(node, depth + DEPTH_MAX // 4) if node.type in _TELLING else None

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
        if kind in ("type_identifier", "identifier") or kind in _PRIMITIVES:
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
        owner = self.type_at(path, module, name)
        if owner is not None:
            return owner
        package, _, outer = module.rpartition(".")  # a nested class, or a static member
        holder = self.imported(path, package, outer) if outer[:1].isupper() else None
        if holder is None or holder == EXTERNAL:
            return EXTERNAL
        return self.member(holder, name) or self.member(holder, f"{name}()") or UNKNOWN

    def type_at(self, path: str, package: str, name: str) -> Value | None:
        """A type of a package: of the file that bears its name, else of any of the package's files. Of several the one
        under the asking file's source root, then the one of its module; UNKNOWN when these don't tell."""
        self.keys.update((f"package:{package}", name))
        files = self.by_package.get(package, ())
        named = [p for p in files if p.rpartition("/")[2] == f"{name}.java"]
        found = [p for p in named or files if any(b[0] == "d" for b in self.facts(p).names[0].get(name, ()))]
        for part in (self.root_of, self.module_of) if len(found) > 1 else ():
            found = [p for p in found if part(p) == part(path)] or found
        if len(found) > 1:
            return UNKNOWN
        bindings = self.facts(found[0]).names[0][name] if found else []
        return self.bound(found[0], 0, name, [b for b in bindings if b[0] == "d"]) if found else None

    def root_of(self, path: str) -> str:
        """The folder that a file's package starts from."""
        return path.rpartition("/")[0].removesuffix(self.packages.get(path, "").replace(".", "/"))

    def module_of(self, path: str) -> str:
        """What lies above `src` in the usual layout, so that tests see the classes that they test."""
        return f"/{self.root_of(path)}".partition("/src/")[0]

    def beyond(self, path: str, scope: int, name: str) -> Value | None:  # noqa: ARG002
        if "(" in name:
            return self.starred(path, name)
        if not name[:1].isupper():
            return self.starred(path, name)
        value = self.type_at(path, self.packages.get(path, ""), name)
        return value or self.starred(path, name)

    def starred(self, path: str, name: str) -> Value | None:
        foreign = False
        for module in self.facts(path).stars:
            if module in self.by_package:
                value = self.type_at(path, module, name) if name[:1].isupper() else None
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
            bindings = facts.names[scope].get(name)
            if bindings is not None and kind != "c":
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
                return self.imported(path, imported[0][1], name)
        return self.beyond(path, start, name)

    def member(self, owner: Value | None, name: str) -> Value | None:
        value = super().member(owner, name)
        method, slash, _ = name.partition("/")
        if slash and (value is None or value == EXTERNAL):
            open_ended = super().member(owner, f"{method}/*")
            if open_ended is not None and open_ended != EXTERNAL:
                return open_ended
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
        if expression[0] == "n" and len(expression) > 2:
            return self.targets_of(self.overload(path, scope, self.name(path, scope, expression[1]), expression[2]))
        if expression[0] != "a":
            return super().targets(path, scope, expression)
        owner = plain(self.evaluate(path, scope, expression[1]))
        if owner is None or owner == UNKNOWN:
            return None
        value = self.called(path, scope, owner, expression)
        return None if value is None and owner[0] == "inst" else self.targets_of(value)

    def called(self, path: str, scope: int, owner: Value, expression: Expression) -> Value | None:
        """A member, and of overloads the one that a call's arguments choose."""
        given = expression[3] if len(expression) > 3 else ()
        return self.each(owner, lambda one: self.overload(path, scope, self.member(one, expression[2]), given))

    def overload(self, path: str, scope: int, value: Value | None, given: tuple[Any, ...]) -> Value | None:
        """Of several methods the one that the arguments fit; UNKNOWN when they don't tell."""
        if value is None or value[0] != "any" or any(part[0] != "fn" for part in value[1]):
            return value
        wanted = {part: self.parameters_of(part[1], part[2])[: len(given)] for part in value[1]}
        shown = [self.argument_type(path, scope, one) for one in given]
        telling = [n for n in range(len(shown)) if len({kinds[n : n + 1] for kinds in wanted.values()}) > 1]
        fits = {
            part: min((self.fit(shown[n], kinds[n]) if n < len(kinds) else _UNKNOWN for n in telling), default=_UNKNOWN)
            for part, kinds in wanted.items()
        }
        possible = [part for part, fit in fits.items() if fit]
        best = [part for part in possible if fits[part] == max(fits.values())]
        sure = len(possible) == 1 or (len(best) == 1 and (fits[best[0]] == _EXACT or _UNKNOWN not in fits.values()))
        return best[0] if sure else UNKNOWN

    def fit(self, given: Any, wanted: Any) -> int:
        """How an argument of one type fits a parameter of another."""
        if given is None or wanted is None:
            return _UNKNOWN
        if given == wanted:
            return _EXACT
        if wanted == "Object":
            return _BOXED
        if given in _FINAL or wanted in _FINAL:
            if given in _WIDER and wanted in _WIDER[_WIDER.index(given) :]:
                return _WIDENED
            if _BOXES.get(given) == wanted or _BOXES.get(wanted) == given:
                return _BOXED
            other = wanted if given in _FINAL else given
            return _NEVER if other in _FINAL or isinstance(other, tuple) else _UNKNOWN
        if given[0] == "cls" and wanted[0] == "cls":
            return _WIDENED if wanted[1:] in self.ancestors(given[1], given[2])[0] else _NEVER
        if given[0] == "cls" and not self.ancestors(given[1], given[2])[1]:
            return _NEVER  # nothing foreign stands above it
        return _NEVER if wanted[0] == "cls" else _UNKNOWN

    def parameters_of(self, path: str, number: int) -> tuple[Any, ...]:
        """The types of a method's parameters, as `written` gives them."""
        return self.once(("parameters", path, number), self._parameters_of, path, number) or ()

    def _parameters_of(self, path: str, number: int) -> tuple[Any, ...]:
        scope = self.facts(path).defs[number][SCOPE]
        bound = [b for named in self.facts(path).names[scope].values() for b in named if b[0] == "p"]
        return tuple(self.written(path, scope, b[1]) for b in sorted(bound, key=lambda b: int(b[3])))

    def written(self, path: str, scope: int, kind: Any) -> Any:
        """What tells types apart: a class of the repository, the name of a foreign one, or None for any other."""
        head = kind[1] if kind is not None and kind[0] == "G" else kind
        if head is None or head[0] not in "naS":
            return None
        if head[0] == "S":
            inner = self.written(path, scope, head[1])
            return ("[]", inner) if inner is not None else None
        value = self.type_name(path, scope, head[1]) if head[0] == "n" else self.type_member(path, scope, head)
        return value[:3] if value is not None and value[0] == "cls" else head[-1] if value in (None, EXTERNAL) else None

    def argument_type(self, path: str, scope: int, expression: Expression | None) -> Any:
        """The type of an argument, as `written` gives it."""
        if expression is None:
            return None
        if expression[0] == "t":
            return self.written(path, scope, expression[1])
        facts, at = self.facts(path), scope
        while expression[0] == "n" and at >= 0:
            for bound in facts.names[at].get(expression[1], ()):
                kind = facts.defs[bound[1]][TYPE] if bound[0] == "d" else bound[1] if bound[0] in "tp" else None
                return self.written(path, at, kind) if kind is not None else self.made_by(path, scope, expression)
            at = facts.scopes[at][0]
        return self.made_by(path, scope, expression)

    def made_by(self, path: str, scope: int, expression: Expression) -> Any:
        value = plain(self.evaluate(path, scope, expression))
        return ("cls", *value[1:3]) if value is not None and value[0] == "inst" else None

    def overrides(self, one: Value, other: Value) -> bool:
        """Whether two methods of a name have the same parameters, as far as these are known."""
        own, others = self.parameters_of(one[1], one[2]), self.parameters_of(other[1], other[2])
        return len(own) == len(others) and all(a == b or None in (a, b) for a, b in zip(own, others, strict=True))

    def bound(self, path: str, scope: int, name: str, bindings: list[Binding]) -> Value | None:
        if "(" in name and len(bindings) > 1:
            return ("any", tuple(("fn", path, b[1], None) for b in bindings if b[0] == "d"))
        return super().bound(path, scope, name, bindings)

    def _class_member(self, path: str, number: int, name: str, skipped: int) -> Value | None:
        """A member that the class has or inherits (8.2); of methods also the overloads above it."""
        classes, foreign = self.ancestors(path, number)
        behind = self.behind_foreign(path, number)
        methods: list[Value] = []
        for place in classes[skipped:]:
            value = self.own_member(*place, name)
            parts = value[1] if value is not None and value[0] == "any" else (value,) if value is not None else ()
            if place != (path, number):
                parts = tuple(part for part in parts if self.is_inherited(path, place, part))
            if parts and place in behind and not methods:
                return UNKNOWN
            if parts and "(" not in name:
                return value
            methods += [part for part in parts if not any(self.overrides(own, part) for own in methods)]
        if methods:
            return methods[0] if len(methods) == 1 else ("any", tuple(methods))
        return EXTERNAL if foreign else None

    def substituted(self, value: Value | None, receiver: Value | None) -> Value | None:
        overloads = value is not None and value[0] == "any" and value[1][0][0] == "fn"
        return value if overloads else super().substituted(value, receiver)

    def is_inherited(self, path: str, place: tuple[str, int], value: Value) -> bool:
        """Whether a class of a file has what a class above it has."""
        if value[0] not in ("fn", "var"):
            return True
        flags = self.facts(value[1]).defs[value[2]][FLAGS]
        if "private" in flags or ("package" in flags and self.packages.get(path) != self.packages.get(place[0])):
            return False
        return value[0] == "var" or "static" not in flags or self.facts(place[0]).defs[place[1]][KIND] != "interface"

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "tp":
            return ("par", path, *binding[1:])
        return super().binding(path, scope, name, binding)

    def type_name(self, path: str, scope: int, name: str) -> Value | None:
        return EXTERNAL if name in _BOXES else self.name(path, scope, name)

    def parameter_bound(self, parameter: Value) -> Value | None:
        return self.instance(parameter[1], parameter[4], parameter[5]) if parameter[5] else EXTERNAL

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        if expression[0] == "ty":
            kind = expression[1]
            return self.type_name(path, scope, kind[1]) if kind[0] == "n" else self.type_member(path, scope, kind)
        if expression[0] == "n" and len(expression) > 2:
            return self.overload(path, scope, self.name(path, scope, expression[1]), expression[2])
        if expression[0] == "a":
            owner = plain(self.evaluate(path, scope, expression[1]))
            if (
                owner == EXTERNAL
                and expression[2][:1].isupper()
                and (package := self.package_named(path, scope, expression[1]))
            ):
                return self.type_at(path, package, expression[2]) or EXTERNAL
            return plain(self.called(path, scope, owner, expression)) if owner is not None else None
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

    def package_named(self, path: str, scope: int, expression: Expression) -> str:
        """The package that an expression may name (6.5.2): dotted names, of which the scopes bind none."""
        parts: list[str] = []
        while expression[0] == "a" and len(expression) == 3:
            parts.append(expression[2])
            expression = expression[1]
        facts = self.facts(path)
        while scope >= 0 and expression[0] == "n" and expression[1] not in facts.names[scope]:
            scope = facts.scopes[scope][0]
        package = ".".join([expression[1], *reversed(parts)]) if scope < 0 and expression[0] == "n" else ""
        return package if package.rpartition(".")[2][:1].islower() else ""

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
        facts = self.facts(path)
        definition = facts.defs[number]
        own = facts.names[facts.defs[definition[PARENT]][SCOPE]]
        key = next((key for key, bound in own.items() if ("d", number) in bound and "/" in key), "")
        above = self.ancestors(path, definition[PARENT])[0][1:] if key and "static" not in definition[FLAGS] else []
        found = []
        for place in above:
            value = self.own_member(*place, key)
            for part in value[1] if value is not None and value[0] == "any" else (value,) if value is not None else ():
                flags = self.facts(part[1]).defs[part[2]][FLAGS] if part[0] == "fn" else ()
                abstract = "abstract" in flags or self.facts(place[0]).defs[place[1]][KIND] == "interface"
                inherited = part[0] == "fn" and abstract and self.is_inherited(path, place, part)
                if inherited and self.overrides(("fn", path, number, None), part):
                    found.append((part[1], part[2]))
        return found


def _dotted(kind: Any) -> str:
    return str(kind[1]) if kind[0] == "n" else f"{_dotted(kind[1])}.{kind[2]}"
