"""The broad languages: their symbols, and calls within a file and through imports. One table for each.

A table says which nodes define, call, select members, assign and import; one walk and one resolver serve all.
Receivers are followed through `this`, class names, constructors and written types; generics, overloads and the
finer points of each language are not.
"""

from __future__ import annotations

import posixpath

from guilds_code.engines.graph.facts import END, FLAGS, KIND, PARENT, SCOPE
from guilds_code.engines.graph.languages import language_of
from guilds_code.engines.graph.languages.walk import DEPTH_MAX, Walk, parser
from guilds_code.engines.graph.resolve import CLASSES, EXTERNAL, UNKNOWN, Resolver, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tree_sitter import Node

    from guilds_code.engines.graph.facts import Binding, Expression, Facts
    from guilds_code.engines.graph.resolve import Value


class Table:
    """What the walk has to know of a language's grammar."""

    def __init__(
        self,
        grammar: str,
        *,
        function: str = "language",
        definitions: dict[str, str],
        calls: dict[str, str],
        members: dict[str, tuple[str, str]],
        names: tuple[str, ...] = ("identifier",),
        new: tuple[str, ...] = (),
        this: tuple[str, ...] = (),
        above: tuple[str, ...] = (),
        bases: tuple[str, ...] = (),
        typed: tuple[str, ...] = (),
        assigned: tuple[str, ...] = (),
        imports: tuple[str, ...] = (),
        package: tuple[str, ...] = (),
        class_scopes: bool = True,
        comments: tuple[str, ...] = ("comment",),
    ) -> None:
        self.grammar = grammar
        self.function = function
        self.definitions = definitions
        """Node → kind of symbol; its name is in the field `name`."""
        self.calls = calls
        """Node → the field of its callee, or "" for its first child."""
        self.members = members
        """Node → the fields of the owner and of the member's name; "" for the first and the last child."""
        self.names = frozenset(names)
        self.new = frozenset(new)
        self.this = frozenset(this)
        self.above = frozenset(above)
        self.bases = frozenset(bases)
        """Nodes inside a class that hold what it is derived from."""
        self.typed = frozenset(typed)
        """Nodes with a name and a type: parameters, fields, variables."""
        self.assigned = frozenset(assigned)
        """Nodes with a name and a value."""
        self.imports = frozenset(imports)
        self.package = frozenset(package)
        self.class_scopes = class_scopes
        self.comments = frozenset(comments)


TABLES = {
    "cpp": Table(
        "cpp",
        definitions={"function_definition": "function", "class_specifier": "class", "struct_specifier": "struct",
                     "enum_specifier": "enum", "union_specifier": "union", "alias_declaration": "type",
                     "namespace_definition": "namespace", "concept_definition": "type", "preproc_def": "macro",
                     "preproc_function_def": "macro", "type_definition": "type"},
        calls={"call_expression": "function"},
        members={"field_expression": ("argument", "field"), "qualified_identifier": ("scope", "name")},
        names=("identifier", "field_identifier", "type_identifier", "namespace_identifier"), new=("new_expression",),
        this=("this",), bases=("base_class_clause",), imports=("preproc_include",),
        typed=("parameter_declaration", "field_declaration", "declaration", "optional_parameter_declaration",
               "for_range_loop"),
    ),
    "csharp": Table(
        "c_sharp",
        definitions={"class_declaration": "class", "interface_declaration": "interface", "struct_declaration": "struct",
                     "record_declaration": "record", "enum_declaration": "enum", "method_declaration": "method",
                     "constructor_declaration": "method", "property_declaration": "property",
                     "local_function_statement": "function", "delegate_declaration": "type",
                     "record_struct_declaration": "record"},
        calls={"invocation_expression": "function"},
        members={"member_access_expression": ("expression", "name"), "qualified_name": ("qualifier", "name")},
        new=("object_creation_expression",), this=("this", "this_expression"), above=("base", "base_expression"),
        bases=("base_list",), imports=("using_directive",),
        typed=("parameter", "variable_declaration", "catch_declaration", "declaration_pattern",
               "declaration_expression"),
        package=("namespace_declaration", "file_scoped_namespace_declaration"),
    ),
    "php": Table(
        "php", function="language_php",
        definitions={"class_declaration": "class", "interface_declaration": "interface", "trait_declaration": "trait",
                     "enum_declaration": "enum", "function_definition": "function", "method_declaration": "method"},
        calls={"function_call_expression": "function", "member_call_expression": "name",
               "scoped_call_expression": "name", "nullsafe_member_call_expression": "name"},
        members={"member_access_expression": ("object", "name"), "class_constant_access_expression": ("", ""),
                 "scoped_property_access_expression": ("scope", "name"), "member_call_expression": ("object", "name"),
                 "scoped_call_expression": ("scope", "name"), "nullsafe_member_call_expression": ("object", "name")},
        names=("name", "variable_name", "qualified_name"), new=("object_creation_expression",),
        bases=("base_clause", "class_interface_clause", "use_declaration"), class_scopes=False,
        typed=("simple_parameter", "property_promotion_parameter", "property_declaration"),
        assigned=("assignment_expression",), imports=("namespace_use_declaration",), package=("namespace_definition",),
    ),
    "ruby": Table(
        "ruby",
        definitions={"class": "class", "module": "class", "method": "method", "singleton_method": "method"},
        calls={"call": "method"}, members={"call": ("receiver", "method"), "scope_resolution": ("scope", "name")},
        names=("identifier", "constant", "instance_variable"), this=("self",), above=("super",),
        bases=("superclass",), assigned=("assignment",),
    ),
    "kotlin": Table(
        "kotlin",
        definitions={"class_declaration": "class", "object_declaration": "object", "function_declaration": "function",
                     "companion_object": "object", "type_alias": "type"},
        calls={"call_expression": ""}, members={"navigation_expression": ("", "")}, this=("this_expression",),
        above=("super_expression",), bases=("delegation_specifiers",), imports=("import",),
        typed=("parameter", "class_parameter"), assigned=("property_declaration",), package=("package_header",),
        comments=("line_comment", "block_comment", "comment"),
    ),
    "swift": Table(
        "swift",
        definitions={"class_declaration": "class", "protocol_declaration": "protocol",
                     "function_declaration": "function", "init_declaration": "method",
                     "protocol_function_declaration": "method", "typealias_declaration": "type"},
        calls={"call_expression": ""}, members={"navigation_expression": ("target", "suffix")},
        names=("simple_identifier", "type_identifier"), this=("self_expression",), above=("super_expression",),
        bases=("inheritance_specifier",), typed=("parameter",), assigned=("property_declaration",),
        imports=("import_declaration",), comments=("comment", "multiline_comment"),
    ),
    "scala": Table(
        "scala",
        definitions={"class_definition": "class", "trait_definition": "trait", "object_definition": "object",
                     "function_definition": "function", "function_declaration": "function", "type_definition": "type",
                     "enum_definition": "enum", "given_definition": "object"},
        calls={"call_expression": "function", "generic_function": "function"},
        members={"field_expression": ("value", "field"), "stable_identifier": ("", ""),
                 "stable_type_identifier": ("", "")},
        names=("identifier", "type_identifier"), new=("instance_expression",), this=("this",), above=("super",),
        bases=("extends_clause",), typed=("parameter", "class_parameter"),
        assigned=("val_definition", "var_definition"),
        imports=("import_declaration",), package=("package_clause",), comments=("comment", "block_comment"),
    ),
    "elixir": Table(
        "elixir", definitions={}, calls={"call": "target"}, members={"dot": ("left", "right")},
        names=("identifier", "alias"), imports=(),
    ),
    "lua": Table(
        "lua", definitions={"function_declaration": "function"}, calls={"function_call": "name"},
        members={"dot_index_expression": ("table", "field"), "method_index_expression": ("table", "method")},
        assigned=("assignment_statement",), class_scopes=False,
    ),
    "dart": Table(
        "dart",
        definitions={"class_definition": "class", "mixin_declaration": "class", "enum_declaration": "enum",
                     "extension_declaration": "class", "function_signature": "function", "getter_signature": "method",
                     "setter_signature": "method", "constructor_signature": "method", "type_alias": "type",
                     "factory_constructor_signature": "method", "redirecting_factory_constructor_signature": "method",
                     "constant_constructor_signature": "method"},
        calls={}, members={}, names=("identifier", "type_identifier"), this=("this",), above=("super",),
        bases=("superclass", "interfaces", "mixins"), typed=("formal_parameter", "declaration"),
        assigned=("initialized_variable_definition",), imports=("library_import", "part_directive", "library_export"),
        comments=("comment", "documentation_comment"),
    ),
    "zig": Table(
        "zig", definitions={"function_declaration": "function"}, calls={"call_expression": "function"},
        members={"field_expression": ("object", "member")}, typed=("parameter",), assigned=("variable_declaration",),
        class_scopes=False,
    ),
    "bash": Table(
        "bash", definitions={"function_definition": "function"}, calls={"command": "name"}, members={},
        names=("command_name", "word"), class_scopes=False,
    ),
}  # fmt: skip
_ZIG_TYPES = {"struct_declaration": "struct", "enum_declaration": "enum", "union_declaration": "union",
              "opaque_declaration": "type"}  # fmt: skip
