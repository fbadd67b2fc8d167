"""Go: facts of a file, and what its names, selectors and imports mean.

Follows the Go specification: a package is a folder's files, methods belong to a type anywhere in its package,
embedding promotes, interfaces are satisfied by structure, a call's arguments tell a function's type arguments.
"""

from __future__ import annotations

from guilds_code.engines.graph.facts import FLAGS, HOME, KIND, NAME, SCOPE, TYPE
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, Walk, parser
from guilds_code.engines.graph.resolve import CLASSES, EXTERNAL, UNKNOWN, Resolver, has_parameter, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Expression, Facts
    from guilds_code.engines.graph.resolve import Value

_BUILTIN = frozenset(
    ("append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make", "max", "min", "new",
     "panic", "print", "println", "real", "recover", "bool", "byte", "complex128", "complex64", "error", "float32",
     "float64", "int", "int16", "int32", "int64", "int8", "rune", "string", "uint", "uint16", "uint32", "uint64",
     "uint8", "uintptr", "any", "comparable", "true", "false", "iota", "nil", "_")
)  # fmt: skip
_SILENT = frozenset(
    ("comment", "interpreted_string_literal", "raw_string_literal", "int_literal", "float_literal", "rune_literal",
     "imaginary_literal", "true", "false", "nil", "iota", "label_name", "blank_identifier", "field_identifier",
     "package_identifier", "break_statement", "continue_statement", "goto_statement", "empty_statement")
)  # fmt: skip
_BLOCKS = frozenset(
    ("block", "if_statement", "for_statement", "expression_case", "default_case", "communication_case",
     "expression_switch_statement", "select_statement")
)  # fmt: skip
_TYPES = frozenset(
    ("type_identifier", "qualified_type", "pointer_type", "slice_type", "array_type", "map_type", "channel_type",
     "function_type", "generic_type", "struct_type", "interface_type", "parenthesized_type",
     "implicit_length_array_type", "type_arguments", "type_elem", "negated_type")
)  # fmt: skip
_OTHER_SYSTEMS = ("_windows", "_darwin", "_freebsd", "_openbsd", "_netbsd", "_plan9", "_solaris", "_js", "_wasm",
                  "_arm", "_arm64", "_386", "_s390x", "_ppc64le", "_aix", "_android", "_ios", "_dragonfly", "_wasip1",
                  "_riscv64", "_mips", "_other", "_unsupported", "_stub")  # fmt: skip
"""Name endings of files that a build on Linux leaves out; they give way when others define the same name."""

