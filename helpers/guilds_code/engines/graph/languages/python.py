"""Python: facts of a module, and what its names, imports and attributes mean.

Follows the language reference: 4.2 (naming and binding), 5 (the import system), 3.3 (special methods). Flow is
followed only through `isinstance` tests, and to the last binding of a local name that no branch can have passed by.
"""

from __future__ import annotations

from guilds_code.engines.graph.facts import FLAGS, HOME, KIND, NAME, PARENT, SCOPE, TYPE
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, DOC_MAX_CHARACTERS, Walk, parser
from guilds_code.engines.graph.resolve import EXTERNAL, LITERAL, UNKNOWN, Resolver, plain
from guilds_wire.errors import clip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Definition, Expression, Facts
    from guilds_code.engines.graph.resolve import Value

_UNWRAPPED = frozenset(
    ("Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "Awaitable",
     "ContextManager", "AbstractContextManager", "AsyncContextManager", "AbstractAsyncContextManager")
)  # fmt: skip
_SEQUENCES = frozenset(
    ("list", "List", "set", "Set", "frozenset", "FrozenSet", "deque", "Deque", "Sequence", "MutableSequence",
     "Iterable", "Collection", "AbstractSet", "MutableSet", "ValuesView", "KeysView")
)  # fmt: skip
_GENERATORS = frozenset(("Iterator", "Generator", "AsyncIterator", "AsyncGenerator", "AsyncIterable"))
_MAPS = frozenset(
    ("dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "DefaultDict", "OrderedDict", "ItemsView")
)
_BUILT_IN = frozenset(
    ("str", "int", "float", "complex", "bool", "bytes", "bytearray", "memoryview", "range", "slice", "open", "len",
     "repr", "ascii", "format", "chr", "ord", "hex", "oct", "bin", "hash", "id", "input", "print", "round",
     "isinstance", "issubclass", "callable", "hasattr", "any", "all", "dir")
)  # fmt: skip
"""What these give is none of the repository's."""
_CONTAINERS: dict[str, Value] = {
    "dict": ("map", UNKNOWN, UNKNOWN),
    **dict.fromkeys(("list", "set", "frozenset", "tuple"), ("seq", UNKNOWN)),
}
"""What a built-in container is, of whatever it holds."""
_LEAVING = frozenset(("return_statement", "raise_statement", "continue_statement", "break_statement"))
"""Statements after which nothing of their block runs."""
_TESTS = frozenset(("isinstance", "issubclass"))
_TYPE = frozenset(("type",))
_EQUAL = ("is", "==")
_UNEQUAL = ("is not", "!=")
_LOCAL = frozenset(("p", "v", "?", "t", "tp"))
"""The forms of bindings whose names lead to no definition."""
_WRITTEN = _UNWRAPPED | _SEQUENCES | _GENERATORS | _MAPS | {"tuple", "Tuple", "type", "Type", "Callable"}
"""What is a type when something in brackets follows."""
_METACLASS = "metaclass="
"""Where the scope around a class keeps it."""
_TYPING = frozenset(("typing", "typing_extensions"))
_TELLING = frozenset(("identifier", "attribute", "call"))
"""First arguments from which a call's type arguments are inferred."""
_COMPREHENSIONS = frozenset(
    ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression")
)
_ELEMENT_FUNCTIONS = frozenset(("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"))
_KEEPING = frozenset(
    ("property", "cached_property", "classmethod", "staticmethod", "overload", "abstractmethod", "setter", "getter",
     "deleter", "override", "final", "cache")
)  # fmt: skip
"""Decorators that leave a function what it says it is, or that its flags tell."""
_SILENT = frozenset(
    ("comment", "integer", "float", "true", "false", "none", "string_content", "string_start", "string_end",
     "escape_sequence", "ellipsis", "pass_statement", "global_statement", "nonlocal_statement",
     "format_specifier", "type_conversion", "break_statement", "continue_statement")
)  # fmt: skip


_GRAMMAR = "tree_sitter_python"
_FIELD: dict[str, int] = {}
"""The grammar's fields by number: a look-up by number takes a third of the time of one by name."""
OPEN = ("all", "*")
"""What `__all__` is when no literal says it."""


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one module."""
    grammar = parser(_GRAMMAR)
    if not _FIELD and (fields := grammar.language) is not None:
        _FIELD.update({fields.field_name_for_id(n) or "": n for n in range(1, fields.field_count + 1)})
    walk = _Python(source)
    walk.visit_all(grammar.parse(source).root_node, 0)
    walk.drop_local_references()
    return walk.facts


class _Python(Walk):
    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.casts: set[Expression] = set()
        """The ways in which the file calls `typing.cast`."""
        self.blocks: tuple[int, ...] = ()
        """The blocks around that may be passed by, by number."""
        self.blocks_seen = 0
        self.again: dict[str, list[tuple[tuple[int, ...], int, int]]] = {}
        """Local name of the function around → where it was bound again, in which scope, and the how manyth binding
        of that scope it is."""
        self.chains: set[str] = set()
        """What of the function around is tested for its class and is more than a name: `self.item`."""

    def visit(self, node: Node, scope: int) -> None:
        """Walk a statement or an expression."""
        _VISIT.get(node.type, _Python.deeper)(self, node, scope)

    def deeper(self, node: Node, scope: int) -> None:
        """Walk what a node without a meaning of its own holds."""
        for child in node.named_children:
            _VISIT.get(child.type, _Python.deeper)(self, child, scope)

    def silent(self, node: Node, scope: int) -> None:
        """Nothing in it refers to anything."""

    def visit_each(self, nodes: list[Node], scope: int) -> None:
        for node in nodes:
            self.visit(node, scope)

    # definitions

    def function(self, node: Node, scope: int, outer: Node | None = None, decorators: Any = ()) -> None:
        outer = outer or node
        home = self.base(scope)
        named, body = node.child_by_field_id(_FIELD["name"]), node.child_by_field_id(_FIELD["body"])
        if named is None or body is None:
            return
        in_class = self.facts.scopes[home][2] == "c"
        result = node.child_by_field_id(_FIELD["return_type"])
        parameters = node.child_by_field_id(_FIELD["parameters"])
        flags = tuple(filter(None, (_last_name(d) for d in decorators)))
        if (first := node.child(0)) is not None and first.type == "async":
            flags = (*flags, "async")
        name = self.text(named)
        generic = self.generic_scope(node, home, wanted=False)
        number = self.define(
            "method" if in_class else "function", name, outer, generic, named=named,
            signature=self.header(node, body), doc=self.docstring(body), parent=self.owner(home),
            returns=self.annotation(result) if result is not None else None, flags=flags, opens="f",
        )  # fmt: skip
        self.bind(home, name, ("d", number))
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.decorations(outer, scope)
        applied = [(d, "decorates", scope) for d in decorators if d is not None and d[-1] not in _KEEPING]
        if applied:
            self.facts.bases[number] = applied
        if generic != home:
            self.type_parameters(node, generic, number)
            scope = generic
        if parameters is not None:
            self.parameters(parameters, scope, inner)
        if result is not None:
            self.visit_type(result, scope)
        flow = self.again, self.chains
        self.again, self.chains = {}, set()
        self.visit(body, inner)
        self.again, self.chains = flow
        self.current = around

    def class_(self, node: Node, scope: int, outer: Node | None = None, decorators: Any = ()) -> None:
        outer = outer or node
        home = self.base(scope)
        named, body = node.child_by_field_id(_FIELD["name"]), node.child_by_field_id(_FIELD["body"])
        if named is None or body is None:
            return
        name = self.text(named)
        flags = tuple(filter(None, (_last_name(d) for d in decorators)))
        superclasses = node.child_by_field_id(_FIELD["superclasses"])
        given = superclasses.named_children if superclasses is not None else []
        generic = self.generic_scope(node, home, any(c.type in ("subscript", "keyword_argument") for c in given))
        number = self.define(
            "class", name, outer, generic, named=named, signature=self.header(node, body),
            doc=self.docstring(body), flags=flags, opens="c", parent=self.owner(home),
        )  # fmt: skip
        self.bind(home, name, ("d", number))
        around, self.current = self.current, number
        self.decorations(outer, scope)
        inner = self.facts.defs[number][SCOPE]
        if generic != home:
            self.type_parameters(node, generic, number)
            scope = generic
        self.bases(given, scope, number)
        self.visit(body, inner)
        self.current = around

    def bases(self, given: list[Node], scope: int, number: int) -> None:
        """What a class is derived from, with type arguments, and its metaclass."""
        bases = self.facts.bases.setdefault(number, [])
        for child in given:
            base, arguments = child, []
            if child.type == "subscript" and (value := child.child_by_field_id(_FIELD["value"])) is not None:
                base, arguments = value, child.named_children[1:]
                self.visit_each(arguments, scope)
            if base.type in ("identifier", "attribute"):
                expression = self.expression(base)
                if expression is not None:
                    kind = ("G", expression, tuple(self.annotation(a) for a in arguments)) if arguments else expression
                    bases.append((kind, "inherits", scope))
                    self.refer(scope, base.end_point[0] + 1, expression, "inherits")
            elif child.type == "keyword_argument":
                if self.text(child.named_children[0]) == "metaclass":
                    made = self.expression(child.child_by_field_id(_FIELD["value"]))
                    self.bind(scope, _METACLASS, ("v", made) if made else ("?",))
                self.visit(child, scope)
            else:
                expression = self.expression(base)
                if expression is not None:
                    bases.append((expression, "inherits", scope))
                self.visit(base, scope)

    def decorated(self, node: Node, scope: int) -> None:
        definition = node.child_by_field_id(_FIELD["definition"])
        decorators = [
            self.expression(child.named_children[0])
            for child in node.named_children
            if child.type == "decorator" and child.named_child_count
        ]
        if definition is not None and definition.type == "class_definition":
            self.class_(definition, scope, node, decorators)
        elif definition is not None:
            self.function(definition, scope, node, decorators)

    def decorations(self, outer: Node, scope: int) -> None:
        if outer.type != "decorated_definition":
            return
        for child in outer.named_children:
            if child.type == "decorator" and child.named_child_count:
                used = child.named_children[0]
                line = used.end_point[0] + 1
                if used.type == "call":
                    function = used.child_by_field_id(_FIELD["function"])
                    line = function.end_point[0] + 1 if function is not None else line
                    self.refer(scope, line, self.expression(function), "decorates")
                    self.visit(used, scope)
                else:
                    expression = self.expression(used)
                    self.refer(scope, line, expression, "decorates")
                    self.chain(used, scope, expression)

    def header(self, node: Node, body: Node) -> str:
        """A definition up to its colon."""
        colon = next((child for child in reversed(node.children) if child.type == ":"), body)
        text = self.signature(node, colon)
        if "#" in text:
            comments = [part for part in _descend(node, colon.start_byte) if part.type == "comment"]
            ends = [node.start_byte, *(comment.end_byte for comment in comments)]
            starts = [*(comment.start_byte for comment in comments), colon.start_byte]
            text = " ".join(filter(None, map(self.one_line, ends, starts)))
        return text.rstrip(": ")

    def docstring(self, body: Node) -> str:
        first = body.named_children[0] if body.named_child_count else None
        if first is None or first.type != "expression_statement" or not first.named_child_count:
            return ""
        literal = first.named_children[0]
        if literal.type != "string":
            return ""
        text = self.source[literal.start_byte : literal.end_byte].decode("utf-8", "replace")
        text = text.lstrip("rRuUbB").strip("\"'").strip()
        return clip("\n".join(line.strip() for line in text.split("\n")), DOC_MAX_CHARACTERS)

    def generic_scope(self, node: Node, home: int, wanted: bool) -> int:
        """A scope around a definition for its type parameters, what its bases are given, and its metaclass."""
        if not wanted and node.child_by_field_id(_FIELD["type_parameters"]) is None:
            return home
        return self.open_scope(home, self.owner(home), "g")

    def type_parameters(self, node: Node, generic: int, number: int) -> None:
        self.facts.scopes[generic] = (self.facts.scopes[generic][0], number, "g")
        parameters = node.child_by_field_id(_FIELD["type_parameters"])
        for position, child in enumerate(parameters.named_children if parameters is not None else ()):
            constrained = child.named_children[0] if child.named_child_count else child
            names = [c for c in _descend(child) if c.type == "identifier"]
            kind = None
            if constrained.type == "constrained_type" and constrained.named_child_count > 1:
                kind = self.annotation(constrained.named_children[1])
                self.visit_type(constrained.named_children[1], generic)
            if names:
                self.bind(generic, self.text(names[0]), ("tp", number, position, generic, kind))

    def parameters(self, node: Node, scope: int, inner: int) -> None:
        for position, child in enumerate(node.named_children):
            kind = child.type
            if kind == "identifier":
                self.bind(inner, self.text(child), ("p", None, None, position))
            elif kind in ("typed_parameter", "typed_default_parameter", "default_parameter"):
                named = child.child_by_field_id(_FIELD["name"])
                if named is None and child.named_child_count:
                    named = child.named_children[0]
                if named is None:
                    continue
                annotation = child.child_by_field_id(_FIELD["type"])
                value = child.child_by_field_id(_FIELD["value"])
                declared = self.annotation(annotation) if annotation is not None else None
                if named.type == "list_splat_pattern":
                    declared = ("S", declared) if declared else None
                elif named.type == "dictionary_splat_pattern":
                    declared = ("M", ("n", "str"), declared) if declared else None
                if named.type != "identifier" and named.named_child_count:
                    named = named.named_children[0]
                default = self.expression(value) if value is not None else None
                self.bind(inner, self.text(named), ("p", declared, default, position))
                if annotation is not None:
                    self.visit_type(annotation, scope)
                if value is not None:
                    self.visit(value, scope)
            elif kind in ("list_splat_pattern", "dictionary_splat_pattern") and child.named_child_count:
                self.bind(inner, self.text(child.named_children[0]), ("?",))

    # bindings

    def assignment(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_id(_FIELD["left"]), node.child_by_field_id(_FIELD["right"])
        annotation = node.child_by_field_id(_FIELD["type"])
        if left is None:
            return
        value = self.placed(scope, self.expression(right)) if right is not None else None
        home = self.base(scope)
        declared = self.annotation(annotation) if annotation is not None else None
        explicit = declared is not None and declared[-1] == "TypeAlias"
        if right is not None and self.facts.scopes[home][2] in "mc" and (kind := self.alias(right, explicit)):
            value, declared = ("alias", kind), None
        binding: Binding = ("v", value) if value is not None else ("?",)
        if annotation is not None:
            self.visit_type(annotation, scope)
            if explicit and right is not None:
                self.visit_type(right, scope)
            if declared is not None and declared != ("n", "Any"):
                binding = ("t", declared)
        around = self.current
        if scope == 0 and self.text(left) == "__all__":
            self.listed(right)
        if left.type == "identifier" and self.facts.scopes[home][2] in "mc":
            name = self.text(left)
            if name not in self.facts.names[home]:
                number = self.define("variable", name, node, home, signature=self.line(node))
                self.bind(home, name, ("d", number))
                self.facts.names[home][name].append(binding)
                self.current = number if self.facts.scopes[home][2] == "m" else around
                if right is not None:
                    self.visit(right, scope)
                self.current = around
                return
        if right is not None:
            self.visit(right, scope)
        self.target(left, scope, binding)

    def alias(self, right: Node, explicit: bool) -> Any:
        """The type that the right side of an assignment writes, if it is one by its form or said to be one."""
        if right.type == "subscript":
            head = self.text(right.named_children[0]).rpartition(".")[2]
            explicit = explicit or head in _WRITTEN
        elif right.type == "binary_operator":
            explicit = explicit or right.children[1].type == "|"
        return self.annotation(right) if explicit else None

    def type_alias(self, node: Node, scope: int) -> None:
        """`type Name = …`"""
        left, right = node.child_by_field_id(_FIELD["left"]), node.child_by_field_id(_FIELD["right"])
        if left is None or right is None:
            return
        home = self.base(scope)
        name = next((self.text(part) for part in _descend(left) if part.type == "identifier"), "")
        if self.facts.scopes[home][2] in "mc":
            self.bind(home, name, ("d", self.define("variable", name, node, home, signature=self.line(node))))
        self.bind(home, name, ("v", ("alias", self.annotation(right))))
        self.visit_type(right, scope)

    def target(self, node: Node, scope: int, binding: Binding) -> None:
        kind = node.type
        if kind == "identifier":
            self.bind_again(scope, self.base(scope), self.text(node), binding)
        elif kind in ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list", "expression_list"):
            for position, child in enumerate(node.named_children):
                part: Binding = ("v", ("x", binding[1], position)) if binding[0] == "v" else ("?",)
                self.target(child, scope, part)
        elif kind == "as_pattern_target" or kind == "parenthesized_expression":
            for child in node.named_children:
                self.target(child, scope, binding)
        elif kind == "attribute":
            owner, attribute = node.child_by_field_id(_FIELD["object"]), node.child_by_field_id(_FIELD["attribute"])
            if owner is not None and attribute is not None and owner.type == "identifier":
                self.field(scope, self.text(owner), self.text(attribute), binding)
                if self.chains:
                    self.end_narrowing(scope, f"{self.text(owner)}.{self.text(attribute)}", binding)
            self.reference(node, scope, "uses")
        else:
            self.visit_each(node.named_children, scope)

    def bind_again(self, scope: int, home: int, name: str, binding: Binding) -> None:
        """Bind a name in the scope `home`; in a function what it held before may count no more from here on."""
        if scope != home:
            binding = (*binding, scope) if binding[0] == "v" else binding  # there its names mean what tests told
            self.end_narrowing(scope, name, binding)
        self.bind_after(home, name, binding)

    def end_narrowing(self, scope: int, name: str, binding: Binding) -> None:
        """What tests around told of a name, and of what hangs on it, holds no more from here on."""
        while self.facts.scopes[scope][2] in "bn":
            if self.facts.scopes[scope][2] == "n":
                for known in list(self.facts.names[scope]):
                    if known == name or known.startswith(name + "."):
                        self.bind_after(scope, known, binding if known == name else ("?",))
            scope = self.facts.scopes[scope][0]

    def bind_after(self, scope: int, name: str, binding: Binding) -> None:
        self.bind(scope, name, binding)
        place = len(self.facts.names[scope][name]) - 1
        if place and self.facts.scopes[scope][2] in "fn":
            self.again.setdefault(name, []).append((self.blocks, scope, place))

    def placed(self, scope: int, expression: Expression | None) -> Expression | None:
        """The expression with each local name's bindings from the last one that surely came before this place, and
        with what a test told of a chain of names."""
        if not (self.again or self.chains) or not expression or expression[0] == "t":
            return expression
        if expression[0] == "n":
            return self.placed_name(scope, expression)
        if expression[0] == "a" and self.chains:
            name = _dotted(expression)
            if name in self.chains and self.facts.scopes[self.binder(scope, name)][2] == "n":
                return self.placed_name(scope, ("n", name))
        return tuple(self.placed(scope, part) if isinstance(part, tuple) else part for part in expression)

    def placed_name(self, scope: int, expression: Expression) -> Expression:
        name = expression[1]
        found = self.again.get(name) if len(expression) == 2 else None
        if found:
            binder = self.binder(scope, name)
            for blocks, where, place in reversed(found):
                if where == binder and self.blocks[: len(blocks)] == blocks:
                    return ("n", name, place)
        return expression

    def binder(self, scope: int, name: str) -> int:
        """The scope that binds a name here, the function's own at the latest."""
        while name not in self.facts.names[scope] and self.facts.scopes[scope][2] in "bn":
            scope = self.facts.scopes[scope][0]
        return scope

    def block(self, node: Node, scope: int) -> None:
        """A block that may be passed by, unless it is that of a `with`."""
        around = self.blocks
        if node.parent is not None and node.parent.type != "with_statement":
            self.blocks_seen += 1
            self.blocks = (*around, self.blocks_seen)
        for child in node.named_children:
            self.visit(child, scope)
            if child.type in ("if_statement", "assert_statement"):
                scope = self.behind(child, scope)
        self.blocks = around

    def refer(self, scope: int, line: int, expression: Expression | None, relation: str) -> None:
        if expression is None:
            return
        if relation == "uses" and expression[0] == "n":
            scope = self.base(scope)  # the variable is used, not the class that a test tells
        if self.again or self.chains:
            if expression[0] == "a":
                expression = ("a", self.placed(scope, expression[1]), expression[2])
            else:
                expression = self.placed(scope, expression) or expression
        self.facts.refs.append((self.current, scope, line, expression, relation))

    def field(self, scope: int, owner: str, name: str, binding: Binding) -> None:
        """`self.name = …` in a method gives the class that attribute."""
        here = scope
        while scope > 0:
            _, number, kind = self.facts.scopes[scope]
            if kind == "f" and owner in self.facts.names[scope]:
                bound = self.facts.names[scope][owner][0]
                definition = self.facts.defs[number]
                if bound[0] == "p" and bound[3] == 0 and definition[KIND] == "method":
                    named = self.facts.fields.setdefault(definition[PARENT], {})
                    named.setdefault(name, []).append((binding, here))
                return
            scope = self.facts.scopes[scope][0]

    def augmented(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_id(_FIELD["left"]), node.child_by_field_id(_FIELD["right"])
        if left is not None and left.type == "identifier":
            self.bind(self.base(scope), self.text(left), ("?",))
            if scope == 0 and self.text(left) == "__all__":
                self.listed(right)
        self.visit_each([n for n in (left, right) if n is not None], scope)

    def listed(self, node: Node | None) -> None:
        """Names that are put into `__all__`; with any that no literal gives it counts as open."""
        parts = node.named_children if node is not None and node.type in ("list", "tuple") else []
        names = tuple(self.text(part).strip("\"'") for part in parts if part.type == "string")
        before = self.facts.exports.get("__all__", ("all",))
        known = len(names) == len(parts) and node is not None and node.type in ("list", "tuple")
        self.facts.exports["__all__"] = (*before, *names) if known and before != OPEN else OPEN

    def named_expression(self, node: Node, scope: int) -> None:
        named, value = node.child_by_field_id(_FIELD["name"]), node.child_by_field_id(_FIELD["value"])
        if named is not None and value is not None:
            expression = self.placed(scope, self.expression(value))
            self.visit(value, scope)
            binding: Binding = ("v", expression) if expression else ("?",)
            self.bind_again(scope, self.function_scope(scope), self.text(named), binding)

    def with_item(self, node: Node, scope: int) -> None:
        value = node.child_by_field_id(_FIELD["value"])
        if value is None:
            return
        if value.type != "as_pattern":
            self.visit(value, scope)
            return
        alias = value.child_by_field_id(_FIELD["alias"])
        entered = value.named_children[0]
        expression = self.placed(scope, self.expression(entered))
        self.visit(entered, scope)
        if alias is not None:
            self.target(alias, scope, ("v", ("w", expression)) if expression else ("?",))

    def except_clause(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            alias = child.child_by_field_id(_FIELD["alias"]) if child.type == "as_pattern" else None
            if alias is None:
                self.visit(child, scope)
                continue
            caught = child.named_children[0]
            classes = caught.named_children if caught.type == "tuple" else [caught]
            kinds = tuple(filter(None, (self.annotation(c) for c in classes)))
            self.visit(caught, scope)
            self.target(alias, scope, ("t", ("U", *kinds)) if kinds else ("?",))

    def for_statement(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_id(_FIELD["left"]), node.child_by_field_id(_FIELD["right"])
        if left is not None and right is not None:
            self.visit(right, scope)
            self.iteration(left, right, scope)
        for field in ("body", "alternative"):
            part = node.child_by_field_name(field)
            if part is not None:
                self.visit(part, scope)

    def iteration(self, left: Node, right: Node, scope: int) -> None:
        """Bind what a loop over `right` assigns to `left`."""
        expression = self.placed(scope, self.expression(right))
        self.target(left, scope, ("v", ("e", expression)) if expression else ("?",))

    def comprehension(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "b")
        clauses: list[tuple[Node, int]] = []
        for child in node.named_children:
            if child.type == "for_in_clause":
                left, right = child.child_by_field_id(_FIELD["left"]), child.child_by_field_id(_FIELD["right"])
                if left is not None and right is not None:
                    self.iteration(left, right, inner)
                    clauses.append((right, inner))
            elif child.type == "if_clause" and child.named_child_count:
                clauses.append((child, inner))
                inner = self.narrowed(child.named_children[0], inner)
        self.visit(node.named_children[0], inner)
        for child, place in clauses:
            self.visit(child, place)

    def lambda_(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "b")
        parameters, body = node.child_by_field_id(_FIELD["parameters"]), node.child_by_field_id(_FIELD["body"])
        for child in _descend(parameters) if parameters is not None else ():
            if child.type == "identifier":
                self.bind(inner, self.text(child), ("?",))
        if body is not None:
            self.visit(body, inner)

    def case_clause(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            if child.type == "case_pattern":
                self.capture(child, scope)
            else:
                self.visit(child, scope)

    def capture(self, node: Node, scope: int) -> None:
        """Bind what a pattern captures, and refer to the classes and values in it."""
        kind, parts = node.type, node.named_children
        if kind == "dotted_name":
            if len(parts) == 1:
                self.target(parts[0], scope, ("?",))
            else:
                self.refer(scope, node.start_point[0] + 1, self.dotted(node), "uses")
        elif kind == "splat_pattern":
            for child in parts:
                self.target(child, scope, ("?",))
        elif kind == "class_pattern" and parts:
            self.refer(scope, node.start_point[0] + 1, self.dotted(parts[0]), "uses")
            for child in parts[1:]:
                self.capture(child, scope)
        elif kind == "as_pattern" and len(parts) > 1:
            self.capture(parts[0], scope)
            kinds = self.matched(parts[0])
            self.target(parts[-1], scope, ("t", ("U", *kinds)) if kinds else ("?",))
        elif kind == "dict_pattern":
            for place, child in enumerate(parts):
                if node.field_name_for_named_child(place) != "key":
                    self.capture(child, scope)
        elif kind not in ("string", "concatenated_string"):
            for child in parts[1:] if kind == "keyword_pattern" else parts:
                self.capture(child, scope)

    def matched(self, node: Node) -> tuple[Any, ...]:
        """The classes that a pattern takes instances of; none where one can't be told."""
        parts = node.named_children
        if node.type == "class_pattern" and parts:
            return (self.dotted(parts[0]),)
        if node.type not in ("case_pattern", "union_pattern") or not parts:
            return ()
        kinds = [self.matched(child) for child in parts]
        return tuple(kind for found in kinds for kind in found) if all(kinds) else ()

    def delete(self, node: Node, scope: int) -> None:
        """`del name` makes the name local to its function, as an assignment does."""
        home = self.base(scope)
        if self.facts.scopes[home][2] == "f":
            for child in _descend(node):
                place = child.parent.type if child.parent is not None else ""
                listed = place in ("delete_statement", "expression_list", "tuple", "list", "parenthesized_expression")
                if child.type == "identifier" and listed and self.text(child) not in self.facts.names[home]:
                    self.bind(home, self.text(child), ("?",))
        self.deeper(node, scope)

    def if_statement(self, node: Node, scope: int) -> None:
        """An `if`, an `elif`, or a `while`."""
        condition = node.child_by_field_id(_FIELD["condition"])
        if condition is None:
            self.deeper(node, scope)
            return
        self.visit(condition, scope)
        for child in node.named_children:
            if child.type == "block":
                self.visit(child, self.narrowed(condition, scope))
            elif child.type in ("elif_clause", "else_clause"):  # none of those before it held
                if node.type == "if_statement":
                    scope = self.narrowed(condition, scope, holds=False)
                self.visit(child, scope)
                condition = child.child_by_field_id(_FIELD["condition"]) or condition

    def boolean_operator(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_id(_FIELD["left"]), node.child_by_field_id(_FIELD["right"])
        if left is not None and right is not None:
            self.visit(left, scope)
            self.visit(right, self.narrowed(left, scope, holds=node.children[1].type == "and"))

    def conditional(self, node: Node, scope: int) -> None:
        parts = [part for part in node.named_children if part.type != "comment"]
        if len(parts) == 3:
            self.visit(parts[0], self.narrowed(parts[1], scope))
            self.visit(parts[1], scope)
            self.visit(parts[2], self.narrowed(parts[1], scope, holds=False))

    def behind(self, node: Node, scope: int) -> int:
        """The scope after an `assert`, or after an `if` that leaves the block."""
        if node.type == "assert_statement":
            return self.narrowed(node.named_children[0], scope) if node.named_child_count else scope
        condition, body = node.child_by_field_id(_FIELD["condition"]), node.child_by_field_id(_FIELD["consequence"])
        last = body.named_children[-1].type if body is not None and body.named_child_count else ""
        if condition is None or last not in _LEAVING or node.child_by_field_id(_FIELD["alternative"]) is not None:
            return scope
        return self.narrowed(condition, scope, holds=False)

    def narrowed(self, condition: Node, scope: int, *, holds: bool = True) -> int:
        """A scope in which a condition holds, or does not; the same scope where that tells no class."""
        found = self.tested(condition, holds)
        if not found or self.facts.scopes[self.base(scope)][2] == "c":
            return scope
        inner = self.open_scope(scope, self.owner(scope), "n")
        for name, held in found:
            self.bind(inner, name, ("v", held, scope))
            if "." in name:
                self.chains.add(name)
        return inner

    def tested(self, test: Node, holds: bool) -> list[tuple[str, Expression]]:
        """What is tested for its class, and what it is where the condition holds, or does not."""
        if test.type == "parenthesized_expression" and test.named_child_count:
            return self.tested(test.named_children[0], holds)
        if test.type == "not_operator" and test.named_child_count:
            return self.tested(test.named_children[-1], not holds)
        if test.type == "boolean_operator":
            one, other = (self.tested(test.named_children[place], holds) for place in (0, -1))
            if (test.children[1].type == "and") == holds:
                return one + other
            same = len(one) == 1 == len(other) and one[0][0] == other[0][0]
            return [(one[0][0], ("u", one[0][1], other[0][1]))] if same else []
        call, classes, names = test, [], _TESTS
        if test.type == "comparison_operator" and len(test.named_children) == 2:
            if test.children[1].type not in (_EQUAL if holds else _UNEQUAL):
                return []
            call, *classes = test.named_children
            names, holds = _TYPE, True
        function = call.child_by_field_id(_FIELD["function"]) if call.type == "call" else None
        arguments = call.child_by_field_id(_FIELD["arguments"]) if function is not None else None
        if function is None or arguments is None or self.text(function) not in names:
            return []
        values = [*arguments.named_children, *classes]
        return self.instances(values[0], values[1], self.text(function), holds) if len(values) == 2 else []

    def instances(self, tested: Node, written: Node, test: str, holds: bool) -> list[tuple[str, Expression]]:
        """What one test of that name tells."""
        if tested.type == "named_expression":
            tested = tested.named_children[0]
        expression = self.expression(tested) or ("",)
        name = _dotted(expression)
        classes = written.named_children if written.type == "tuple" else [written]
        kinds = tuple(filter(None, (self.annotation(c) for c in classes)))
        if not name or len(kinds) != len(classes):
            return []
        kind = ("U", *((("T", kind) for kind in kinds) if test == "issubclass" else kinds))
        return [(name, ("t", kind) if holds else ("but", expression, kind))]

    # imports

    def import_(self, node: Node, scope: int) -> None:
        home = self.base(scope)
        for child in node.named_children:
            if child.type == "aliased_import":
                name, alias = child.child_by_field_id(_FIELD["name"]), child.child_by_field_id(_FIELD["alias"])
                if name is not None and alias is not None:
                    module = self.text(name)
                    self.bind(home, self.text(alias), ("i", module, None))
                    if module in _TYPING:
                        self.casts.add(("a", ("n", self.text(alias)), "cast"))
                    self.refer(scope, child.start_point[0] + 1, ("import", module, None), "imports")
            elif child.type == "dotted_name":
                module = self.text(child)
                self.bind(home, module.split(".")[0], ("i", module.split(".")[0], None))
                if module in _TYPING:
                    self.casts.add(("a", ("n", module), "cast"))
                self.refer(scope, child.start_point[0] + 1, ("import", module, None), "imports")

    def import_from(self, node: Node, scope: int) -> None:
        home = self.base(scope)
        from_ = node.child_by_field_id(_FIELD["module_name"])
        if from_ is None:
            return
        module = "".join(self.text(from_).split())
        if any(child.type == "wildcard_import" for child in node.children):
            if module in _TYPING:
                self.casts.add(("n", "cast"))
            self.facts.stars.append(module)
            self.refer(scope, node.start_point[0] + 1, ("import", module, None), "imports")
        for child in node.children_by_field_name("name"):
            name = child.child_by_field_id(_FIELD["name"]) if child.type == "aliased_import" else child
            alias = child.child_by_field_id(_FIELD["alias"]) if child.type == "aliased_import" else child
            if name is not None and alias is not None:
                self.bind(home, self.text(alias), ("i", module, self.text(name)))
                if module in _TYPING and self.text(name) == "cast":
                    self.casts.add(("n", self.text(alias)))
                line = child.start_point[0] + 1
                self.refer(scope, line, ("import", module, self.text(name)), "imports")

    # references

    def call(self, node: Node, scope: int) -> None:
        function, arguments = node.child_by_field_id(_FIELD["function"]), node.child_by_field_id(_FIELD["arguments"])
        if function is not None:
            self.reference(function, scope, "calls")
            if scope == 0 and function.type == "attribute" and self.text(function).startswith("__all__."):
                self.listed(None)
        if arguments is not None:
            self.visit_each(arguments.named_children, scope)

    def keyword_argument(self, node: Node, scope: int) -> None:
        value = node.child_by_field_id(_FIELD["value"])
        if value is not None:
            self.visit(value, scope)

    def identifier(self, node: Node, scope: int) -> None:
        self.refer(scope, node.end_point[0] + 1, ("n", self.text(node)), "uses")

    def attribute(self, node: Node, scope: int) -> None:
        self.reference(node, scope, "uses")

    def reference(self, node: Node, scope: int, relation: str) -> None:
        kind = node.type
        if kind in ("identifier", "attribute"):
            expression = self.expression(node)
            self.refer(scope, node.end_point[0] + 1, expression, relation)
            self.chain(node, scope, expression)
        else:
            expression = self.expression(node) if relation == "calls" and kind != "lambda" else None
            if expression is not None and expression[0] != "g":  # of `Box[int]()` the name is referred to
                self.refer(scope, node.end_point[0] + 1, expression, relation)
            self.visit(node, scope)

    def chain(self, node: Node, scope: int, expression: Expression | None) -> None:
        """Visit what an attribute is taken of, whose expression is a part of the attribute's."""
        while node.type == "attribute":
            owner = node.child_by_field_id(_FIELD["object"])
            if owner is None:
                return
            if expression is None or owner.type not in ("identifier", "attribute"):
                self.visit(owner, scope)
                return
            node, expression = owner, expression[1]
            self.refer(scope, node.end_point[0] + 1, expression, "uses")

    def visit_type(self, node: Node, scope: int) -> None:
        """References inside an annotation, also when it is a string."""
        if node.type == "string":
            quoted, expression = self.quoted(node)
            if quoted is not None and expression is not None:
                quoted.visit_type(expression, 0)
                for *_, used, relation in quoted.facts.refs:
                    self.refer(scope, node.end_point[0] + 1, used, relation)
            return
        if node.type == "attribute":
            self.reference(node, scope, "uses")
        elif node.type == "identifier":
            self.identifier(node, scope)
        else:
            for child in node.named_children:
                self.visit_type(child, scope)

    def return_(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            self.result(self.expression(child), scope)
            self.visit(child, scope)

    def yield_(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            expression = self.expression(child)
            self.result(("yield", expression) if expression else None, scope)
            self.visit(child, scope)

    def result(self, expression: Expression | None, scope: int) -> None:
        number = self.owner(scope)
        expression = self.placed(scope, expression)
        if expression is not None and number >= 0 and self.facts.defs[number][KIND] in ("function", "method"):
            self.facts.returns.setdefault(number, []).append((expression, scope))

    # descriptions

    def expression(self, node: Node | None, depth: int = 0) -> Expression | None:
        """What can be said of an expression without knowing any other file."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        if kind == "identifier":
            return ("n", self.text(node))
        if kind == "attribute":
            owner = self.expression(node.child_by_field_id(_FIELD["object"]), depth + 1)
            name = node.child_by_field_id(_FIELD["attribute"])
            return ("a", owner, self.text(name)) if owner and name is not None else None
        if kind == "call":
            return self.call_expression(node, depth)
        if kind == "subscript":
            value = self.expression(node.child_by_field_id(_FIELD["value"]), depth + 1)
            if value is not None and value[0] in "na" and value[-1][:1].isupper():
                return ("g", value, tuple(self.annotation(c) for c in node.named_children[1:]))
            return ("i", value) if value else None
        if kind == "await":
            value = self.expression(node.named_children[0], depth + 1) if node.named_child_count else None
            return ("y", value) if value else None
        if kind in ("parenthesized_expression", "list_splat") and node.named_child_count:
            return self.expression(node.named_children[0], depth + 1)
        if kind in ("conditional_expression", "boolean_operator"):
            parts = node.named_children
            chosen = (parts[0], parts[-1]) if kind == "conditional_expression" else parts
            known = tuple(filter(None, (self.expression(c, depth + 1) for c in chosen)))
            return ("u", *known) if len(known) > 1 else known[0] if known else None
        if kind == "named_expression":
            return self.expression(node.child_by_field_id(_FIELD["value"]), depth + 1)
        if kind in ("list", "set") and node.named_child_count:
            element = self.expression(node.named_children[0], depth + 1)
            return ("seq", element) if element else None
        if kind in ("tuple", "expression_list"):
            held = [self.expression(c, depth + 1) for c in node.named_children]
            return ("tup", *held) if any(held) else None
        if kind in ("string", "concatenated_string", "integer", "float", "true", "false", "dictionary"):
            return ("ext", "container") if kind == "dictionary" else ("ext",)
        return None

    def call_expression(self, node: Node, depth: int) -> Expression | None:
        function = self.expression(node.child_by_field_id(_FIELD["function"]), depth + 1)
        if function is None:
            return None
        arguments = node.child_by_field_id(_FIELD["arguments"])
        values = arguments.named_children if arguments is not None else []
        if function[0] == "n" and function[1] not in self.facts.names[0]:
            name = function[1]
            if name == "super":
                return ("s",)
            if name in _ELEMENT_FUNCTIONS and values:
                inner = self.expression(values[0], depth + 1)
                return ("seq", ("e", inner)) if inner else ("ext", "container")
            if name in ("next", "max", "min") and values:
                inner = self.expression(values[0], depth + 1)
                return ("e", inner) if inner else None
            if name == "enumerate" and values:
                inner = self.expression(values[0], depth + 1)
                return ("seq", ("tup", ("ext",), ("e", inner))) if inner else None
            if name == "type" and len(values) == 1:
                inner = self.expression(values[0], depth + 1)
                return ("class", inner) if inner else None
        if values and function in self.casts:
            kind = self.annotation(values[0])
            return ("t", kind) if kind else None
        if function[-1] == "TypeVar":
            bound = next((v for v in values if v.type == "keyword_argument"), None)
            written = bound.named_children[-1] if bound is not None and self.text(bound)[:5] == "bound" else None
            name = self.text(values[0]) if values else ""
            return ("tv", function, name, self.annotation(written) if written is not None else None)
        first = values[0] if values else None
        if first is None or first.type not in _TELLING:
            return ("c", function)
        told = self.expression(first, depth + 1)
        return ("c", function, told) if told else ("c", function)

    def annotation(self, node: Node, depth: int = 0) -> Any:
        """The type that an annotation names."""
        if depth > 8:
            return None
        kind = node.type
        if kind == "type":
            return self.annotation(node.named_children[0], depth + 1) if node.named_child_count else None
        if kind in ("identifier", "attribute"):
            expression = self.expression(node)
            if expression is not None and expression[-1] == "Self":
                return ("self",)
            return expression
        if kind == "string":
            return self.quoted_type(node)
        if kind in ("binary_operator", "union_type"):
            parts = tuple(filter(None, (self.annotation(c, depth + 1) for c in node.named_children)))
            return ("U", *parts) if len(parts) > 1 else parts[0] if parts else None
        if kind in ("generic_type", "subscript"):
            head, *rest = node.named_children
            if rest and rest[0].type == "type_parameter":
                rest = rest[0].named_children
            name = self.text(head).rsplit(".", 1)[-1]
            return self.generic(name, head, [self.annotation(c, depth + 1) for c in rest], depth)
        return None

    def generic(self, name: str, head: Node, arguments: list[Any], depth: int) -> Any:
        first = arguments[0] if arguments else None
        if name in ("Optional", "Union"):
            known = tuple(filter(None, arguments))
            return ("U", *known) if len(known) > 1 else known[0] if known else None
        if name in _UNWRAPPED:
            return first
        if name in ("type", "Type"):
            return ("T", first) if first else None
        if name in _GENERATORS:
            return ("Y", first) if first else None
        if name in _SEQUENCES:
            return ("S", first) if first else None
        if name in ("tuple", "Tuple"):
            return ("R", *(a or ("n", "object") for a in arguments))
        if name in _MAPS:
            return ("M", first, arguments[1]) if len(arguments) > 1 and (first or arguments[1]) else None
        if name == "Callable":
            return ("F", arguments[-1]) if len(arguments) > 1 and arguments[-1] else None
        base = self.annotation(head, depth + 1)
        return ("G", base, tuple(arguments)) if base else None

    def quoted_type(self, node: Node) -> Any:
        quoted, expression = self.quoted(node)
        return quoted.annotation(expression) if quoted is not None and expression is not None else None

    def quoted(self, node: Node) -> tuple[_Python | None, Node | None]:
        """The annotation that a string holds, with the walk that its nodes belong to."""
        content = b"".join(self.source[c.start_byte : c.end_byte] for c in node.children if c.type == "string_content")
        root = parser(_GRAMMAR).parse(b"(" + content + b")").root_node
        held = root.named_children[0] if root.named_child_count == 1 and not root.has_error else None
        while held is not None and held.type in ("expression_statement", "parenthesized_expression"):
            held = held.named_children[0] if held.named_child_count == 1 else None
        return (_Python(b"(" + content + b")"), held) if held is not None else (None, None)

    def from_dotted(self, name: str) -> Expression:
        first, *rest = name.split(".")
        expression: Expression = ("n", first)
        for part in rest:
            expression = ("a", expression, part)
        return expression

    def dotted(self, node: Node) -> Expression:
        return self.from_dotted("".join(self.text(node).split()))

    # scopes

    def base(self, scope: int) -> int:
        """The scope that binds names here: narrowing opens none of its own."""
        while self.facts.scopes[scope][2] == "n":
            scope = self.facts.scopes[scope][0]
        return scope

    def function_scope(self, scope: int) -> int:
        """Where `:=` binds: not in a comprehension."""
        while self.facts.scopes[scope][2] in "nb" and scope > 0:
            scope = self.facts.scopes[scope][0]
        return scope

    def drop_local_references(self) -> None:
        """Leave out bare names of local variables and builtins, which lead nowhere. A call of a local variable that
        is another name (`g = f`, `g = f if k else h`) is one of what it names, of others (`cls(…)`) a use of it."""
        facts = self.facts
        kept = []
        for ref in facts.refs:
            expression = ref[3]
            if expression[0] == "n":
                bound = self.lexical(ref[1], expression[1])
                if bound is None:
                    if not facts.stars:
                        continue
                elif all(b[0] in _LOCAL for b in bound):
                    if ref[4] == "uses":
                        continue
                    held = bound[expression[2] if len(expression) > 2 else 0 :]
                    if not all(b[0] == "v" and _is_chosen(b[1]) for b in held):
                        ref = (*ref[:4], "uses")  # a variable is called, whatever it holds
            kept.append(ref)
        facts.refs = kept

    def lexical(self, scope: int, name: str) -> list[Binding] | None:
        names, scopes, start = self.facts.names, self.facts.scopes, scope
        while scope >= 0:
            if (scopes[scope][2] != "c" or scope == start) and name in names[scope]:
                return names[scope][name]
            scope = scopes[scope][0]
        return None


_VISIT = {
    "function_definition": _Python.function,
    "class_definition": _Python.class_,
    "decorated_definition": _Python.decorated,
    "assignment": _Python.assignment,
    "augmented_assignment": _Python.augmented,
    "named_expression": _Python.named_expression,
    "with_item": _Python.with_item,
    "except_clause": _Python.except_clause,
    "for_statement": _Python.for_statement,
    "lambda": _Python.lambda_,
    "case_clause": _Python.case_clause,
    "delete_statement": _Python.delete,
    "if_statement": _Python.if_statement,
    "elif_clause": _Python.if_statement,
    "while_statement": _Python.if_statement,
    "boolean_operator": _Python.boolean_operator,
    "conditional_expression": _Python.conditional,
    "type_alias_statement": _Python.type_alias,
    "block": _Python.block,
    "import_statement": _Python.import_,
    "import_from_statement": _Python.import_from,
    "call": _Python.call,
    "keyword_argument": _Python.keyword_argument,
    "identifier": _Python.identifier,
    "attribute": _Python.attribute,
    "type": _Python.visit_type,
    "return_statement": _Python.return_,
    "yield": _Python.yield_,
    **dict.fromkeys(_COMPREHENSIONS, _Python.comprehension),
    **dict.fromkeys(_SILENT, _Python.silent),
}


def _last_name(expression: Expression | None) -> str:
    """`fixture` of `@pytest.fixture(…)`."""
    while expression is not None and expression[0] == "c":
        expression = expression[1]
    return expression[-1] if expression is not None and expression[0] in "na" else ""


def _descend(node: Node, end: float = float("inf")) -> list[Node]:
    """The node and all that it holds, up to a place in the source."""
    found = [node]
    for child in node.named_children:
        if child.start_byte < end:
            found.extend(_descend(child, end))
    return found


def _dotted(expression: Expression) -> str:
    """`self.item` as it is written; nothing for what is no chain of names."""
    if expression[0] == "n":
        return str(expression[1])
    owner = _dotted(expression[1]) if expression[0] == "a" else ""
    return f"{owner}.{expression[2]}" if owner else ""


def _is_chosen(expression: Expression | None) -> bool:
    """Whether an expression is a bare name, or one of several."""
    if expression is None:
        return False
    return expression[0] == "n" or (expression[0] == "u" and all(map(_is_chosen, expression[1:])))


class Semantics(Resolver):
    """Imports, `self`, properties, protocols and pytest fixtures of Python."""

    CALL = "__call__"
    EMPTY_BASES = frozenset(("object", "ABC", "Generic", "Protocol"))
    ITERATE = ("__iter__", "__aiter__", "__next__", "__anext__")
    INDEX = ("__getitem__", "__class_getitem__")

    def prepare(self) -> None:
        import builtins
        from sys import stdlib_module_names

        self.standard = stdlib_module_names
        self.exceptions = frozenset(name for name in vars(builtins) if name.endswith(("Error", "Exception", "Warning")))
        self.package_folders = {path[:-12].rstrip("/") for path in self.paths if path.endswith("__init__.py")}
        self.package_folders |= {path[:-13].rstrip("/") for path in self.paths if path.endswith("__init__.pyi")}
        self.by_suffix: dict[str, list[str]] = {}
        self.folders: set[str] = set()
        self._absolute: dict[tuple[str, str], Value | None] = {}
        for path in sorted(self.paths):
            parts = path.rsplit(".", 1)[0].split("/")
            if parts[-1] == "__init__":
                parts.pop()
            self.by_suffix.setdefault(parts[-1] if parts else "", []).append(path)
            folder = path.rpartition("/")[0]
            while folder and folder not in self.folders:
                self.folders.add(folder)
                folder = folder.rpartition("/")[0]

    # modules

    def imported(self, path: str, module: str, name: str | None) -> Value | None:
        found = self.module(path, module)
        if found is None or found == EXTERNAL:
            return EXTERNAL
        if name is None:
            return found
        if found == ("mod", path):
            self.keys.add(name)
            return self.submodule(_folder(path), name)
        return self.member(found, name)

    def module(self, path: str, module: str) -> Value | None:
        level = len(module) - len(module.lstrip("."))
        name = module.lstrip(".")
        self.keys.add(name.rpartition(".")[2])
        if level:
            base = _folder(path)
            for _ in range(level - 1):
                base = _folder(base)
            target = "/".join(filter(None, (base, name.replace(".", "/"))))
            return self.at(target) or (EXTERNAL if not name else None)
        return self.absolute(_folder(path), name)

    def at(self, target: str) -> Value | None:
        """The module or package at a path without its ending."""
        inside = f"{target}/" if target else ""
        for candidate in (f"{inside}__init__.py", f"{target}.py", f"{target}.pyi", f"{inside}__init__.pyi"):
            if candidate in self.paths:
                return ("mod", candidate)
        return ("pkg", target) if target in self.folders else None

    def absolute(self, folder: str, name: str) -> Value | None:
        key = (folder, name)
        if key not in self._absolute:
            self._absolute[key] = self._find_absolute(folder, name)
        return self._absolute[key]

    def _find_absolute(self, folder: str, name: str) -> Value | None:
        parts = name.split(".")
        suffix = "/".join(parts)
        found: list[tuple[tuple[int, int], str, tuple[bool, int, str]]] = []
        for path in self.by_suffix.get(parts[-1], ()):
            stem = path.rsplit(".", 1)[0].removesuffix("__init__").rstrip("/")
            if stem != suffix and not stem.endswith("/" + suffix):
                continue
            root = stem[: -len(suffix)].rstrip("/")
            if self.is_root(root, parts[0], folder):
                place = 0 if _is_above(root, folder) else 1 if root in ("src", "lib") else 2
                found.append(((-_common(folder, root), place), root, (path.endswith(".pyi"), len(path), path)))
        if found:
            nearest = min(found)[0]
            if len({root for where, root, _ in found if where == nearest}) > 1:
                return UNKNOWN  # two of the same name, and nothing tells which is meant
            return ("mod", min(found)[2][2])
        above = folder
        while True:
            target = f"{above}/{suffix}" if above else suffix
            if target in self.folders and self.is_root(above, parts[0], folder):
                return ("pkg", target)
            if not above:
                break
            above = _folder(above)
        target = f"src/{suffix}"
        return ("pkg", target) if target in self.folders else EXTERNAL

    def is_root(self, root: str, top: str, folder: str) -> bool:
        """Whether a folder can stand on sys.path for a module in `folder` that imports `top`."""
        if root in self.package_folders:
            return False
        above = _is_above(root, folder)
        if top in self.standard:
            return above and (bool(root) or folder == "")
        return above or root.rpartition("/")[2] in ("src", "lib") or f"{root}/{top}" in self.package_folders

    def submodule(self, folder: str, name: str) -> Value | None:
        return self.at(f"{folder}/{name}" if folder else name)

    def module_member(self, path: str, name: str) -> Value | None:
        facts = self.facts(path)
        bindings = facts.names[0].get(name)
        if bindings:
            value = self.bound(path, 0, name, bindings)
            if value is not None:
                return value
        else:
            value = self.starred(path, name)
            if value is not None:
                return value
        if path.endswith(("__init__.py", "__init__.pyi")):
            self.keys.add(name)
            inner = self.submodule(_folder(path), name)
            if inner is not None:
                return inner
        return UNKNOWN if bindings else None

    def starred(self, path: str, name: str) -> Value | None:
        foreign: Value | None = None
        for module in reversed(self.facts(path).stars):
            found = self.module(path, module)
            if found is not None and found[0] == "mod" and found[1] != path and self.is_public(found[1], name):
                value = self.member(found, name)
                if value is not None:
                    return value
            foreign = found if found in (EXTERNAL, UNKNOWN) else foreign
        return foreign

    def is_public(self, path: str, name: str) -> bool:
        """Whether a star import of a module takes a name: what `__all__` lists, else all without an underscore."""
        listed = self.facts(path).exports.get("__all__")
        return not name.startswith("_") if listed is None else name in listed[1:] or listed == OPEN

    def package_member(self, key: str, name: str) -> Value | None:
        self.keys.add(name)
        return self.submodule(key, name)

    def beyond(self, path: str, scope: int, name: str) -> Value | None:  # noqa: ARG002
        value = self.starred(path, name) or (LITERAL if name in _BUILT_IN else None)
        if value is None and name in _CONTAINERS:
            return ("fun", _CONTAINERS[name])
        return EXTERNAL if value is None and name in self.exceptions else value

    def signature_scope(self, definition: Definition) -> int:
        """Annotations of a method see the names of its class."""
        return int(definition[HOME])

    def instantiated(self, owner: Value | None, arguments: tuple[Value, ...]) -> Value | None:
        """An alias of a type gives it as a call does; several classes in a tuple stand for any of them."""
        if owner is not None and owner[0] == "fun":
            return owner[1]  # type: ignore[no-any-return]
        if owner is not None and owner[0] == "tup":
            return self.join(self.instantiated(part, arguments) for part in owner[1])
        return owner if owner == LITERAL else super().instantiated(owner, arguments)

    def attribute(self, owner: Value | None, name: str) -> Value | None:
        """A member's value; what a foreign class makes may be a descriptor in the body of a class."""
        value = super().attribute(owner, name)
        if value == EXTERNAL and owner is not None and owner[0] == "inst":
            held = self.member(owner, name)
            if held is not None and held[0] == "var":
                facts = self.facts(held[1])
                bound = facts.names[facts.defs[held[2]][HOME]][name]
                return UNKNOWN if any(b[0] == "v" and b[1][0] == "c" for b in bound) else value
        return value

    def foreign(self, function: Expression) -> Value:
        """A class is called in capitals, and makes an instance of itself."""
        named = function[1] if function[0] == "n" else function[2] if function[0] == "a" else ""
        return EXTERNAL if named[:1].isupper() and not named.isupper() else UNKNOWN

    # type parameters

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        tag = expression[0]
        if tag == "but":
            return self.without(plain(self.evaluate(path, scope, expression[1])), path, scope, expression[2])
        if tag == "alias":
            made = self.instance(path, scope, expression[1])
            return ("fun", made) if made is not None else None
        if tag == "tv":
            made = plain(self.evaluate(path, scope, expression[1]))
            return ("tvar", path, *expression[2:]) if made in (None, EXTERNAL) else self.result(made)
        if tag == "g":
            owner = plain(self.evaluate(path, scope, expression[1]))
            if owner is None or owner[0] != "cls":
                return super()._evaluate(path, scope, ("i", expression[1]))
            return (*owner, tuple(self.instance(path, scope, kind) or UNKNOWN for kind in expression[2]))
        return super()._evaluate(path, scope, expression)

    def without(self, value: Value | None, path: str, scope: int, kind: Any) -> Value | None:
        """What a value can be where it is no instance of a type."""
        tested = self.instance(path, scope, kind) or UNKNOWN
        gone = {part[1:3] for part in (tested[1] if tested[0] == "any" else (tested,)) if part[0] in ("inst", "cls")}
        if value is None or not gone:
            return value
        left = []
        for part in value[1] if value[0] == "any" else (value,):
            above = self.ancestors(part[1], part[2])[0] if part[0] in ("inst", "cls") else ()
            if gone.isdisjoint(above):
                left.append(part)
        return self.join(left) or UNKNOWN

    def _instance(self, path: str, scope: int, kind: Any, depth: int) -> Value | None:
        if kind[0] in "na":
            owner = self.type_name(path, scope, kind[1]) if kind[0] == "n" else self.type_member(path, scope, kind)
            variable = plain(owner)
            if variable is not None and variable[0] == "tvar":
                return self.type_variable(path, scope, variable)
            return self.instantiated(owner, ())
        return super()._instance(path, scope, kind, depth)

    def type_variable(self, path: str, scope: int, variable: Value) -> Value:
        """What a TypeVar is where it is written: a parameter of a class around, else of a function."""
        facts = self.facts(path)
        _, where, name, bound = variable
        while scope > 0:
            parent, number, kind = facts.scopes[scope]
            if kind in "cg" and facts.defs[number][KIND] == "class":
                own = self.class_parameters(path, number)
                if (where, name) in own:
                    return ("par", path, number, own.index((where, name)), where, 0, bound)
            scope = parent
        return ("par", where, name, -1, where, 0, bound)

    def class_parameters(self, path: str, number: int) -> tuple[Any, ...]:
        """The TypeVars that a class is generic in: what `Generic` or `Protocol` is given, else its bases in order."""
        return self.once(("tp", path, number), self._class_parameters, path, number) or ()

    def _class_parameters(self, path: str, number: int) -> Value | None:
        found: dict[tuple[str, str], None] = {}
        for kind, _, scope in self.facts(path).bases.get(number, ()):
            if kind[0] == "G":
                own = self.type_variables(path, scope, kind[2])
                if kind[1][-1] in ("Generic", "Protocol"):
                    return tuple(own)
                found.update(own)
        return tuple(found)

    def type_variables(self, path: str, scope: int, kinds: tuple[Any, ...]) -> dict[tuple[str, str], None]:
        """The TypeVars in written types, in order."""
        found: dict[tuple[str, str], None] = {}
        for kind in kinds:
            if kind is not None and kind[0] == "n":
                value = plain(self.type_name(path, scope, kind[1]))
                if value is not None and value[0] == "tvar":
                    found[value[1], value[2]] = None
            elif kind is not None:
                inner = tuple(part for part in kind[1:] if isinstance(part, tuple))
                inner = tuple(kind[2]) if kind[0] == "G" else inner
                found.update(self.type_variables(path, scope, inner))
        return found

    def parameter_bound(self, parameter: Value) -> Value | None:
        return self.instance(*parameter[4:]) if parameter[6] is not None else None

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        return super().base_class(path, scope, expression[1] if expression[0] == "G" else expression)

    def constructed(self, owner: Value) -> Value | None:
        return ("inst", *owner[1:3], owner[3] if len(owner) > 3 else ())

    def first_parameter(self, function: Value) -> int:
        definition = self.facts(function[1]).defs[function[2]]
        return int(definition[KIND] == "method" and function[3] is not None and "staticmethod" not in definition[FLAGS])

    # functions and classes

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "tp":
            return ("par", path, *binding[1:3], path, *binding[3:])
        if binding[0] == "v" and len(binding) > 2:
            scope = binding[2]
        return super().binding(path, scope, name, binding)

    def member(self, owner: Value | None, name: str) -> Value | None:
        """A member; a class has those of its metaclass too."""
        value = super().member(owner, name)
        if value is None and owner is not None and owner[0] == "cls":
            made = self.once(("meta", *owner[1:3]), self.metaclass, owner[1], owner[2])
            return super().member(made, name) if made is not None else None
        return value

    def metaclass(self, path: str, number: int) -> Value | None:
        for where, owner in self.ancestors(path, number)[0]:
            facts = self.facts(where)
            scope = facts.defs[owner][HOME]
            for binding in facts.names[scope].get(_METACLASS, ()):
                made = self.binding(where, scope, _METACLASS, binding)
                return self.result(made) if made is not None and made[0] == "cls" else None
        return None

    def of_receiver(self, path: str, number: int, expression: Expression, receiver: Value) -> Value | None:
        """What an inherited method returns, where that starts from what it is called on: `cls()`, `self.next()`."""
        value = super().of_receiver(path, number, expression, receiver)
        definition = self.facts(path).defs[number]
        if value is not None or receiver[1:3] == (path, definition[PARENT]):
            return value
        if expression[0] in "ac":
            inner = self.of_receiver(path, number, expression[1], receiver)
            if inner is None:
                return None
            return self.attribute(inner, expression[2]) if expression[0] == "a" else self.result(inner)
        bound = self.facts(path).names[definition[SCOPE]].get(expression[1], ()) if expression[0] == "n" else ()
        if len(bound) == 1 and bound[0][0] == "v" and bound[0][1] is not None:
            return self.of_receiver(path, number, bound[0][1], receiver)
        return None

    def defined(self, path: str, number: int) -> Value | None:
        """A definition; a decorated function is what its decorators make of it, where that can be told."""
        value = super().defined(path, number)
        if value is None or value[0] != "fn":
            return value
        applied = self.facts(path).bases.get(number)
        made = self.once(("dec", path, number), self.decorated, path, number) if applied else None
        return value if made is None else ("var", path, number, made)

    def decorated(self, path: str, number: int) -> Value | None:
        made: Value | None = None
        for expression, _, scope in reversed(self.facts(path).bases[number]):
            result = self.result(plain(self.evaluate(path, scope, expression)))
            for part in result[1] if result is not None and result[0] == "any" else (result,):
                if part is not None and part[0] == "inst":
                    made = part
        return made

    def parameter(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        facts = self.facts(path)
        number = facts.scopes[scope][1]
        definition = facts.defs[number]
        if binding[1] is not None:
            value = self.instance(path, self.signature_scope(definition), binding[1])
            own = binding[3] == 0 and definition[KIND] == "method"
            if value is not None and not (own and (value == EXTERNAL or value[0] == "par")):
                return self.concrete(value, None, path, scope)
        flags = definition[FLAGS]
        if definition[KIND] == "method" and binding[3] == 0 and "staticmethod" not in flags:
            implicit = ("__new__", "__init_subclass__", "__class_getitem__")
            owner = definition[PARENT]
            if "classmethod" in flags or definition[NAME] in implicit:
                return ("cls", path, owner)
            return ("inst", path, owner, ())
        if binding[2] is not None:
            value = plain(self.evaluate(path, facts.scopes[scope][0], binding[2]))
            if value is not None and value not in (EXTERNAL, LITERAL):
                return value
        if definition[NAME].startswith("test") or "fixture" in flags:
            return self.fixture(path, number, name) or UNKNOWN
        return UNKNOWN

    def fixture(self, path: str, number: int, name: str) -> Value | None:
        """The value of the pytest fixture that a parameter names: of its class, its module, or a conftest above."""
        value = self.fixture_of(path, name, number)
        folder = _folder(path)
        self.keys.add("conftest")
        while value is None:
            candidate = f"{folder}/conftest.py" if folder else "conftest.py"
            if candidate in self.paths:
                value = self.fixture_of(candidate, name, number if candidate == path else -1)
            if not folder:
                break
            folder = _folder(folder)
        if value is None:
            return None
        made = self.result(value)
        return made[1] if made is not None and made[0] == "gen" else made

    def fixture_of(self, path: str, name: str, number: int) -> Value | None:
        facts = self.facts(path)
        parent = facts.defs[number][PARENT] if number >= 0 else -1
        for scope in ([facts.defs[parent][SCOPE]] if parent >= 0 else []) + [0]:
            for binding in facts.names[scope].get(name, ()):
                if binding[0] == "d" and binding[1] != number and "fixture" in facts.defs[binding[1]][FLAGS]:
                    return ("fn", path, binding[1], None)
        return None

    def _returned(self, function: Value) -> Value | None:
        """`def enter(self: T) -> T` returns what it is called on."""
        _, path, number, receiver = function
        definition = self.facts(path).defs[number]
        if receiver is not None and definition[TYPE] is not None and definition[KIND] == "method":
            for bindings in self.facts(path).names[definition[SCOPE]].values():
                first = bindings[0]
                if first[0] == "p" and first[3] == 0 and first[1] in (definition[TYPE], ("T", definition[TYPE])):
                    return ("inst", *receiver[1:3], ()) if receiver[0] in ("cls", "inst") else None
        return super()._returned(function)

    def is_property(self, function: Value) -> bool:
        flags = self.facts(function[1]).defs[function[2]][FLAGS]
        return "property" in flags or "cached_property" in flags

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        if name == "__class__":
            return ("cls", path, number)
        return super().own_member(path, number, name)

    def entered(self, value: Value) -> Value | None:
        if value[0] == "gen":
            return value[1]  # type: ignore[no-any-return]
        if value[0] == "inst":
            for name in ("__enter__", "__aenter__"):
                method = self.member(value, name)
                if method is not None and method[0] == "fn":
                    return self.result(method) or value
            return value
        return None

    def container_member(self, owner: Value, name: str) -> Value | None:
        tag = owner[0]
        if tag == "map":
            if name in ("get", "pop", "setdefault"):
                return ("fun", owner[2])
            if name in ("values", "keys"):
                return ("fun", ("seq", owner[2 if name == "values" else 1]))
            if name == "items":
                return ("fun", ("seq", ("tup", (owner[1] or UNKNOWN, owner[2] or UNKNOWN))))
        if tag == "seq" and name in ("pop", "popleft", "__next__"):
            return ("fun", owner[1])
        if tag in ("seq", "map") and name == "copy":
            return ("fun", owner)
        return EXTERNAL


def _is_above(root: str, folder: str) -> bool:
    return not root or folder == root or folder.startswith(root + "/")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _common(one: str, other: str) -> int:
    """How many folders two paths share."""
    count = 0
    for a, b in zip(one.split("/"), other.split("/"), strict=False):
        if a != b:
            break
        count += 1
    return count