_LOCALS = {
    "lua": {"parameters": ("name",), "for_generic_clause": ("",), "for_numeric_clause": ("name",)},
    "kotlin": {"variable_declaration": ("",), "catch_block": ("",)},
    "cpp": {"structured_binding_declarator": ("*",)},
    "csharp": {"foreach_statement": ("left",), "lambda_expression": ("parameters",), "tuple_pattern": ("name",),
               "var_pattern": ("name",)},
    "swift": {**dict.fromkeys(("pattern", "if_statement", "guard_statement", "while_statement"), ("bound_identifier",)),
              "lambda_parameter": ("name",), "property_declaration": ("name",)},
    "scala": {"enumerator": ("",), "lambda_expression": ("parameters",), "case_clause": ("pattern",),
              "val_definition": ("pattern",)},
    "dart": {"for_loop_parts": ("name",), "catch_parameters": ("*",), "variable_pattern": ("*",)},
    "zig": {"payload": ("*",)},
    "ruby": {"for": ("pattern",), "exception_variable": ("*",), "left_assignment_list": ("*",)},
}  # fmt: skip
"""Language → node → the fields in which names are bound to something unknown; "" is the first child, "*" every one."""
_BLOCKS = {
    "lua": ("function_definition", "for_statement"),
    "kotlin": ("lambda_literal", "anonymous_function", "for_statement", "catch_block"),
    "cpp": ("lambda_expression", "for_range_loop", "for_statement", "catch_clause"),
    "csharp": ("lambda_expression", "anonymous_method_expression", "foreach_statement", "for_statement",
               "catch_clause"),
    "swift": ("lambda_literal", "for_statement", "catch_block"),
    "scala": ("lambda_expression", "for_expression", "case_clause"),
    "dart": ("function_expression", "for_statement"),
    "zig": ("for_statement", "if_statement", "while_statement"),
    "ruby": ("block", "do_block", "lambda"),
}  # fmt: skip
"""Language → nodes inside a function that open a scope for what they bind."""
_BINDING = frozenset(("identifier", "simple_identifier", "implicit_parameter"))
_SELF_NAMES = frozenset(("$this", "self", "static", "this", "Self", "@This()"))
_LITERALS = ("string", "integer", "float", "number", "number_literal", "string_literal", "integer_literal",
             "boolean_literal", "true", "false", "nil", "null", "null_literal")  # fmt: skip


def extract(source: bytes, path: str, language: str) -> Facts:  # noqa: ARG001
    """The facts of one file."""
    table = TABLES[language]
    walk = _Broad(source, language, table)
    parse = parser(f"tree_sitter_{table.grammar}", table.function).parse
    root = parse(source).root_node
    if language == "kotlin" and root.has_error:
        other = parse(_plainer(source)).root_node
        root = other if _lost_bytes(other) < _lost_bytes(root) else root
    walk.visit(root, 0)
    return walk.facts


