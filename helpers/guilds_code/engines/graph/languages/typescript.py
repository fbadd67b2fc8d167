"""TypeScript and JavaScript, with JSX: facts of a module, and what its names, types and imports mean.

Follows the TypeScript handbook (modules, declaration merging, narrowing by `instanceof`) and Node's module
resolution. Types stand in the same scopes as values, under `:name`. Types computed from types are not followed.
"""

from __future__ import annotations

from guilds_code.engines.graph.facts import FLAGS, HOME, KIND, NAME, PARENT, SCOPE, SHAPE, TYPE
from guilds_code.engines.graph.languages.modules import Modules
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, Walk, parser
from guilds_code.engines.graph.resolve import (
    EXTERNAL,
    LITERAL,
    NOTHING,
    UNKNOWN,
    VARIABLES,
    Resolver,
    has_parameter,
    plain,
    with_receiver,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Expression, Facts
    from guilds_code.engines.graph.resolve import Value

_FUNCTIONS = frozenset(("arrow_function", "function_expression", "generator_function", "function"))
_SILENT = frozenset(
    ("comment", "string", "number", "regex", "true", "false", "null", "undefined", "this", "super", "import",
     "string_fragment", "escape_sequence", "break_statement", "continue_statement", "jsx_text", "hash_bang_line",
     "statement_identifier", "property_identifier", "private_property_identifier", "optional_chain")
)  # fmt: skip
_AUGMENTED = "augmented_assignment_expression"
_NAMED_EXPRESSIONS = frozenset(("function_expression", "generator_function", "function"))
_TELLING = frozenset(
    ("identifier", "member_expression", "new_expression", "call_expression", "string", "template_string", "number")
)
"""First arguments by which an overload is chosen or type arguments are inferred."""
_LITERALS = frozenset(("string", "template_string", "number", "regex", "true", "false", "null", "undefined"))
_TYPE_NODES = frozenset(
    ("type_annotation", "type_arguments", "union_type", "intersection_type", "generic_type", "array_type",
     "object_type", "function_type", "constructor_type", "tuple_type", "parenthesized_type", "conditional_type",
     "type_query", "lookup_type", "index_type_query", "readonly_type", "mapped_type_clause", "type_parameters",
     "template_literal_type", "literal_type", "type_predicate_annotation", "asserts_annotation", "optional_type",
     "rest_type", "infer_type", "nested_type_identifier", "type_identifier", "opting_type_annotation",
     "omitting_type_annotation", "adding_type_annotation", "flow_maybe_type", "predefined_type")
)  # fmt: skip
_ANYTHING = ("n", "any")
"""A type that ends what is known."""
_GLOBALS = frozenset(
    ("AbortController", "Array", "ArrayBuffer", "Atomics", "BigInt", "Blob", "Boolean", "Buffer", "DataView", "Date",
     "Error", "FormData", "Function", "Headers", "Infinity", "Intl", "JSON", "Map", "Math", "NaN", "Number", "Object",
     "Promise", "Proxy", "RangeError", "Reflect", "RegExp", "Request", "Response", "Set", "String", "Symbol",
     "SyntaxError", "TextDecoder", "TextEncoder", "TypeError", "URL", "URLSearchParams", "Uint8Array", "WeakMap",
     "WeakRef", "WeakSet", "clearInterval", "clearTimeout", "console", "crypto", "decodeURIComponent", "document",
     "encodeURIComponent", "fetch", "globalThis", "isNaN", "localStorage", "location", "navigator", "parseFloat",
     "parseInt", "performance", "process", "queueMicrotask", "require", "sessionStorage", "setInterval", "setTimeout",
     "structuredClone", "undefined", "window")
)  # fmt: skip
"""What ECMAScript, browsers and Node.js give every file."""
_STATIC = "static "
"""Before the names of a class's static members."""
_GLOBAL = "global"
"""The package, as it were, of declaration files that every other file sees."""
_SEQUENCES = frozenset(
    ("Array", "ReadonlyArray", "Set", "ReadonlySet", "WeakSet", "Iterable", "Iterator", "IterableIterator",
     "Generator", "AsyncGenerator", "AsyncIterable", "AsyncIterator", "AsyncIterableIterator", "ArrayLike")
)  # fmt: skip
_MAPS = frozenset(("Map", "ReadonlyMap", "WeakMap", "Record"))
_SAME = frozenset(
    ("Partial", "Required", "Readonly", "NonNullable", "Awaited", "Pick", "Omit", "Exclude", "Extract", "NoInfer")
)
_SAME_SEQUENCE = frozenset(("filter", "slice", "concat", "reverse", "sort", "splice", "add", "toSorted", "toReversed"))
_ELEMENT = frozenset(("find", "pop", "shift", "at", "findLast", "next"))
_PER_ELEMENT = frozenset(
    ("map", "forEach", "filter", "some", "every", "find", "findIndex", "flatMap", "findLast", "sort", "findLastIndex")
)
_DOC = ("comment",)
RETURNS_MAX = 8
"""Return statements that an inferred result looks at."""


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one module."""
    dialect = "typescript" if path.rpartition(".")[2].lower() in ("ts", "mts", "cts") else "tsx"
    walk = _TypeScript(source)
    root = parser("tree_sitter_typescript", f"language_{dialect}").parse(source).root_node
    walk.visit_all(root, 0)
    if path.endswith(".d.ts") and not any(n.type in ("import_statement", "export_statement") for n in root.children):
        walk.facts.package = _GLOBAL
    walk.attach_exports()
    walk.drop_local_references()
    return walk.facts


def _keeps(node: Node) -> bool:
    """Whether an assignment is `||=` or `??=`, after which the variable is what it was or what it is given."""
    operator = node.child_by_field_name("operator")
    return operator is not None and operator.type in ("||=", "??=")


class _TypeScript(Walk):
    def visit(self, node: Node, scope: int) -> None:
        """Walk a statement or an expression."""
        kind = node.type
        if kind in _SILENT:
            return
        method = _VISIT.get(kind)
        if method is not None:
            method(self, node, scope)
        elif kind in _TYPE_NODES:
            self.visit_type(node, scope)
        else:
            for child in node.named_children:
                self.visit(child, scope)

    # functions

    def function_declaration(self, node: Node, scope: int) -> None:
        named = node.child_by_field_name("name")
        if named is not None:
            number = self.function(node, self.text(named), "function", scope, node, named)
            self.bind(scope, self.text(named), ("d", number))

    def function(
        self, node: Node, name: str, kind: str, scope: int, outer: Node, named: Node, parent: int | None = None
    ) -> int:
        """Record a function with a name, and walk it."""
        body = node.child_by_field_name("body")
        result = node.child_by_field_name("return_type")
        words = {child.type for child in (*node.children, *outer.children)}
        flags: tuple[str, ...] = tuple(word for word in ("async", "static") if word in words)
        if node.type == "arrow_function":
            flags = (*flags, "arrow")
        if "get" in words:
            flags = (*flags, "property")
        if body is None:
            flags = (*flags, "abstract" if kind == "method" else "overload")
        returns = self.annotation(result, scope)
        number = self.define(
            kind, name, outer, scope, named=named, signature=self.signature(outer, body).removesuffix("=>").strip(" ;"),
            doc=self.doc(outer), returns=None if returns == _ANYTHING else returns, flags=flags, opens="f",
            parent=parent, shape=self.first_type(node) if body is None else "",
        )  # fmt: skip
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.type_parameters(node, inner, number)
        self.parameters(node, inner)
        self.own_name(node, inner, ("d", number))
        if result is not None:
            self.predicate(result, inner)
            self.visit_type(result, inner)
        self.body(body, inner)
        self.current = around
        return number

    def own_name(self, node: Node, inner: int, binding: Binding) -> None:
        """A function expression's name is known inside it."""
        named = node.child_by_field_name("name") if node.type in _NAMED_EXPRESSIONS else None
        if named is not None and self.text(named) not in self.facts.names[inner]:
            self.bind(inner, self.text(named), binding)

    def predicate(self, result: Node, inner: int) -> None:
        """`x is Type` as a function's result, kept for those who call it in a condition."""
        held = result.named_children[0] if result.type == "type_predicate_annotation" else None
        named = held.child_by_field_name("name") if held is not None else None
        written = held.child_by_field_name("type") if held is not None else None
        kind = self.kind(written, inner) if written is not None else None
        if named is not None and kind is not None:
            self.bind(inner, f"is {self.text(named)}", ("t", kind))

    def first_type(self, node: Node) -> str:
        """What is written as the type of the first parameter, by which overloads are told apart."""
        listed = node.child_by_field_name("parameters")
        first = listed.named_children[0] if listed is not None and listed.named_child_count else None
        written = first.child_by_field_name("type") if first is not None else None
        return self.text(written.named_children[0]) if written is not None and written.named_child_count else ""

    def body(self, body: Node | None, scope: int) -> None:
        if body is None:
            return
        if body.type == "statement_block":
            for child in body.named_children:
                self.visit(child, scope)
        else:
            while body.type == "parenthesized_expression" and body.named_child_count:
                body = body.named_children[0]
            expression = self.expression(body, scope)
            self.result(expression, scope)
            self.visit_value(body, expression, scope)

    def anonymous(self, node: Node, scope: int) -> None:
        """A function without a name of its own: its references are those of what is around it."""
        arrow = node.type == "arrow_function"
        inner = self.open_scope(scope, self.owner(scope), "l" if arrow else "a")
        self.parameters(node, inner)
        self.own_name(node, inner, ("?",))
        body = node.child_by_field_name("body")
        for child in body.named_children if body is not None and body.type == "statement_block" else [body]:
            if child is not None:
                self.visit(child, inner)

    def parameters(self, node: Node, inner: int) -> None:
        listed = node.child_by_field_name("parameters")
        single = node.child_by_field_name("parameter")
        if single is not None:
            self.bind(inner, self.text(single), self.context(node, 0) or ("?",))
        position = 0
        for child in listed.named_children if listed is not None else ():
            if child.type in ("required_parameter", "optional_parameter"):
                pattern = child.child_by_field_name("pattern")
                annotation, value = child.child_by_field_name("type"), child.child_by_field_name("value")
                if pattern is not None and pattern.type == "this" and annotation is not None:
                    self.bind(inner, "this", ("t", self.annotation(annotation, inner)))
                if pattern is None or pattern.type == "this":
                    continue
                declared = self.annotation(annotation, inner)
                default = self.expression(value) if value is not None else None
                binding: Binding = ("p", declared, default, position)
                if declared is None and default is None:
                    binding = self.context(node, position) or binding
                if pattern.type == "rest_pattern" and pattern.named_child_count:
                    pattern = pattern.named_children[0]
                self.pattern(pattern, inner, binding)
                self.property_parameter(child, pattern, binding)
                for part in (annotation, value):
                    if part is not None:
                        self.visit(part, inner)
                self.decorate(self.owner(inner), [c for c in child.children if c.type == "decorator"], inner)
                position += 1
            elif child.type in ("identifier", "object_pattern", "array_pattern", "assignment_pattern", "rest_pattern"):
                self.pattern(child, inner, self.context(node, position) or ("?",))
                position += 1

    def context(self, function: Node, position: int) -> Binding | None:
        """A parameter's meaning by what the function is passed to."""
        arguments = function.parent
        if arguments is None or arguments.type != "arguments":
            return None
        call = arguments.parent
        callee = call.child_by_field_name("function") if call is not None else None
        if call is not None and call.type == "new_expression":
            callee = call.child_by_field_name("constructor")
        expression = self.expression(callee)
        if expression is None:
            return None
        place = next((i for i, child in enumerate(arguments.named_children) if child.id == function.id), 0)
        return ("v", ("cb", expression, place, position))

    def property_parameter(self, node: Node, pattern: Node, binding: Binding) -> None:
        """`constructor(private name: Type)` gives the class a property."""
        if any(child.type in ("accessibility_modifier", "readonly", "override_modifier") for child in node.children):
            owner = self.facts.defs[self.current][PARENT]
            if owner >= 0:
                around = self.facts.defs[owner][SCOPE]
                name = self.text(pattern)
                number = self.define("property", name, node, around, signature=self.line(node))
                self.bind(around, name, ("d", number))
                self.facts.names[around][name].append(("t", binding[1]) if binding[1] else ("v", binding[2]))

    def pattern(self, node: Node, scope: int, binding: Binding, at: int = -1) -> None:
        """Bind the names of a pattern to parts of what it is given. `at` is where it stands, if elsewhere."""
        kind = node.type
        if kind in ("identifier", "shorthand_property_identifier_pattern"):
            self.bind(scope, self.text(node), binding)
        elif kind in ("assignment_pattern", "object_assignment_pattern"):
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if left is not None:
                self.pattern(left, scope, binding, at)
            if right is not None:
                self.visit(right, scope if at < 0 else at)
        elif kind == "rest_pattern":
            for child in node.named_children:
                self.pattern(child, scope, ("?",), at)
        elif kind in ("object_pattern", "array_pattern"):
            given, place = self.given(binding), binding[2:] if binding[0] == "v" else ()
            for position, child in enumerate(node.named_children):
                inner, key = child, None
                if child.type == "pair_pattern":
                    value, named = child.child_by_field_name("value"), child.child_by_field_name("key")
                    if value is None:
                        continue
                    inner, key = value, self.text(named) if named is not None else None
                elif child.type == "shorthand_property_identifier_pattern":
                    key = self.text(child)
                elif child.type == "object_assignment_pattern" and child.named_child_count:
                    key = self.text(child.named_children[0])
                part: Binding = ("?",)
                if given is not None and kind == "array_pattern":
                    part = ("v", ("x", given, position), *place)
                elif given is not None and key is not None:
                    part = ("v", ("a", given, key), *place)
                self.pattern(inner, scope, part, at)

    def given(self, binding: Binding) -> Expression | None:
        if binding[0] == "v":
            return binding[1]  # type: ignore[no-any-return]
        kind = binding[1] if binding[0] in "pt" and len(binding) > 1 else None
        return ("t", kind) if kind else None

    # classes, interfaces, types

    def class_(self, node: Node, scope: int, name: str = "") -> int:
        named = node.child_by_field_name("name")
        own = self.text(named) if named is not None else name or "default"
        interface = node.type == "interface_declaration"
        body = node.child_by_field_name("body")
        if named is not None and node.type == "class":  # a class expression's name is known inside it
            scope = self.open_scope(scope, self.owner(scope), "b")
        number = self.define(
            "interface" if interface else "class", own, node, scope, named=named, opens="c",
            signature=self.signature(node, body), doc=self.doc(node),
        )  # fmt: skip
        if named is not None:
            self.bind(scope, f":{own}" if interface else own, ("d", number))
            self.merge(scope, own)
        inner = self.facts.defs[number][SCOPE]
        holder = node.parent if node.parent is not None and node.parent.type == "export_statement" else None
        self.decorate(number, [*(holder.children if holder is not None else ()), *node.children], scope)
        around, self.current = self.current, number
        self.type_parameters(node, inner, number)
        self.heritage(node, inner, number)
        decorators: list[Node] = []
        for member in body.named_children if body is not None else ():
            if member.type == "decorator":
                decorators.append(member)
            elif member.type != "comment":
                self.member(member, inner, number, decorators)
                decorators = []
        self.current = around
        return number

    def merge(self, scope: int, name: str) -> None:
        """A class has what an interface of its name declares: that is then one of its bases."""
        names, defs = self.facts.names[scope], self.facts.defs
        bound = names.get(name, ())
        whole = next((b[1] for b in bound if b[0] == "d" and defs[b[1]][KIND] == "class"), -1)
        for binding in names.pop(f":{name}", ()) if whole >= 0 else ():
            self.facts.bases.setdefault(whole, []).append((("Q", binding), "implements", scope))

    def class_declaration(self, node: Node, scope: int) -> None:
        self.class_(node, scope)

    def decorate(self, number: int, nodes: list[Node], scope: int) -> None:
        """Decorators among these nodes: the references are those of what is decorated."""
        around, self.current = self.current, number
        for child in nodes:
            if child.type == "decorator" and child.named_child_count:
                used = child.named_children[0]
                callee = used.child_by_field_name("function") if used.type == "call_expression" else used
                self.refer(scope, used.start_point[0] + 1, self.expression(callee), "decorates")
                if used.type == "call_expression":
                    self.visit(used, scope)
        self.current = around

    def heritage(self, node: Node, scope: int, number: int) -> None:
        bases = self.facts.bases.setdefault(number, [])
        clauses = [child for child in node.named_children if child.type in ("class_heritage", "extends_type_clause")]
        for clause in [c for h in clauses for c in (h.named_children if h.type == "class_heritage" else [h])]:
            relation = "implements" if clause.type == "implements_clause" else "inherits"
            if clause.type == "extends_clause":
                value, arguments = clause.child_by_field_name("value"), clause.child_by_field_name("type_arguments")
                parts = [(value, arguments)] if value is not None else []
            elif clause.type in ("identifier", "member_expression", "call_expression"):
                parts = [(clause, None)]
            else:
                parts = [(child, None) for child in clause.named_children]
            for part, arguments in parts:
                kind = self.kind(part, scope)
                if kind is None and (made := self.expression(part)) is not None:
                    kind = ("Q", made)
                if kind is not None and arguments is not None:
                    kind = ("G", kind, tuple(self.kind(a, scope) for a in arguments.named_children))
                if kind is None:
                    continue
                bases.append((kind, relation, scope))
                head = kind[1] if kind[0] == "G" else kind
                if head[0] in "na":
                    self.refer(scope, part.start_point[0] + 1, ("ty", head), relation)
                for inside in ([arguments] if arguments is not None else []) + (
                    part.named_children[1:] if part.type == "generic_type" else []
                ):
                    self.visit_type(inside, scope)
                if kind[0] == "Q":
                    self.visit(part, scope)

    def member(self, node: Node, scope: int, owner: int, decorators: list[Node]) -> None:
        kind = node.type
        named = node.child_by_field_name("name") or node.child_by_field_name("property")
        if kind in ("method_definition", "method_signature", "abstract_method_signature") and named is not None:
            self.method(node, scope, named, decorators)
        elif kind in ("public_field_definition", "field_definition", "property_signature") and named is not None:
            self.field(node, scope, named, decorators)
        elif kind in ("call_signature", "construct_signature"):
            result = node.child_by_field_name("return_type") or node.child_by_field_name("type")
            declared = self.annotation(result, scope)
            if declared is not None:
                self.bind(scope, "()" if kind == "call_signature" else "new", ("t", ("F", declared, ())))
            self.visit_all(node, scope)
        elif kind == "index_signature":
            self.visit_all(node, scope)
        elif kind == "class_static_block":
            inner = self.open_scope(scope, owner, "b")
            self.bind(inner, "this", ("d", owner))
            self.visit_all(node, inner)

    def method(self, node: Node, scope: int, named: Node, decorators: list[Node]) -> None:
        number = self.function(node, self.member_name(named), "method", scope, node, named)
        self.decorate(number, [*decorators, *node.children], scope)
        self.bind(scope, self.member_key(node, named), ("d", number))

    def field(self, node: Node, scope: int, named: Node, decorators: list[Node]) -> None:
        name, key = self.member_name(named), self.member_key(node, named)
        annotation, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if value is not None and value.type in _FUNCTIONS:
            number = self.function(value, name, "method", scope, node, named)
            self.decorate(number, [*decorators, *node.children], scope)
            self.bind(scope, key, ("d", number))
            return
        declared = self.annotation(annotation, scope)
        number = self.define(
            "property", name, node, scope, named=named, signature=self.line(node), returns=declared,
            doc=self.doc(node),
        )  # fmt: skip
        self.decorate(number, [*decorators, *node.children], scope)
        self.bind(scope, key, ("d", number))
        if annotation is not None:
            self.visit_type(annotation, scope)
        if value is not None:
            held = self.expression(value, scope)
            self.facts.names[scope][key].append(("v", held) if held else ("?",))
            self.visit(value, scope)

    def member_key(self, node: Node, named: Node) -> str:
        """A member's name among its class's: static ones are apart, since an instance may have the same name."""
        static = any(child.type == "static" for child in node.children)
        return _STATIC + self.member_name(named) if static else self.member_name(named)

    def member_name(self, node: Node) -> str:
        return self.text(node).strip("'\"`")

    def type_alias(self, node: Node, scope: int) -> None:
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if named is None:
            return
        name = self.text(named)
        number = self.define(
            "type", name, node, scope, named=named, signature=self.signature(node, None).rstrip(";"),
            doc=self.doc(node), opens="t",
        )  # fmt: skip
        self.bind(scope, f":{name}", ("d", number))
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.type_parameters(node, inner, number)
        if value is not None:
            kind = self.kind(value, inner)
            if kind is not None:
                self.bind(inner, "=", ("t", kind))
            self.visit_type(value, inner)
        self.current = around

    def enum(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        number = self.define(
            "enum", self.text(named), node, scope, named=named, signature=self.signature(node, body),
            doc=self.doc(node), opens="c",
        )  # fmt: skip
        self.bind(scope, self.text(named), ("d", number))
        inner = self.facts.defs[number][SCOPE]
        for child in body.named_children if body is not None else ():
            name = child.child_by_field_name("name") if child.type == "enum_assignment" else child
            if name is not None and name.type != "comment":
                self.bind(inner, self.member_name(name), ("t", ("n", self.text(named))))

    def namespace(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None or body is None:
            self.visit_all(node, scope)
            return
        name = self.text(named).strip("'\"")
        number = self.define(
            "namespace", name, node, scope, named=named, signature=self.signature(node, body), doc=self.doc(node),
            opens="m",
        )  # fmt: skip
        inner = self.facts.defs[number][SCOPE]
        first, *rest = [self.text(named)] if named.type == "string" else name.split(".")
        self.bind(scope, first, ("scope", inner) if not rest else ("?",))
        around, self.current = self.current, number
        for child in body.named_children:
            self.visit(child, inner)
        self.current = around
        whole = next((b[1] for b in self.facts.names[scope].get(first, ()) if b[0] == "d"), -1)
        fields = self.facts.fields.setdefault(whole, {}) if whole >= 0 else {}
        for member, bound in self.facts.names[inner].items():  # of a class, an enum or a function of that name
            fields.setdefault(member, []).extend((binding, inner) for binding in bound)

    def ambient(self, node: Node, scope: int) -> None:
        """`declare …`; what stands in `declare global` every file sees."""
        if any(child.type == "global" for child in node.children):
            scope = self.open_scope(scope, -1, "m")
            self.facts.package = _GLOBAL
            self.facts.exports[_GLOBAL] = ("scope", scope)
            node = node.named_children[-1]
        self.visit_all(node, scope)

    def type_parameters(self, node: Node, scope: int, number: int) -> None:
        listed = node.child_by_field_name("type_parameters")
        for position, child in enumerate(listed.named_children if listed is not None else ()):
            named, bound = child.child_by_field_name("name"), child.child_by_field_name("constraint")
            if named is None:
                continue
            constraint = self.kind(bound.named_children[0], scope) if bound is not None else None
            self.bind(scope, f":{self.text(named)}", ("tp", number, position, scope, constraint))
            if bound is not None:
                self.visit_all(bound, scope)

    # variables and assignments

    def declarator(self, node: Node, scope: int) -> None:
        named, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        annotation = node.child_by_field_name("type")
        if named is None:
            return
        home = self.hoisted(scope) if node.parent is not None and node.parent.type == "variable_declaration" else scope
        place = (scope,) if home != scope else ()
        declared = self.annotation(annotation, scope)
        if annotation is not None:
            self.visit_type(annotation, scope)
        if named.type != "identifier":
            given = ("t", declared) if declared else None
            expression = self.expression(value, scope) if value is not None else None
            if expression is not None and expression[0] == "import" and named.type == "object_pattern":
                self.import_pattern(named, home, expression[1])
                return
            self.pattern(named, home, given or (("v", expression, *place) if expression else ("?",)), scope)
            if value is not None:
                self.visit(value, scope)
            return
        name = self.text(named)
        outer = node.parent if node.parent is not None and node.parent.named_child_count == 1 else node
        required = self.expression(value) if value is not None and annotation is None else None
        if required is not None and required[0] == "a" and required[1][0] == "import":
            required = ("import", required[1][1], required[2])
        if required is not None and required[0] == "import":
            self.import_name(home, name, required[1], required[2], node)
            return
        if value is not None and value.type in _FUNCTIONS:
            self.bind(home, name, ("d", self.function(value, name, "function", scope, outer, named)))
            return
        if value is not None and value.type == "class":
            self.bind(home, name, ("d", self.class_(value, scope, name)))
            return
        around = self.current
        if self.facts.scopes[home][2] == "m":
            number = self.define(
                "variable", name, outer, home, named=named, signature=self.line(node),
                returns=declared, doc=self.doc(outer),
            )  # fmt: skip
            self.bind(home, name, ("d", number))
            self.current = number
        elif declared is not None:
            self.bind(home, name, ("t", declared))
        if value is not None:
            expression = self.expression(value, scope)
            if declared is None:
                self.bind(home, name, ("v", expression, *place) if expression else ("?",))
            self.visit_value(value, expression, scope)
            if value.type == "assignment_expression" and "=" in self.facts.exports:
                self.facts.exports["="] = ("v", ("n", name))  # var app = module.exports = {}
        elif declared is None:
            self.bind(home, name, ("?",))
        self.current = around

    def hoisted(self, scope: int) -> int:
        """The scope in which `var` binds: that of the function around."""
        scopes = self.facts.scopes
        while scopes[scope][2] == "b" and scopes[scopes[scope][0]][2] != "c":
            scope = scopes[scope][0]
        return scope

    def import_pattern(self, node: Node, scope: int, module: str) -> None:
        """`const { a, b: c } = require(…)` imports names."""
        for child in node.named_children:
            key, value = child.child_by_field_name("key"), child.child_by_field_name("value")
            if child.type == "shorthand_property_identifier_pattern":
                self.import_name(scope, self.text(child), module, self.text(child), child)
            elif key is not None and value is not None and value.type == "identifier":
                self.import_name(scope, self.text(value), module, self.text(key), child)
            elif key is not None and value is not None:
                self.pattern(value, scope, ("v", ("import", module, self.text(key))))

    def visit_value(self, value: Node, expression: Expression | None, scope: int) -> None:
        """Walk a value; an object that `expression` made a scope of has been walked with it."""
        if not (value.type == "object" and expression is not None and expression[0] == "o"):
            self.visit(value, scope)

    def assignment(self, node: Node, scope: int) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        if left.type == "identifier" and (node.type != _AUGMENTED or _keeps(node)):
            value = self.expression(right, scope)
            if value is not None:
                self.rebind(scope, self.text(left), ("v", value))
            self.visit_value(right, value, scope)
            return
        if left.type == "member_expression" and (node.type != _AUGMENTED or _keeps(node)):
            self.assign_member(left, right, scope)
            return
        self.visit(left, scope)
        self.visit(right, scope)

    def rebind(self, scope: int, name: str, binding: Binding) -> None:
        """Add a value to a variable where it was declared without one."""
        at = scope
        while at >= 0:
            bound = self.facts.names[at].get(name)
            if bound is not None:
                if any(b[0] in "?v" or (b[0] == "d" and self.is_open(b[1])) for b in bound) and len(bound) < 6:
                    bound.append(binding if at == scope else (*binding, scope))
                return
            at = self.facts.scopes[at][0]

    def is_open(self, number: int) -> bool:
        definition = self.facts.defs[number]
        return definition[KIND] == "variable" and definition[9] is None

    def assign_member(self, left: Node, right: Node, scope: int) -> None:
        owner, named = left.child_by_field_name("object"), left.child_by_field_name("property")
        if owner is None or named is None:
            return
        name, where = self.text(named), self.text(owner) if owner.end_byte - owner.start_byte < 80 else ""
        function = right.type in _FUNCTIONS
        whole = where == "module" and name == "exports"
        if whole or where in ("exports", "module.exports"):
            if function or right.type == "class":
                own = right.child_by_field_name("name") if whole else None
                name = self.text(own) if own is not None else name
                outer = left.parent or left
                number = (
                    self.class_(right, scope, name)
                    if right.type == "class"
                    else self.function(right, name, "function", scope, outer, own or named)
                )
                value: Expression | None = ("d", number)
            else:
                value = self.expression(right, scope)
                self.visit_value(right, value, scope)
            if value is not None or not whole:
                self.facts.exports["=" if whole else name] = ("v", value) if value is not None else ("?",)
            return
        target = self.owner_of(where.removesuffix(".prototype"), owner, scope)
        if target < 0:
            self.visit(left, scope)
            self.visit(right, scope)
            return
        fields = self.facts.fields.setdefault(target, {}).setdefault(name, [])
        if function and owner.type != "this":
            number = self.function(right, name, "method", scope, left.parent or left, named, parent=target)
            fields.append((("d", number), scope))
            return
        value = self.expression(right, scope)
        fields.append((("v", value) if value is not None else ("?",), scope))
        if owner.type != "this":
            self.visit(owner, scope)
        self.visit_value(right, value, scope)

    def owner_of(self, name: str, owner: Node, scope: int) -> int:
        """The class, function or module variable of this file that gets a member, or -1."""
        if owner.type == "this":
            while scope > 0:
                parent, number, kind = self.facts.scopes[scope]
                if kind == "c":
                    return number
                if kind == "f" and "arrow" not in self.facts.defs[number][FLAGS]:
                    definition = self.facts.defs[number]
                    if definition[KIND] == "function":
                        return number
                    if definition[KIND] == "method" and self.facts.scopes[parent][2] == "o":
                        return -1
                    if definition[KIND] == "method" and definition[PARENT] >= 0:
                        return int(definition[PARENT])
                if kind == "a":
                    return -1
                scope = parent
            return -1
        bound = self.facts.names[0].get(name, ())
        return next((int(b[1]) for b in bound if b[0] == "d"), -1)

    def for_in(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "b")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        expression = self.expression(right) if right is not None else None
        of = any(child.type == "of" for child in node.children)
        declared = node.child_by_field_name("kind")
        home = self.hoisted(inner) if declared is not None and declared.type == "var" else inner
        if left is not None:
            self.pattern(left, home, ("v", ("e", expression), inner) if expression and of else ("?",), inner)
        if right is not None:
            self.visit(right, inner)
        body = node.child_by_field_name("body")
        if body is not None:
            self.visit(body, inner)

    def block(self, node: Node, scope: int) -> None:
        self.visit_all(node, self.open_scope(scope, self.owner(scope), "b"))

    def catch(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "b")
        parameter, body = node.child_by_field_name("parameter"), node.child_by_field_name("body")
        if parameter is not None:
            self.pattern(parameter, inner, ("?",))
        if body is not None:
            self.visit(body, inner)

    def if_statement(self, node: Node, scope: int) -> None:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is not None:
            self.visit(condition, scope)
        if body is not None:
            self.visit(body, self.narrowed(condition, scope))
        other = node.child_by_field_name("alternative")
        if other is not None:
            self.visit(other, scope)

    def narrowed(self, condition: Node | None, scope: int) -> int:
        """A scope in which a condition's tests hold, or the same scope."""
        inner = scope
        for name, binding in self.tests(condition):
            inner = self.open_scope(scope, self.owner(scope), "b") if inner == scope else inner
            self.bind(inner, name, binding)
        return inner

    def tests(self, node: Node | None) -> list[tuple[str, Binding]]:
        """What a condition says of local names: `x instanceof Class`, or a call whose function may return `x is T`."""
        if node is None:
            return []
        if node.type == "parenthesized_expression":
            return [test for child in node.named_children for test in self.tests(child)]
        if node.type == "call_expression":
            return self.guards(node)
        if node.type != "binary_expression":
            return []
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return []
        if operator.type == "&&":
            return self.tests(left) + self.tests(right)
        if operator.type == "instanceof" and left.type == "identifier":
            kind = self.expression(right)
            return [(self.text(left), ("t", kind))] if kind is not None and kind[0] in "na" else []
        return []

    def guards(self, node: Node) -> list[tuple[str, Binding]]:
        callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None else []
        expression = self.expression(callee) if given and given[0].type == "identifier" else None
        if expression is None or expression[0] not in "na":
            return []
        return [(self.text(given[0]), ("v", ("guard", expression, self.text(given[0]))))]

    def logical(self, node: Node, scope: int) -> None:
        """`test && value`: the test holds for the value."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None or operator.type != "&&":
            self.visit_all(node, scope)
            return
        self.visit(left, scope)
        self.visit(right, self.narrowed(left, scope))

    def ternary(self, node: Node, scope: int) -> None:
        condition, value = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        for child in node.named_children:
            same = value is not None and child.id == value.id
            self.visit(child, self.narrowed(condition, scope) if same else scope)

    # modules

    def import_(self, node: Node, scope: int) -> None:
        line = node.start_point[0] + 1
        source = node.child_by_field_name("source")
        for child in node.named_children:
            if child.type == "import_require_clause":
                inner = child.child_by_field_name("source")
                if inner is not None:
                    self.bind(scope, self.text(child.named_children[0]), ("i", self.unquoted(inner), None))
                    self.refer(scope, line, ("import", self.unquoted(inner), None), "imports")
        if source is None:
            return
        module = self.unquoted(source)
        if not any(child.type == "import_clause" for child in node.named_children):
            self.refer(scope, line, ("import", module, None), "imports")
        for clause in [child for child in node.named_children if child.type == "import_clause"]:
            for child in clause.named_children:
                if child.type == "identifier":
                    self.import_name(scope, self.text(child), module, "default", child)
                elif child.type == "namespace_import":
                    self.import_name(scope, self.text(child.named_children[0]), module, None, child)
                elif child.type == "named_imports":
                    for one in child.named_children:
                        name, alias = one.child_by_field_name("name"), one.child_by_field_name("alias")
                        if name is not None:
                            own = self.text(alias) if alias is not None else self.text(name)
                            self.import_name(scope, own, module, self.text(name), one)

    def import_name(self, scope: int, own: str, module: str, name: str | None, node: Node) -> None:
        self.bind(scope, own, ("i", module, name))
        self.refer(scope, node.start_point[0] + 1, ("import", module, name), "imports")

    def export(self, node: Node, scope: int) -> None:
        source, value = node.child_by_field_name("source"), node.child_by_field_name("value")
        declaration = node.child_by_field_name("declaration")
        exports = self.facts.exports if scope == 0 else {}
        module = self.unquoted(source) if source is not None else None
        words = [child.type for child in node.children]
        if module is not None:
            self.refer(scope, node.start_point[0] + 1, ("import", module, None), "imports")
        if module is not None and "*" in words:
            self.facts.stars.append(module)
        for child in node.named_children:
            if child.type == "export_clause":
                for one in child.named_children:
                    name, alias = one.child_by_field_name("name"), one.child_by_field_name("alias")
                    if name is None:
                        continue
                    own = self.text(alias) if alias is not None else self.text(name)
                    if module is not None:
                        exports[own] = ("i", module, self.text(name))
                        line = one.start_point[0] + 1
                        self.refer(scope, line, ("import", module, self.text(name)), "imports")
                    else:
                        exports[own] = ("l", self.text(name))
            elif child.type == "namespace_export" and module is not None:
                exports[self.text(child.named_children[0])] = ("i", module, None)
        if declaration is not None:
            before = {key: len(bound) for key, bound in self.facts.names[scope].items()}
            self.visit(declaration, scope)
            for key, bound in self.facts.names[scope].items():
                if len(bound) > before.get(key, 0):
                    exports.setdefault(key.lstrip(":"), ("l", key.lstrip(":")))
            named = declaration.child_by_field_name("name")
            if "default" in words and named is not None:
                exports["default"] = ("l", self.text(named))
        elif value is not None:
            if value.type in _FUNCTIONS and value.type != "arrow_function" and "default" in words:
                number = self.function(value, "default", "function", scope, node, value)
                exports["default"] = ("v", ("d", number))
            elif value.type == "class":
                exports["default"] = ("v", ("d", self.class_(value, scope)))
            elif value.type == "arrow_function":
                exports["default"] = ("v", ("d", self.function(value, "default", "function", scope, node, value)))
            elif value.type == "call_expression":  # what a wrapper makes has no other name
                around, expression = self.current, self.expression(value, scope)
                self.current = self.define("variable", "default", node, scope, named=value, signature=self.line(node))
                self.bind(scope, "default", ("d", self.current))
                self.bind(scope, "default", ("v", expression) if expression else ("?",))
                exports["default"] = ("l", "default")
                self.visit(value, scope)
                self.current = around
            else:
                expression = self.expression(value, scope)
                exports["default"] = ("v", expression) if expression else ("?",)
                self.visit_value(value, expression, scope)
        elif "=" in words and node.named_child_count:
            expression = self.expression(node.named_children[-1])
            if expression is not None:
                exports["="] = ("v", expression)
            self.visit(node.named_children[-1], scope)

    def unquoted(self, node: Node) -> str:
        return self.text(node)[1:-1]

    # references

    def call(self, node: Node, scope: int) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None:
            return
        if function.type == "import" or (function.type == "identifier" and self.text(function) == "require"):
            module = self.required(node)
            if module is not None:
                self.refer(scope, node.start_point[0] + 1, ("import", module, None), "imports")
                return
        self.reference(function, scope, "calls")
        type_arguments = node.child_by_field_name("type_arguments")
        if type_arguments is not None:
            self.visit_type(type_arguments, scope)
        if arguments is not None:
            self.visit_all(arguments, scope)

    def required(self, node: Node) -> str | None:
        arguments = node.child_by_field_name("arguments")
        if arguments is not None and arguments.named_child_count and arguments.named_children[0].type == "string":
            return self.unquoted(arguments.named_children[0])
        return None

    def new(self, node: Node, scope: int) -> None:
        constructor = node.child_by_field_name("constructor")
        if constructor is not None:
            self.reference(constructor, scope, "calls")
        for child in node.named_children[1:]:
            self.visit(child, scope)

    def reference(self, node: Node, scope: int, relation: str) -> None:
        while node.type in ("parenthesized_expression", "non_null_expression") and node.named_child_count:
            node = node.named_children[0]
        kind = node.type
        if kind == "super":
            self.refer(scope, node.start_point[0] + 1, ("s",), relation)
        elif kind == "identifier":
            self.refer(scope, node.start_point[0] + 1, ("n", self.text(node)), relation)
        elif kind == "member_expression":
            named, owner = node.child_by_field_name("property"), node.child_by_field_name("object")
            if named is not None and owner is not None:
                self.refer(scope, named.start_point[0] + 1, self.expression(node), relation)
                self.visit(owner, scope)
        else:
            if kind not in _FUNCTIONS and relation == "calls":
                self.refer(scope, node.end_point[0] + 1, self.expression(node), relation)
            self.visit(node, scope)

    def identifier(self, node: Node, scope: int) -> None:
        self.refer(scope, node.start_point[0] + 1, ("n", self.text(node)), "uses")

    def member_expression(self, node: Node, scope: int) -> None:
        self.reference(node, scope, "uses")

    def jsx(self, node: Node, scope: int) -> None:
        named = node.child_by_field_name("name")
        if named is not None and (named.type != "identifier" or self.text(named)[:1].isupper()):
            self.reference(named, scope, "uses")
        for child in node.named_children:
            if named is None or child.id != named.id:
                self.visit(child, scope)

    def jsx_attribute(self, node: Node, scope: int) -> None:
        for child in node.named_children[1:]:
            self.visit(child, scope)

    def pair(self, node: Node, scope: int) -> None:
        value = node.child_by_field_name("value")
        if value is not None:
            self.visit(value, scope)

    def object_(self, node: Node, scope: int) -> None:
        """An object that nothing names: its methods are walked as anonymous functions."""
        for child in node.named_children:
            if child.type == "method_definition":
                self.anonymous(child, scope)
            else:
                self.visit(child, scope)

    def visit_type(self, node: Node, scope: int) -> None:
        kind = node.type
        if kind == "type_identifier":
            self.refer(scope, node.start_point[0] + 1, ("ty", ("n", self.text(node))), "uses")
        elif kind == "nested_type_identifier":
            named = self.kind(node, scope)
            if named is not None:
                self.refer(scope, node.start_point[0] + 1, ("ty", named), "uses")
        elif kind == "type_query":
            self.visit_all(node, scope)
        elif kind in ("property_signature", "method_signature", "index_signature", "required_parameter"):
            for child in node.named_children:
                if child.type in _TYPE_NODES or child.type == "formal_parameters":
                    self.visit_type(child, scope)
        elif kind not in ("identifier", "property_identifier", "string", "comment"):
            for child in node.named_children:
                self.visit_type(child, scope)

    def return_(self, node: Node, scope: int) -> None:
        for child in node.named_children:
            expression = self.expression(child, scope)
            self.result(expression, scope)
            self.visit_value(child, expression, scope)

    def result(self, expression: Expression | None, scope: int) -> None:
        inner = scope
        while inner > 0 and self.facts.scopes[inner][2] == "b":
            inner = self.facts.scopes[inner][0]
        number = self.owner(inner)
        if expression is not None and number >= 0 and self.facts.scopes[inner][2] == "f":
            found = self.facts.returns.setdefault(number, [])
            if len(found) < RETURNS_MAX:
                found.append((expression, scope))

    # descriptions

    def expression(self, node: Node | None, scope: int = -1, depth: int = 0) -> Expression | None:
        """What can be said of an expression; an object literal becomes a scope when `scope` is given."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        if kind == "identifier":
            return ("n", self.text(node))
        if kind == "this":
            return ("self",)
        if kind == "super":
            return ("s",)
        if kind == "member_expression":
            owner = self.expression(node.child_by_field_name("object"), -1, depth + 1)
            owner = ("s", "member") if owner == ("s",) else owner
            named = node.child_by_field_name("property")
            if owner is None or named is None:
                return None
            name = self.text(named)
            return ("n", "exports") if name == "exports" and owner == ("n", "module") else ("a", owner, name)
        if kind == "call_expression":
            return self.call_expression(node, depth)
        if kind == "new_expression":
            made = self.expression(node.child_by_field_name("constructor"), -1, depth + 1)
            arguments = node.child_by_field_name("type_arguments")
            if made is None or made[0] not in "na" or arguments is None:
                held = self.held(node, depth) if made in (("n", "Set"), ("n", "Map")) else None
                return ("new", made, held) if held else ("new", made) if made else None
            return ("t", ("G", made, tuple(self.kind(a, 0) for a in arguments.named_children)))
        if kind in ("parenthesized_expression", "non_null_expression") and node.named_child_count:
            return self.expression(node.named_children[0], scope, depth + 1)
        if kind == "await_expression" and node.named_child_count:
            inner = self.expression(node.named_children[0], -1, depth + 1)
            return ("y", inner) if inner else None
        if kind in ("as_expression", "satisfies_expression", "type_assertion"):
            return self.cast(node, kind, scope, depth)
        if kind == "ternary_expression":
            return self.either(node.named_children[1:], depth)
        if kind == "binary_expression":
            operator = node.child_by_field_name("operator")
            chooses = operator is not None and operator.type in ("||", "??", "&&")
            return self.either(node.named_children, depth) if chooses else ("ext",)
        if kind == "subscript_expression":
            owner = self.expression(node.child_by_field_name("object"), -1, depth + 1)
            return ("i", owner) if owner else None
        if kind == "array":
            inner = self.expression(node.named_children[0], scope, depth + 1) if node.named_child_count else None
            return ("seq", inner) if inner else ("ext", "container")
        if kind == "spread_element" and node.named_child_count:  # as an array's first
            inner = self.expression(node.named_children[0], -1, depth + 1)
            return ("e", inner) if inner else None
        if kind == "assignment_expression" or (kind == _AUGMENTED and _keeps(node)):
            return self.expression(node.child_by_field_name("right"), -1, depth + 1)
        if kind == "object" and scope >= 0 and depth < 6:
            return self.object_scope(node, scope, depth)
        if kind in _LITERALS:
            return ("ext",)
        return None

    def held(self, node: Node, depth: int) -> Expression | None:
        """What `new Set(…)` or `new Map([[key, value], …])` is made of."""
        arguments = node.child_by_field_name("arguments")
        given = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
        pair = given.named_children[0] if given is not None and given.named_child_count else None
        if pair is None or pair.type != "array" or pair.named_child_count != 2:
            return self.expression(given, -1, depth + 1)
        return ("map", *(self.expression(part, -1, depth + 2) for part in pair.named_children))

    def cast(self, node: Node, kind: str, scope: int, depth: int) -> Expression | None:
        parts = node.named_children
        if len(parts) < 2:
            return self.expression(parts[0], scope, depth + 1) if parts else None
        value, written = (parts[1], parts[0]) if kind == "type_assertion" else (parts[0], parts[1])
        declared = self.kind(written, max(scope, 0)) if kind != "satisfies_expression" else None
        return ("t", declared) if declared else self.expression(value, scope, depth + 1)

    def either(self, nodes: list[Node], depth: int) -> Expression | None:
        parts = tuple(filter(None, (self.expression(n, -1, depth + 1) for n in nodes)))
        return ("u", *parts) if len(parts) > 1 else parts[0] if parts else None

    def call_expression(self, node: Node, depth: int) -> Expression | None:
        function = node.child_by_field_name("function")
        if function is None:
            return None
        if function.type == "import" or (function.type == "identifier" and self.text(function) == "require"):
            module = self.required(node)
            return ("import", module, None) if module is not None else None
        callee = self.expression(function, -1, depth + 1)
        arguments = node.child_by_field_name("arguments")
        if callee == ("a", ("n", "Object"), "assign") and arguments is not None and arguments.named_child_count:
            return self.either(arguments.named_children, depth)
        if callee == ("a", ("n", "Object"), "create") and arguments is not None and arguments.named_child_count:
            prototype = self.expression(arguments.named_children[0], -1, depth + 1)
            owner = prototype[1] if prototype is not None and prototype[-1] == "prototype" else None
            return ("new", owner) if owner is not None else prototype
        if callee is None:
            return None
        first = next((c for c in arguments.named_children if c.type != "comment"), None) if arguments else None
        told = self.argument(first, depth) if first is not None and first.type in _TELLING else None
        written = node.child_by_field_name("type_arguments")
        if written is not None:
            return ("c", callee, told, tuple(self.kind(a, 0) for a in written.named_children))
        return ("c", callee, told) if told else ("c", callee)

    def argument(self, node: Node, depth: int) -> Expression | None:
        if node.type in ("string", "template_string", "number"):
            return ("ext", "number" if node.type == "number" else "string")
        return self.expression(node, -1, depth + 1)

    def object_scope(self, node: Node, scope: int, depth: int) -> Expression:
        """An object literal as a scope of its members."""
        inner = self.open_scope(scope, self.owner(scope), "o")
        for child in node.named_children:
            kind = child.type
            if kind == "method_definition":
                named = child.child_by_field_name("name")
                if named is not None:
                    name = self.member_name(named)
                    number = self.function(child, name, "method", inner, child, named, parent=self.current)
                    self.bind(inner, name, ("d", number))
            elif kind == "pair":
                named, value = child.child_by_field_name("key"), child.child_by_field_name("value")
                if named is None or value is None:
                    continue
                name = self.member_name(named)
                if value.type in _FUNCTIONS:
                    number = self.function(value, name, "method", inner, child, named, parent=self.current)
                    self.bind(inner, name, ("d", number))
                else:
                    held = self.expression(value, inner, depth + 1)
                    self.bind(inner, name, ("v", held) if held else ("?",))
                    self.visit_value(value, held, inner)
            elif kind == "shorthand_property_identifier":
                self.bind(inner, self.text(child), ("up", self.text(child)))
                self.refer(scope, child.start_point[0] + 1, ("n", self.text(child)), "uses")
            elif kind == "spread_element" and child.named_child_count:
                spread = self.expression(child.named_children[0])
                if spread is not None:
                    self.bind(inner, "...", ("v", spread))
                self.visit_all(child, scope)
        return ("o", inner)

    def annotation(self, node: Node | None, scope: int) -> Any:
        """The type of an annotation."""
        if node is None or not node.named_child_count:
            return None
        if node.type in ("type_predicate_annotation", "asserts_annotation"):
            return None
        return self.kind(node.named_children[0], scope)

    def kind(self, node: Node, scope: int, depth: int = 0) -> Any:
        """The written type."""
        if depth > 8:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return ("n", self.text(node))
        if kind in ("predefined_type", "literal_type"):
            return _ANYTHING if self.text(node) in ("any", "unknown", "object") else ("B",)
        if kind in ("nested_type_identifier", "member_expression", "nested_identifier"):
            parts = self.text(node).split(".")
            if all(part.strip().isidentifier() for part in parts):
                named: Any = ("n", parts[0].strip())
                for part in parts[1:]:
                    named = ("a", named, part.strip())
                return named
            return None
        if kind == "generic_type":
            head, arguments = node.child_by_field_name("name"), node.child_by_field_name("type_arguments")
            base = self.kind(head, scope, depth + 1) if head is not None else None
            if base is None or arguments is None:
                return base
            return ("G", base, tuple(self.kind(a, scope, depth + 1) for a in arguments.named_children))
        if kind in ("union_type", "intersection_type"):
            known = tuple(filter(None, (self.kind(c, scope, depth + 1) for c in node.named_children)))
            if kind == "union_type" and _ANYTHING in known:
                return _ANYTHING
            return ("U", *known) if len(known) > 1 else known[0] if known else None
        if kind in ("parenthesized_type", "readonly_type", "optional_type") and node.named_child_count:
            return self.kind(node.named_children[0], scope, depth + 1)
        if kind in ("array_type", "rest_type") and node.named_child_count:
            inner = self.kind(node.named_children[0], scope, depth + 1)
            return (("S", inner) if kind == "array_type" else inner) if inner else None
        if kind == "tuple_type":
            return ("R", *(self.kind(c, scope, depth + 1) or ("n", "unknown") for c in node.named_children))
        if kind == "function_type":
            return self.function_type(node, scope, depth)
        if kind == "constructor_type":
            made = node.child_by_field_name("type")
            inner = self.kind(made, scope, depth + 1) if made is not None else None
            return ("C", inner) if inner else None
        if kind == "this_type":
            return ("self",)
        if kind == "conditional_type":
            ends = [node.child_by_field_name(field) for field in ("consequence", "alternative")]
            known = tuple(filter(None, (self.kind(c, scope, depth + 1) for c in ends if c is not None)))
            return ("U", *known) if known else None
        if kind == "type_query" and node.named_child_count:
            held = self.expression(node.named_children[0])
            return ("Q", held) if held else None
        if kind == "object_type" and depth < 4:
            inner_scope = self.open_scope(scope, self.owner(scope), "o")
            for child in node.named_children:
                self.type_member(child, inner_scope)
            return ("O", inner_scope)
        if kind == "lookup_type" and node.named_child_count > 1:
            base = self.kind(node.named_children[0], scope, depth + 1)
            key = self.text(node.named_children[1]).strip("'\"")
            return ("Q", ("a", ("t", base), key)) if base and key.isidentifier() else None
        return None

    def type_member(self, node: Node, scope: int) -> None:
        named = node.child_by_field_name("name")
        if node.type in ("property_signature", "method_signature") and named is not None:
            if node.type == "property_signature":
                declared = self.annotation(node.child_by_field_name("type"), scope)
            else:
                result = self.annotation(node.child_by_field_name("return_type"), scope)
                declared = ("F", result, ()) if result else None
            name = self.member_name(named)
            number = self.define(
                "property" if node.type == "property_signature" else "method", name, node, scope, named=named,
                signature=self.line(node), parent=self.current,
                returns=declared if node.type == "property_signature" else declared and declared[1],
            )  # fmt: skip
            self.bind(scope, name, ("d", number))
        elif node.type in ("call_signature", "construct_signature"):
            result = node.child_by_field_name("return_type") or node.child_by_field_name("type")
            declared = self.annotation(result, scope)
            if declared is not None:
                self.bind(scope, "()" if node.type == "call_signature" else "new", ("t", ("F", declared, ())))

    def function_type(self, node: Node, scope: int, depth: int) -> Any:
        result, listed = node.child_by_field_name("return_type"), node.child_by_field_name("parameters")
        kinds = []
        for child in listed.named_children if listed is not None else ():
            annotation, pattern = child.child_by_field_name("type"), child.child_by_field_name("pattern")
            if pattern is not None and pattern.type == "this":
                continue
            kinds.append(self.annotation(annotation, scope) if annotation is not None else None)
        returned = self.kind(result, scope, depth + 1) if result is not None else None
        return ("F", returned, tuple(kinds))

    def doc(self, node: Node) -> str:
        holder = node.parent if node.parent is not None and node.parent.type == "export_statement" else node
        return self.comment_before(holder, _DOC.__contains__)

    # scopes

    def attach_exports(self) -> None:
        """`exports.name` beside `module.exports = function` is a member of that function or class."""
        exports = self.facts.exports
        whole = exports["="][1] if "=" in exports and exports["="][0] == "v" and len(exports) > 1 else None
        if whole is None or whole[0] not in "nd":
            return
        bound = self.facts.names[0].get(whole[1], ()) if whole[0] == "n" else [whole]
        target = next((b[1] for b in bound if b[0] == "d"), -1)
        fields = self.facts.fields.setdefault(target, {}) if target >= 0 else {}
        for name, binding in exports.items():
            if name != "=" and target >= 0:
                fields.setdefault(name, []).append((binding, 0))

    def drop_local_references(self) -> None:
        """Leave out bare names of local variables, type parameters and globals: they can't lead anywhere."""
        kept = []
        for ref in self.facts.refs:
            expression = ref[3]
            if expression[0] == "n":
                bound = self.lexical(ref[1], expression[1], "")
                if bound is None:
                    if expression[1] not in _GLOBALS:
                        kept.append(ref)  # a declaration file may have it
                    continue
                if all(b[0] in ("p", "v", "?", "t") for b in bound):
                    if ref[4] == "uses":
                        continue
                    if len(bound) > 1 or bound[0][0] != "v" or bound[0][1][0] in ("u", "t"):
                        ref = (*ref[:4], "uses")  # a variable is called, which may hold something else
            elif expression[0] == "ty" and expression[1][0] == "n":
                bound = self.lexical(ref[1], expression[1][1], ":")
                if bound[0][0] == "tp" if bound is not None else expression[1][1] in _GLOBALS:
                    continue
            kept.append(ref)
        self.facts.refs = kept

    def lexical(self, scope: int, name: str, prefix: str) -> list[Binding] | None:
        names, scopes = self.facts.names, self.facts.scopes
        while scope >= 0:
            found = names[scope].get(prefix + name) if prefix else None
            found = found or (names[scope].get(name) if scopes[scope][2] not in "co" else None)
            if found is not None:
                return found
            scope = scopes[scope][0]
        return None


_VISIT = {
    **dict.fromkeys(
        ("function_declaration", "generator_function_declaration", "function_signature"),
        _TypeScript.function_declaration,
    ),
    **dict.fromkeys(_FUNCTIONS, _TypeScript.anonymous),
    **dict.fromkeys(
        ("class_declaration", "abstract_class_declaration", "interface_declaration", "class"),
        _TypeScript.class_declaration,
    ),
    "type_alias_declaration": _TypeScript.type_alias,
    "enum_declaration": _TypeScript.enum,
    "internal_module": _TypeScript.namespace,
    "ambient_declaration": _TypeScript.ambient,
    "module": _TypeScript.namespace,
    "variable_declarator": _TypeScript.declarator,
    "assignment_expression": _TypeScript.assignment,
    _AUGMENTED: _TypeScript.assignment,
    "for_in_statement": _TypeScript.for_in,
    "for_statement": _TypeScript.block,
    "statement_block": _TypeScript.block,
    "catch_clause": _TypeScript.catch,
    "if_statement": _TypeScript.if_statement,
    "binary_expression": _TypeScript.logical,
    "ternary_expression": _TypeScript.ternary,
    "import_statement": _TypeScript.import_,
    "export_statement": _TypeScript.export,
    "call_expression": _TypeScript.call,
    "new_expression": _TypeScript.new,
    "identifier": _TypeScript.identifier,
    "shorthand_property_identifier": _TypeScript.identifier,
    "member_expression": _TypeScript.member_expression,
    "jsx_opening_element": _TypeScript.jsx,
    "jsx_self_closing_element": _TypeScript.jsx,
    "jsx_attribute": _TypeScript.jsx_attribute,
    "jsx_closing_element": lambda *_: None,
    "pair": _TypeScript.pair,
    "object": _TypeScript.object_,
    "method_definition": _TypeScript.anonymous,
    "return_statement": _TypeScript.return_,
}


class Semantics(Resolver):
    """Modules, type and value namespaces, structural members and callbacks of TypeScript."""

    CALL = "()"

    def prepare(self) -> None:
        self.modules = Modules(self.paths, self.listed, self.text)
        declaring = sorted(path for path, package in self.packages.items() if package == _GLOBAL and path in self.paths)
        self.globals = {path: self.modules.root(path) for path in declaring}
        """Files that declare globals → the folder below which they are seen."""

    # modules

    def imported(self, path: str, module: str, name: str | None) -> Value | None:
        self.keys.update(self.modules.keys(module))
        found = self.modules.find(path, module)
        if found is None:
            return EXTERNAL
        if name is not None:
            return self.member(("mod", found), name)
        whole = self.facts(found).exports.get("=")
        return self.evaluate(found, 0, whole[1]) if whole is not None else ("mod", found)

    def targets(self, path: str, scope: int, expression: Expression) -> list[tuple[str, int]] | None:
        found = super().targets(path, scope, expression)
        if not found and expression[0] == "import" and expression[2] is not None:  # an interface or a type alias
            found = self.targets_of(self.imported(path, expression[1], f":{expression[2]}"))
            module = self.modules.find(path, expression[1]) if not found else None
            return [(module, -1)] if module is not None else found
        return found

    def module_member(self, path: str, name: str) -> Value | None:
        facts = self.facts(path)
        bare = name.lstrip(":")
        export = facts.exports.get(bare)
        if export is not None:
            if export[0] == "i":
                if export[2] is None:
                    return self.imported(path, export[1], None)
                return self.imported(path, export[1], ":" + export[2] if name != bare else export[2])
            if export[0] == "l":
                return self.type_name(path, 0, export[1]) if name != bare else self.name(path, 0, export[1])
            return self.evaluate(path, 0, export[1]) if export[0] == "v" else UNKNOWN
        whole = facts.exports.get("=")
        if whole is not None:
            value = self.evaluate(path, 0, whole[1])
            return value if bare == "default" else self.member(plain(value), bare)
        if bare == "default":
            return None
        foreign = False
        for module in facts.stars:
            self.keys.update(self.modules.keys(module))
            found = self.modules.find(path, module)
            if found is None:
                foreign = True
            elif found != path:
                value = self.member(("mod", found), name)
                if value is not None:
                    return value
        return EXTERNAL if foreign else None

    # names

    def type_name(self, path: str, scope: int, name: str) -> Value | None:
        facts = self.facts(path)
        while scope >= 0:
            names = facts.names[scope]
            bindings = names.get(f":{name}")
            if bindings is not None:
                return self.bound(path, scope, name, bindings) or UNKNOWN
            bindings = names.get(name) if facts.scopes[scope][2] not in "co" else None
            if bindings is not None:
                first = bindings[0]
                if first[0] == "i":
                    wanted = first[2] if first[2] is None else f":{first[2]}"
                    return self.imported(path, first[1], wanted)
                if first[0] == "scope" or (first[0] == "d" and facts.defs[first[1]][KIND] not in VARIABLES):
                    return self.bound(path, scope, name, bindings) or UNKNOWN
            scope = facts.scopes[scope][0]
        if name in _GLOBALS:
            return EXTERNAL
        return self.ambient(path, f":{name}") or self.ambient(path, name) if name != "any" else None

    def type_member(self, path: str, scope: int, kind: Any) -> Value | None:
        inner = kind[1]
        if inner[0] == "n":
            owner = plain(self.type_name(path, scope, inner[1]) or self.name(path, scope, inner[1]))
        elif inner[0] == "a":
            owner = plain(self.type_member(path, scope, inner))
        else:
            owner = plain(self.evaluate(path, scope, inner))
        if owner is not None and owner[0] == "scope":
            bindings = self.facts(owner[1]).names[owner[2]].get(f":{kind[2]}")
            if bindings:
                return self.bound(owner[1], owner[2], kind[2], bindings)
        if owner is not None and owner[0] in ("cls", "fn"):
            return self.member(owner, f":{kind[2]}") or self.member(owner, kind[2])
        return self.member(owner, f":{kind[2]}" if owner is not None and owner[0] == "mod" else kind[2])

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "tp":
            return ("par", path, *binding[1:])
        if binding[0] == "up":
            return plain(self.name(path, self.facts(path).scopes[scope][0], binding[1]))
        if binding[0] == "v" and len(binding) > 2:
            return plain(self.evaluate(path, binding[2], binding[1]))
        return super().binding(path, scope, name, binding)

    def name(self, path: str, scope: int, name: str) -> Value | None:
        facts = self.facts(path)
        while scope >= 0:
            parent, _, kind = facts.scopes[scope]
            bindings = facts.names[scope].get(name) if kind not in "co" else None
            if bindings is not None:
                return self.bound(path, scope, name, bindings) or UNKNOWN
            scope = parent
        if name == "exports" and facts.exports:
            return ("mod", path)
        return EXTERNAL if name in _GLOBALS else self.ambient(path, name)

    def ambient(self, path: str, name: str) -> Value | None:
        """A global that a declaration file of the same package, or of one around it, declares."""
        self.keys.add(f"package:{_GLOBAL}")
        folder = path.rpartition("/")[0]
        found = []
        for other, root in self.globals.items():
            if not root or folder == root or folder.startswith(root + "/"):
                facts = self.facts(other)
                scope = facts.exports[_GLOBAL][1] if _GLOBAL in facts.exports else 0
                bindings = facts.names[scope].get(name)
                found += [self.bound(other, scope, name, bindings)] if bindings else []
        return self.join(found)

    def parameter_bound(self, parameter: Value) -> Value | None:
        return self.instance(parameter[1], parameter[4], parameter[5]) if len(parameter) > 5 and parameter[5] else None

    # expressions

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        tag = expression[0]
        if tag == "o":
            return ("scope", path, expression[1])
        if tag == "ty":
            kind = expression[1]
            return self.type_name(path, scope, kind[1]) if kind[0] == "n" else self.type_member(path, scope, kind)
        if tag == "new":
            made = plain(self.evaluate(path, scope, expression[1]))
            if len(expression) > 2 and made == EXTERNAL:
                return plain(self.evaluate(path, scope, expression[2]))
            return self.join(self.made(part) for part in made[1]) if made and made[0] == "any" else self.made(made)
        if tag == "self":
            return self.this(path, scope)
        if tag == "s":
            owner = self.this(path, scope)
            return self.superclass(owner, len(expression) > 1) if owner and owner[0] in ("inst", "cls") else None
        if tag == "cb":
            return self.callback(path, scope, expression)
        if tag == "guard":
            return self.guarded(path, self.facts(path).scopes[scope][0], expression)
        return super()._evaluate(path, scope, expression)

    def guarded(self, path: str, scope: int, expression: Expression) -> Value | None:
        """A name where a function was true of it: what the function says that it is, else what it was."""
        function = plain(self.evaluate(path, scope, expression[1]))
        if function is not None and function[0] == "fn":
            inner = self.facts(function[1]).defs[function[2]][SCOPE]
            names = self.facts(function[1]).names[inner] if inner >= 0 else {}
            first = next((n for n, bound in names.items() if bound[0][0] == "p" and bound[0][3] == 0), "")
            for binding in names.get(f"is {first}", ()):
                return self.substituted(self.instance(function[1], inner, binding[1]), function[3])
        return plain(self.name(path, scope, expression[2]))

    def chosen(self, path: str, scope: int, function: Value, given: Expression | None) -> Value:
        """The overload whose first parameter is of the first argument's type, where that is plain."""
        if function[0] != "fn" or given is None:
            return function
        facts = self.facts(function[1])
        definition = facts.defs[function[2]]
        key = _STATIC + definition[NAME] if "static" in definition[FLAGS] else definition[NAME]
        bound = facts.names[definition[HOME]].get(key, ())
        numbers = [
            b[1] for b in bound if b[0] == "d" and not {"overload", "abstract"}.isdisjoint(facts.defs[b[1]][FLAGS])
        ]
        if len(numbers) < 2:
            return function
        value = plain(self.evaluate(path, scope, given)) if given[0] != "ext" else None
        for number in numbers:
            if self.takes(function[1], number, given, value):
                return (*function[:2], number, function[3])
        return function

    def takes(self, path: str, number: int, given: Expression, value: Value | None) -> bool:
        """Whether an overload's first parameter is of a literal's type, or of the value's class or one above it."""
        facts = self.facts(path)
        definition = facts.defs[number]
        if given[0] == "ext":
            return bool(definition[SHAPE] == given[-1])
        names = facts.names[definition[SCOPE]].values()
        kind = next((b[1] for bound in names for b in bound if b[0] == "p" and b[3] == 0), None)
        wanted = self.instance(path, definition[SCOPE], kind)
        if value is None or wanted is None or value[0] != "inst" or wanted[0] != "inst":
            return False
        return wanted[1:3] in self.ancestors(value[1], value[2])[0]

    def inferred(
        self, path: str, scope: int, function: Value | None, made: Value | None, expression: Expression
    ) -> Value | None:
        if len(expression) > 3 and function is not None and function[0] == "fn" and has_parameter(made):
            kinds = expression[3]

            def written(parameter: Value) -> Value:
                own = parameter[1:3] == function[1:3] and parameter[3] < len(kinds)
                return (self.instance(path, scope, kinds[parameter[3]]) if own else None) or parameter

            return self.replaced(made, written)
        return super().inferred(path, scope, function, made, expression)

    def told(self, path: str, scope: int, kind: Any, value: Value | None, parameter: Value) -> Value | None:
        """Through an alias too: `type Constructor<T> = new () => T`."""
        key = ("told", path, scope, kind, parameter)
        owner = self.type_name(path, scope, kind[1][1]) if kind and kind[0] == "G" and kind[1][0] == "n" else None
        if owner is None or owner[0] != "cls" or key in self._active:
            return super().told(path, scope, kind, value, parameter)
        facts = self.facts(owner[1])
        names = facts.names[facts.defs[owner[2]][SCOPE]]
        own = [bound[0] for bound in names.values() if bound[0][0] == "tp" and bound[0][2] < len(kind[2])]
        if "=" not in names:
            return super().told(path, scope, kind, value, parameter)
        self._active.add(key)
        found: Value | None = None
        for binding in own:
            if self.instance(path, scope, kind[2][binding[2]]) == parameter:
                aliased = ("par", owner[1], *binding[1:])
                found = self.told(owner[1], facts.defs[owner[2]][SCOPE], names["="][0][1], value, aliased)
        self._active.discard(key)
        return found

    def this(self, path: str, scope: int) -> Value | None:
        facts = self.facts(path)
        while scope > 0:
            parent, number, kind = facts.scopes[scope]
            if "this" in facts.names[scope]:
                return self.binding(path, scope, "this", facts.names[scope]["this"][0])
            if kind == "c":
                return ("inst", path, number, ())
            if kind == "a":
                return None
            if kind == "f":
                definition = facts.defs[number]
                around = facts.scopes[parent][2]
                if around == "c" and "static" in definition[FLAGS]:
                    return ("cls", path, definition[PARENT])
                if "arrow" not in definition[FLAGS]:
                    if around == "o":
                        return ("scope", path, parent)
                    if definition[KIND] == "function":
                        return ("inst", path, number, ()) if number in facts.fields else None
                    if around != "c" and definition[PARENT] >= 0:
                        return ("inst", path, definition[PARENT], ())
            scope = parent
        return None

    def superclass(self, owner: Value, member: bool) -> Value | None:
        """What `super` is: the base class where it is called, and where a static member asks it for a member."""
        for kind, relation, scope in self.facts(owner[1]).bases.get(owner[2], ()):
            if relation == "inherits":
                base = self.instance(owner[1], scope, kind)
                if member and owner[0] == "inst":
                    return base
                return ("cls", *base[1:3]) if base is not None and base[0] == "inst" else base
        return None

    def made(self, value: Value | None) -> Value | None:
        """What `new` gives."""
        if value is None:
            return None
        if value[0] == "cls":
            return ("inst", value[1], value[2], ())
        if value[0] == "fn":
            return ("inst", value[1], value[2], ())
        if value[0] in ("inst", "scope"):
            return self.result(plain(self.member(value, "new")))
        return value if value in NOTHING else None

    def callback(self, path: str, scope: int, expression: Expression) -> Value | None:
        """A parameter of a function that is passed as an argument, by what the callee says of it."""
        _, callee, place, position = expression
        if callee[0] == "a" and callee[2] in _PER_ELEMENT | {"then"}:
            owner = plain(self.evaluate(path, scope, callee[1]))
            if owner is not None and owner[0] in ("seq", "map", "prom") and place == 0:
                element: Value | None = owner[2] if owner[0] == "map" else owner[1]
                return element if position == 0 else None
        target = plain(self.evaluate(path, scope, callee))
        if target is not None and target[0] == "cls":
            target = self.class_member(target[1], target[2], "constructor")
        if target is None or target[0] != "fn":
            return None
        facts = self.facts(target[1])
        inner = facts.defs[target[2]][SCOPE]
        for bindings in facts.names[inner].values() if inner >= 0 else ():
            for binding in bindings:
                if binding[0] == "p" and binding[3] == place and binding[1] is not None:
                    wanted = self.substituted(self.instance(target[1], inner, binding[1]), target[3])
                    return self.substituted(self.passed(wanted, position), target[3])
        return None

    def passed(self, function: Value | None, position: int) -> Value | None:
        """The type of a function type's parameter."""
        if function is not None and function[0] == "any":
            return self.join(self.passed(part, position) for part in function[1])
        if function is None or function[0] != "fun" or len(function) < 3:
            return None
        path, scope, kinds = function[2]
        return self.instance(path, scope, kinds[position]) if position < len(kinds) else None

    # types

    def _instance(self, path: str, scope: int, kind: Any, depth: int) -> Value | None:
        if kind[0] == "O":
            return ("scope", path, kind[1])
        if kind[0] == "B":
            return LITERAL
        if kind[0] == "C":
            inner = self.instance(path, scope, kind[1], depth + 1)
            return ("cls", *inner[1:3]) if inner is not None and inner[0] == "inst" else None
        if kind[0] == "F":
            return ("fun", self.instance(path, scope, kind[1], depth + 1), (path, scope, kind[2]))
        return super()._instance(path, scope, kind, depth)

    def generic(self, path: str, scope: int, base: Any, arguments: tuple[Value, ...]) -> Value | None:
        owner = self.type_name(path, scope, base[1]) if base[0] == "n" else self.type_member(path, scope, base)
        if owner is not None and owner != EXTERNAL:
            return self.instantiated(owner, arguments)
        name, first = base[-1], arguments[0] if arguments else UNKNOWN
        if name in _SEQUENCES:
            return ("seq", first)
        if name in _MAPS and len(arguments) > 1:
            return ("map", first, arguments[1])
        if name in ("Promise", "PromiseLike"):
            return ("prom", first)
        if name in _SAME:
            return first
        if name == "ReturnType":
            return self.result(first)
        if name == "InstanceType":
            return self.made(first)
        return EXTERNAL

    def instantiated(self, owner: Value | None, arguments: tuple[Value, ...]) -> Value | None:
        if owner is not None and owner[0] == "cls":
            facts = self.facts(owner[1])
            definition = facts.defs[owner[2]]
            if definition[KIND] == "type":
                value = self.once(("alias", *owner[1:]), self.aliased, owner[1], definition[SCOPE])
                return self.substituted(value, ("inst", owner[1], owner[2], arguments))
        return super().instantiated(owner, arguments)

    def aliased(self, path: str, scope: int) -> Value | None:
        bindings = self.facts(path).names[scope].get("=")
        return self.instance(path, scope, bindings[0][1]) if bindings else UNKNOWN

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        return self.instance(path, scope, expression)

    # members

    def member(self, owner: Value | None, name: str) -> Value | None:
        if owner is not None and owner[0] == "var":
            field = self.facts(owner[1]).fields.get(owner[2], {}).get(name)
            if field:
                return self.join(self.binding(owner[1], scope, name, b) for b, scope in field)
        if owner is not None and owner[0] == "fn":
            field = self.facts(owner[1]).fields.get(owner[2], {}).get(name)
            return self.join(self.binding(owner[1], scope, name, b) for b, scope in field) if field else EXTERNAL
        if owner is not None and owner[0] == "cls":
            value = self.class_member(owner[1], owner[2], _STATIC + name)
            return self.substituted(with_receiver(value, owner), owner) if value is not None else None
        if owner is not None and owner[0] == "scope":
            return self.once(("o", owner[1], owner[2], name), self.object_member, owner, name)
        return super().member(owner, name)

    def object_member(self, owner: Value, name: str) -> Value | None:
        """A member of an object literal or a namespace."""
        names = self.facts(owner[1]).names[owner[2]]
        bindings = names.get(name)
        if bindings:
            value = self.bound(owner[1], owner[2], name, bindings)
            return with_receiver(value, owner) if value is not None else UNKNOWN
        spread = names.get("...", ())
        return self.join(self.member(self.binding(owner[1], owner[2], name, b), name) for b in spread)

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        facts = self.facts(path)
        definition, bare = facts.defs[number], name.removeprefix(_STATIC)
        if definition[KIND] in ("function", "method", *VARIABLES):
            field = facts.fields.get(number, {}).get(bare)
            return self.join(self.binding(path, scope, bare, b) for b, scope in field) if field else None
        names = facts.names[definition[SCOPE]]
        if bare != name and name not in names:  # what is assigned to the class, or a member of an enum
            return None if bare in names and definition[KIND] == "class" else super().own_member(path, number, bare)
        first = names[name][0] if name in names else ("?",)
        if first[0] == "d" and facts.defs[first[1]][TYPE] == _ANYTHING:
            return ("var", path, first[1], UNKNOWN)
        return super().own_member(path, number, name)

    def is_self(self, path: str, number: int, expression: Expression) -> bool:  # noqa: ARG002
        return expression == ("self",)

    def awaited(self, value: Value | None) -> Value | None:
        if value is not None and value[0] == "any":
            return self.join(self.awaited(part) for part in value[1])
        return value[1] if value is not None and value[0] == "prom" else value

    def container_member(self, owner: Value, name: str) -> Value | None:
        tag = owner[0]
        if tag == "seq":
            if name in _ELEMENT:
                return ("fun", owner[1])
            if name in _SAME_SEQUENCE or name == "values":
                return ("fun", owner)
            if name == "entries":
                return ("fun", ("seq", ("tup", (EXTERNAL, owner[1] or UNKNOWN))))
        if tag == "map":
            if name == "get":
                return ("fun", owner[2])
            if name in ("values", "keys"):
                return ("fun", ("seq", owner[2 if name == "values" else 1]))
            if name == "entries":
                return ("fun", ("seq", ("tup", (owner[1] or UNKNOWN, owner[2] or UNKNOWN))))
            held: Value | None = owner[2]  # a Record's member
            return held
        if tag == "prom" and name in ("catch", "finally", "then"):
            return ("fun", owner if name != "then" else UNKNOWN)
        return EXTERNAL

    def iterated(self, value: Value) -> Value | None:
        if value[0] == "map":
            return ("tup", (value[1] or UNKNOWN, value[2] or UNKNOWN))
        return super().iterated(value)