_BUILD_TAGS = frozenset(("linux", "unix", "amd64", "gc", "cgo"))
ARGUMENTS_MAX = 8
"""Arguments of a call that are looked at for the type arguments of what is called."""
_NOT_BUILT = "//go:build"
"""Among a file's exports: the mark of one that a plain build on Linux leaves out."""


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one file."""
    walk = _Go(source)
    if not _is_built(source):
        walk.facts.exports[_NOT_BUILT] = ("?",)
    for child in parser("tree_sitter_go").parse(source).root_node.named_children:
        walk.top(child)
    for child in walk.waiting:
        walk.function(child)
    walk.drop_local_references()
    return walk.facts


class _Go(Walk):
    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.waiting: list[Node] = []
        """Functions are walked last, so that a method finds its type wherever the file has it."""
        self.around = 0
        """The scope of the function that is walked; types without a name are looked up from there."""

    def top(self, node: Node) -> None:
        kind = node.type
        if kind == "package_clause":
            self.facts.package = self.text(node.named_children[0])
        elif kind == "import_declaration":
            self.imports(node)
        elif kind in ("function_declaration", "method_declaration"):
            self.waiting.append(node)
        elif kind == "type_declaration":
            self.types(node, 0)
        elif kind in ("var_declaration", "const_declaration"):
            self.variables(node)
        else:
            self.visit(node, 0)

    # declarations

    def imports(self, node: Node) -> None:
        for spec in _descend(node, "import_spec"):
            path, named = spec.child_by_field_name("path"), spec.child_by_field_name("name")
            if path is None:
                continue
            module = self.text(path).strip('"`')
            self.refer(0, spec.start_point[0] + 1, ("import", module, None), "imports")
            if named is not None and named.type == "dot":
                self.facts.exports[module] = ("dot",)
            elif named is not None and named.type == "package_identifier":
                self.bind(0, self.text(named), ("i", module, None))
            elif named is None:
                self.facts.stars.append(module)
                self.bind(0, package_name(module), ("i", module, None))

    def types(self, node: Node, scope: int) -> None:
        for spec in node.named_children:
            named, written = spec.child_by_field_name("name"), spec.child_by_field_name("type")
            if spec.type not in ("type_spec", "type_alias") or named is None or written is None:
                continue
            kind = {"struct_type": "struct", "interface_type": "interface"}.get(written.type, "type")
            name = self.text(named)
            embedded = [c for c in written.named_children if c.type == "type_elem"] if kind == "interface" else []
            number = self.define(
                kind, name, node if node.named_child_count == 1 else spec, scope, named=named, opens="c",
                signature="type " + self.one_line(spec.start_byte, self.body_start(written, kind)),
                doc=self.comment_before(node if node.named_child_count == 1 else spec, _is_comment),
                returns=None if kind != "type" else self.kind(written),
                flags=("alias",) if spec.type == "type_alias" else (), shape=str(len(embedded)),
            )  # fmt: skip
            self.bind(scope, name, ("d", number))
            inner = self.facts.defs[number][SCOPE]
            around, self.current = self.current, number
            self.type_parameters(spec, inner, number)
            if kind == "struct":
                self.fields(written, inner, number)
            elif kind == "interface":
                self.interface(written, inner, number)
            else:
                self.visit_type(written, inner)
            self.current = around

    def body_start(self, written: Node, kind: str) -> int:
        if kind == "type":
            return min(written.end_byte, written.start_byte + 300)
        return written.children[0].end_byte

    def type_parameters(self, node: Node, scope: int, number: int) -> None:
        listed = node.child_by_field_name("type_parameters")
        position = 0
        for child in listed.named_children if listed is not None else ():
            bound = child.child_by_field_name("type")
            parts = bound.named_children if bound is not None else []
            constraint = self.kind(parts[0]) if len(parts) == 1 else None
            for named in child.children_by_field_name("name"):
                self.bind(scope, self.text(named), ("tp", number, position, scope, constraint))
                position += 1
            if bound is not None:
                self.visit_type(bound, scope)

    def fields(self, node: Node, scope: int, owner: int) -> None:
        for field in _descend(node, "field_declaration", 3):
            written = field.child_by_field_name("type")
            if written is None:
                continue
            kind = self.kind(written)
            names = field.children_by_field_name("name")
            for named in names:
                number = self.define(
                    "field", self.text(named), field, scope, named=named, signature=self.line(field),
                    returns=kind,
                )  # fmt: skip
                self.bind(scope, self.text(named), ("d", number))
            if not names and kind is not None:
                head = kind[1] if kind[0] == "G" else kind
                self.facts.bases.setdefault(owner, []).append((kind, "inherits", scope))
                self.facts.fields.setdefault(owner, {})[head[-1]] = [(("t", kind), scope)]
                self.refer(scope, field.start_point[0] + 1, ("ty", head), "inherits")
            if names or kind is None or kind[0] == "G":
                self.visit_type(written, scope)

    def interface(self, node: Node, scope: int, owner: int) -> None:
        for child in node.named_children:
            named = child.child_by_field_name("name")
            if child.type in ("method_elem", "method_spec") and named is not None:
                result = child.child_by_field_name("result")
                number = self.define(
                    "method", self.text(named), child, scope, named=named, signature=self.line(child),
                    doc=self.comment_before(child, _is_comment), returns=self.results(result),
                    flags=("abstract",), shape=self.shape(child),
                )  # fmt: skip
                self.bind(scope, self.text(named), ("d", number))
                self.visit_type(child, scope)
            elif child.type == "type_elem" and child.named_child_count == 1:
                kind = self.kind(child.named_children[0])
                if kind is not None and kind[0] in "naG":
                    self.facts.bases.setdefault(owner, []).append((kind, "inherits", scope))
                    head = kind[1] if kind[0] == "G" else kind
                    self.refer(scope, child.start_point[0] + 1, ("ty", head), "inherits")

    def variables(self, node: Node) -> None:
        kind = "constant" if node.type == "const_declaration" else "variable"
        for spec in _descend(node, "const_spec" if kind == "constant" else "var_spec"):
            written, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
            declared = self.kind(written) if written is not None else None
            values = value.named_children if value is not None else []
            names = spec.children_by_field_name("name")
            numbers = []
            for named, binding in zip(names, self.spread(values, len(names), 0), strict=True):
                number = self.define(
                    kind, self.text(named), spec, 0, named=named, returns=declared,
                    signature=f"{node.children[0].type} {self.line(spec)}",
                    doc=self.comment_before(node if node.named_child_count == 1 else spec, _is_comment),
                )  # fmt: skip
                numbers.append(number)
                self.bind(0, self.text(named), ("d", number))
                self.facts.names[0][self.text(named)].append(binding)
            if numbers:
                self.current = numbers[0]
            if written is not None:
                self.visit_type(written, 0)
            for part in values:
                self.visit(part, 0)
            self.current = -1

    def function(self, node: Node) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name, receiver = self.text(named), node.child_by_field_name("receiver")
        owner, parent = "", -1
        if receiver is not None and receiver.named_child_count:
            written = receiver.named_children[0].child_by_field_name("type")
            kind = self.kind(written) if written is not None else None
            head = kind[1] if kind is not None and kind[0] == "G" else kind
            owner = head[1] if head is not None and head[0] == "n" else "?"
            parent = next((b[1] for b in self.facts.names[0].get(owner, ()) if b[0] == "d"), -1)
        number = self.define(
            "method" if owner else "function", name, node, 0, named=named, signature=self.signature(node, body),
            doc=self.comment_before(node, _is_comment), returns=self.results(node.child_by_field_name("result")),
            flags=(f"of {owner}",) if owner and parent < 0 else (), opens="f", parent=parent, shape=self.shape(node),
        )  # fmt: skip
        self.bind(0, f"{owner}.{name}" if owner else name, ("d", number))
        self.around = inner = self.facts.defs[number][SCOPE]
        self.current = number
        self.type_parameters(node, inner, number)
        if receiver is not None:
            self.receiver(receiver, inner, parent)
        self.parameters(node, inner)
        if body is not None:
            self.statements(body, inner)
        self.current, self.around = -1, 0

    def receiver(self, node: Node, scope: int, parent: int) -> None:
        declaration = node.named_children[0]
        named, written = declaration.child_by_field_name("name"), declaration.child_by_field_name("type")
        kind = self.kind(written) if written is not None else None
        head = kind[1] if kind is not None and kind[0] == "G" else kind
        if named is not None:
            self.bind(scope, self.text(named), ("t", head))
        for position, argument in enumerate(kind[2] if kind is not None and kind[0] == "G" else ()):
            if argument is not None and argument[0] == "n":
                bound: Binding = ("tp", parent, position, scope, None) if parent >= 0 else ("?",)
                self.bind(scope, argument[1], bound)

    def parameters(self, node: Node, scope: int) -> None:
        position = 0
        for field in ("parameters", "result"):
            listed = node.child_by_field_name(field)
            if listed is None:
                continue
            if listed.type != "parameter_list":
                self.visit_type(listed, scope)
                continue
            for child in listed.named_children:
                written = child.child_by_field_name("type")
                kind = self.kind(written) if written is not None else None
                many = child.type == "variadic_parameter_declaration" and kind is not None
                for named in child.children_by_field_name("name"):
                    binding: Binding = ("p", kind, None, position)
                    self.bind(scope, self.text(named), ("p", ("S", kind), None, position, "...") if many else binding)
                    position += 1
                if written is not None:
                    self.visit_type(written, scope)

    # statements

    def statements(self, node: Node, scope: int) -> int:
        """Walk a block's statements in order; a declaration that shadows opens a scope for those after it."""
        for child in node.named_children:
            scope = self.statements(child, scope) if child.type == "statement_list" else self.statement(child, scope)
        return scope

    def statement(self, node: Node, scope: int) -> int:
        kind = node.type
        if kind == "short_var_declaration":
            return self.short(node, scope)
        if kind in ("var_declaration", "const_declaration"):
            for spec in _descend(node, "var_spec") + _descend(node, "const_spec"):
                scope = self.local(spec, scope)
            return scope
        if kind == "type_declaration":
            self.types(node, scope)
            return scope
        if kind == "labeled_statement":
            return self.statements(node, scope)
        self.visit(node, scope)
        return scope

    def short(self, node: Node, scope: int) -> int:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return scope
        names, values = left.named_children, right.named_children
        for value in values:
            self.visit(value, scope)
        inner = scope
        for named, binding in zip(names, self.spread(values, len(names), scope), strict=True):
            if named.type == "identifier" and self.text(named) != "_":
                inner = self.declare(self.text(named), binding, scope, inner)
        return inner

    def declare(self, name: str, binding: Binding, scope: int, inner: int) -> int:
        """Bind a name after its value was described in `scope`; the scope in which later statements stand."""
        bound = self.facts.names[inner]
        if name in bound and inner == scope and bound[name][0][0] in "vp?t":
            if len(bound[name]) < 4:
                bound[name].append(binding)
            return inner
        if inner == scope and binding[0] == "v" and name in _names_in(binding[1]):
            inner = self.open_scope(scope, self.owner(scope), "b")
        self.bind(inner, name, binding)
        return inner

    def local(self, spec: Node, scope: int) -> int:
        written, value = spec.child_by_field_name("type"), spec.child_by_field_name("value")
        declared = self.kind(written) if written is not None else None
        values = value.named_children if value is not None else []
        names = spec.children_by_field_name("name")
        if written is not None:
            self.visit_type(written, scope)
        for part in values:
            self.visit(part, scope)
        inner = scope
        for named, binding in zip(names, self.spread(values, len(names), scope), strict=True):
            inner = self.declare(self.text(named), ("t", declared) if declared else binding, scope, inner)
        return inner

    def spread(self, values: list[Node], count: int, scope: int) -> list[Binding]:
        """What each of `count` names is given."""
        if len(values) == count:
            found = [self.expression(value) for value in values]
            return [("v", e, scope) if e is not None else ("?",) for e in found]
        if len(values) != 1:
            return [("?",)] * count
        given = self.expression(values[0])
        if given is None:
            return [("?",)] * count
        if values[0].type in ("type_assertion_expression", "index_expression", "unary_expression"):
            return [("v", given, scope), *[("?",)] * (count - 1)]
        return [("v", ("x", given, position), scope) for position in range(count)]

    def visit(self, node: Node, scope: int) -> None:
        kind = node.type
        if kind in _SILENT:
            return
        if kind in _BLOCKS:
            self.statements(node, self.open_scope(scope, self.owner(scope), "b"))
            return
        method = _VISIT.get(kind)
        if method is not None:
            method(self, node, scope)
        elif kind in _TYPES:
            self.visit_type(node, scope)
        else:
            for child in node.named_children:
                self.visit(child, scope)

    def range(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is None:
            return
        self.visit(right, scope)
        given = self.expression(right)
        for position, named in enumerate(left.named_children if left is not None else ()):
            if named.type == "identifier":
                part: Binding = ("?",)
                if given is not None:
                    part = ("v", ("e" if position else "k", given), scope)
                self.bind(scope, self.text(named), part)

    def type_switch(self, node: Node, scope: int) -> None:
        scope = self.open_scope(scope, self.owner(scope), "b")
        initializer = node.child_by_field_name("initializer")
        if initializer is not None:
            scope = self.statement(initializer, scope)
        value, alias = node.child_by_field_name("value"), node.child_by_field_name("alias")
        if value is not None:
            self.visit(value, scope)
        name = self.text(alias.named_children[0]) if alias is not None and alias.named_child_count else None
        given = self.expression(value)
        for case in node.named_children:
            if case.type not in ("type_case", "default_case"):
                continue
            inner = self.open_scope(scope, self.owner(scope), "b")
            kinds = case.children_by_field_name("type")
            if name is not None:
                kind = self.kind(kinds[0]) if len(kinds) == 1 else None
                self.bind(inner, name, ("t", kind) if kind else ("v", given, scope) if given else ("?",))
            for child in case.named_children:
                if child in kinds:
                    self.visit_type(child, inner)
                elif child.type == "statement_list":
                    inner = self.statements(child, inner)
                else:
                    inner = self.statement(child, inner)

    def receive(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if right is not None:
            self.visit(right, scope)
            given = self.expression(right)
            for position, named in enumerate(left.named_children if left is not None else ()):
                if named.type == "identifier":
                    self.bind(scope, self.text(named), ("v", given, scope) if given and not position else ("?",))

    def literal(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "l")
        self.parameters(node, inner)
        body = node.child_by_field_name("body")
        if body is not None:
            self.statements(body, inner)

    def call(self, node: Node, scope: int) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None:
            self.reference(function, scope, "calls")
        for argument in arguments.named_children if arguments is not None else ():
            self.visit(argument, scope)

    def conversion(self, node: Node, scope: int) -> None:
        """`T(x)`, or a call of a generic function, which reads the same."""
        written, operand = node.child_by_field_name("type"), node.child_by_field_name("operand")
        if written is not None and written.type == "generic_type":
            head = written.child_by_field_name("type")
            kind = self.kind(head) if head is not None else None
            if kind is not None:
                self.refer(scope, written.start_point[0] + 1, kind, "calls")
            for child in written.named_children[1:]:
                self.visit_type(child, scope)
        elif written is not None:
            self.visit_type(written, scope)
        if operand is not None:
            self.visit(operand, scope)

    def reference(self, node: Node, scope: int, relation: str) -> None:
        while node.type == "parenthesized_expression" and node.named_child_count:
            node = node.named_children[0]
        if node.type == "identifier":
            self.refer(scope, node.end_point[0] + 1, ("n", self.text(node)), relation)
        elif node.type == "selector_expression":
            operand, field = node.child_by_field_name("operand"), node.child_by_field_name("field")
            if operand is not None and field is not None:
                self.refer(scope, field.end_point[0] + 1, self.expression(node), relation)
                self.visit(operand, scope)
        elif node.type == "index_expression" and node.named_child_count:
            if relation == "calls":
                self.reference(node.named_children[0], scope, relation)
            else:
                self.visit(node.named_children[0], scope)
            for child in node.named_children[1:]:
                self.visit(child, scope)
        elif node.type != "type_instantiation_expression":
            self.visit(node, scope)
        elif node.named_child_count:
            self.reference(node.named_children[0], scope, relation)

    def identifier(self, node: Node, scope: int) -> None:
        self.refer(scope, node.end_point[0] + 1, ("n", self.text(node)), "uses")

    def selector(self, node: Node, scope: int) -> None:
        self.reference(node, scope, "uses")

    def composite(self, node: Node, scope: int) -> None:
        written, body = node.child_by_field_name("type"), node.child_by_field_name("body")
        if written is not None:
            self.visit_type(written, scope)
        if body is not None:
            self.visit(body, scope)

    def keyed(self, node: Node, scope: int) -> None:
        for child in node.named_children[1:]:
            self.visit(child, scope)
        key = node.named_children[0] if node.named_child_count else None
        if key is not None and key.named_child_count and key.named_children[0].type not in ("identifier", "comment"):
            self.visit(key, scope)

    def visit_type(self, node: Node, scope: int) -> None:
        kind = node.type
        if kind == "type_identifier":
            self.refer(scope, node.end_point[0] + 1, ("ty", ("n", self.text(node))), "uses")
        elif kind == "qualified_type":
            named = self.kind(node)
            self.refer(scope, node.end_point[0] + 1, ("ty", named) if named else None, "uses")
        else:
            for child in node.named_children:
                self.visit_type(child, scope)

    # descriptions

    def expression(self, node: Node | None, depth: int = 0) -> Expression | None:
        """What can be said of an expression."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        if kind == "identifier":
            return ("n", self.text(node))
        if kind == "selector_expression":
            owner, field = (
                self.expression(node.child_by_field_name("operand"), depth + 1),
                node.child_by_field_name("field"),
            )
            return ("a", owner, self.text(field)) if owner and field is not None else None
        if kind == "call_expression":
            return self.call_expression(node, depth)
        if kind in ("composite_literal", "type_assertion_expression"):
            written = node.child_by_field_name("type")
            declared = self.kind(written) if written is not None else None
            return ("t", declared) if declared else None
        if kind == "type_conversion_expression":
            written = node.child_by_field_name("type")
            declared = self.kind(written) if written is not None else None
            if declared is not None and declared[0] == "G":
                return self.generic_call(declared[1], [node.child_by_field_name("operand")], declared[2], depth)
            return ("t", declared) if declared else None
        if kind == "unary_expression":
            inner = self.expression(node.child_by_field_name("operand"), depth + 1)
            return ("e", inner) if inner and node.children[0].type == "<-" else inner
        if kind == "parenthesized_expression" and node.named_child_count:
            return self.expression(node.named_children[0], depth + 1)
        if kind == "index_expression":
            inner = self.expression(node.child_by_field_name("operand"), depth + 1)
            return ("i", inner) if inner else None
        if kind == "slice_expression":
            return self.expression(node.child_by_field_name("operand"), depth + 1)
        if kind == "func_literal":
            result = self.results(node.child_by_field_name("result"))
            return ("fun", ("t", result)) if result else ("ext",)
        return ("ext",) if kind in _SILENT else None

    def call_expression(self, node: Node, depth: int) -> Expression | None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None else []
        if function is not None and function.type == "identifier" and given:
            name = self.text(function)
            if name in ("new", "make"):
                kind = self.kind(given[0])
                return ("t", kind) if kind else None
            if name == "append":
                return self.expression(given[0], depth + 1)
        listed = node.child_by_field_name("type_arguments")
        written = listed.named_children if listed is not None else []
        if function is not None and function.type == "index_expression" and function.named_child_count:
            function, *written = function.named_children  # a generic function with its type argument
        callee = self.expression(function, depth + 1)
        return self.generic_call(callee, given, tuple(self.kind(part) for part in written), depth) if callee else None

    def generic_call(
        self, callee: Expression, given: Sequence[Node | None], kinds: tuple[Any, ...], depth: int
    ) -> Expression:
        """A call with what can tell the callee's type arguments: what it is given, and those that are written."""
        told = [self.expression(node, depth + 4) for node in given]
        silent = all(one is None or one == ("ext",) for one in told)
        return ("c", callee) if silent and not kinds else ("c", callee, ("args", *told), kinds)

    def kind(self, node: Node, depth: int = 0) -> Any:
        """The written type."""
        if depth > 8:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return ("n", self.text(node))
        if kind == "qualified_type":
            package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
            return (
                ("a", ("n", self.text(package)), self.text(name)) if package is not None and name is not None else None
            )
        if kind == "selector_expression":
            return self.expression(node)
        if kind in ("pointer_type", "parenthesized_type", "type_elem", "unary_expression", "parenthesized_expression"):
            return self.kind(node.named_children[0], depth + 1) if node.named_child_count else None
        if kind in ("slice_type", "array_type", "implicit_length_array_type"):
            inner = node.child_by_field_name("element")
            return ("S", self.kind(inner, depth + 1)) if inner is not None else None
        if kind == "channel_type":
            inner = node.child_by_field_name("value")
            return ("Y", self.kind(inner, depth + 1)) if inner is not None else None
        if kind == "map_type":
            key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            return ("M", key and self.kind(key, depth + 1), value and self.kind(value, depth + 1))
        if kind == "generic_type":
            head, arguments = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
            base = self.kind(head, depth + 1) if head is not None else None
            given = arguments.named_children if arguments is not None else []
            return ("G", base, tuple(self.kind(a, depth + 1) for a in given)) if base else None
        if kind == "function_type":
            return ("F", self.results(node.child_by_field_name("result")))
        return self.structure(node, depth) if kind == "struct_type" else None

    def structure(self, node: Node, depth: int) -> Any:
        """A struct without a name, as a scope of its fields."""
        scope = self.open_scope(self.around, self.current, "c")
        for field in _descend(node, "field_declaration", 1):
            written = field.child_by_field_name("type")
            kind = self.kind(written, depth + 1) if written is not None else None
            names = field.children_by_field_name("name")
            for named in names:
                self.bind(scope, self.text(named), ("t", kind))
            if not names and kind is not None:
                self.bind(scope, (kind[1] if kind[0] == "G" else kind)[-1], ("t", kind))
                self.bind(scope, "...", ("t", kind))
        return ("O", scope)

    def results(self, node: Node | None) -> Any:
        """The type, or types, that a function gives."""
        if node is None:
            return None
        if node.type != "parameter_list":
            return self.kind(node)
        found: list[Any] = []
        for child in node.named_children:
            written = child.child_by_field_name("type")
            kind = self.kind(written) if written is not None else None
            found += [kind or ("n", "any")] * max(1, len(child.children_by_field_name("name")))
        return found[0] if len(found) == 1 else ("R", *found) if found else None

    def shape(self, node: Node) -> str:
        """Parameter and result types as text, without names and packages: what makes two methods the same."""
        parts = []
        for field in ("parameters", "result"):
            listed = node.child_by_field_name(field)
            if listed is None:
                parts.append("")
                continue
            if listed.type != "parameter_list":
                parts.append(_bare(self.text(listed)))
                continue
            found: list[str] = []
            for child in listed.named_children:
                written = child.child_by_field_name("type")
                if written is not None:
                    dots = "..." if child.type == "variadic_parameter_declaration" else ""
                    count = max(1, len(child.children_by_field_name("name")))
                    found += [dots + _bare(self.text(written))] * count
            parts.append(",".join(found))
        return f"({parts[0]}) {parts[1]}".strip()

    def drop_local_references(self) -> None:
        """Leave out builtins, local variables and type parameters."""
        kept = []
        for ref in self.facts.refs:
            expression = ref[3][1] if ref[3][0] == "ty" else ref[3]
            if expression[0] == "n":
                bound = self.lexical(ref[1], expression[1])
                if bound is None:
                    if expression[1] in _BUILTIN:
                        continue
                elif ref[4] == "uses" and all(b[0] in ("p", "v", "?", "t", "tp") for b in bound):
                    continue
            kept.append(ref)
        self.facts.refs = kept

    def lexical(self, scope: int, name: str) -> list[Binding] | None:
        while scope >= 0:
            parent, _, kind = self.facts.scopes[scope]
            bound = self.facts.names[scope].get(name)
            if bound is not None and (kind != "c" or bound[0][0] == "tp"):
                return bound
            scope = parent
        return None


_VISIT = {
    "range_clause": _Go.range,
    "type_switch_statement": _Go.type_switch,
    "receive_statement": _Go.receive,
    "func_literal": _Go.literal,
    "call_expression": _Go.call,
    "type_conversion_expression": _Go.conversion,
    "identifier": _Go.identifier,
    "selector_expression": _Go.selector,
    "composite_literal": _Go.composite,
    "keyed_element": _Go.keyed,
}


class Semantics(Resolver):
    """Packages of several files, methods by receiver, embedding, and go.mod."""

    def prepare(self) -> None:
        self.files: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            self.files.setdefault(path.rpartition("/")[0], []).append(path)
        self.modules: list[tuple[str, str]] = []
        for path in self.listed:
            if path.rpartition("/")[2] == "go.mod":
                self.modules += _modules(path.rpartition("/")[0], self.text(path) or "")
        self.modules.sort(key=lambda item: -len(item[0]))
        self._tables: dict[tuple[str, bool], dict[str, list[tuple[str, int]]]] = {}

    # packages

    def table(self, folder: str, test: bool) -> dict[str, list[tuple[str, int]]]:
        """Every name that a package's files define → where. Whoever asks depends on all of them."""
        key = (folder, test)
        self.keys.add(folder.rpartition("/")[2])
        if key not in self._tables:
            found: dict[str, list[tuple[str, int]]] = {}
            for path in self.files.get(folder, ()):
                facts = self.facts(path)
                if facts.package.endswith("_test") == test:
                    for name, bindings in facts.names[0].items():
                        found.setdefault(name, []).extend((path, b[1]) for b in bindings if b[0] == "d")
            self._tables[key] = found
        else:
            self.on.update(self.files.get(folder, ()))
        return self._tables[key]

    def own_table(self, path: str) -> dict[str, list[tuple[str, int]]]:
        return self.table(path.rpartition("/")[0], self.facts(path).package.endswith("_test"))

    def beyond(self, path: str, scope: int, name: str) -> Value | None:  # noqa: ARG002
        found = self.own_table(path).get(name)
        if found:
            return self.choose(path, found)
        facts = self.facts(path)
        for module in facts.stars:
            package = self.imported(path, module, None)
            if package is not None and package[0] == "pkg" and self.package(package[1]) == name:
                return package
        for module, export in facts.exports.items():
            package = self.imported(path, module, None) if export == ("dot",) else None
            value = self.member(package, name) if package is not None and package[0] == "pkg" else None
            if value is not None:
                return value
        return None

    def package(self, folder: str) -> str:
        """The name that a folder's files give their package."""
        for path in self.files.get(folder, ()):
            name = self.facts(path).package
            if not name.endswith("_test"):
                return name
        return ""

    def choose(self, path: str, found: list[tuple[str, int]]) -> Value | None:
        """One of the definitions of a name: files for other systems give way."""
        own = [place for place in found if place[0] == path]
        here = [place for place in found if self.is_built(place[0])]
        return self.join(self.global_(place) for place in (own or here or found)[:2])

    def is_built(self, path: str) -> bool:
        """Whether a plain build on Linux takes the file in."""
        return not path.removesuffix(".go").endswith(_OTHER_SYSTEMS) and _NOT_BUILT not in self.facts(path).exports

    def global_(self, place: tuple[str, int]) -> Value | None:
        path, number = place
        name = self.facts(path).defs[number][1]
        bindings = self.facts(path).names[0].get(name) or []
        if self.facts(path).defs[number][KIND] in ("variable", "constant"):
            return self.bound(path, 0, name, bindings)
        return self.defined(path, number)

    def imported(self, path: str, module: str, name: str | None) -> Value | None:  # noqa: ARG002
        self.keys.add(module.rpartition("/")[2])
        folder = self.folder_of(path.rpartition("/")[0], module)
        return ("pkg", folder) if folder is not None else EXTERNAL

    def folder_of(self, importer: str, module: str) -> str | None:
        above = importer
        while True:  # a vendored copy comes first
            vendored = f"{above}/vendor/{module}" if above else f"vendor/{module}"
            if vendored in self.files:
                return vendored
            if not above:
                break
            above = above.rpartition("/")[0]
        for prefix, folder in self.modules:
            if module == prefix or module.startswith(prefix + "/"):
                target = "/".join(filter(None, (folder, module[len(prefix) + 1 :])))
                self.keys.add(target.rpartition("/")[2])  # whatever the import calls it, its files will come there
                if target in self.files:
                    return target
        return None

    def package_member(self, key: str, name: str) -> Value | None:
        found = self.table(key, False).get(name)
        return self.choose("", found) if found else None

    def targets_of(self, value: Value | None) -> list[tuple[str, int]] | None:
        if value is not None and value[0] == "pkg":
            first = next((p for p in self.files.get(value[1], ()) if not p.endswith("_test.go")), None)
            return [(first, -1)] if first is not None else []
        return super().targets_of(value)

    def relation_to(self, relation: str, path: str, number: int) -> str:
        """A conversion reads like a call."""
        if relation == "calls" and number >= 0 and self.facts(path).defs[number][KIND] in CLASSES:
            return "uses"
        return relation

    # names and types

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "tp":
            return ("par", path, *binding[1:])
        if binding[0] == "v" and len(binding) > 2:
            return plain(self.evaluate(path, binding[2], binding[1]))
        return super().binding(path, scope, name, binding)

    def name(self, path: str, scope: int, name: str) -> Value | None:
        facts = self.facts(path)
        start = scope
        while scope >= 0:
            parent, _, kind = facts.scopes[scope]
            bindings = facts.names[scope].get(name)
            if bindings is not None and (kind != "c" or bindings[0][0] == "tp"):
                value = self.bound(path, scope, name, bindings)
                if value == EXTERNAL and bindings[0][0] == "i":
                    return self.beyond(path, start, name) or EXTERNAL
                return value or UNKNOWN
            scope = parent
        return self.beyond(path, start, name)

    def parameter_bound(self, parameter: Value) -> Value | None:
        return self.instance(parameter[1], parameter[4], parameter[5]) if parameter[5] else None

    def foreign(self, function: Expression) -> Value:  # noqa: ARG002
        """What another module's function gives is a type of that module or those below it."""
        return EXTERNAL

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        if expression[0] == "ty":
            kind = expression[1]
            return self.type_name(path, scope, kind[1]) if kind[0] == "n" else self.type_member(path, scope, kind)
        return super()._evaluate(path, scope, expression)

    def inferred(
        self, path: str, scope: int, function: Value | None, made: Value | None, expression: Expression
    ) -> Value | None:
        """What a call gives, with what its type arguments and all that it is given tell."""
        given, kinds = expression[2][1:], expression[3]
        if function is None or function[0] not in ("fn", "cls"):
            return made
        written = tuple(self.instance(path, scope, kind) or UNKNOWN for kind in kinds)
        if function[0] == "cls":
            return self.instantiated(function, written) if written else made
        if not has_parameter(made):
            return made
        where, inner = function[1], self.facts(function[1]).defs[function[2]][SCOPE]
        bound = [b[0] for b in self.facts(where).names[inner].values() if b[0][0] == "p" and b[0][1] is not None]
        values = [plain(self.evaluate(path, scope, one)) for one in given]
        if len(values) == 1 and values[0] is not None and values[0][0] == "tup":
            values = list(values[0][1])

        def argument(parameter: Value) -> Value:
            if parameter[1:3] == function[1:3] and parameter[3] < len(written):
                return written[parameter[3]]
            found = [
                self.told(where, inner, kind[1] if many else kind, value, parameter)
                for _, kind, _, position, *many in bound
                for value in (values[position:] if many else values[position : position + 1])
            ]
            return self.join(found[:ARGUMENTS_MAX]) or parameter

        return self.replaced(made, argument)

    def told(self, path: str, scope: int, kind: Any, value: Value | None, parameter: Value) -> Value | None:
        if kind is not None and kind[0] == "M" and value is not None and value[0] in ("map", "inst"):
            held = self.underlying(value)
            pairs = zip(kind[1:], held[1:], strict=True) if held[0] == "map" else ()
            return next(filter(None, (self.told(path, scope, k, v, parameter) for k, v in pairs)), None)
        return super().told(path, scope, kind, value, parameter)

    def _instance(self, path: str, scope: int, kind: Any, depth: int) -> Value | None:
        return ("scope", path, kind[1]) if kind[0] == "O" else super()._instance(path, scope, kind, depth)

    def member(self, owner: Value | None, name: str) -> Value | None:
        value = super().member(owner, name)
        if value is None and owner is not None and owner[0] == "scope":  # promoted
            embedded = self.facts(owner[1]).names[owner[2]].get("...", ())
            return self.join(self.member(self.instance(owner[1], owner[2], b[1]), name) for b in embedded)
        return value

    def instantiated(self, owner: Value | None, arguments: tuple[Value, ...]) -> Value | None:
        if owner is not None and owner[0] == "cls":
            definition = self.facts(owner[1]).defs[owner[2]]
            if "alias" in definition[FLAGS] and definition[TYPE] is not None:
                return self.instance(owner[1], definition[SCOPE], definition[TYPE])
        return super().instantiated(owner, arguments)

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        return self.instance(path, scope, expression)

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        facts = self.facts(path)
        definition = facts.defs[number]
        methods = self.own_table(path).get(f"{definition[NAME]}.{name}") if definition[HOME] == 0 else None
        if methods:
            return self.choose(path, methods)
        value = super().own_member(path, number, name)
        if value is None and definition[TYPE] is not None:
            held = self.instance(path, definition[SCOPE], definition[TYPE])
            if held is not None and held[0] == "inst" and held[1:3] != (path, number):
                field = self.class_member(held[1], held[2], name)
                return field if field is not None and field[0] == "var" else None
        return value

    def underlying(self, value: Value) -> Value:
        """What a defined type is made of."""
        if value[0] == "inst":
            definition = self.facts(value[1]).defs[value[2]]
            if definition[KIND] == "type" and definition[TYPE] is not None:
                held = self.instance(value[1], definition[SCOPE], definition[TYPE])
                return self.substituted(held, value) or value
        return value

    def result(self, function: Value | None) -> Value | None:
        if function is not None and function[0] == "inst":
            held = self.underlying(function)
            return held[1] if held[0] == "fun" else None
        return super().result(function)

    def indexed(self, value: Value) -> Value | None:
        return super().indexed(self.underlying(value))

    def iterated(self, value: Value) -> Value | None:
        held = self.underlying(value)
        return held[2] if held[0] == "map" else held[1] if held[0] in ("seq", "gen") else None

    def keyed(self, value: Value) -> Value | None:
        held = self.underlying(value)
        if held[0] == "map":
            return held[1]  # type: ignore[no-any-return]
        return held[1] if held[0] == "gen" else EXTERNAL

    def part(self, value: Value, position: int) -> Value | None:
        if value[0] == "tup":
            return value[1][position] if position < len(value[1]) else None
        return value if value == EXTERNAL or position == 0 else None


def structural(connection: Connection) -> set[int]:
    """Write anew which types implement which interfaces of the repository; the symbols whose edges changed.

    A type does when it has every method with the same parameter and result types, its own or promoted. Interfaces
    that embed one from elsewhere are left out: what they ask for is not known.
    """
    types: dict[int, tuple[str, str, str, str]] = {}
    methods: dict[tuple[str, str], dict[str, tuple[int, str]]] = {}
    rows = connection.execute(
        "select s.id, s.type, s.qualified, s.name, s.shape, f.path from symbol s join file f on f.id = s.file"
        " where f.language = 'go' and s.type in ('struct', 'type', 'interface', 'method') order by s.id"
    )
    for number, kind, qualified, name, shape, path in rows:
        folder = path.rpartition("/")[0]
        if kind == "method":
            key = name if name[:1].isupper() else f"{folder}/{name}"  # other packages can't have one of that name
            methods.setdefault((folder, qualified.rpartition(".")[0]), {})[key] = (number, shape)
        else:
            types[number] = (kind, folder, qualified, shape)  # the name of a type inside a function has that before it
    embedded: dict[int, list[int]] = {}
    for source, target in connection.execute("select source, target from edge where relation = 2"):
        if source in types and target in types:
            embedded.setdefault(source, []).append(target)

    def method_set(number: int, depth: int = 0) -> dict[str, tuple[int, str]]:
        _, folder, name, _ = types[number]
        found: dict[str, tuple[int, str]] = {}
        for inner in embedded.get(number, ()) if depth < 6 else ():
            found.update(method_set(inner, depth + 1))
        found.update(methods.get((folder, name), {}))
        return found

    sets = {number: method_set(number) for number in types}
    having: dict[tuple[str, str], set[int]] = {}
    for number, found in sets.items():
        if types[number][0] != "interface":
            for name, (_, shape) in found.items():
                having.setdefault((name, shape), set()).add(number)
    edges: dict[tuple[int, int], None] = {}
    for number, (kind, _, _, shape) in types.items():
        wanted = sets[number]
        if kind != "interface" or not wanted or len(embedded.get(number, ())) < int(shape or 0):
            continue
        fitting = set.intersection(*(having.get((name, s), set()) for name, (_, s) in wanted.items()))
        for implementer in fitting:
            edges[implementer, number] = None
            for name, (abstract, _) in wanted.items():
                if sets[implementer][name][0] != abstract:  # embedded
                    edges[sets[implementer][name][0], abstract] = None
    connection.execute(
        "delete from edge where relation = 3 and source in (select s.id from symbol s join file f on f.id = s.file"
        " where f.language = 'go')"
    )
    lines = dict(connection.execute("select id, line from symbol"))
    connection.executemany("insert or replace into edge values(?, ?, 3, ?)", [(s, t, str(lines[s])) for s, t in edges])
    return set()


def _is_built(source: bytes) -> bool:
    """Whether the file's `//go:build` line holds for a plain build on Linux (go help buildconstraint)."""
    from re import findall, search

    line = search(rb"^//go:build (.+)$", source[:4000], 8)  # re.MULTILINE
    if line is None:
        return True
    words = findall(r"[\w.]+|&&|\|\||[!()]", line[1].decode("utf-8", "replace"))
    value, _ = _either(words, 0)
    return value


def _either(words: list[str], at: int) -> tuple[bool, int]:
    value, at = _both(words, at)
    while at < len(words) and words[at] == "||":
        other, at = _both(words, at + 1)
        value = value or other
    return value, at


def _both(words: list[str], at: int) -> tuple[bool, int]:
    value, at = _term(words, at)
    while at < len(words) and words[at] == "&&":
        other, at = _term(words, at + 1)
        value = value and other
    return value, at


def _term(words: list[str], at: int) -> tuple[bool, int]:
    if at >= len(words):
        return False, at
    if words[at] == "!":
        value, at = _term(words, at + 1)
        return not value, at
    if words[at] == "(":
        value, at = _either(words, at + 1)
        return value, at + 1
    return words[at] in _BUILD_TAGS or words[at].startswith("go1."), at + 1


def package_name(module: str) -> str:
    """The name that an import path usually gives its package."""
    parts = module.split("/")
    last = parts[-1]
    if len(parts) > 1 and last[:1] == "v" and last[1:].isdigit():
        last = parts[-2]
    return last.partition(".v")[0].removeprefix("go-").removesuffix("-go").replace("-", "_")


def _modules(folder: str, text: str) -> list[tuple[str, str]]:
    """(import path, folder) of a go.mod and of what it replaces by folders."""
    import posixpath

    found = []
    inside = False
    for raw in text.split("\n"):
        line = raw.partition("//")[0].split()
        if line[:1] == ["module"] and len(line) > 1:
            found.append((line[1].strip('"'), folder))
        inside = (inside or line[:2] == ["replace", "("]) and line[:1] != [")"]
        if "=>" in line and (line[0] == "replace" or inside):
            old, new = line[1] if line[0] == "replace" else line[0], line[line.index("=>") + 1]
            if new.startswith("."):
                target = posixpath.normpath(posixpath.join(folder, new))
                found.append((old, "" if target == "." else target))
    return found


def _bare(written: str) -> str:
    """A type's text without white space and package names."""
    from re import sub

    return sub(r"\b\w+\.(?=\w)", "", sub(r"\s+", "", written))


def _is_comment(kind: str) -> bool:
    return kind == "comment"


def _names_in(expression: Any) -> set[str]:
    if not isinstance(expression, tuple):
        return set()
    if expression[:1] == ("n",):
        return {expression[1]}
    return {name for part in expression[1:] for name in _names_in(part)}


def _descend(node: Node, kind: str, depth: int = 4) -> list[Node]:
    """The nodes of a kind below a node, not inside one another."""
    found = []
    for child in node.named_children:
        if child.type == kind:
            found.append(child)
        elif depth > 0:
            found += _descend(child, kind, depth - 1)
    return found