def _plainer(source: bytes) -> bytes:
    """Kotlin of the same length without what its grammar can't read: `fun` before `interface`, and a member that ends
    on the line of the class's brace."""
    import re

    source = re.sub(rb"\bfun(?=[ \t]+interface\b)", b"   ", source)
    return re.sub(rb"(?<=[^\s{(;])[ \t]\}", b";}", source)


def _lost_bytes(node: Node) -> int:
    """How much of a tree is inside errors."""
    if node.type == "ERROR" or node.is_missing:
        return 1 + node.end_byte - node.start_byte
    return sum(_lost_bytes(child) for child in node.children if child.has_error or child.is_missing)


class _Broad(Walk):
    def __init__(self, source: bytes, language: str, table: Table) -> None:
        super().__init__(source)
        self.language = language
        self.table = table
        self.blocks = frozenset(_BLOCKS.get(language, ()))
        self.locals = _LOCALS.get(language, {})
        self.body = -1
        """Dart: the function's body, beside its signature, that is walked as a part of it."""

    def visit(self, node: Node, scope: int) -> None:
        """Walk a node."""
        kind = node.type
        table = self.table
        if kind in table.comments or kind in _LITERALS:
            return
        special = _SPECIAL.get((self.language, kind))
        if special is not None and special(self, node, scope):
            return
        prototype = kind == "parameter_list" and self.language == "cpp" and self.facts.scopes[scope][2] in "cm"
        if prototype or kind in self.blocks:
            scope = self.open_scope(scope, self.owner(scope), "l")
        if kind in self.locals:
            self.bind_locals(node, scope)
        if kind in table.definitions:
            self.definition(node, table.definitions[kind], scope)
            return
        if kind in table.package:
            self.package(node, scope)
            return
        if kind in table.imports:
            self.import_(node, scope)
            return
        if kind in table.calls:
            self.call(node, scope)
            return
        if kind in table.new:
            made = self.made(node)
            if made is not None:
                self.refer(scope, node.start_point[0] + 1, made, "calls")
        elif kind in table.typed:
            self.typed(node, scope)
        elif kind in table.assigned:
            self.assigned(node, scope)
        if self.language == "dart" and any(child.type == "selector" for child in node.children):
            self.selectors(node, scope)
            return
        for child in node.named_children:
            self.visit(child, scope)

    def bind_locals(self, node: Node, scope: int) -> None:
        """Bind the names that a parameter list, a loop, a pattern or the like brings, so that they hide others."""
        for field in self.locals[node.type]:
            held = node.named_children if field in ("", "*") else node.children_by_field_name(field)
            for name in [leaf for part in (held[:1] if field == "" else held) for leaf in _leaves(part, _BINDING)]:
                if self.language != "scala" or self.text(name)[:1].islower():  # else a constant in a pattern
                    self.hold(scope, self.text(name), ("?",))

    # definitions

    def definition(self, node: Node, kind: str, scope: int) -> None:
        named = node.child_by_field_name("name") or self.declared(node)
        if named is None:
            named = next((c for c in node.named_children if c.type in self.table.names), None)
        if named is None and kind == "object":
            named = node.children[0]
        if node.type.endswith("constructor_signature"):  # `K.of` is of
            named = next((c for c in reversed(node.children) if c.type == "identifier"), named)
        if named is None:
            for child in node.named_children:
                self.visit(child, scope)
            return
        name, owner = self.text(named), ""
        for separator in ("::", ".", ":"):
            if kind in ("function", "method") and separator in name:
                owner, name = (part.strip() for part in name.rsplit(separator, 1))
                owner = owner.rpartition(separator)[2].partition("<")[0]
                break
        body = node.child_by_field_name("body") or next(
            (c for c in node.named_children if c.type.endswith(("_body", "declaration_list", "block"))), None
        )
        if self.language == "cpp" and kind in ("class", "struct", "enum", "union") and body is None:
            return  # a mention of a type, no definition
        after = [c for c in node.children if c.start_byte >= named.end_byte]
        body = next((c for c in after if c == body or c.type == "end" or c.type in self.table.comments), body)
        holder = kind in CLASSES or kind == "namespace"
        in_class = self.facts.scopes[scope][2] == "c"
        if kind == "function" and in_class:
            kind = "method"
        kind = self.exact_kind(node, kind)
        parent = self.class_named(owner) if owner else None
        outer = self.outer(node)
        number = self.define(
            kind, name, node, scope, named=named, signature=self.signature(node, body).rstrip(" {=:;"),
            doc=self.comment_before(outer, self.table.comments.__contains__), returns=self.returned(node),
            flags=(f"of {owner}",) if owner and parent is None else self.flags(node),
            opens="c" if holder and kind != "type" else "f" if kind != "macro" else "", parent=parent,
        )  # fmt: skip
        self.bind(scope, f"{owner}.{name}" if owner and parent is None else name, ("d", number))
        if parent is not None:
            self.facts.fields.setdefault(parent, {}).setdefault(name, []).append((("d", number), scope))
        inner = self.facts.defs[number][SCOPE]
        around, self.current = self.current, number
        if owner:
            self.bind(inner, "this", ("t", ("n", owner)))
        for child in node.named_children:
            if child.type in self.table.bases:
                self.bases(child, number, inner)
            elif child.id != named.id and inner >= 0:
                self.visit(child, inner)
        held = outer.next_named_sibling if self.language == "dart" else None
        if held is not None and held.type == "function_body":
            self.facts.defs[number] = (*self.facts.defs[number][:END], held.end_point[0] + 1,
                                       *self.facts.defs[number][END + 1 :])  # fmt: skip
            self.body = held.id
            self.visit(held, inner)
            self.body = -1
        self.current = around

    def outer(self, node: Node) -> Node:
        """What stands beside a definition's comment, and in Dart beside its body."""
        around = node.parent
        if around is None:
            return node
        signature = self.language == "dart" and around.type in ("method_signature", "declaration")
        first = self.language == "ruby" and around.type == "body_statement" and node.prev_sibling is None
        return around if signature or first else node

    def declared(self, node: Node) -> Node | None:
        """The name inside a C-like declarator."""
        found = node.child_by_field_name("declarator")
        while found is not None and found.type not in self.table.names and found.type not in self.table.members:
            inner = found.child_by_field_name("declarator")
            if inner is None:
                inner = next((c for c in found.named_children if c.type.endswith(("identifier", "declarator"))), None)
            if found.type in ("destructor_name", "operator_name"):
                return found
            found = inner
        return found

    def exact_kind(self, node: Node, kind: str) -> str:
        words = {child.type for child in node.children}
        if self.language in ("kotlin", "swift") and kind == "class":
            for word in ("interface", "struct", "enum", "extension", "actor"):
                if word in words:
                    return "class" if word in ("extension", "actor") else word
        return kind

    def flags(self, node: Node) -> tuple[str, ...]:
        return ("property",) if node.type in ("getter_signature",) else ()

    def class_named(self, name: str) -> int | None:
        """The class, or the module's table, of this file that a qualified definition belongs to."""
        for scope in range(len(self.facts.names)):
            for bound in self.facts.names[scope].get(name, ()):
                if bound[0] == "d":
                    return int(bound[1])
        return None

    def returned(self, node: Node) -> Any:
        if node.type.endswith("constructor_signature"):
            return ("self",)
        for field in ("return_type", "returns", "type"):
            written = node.child_by_field_name(field)
            if written is not None:
                return self.kind(written)
        return None

    def bases(self, node: Node, number: int, scope: int) -> None:
        for child in node.named_children if node.type in self.table.bases else [node]:
            if child.type in self.table.bases:
                self.bases(child, number, scope)
                continue
            kind = self.kind(child)
            if kind is not None:
                self.facts.bases.setdefault(number, []).append((kind, "inherits", scope))
                self.refer(scope, child.start_point[0] + 1, kind, "inherits")

    def typed(self, node: Node, scope: int) -> None:
        written = node.child_by_field_name("type")
        named = node.child_by_field_name("name") or self.declared(node)
        parts = [c for c in node.named_children if c.type not in ("modifier", "attribute_list", "visibility_modifier")]
        if written is None and len(parts) > 1:  # Kotlin, Dart: by place
            written = parts[0] if self.language == "dart" else parts[1]
            plainly = next((c for c in reversed(parts) if c.type == "identifier"), parts[-1])
            named = named or (plainly if self.language == "dart" else parts[0])
        kind = self.kind(written) if written is not None else None
        if self.language == "swift" and kind is None:
            kind = next((self.kind(c) for c in node.named_children if c.type == "user_type"), None)
        values = [named] if named is not None else []
        for child in node.named_children:
            if child.type in ("variable_declarator", "property_element", "init_declarator"):
                inner = child.child_by_field_name("name") or self.declared(child)
                values = [inner] if inner is not None else values
                value = child.child_by_field_name("value") or (
                    child.named_children[-1] if child.named_child_count > 1 else None
                )
                made = self.expression(value) if value is not None else None
                if made is not None and (kind is None or kind[1] in ("var", "auto")):
                    kind = ("Q", made)
        if self.language == "dart":
            values = [c for n in values for c in (_leaves(n, _BINDING) if n.type != "identifier" else [n])]
        if self.language == "cpp" and node.type in ("field_declaration", "declaration"):
            self.prototype(node, scope)
        for name in values:
            if name is not None and (name.type in self.table.names or name.type == "variable_declaration"):
                self.hold(scope, self.text(name), ("t", kind) if kind is not None else ("?",))

    def prototype(self, node: Node, scope: int) -> None:
        """A method that a C++ class declares and defines elsewhere."""
        if self.facts.scopes[scope][2] != "c":
            return
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type in ("pointer_declarator", "reference_declarator"):
            declarator = declarator.named_children[-1] if declarator.named_child_count else None
        named = declarator.child_by_field_name("declarator") if declarator is not None else None
        if declarator is not None and declarator.type == "function_declarator" and named is not None:
            number = self.define(
                "method", self.text(named), node, scope, named=named, signature=self.signature(node, None).rstrip(";"),
                doc=self.comment_before(node, self.table.comments.__contains__), returns=self.returned(node),
                flags=("abstract",),
            )  # fmt: skip
            self.bind(scope, self.text(named), ("d", number))

    def assigned(self, node: Node, scope: int) -> None:
        left = (
            node.child_by_field_name("left") or node.child_by_field_name("name") or node.child_by_field_name("pattern")
        )
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        children = [c for c in node.named_children if c.type not in ("modifiers", "value_binding_pattern")]
        if left is None and children:
            left = children[0]
        if right is None and len(children) > 1 and children[-1].id != (left.id if left is not None else 0):
            right = children[-1]
        if left is None:
            return None
        if left.type in ("variable_list", "variable_declaration", "pattern") and left.named_child_count:
            written = left.named_children[1] if left.named_child_count > 1 and self.language == "kotlin" else None
            left = left.named_children[0]
        else:
            written = next((c for c in node.named_children if c.type in ("type_annotation", "user_type")), None)
        if right is not None and right.type == "expression_list" and right.named_child_count:
            right = right.named_children[0]
        declared = node.child_by_field_name("type") or written
        kind = self.kind(declared) if declared is not None else None
        made = self.expression(right)
        binding: Binding = ("t", kind) if kind is not None else ("v", made) if made is not None else ("?",)
        if left.type in self.table.members or self.text(left).startswith("@"):
            return self.assign_member(left, right, binding, scope)
        if left.type not in self.table.names:
            return None
        if self.language == "lua" and self.facts.scopes[scope][2] == "m" and self.text(left) not in self.facts.names[0]:
            number = self.define("variable", self.text(left), node, scope, named=left, signature=self.line(node))
            self.bind(scope, self.text(left), ("d", number))
            self.facts.names[scope][self.text(left)].append(binding)
            return None
        return self.hold(scope, self.text(left), binding)

    def assign_member(self, left: Node, right: Node | None, binding: Binding, scope: int) -> None:
        owner, named = self.split_member(left)
        target: int | None = None
        if self.text(left).startswith("@") or (owner is not None and self.text(owner) in _SELF_NAMES):
            target = self.class_of(scope)
        elif owner is not None:
            target = self.class_named(self.text(owner))
        name = self.text(left) if named is None else self.text(named).lstrip(".")
        if target is None or target < 0:
            return
        if right is not None and right.type == "function_definition":
            number = self.define("function", name, left.parent or left, scope, named=named, parent=target, opens="f",
                                 signature=self.signature(left, None) + " = function")  # fmt: skip
            binding = ("d", number)
        self.facts.fields.setdefault(target, {}).setdefault(name, []).append((binding, scope))

    def class_of(self, scope: int) -> int:
        while scope > 0:
            parent, number, kind = self.facts.scopes[scope]
            if kind == "c":
                return number
            scope = parent
        return -1

    def hold(self, scope: int, name: str, binding: Binding) -> None:
        """Bind a variable: of a class as its field, else in the scope."""
        if self.facts.scopes[scope][2] == "c":
            self.facts.fields.setdefault(self.owner(scope), {}).setdefault(name.lstrip("$"), []).append(
                (binding, scope)
            )
            if not self.table.class_scopes:
                return
        at = scope  # an assignment in a block is to the function's variable where it has one
        while self.facts.scopes[at][2] == "l" and name not in self.facts.names[at]:
            at = self.facts.scopes[at][0]
        if name in self.facts.names[at] and self.facts.scopes[at][2] in "fl":
            scope = at
        bound = self.facts.names[scope].setdefault(name, [])
        if len(bound) < 4 and not any(b[0] == "d" for b in bound):
            bound.append(binding)

    # imports

    def package(self, node: Node, scope: int) -> None:
        named = node.child_by_field_name("name") or (node.named_children[0] if node.named_child_count else None)
        if named is not None and not self.facts.package:
            self.facts.package = self.text(named).replace("\\", ".")
        for child in node.named_children:
            if named is None or child.id != named.id:
                self.visit(child, scope)

    def import_(self, node: Node, scope: int) -> None:
        line = node.start_point[0] + 1
        for module, name, own in _imported(self, node):
            if own:
                self.bind(scope, own, ("i", module, name or None))
            else:
                self.facts.stars.append(module)
            self.refer(scope, line, ("import", module, name or None), "imports")

    # references

    def call(self, node: Node, scope: int) -> None:
        field = self.table.calls[node.type]
        callee = (
            node.child_by_field_name(field) if field else node.named_children[0] if node.named_child_count else None
        )
        if callee is None:
            for child in node.named_children:
                self.visit(child, scope)
            return
        whole = (
            node
            if node.type in self.table.members and node.child_by_field_name(self.table.members[node.type][0])
            else callee
        )
        expression = self.expression(whole) if whole is callee else self.member_expression(node, 0)
        if expression is not None and not (self.language == "bash" and expression[1] in _BASH_BUILTINS):
            self.refer(scope, callee.end_point[0] + 1, expression, "calls")
        for child in node.named_children:
            if child.id != callee.id:
                self.visit(child, scope)
            elif child.type not in self.table.names:
                for inner in child.named_children:
                    self.visit(inner, scope)

    def selectors(self, node: Node, scope: int) -> None:
        """Dart: a chain of selectors after its start, as siblings."""
        current: Expression | None = None
        for child in node.children:
            if child.type != "selector":
                current = self.expression(child)
                if child.is_named:
                    self.visit(child, scope)
                continue
            inner = child.named_children[0] if child.named_child_count else None
            if inner is not None and inner.type.endswith("assignable_selector"):
                name = inner.named_children[-1] if inner.named_child_count else None
                current = ("a", current, self.text(name)) if current and name is not None else None
            elif inner is not None and inner.type == "argument_part":
                self.refer(scope, child.start_point[0] + 1, current, "calls")
                current = ("c", current) if current else None
                self.visit(inner, scope)

    # descriptions

    def expression(self, node: Node | None, depth: int = 0) -> Expression | None:
        """What can be said of an expression."""
        if node is None or depth > DEPTH_MAX:
            return None
        kind = node.type
        text = self.text(node) if node.end_byte - node.start_byte < 200 else ""
        if kind in self.table.this or text in _SELF_NAMES:
            return ("self",)
        if kind in self.table.above or text in ("parent", "super"):
            return ("s",)
        if kind in self.table.names:
            if text.startswith("@"):
                return ("a", ("self",), text)
            return ("n", text.lstrip("\\"))
        if kind in self.table.new:
            return self.made(node)
        if kind in self.table.calls:
            return self.call_expression(node, depth)
        if kind in self.table.members:
            return self.member_expression(node, depth)
        if kind == "builtin_function" and text.startswith("@import("):
            return ("import", text[8:-1].strip('"'), None)
        if (
            kind in ("parenthesized_expression", "await_expression", "template_function", "generic_name")
            and node.named_child_count
        ):
            return self.expression(node.named_children[0], depth + 1)
        if kind in ("struct_initializer",) and node.named_child_count:
            return ("t", ("n", self.text(node.named_children[0])))
        return ("ext",) if kind in _LITERALS else None

    def call_expression(self, node: Node, depth: int) -> Expression | None:
        field = self.table.calls[node.type]
        callee = (
            node.child_by_field_name(field) if field else node.named_children[0] if node.named_child_count else None
        )
        if self.language == "lua" and callee is not None and self.text(callee) == "require":
            return ("import", self.text(node.named_children[-1]).strip("()\"' "), None)
        owner_field = self.table.members.get(node.type, ("", ""))[0]
        if owner_field and node.child_by_field_name(owner_field) is not None:
            inner = self.member_expression(node, depth)
            if inner is not None and self.language == "ruby" and inner[2] == "new":
                return ("c", inner[1])
        else:
            inner = self.expression(callee, depth + 1)
        return ("c", inner) if inner else None

    def member_expression(self, node: Node, depth: int) -> Expression | None:
        owner, named = self.split_member(node)
        if named is None:
            return None
        name = self.text(named).lstrip(".?!").lstrip("$") if self.language != "ruby" else self.text(named)
        if named.type in self.table.members:  # A::B::c in C++: the name is qualified in turn
            return self.expression(named, depth + 1)
        if named.type in ("template_function", "generic_name", "template_method") and named.named_child_count:
            name = self.text(named.named_children[0])
        inner = self.expression(owner, depth + 1)
        return ("a", inner, name) if inner else None

    def split_member(self, node: Node) -> tuple[Node | None, Node | None]:
        fields = self.table.members.get(node.type)
        if fields is None or node.named_child_count < 1:
            return None, None
        if not fields[0]:
            return (node.named_children[0], node.named_children[-1]) if node.named_child_count > 1 else (None, None)
        return node.child_by_field_name(fields[0]), node.child_by_field_name(fields[1])

    def made(self, node: Node) -> Expression | None:
        """What `new` makes."""
        written = node.child_by_field_name("type") or (node.named_children[0] if node.named_child_count else None)
        kind = self.kind(written) if written is not None else None
        return ("c", kind) if kind is not None else None

    def kind(self, node: Node, depth: int = 0) -> Any:
        """The class that a written type names; of several, of containers and of pointers the first."""
        if depth > 6:
            return None
        text = self.text(node) if node.end_byte - node.start_byte < 200 else ""
        if text in ("self", "static", "Self"):
            return ("self",)
        if node.type in self.table.names or node.type in ("identifier", "type_identifier", "name", "constant"):
            return ("n", text.lstrip("\\"))
        if node.type in self.table.members or node.type in ("qualified_name", "scoped_type_identifier"):
            parts = [part for part in text.replace("::", ".").replace("\\", ".").split(".") if part]
            return ("n", parts[-1]) if parts and parts[-1].isidentifier() else None
        for child in node.named_children:
            if child.type not in ("modifiers", "type_modifiers", "value_arguments", "arguments", "annotation"):
                found = self.kind(child, depth + 1)
                if found is not None:
                    return found
        return None


