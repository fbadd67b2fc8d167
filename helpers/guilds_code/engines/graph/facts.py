"""Facts: what one source file says by itself, as plain values that `marshal` can store.

An extractor of `languages/` makes them from bytes, the resolver reads them. Nothing here knows a language, a
store or another file.

Expressions, the value side (what stands for an object at run time):
    ("n", name)            a name, looked up by lexical scope
    ("n", name, n)         the same where its first n bindings no longer count
    ("a", e, name)         an attribute or member
    ("c", e)               the result of a call, or of `new`
    ("c", e, given)        the same, with its first argument; then the type arguments that are written, if any
    ("i", e)  ("e", e)     what an index into `e` gives, what a loop over it gives
    ("k", e)               the key that a loop over `e` gives first
    ("x", e, n)            the n-th of several results
    ("w", e)               what a `with` (or the like) binds
    ("y", e)               what awaiting gives
    ("u", e, ...)          one of these
    ("s",)  ("self",)      super, and this/self where it is a keyword
    ("t", type)            an instance of a type, as a cast or a composite literal says
    ("d", number)          a definition of this file
    ("seq", e) ("map", k, v) ("tup", e, ...) ("fun", e)    literals
    ("ext",)               something that is surely none of the repository's, as a literal is
    ("ext", "container")   a container of we don't know what
Types are written ("n", name), ("a", t, name), ("G", t, (arguments, ...)), ("S", t) sequence, ("M", k, v) map,
("F", t) function that returns t, ("C", t) constructor, ("U", t, ...) one of these, ("T", t) the class itself,
("R", t, ...) several results, ("Y", t) what a generator yields, ("Q", e) the type of a value, ("self",).
Bindings of a name in a scope: ("d", definition) ("v", expression) ("v", expression, scope it stands in) ("t", type)
("p", type, default, position) ("tp", definition, position, ...) type parameter ("i", module, name or None for the
module itself) ("?",) bound to something unknown.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Expression = tuple[Any, ...]
    Binding = tuple[Any, ...]
    Definition = tuple[Any, ...]

# the places in a definition
KIND, NAME, PARENT, START, END, LINE, SIGNATURE, DOC, SCOPE, TYPE, FLAGS, HOME, SHAPE = range(13)
# KIND: class, function, method, …; PARENT: the definition around it or -1; LINE: where the name stands;
# SCOPE: the scope it opens or -1; TYPE: what it returns or is, or None; FLAGS: a tuple of words;
# HOME: the scope that it stands in; SHAPE: parameter and result types, normalised, where interfaces need it.


class Facts:
    """One file's facts. `outside` is what other files can ask for, `refs` only the file itself."""

    __slots__ = (
        "bases",
        "defs",
        "exports",
        "fields",
        "names",
        "package",
        "refs",
        "returns",
        "scopes",
        "stars",
    )

    def __init__(self) -> None:
        self.defs: list[Definition] = []
        self.scopes: list[tuple[int, int, str]] = [(-1, -1, "m")]
        """(parent, definition, kind): m module, c class, f function, b block."""
        self.names: list[dict[str, list[Binding]]] = [{}]
        self.bases: dict[int, list[tuple[Expression, str, int]]] = {}
        """class → (expression, relation, scope) in order."""
        self.fields: dict[int, dict[str, list[tuple[Binding, int]]]] = {}
        """class → name → (binding, scope): what methods assign to the instance, struct fields."""
        self.returns: dict[int, list[tuple[Expression, int]]] = {}
        """function → (expression, scope)."""
        self.stars: list[str] = []
        self.exports: dict[str, Binding] = {}
        self.package: str = ""
        self.refs: list[tuple[int, int, int, Expression, str]] = []
        """(definition that refers or -1, scope, line, expression, relation)."""

    def outside(self) -> bytes:
        """What other files can ask for, stored."""
        from marshal import dumps

        kept = [self.defs, self.scopes, self.names, self.bases, self.fields, self.returns, self.stars]
        return dumps([*kept, self.exports, self.package])

    @classmethod
    def of(cls, outside: bytes) -> Facts:
        """The facts without `refs`, from what `outside` gave."""
        from marshal import loads

        facts = cls()
        (
            facts.defs,
            facts.scopes,
            facts.names,
            facts.bases,
            facts.fields,
            facts.returns,
            facts.stars,
            facts.exports,
            facts.package,
        ) = loads(outside)
        return facts

    def qualified(self) -> list[str]:
        """The name of each definition within the file, with those around it: `Flask.route`."""
        names: list[str] = []
        for definition in self.defs:
            parent, flags = definition[PARENT], definition[FLAGS]
            around = names[parent] if parent >= 0 else ""
            owner = flags[0][3:] if flags and flags[0][:3] == "of " else ""  # of another file, or another place of this
            names.append(".".join(filter(None, (around, owner, definition[NAME]))))
        return names

    def interface(self) -> bytes:
        """A hash of what other files' edges can depend on: no lines, and of bodies only what results show.

        An inferred result depends on the local names that its expression mentions, so these are in it too,
        closed over what they mention in turn. Scopes are named by their definition, since their numbers move
        when a lambda is added.
        """
        from hashlib import blake2b

        own = self.qualified()
        defs = [(d[KIND], q, d[SIGNATURE], d[TYPE], d[FLAGS], d[SHAPE]) for d, q in zip(self.defs, own, strict=True)]
        visible = [
            (kind, own[definition] if definition >= 0 else "", sorted(self.names[number].items()))
            for number, (_, definition, kind) in enumerate(self.scopes)
            if kind in "mcot"
        ]
        results: list[object] = []
        for number, found in sorted(self.returns.items()):
            if self.defs[number][TYPE] is None:
                results.append((own[number], [e for e, _ in found], self._local(e for e in found)))
        for number, named in sorted(self.fields.items()):
            for name, bound in sorted(named.items()):
                local = self._local((b[1] if len(b) > 1 else (), scope) for b, scope in bound)
                results.append((own[number], name, [b for b, _ in bound], local))
        bases = [(own[i], [(e, r) for e, r, _ in found]) for i, found in sorted(self.bases.items())]
        whole = (defs, visible, results, bases, self.stars, sorted(self.exports.items()), self.package)
        return blake2b(repr(whole).encode("utf-8", "surrogatepass"), digest_size=12).digest()

    def _local(self, found: Any) -> list[tuple[str, list[Binding]]]:
        """The bindings in function and block scopes that these (expression, scope) pairs lead to, by name."""
        seen: dict[tuple[int, str], list[Binding]] = {}
        objects: set[int] = set()
        pending = [(name, scope) for expression, scope in found for name in self._mentioned(expression, objects)]
        while pending:
            name, scope = pending.pop()
            while scope > 0:
                parent, _, kind = self.scopes[scope]
                bound = self.names[scope].get(name) if kind not in "mc" else None
                if bound is not None and (scope, name) not in seen:
                    seen[scope, name] = bound
                    for b in bound:
                        at = b[2] if b[0] == "v" and len(b) > 2 else scope
                        pending.extend((m, at) for part in b[1:] for m in self._mentioned(part, objects))
                scope = parent
        return sorted(((name, bound) for (_, name), bound in seen.items()), key=repr)

    def _mentioned(self, expression: Any, objects: set[int]) -> list[str]:
        """The names that an expression starts from, those inside an object literal too."""
        if not isinstance(expression, tuple) or not expression:
            return []
        tag = expression[0]
        if tag in ("n", "up"):
            return [expression[1]]
        if tag == "guard":
            return [expression[2], *self._mentioned(expression[1], objects)]
        if tag in ("o", "O") and expression[1] not in objects:
            objects.add(expression[1])
            held = [part for bound in self.names[expression[1]].values() for b in bound for part in (b, *b[1:])]
            return [name for part in held for name in self._mentioned(part, objects)]
        return [name for part in expression[1:] for name in self._mentioned(part, objects)]
