"""Rust: facts of a file, and what its paths, methods and types mean.

Follows the Rust reference: modules and paths (6.1, 12.1), implementations (6.13), `use` declarations (6.4). Method
look-up takes the implementations of a type, the traits it is written to implement, and what it derefs to by an
`impl` of its own file; generic inference is not followed.
"""

from __future__ import annotations

import posixpath

from guilds_code.engines.graph.facts import FLAGS, HOME, KIND, NAME, PARENT, SCOPE, TYPE
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, Walk, parser
from guilds_code.engines.graph.resolve import EXTERNAL, UNKNOWN, Resolver, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Expression, Facts
    from guilds_code.engines.graph.resolve import Value

_SILENT = frozenset(
    ("line_comment", "block_comment", "string_literal", "raw_string_literal", "integer_literal", "float_literal",
     "boolean_literal", "char_literal", "primitive_type", "lifetime", "visibility_modifier", "mutable_specifier",
     "attribute_item", "inner_attribute_item", "self", "crate", "super", "field_identifier", "string_content")
)  # fmt: skip
_TYPES = frozenset(
    ("type_identifier", "scoped_type_identifier", "generic_type", "reference_type", "dynamic_type", "abstract_type",
     "tuple_type", "array_type", "pointer_type", "function_type", "type_arguments", "bounded_type", "trait_bounds",
     "where_clause", "higher_ranked_trait_bound")
)  # fmt: skip
_SAME = frozenset(("Box", "Rc", "Arc", "Cow", "Ref", "RefMut", "Pin", "MutexGuard", "ManuallyDrop", "Wrapping"))
_SEQUENCES = frozenset(
    ("Vec", "VecDeque", "Option", "Result", "HashSet", "BTreeSet", "LinkedList", "Iter", "IntoIter", "RefCell", "Cell",
     "Mutex", "RwLock", "Weak", "OnceCell", "BinaryHeap", "Iterator", "IntoIterator", "Poll", "Peekable", "SmallVec")
)  # fmt: skip
_MAPS = frozenset(("HashMap", "BTreeMap", "IndexMap"))
_ELEMENT = frozenset(
    ("unwrap", "expect", "unwrap_or", "unwrap_or_default", "unwrap_or_else", "borrow", "borrow_mut", "read", "write",
     "get_or_insert_with", "unwrap_unchecked", "into_inner", "insert")
)  # fmt: skip
_PER_ELEMENT = frozenset(
    ("map", "for_each", "filter", "filter_map", "any", "all", "find", "position", "flat_map", "and_then", "inspect",
     "map_or", "map_or_else", "is_some_and", "take_while", "skip_while", "find_map", "retain", "is_ok_and", "then",
     "max_by_key", "min_by_key", "sort_by_key", "partition", "ok_or_else")
)  # fmt: skip
_CHANGING = frozenset(
    ("map", "filter_map", "flat_map", "and_then", "zip", "scan", "fold", "map_or", "map_or_else", "windows", "chunks",
     "map_while", "then", "find_map", "group_by", "unzip", "partition")
)  # fmt: skip
"""What gives something else than the container holds."""
_KEEPING = frozenset(("clone", "as_ref", "as_mut", "to_owned", "borrow", "deref", "by_ref", "into", "as_deref"))
_STANDARD_TRAITS = frozenset(
    ("Deref", "DerefMut", "Clone", "Copy", "Debug", "Display", "Default", "Drop", "Eq", "PartialEq", "Ord",
     "PartialOrd", "Hash", "From", "Send", "Sync")
)  # fmt: skip
_STANDARD_METHODS = frozenset(
    ("clone", "clone_from", "fmt", "default", "drop", "eq", "ne", "cmp", "partial_cmp", "lt", "le", "gt", "ge", "max",
     "min", "clamp", "hash", "from", "deref", "deref_mut", "to_string", "into")
)  # fmt: skip
"""What these traits give; such a method is the type's own, not that of what it stands for."""
_STD = frozenset(("std", "core", "alloc"))