_BASH_BUILTINS = frozenset(
    ("echo", "cd", "exit", "return", "local", "export", "set", "shift", "test", "printf", "read", "eval", "exec",
     "trap", "true", "false", "[", "[[", "unset", "wait", "kill", "type", "command", "cat", "grep", "sed", "awk")
)  # fmt: skip


def _imported(walk: _Broad, node: Node) -> list[tuple[str, str, str]]:
    """(module, name, own name) of an import; no own name for one that brings in everything."""
    text = " ".join(walk.text(node).split()).rstrip(";")
    if walk.language == "cpp":
        path = node.child_by_field_name("path")
        return [(walk.text(path).strip('"<>'), "", "")] if path is not None else []
    if walk.language == "dart":
        quoted = text.replace('"', "'").split("'")
        alias = text.partition(" as ")[2].partition(" ")[0]
        return [(quoted[1], "", alias)] if len(quoted) > 1 else []
    if walk.language == "swift":
        return [(text.split()[-1], "", "")]
    if walk.language == "csharp":
        text = text.removeprefix("global ").removeprefix("using ").removeprefix("static ")
        alias, equals, target = text.partition("=")
        if equals:
            module, _, name = target.strip().rpartition(".")
            return [(module, name, alias.strip())]
        return [(text, "", "")]
    if walk.language == "php":
        text = text.removeprefix("use ").removeprefix("function ").removeprefix("const ")
        prefix, brace, inner = text.partition("{")
        found = []
        for one in inner.rstrip("}").split(",") if brace else text.split(","):
            whole, _, alias = (prefix * bool(brace) + one.strip()).strip("\\ ").partition(" as ")
            module, _, name = whole.rpartition("\\")
            found.append((module.replace("\\", "."), name, alias.strip() or name))
        return found
    text = text.removeprefix("import ").strip()  # Kotlin, Scala
    found = []
    prefix, brace, inner = text.partition("{")
    if brace:
        for one in inner.rstrip("}").split(","):
            name, _, alias = one.strip().replace(" as ", "=>").partition("=>")
            found.append((prefix.rstrip("."), name.strip(), alias.strip() or name.strip()))
    else:
        whole, _, alias = text.partition(" as ")
        module, _, name = whole.strip().rpartition(".")
        found.append((module, name, alias.strip() or name))
    return [(module, "", "") if name in ("*", "_") else (module, name, own) for module, name, own in found]


