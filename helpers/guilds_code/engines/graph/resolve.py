"""Resolver: which definition an expression of one file leads to, through any number of files.

A lazy, memoised evaluator over facts. What a language adds (its imports, its scopes beyond a file, its implicit
members) stands in that language's subclass. An answer is a definition the language's rules lead to, or none: a
name that merely is unique is never taken for one. It reads no source and writes nothing.

Values are tuples: ("mod", path) ("pkg", key) ("cls", path, definition) ("inst", path, definition, arguments)
("fn", path, definition, receiver) ("var", path, definition, value) ("seq", value) ("map", key, value)
("tup", (values)) ("fun", value) a callable giving it, ("gen", value) a generator of it, ("any", (values)),
("sup", path, definition) super, ("scope", path, scope) a namespace, ("par", path, definition, position) a type
parameter, EXTERNAL, LITERAL and UNKNOWN. None: the expression leads nowhere that we know.
"""

from __future__ import annotations

from guilds_code.engines.graph.facts import FLAGS, HOME, KIND, NAME, PARENT, SCOPE, TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from guilds_code.engines.graph.facts import Binding, Definition, Expression, Facts

    Value = tuple[Any, ...]
    Target = tuple[str, int]

EXTERNAL = ("ext",)
"""Surely none of the repository's."""
LITERAL = ("lit",)
"""The same, with all that its members and calls give: what a literal or a built-in function makes."""
UNKNOWN = ("unk",)
"""Bound here, to something that can't be told."""
NOTHING = (EXTERNAL, LITERAL, UNKNOWN)
"""What leads to no definition."""
SELF = ("selftype",)
DEPTH_MAX = 80
"""Evaluations under way at once; deeper than any chain met in practice, and far from Python's own limit."""
ANY_MAX = 5
"""Alternatives that a union keeps."""
CLASSES = frozenset(("class", "interface", "struct", "enum", "trait", "type", "union", "record", "object", "protocol"))
ABSTRACT = frozenset(("interface", "trait", "protocol"))


class Edges:
    """What one file's references lead to, and what that answer depends on."""

    __slots__ = ("found", "keys", "loose", "on")

    def __init__(self) -> None:
        self.found: dict[tuple[int, str, int, str], list[int]] = {}
        """(source definition, target's file, target definition, relation) → lines."""
        self.loose: dict[tuple[int, str], list[int]] = {}
        """(source definition, member's name) → lines, where the receiver is not known."""
        self.on: set[str] = set()
        """Files whose facts were read."""
        self.keys: set[str] = set()
        """Names of modules that were looked for; a file that comes or goes under one changes the answer."""