_ROOTS = ("lib", "main", "mod")
"""Files whose coming or going can move what a path starts from."""


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one file."""
    walk = _Rust(source)
    walk.visit_all(parser("tree_sitter_rust").parse(source).root_node, 0)
    for node, scope in walk.waiting:
        walk.impl(node, scope)
    walk.drop_local_references()
    return walk.facts


class _Rust(Walk):
    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        self.waiting: list[tuple[Node, int]] = []
        """Implementations are walked last, so that they find their type wherever the file has it."""
        self.inner: dict[int, int] = {}
        """The scopes of the arms of a `match` and of `if let`, by their nodes."""

    def visit(self, node: Node, scope: int) -> None:
        """Walk a node."""
        kind = node.type
        if kind in _SILENT:
            return
        if kind in _TYPES:
            self.visit_type(node, scope)
        elif (method := _VISIT.get(kind)) is not None:
            method(self, node, scope)
        else:
            self.visit_all(node, scope)

    # items

    def use(self, node: Node, scope: int) -> None:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            self.use_tree(argument, "", scope)

    def use_tree(self, node: Node, prefix: str, scope: int) -> None:
        kind = node.type
        line = node.start_point[0] + 1
        if kind == "use_list":
            for child in node.named_children:
                self.use_tree(child, prefix, scope)
        elif kind == "scoped_use_list":
            path, listed = node.child_by_field_name("path"), node.child_by_field_name("list")
            inner = _joined(prefix, self.text(path)) if path is not None else prefix
            if listed is not None:
                self.use_tree(listed, inner, scope)
        elif kind == "use_wildcard":
            whole = _joined(prefix, self.text(node).removesuffix("*").removesuffix("::"))
            self.facts.names[scope].setdefault("*", []).append(("i", whole, None))
        elif kind == "use_as_clause":
            path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
            if path is not None and alias is not None:
                self.used(scope, self.text(alias), _joined(prefix, self.text(path)), line)
        elif kind == "self":
            self.used(scope, prefix.rpartition("::")[2], prefix, line)
        else:
            whole = _joined(prefix, self.text(node))
            self.used(scope, whole.rpartition("::")[2], whole, line)

    def used(self, scope: int, own: str, whole: str, line: int) -> None:
        if own != "_":
            self.bind(scope, own, ("i", whole, None))
        self.refer(scope, line, ("import", whole, None), "imports")

    def module(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        name = self.text(named)
        if body is None:
            self.bind(scope, name, ("file", name, self.path_attribute(node)))
            self.refer(scope, node.start_point[0] + 1, ("import", f"self::{name}", None), "imports")
            return
        number = self.define("module", name, node, scope, named=named, signature=f"mod {name}", opens="m",
                             doc=self.doc(node))  # fmt: skip
        inner = self.facts.defs[number][SCOPE]
        self.bind(scope, name, ("d", number))
        around, self.current = self.current, number
        self.visit_all(body, inner)
        self.current = around

    def path_attribute(self, node: Node) -> str:
        """The file that `#[path = "…"]` names above a module."""
        above = node.prev_sibling
        while above is not None and above.type in ("attribute_item", "line_comment", "block_comment"):
            held = above.named_children[0] if above.type == "attribute_item" and above.named_child_count else None
            value = held.child_by_field_name("value") if held is not None else None
            if held is not None and value is not None and self.text(held.named_children[0]) == "path":
                return self.text(value).strip('"')
            above = above.prev_sibling
        return ""

    def type_(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        kind = {"struct_item": "struct", "enum_item": "enum", "union_item": "union", "trait_item": "trait",
                "type_item": "type"}[node.type]  # fmt: skip
        name = self.text(named)
        written = node.child_by_field_name("type")
        number = self.define(
            kind, name, node, scope, named=named, opens="c", doc=self.doc(node),
            signature=self.signature(node, body).rstrip("; "), returns=self.kind(written),
        )  # fmt: skip
        self.bind(scope, name, ("d", number))
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.type_parameters(node, inner, number)
        bounds = node.child_by_field_name("bounds")
        for bound in bounds.named_children if bounds is not None else ():
            self.base(bound, "inherits", number, inner)
        if written is not None:
            self.visit_type(written, inner)
        if kind == "trait" and body is not None:
            self.bind(inner, "Self", ("t", ("n", name)))
            self.visit_all(body, inner)
        elif kind == "enum":
            self.variants(body, inner, name)
        elif body is not None:
            self.fields(body, inner, "")
        self.current = around

    def base(self, node: Node, relation: str, number: int, scope: int) -> None:
        kind = self.kind(node)
        if kind is not None and number >= 0:
            self.facts.bases.setdefault(number, []).append((kind, relation, scope))
        head = kind[1] if kind is not None and kind[0] == "G" else kind
        if head is not None:
            self.refer(scope, node.start_point[0] + 1, ("ty", head), relation)

    def type_parameters(self, node: Node, scope: int, number: int) -> None:
        listed = node.child_by_field_name("type_parameters")
        position = 0
        bounds = {}
        for clause in [c for c in node.named_children if c.type == "where_clause"]:
            for predicate in clause.named_children:
                left, bound = predicate.child_by_field_name("left"), predicate.child_by_field_name("bounds")
                if left is not None and bound is not None:
                    bounds[self.text(left)] = self.bound_kind(bound)
                self.visit_type(predicate, scope)
        for child in listed.named_children if listed is not None else ():
            named, bound = child.child_by_field_name("name"), child.child_by_field_name("bounds")
            if child.type == "type_parameter" and named is not None:
                kind = (self.bound_kind(bound) if bound is not None else None) or bounds.get(self.text(named))
                if node.type == "type_item" and kind is None:
                    kind = self.kind(child.child_by_field_name("default_type"))
                self.bind(scope, self.text(named), ("tp", number, position, scope, kind))
                position += 1
                if bound is not None:
                    self.visit_type(bound, scope)

    def bound_kind(self, bounds: Node) -> Any:
        """What a type parameter must be: something callable, else the first trait."""
        kinds = [kind for kind in map(self.kind, bounds.named_children) if kind is not None]
        return next((kind for kind in kinds if kind[0] == "F"), kinds[0] if kinds else None)

    def associated_type(self, node: Node, scope: int) -> None:
        """A trait's own type: like a type parameter that no argument tells."""
        named, bounds = node.child_by_field_name("name"), node.child_by_field_name("bounds")
        if named is not None:
            kind = self.bound_kind(bounds) if bounds is not None else None
            self.bind(scope, self.text(named), ("tp", self.owner(scope), -1, scope, kind))
        if bounds is not None:
            self.visit_type(bounds, scope)

    def fields(self, body: Node, scope: int, prefix: str) -> None:
        if body.type == "ordered_field_declaration_list":
            for position, part in enumerate(body.children_by_field_name("type")):
                self.bind(scope, f"{prefix}{position}", ("t", self.kind(part)))
                self.visit_type(part, scope)
            return
        for child in body.named_children:
            named, written = child.child_by_field_name("name"), child.child_by_field_name("type")
            if child.type == "field_declaration" and named is not None and written is not None:
                kind = self.kind(written)
                if prefix:
                    self.bind(scope, f"{prefix}{self.text(named)}", ("t", kind))
                else:
                    number = self.define("field", self.text(named), child, scope, named=named, returns=kind,
                                         signature=self.line(child))  # fmt: skip
                    self.bind(scope, self.text(named), ("d", number))
                self.visit_type(written, scope)

    def variants(self, body: Node | None, scope: int, owner: str) -> None:
        for child in body.named_children if body is not None else ():
            named, inner = child.child_by_field_name("name"), child.child_by_field_name("body")
            if child.type == "enum_variant" and named is not None:
                number = self.define("constant", self.text(named), child, scope, named=named, returns=("n", owner),
                                     signature=self.line(child))  # fmt: skip
                self.bind(scope, self.text(named), ("d", number))
                if inner is not None:
                    self.fields(inner, scope, f"{self.text(named)}.")

    def later(self, node: Node, scope: int) -> None:
        self.waiting.append((node, scope))

    def impl(self, node: Node, scope: int) -> None:
        written, body, trait = (node.child_by_field_name(f) for f in ("type", "body", "trait"))
        if written is None:
            return
        kind = self.kind(written)
        head = kind[1] if kind is not None and kind[0] == "G" else kind
        name = head[-1] if head is not None and head[0] in "na" else ""
        number = next((b[1] for b in self.facts.names[scope].get(name, ()) if b[0] == "d"), -1)
        inner = self.open_scope(scope, number, "i")
        self.current = number
        self.type_parameters(node, inner, number)
        self.bind(inner, "Self", ("t", head))
        if trait is not None:
            self.base(trait, "implements", number, inner)
            if trait.type == "generic_type":
                for argument in trait.named_children[1:]:
                    self.visit_type(argument, inner)
        self.visit_type(written, inner)
        for child in body.named_children if body is not None else ():
            if child.type == "function_item":
                self.function(child, inner, number, name)
            else:
                self.visit(child, inner)
        for own, bound in [(n, b) for n, b in self.facts.names[inner].items() if b[0][0] == "d"]:
            self.facts.names[0].setdefault(f"{name}.{own}", []).extend(bound)  # `Self::Target`
        self.current = -1
        while self.waiting and self.waiting[-1][0].id != node.id and self.waiting[-1][1] > inner:
            self.impl(*self.waiting.pop())

    def function(self, node: Node, scope: int, owner: int | None = None, owner_name: str = "") -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is None:
            return
        result = node.child_by_field_name("return_type")
        in_trait = self.facts.scopes[scope][2] == "c"
        member = owner is not None or in_trait
        flags: tuple[str, ...] = (f"of {owner_name}",) if owner is not None and owner < 0 else ()
        if body is None:
            flags = (*flags, "abstract")
        name = self.text(named)
        number = self.define(
            "method" if member else "function", name, node, scope, named=named, doc=self.doc(node),
            signature=self.signature(node, body).rstrip("; "), returns=self.kind(result),
            flags=flags, opens="f", parent=owner,
        )  # fmt: skip
        key = name if owner is None else f"{owner_name}.{name}"
        self.bind(scope if owner is None else 0, key, ("d", number))
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        self.type_parameters(node, inner, number)
        listed = node.child_by_field_name("parameters")
        for position, child in enumerate(listed.named_children if listed is not None else ()):
            if child.type == "self_parameter":
                self.bind(inner, "self", ("t", ("n", "Self")))
                continue
            pattern, written = child.child_by_field_name("pattern"), child.child_by_field_name("type")
            kind = self.kind(written) if written is not None else None
            if pattern is not None:
                self.pattern(
                    pattern, inner, ("p", kind, None, position) if pattern.type == "identifier" else ("t", kind)
                )
            if written is not None:
                self.visit_type(written, inner)
        if result is not None:
            self.visit_type(result, inner)
        if body is not None:
            self.block_in(body, inner)
        self.current = around

    def constant(self, node: Node, scope: int) -> None:
        named, written, value = (node.child_by_field_name(f) for f in ("name", "type", "value"))
        if named is None:
            return
        kind = self.kind(written) if written is not None else None
        number = self.define("constant", self.text(named), node, scope, named=named, returns=kind, doc=self.doc(node),
                             signature=self.line(node))  # fmt: skip
        self.bind(scope, self.text(named), ("d", number))
        around, self.current = self.current, number if self.current < 0 else self.current
        for part in (written, value):
            if part is not None:
                self.visit(part, scope)
        self.current = around

    def macro_definition(self, node: Node, scope: int) -> None:
        named = node.child_by_field_name("name")
        if named is not None:
            name = self.text(named)
            number = self.define(
                "macro", name, node, scope, named=named, signature=f"macro_rules! {name}", doc=self.doc(node)
            )
            self.bind(scope, f"{name}!", ("d", number))

    # statements

    def block(self, node: Node, scope: int) -> None:
        self.block_in(node, self.open_scope(scope, self.owner(scope), "b"))

    def block_in(self, node: Node, scope: int) -> None:
        """Walk statements in order; a `let` that shadows opens a scope for those after it."""
        for child in node.named_children:
            scope = self.let(child, scope) if child.type == "let_declaration" else self.plain_statement(child, scope)

    def plain_statement(self, node: Node, scope: int) -> int:
        self.visit(node, scope)
        return scope

    def let(self, node: Node, scope: int) -> int:
        pattern, written, value = (node.child_by_field_name(f) for f in ("pattern", "type", "value"))
        kind = self.kind(written) if written is not None else None
        for part in (written, value, node.child_by_field_name("alternative")):
            if part is not None:
                self.visit(part, scope)
        given = self.expression(value)
        inner = self.open_scope(scope, self.owner(scope), "b")
        if pattern is not None:
            self.pattern(pattern, inner, ("t", kind) if kind else ("v", given, scope) if given else ("?",))
        return inner

    def pattern(self, node: Node, scope: int, binding: Binding) -> None:
        """Bind the names of a pattern to parts of what it is given."""
        kind = node.type
        if kind in ("identifier", "shorthand_field_identifier"):
            self.bind(scope, self.text(node), binding)
            return
        given = binding[1] if binding[0] == "v" else ("t", binding[1]) if binding[0] == "t" and binding[1] else None
        at = binding[2:] if binding[0] == "v" else ()
        if kind in (
            "ref_pattern",
            "mut_pattern",
            "reference_pattern",
            "match_pattern",
            "captured_pattern",
            "or_pattern",
        ):
            for child in node.named_children:
                self.pattern(child, scope, binding)
        elif kind == "tuple_pattern":
            for position, child in enumerate(node.named_children):
                self.pattern(child, scope, ("v", ("x", given, position), *at) if given else ("?",))
        elif kind in ("tuple_struct_pattern", "struct_pattern"):
            self.struct_pattern(node, scope, given, at)
        elif kind == "slice_pattern":
            for child in node.named_children:
                self.pattern(child, scope, ("v", ("e", given), *at) if given else ("?",))

    def struct_pattern(self, node: Node, scope: int, given: Expression | None, at: tuple[int, ...]) -> None:
        head = node.child_by_field_name("type")
        path = self.expression(head) if head is not None else None
        name = self.text(head).rpartition("::")[2] if head is not None else ""
        if path is not None and path[0] in "na" and name not in ("Some", "Ok", "Err", "None"):
            self.refer(scope, node.start_point[0] + 1, path, "uses")
        parts = [c for c in node.named_children if head is None or c.id != head.id]
        for position, child in enumerate(parts):
            part: Binding = ("?",)
            if node.type == "tuple_struct_pattern":
                if name in ("Some", "Ok", "Err") and given is not None:
                    part = ("v", ("err" if name == "Err" else "e", given), *at)
                elif path is not None and name not in ("Some", "Ok", "Err", "None"):
                    part = ("v", ("field", path, str(position)))
                self.pattern(child, scope, part)
            elif child.type == "field_pattern":
                field, inner = child.child_by_field_name("name"), child.child_by_field_name("pattern")
                if field is not None:
                    part = ("v", ("field", path, self.text(field))) if path is not None else ("?",)
                    self.pattern(inner if inner is not None else field, scope, part)

    def for_(self, node: Node, scope: int) -> None:
        pattern, value, body = (node.child_by_field_name(f) for f in ("pattern", "value", "body"))
        given = self.expression(value)
        inner = self.open_scope(scope, self.owner(scope), "b")
        if value is not None:
            self.visit(value, scope)
        if pattern is not None:
            self.pattern(pattern, inner, ("v", ("e", given), scope) if given else ("?",))
        if body is not None:
            self.block_in(body, inner)

    def if_(self, node: Node, scope: int) -> None:
        inner = self.inner[node.id] = self.open_scope(scope, self.owner(scope), "b")
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self.visit(condition, inner)
        for field in ("consequence", "body"):
            part = node.child_by_field_name(field)
            if part is not None:
                self.block_in(part, inner)
        other = node.child_by_field_name("alternative")
        if other is not None:
            self.visit(other, scope)

    def let_condition(self, node: Node, scope: int) -> None:
        pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        outer = self.facts.scopes[scope][0]
        given = self.expression(value)
        if value is not None:
            self.visit(value, outer)
        if pattern is not None:
            self.pattern(pattern, scope, ("v", given, outer) if given else ("?",))

    def match(self, node: Node, scope: int) -> None:
        value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
        given = self.expression(value)
        if value is not None:
            self.visit(value, scope)
        for arm in body.named_children if body is not None else ():
            pattern, result = arm.child_by_field_name("pattern"), arm.child_by_field_name("value")
            inner = self.inner[arm.id] = self.open_scope(scope, self.owner(scope), "b")
            if pattern is not None:
                self.pattern(pattern, inner, ("v", given, scope) if given else ("?",))
                for guard in pattern.children_by_field_name("condition"):
                    self.visit(guard, inner)
            if result is not None:
                self.visit(result, inner)

    def closure(self, node: Node, scope: int) -> None:
        inner = self.open_scope(scope, self.owner(scope), "l")
        listed, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        taken = [c for c in listed.children if c.type not in ("|", ",")] if listed is not None else []
        for position, child in enumerate(taken):
            given = self.passed_to(node, position)
            if child.type == "parameter":
                pattern, written = child.child_by_field_name("pattern"), child.child_by_field_name("type")
                kind = self.kind(written) if written is not None else None
                if pattern is not None:
                    self.pattern(pattern, inner, ("t", kind))
            else:
                self.pattern(child, inner, ("v", given, scope) if given else ("?",))
        if body is not None:
            self.visit(body, inner)

    def passed_to(self, node: Node, position: int) -> Expression | None:
        """What a closure's parameter is: what the called function's bound says, or what a container holds."""
        arguments = node.parent
        call = arguments.parent if arguments is not None and arguments.type == "arguments" else None
        function = call.child_by_field_name("function") if call is not None and call.type == "call_expression" else None
        callee = self.expression(function)
        if arguments is None or function is None or callee is None:
            return None
        field = function.child_by_field_name("field")
        method = self.text(field) if field is not None else ""
        held = "e" if method in _PER_ELEMENT else "err" if method in ("map_err", "or_else") else ""
        place = next((n for n, c in enumerate(arguments.named_children) if c.id == node.id), 0)
        return ("passed", callee, place, position, (held, callee[1]) if held else None)

    # references

    def call(self, node: Node, scope: int) -> None:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is not None:
            self.reference(function, scope, "calls")
        if arguments is not None:
            self.visit_all(arguments, scope)

    def reference(self, node: Node, scope: int, relation: str) -> None:
        if node.type == "generic_function" and node.named_child_count:
            for child in node.named_children[1:]:
                self.visit(child, scope)
            node = node.named_children[0]
        line = node.end_point[0] + 1
        if node.type in ("identifier", "scoped_identifier"):
            self.refer(scope, line, self.expression(node), relation)
            path = node.child_by_field_name("path")
            if path is not None and path.type in ("identifier", "scoped_identifier", "generic_type", "bracketed_type"):
                self.visit(path, scope)
        elif node.type == "field_expression":
            value = node.child_by_field_name("value")
            self.refer(scope, line, self.expression(node), relation)
            if value is not None:
                self.visit(value, scope)
        else:
            self.visit(node, scope)

    def name_(self, node: Node, scope: int) -> None:
        self.reference(node, scope, "uses")

    def struct_expression(self, node: Node, scope: int) -> None:
        named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if named is not None:
            self.visit_type(named, scope)
        for child in body.named_children if body is not None else ():
            value = child.child_by_field_name("value")
            if value is not None:
                self.visit(value, scope)
            elif child.type == "shorthand_field_initializer":
                self.visit_all(child, scope)

    def macro(self, node: Node, scope: int) -> None:
        named = node.child_by_field_name("macro")
        if named is not None:
            name = self.text(named).rpartition("::")[2]
            self.refer(scope, node.start_point[0] + 1, ("n", f"{name}!"), "calls")
        for child in node.named_children:
            if child.type == "token_tree":
                self.tokens(child, scope, matches=named is not None and self.text(named) == "matches")

    def tokens(self, node: Node, scope: int, relation: str = "calls", *, matches: bool = False) -> None:
        """Calls inside a macro's arguments, which the grammar leaves as tokens: `a.b(…)`, `A::b(…)`; those between the
        comma and the `if` of `matches!` are patterns."""
        current: Expression | None = None
        joined = ""
        macro = False
        for child in node.children:
            kind = child.type
            if matches and kind in (",", "if"):
                relation = "uses" if kind == "," else "calls"
            if kind in ("identifier", "self", "type_identifier"):
                name = self.text(child)
                current = ("a", current, name) if joined and current is not None else ("n", name)
                joined = ""
            elif kind in (".", "::"):
                joined = kind
            elif kind == "token_tree":
                opened = child.children[0].type if child.child_count else ""
                if opened == "(" and current is not None and not joined:
                    self.refer(scope, child.start_point[0] + 1, current, relation)
                    current = ("c", current)
                else:
                    current = None
                self.tokens(child, scope, relation, matches=macro)
                joined = ""
            else:
                macro = kind == "!" and current == ("n", "matches")
                current, joined = None, ""

    def visit_type(self, node: Node, scope: int) -> None:
        if node.type in ("type_identifier", "scoped_type_identifier", "identifier", "scoped_identifier"):
            kind = self.kind(node)
            self.refer(scope, node.end_point[0] + 1, ("ty", kind) if kind else None, "uses")
        else:
            for child in node.named_children:
                self.visit_type(child, scope)

    # descriptions

    def expression(self, node: Node | None, depth: int = 0) -> Expression | None:
        """What can be said of an expression."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        if kind in ("identifier", "type_identifier", "self", "crate", "super"):
            return ("n", self.text(node))
        if kind in ("scoped_identifier", "scoped_type_identifier"):
            path, named = node.child_by_field_name("path"), node.child_by_field_name("name")
            inner = self.expression(path, depth + 1) if path is not None else ("n", "crate")
            return ("a", inner, self.text(named)) if inner and named is not None else None
        if kind in ("generic_type", "generic_function") and node.named_child_count:
            return self.expression(node.named_children[0], depth + 1)
        if kind == "bracketed_type" and node.named_child_count:
            return self.bracketed(node.named_children[0])
        if kind == "tuple_expression":
            return ("tup", *(self.expression(c, depth + 1) for c in node.named_children))
        if kind == "field_expression":
            inner, field = (
                self.expression(node.child_by_field_name("value"), depth + 1),
                node.child_by_field_name("field"),
            )
            return ("a", inner, self.text(field)) if inner and field is not None else None
        if kind == "call_expression":
            inner = self.expression(node.child_by_field_name("function"), depth + 1)
            if inner is not None and inner[0] == "n" and inner[1] in ("Some", "Ok"):
                arguments = node.child_by_field_name("arguments")
                held = (
                    self.expression(arguments.named_children[0], depth + 1)
                    if arguments is not None and arguments.named_child_count
                    else None
                )
                return ("seq", held) if held else None
            return ("c", inner) if inner else None
        if kind == "struct_expression":
            named = node.child_by_field_name("name")
            made = self.kind(named) if named is not None else None
            return ("t", made) if made else None
        if (
            kind in ("reference_expression", "unary_expression", "parenthesized_expression", "await_expression")
            and node.named_child_count
        ):
            return self.expression(node.named_children[-1], depth + 1)
        if kind == "try_expression" and node.named_child_count:
            inner = self.expression(node.named_children[0], depth + 1)
            return ("try", inner) if inner else None
        if kind == "index_expression" and node.named_child_count:
            inner = self.expression(node.named_children[0], depth + 1)
            return ("i", inner) if inner else None
        if kind == "type_cast_expression":
            written = node.child_by_field_name("type")
            made = self.kind(written) if written is not None else None
            return ("t", made) if made else None
        if kind == "block" and node.named_child_count:
            return self.expression(node.named_children[-1], depth + 1) if node.named_child_count == 1 else None
        if kind in ("if_expression", "match_expression"):
            body = node.child_by_field_name("body")
            branches = (
                [(arm, arm.child_by_field_name("value")) for arm in body.named_children] if body is not None else []
            )
            if kind == "if_expression":
                branches = [(node, node.child_by_field_name("consequence"))]
            found = [(self.inner.get(arm.id), self.expression(value, depth + 1)) for arm, value in branches]
            parts = [("at", scope, made) for scope, made in found if scope is not None and made is not None]
            other = self.expression(node.child_by_field_name("alternative"), depth + 1)
            parts += [other] if other is not None else []
            return ("u", *parts) if len(parts) > 1 else parts[0] if parts else None
        if kind == "else_clause" and node.named_child_count:
            return self.expression(node.named_children[0], depth + 1)
        return ("ext",) if kind in _SILENT else None

    def bracketed(self, node: Node) -> Expression | None:
        """`<Type>` or `<Type as Trait>` before a `::`."""
        if node.type != "qualified_type":
            kind = self.kind(node)
            return ("as", kind, None) if kind else None
        written, trait = node.child_by_field_name("type"), node.child_by_field_name("alias")
        return ("as", self.kind(written), self.kind(trait))

    def kind(self, node: Node | None, depth: int = 0) -> Any:
        """The written type; references are what they refer to."""
        if node is None or depth > 8:
            return None
        kind = node.type
        if kind in ("type_identifier", "identifier"):
            return ("n", self.text(node))
        if kind in ("scoped_type_identifier", "scoped_identifier"):
            return self.expression(node)
        if kind == "generic_type" and node.named_child_count:
            base = self.kind(node.named_children[0], depth + 1)
            given = [c for c in node.named_children[-1].named_children if c.type != "lifetime"]
            return ("G", base, tuple(self.kind(a, depth + 1) for a in given)) if base else None
        if kind in ("reference_type", "pointer_type"):
            return self.kind(node.child_by_field_name("type"), depth + 1)
        if kind in ("dynamic_type", "abstract_type"):
            return self.kind(node.child_by_field_name("trait"), depth + 1)
        if kind == "array_type":
            inner = self.kind(node.child_by_field_name("element"), depth + 1)
            return ("S", inner) if inner else None
        if kind == "tuple_type":
            return ("R", *(self.kind(c, depth + 1) or ("n", "_") for c in node.named_children))
        if kind in ("bounded_type", "higher_ranked_trait_bound") and node.named_child_count:
            return self.kind(node.named_children[-1] if kind[0] == "h" else node.named_children[0], depth + 1)
        if kind == "function_type":
            result, listed = (node.child_by_field_name(f) for f in ("return_type", "parameters"))
            takes = tuple(self.kind(c, depth + 1) for c in listed.named_children) if listed is not None else ()
            return ("F", self.kind(result, depth + 1), takes)
        if kind == "type_binding":
            return self.kind(node.child_by_field_name("type"), depth + 1)
        return None

    def doc(self, node: Node) -> str:
        above = node
        while above.prev_sibling is not None and above.prev_sibling.type == "attribute_item":
            above = above.prev_sibling
        lines: list[str] = []
        before = above.prev_sibling
        while before is not None and before.type in ("line_comment", "block_comment"):
            text = self.source[before.start_byte : before.end_byte].decode("utf-8", "replace")
            if not text.startswith(("///", "/**")):
                break
            lines.append(text.strip("/*! \n"))
            before = before.prev_sibling
        return "\n".join(reversed(lines))[:400]

    def drop_local_references(self) -> None:
        """Leave out local variables and type parameters."""
        kept = []
        for ref in self.facts.refs:
            expression = ref[3][1] if ref[3][0] == "ty" else ref[3]
            if expression[0] == "n" and ref[4] == "uses":
                scope = ref[1]
                while scope >= 0 and expression[1] not in self.facts.names[scope]:
                    scope = self.facts.scopes[scope][0]
                bound = self.facts.names[scope][expression[1]] if scope >= 0 else []
                if expression[1] in ("self", "Self", "_") or (
                    bound and all(b[0] in ("p", "v", "?", "t", "tp") for b in bound)
                ):
                    continue
            kept.append(ref)
        self.facts.refs = kept


_VISIT = {
    "use_declaration": _Rust.use,
    "mod_item": _Rust.module,
    **dict.fromkeys(("struct_item", "enum_item", "union_item", "trait_item", "type_item"), _Rust.type_),
    "associated_type": _Rust.associated_type,
    "impl_item": _Rust.later,
    "function_item": _Rust.function,
    "function_signature_item": _Rust.function,
    "const_item": _Rust.constant,
    "static_item": _Rust.constant,
    "macro_definition": _Rust.macro_definition,
    "block": _Rust.block,
    "for_expression": _Rust.for_,
    "if_expression": _Rust.if_,
    "while_expression": _Rust.if_,
    "let_condition": _Rust.let_condition,
    "match_expression": _Rust.match,
    "closure_expression": _Rust.closure,
    "call_expression": _Rust.call,
    "identifier": _Rust.name_,
    "scoped_identifier": _Rust.name_,
    "field_expression": _Rust.name_,
    "struct_expression": _Rust.struct_expression,
    "macro_invocation": _Rust.macro,
}


def _joined(prefix: str, path: str) -> str:
    return f"{prefix}::{path}" if prefix else path


class Semantics(Resolver):
    """Crates, modules, `use`, implementations and the standard containers."""

    def prepare(self) -> None:
        self.crates: dict[str, str] = {}
        """A crate's name → its root file, there or not."""
        self.packages_at: dict[str, tuple[str, frozenset[str]]] = {}
        """A package's folder → the root that its manifest names for its library, and those of its programs."""
        self.renamed: dict[str, dict[str, str]] = {}
        """A package's folder → what it calls a dependency → that crate's name."""
        manifests = [p.rpartition("/")[0] for p in self.listed if p.rpartition("/")[2] == "Cargo.toml"]
        read = {
            folder: _manifest(self.text(f"{folder}/Cargo.toml" if folder else "Cargo.toml")) for folder in manifests
        }
        libraries: dict[str, str] = {}
        """A package's name → its library's."""
        for folder, manifest in read.items():
            package, library = _table(manifest, "package").get("name"), _table(manifest, "lib")
            named, written = library.get("name", package), library.get("path")
            root = posixpath.normpath(posixpath.join(folder, written)) if isinstance(written, str) else ""
            programs = [_text(program, "path") for program in _tables(manifest.get("bin"))]
            self.packages_at[folder] = root, frozenset(posixpath.normpath(posixpath.join(folder, p)) for p in programs)
            if isinstance(package, str) and isinstance(named, str):
                usual = [posixpath.join(folder, "src", name) for name in ("lib.rs", "main.rs")]
                libraries[package] = named.replace("-", "_")
                self.crates[libraries[package]] = root or next((r for r in usual if r in self.paths), usual[0])
        shared = [found for manifest in read.values() for found in _renamed(_table(manifest, "workspace"))]
        for folder, manifest in read.items():
            own = {**dict(shared), **dict(_renamed(manifest))}
            self.renamed[folder] = {alias: libraries[p] for alias, p in own.items() if p in libraries}

    def crate(self, path: str, name: str) -> Value | None:
        """The root of a crate, by the name that a file's package knows it under."""
        package = self.package_of(path)
        known = self.renamed.get(package, {}).get(name, name) if package is not None else name
        root = self.crates.get(known)
        if root is None:
            return None
        self.keys.add(root.rpartition("/")[2])
        return ("mod", root) if root in self.paths else EXTERNAL

    def package_of(self, path: str) -> str | None:
        """The folder of the nearest Cargo.toml above a file."""
        folder = path.rpartition("/")[0]
        while folder not in self.packages_at:
            if not folder:
                return None
            folder = folder.rpartition("/")[0]
        return folder

    # modules

    def root_of(self, path: str) -> str:
        """The root file of the crate that a file is in."""
        self.keys.update(_ROOTS)
        package = self.package_of(path)
        root, programs = self.packages_at[package] if package is not None else ("", frozenset())
        self.keys.add(root.rpartition("/")[2] or "lib.rs")
        if path in programs or path.rpartition("/")[2] == "main.rs":
            return path
        around = root.rpartition("/")[0]
        if root in self.paths and (not around or path.startswith(f"{around}/")):
            return root
        folder = path.rpartition("/")[0]
        parts = path.split("/")
        if "src" in parts:
            at = len(parts) - 1 - parts[::-1].index("src")
            base = "/".join(parts[: at + 1])
            if len(parts) > at + 2 and parts[at + 1] == "bin":
                return path
            for name in ("lib.rs", "main.rs"):
                if f"{base}/{name}" in self.paths:
                    return f"{base}/{name}"
        for name in ("lib.rs", "main.rs", "mod.rs"):
            candidate = f"{folder}/{name}" if folder else name
            if candidate in self.paths and name != "mod.rs":
                return candidate
        return path

    def parent_of(self, path: str) -> str | None:
        """The file whose `mod` brings a file in."""
        self.keys.update((*_ROOTS, path.rpartition("/")[0].rpartition("/")[2]))
        folder, _, name = path.rpartition("/")
        above = folder.rpartition("/")[0] if name == "mod.rs" else folder
        holder = folder.rpartition("/")[2] if name != "mod.rs" else above.rpartition("/")[2]
        outer = above.rpartition("/")[0] if name == "mod.rs" else folder.rpartition("/")[0]
        root = self.root_of(path)
        own = root if root.rpartition("/")[0] == above else ""
        for candidate in (f"{above}/mod.rs", own, f"{above}/lib.rs", f"{above}/main.rs", f"{outer}/{holder}.rs"):
            if candidate.lstrip("/") in self.paths and candidate.lstrip("/") != path:
                return candidate.lstrip("/")
        return None

    def submodule(self, path: str, scope: int, name: str, written: str) -> str | None:
        """The file of `mod name;`, which `#[path = "…"]` may have written."""
        folder, _, own = path.rpartition("/")
        if written:
            self.keys.add(written.rpartition("/")[2])
            found = posixpath.normpath(posixpath.join(folder, written))
            return found if found in self.paths and scope == 0 else None
        self.keys.add(name)
        stem = own.removesuffix(".rs")
        base = folder if stem in ("mod", "lib", "main") or path == self.root_of(path) else f"{folder}/{stem}"
        for candidate in (f"{base}/{name}.rs", f"{base}/{name}/mod.rs"):
            if candidate.lstrip("/") in self.paths:
                return candidate.lstrip("/")
        return None

    def imported(self, path: str, module: str, name: str | None) -> Value | None:  # noqa: ARG002
        return self.once(("use", path, module), self.path_value, path, module)

    def path_value(self, path: str, module: str) -> Value | None:
        parts = [part.strip() for part in module.split("::") if part.strip()]
        value: Value | None = None
        for position, part in enumerate(parts):
            part = part.partition("<")[0]
            value = self.start(path, part) if position == 0 else self.member(value, part)
            if value is None or value == EXTERNAL:
                return EXTERNAL if position == 0 else value
        return value

    def start(self, path: str, part: str) -> Value | None:
        if part == "crate":
            return ("mod", self.root_of(path))
        if part == "self":
            return ("mod", path)
        if part == "super":
            above = self.parent_of(path)
            return ("mod", above) if above else None
        crate = self.crate(path, part)
        if crate is not None:
            return crate
        if part in _STD:
            return EXTERNAL
        bindings = self.facts(path).names[0].get(part)
        if bindings and not (bindings[0][0] == "i" and bindings[0][1].partition("::")[0] == part):
            return self.bound(path, 0, part, bindings)
        return EXTERNAL

    def module_member(self, path: str, name: str) -> Value | None:
        return self.scope_member(path, 0, name)

    def scope_member(self, path: str, scope: int, name: str) -> Value | None:
        names = self.facts(path).names[scope]
        bindings = names.get(name)
        if bindings:
            value = self.bound(path, scope, name, bindings)
            if value is not None and value != EXTERNAL:
                return value
        return self.globbed(path, scope, name) or (EXTERNAL if bindings else None)

    def globbed(self, path: str, scope: int, name: str) -> Value | None:
        foreign: Value | None = None
        for binding in self.facts(path).names[scope].get("*", ()):
            owner = self.used_from(path, scope, binding[1])
            if owner == EXTERNAL:
                foreign = EXTERNAL
            elif owner is not None and (owner != ("mod", path) or scope > 0):
                value = self.member(owner, name)
                if value is not None:
                    return value
        return foreign

    def used_from(self, path: str, scope: int, module: str) -> Value | None:
        """A `use` path; in an inline module `super` is what is around it."""
        first, _, rest = module.partition("::")
        if first in ("super", "self") and scope > 0:
            at: int = scope
            while at > 0 and self.facts(path).scopes[at][2] != "m":
                at = self.facts(path).scopes[at][0]
            if at > 0:
                outer = self.facts(path).scopes[at][0] if first == "super" else at
                while outer > 0 and self.facts(path).scopes[outer][2] != "m":
                    outer = self.facts(path).scopes[outer][0]
                value: Value | None = ("scope", path, outer) if outer > 0 else ("mod", path)
                for part in filter(None, rest.split("::")):
                    value = self.member(value, part)
                return value
        return self.imported(path, module, None)

    # names

    def name(self, path: str, scope: int, name: str) -> Value | None:
        if name in ("crate", "super") or (name == "self" and self.lexical_self(path, scope) is None):
            return self.used_from(path, scope, name)
        facts = self.facts(path)
        while scope >= 0:
            parent, _, kind = facts.scopes[scope]
            bindings = facts.names[scope].get(name)
            if bindings is not None and (kind != "c" or bindings[0][0] in ("tp", "t")):
                return self.bound(path, scope, name, bindings) or UNKNOWN
            if kind in "mfb":
                value = self.globbed(path, scope, name)
                if value is not None and value != EXTERNAL:
                    return value
            if kind == "m" and not name.endswith("!"):
                break
            scope = parent
        if name.endswith("!"):
            return self.macro(path, name)
        return self.crate(path, name)

    def macro(self, path: str, name: str) -> Value | None:
        """A macro of the crate: textual scope reaches every module after it."""
        places = [p for p in self.named(name[:-1]) if self.facts(p[0]).defs[p[1]][KIND] == "macro"]
        self.keys.add(f"name:{name[:-1]}")
        near = [p for p in places if self.root_of(p[0]) == self.root_of(path)]
        return ("var", *near[0], UNKNOWN) if near else EXTERNAL

    def lexical_self(self, path: str, scope: int) -> Binding | None:
        facts = self.facts(path)
        while scope >= 0:
            if "self" in facts.names[scope]:
                return facts.names[scope]["self"][0]
            scope = facts.scopes[scope][0]
        return None

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        tag = binding[0]
        if tag == "tp":
            return ("par", path, *binding[1:])
        if tag == "file":
            found = self.submodule(path, scope, *binding[1:])
            return ("mod", found) if found is not None else None
        if tag == "i":
            return self.used_from(path, scope, binding[1])
        if tag == "v" and len(binding) > 2:
            return plain(self.evaluate(path, binding[2], binding[1]))
        return super().binding(path, scope, name, binding)

    def parameter_bound(self, parameter: Value) -> Value | None:
        return self.instance(parameter[1], parameter[4], parameter[5]) if len(parameter) > 5 and parameter[5] else None

    def type_name(self, path: str, scope: int, name: str) -> Value | None:
        value = self.name(path, scope, name)
        return ("cls", *value[1:3]) if value is not None and value[0] == "inst" and name == "Self" else value

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        tag = expression[0]
        if tag == "ty":
            kind = expression[1]
            return self.type_name(path, scope, kind[1]) if kind[0] == "n" else self.type_member(path, scope, kind)
        if tag == "at":
            return self.evaluate(path, expression[1], expression[2])
        if tag == "err":
            inner = plain(self.evaluate(path, scope, expression[1]))
            return inner[2] if inner is not None and inner[0] == "seq" and len(inner) > 2 else UNKNOWN
        if tag == "passed":
            called = plain(self.evaluate(path, scope, expression[1]))
            if called is not None and called[0] == "fn":
                return self.taken(called, expression[2], expression[3])
            return self.evaluate(path, scope, expression[4])
        if tag == "try":
            inner = plain(self.evaluate(path, scope, expression[1]))
            return inner[1] if inner is not None and inner[0] == "seq" else inner
        if tag == "as":
            made = self.instance(path, scope, expression[1])
            if made is not None and made[0] == "inst":
                return ("cls", *made[1:3])
            made = self.instance(path, scope, expression[2])
            return ("cls", *made[1:3]) if made is not None and made[0] == "inst" else EXTERNAL
        if tag == "field":
            return self.variant_field(path, scope, expression[1], expression[2])
        if tag == "n" and expression[1] == "Self":
            return self.type_name(path, scope, "Self")
        return super()._evaluate(path, scope, expression)

    def taken(self, function: Value, place: int, position: int) -> Value | None:
        """What a closure takes at a position, that a function takes at a place."""
        _, path, number, receiver = function
        scope = self.facts(path).defs[number][SCOPE]
        names = self.facts(path).names
        if "self" in names[scope] and receiver is not None and receiver[0] == "inst":
            place += 1
        kind = next((b[1] for named in names[scope].values() for b in named if b[0] == "p" and b[3] == place), None)
        if kind is not None and kind[0] == "G" and kind[1][-1] in _SAME and kind[2]:
            kind = kind[2][0]
        at = scope
        while kind is not None and kind[0] == "n" and at >= 0:
            bound = names[at].get(kind[1])
            if bound is not None:
                kind = bound[0][4] if bound[0][0] == "tp" else None
            else:
                at = self.facts(path).scopes[at][0]
        if kind is None or kind[0] != "F" or position >= len(kind[2]):
            return UNKNOWN
        return self.substituted(self.instance(path, scope, kind[2][position]), receiver) or UNKNOWN

    def variant_field(self, path: str, scope: int, written: Expression, field: str) -> Value | None:
        """A field of a struct, or of an enum's variant, that a pattern takes apart."""
        if written[0] == "a":
            value = self.member(self.evaluate(path, scope, written[1]), written[2])
        else:
            value = self.evaluate(path, scope, written)
        if value is not None and value[0] == "var":
            facts = self.facts(value[1])
            definition = facts.defs[value[2]]
            bindings = facts.names[definition[HOME]].get(f"{definition[NAME]}.{field}")
            return self.binding(value[1], definition[HOME], field, bindings[0]) if bindings else None
        return plain(self.member(value, field)) if value is not None and value[0] in ("cls", "inst") else None

    # types

    def generic(self, path: str, scope: int, base: Any, arguments: tuple[Value, ...]) -> Value | None:
        owner = self.type_name(path, scope, base[1]) if base[0] == "n" else self.type_member(path, scope, base)
        if owner is not None and owner != EXTERNAL:
            return self.instantiated(owner, arguments)
        name, first = base[-1], arguments[0] if arguments else UNKNOWN
        if name in _SAME:
            return first
        if name == "Result" and len(arguments) > 1:
            return ("seq", first, arguments[1])
        if name in _SEQUENCES:
            return ("seq", first)
        if name in _MAPS and len(arguments) > 1:
            return ("map", first, arguments[1])
        return EXTERNAL

    def instantiated(self, owner: Value | None, arguments: tuple[Value, ...]) -> Value | None:
        if owner is not None and owner[0] == "cls":
            definition = self.facts(owner[1]).defs[owner[2]]
            if definition[KIND] == "type" and definition[TYPE] is not None:
                meant = self.instance(owner[1], definition[SCOPE], definition[TYPE])
                return self.replaced(meant, lambda par: self.argument(par, owner, arguments))
        return super().instantiated(owner, arguments)

    def argument(self, parameter: Value, owner: Value, arguments: tuple[Value, ...]) -> Value:
        """What stands for a type parameter of an alias."""
        own = parameter[1:3] == owner[1:3] and 0 <= parameter[3] < len(arguments)
        return arguments[parameter[3]] if own else parameter

    def replaced(self, value: Value | None, argument: Callable[[Value], Value]) -> Value | None:
        if value is not None and value[0] == "seq" and len(value) > 2:  # a Result
            return ("seq", super().replaced(value[1], argument), super().replaced(value[2], argument))
        return super().replaced(value, argument)

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        return self.instance(path, scope, expression)

    def constructed(self, owner: Value) -> Value | None:
        return ("inst", owner[1], owner[2], ())

    def member(self, owner: Value | None, name: str) -> Value | None:
        if name == "super" and owner is not None and owner[0] in ("mod", "scope"):
            return self.module_around(owner)
        if owner is not None and owner[0] == "scope":
            return self.scope_member(owner[1], owner[2], name)
        if owner is not None and owner[0] == "cls":
            definition = self.facts(owner[1]).defs[owner[2]]
            if definition[KIND] == "type" and definition[TYPE] is not None:  # `Alias::new()`
                meant = self.instance(owner[1], definition[HOME], definition[TYPE])
                if meant is not None and meant[0] == "inst" and meant[1:3] != owner[1:3]:
                    return self.member(("cls", *meant[1:3]), name)
        value = super().member(owner, name)
        if value in (None, EXTERNAL) and owner is not None and owner[0] == "inst" and name not in _STANDARD_METHODS:
            value = self.dereferenced(owner, name) or value
        if value is None and owner is not None and owner[0] == "inst" and name in _KEEPING:
            return ("fun", owner)
        return value

    def dereferenced(self, owner: Value, name: str) -> Value | None:
        """A member of what a type with an `impl Deref` in its file stands for."""
        foreign = set()
        for kind, _, scope in self.facts(owner[1]).bases.get(owner[2], ()):
            head = kind[1] if kind[0] == "G" else kind
            base = self.base_class(owner[1], scope, kind)
            if base is None or base[0] != "inst":
                foreign.add(head[-1])
        key = ("deref", *owner[1:3], name)
        if "Deref" not in foreign or not foreign <= _STANDARD_TRAITS or key in self._active:
            return None
        self._active.add(key)
        held = self.result(super().member(owner, "deref"))
        value = self.member(held, name) if held is not None and held[0] == "inst" else None
        self._active.discard(key)
        return value

    def module_around(self, module: Value) -> Value | None:
        """What `super` is to a module: the inline one around it, or the file that has it."""
        if module[0] == "mod":
            above = self.parent_of(module[1])
            return ("mod", above) if above else None
        scopes, scope = self.facts(module[1]).scopes, module[2]
        outer = scopes[scope][0]
        while outer > 0 and scopes[outer][2] != "m":
            outer = scopes[outer][0]
        return ("scope", module[1], outer) if outer > 0 else ("mod", module[1])

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        facts = self.facts(path)
        definition = facts.defs[number]
        named = facts.names[0].get(f"{definition[NAME]}.{name}", ())
        own = [b for b in named if b[0] == "d" and facts.defs[b[1]][PARENT] == number]
        if len(own) > 1:  # an inherent one goes before those of traits, and these are told apart by types
            own = [b for b in own if self.trait_of(path, b[1]) is None]
            if not own:
                return UNKNOWN
        if own:
            return self.defined(path, own[0][1])
        bindings = facts.names[definition[SCOPE]].get(name)
        if bindings and (bindings[0][0] != "tp" or bindings[0][2] < 0):
            return self.bound(path, definition[SCOPE], name, bindings)
        return self.implemented_elsewhere(path, number, name)

    def trait_of(self, path: str, number: int) -> tuple[Any, int] | None:
        """The trait whose implementation a method stands in, as written, and the scope of that."""
        definition = self.facts(path).defs[number]
        for kind, relation, scope in self.facts(path).bases.get(definition[PARENT], ()):
            if relation == "implements" and scope == definition[HOME]:
                return kind, scope
        return None

    def implemented(self, path: str, number: int) -> list[tuple[str, int]]:
        written = self.trait_of(path, number)
        trait = self.base_class(path, written[1], written[0]) if written is not None else None
        if trait is None or trait[0] not in ("cls", "inst"):
            return []
        facts = self.facts(trait[1])
        own = facts.names[facts.defs[trait[2]][SCOPE]].get(self.facts(path).defs[number][NAME], ())
        return [(trait[1], bound[1]) for bound in own if bound[0] == "d"]

    def implemented_elsewhere(self, path: str, number: int, name: str) -> Value | None:
        """A method of an `impl` in another file than its type's."""
        owner = self.facts(path).defs[number][NAME]
        self.keys.add(f"name:{name}")
        for other, method in self.named(name):
            facts = self.facts(other)
            definition = facts.defs[method]
            if f"of {owner}" in definition[FLAGS]:
                held = self.name(other, definition[HOME], "Self")
                if held is not None and held[1:3] == (path, number):
                    return ("fn", other, method, None)
        return None

    def result(self, function: Value | None) -> Value | None:
        if function is not None and function[0] == "var":  # a tuple variant makes its enum
            return plain(function)
        return super().result(function)

    def container_member(self, owner: Value, name: str) -> Value | None:
        if owner[0] == "tup" and name.isdecimal():
            return self.part(owner, int(name))
        if owner[0] == "seq":
            if name in ("map_err", "or_else", "ok_or", "ok_or_else"):
                return ("fun", owner[:2])
            if name == "err":
                return ("fun", ("seq", owner[2] if len(owner) > 2 else UNKNOWN))
            if name == "flatten":
                return ("fun", owner[1] if owner[1] is not None and owner[1][0] == "seq" else ("seq", UNKNOWN))
            if name == "enumerate":
                return ("fun", ("seq", ("tup", (EXTERNAL, owner[1] or UNKNOWN))))
            return ("fun", owner[1] if name in _ELEMENT else ("seq", UNKNOWN) if name in _CHANGING else owner)
        if owner[0] == "map":
            if name in ("get", "get_mut", "remove", "entry", "or_insert", "insert"):
                return ("fun", ("seq", owner[2]))
            if name in ("values", "values_mut", "into_values"):
                return ("fun", ("seq", owner[2]))
            if name in ("iter", "iter_mut", "into_iter", "drain"):
                return ("fun", ("seq", ("tup", (owner[1] or UNKNOWN, owner[2] or UNKNOWN))))
            return ("fun", ("seq", owner[1])) if name == "keys" else EXTERNAL
        return EXTERNAL

    def iterated(self, value: Value) -> Value | None:
        if value[0] == "map":
            return ("tup", (value[1] or UNKNOWN, value[2] or UNKNOWN))
        if value[0] == "inst":
            following = self.member(value, "next")
            made = self.result(following) if following is not None and following[0] == "fn" else None
            return made[1] if made is not None and made[0] == "seq" else value
        return super().iterated(value)

    def targets_of(self, value: Value | None) -> list[tuple[str, int]] | None:
        if value is not None and value[0] == "inst":
            return [(value[1], value[2])]
        return super().targets_of(value)


def _manifest(text: str | None) -> dict[str, Any]:
    """A Cargo.toml; an empty one where it can't be read."""
    from tomllib import TOMLDecodeError, loads

    try:
        return loads(text or "")
    except (TOMLDecodeError, RecursionError):
        return {}


def _table(holder: dict[str, Any], key: str) -> dict[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def _tables(found: Any) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _text(table: dict[str, Any], key: str) -> str:
    found = table.get(key)
    return found if isinstance(found, str) else ""


def _renamed(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """(what a dependency is called, its package) of each that a manifest gives another name, or its library has one."""
    holders = [manifest, *(t for t in _table(manifest, "target").values() if isinstance(t, dict))]
    found = []
    for holder in holders:
        for section in ("dependencies", "dev-dependencies", "build-dependencies"):
            for alias, given in _table(holder, section).items():
                package = _text(given, "package") if isinstance(given, dict) else ""
                if package:
                    found.append((alias.replace("-", "_"), package))
    return found