def _elixir(walk: _Broad, node: Node, scope: int) -> bool:
    """Elixir's definitions and imports are calls."""
    target = node.child_by_field_name("target")
    word = walk.text(target) if target is not None and target.type == "identifier" else ""
    arguments = next((c for c in node.named_children if c.type == "arguments"), None)
    first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    if first is None or word not in _ELIXIR_WORDS:
        return False
    line = node.start_point[0] + 1
    if word in ("alias", "import", "use", "require"):
        module = walk.text(first)
        if first.type == "alias":
            if word in ("import", "use"):
                walk.facts.stars.append(module)
            if word == "alias":
                walk.bind(scope, module.rpartition(".")[2], ("i", module, None))
            walk.refer(scope, line, ("import", module, None), "imports")
        return first.type == "alias"
    head = first.named_children[0] if first.type == "binary_operator" and first.named_child_count else first
    named = (head.child_by_field_name("target") or head) if head.type == "call" else head
    name = walk.text(named)
    body = next((c for c in node.named_children if c.type == "do_block"), None)
    kind = "class" if word in ("defmodule", "defprotocol", "defimpl") else "function"
    existing = walk.facts.names[scope].get(name)
    number = walk.define(
        kind, name, node, scope, named=named, signature=walk.signature(node, body),
        doc=walk.comment_before(node, lambda k: k == "comment"), opens="c" if kind == "class" else "f",
    )  # fmt: skip
    if not existing:
        walk.bind(scope, name, ("d", number))
    inner = walk.facts.defs[number][SCOPE]
    around, walk.current = walk.current, number
    for child in node.named_children:
        if child.id not in (target.id if target is not None else 0, arguments.id if arguments is not None else 0):
            walk.visit(child, inner)
        elif arguments is not None and child.id == arguments.id:
            for part in arguments.named_children[1:]:
                walk.visit(part, inner)
    walk.current = around
    return True