class Resolver:
    """Evaluates the expressions of one language's files. `load` gives a file's facts without its references."""

    CALL = ""
    """The method that makes an instance callable."""
    CLASS_SCOPES = False
    """Whether bare names reach the members of the classes around them."""
    EMPTY_BASES: frozenset[str] = frozenset()
    """Foreign bases that have no members which matter."""
    LOOSE = "a"
    """The forms of expressions whose calls are kept by name when it can't be told what they lead to."""
    ITERATE: tuple[str, ...] = ()
    INDEX: tuple[str, ...] = ()
    CONSTRUCTORS: tuple[str, ...] = ()

    def __init__(
        self,
        load: Callable[[str], Facts],
        paths: Iterable[str],
        listed: Iterable[str],
        text: Callable[[str], str | None],
        packages: dict[str, str],
        named: Callable[[str], list[Target]],
    ) -> None:
        self.named = named
        """Gives where a name is defined, over all files of the language, in order of path and place."""
        self._load = load
        self.packages = packages
        """Path → the package that the file says it is in, of every file."""
        self.paths = frozenset(paths)
        """The files of this language."""
        self.listed = listed
        """Every file of the repository."""
        self.text = text
        """Gives the text of one of them, for configuration."""
        self._loaded: dict[str, Facts] = {}
        self._kept: dict[Any, tuple[Value | None, set[str], set[str]]] = {}
        self._passing: dict[Any, tuple[Value | None, set[str], set[str]]] = {}
        self._active: set[Any] = set()
        self._local: dict[Any, Value | None] = {}
        self._cycles = 0
        self.on: set[str] = set()
        self.keys: set[str] = set()
        self.prepare()

    def prepare(self) -> None:
        """What a language derives from the list of files."""

    # the way in

    def edges(self, path: str, refs: list[tuple[int, int, int, Expression, str]]) -> Edges:
        """Resolve a file's references, its inheritance and its implementations."""
        edges = Edges()
        self.on, self.keys, self._local = edges.on, edges.keys, {}
        found, loose = edges.found, edges.loose
        facts = self.facts(path)
        for source, scope, line, expression, relation in refs:
            targets = self.targets(path, scope, expression)
            self._passing.clear()
            if targets:
                for target_path, target in targets:
                    if target_path == path and target == source and relation == "uses":
                        continue
                    edges.on.add(target_path)  # a module's own edge too goes when the module is made anew
                    related = self.relation_to(relation, target_path, target)
                    lines = found.setdefault((source, target_path, target, related), [])
                    if line not in lines:
                        lines.append(line)
            elif relation == "calls" and targets is None and expression[0] in self.LOOSE:
                name = expression[2] if expression[0] == "a" else expression[1]
                lines = loose.setdefault((source, name.partition("(")[0]), [])
                if line not in lines:
                    lines.append(line)
        for number, definition in enumerate(facts.defs):
            if definition[KIND] == "method" and definition[PARENT] >= 0:
                for target_path, target in self.implemented(path, number):
                    found.setdefault((number, target_path, target, "implements"), []).append(definition[5])
            self._passing.clear()
        edges.on.discard(path)
        return edges

    def targets(self, path: str, scope: int, expression: Expression) -> list[Target] | None:
        """The definitions that an expression names: [] for something foreign, None when it can't be told."""
        if expression[0] == "a":
            owner = self.evaluate(path, scope, expression[1])
            if owner is None or owner == UNKNOWN:
                return None
            value = self.member(owner, expression[2])
            if value is None and owner[0] == "inst":
                return None
        else:
            value = self.evaluate(path, scope, expression)
        return self.targets_of(value)

    def targets_of(self, value: Value | None) -> list[Target] | None:
        if value is None:
            return None
        tag = value[0]
        if tag in ("fn", "cls", "var"):
            return [(value[1], value[2])]
        if tag == "mod":
            return [(value[1], -1)]
        if tag == "any":
            return [target for part in value[1] for target in self.targets_of(part) or ()]
        return None if value == UNKNOWN else []

    def relation_to(self, relation: str, path: str, number: int) -> str:  # noqa: ARG002
        """The relation that a reference has to this target."""
        return relation

    def implemented(self, path: str, number: int) -> list[Target]:
        """The abstract methods that a method implements."""
        definition = self.facts(path).defs[number]
        found = []
        above = self.ancestors(path, definition[PARENT])[0][1:] if "static" not in definition[FLAGS] else ()
        for owner_path, owner in above:
            facts = self.facts(owner_path)
            for bound in facts.names[facts.defs[owner][SCOPE]].get(definition[NAME], ()):
                if bound[0] == "d":
                    inherited = facts.defs[bound[1]]
                    abstract = facts.defs[owner][KIND] in ABSTRACT or "abstract" in inherited[FLAGS]
                    if abstract or "abstractmethod" in inherited[FLAGS]:
                        found.append((owner_path, bound[1]))
        return found

    # facts, memory, cycles

    def facts(self, path: str) -> Facts:
        """A file's facts; whoever asks depends on that file."""
        self.on.add(path)
        facts = self._loaded.get(path)
        if facts is None:
            facts = self._loaded[path] = self._load(path)
        return facts

    def once(self, key: Any, function: Callable[..., Value | None], *arguments: Any) -> Value | None:
        """`function(*arguments)`, remembered over files, with what it depends on.

        What was reached through a cycle holds for this one question only: from another start the cycle closes
        elsewhere, and the answers to a question must not depend on the questions before it.
        """
        entry = self._kept.get(key)
        if entry is None and key in self._passing:
            entry = self._passing[key]
            self._cycles += 1
        if entry is not None:
            self.on |= entry[1]
            self.keys |= entry[2]
            return entry[0]
        if key in self._active or len(self._active) > DEPTH_MAX:
            self._cycles += 1
            return None
        outer = self.on, self.keys, self._local
        self.on, self.keys, self._local = set(), set(), {}
        cycles = self._cycles
        self._active.add(key)
        value = function(*arguments)
        self._active.discard(key)
        entry = (value, self.on, self.keys)
        (self._kept if cycles == self._cycles else self._passing)[key] = entry
        self.on, self.keys, self._local = outer
        self.on |= entry[1]
        self.keys |= entry[2]
        return value

    # expressions

    def evaluate(self, path: str, scope: int, expression: Expression | None) -> Value | None:
        """What an expression stands for."""
        if expression is None:
            return None
        key = (path, scope, expression)
        if key in self._local:
            return self._local[key]
        if key in self._active or len(self._active) > DEPTH_MAX:
            self._cycles += 1
            return None
        cycles = self._cycles
        self._active.add(key)
        value = self._evaluate(path, scope, expression)
        self._active.discard(key)
        if cycles == self._cycles:
            self._local[key] = value
        return value

    def _evaluate(self, path: str, scope: int, expression: Expression) -> Value | None:
        tag = expression[0]
        if tag == "n":
            if len(expression) > 2:
                return self.name_bound_again(path, scope, expression[1], expression[2])
            return self.name(path, scope, expression[1])
        if tag == "import":
            return self.imported(path, expression[1], expression[2])
        if tag == "d":
            return self.defined(path, expression[1])
        if tag == "t":
            return self.instance(path, scope, expression[1])
        if tag == "ext":
            return EXTERNAL if expression[-1] == "container" else LITERAL
        if tag == "u":
            return self.join(self.evaluate(path, scope, part) for part in expression[1:])
        if tag == "tup":
            return ("tup", tuple(self.evaluate(path, scope, part) or UNKNOWN for part in expression[1:]))
        if tag == "map":
            key, value = (self.evaluate(path, scope, part) for part in expression[1:])
            return ("map", key, value)
        if tag in ("self", "s"):
            around = self.class_around(path, scope)
            if around < 0:
                return None
            return ("sup", path, around) if tag == "s" else ("inst", path, around, ())
        inner = plain(self.evaluate(path, scope, expression[1]))
        if tag == "a":
            return self.attribute(inner, expression[2])
        if tag == "c":
            if inner == EXTERNAL:
                return self.foreign(expression[1])
            if inner is None or len(expression) == 2:
                return self.result(inner)
            inner = self.chosen(path, scope, inner, expression[2])
            return self.inferred(path, scope, inner, self.result(inner), expression)
        if tag in ("seq", "fun"):
            return (tag, inner)
        if tag == "yield":
            return ("gen", inner)
        if tag == "y":
            return self.awaited(inner)
        if inner is None or inner in NOTHING:
            return inner
        if tag == "i":
            return self.each(inner, self.indexed)
        if tag == "e":
            return self.each(inner, self.iterated)
        if tag == "k":
            return self.each(inner, self.keyed)
        if tag == "x":
            return self.part(inner, expression[2])
        if tag == "w":
            return self.each(inner, self.entered)
        if tag == "class":
            return ("cls", *inner[1:3]) if inner[0] == "inst" else None
        return None

    def each(self, value: Value, function: Callable[[Value], Value | None]) -> Value | None:
        """The function of a value, or of each alternative."""
        if value[0] == "any":
            return self.join(function(part) for part in value[1])
        return function(value)

    def join(self, values: Iterable[Value | None]) -> Value | None:
        """One of several: the known ones, else what is least sure of those that lead nowhere."""
        known: list[Value] = []
        rest: Value | None = None
        for value in values:
            if value is None:
                continue
            if value[0] == "any":
                known.extend(part for part in value[1] if part not in known)
            elif value in NOTHING:
                rest = next(one for one in (EXTERNAL, UNKNOWN, LITERAL) if one in (rest, value))
            elif value not in known:
                known.append(value)
        if not known:
            return rest
        return known[0] if len(known) == 1 else ("any", tuple(known[:ANY_MAX]))

    # names

    def name(self, path: str, scope: int, name: str) -> Value | None:
        """A bare name, from the scope outwards, then what the language finds beyond the file's scopes."""
        facts = self.facts(path)
        scopes, names, start = facts.scopes, facts.names, scope
        while scope >= 0:
            parent, definition, kind = scopes[scope]
            bindings = names[scope].get(name)
            if bindings is not None and (kind != "c" or scope == start or self.CLASS_SCOPES):
                return self.bound(path, scope, name, bindings) or UNKNOWN
            if kind == "c" and self.CLASS_SCOPES:
                value = self.class_member(path, definition, name)
                if value is not None and value != EXTERNAL:
                    return with_receiver(value, ("inst", path, definition, ()))
            scope = parent
        return self.beyond(path, start, name)

    def name_bound_again(self, path: str, scope: int, name: str, first: int) -> Value | None:
        """A local name from its binding number `first` on; a declaration before it helps where those don't tell."""
        facts = self.facts(path)
        while name not in facts.names[scope]:
            scope = facts.scopes[scope][0]
        bindings = facts.names[scope][name]
        value = self.bound(path, scope, name, bindings[first:])
        if value is None or value == UNKNOWN:
            declared = [b for b in bindings[:first] if b[0] in "pt" and b[1] is not None]
            value = self.join(self.binding(path, scope, name, b) for b in declared)
        return value or UNKNOWN

    def type_name(self, path: str, scope: int, name: str) -> Value | None:
        """A bare name where a type stands; the same namespace in most languages."""
        return self.name(path, scope, name)

    def beyond(self, path: str, scope: int, name: str) -> Value | None:  # noqa: ARG002
        """A name that no scope of the file binds."""
        return None

    def bound(self, path: str, scope: int, name: str, bindings: list[Binding]) -> Value | None:
        """What a name's bindings in one scope come to."""
        first = bindings[0]
        if len(bindings) == 1 and first[0] != "d":
            return self.binding(path, scope, name, first)
        defs = self.facts(path).defs
        chosen = -1
        for binding in bindings:
            if binding[0] == "d":
                flags = defs[binding[1]][FLAGS]
                if chosen < 0 or not ("overload" in flags or "property" in defs[chosen][FLAGS]):
                    chosen = binding[1]
        if chosen < 0:
            return self.join(self.binding(path, scope, name, binding) for binding in bindings)
        if defs[chosen][KIND] in VARIABLES:
            rest = [binding for binding in bindings if binding[0] != "d"]
            value = self.variable(path, scope, chosen, rest)
            if value is not None and value[0] in ("mod", "pkg", "fn") and all(b[0] == "i" for b in rest):
                return value
            return ("var", path, chosen, value)
        others = [binding for binding in bindings if binding[0] == "i"]
        if defs[chosen][KIND] in CLASSES:  # `if TYPE_CHECKING: class … else: class …`
            others += [b for b in bindings if b[0] == "d" and b[1] != chosen and defs[b[1]][KIND] in CLASSES]
        return self.join([self.defined(path, chosen), *(self.binding(path, scope, name, b) for b in others)])

    def variable(self, path: str, scope: int, number: int, bindings: list[Binding]) -> Value | None:
        """What a variable holds: its declared type, else what is assigned to it."""
        declared = self.facts(path).defs[number][TYPE]
        if declared is not None:
            return self.instance(path, scope, declared)
        name = self.facts(path).defs[number][NAME]
        typed = [binding for binding in bindings if binding[0] == "t"]
        return self.join(self.binding(path, scope, name, binding) for binding in typed or bindings)

    def binding(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:
        """What one binding comes to."""
        tag = binding[0]
        if tag == "d":
            return self.defined(path, binding[1])
        if tag == "v":
            return plain(self.evaluate(path, scope, binding[1]))
        if tag == "t":
            return self.instance(path, scope, binding[1])
        if tag == "i":
            return self.imported(path, binding[1], binding[2])
        if tag == "p":
            return self.parameter(path, scope, name, binding)
        if tag == "tp":
            return ("par", path, binding[1], binding[2])
        if tag == "scope":
            return ("scope", path, binding[1])
        return UNKNOWN

    def defined(self, path: str, number: int) -> Value | None:
        """A definition as a value."""
        definition = self.facts(path).defs[number]
        kind = definition[KIND]
        if kind in CLASSES:
            return ("cls", path, number)
        if kind in VARIABLES:
            return ("var", path, number, self.variable(path, definition[HOME], number, []))
        if kind in ("module", "namespace"):
            return ("scope", path, definition[SCOPE])
        return ("fn", path, number, None)

    def parameter(self, path: str, scope: int, name: str, binding: Binding) -> Value | None:  # noqa: ARG002
        """A parameter: its declared type, else its default."""
        if binding[1] is not None:
            return self.instance(path, scope, binding[1])
        return plain(self.evaluate(path, scope, binding[2])) or UNKNOWN

    def imported(self, path: str, module: str, name: str | None) -> Value | None:
        """A module, or the member `name` of it; EXTERNAL when it is none of the repository's."""
        raise NotImplementedError

    def class_around(self, path: str, scope: int) -> int:
        """The class whose body a scope lies in, or -1."""
        facts = self.facts(path)
        while scope > 0:
            parent, definition, kind = facts.scopes[scope]
            if kind == "c":
                return definition
            scope = parent
        return -1

    # members

    def attribute(self, owner: Value | None, name: str) -> Value | None:
        """A member's value: a property is what it returns."""
        value = self.member(owner, name)
        if value is not None and value[0] == "any":
            return self.join(self._got(part) for part in value[1])
        return self._got(value)

    def _got(self, value: Value | None) -> Value | None:
        if value is not None and value[0] == "fn" and self.is_property(value):
            return self.result(value)
        return plain(value)

    def is_property(self, function: Value) -> bool:
        """Whether reading the member calls it."""
        return "property" in self.facts(function[1]).defs[function[2]][FLAGS]

    def member(self, owner: Value | None, name: str) -> Value | None:
        """The definition or value that an owner has under a name, properties as functions."""
        if owner is None or owner == UNKNOWN:
            return None
        tag = owner[0]
        if tag in ("ext", "lit"):
            return owner
        if tag in ("inst", "cls"):
            value = self.class_member(owner[1], owner[2], name)
            return self.substituted(with_receiver(value, owner), owner) if value is not None else None
        if tag == "any":
            return self.join(self.member(part, name) for part in owner[1])
        if tag == "var":
            return self.member(owner[3], name)
        if tag == "sup":
            value = self.super_member(owner[1], owner[2], name)
            return with_receiver(value, ("inst", *owner[1:3], ())) if value is not None else None
        if tag == "mod":
            return self.once(("m", owner[1], name), self.module_member, owner[1], name)
        if tag == "pkg":
            return self.once(("k", owner[1], name), self.package_member, owner[1], name)
        if tag == "scope":
            bindings = self.facts(owner[1]).names[owner[2]].get(name)
            return self.bound(owner[1], owner[2], name, bindings) if bindings else None
        if tag == "par":
            return self.member(self.parameter_bound(owner), name)
        return self.container_member(owner, name)

    def parameter_bound(self, parameter: Value) -> Value | None:  # noqa: ARG002
        """What a type parameter must be."""
        return None

    def module_member(self, path: str, name: str) -> Value | None:
        """A name that a module gives to others."""
        bindings = self.facts(path).names[0].get(name)
        return self.bound(path, 0, name, bindings) if bindings else None

    def package_member(self, key: str, name: str) -> Value | None:  # noqa: ARG002
        """A name in a package of several files."""
        return None

    def container_member(self, owner: Value, name: str) -> Value | None:  # noqa: ARG002
        """A member of a built-in container or callable."""
        return EXTERNAL

    def class_member(self, path: str, number: int, name: str) -> Value | None:
        """A member through the hierarchy. EXTERNAL when only a foreign base can have it."""
        return self.once(("c", path, number, name), self._class_member, path, number, name, 0)

    def super_member(self, path: str, number: int, name: str) -> Value | None:
        """A member of what a class is derived from."""
        return self.once(("s", path, number, name), self._class_member, path, number, name, 1)

    def _class_member(self, path: str, number: int, name: str, skipped: int) -> Value | None:
        classes, foreign = self.ancestors(path, number)
        behind = self.behind_foreign(path, number)
        bound = False
        for owner_path, owner in classes[skipped:]:
            value = self.own_member(owner_path, owner, name)
            if value is not None and value != UNKNOWN:
                hidden = bound and value[0] in ("fn", "any") and not self.is_read(value)
                return UNKNOWN if hidden or (owner_path, owner) in behind else value
            bound = bound or value is not None
        if bound:
            return UNKNOWN
        return EXTERNAL if foreign else None

    def is_read(self, value: Value) -> bool:
        """Whether all of these are members that an assignment to the instance sets rather than hides."""
        parts = value[1] if value[0] == "any" else (value,)
        return all(part[0] != "fn" or self.is_property(part) for part in parts)

    def own_member(self, path: str, number: int, name: str) -> Value | None:
        """What the class itself has under a name."""
        facts = self.facts(path)
        scope = facts.defs[number][SCOPE]
        bindings = facts.names[scope].get(name) if scope >= 0 else None
        value = self.bound(path, scope, name, bindings) or UNKNOWN if bindings else None
        if value is None or value == UNKNOWN or value[0] == "var":
            fields = facts.fields.get(number, {}).get(name)
            if fields and (value is None or value == UNKNOWN or value[3] in (None, *NOTHING)):
                held = self.join(self.binding(path, inner, name, b) or UNKNOWN for b, inner in fields)
                return ("var", path, value[2], held) if value is not None and value[0] == "var" else held
        return value

    def ancestors(self, path: str, number: int) -> tuple[list[Target], bool]:
        """The class and what it is derived from, nearest first, and whether a base is foreign or unknown."""
        key = ("h", path, number)
        found = self.once(key, self._ancestors, path, number)
        return (list(found[0]), found[1]) if found is not None else ([(path, number)], True)

    def behind_foreign(self, path: str, number: int) -> frozenset[Target]:
        """Those of its ancestors that come after a base which we can't see into, and which may have any member."""
        found = self.once(("h", path, number), self._ancestors, path, number)
        return found[2] if found is not None else frozenset()

    def _ancestors(self, path: str, number: int) -> Value | None:
        order: list[Target] = [(path, number)]
        foreign = hiding = False
        behind: set[Target] = set()
        for expression, relation, scope in self.facts(path).bases.get(number, ()):
            base = self.base_class(path, scope, expression)
            for part in base[1] if base is not None and base[0] == "any" else (base,):
                if part is None or part[0] not in ("cls", "inst"):
                    foreign = True
                    head = expression[1] if expression[0] == "G" else expression
                    hiding = hiding or (relation == "inherits" and head[-1] not in self.EMPTY_BASES)
                elif (part[1], part[2]) != (path, number):
                    above, unknown = self.ancestors(part[1], part[2])
                    foreign = foreign or unknown
                    order = [owner for owner in order if owner not in above] + above
                    if hiding:
                        behind.update(above)
                    behind |= self.behind_foreign(part[1], part[2])
                    hiding = hiding or self.hides(part[1], part[2])
        return (tuple(order), foreign, frozenset(behind), hiding)

    def hides(self, path: str, number: int) -> bool:
        """Whether a class may have any member, from a base which we can't see into."""
        found = self.once(("h", path, number), self._ancestors, path, number)
        return found is not None and found[3]

    def base_class(self, path: str, scope: int, expression: Expression) -> Value | None:
        """What a base stands for."""
        return plain(self.evaluate(path, scope, expression))

    # calls

    def result(self, function: Value | None) -> Value | None:
        """What calling a value gives."""
        if function is None:
            return None
        tag = function[0]
        if tag == "fn":
            return self.returned(function)
        if tag == "cls":
            return self.constructed(function)
        if tag == "fun":
            return function[1]  # type: ignore[no-any-return]
        if tag == "var":
            return self.result(function[3])
        if tag == "any":
            return self.join(self.result(part) for part in function[1])
        if tag == "inst" and self.CALL:
            called = self.member(function, self.CALL)
            return self.result(called) if called is not None and called[0] in ("fn", "fun") else None
        return UNKNOWN if tag == "ext" else function if tag == "lit" else None

    def foreign(self, function: Expression) -> Value:  # noqa: ARG002
        """What calling something foreign gives: what it was given, of the repository, for all we know."""
        return UNKNOWN

    def constructed(self, owner: Value) -> Value | None:
        """An instance of a class."""
        return ("inst", owner[1], owner[2], ())

    def returned(self, function: Value) -> Value | None:
        """What a function returns, by its declared type or by its return statements."""
        value = self.once(("r", *function[1:]), self._returned, function)
        return self.substituted(value, function[3])

    def _returned(self, function: Value) -> Value | None:
        _, path, number, receiver = function
        facts = self.facts(path)
        definition = facts.defs[number]
        if definition[TYPE] is not None:
            scope = self.signature_scope(definition)
            value = self.instance(path, scope, definition[TYPE])
            return self.concrete(value, receiver, path, scope)
        found = []
        for expression, inner in facts.returns.get(number, ()):
            value = self.of_receiver(path, number, expression, receiver) if receiver is not None else None
            found.append(value if value is not None else plain(self.evaluate(path, inner, expression)))
        return self.join(found)

    def signature_scope(self, definition: Definition) -> int:
        """Where the types of a function's parameters and results are looked up."""
        return int(definition[SCOPE] if definition[SCOPE] >= 0 else definition[HOME])

    def of_receiver(self, path: str, number: int, expression: Expression, receiver: Value) -> Value | None:
        """What a method returns as far as that is what it is called on."""
        return receiver if self.is_self(path, number, expression) else None

    def concrete(self, value: Value | None, receiver: Value | None, path: str, scope: int) -> Value | None:
        """The value with the receiver's own type for Self."""
        if value == SELF:
            if receiver is not None:
                return ("inst", *receiver[1:3], ()) if receiver[0] == "cls" else receiver
            around = self.class_around(path, scope)
            return ("inst", path, around, ()) if around >= 0 else None
        if value is not None and value[0] in ("seq", "gen", "fun") and value[1] == SELF:
            return (value[0], self.concrete(SELF, receiver, path, scope))
        return value

    def is_self(self, path: str, number: int, expression: Expression) -> bool:
        """Whether an expression is the method's own receiver."""
        if expression == ("self",):
            return True
        definition = self.facts(path).defs[number]
        if expression[0] != "n" or definition[KIND] != "method":
            return False
        bindings = self.facts(path).names[definition[SCOPE]].get(expression[1], [("?",)])
        return bindings[0][0] == "p" and bindings[0][3] == 0 and "staticmethod" not in definition[FLAGS]

    def substituted(self, value: Value | None, receiver: Value | None) -> Value | None:
        """The value with the receiver's type arguments in place of its class's type parameters."""
        if value is None or receiver is None or receiver[0] not in ("inst", "cls") or value[0] in ("fn", "ext", "cls"):
            return value

        def argument(parameter: Value) -> Value:
            given = self.arguments_of(receiver, parameter[1], parameter[2])
            return given[parameter[3]] if 0 <= parameter[3] < len(given) else parameter

        return self.replaced(value, argument)

    def replaced(self, value: Value | None, argument: Callable[[Value], Value]) -> Value | None:
        """The value with something in place of each type parameter."""
        if value is None:
            return None
        tag = value[0]
        if tag == "par":
            return argument(value)
        if tag in ("seq", "fun", "gen", "prom"):
            return (tag, self.replaced(value[1], argument), *value[2:])
        if tag == "map":
            return (tag, self.replaced(value[1], argument), self.replaced(value[2], argument))
        if tag == "tup":
            return (tag, tuple(self.replaced(part, argument) or UNKNOWN for part in value[1]))
        if tag == "any":
            return self.join(self.replaced(part, argument) for part in value[1])
        if tag == "inst" and value[3]:
            return (*value[:3], tuple(self.replaced(part, argument) for part in value[3]))
        if tag == "var":
            return (*value[:3], self.replaced(value[3], argument))
        return value

    def chosen(self, path: str, scope: int, function: Value, given: Expression | None) -> Value:  # noqa: ARG002
        """The function that is called, where several of a name are told apart by the first argument."""
        return function

    def inferred(
        self, path: str, scope: int, function: Value | None, made: Value | None, expression: Expression
    ) -> Value | None:
        """What a call gives, with what its first argument tells of the function's own type parameters."""
        given = expression[2]
        if function is None or function[0] != "fn" or given is None or not has_parameter(made):
            return made
        where, inner = function[1], self.facts(function[1]).defs[function[2]][SCOPE]
        first = self.first_parameter(function)
        names = self.facts(where).names[inner] if inner >= 0 else {}
        kind = next((b[1] for bound in names.values() for b in bound if b[0] == "p" and b[3] == first), None)
        value = plain(self.evaluate(path, scope, given)) if kind is not None else None
        if value is None:
            return made
        return self.replaced(made, lambda parameter: self.told(where, inner, kind, value, parameter) or parameter)

    def first_parameter(self, function: Value) -> int:  # noqa: ARG002
        """The position of the parameter that a call's first argument is for."""
        return 0

    def told(self, path: str, scope: int, kind: Any, value: Value | None, parameter: Value) -> Value | None:
        """What a type parameter stands for, where a value was given for something of the type `kind`."""
        if kind is None or value is None or value in (EXTERNAL, UNKNOWN):  # a literal tells something
            return None
        tag, inner = kind[0], kind[1] if len(kind) > 1 else None
        if tag in ("n", "a"):
            return value if self.instance(path, scope, kind) == parameter else None
        if tag == "U":
            return next(filter(None, (self.told(path, scope, part, value, parameter) for part in kind[1:])), None)
        if tag == "G":
            held = value[3] if value[0] == "inst" else ()
            pairs = (self.told(path, scope, k, v, parameter) for k, v in zip(kind[2], held, strict=False))
            return next(filter(None, pairs), None)
        if tag in ("T", "C"):
            made = self.each(value, self.constructed) if value[0] in ("cls", "any") else None
        elif tag in ("S", "Y"):
            made = self.each(value, self.iterated)
        elif tag == "F":
            made = self.result(value)
        else:
            return None
        return self.told(path, scope, inner, made, parameter)

    def arguments_of(self, receiver: Value, path: str, number: int) -> tuple[Any, ...]:
        """The type arguments that an instance has for a class, its own or one above it."""
        if receiver[1:3] == (path, number) or (path, number) not in self.ancestors(receiver[1], receiver[2])[0]:
            own: tuple[Any, ...] = receiver[3] if len(receiver) > 3 else ()
            return own if receiver[1:3] == (path, number) else ()
        for kind, _, scope in self.facts(receiver[1]).bases.get(receiver[2], ()):
            if kind[0] == "G":
                base = self.substituted(self.instance(receiver[1], scope, kind), receiver)
            else:
                base = self.base_class(receiver[1], scope, kind)
            if base is not None and base[0] in ("inst", "cls"):
                above = base if base[0] == "inst" else ("inst", *base[1:], ())
                if above[1:3] == receiver[1:3]:
                    continue
                found = self.arguments_of(above, path, number)
                if found:
                    return found
        return ()

    def awaited(self, value: Value | None) -> Value | None:
        """What awaiting gives; async functions are taken to give their result at once."""
        return value

    # types

    def instance(self, path: str, scope: int, kind: Any, depth: int = 0) -> Value | None:
        """An instance of a written type."""
        if kind is None or depth > DEPTH_MAX:
            return None
        key = ("I", path, scope, kind)
        if key in self._local:
            return self._local[key]
        if key in self._active or len(self._active) > DEPTH_MAX:
            self._cycles += 1
            return None
        cycles = self._cycles
        self._active.add(key)
        value = self._instance(path, scope, kind, depth)
        self._active.discard(key)
        if cycles == self._cycles:
            self._local[key] = value
        return value

    def _instance(self, path: str, scope: int, kind: Any, depth: int) -> Value | None:
        tag = kind[0]
        if tag == "n":
            return self.instantiated(self.type_name(path, scope, kind[1]), ())
        if tag == "a":
            return self.instantiated(self.type_member(path, scope, kind), ())
        if tag == "G":
            arguments = tuple(self.instance(path, scope, part, depth + 1) or UNKNOWN for part in kind[2])
            return self.generic(path, scope, kind[1], arguments)
        if tag == "U":
            return self.join(self.instance(path, scope, part, depth + 1) for part in kind[1:])
        if tag == "R":
            return ("tup", tuple(self.instance(path, scope, part, depth + 1) or UNKNOWN for part in kind[1:]))
        if tag == "T":
            inner = self.instance(path, scope, kind[1], depth + 1)
            return ("cls", *inner[1:3]) if inner is not None and inner[0] == "inst" else inner
        if tag == "M":
            return (
                "map",
                self.instance(path, scope, kind[1], depth + 1),
                self.instance(path, scope, kind[2], depth + 1),
            )
        if tag == "self":
            return SELF
        if tag == "Q":
            return plain(self.evaluate(path, scope, kind[1]))
        inner = self.instance(path, scope, kind[1], depth + 1) if len(kind) > 1 else None
        return ({"S": "seq", "F": "fun", "Y": "gen"}[tag], inner)

    def type_member(self, path: str, scope: int, kind: Any) -> Value | None:
        """A qualified type's name as a value."""
        owner = self.type_name(path, scope, kind[1][1]) if kind[1][0] == "n" else self.type_member(path, scope, kind[1])
        return self.member(plain(owner), kind[2])

    def generic(self, path: str, scope: int, base: Any, arguments: tuple[Value, ...]) -> Value | None:
        """A type with arguments."""
        owner = self.type_name(path, scope, base[1]) if base[0] == "n" else self.type_member(path, scope, base)
        return self.instantiated(owner, arguments)

    def instantiated(self, owner: Value | None, arguments: tuple[Value, ...]) -> Value | None:
        """An instance of a class that a type's name stands for."""
        if owner is None:
            return None
        tag = owner[0]
        if tag == "cls":
            return ("inst", owner[1], owner[2], arguments)
        if tag == "var":
            return self.instantiated(owner[3], arguments)
        if tag == "any":
            return self.join(self.instantiated(part, arguments) for part in owner[1])
        return owner if tag in ("ext", "unk", "par", "inst", "seq", "map", "fun", "tup") else None

    # containers

    def indexed(self, value: Value) -> Value | None:
        """What `value[…]` gives."""
        if value[0] == "map":
            return value[2]  # type: ignore[no-any-return]
        if value[0] == "inst":
            return self._protocol(value, self.INDEX)
        return self.iterated(value)

    def iterated(self, value: Value) -> Value | None:
        """What a loop over the value gives."""
        tag = value[0]
        if tag in ("seq", "gen", "map"):
            return value[1]  # type: ignore[no-any-return]
        if tag == "tup":
            return self.join(value[1])
        if tag == "inst":
            made = self._protocol(value, self.ITERATE)
            return made[1] if made is not None and made[0] in ("gen", "seq") else None
        return None

    def keyed(self, value: Value) -> Value | None:
        """The key that a loop over the value gives first."""
        return value[1] if value[0] == "map" else EXTERNAL

    def _protocol(self, value: Value, names: tuple[str, ...]) -> Value | None:
        for name in names:
            method = self.member(value, name)
            if method is not None and method[0] == "fn":
                return self.result(method)
        return None

    def part(self, value: Value, position: int) -> Value | None:
        """The n-th of several."""
        if value[0] == "tup":
            return value[1][position] if position < len(value[1]) else None
        return self.each(value, self.iterated)

    def entered(self, value: Value) -> Value | None:
        """What `with` binds."""
        return value


VARIABLES = frozenset(("variable", "constant", "field", "property", "macro"))


def plain(value: Value | None) -> Value | None:
    """What a variable holds, in place of the variable."""
    while value is not None and value[0] == "var":
        value = value[3]
    return value


def has_parameter(value: Any) -> bool:
    """Whether a value mentions a type parameter."""
    if not isinstance(value, tuple) or not value:
        return False
    parts = value if isinstance(value[0], tuple) else value[1:]  # several values, or one
    return value[0] == "par" or (value[0] not in ("fn", "cls") and any(has_parameter(part) for part in parts))


def with_receiver(value: Value, receiver: Value) -> Value:
    """A method bound to what it was taken of."""
    if value[0] == "fn" and value[3] is None:
        return (*value[:3], receiver)
    if value[0] == "any":
        return ("any", tuple(with_receiver(part, receiver) for part in value[1]))
    return value