_ELIXIR_WORDS = frozenset(
    ("defmodule", "defprotocol", "defimpl", "def", "defp", "defmacro", "defmacrop", "defguard", "alias", "import",
     "use", "require")
)  # fmt: skip


def _ruby_call(walk: _Broad, node: Node, scope: int) -> bool:
    """`require`, `include` and their like are calls in Ruby."""
    method = node.child_by_field_name("method")
    word = walk.text(method) if method is not None else ""
    arguments = node.child_by_field_name("arguments")
    given = arguments.named_children if arguments is not None else []
    if node.child_by_field_name("receiver") is not None or not given:
        return False
    if word in ("require", "require_relative"):
        module = walk.text(given[0]).strip("'\"")
        module = ("./" if word == "require_relative" and not module.startswith(".") else "") + module
        walk.facts.stars.append(module)
        walk.refer(scope, node.start_point[0] + 1, ("import", module, None), "imports")
        return True
    if word in ("include", "extend", "prepend") and walk.facts.scopes[scope][2] == "c":
        for one in given:
            kind = walk.kind(one)
            if kind is not None:
                walk.facts.bases.setdefault(walk.owner(scope), []).append((kind, "inherits", scope))
                walk.refer(scope, node.start_point[0] + 1, kind, "inherits")
        return True
    return False


def _ruby_name(walk: _Broad, node: Node, scope: int) -> bool:
    """A bare word that is no local variable is a call without arguments."""
    inner = scope
    while inner > 0 and walk.facts.scopes[inner][2] != "c":
        if walk.text(node) in walk.facts.names[inner]:
            return True
        inner = walk.facts.scopes[inner][0]
    parent = node.parent
    if parent is not None and not parent.type.endswith(("parameters", "parameter")):
        walk.refer(scope, node.start_point[0] + 1, ("n", walk.text(node)), "calls")
    elif parent is not None:
        walk.bind(scope, walk.text(node), ("?",))
    return True


def _zig_variable(walk: _Broad, node: Node, scope: int) -> bool:
    """`const Name = struct {…}` defines a type."""
    value = node.named_children[-1] if node.named_child_count > 1 else None
    named = next((c for c in node.named_children if c.type == "identifier"), None)
    if value is None or named is None or value.type not in _ZIG_TYPES:
        return False
    name = walk.text(named)
    number = walk.define(
        _ZIG_TYPES[value.type], name, node, scope, named=named, opens="c",
        signature=walk.signature(node, value.named_children[0] if value.named_child_count else None).rstrip(" {"),
        doc=walk.comment_before(node, lambda k: k == "comment"),
    )  # fmt: skip
    walk.bind(scope, name, ("d", number))
    inner = walk.facts.defs[number][SCOPE]
    around, walk.current = walk.current, number
    for child in value.named_children:
        walk.visit(child, inner)
    walk.current = around
    return True


def _lua_return(walk: _Broad, node: Node, scope: int) -> bool:
    """What a module returns is what `require` gives."""
    if walk.facts.scopes[scope][2] == "m" and node.named_child_count:
        value = node.named_children[0]
        made = walk.expression(value.named_children[0] if value.named_child_count else value)
        if made is not None:
            walk.facts.exports["="] = ("v", made)
    return False


def _bash_command(walk: _Broad, node: Node, scope: int) -> bool:
    """`source` brings in another file's functions."""
    name, argument = node.child_by_field_name("name"), node.child_by_field_name("argument")
    if name is None or argument is None or walk.text(name) not in ("source", "."):
        return False
    module = walk.text(argument).strip("\"'")
    walk.facts.stars.append(module)
    walk.refer(scope, node.start_point[0] + 1, ("import", module, None), "imports")
    return True


def _dart_body(walk: _Broad, node: Node, scope: int) -> bool:  # noqa: ARG001
    """A body is walked with its signature."""
    return node.id != walk.body


_SPECIAL: dict[tuple[str, str], Any] = {
    ("dart", "function_body"): _dart_body,
    ("elixir", "call"): _elixir,
    ("ruby", "call"): _ruby_call,
    ("ruby", "identifier"): _ruby_name,
    ("zig", "variable_declaration"): _zig_variable,
    ("lua", "return_statement"): _lua_return,
    ("bash", "command"): _bash_command,
}


def _leaves(node: Node, kinds: frozenset[str]) -> list[Node]:
    if node.type in kinds:
        return [node]
    return [found for child in node.named_children for found in _leaves(child, kinds)]


class Semantics(Resolver):
    """Imports by file or by package, members of classes, and the names that a file sees through them."""

    def prepare(self) -> None:
        first = min((path for path in self.paths if not path.endswith(".h")), default="")
        self.language = language_of(first) or "cpp"
        self.CLASS_SCOPES = TABLES[self.language].class_scopes
        self.by_package: dict[str, list[str]] = {}
        self.by_name: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            package = self.packages.get(path, "")
            if package:
                self.by_package.setdefault(package, []).append(path)
            self.by_name.setdefault(path.rpartition("/")[2].partition(".")[0], []).append(path)
        self.modules: dict[str, tuple[str, int]] | None = None

    # imports

    def imported(self, path: str, module: str, name: str | None) -> Value | None:
        if self.language == "elixir":
            return self.elixir_module(module)
        found = self.file(path, module)
        if found is not None:
            whole = self.facts(found).exports.get("=")
            value = plain(self.evaluate(found, 0, whole[1])) or self.evaluate(found, 0, whole[1]) if whole else None
            value = value or ("mod", found)
            return value if name is None else self.member(value, name)
        if module in self.by_package:
            self.keys.add(f"package:{module}")
            return self.member(("pkg", module), name) if name is not None else ("pkg", module)
        self.keys.add(f"package:{module}")
        return EXTERNAL

    def elixir_module(self, module: str) -> Value | None:
        if self.modules is None:
            self.modules = {}
            for path in sorted(self.paths):
                facts = self.facts(path)
                for number, qualified in enumerate(facts.qualified()):
                    if facts.defs[number][KIND] == "class":
                        self.modules.setdefault(qualified, (path, number))
        self.on.update(self.paths)
        found = self.modules.get(module)
        return ("cls", *found) if found is not None else EXTERNAL

    def file(self, path: str, module: str) -> str | None:
        """The file that an import names by path."""
        if self.language not in _BY_FILE:
            return None
        last = module.rpartition("/")[2]
        self.keys.update((last, last.partition(".")[0]))
        folder = posixpath.dirname(path)
        if self.language == "lua":
            module = module.replace(".", "/")
        if module.startswith("package:"):
            module = "lib/" + module[8:].partition("/")[2]
        for ending in ("", *_BY_FILE[self.language]):
            for base in (folder, ""):
                candidate = posixpath.normpath(posixpath.join(base, module + ending))
                if candidate in self.paths:
                    return candidate
        if module.startswith("."):
            return None
        suffixes = tuple(f"/{module}{ending}" for ending in ("", *_BY_FILE[self.language]))
        found = [p for p in self.by_name.get(last.partition(".")[0], ()) if f"/{p}".endswith(suffixes)]
        return min(found, key=lambda p: (p.count("/"), p)) if len(found) == 1 else None

    def package_member(self, key: str, name: str) -> Value | None:
        self.keys.add(f"package:{key}")
        return self.join(self.module_member(path, name) for path in self.by_package.get(key, ()))

    def module_member(self, path: str, name: str) -> Value | None:
        bindings = [b for b in self.facts(path).names[0].get(name, ()) if b[0] == "d"]
        if bindings:
            return self.bound(path, 0, name, bindings)
        for number, definition in enumerate(self.facts(path).defs):
            if definition[1] == name and definition[PARENT] >= 0:
                around = self.facts(path).defs[definition[PARENT]]
                if around[KIND] == "namespace":
                    return self.defined(path, number)
        return None

    # names

    def beyond(self, path: str, scope: int, name: str) -> Value | None:
        facts = self.facts(path)
        owner = self.receiver(path, scope)
        if owner is not None and self.CLASS_SCOPES:
            value = self.member(owner, name)
            if value is not None and value != EXTERNAL:
                return value
        if self.language == "elixir":
            return self.elixir_name(path, name)
        seen: set[str] = {path}
        pending = list(facts.stars)
        at = path
        for module in pending:
            found = self.file(at, module)
            if found is not None and found not in seen:
                seen.add(found)
                value = self.module_member(found, name)
                if value is not None:
                    return value
                if self.language == "cpp":  # what an included file includes is there too
                    pending.extend(self.facts(found).stars)
                    source = self.sibling(found)
                    value = self.module_member(source, name) if source is not None else None
                    if value is not None:
                        return value
            elif module in self.by_package:
                value = self.member(("pkg", module), name)
                if value is not None:
                    return value
            if len(seen) > 200:
                break
        package = self.packages.get(path, "")
        if package:
            value = self.member(("pkg", package), name)
            if value is not None:
                return value
        if self.language == "swift":
            return self.swift_name(path, name)
        return None

    def elixir_name(self, path: str, name: str) -> Value | None:
        if name[:1].isupper():
            return self.elixir_module(name)
        for module in self.facts(path).stars:
            owner = self.elixir_module(module)
            value = self.member(owner, name) if owner != EXTERNAL else None
            if value is not None:
                return value
        return None

    def swift_name(self, path: str, name: str) -> Value | None:
        """The files of one target see each other; a target is a folder of `Sources` or `Tests`."""
        parts = path.split("/")
        target = "/".join(parts[:2]) if parts[0] in ("Sources", "Tests") else parts[0] if len(parts) > 1 else ""
        folders = [target, *(f"Sources/{module}" for module in self.facts(path).stars)]
        self.keys.update(folder.rpartition("/")[2] for folder in folders)
        found = (
            self.module_member(other, name)
            for other in sorted(self.paths)
            if other != path and any(other.startswith(folder + "/") for folder in folders if folder)
        )
        return self.join(found)

    def sibling(self, path: str) -> str | None:
        """The source file of a header."""
        stem = path.rpartition(".")[0]
        return next((stem + e for e in (".cpp", ".cc", ".cxx") if stem + e in self.paths), None)

    def receiver(self, path: str, scope: int) -> Value | None:
        """What `this` is in a function that is defined outside its class."""
        facts = self.facts(path)
        while scope > 0:
            if "this" in facts.names[scope]:
                return self.binding(path, scope, "this", facts.names[scope]["this"][0])
            scope = facts.scopes[scope][0]
        return None

    # values

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        if expression[0] == "self":
            around = self.class_around(path, scope)
            if around >= 0:
                return ("inst", path, around, ())
            return self.receiver(path, scope) or self.table_of(path, scope)
        return super()._evaluate(path, scope, expression)

    def table_of(self, path: str, scope: int) -> Value | None:
        """Lua: `self` in `function M:name()` is M."""
        facts = self.facts(path)
        while scope > 0:
            parent, number, kind = facts.scopes[scope]
            if kind == "f" and facts.defs[number][PARENT] >= 0:
                return self.defined(path, facts.defs[number][PARENT])
            scope = parent
        return None

    def member(self, owner: Value | None, name: str) -> Value | None:
        if owner is not None and owner[0] == "var":
            field = self.facts(owner[1]).fields.get(owner[2], {}).get(name)
            if field:
                return self.join(self.binding(owner[1], scope, name, b) for b, scope in field)
        value = super().member(owner, name)
        if (
            value is None
            and owner is not None
            and owner[0] == "cls"
            and name in ("new", "init", "make", "sharedInstance")
        ):
            return None
        return value

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        if binding[0] == "v":
            return self.evaluate(path, scope, binding[1])
        return super().binding(path, scope, name, binding)

    def instance(self, path: str, scope: int, kind: Any, depth: int = 0) -> Value | None:
        if kind is not None and kind[0] == "self":
            around = self.class_around(path, scope)
            return ("inst", path, around, ()) if around >= 0 else None
        return super().instance(path, scope, kind, depth)

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        value = super().own_member(path, number, name)
        if value is None and self.language == "cpp":
            found = self.facts(path).names[0].get(f"{self.facts(path).defs[number][1]}.{name}")
            value = self.bound(path, 0, name, found) if found else None
        return value

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        value = plain(self.evaluate(path, self.facts(path).scopes[scope][0], expression))
        return value if value != UNKNOWN else None

    def is_property(self, function: Value) -> bool:
        return "property" in self.facts(function[1]).defs[function[2]][FLAGS]


_BY_FILE = {
    "cpp": (),
    "ruby": (".rb",),
    "lua": (".lua", "/init.lua"),
    "dart": (),
    "zig": (),
    "bash": (),
}
"""Languages whose imports name files, and the endings that they leave out."""
