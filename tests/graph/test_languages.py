"""What each language's names, imports and receivers lead to."""

from __future__ import annotations

from tests.graph.conftest import Repository


def test_python_receivers_follow_constructors_returns_and_annotations(repository: Repository) -> None:
    repository.put(
        {
            "app.py": (
                "from store import Store, open_store\n\n\n"
                "class Cart:\n"
                "    def __init__(self, store: Store):\n        self.store = store\n\n"
                "    def save(self):\n        self.store.put()\n        return self\n\n\n"
                "class Wish:\n    def save(self):\n        pass\n\n\n"
                "def checkout():\n    cart = Cart(open_store())\n    cart.save().save()\n"
            ),
            "store.py": (
                "class Store:\n    def put(self):\n        pass\n\n\n"
                "class FileStore(Store):\n    def put(self):\n        super().put()\n\n\n"
                "def open_store() -> FileStore:\n    return FileStore()\n"
            ),
        }
    )

    calls = repository.calls()

    assert ("app.Cart.save", "store.Store.put") in calls
    assert ("app.checkout", "app.Cart.save") in calls
    assert ("app.checkout", "app.Wish.save") not in calls
    assert ("store.FileStore.put", "store.Store.put") in calls


def test_python_an_annotation_in_quotes_counts_as_one_without(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "import typing as t\n\n\n"
                "class Item:\n    def run(self):\n        pass\n\n\n"
                "def each(items: 'list[Item]', one: \"t.Optional['Item']\", found: 'dict[str, Item] | None'):\n"
                "    for item in items:\n        item.run()\n"
                "    one.run()\n"
                "    found['a'].run()\n"
                "\n\ndef odd(item: 'Item['):\n    item.run()\n"
            )
        }
    )

    edges = {(source, lines) for _, source, _, _, target, how, lines in repository.edges() if target == "m.Item.run"}
    uses = repository.related("uses")

    assert ("m.each", (11, 12, 13)) in edges
    assert ("m.each", "m.Item") in uses
    assert ("m.odd", "m.Item.run") not in repository.calls()


def test_python_an_external_import_is_never_a_local_function_of_that_name(repository: Repository) -> None:
    repository.put(
        {
            "money.py": "def loads(t):\n    return t\n",
            "o.py": ("from json import loads\n\n\ndef out():\n    loads('')\n"),
        }
    )

    assert repository.calls() == set()


def test_python_aliases_stars_and_packages_lead_to_the_definition(repository: Repository) -> None:
    repository.put(
        {
            "pkg/__init__.py": "from .core import *\nfrom .core import run as start\n",
            "pkg/core.py": "def run():\n    pass\n\n\ndef stop():\n    pass\n",
            "a.py": (
                "import pkg.core as c\nfrom pkg import start, stop\n\n"
                "\ndef one():\n    c.run()\n    start()\n    stop()\n"
            ),
        }
    )

    assert repository.calls() == {("a.one", "core.run"), ("a.one", "core.stop")}


REBOUND = """
class A:
    def u(self): pass
class B:
    def u(self): pass
def text():
    x = A()
    x = 'text'
    x.u()
def entered():
    x = A()
    with open('z') as x:
        x.u()
def looped(lines):
    x = A()
    for x in lines:
        x.u()
def swapped():
    x = A()
    y = B()
    x, y = y, x
    x.u()
def chosen(which):
    x = 'text'
    if which:
        x = A()
    x.u()
def kept(x: A):
    x = unknown(x)
    x.u()
def later(x=None):
    while True:
        x.u()
        x = B()
"""


def test_python_a_local_name_that_is_bound_again_is_what_it_was_bound_to_last(repository: Repository) -> None:
    repository.put({"a.py": REBOUND})

    methods = {(caller, callee) for caller, callee in repository.calls() if callee.endswith(".u")}

    assert methods == {
        ("a.swapped", "a.B.u"),
        ("a.chosen", "a.A.u"),
        ("a.kept", "a.A.u"),
        ("a.later", "a.B.u"),
    }


def test_python_isinstance_tells_in_each_branch(repository: Repository) -> None:
    repository.put(
        {
            "a.py": (
                "class A:\n    def u(self): pass\n\n\nclass B:\n    def v(self): pass\n\n\n"
                "def t(x):\n    if isinstance(x, B):\n        x.v()\n    elif isinstance(x, A):\n        x.u()\n"
            )
        }
    )

    assert repository.calls() == {("a.t", "a.A.u"), ("a.t", "a.B.v")}


def test_python_a_foreign_base_may_hide_what_comes_after_it(repository: Repository) -> None:
    repository.put(
        {
            "a.py": (
                "import threading\nfrom abc import ABC\n\n\nclass Mix:\n    def start(self): pass\n\n\n"
                "class Behind(threading.Thread, Mix):\n    def go(self): self.start()\n\n\n"
                "class Before(Mix, threading.Thread):\n    def go(self): self.start()\n\n\n"
                "class Deep(Behind):\n    def went(self): self.start()\n\n\n"
                "class Plain(ABC, Mix):\n    def go(self): self.start()\n"
            )
        }
    )

    assert repository.calls() == {("a.Before.go", "a.Mix.start"), ("a.Plain.go", "a.Mix.start")}
    assert "Behind.go" in repository.callers("Mix.start").text.partition("possible (name only)")[2]


def test_java_a_foreign_superclass_may_hide_the_methods_around_a_class(repository: Repository) -> None:
    repository.put(
        {
            "p/B.java": (
                "package p;\nclass B {\n void size() {}\n"
                " class In extends java.util.ArrayList<B> { void hidden() { size(); } }\n"
                " class Own implements Runnable { public void run() { size(); } }\n"
                " void later() { new Thread() { public void run() { size(); } }; }\n}\n"
            )
        }
    )

    assert {caller for caller, callee in repository.calls() if callee == "B.B.size"} >= {"B.B.Own.run"}
    assert "In.hidden" not in {caller.partition(".B.")[2] for caller, _ in repository.calls()}
    assert "hidden" in repository.callers("B.size").text.partition("possible (name only)")[2]


def test_python_a_star_import_takes_public_names_and_the_last_one_wins(repository: Repository) -> None:
    repository.put(
        {
            "a.py": "from b import *\nfrom c import *\n\n\ndef t():\n    f(g(_h(both(more()))))\n",
            "b.py": (
                "__all__ = ['f', 'both']\n__all__ += ('more',)\n\n\n"
                "def f(): pass\ndef g(): pass\ndef both(): pass\ndef more(): pass\n"
            ),
            "c.py": "def _h(): pass\ndef both(): pass\n",
        }
    )

    assert repository.calls() == {("a.t", "b.f"), ("a.t", "c.both"), ("a.t", "b.more")}


def test_python_with_properties_loops_and_isinstance_give_types(repository: Repository) -> None:
    repository.put(
        {
            "a.py": (
                "from contextlib import contextmanager\nfrom typing import Iterator\n\n\n"
                "class Part:\n    def go(self):\n        pass\n\n\n"
                "class Box:\n"
                "    parts: list[Part]\n\n"
                "    @property\n    def first(self) -> Part:\n        return self.parts[0]\n\n"
                "    def __enter__(self):\n        return self\n\n\n"
                "@contextmanager\ndef opened() -> Iterator[Part]:\n    yield Part()\n\n\n"
                "def loop(b: Box):\n    for p in b.parts:\n        p.go()\n\n\n"
                "def prop(b: Box):\n    b.first.go()\n\n\n"
                "def entered():\n    with Box() as b:\n        b.first.go()\n\n\n"
                "def managed():\n    with opened() as p:\n        p.go()\n\n\n"
                "def told(x):\n    if isinstance(x, Part):\n        x.go()\n"
            )
        }
    )

    callers = {caller for caller, callee in repository.calls() if callee == "a.Part.go"}

    assert callers == {"a.loop", "a.prop", "a.entered", "a.managed", "a.told"}


def test_python_tells_decorators_inheritance_and_uses_apart(repository: Repository) -> None:
    repository.put(
        {
            "a.py": (
                "def deco(f):\n    return f\n\n\nclass Base:\n    pass\n\n\n"
                "class Sub(Base):\n    @deco\n    def m(self, x: Base):\n        return deco\n"
            )
        }
    )

    assert repository.related("decorates") == {("a.Sub.m", "a.deco")}
    assert repository.related("inherits") == {("a.Sub", "a.Base")}
    assert repository.related("uses") == {("a.Sub.m", "a.Base"), ("a.Sub.m", "a.deco")}


def test_an_unknown_receiver_gives_a_possible_reference_and_no_edge(repository: Repository) -> None:
    repository.put({"a.py": "class A:\n    def go(self):\n        pass\n\n\ndef f(x):\n    x.go()\n"})

    assert repository.calls() == set()
    assert {(e[1], e[4]) for e in repository.edges() if e[5] == "name_only"} == {("a.f", "a.A.go")}


def test_typescript_follows_barrels_aliases_and_workspaces(repository: Repository) -> None:
    repository.put(
        {
            "tsconfig.json": '{ // aliases\n "compilerOptions": {"paths": {"@lib/*": ["src/lib/*"],}} }',
            "src/lib/date.ts": "export function format(d: Date): string { return '' }\n",
            "src/lib/index.ts": "export * from './date'\nexport { format as fmt } from './date'\n",
            "src/a.ts": "import { format } from './lib'\nexport const one = () => format(new Date())\n",
            "src/b.ts": "import { fmt } from '@lib/index'\nexport function two() { return fmt(new Date()) }\n",
            "packages/ui/package.json": '{"name": "@x/ui", "exports": {".": "./dist/index.js"}}',
            "packages/ui/src/index.ts": "export class Button { press(): void {} }\n",
            "src/c.ts": "import { Button } from '@x/ui'\nexport function three(b: Button) { b.press() }\n",
        }
    )

    assert repository.calls() == {
        ("a.one", "date.format"),
        ("b.two", "date.format"),
        ("c.three", "src.Button.press"),
    }


def test_typescript_types_generics_and_callbacks_give_receivers(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": (
                "interface Shape { area(): number }\n"
                "class Square implements Shape { area() { return 1 } }\n"
                "class Box<T> { constructor(private item: T) {} get(): T { return this.item } }\n"
                "function each(xs: Square[]) { xs.forEach(x => x.area()) }\n"
                "function boxed(b: Box<Square>) { b.get().area() }\n"
                "async function late(p: Promise<Square>) { (await p).area() }\n"
                "function on(cb: (s: Square) => void) {}\n"
                "function passed() { on(s => s.area()) }\n"
                "function shaped(s: Shape) { s.area() }\n"
                "const api = { run() { return new Square() } }\n"
                "function viaObject() { api.run().area() }\n"
            )
        }
    )

    callers = {caller for caller, callee in repository.calls() if callee == "a.Square.area"}

    assert callers == {"a.each", "a.boxed", "a.late", "a.passed", "a.viaObject"}
    assert ("a.shaped", "a.Shape.area") in repository.calls()
    assert ("a.Square.area", "a.Shape.area") in repository.related("implements")


def test_javascript_requires_and_exports_lead_to_functions(repository: Repository) -> None:
    repository.put(
        {
            "lib/u.js": "exports.go = function go() {}\nmodule.exports.stop = () => {}\n",
            "lib/app.js": (
                "var app = module.exports = {}\napp.use = function use() { this.run() }\napp.run = function () {}\n"
            ),
            "a.js": (
                "const { go } = require('./lib/u')\nvar app = require('./lib/app')\nfunction f() { go(); app.use() }\n"
            ),
        }
    )

    assert {("a.f", "u.go"), ("a.f", "app.app.use"), ("app.app.use", "app.app.run")} <= repository.calls()


def test_go_methods_embedding_and_interfaces(repository: Repository) -> None:
    repository.put(
        {
            "go.mod": "module example.org/svc\n",
            "store/store.go": (
                "package store\n\ntype Store interface{ Put(k string) error }\n\ntype Mem struct{ Base }\n\n"
                "func (m *Mem) Put(k string) error { m.Log(); return nil }\n\ntype Half struct{}\n\n"
                "func (h Half) Put(k int) error { return nil }\n\n"
                "type Foreign interface {\n\tfmt.Stringer\n\tPut(k string) error\n}\n"
            ),
            "store/base.go": "package store\n\ntype Base struct{}\n\nfunc (b *Base) Log() {}\n",
            "main.go": (
                'package main\n\nimport "example.org/svc/store"\n\ntype App struct{ mem *store.Mem }\n\n'
                'func (a *App) Save() error { return a.mem.Put("k") }\n\n'
                "func main() { a := &App{}; a.Save(); for _, m := range []*store.Mem{} { m.Log() } }\n\n"
                "func kind(s store.Store) { switch x := s.(type) { case *store.Mem: x.Log() } }\n"
            ),
        }
    )

    assert repository.calls() == {
        ("main.App.Save", "store.Mem.Put"),
        ("main.main", "main.App.Save"),
        ("main.main", "base.Base.Log"),
        ("main.kind", "base.Base.Log"),
        ("store.Mem.Put", "base.Base.Log"),
    }
    assert repository.related("implements") == {("store.Mem", "store.Store"), ("store.Mem.Put", "store.Store.Put")}


def test_java_overloads_are_told_apart_by_their_arguments(repository: Repository) -> None:
    repository.put(
        {
            "a/A.java": (
                "package a;\nimport b.B;\nimport java.util.List;\npublic class A {\n  B b;\n"
                "  void go(int x, int y) { }\n  void go(int x) { go(1, 2); b.self().run(); }\n"
                "  void each(List<B> bs) { for (B q : bs) q.run(); bs.forEach(q -> q.run()); }\n}\n"
            ),
            "b/B.java": "package b;\npublic class B { public void run() {} public B self() { return this; } }\n",
        }
    )
    edges = {(e[1], e[4], e[6]) for e in repository.edges() if e[2] == "calls"}

    assert edges == {
        ("A.A.go", "A.A.go", (7,)),
        ("A.A.go", "B.B.self", (7,)),
        ("A.A.go", "B.B.run", (7,)),
        ("A.A.each", "B.B.run", (8,)),
    }
    assert "nothing references it" in repository.callers("repos/one/a/A.java:7").text
    assert "A.go  calls 7" in repository.callers("repos/one/a/A.java:6").text


def test_c_static_functions_stay_in_their_file_and_declarations_lead_to_definitions(repository: Repository) -> None:
    repository.put(
        {
            "inc/a.h": "typedef struct node { struct node *next; int (*cb)(int); } node_t;\nint api(node_t *n);\n",
            "a.c": (
                '#include "inc/a.h"\nstatic int hidden(void) { return 1; }\nint api(node_t *n) { return hidden(); }\n'
            ),
            "b.c": (
                '#include "inc/a.h"\nstatic int hidden(void) { return 2; }\n'
                "int main(void) { node_t n; n.next->cb(1); return api(&n) + hidden(); }\n"
            ),
        }
    )

    assert repository.calls() == {
        ("a.api", "a.hidden"),
        ("b.main", "a.api"),
        ("b.main", "b.hidden"),
        ("b.main", "a.node.cb"),
    }


def test_rust_paths_implementations_and_options(repository: Repository) -> None:
    repository.put(
        {
            "Cargo.toml": '[package]\nname = "one"\n',
            "src/lib.rs": (
                "mod sub;\nuse crate::sub::{Bar, Tr};\npub struct Foo { b: Option<Box<Bar>>, v: Vec<Bar> }\n"
                "impl Foo {\n  pub fn new() -> Self { Self::make() }\n"
                "  fn make() -> Foo { Foo { b: None, v: vec![] } }\n"
                "  fn go(&self) { if let Some(b) = &self.b { b.run(); } for x in &self.v { x.run(); } }\n}\n"
                "fn outer<T: Tr>(t: T) { t.tr(); Foo::new().go(); }\n"
            ),
            "src/sub/mod.rs": ("pub struct Bar;\npub trait Tr { fn tr(&self); }\nimpl Bar { pub fn run(&self) {} }\n"),
        }
    )

    assert repository.calls() == {
        ("lib.Foo.new", "lib.Foo.make"),
        ("lib.Foo.go", "sub.Bar.run"),
        ("lib.outer", "sub.Tr.tr"),
        ("lib.outer", "lib.Foo.new"),
        ("lib.outer", "lib.Foo.go"),
    }


BROAD = {
    "a.cpp": ("class Foo { public: int go() { return stay(); } int stay() { return 1; } };\n"
        "int use() { Foo f; return f.go(); }\n"),
    "a.cs": (
        "namespace N { class Foo { int Stay() { return 1; } int Go() { return Stay(); } }\n"
        "class U { int Use() { var f = new Foo(); return f.Go(); } } }\n"
    ),
    "a.php": ("<?php\nclass Foo { function go() { return $this->stay(); } function stay() {} }\n"
        "function useIt() { $f = new Foo(); $f->go(); }\n"),
    "a.rb": ("class Foo\n  def go\n    stay(1)\n  end\n  def stay(x)\n"
        "  end\nend\ndef use_it\n  f = Foo.new\n  f.go\nend\n"),
    "a.kt": "class Foo {\n  fun go() { stay() }\n  fun stay() {}\n}\nfun use() {\n  val f = Foo()\n  f.go()\n}\n",
    "a.swift": ("class Foo {\n  func go() { stay() }\n  func stay() {}\n"
        "}\nfunc use() {\n  let f = Foo()\n  f.go()\n}\n"),
    "a.scala": ("class Foo { def go() = { stay() }\n def stay() = 1 }\n"
        "object U { def use() = { val f = new Foo(); f.go() } }\n"),
    "a.ex": ("defmodule Foo do\n  def go(x) do\n    stay(x)\n  end\n  def stay(x), do: x\n"
        "end\ndefmodule U do\n  def use_it(x) do\n    Foo.go(x)\n  end\nend\n"),
    "a.lua": ("local Foo = {}\nfunction Foo.stay() end\nfunction Foo.go() Foo.stay() end\n"
        "local function use() Foo.go() end\nreturn Foo\n"),
    "a.dart": "class Foo { void go() { stay(); } void stay() {} }\nvoid use() { var f = Foo(); f.go(); }\n",
    "a.zig": ("const Foo = struct { fn stay(self: *Foo) void {} fn go(self: *Foo) void { self.stay(); } };\n"
        "fn use(f: *Foo) void { f.go(); }\n"),
    "a.sh": "stay() { :; }\ngo() { stay; }\nuse() { go; }\n",
}  # fmt: skip


def test_each_broad_language_gives_its_symbols_and_the_calls_within_a_file(repository: Repository) -> None:
    repository.put({f"{name.rpartition('.')[2]}/{name}": text for name, text in BROAD.items()})
    edges = [e for e in repository.edges() if e[2] == "calls" and e[5] == "resolved"]

    stays = {edge[0].partition("/")[0] for edge in edges if edge[4].lower().endswith("stay")}
    goes = {edge[0].partition("/")[0] for edge in edges if edge[4].lower().endswith("go")}

    assert stays == {"cpp", "cs", "php", "rb", "kt", "swift", "scala", "ex", "lua", "dart", "zig", "sh"}
    assert goes == stays


def test_typescript_the_import_of_a_type_is_an_import(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": "export interface I { go(): void }\nexport type T = string\nexport class C {}\n",
            "b.ts": "import { I, T, C } from './a'\n",
        }
    )

    assert repository.related("imports") == {("b.ts", "a.I"), ("b.ts", "a.T"), ("b.ts", "a.C")}


def test_typescript_package_exports_close_what_they_do_not_list(repository: Repository) -> None:
    repository.put(
        {
            "package.json": '{"workspaces": ["p"]}',
            "p/package.json": '{"name": "p", "exports": {".": "./b.js", "./*": "./*.js", "./in/*": null, "./s": null}}',
            "p/b.js": "export function b() {}\n",
            "p/o.js": "export function o() {}\n",
            "p/s.js": "export function s() {}\n",
            "p/in/c.js": "export function c() {}\n",
            "m.js": (
                "import { b } from 'p'\nimport { o } from 'p/o'\nimport { s } from 'p/s'\nimport { c } from 'p/in/c'\n"
                "b(); o(); s(); c()\n"
            ),
        }
    )

    assert repository.calls() == {("m.js", "b.b"), ("m.js", "o.o")}


def test_rust_super_leads_out_of_files_and_inline_modules(repository: Repository) -> None:
    repository.put(
        {
            "Cargo.toml": "[package]\nname = 'one'\n",
            "src/lib.rs": (
                "pub mod m;\npub struct S;\nimpl S { pub fn new() -> Self { S } }\npub fn top() {}\n"
                "mod tests {\n    use super::*;\n    fn t() { S::new(); }\n"
                "    mod inner { fn u() { super::super::top(); } }\n}\n"
            ),
            "src/m/mod.rs": "pub mod deep;\n",
            "src/m/deep.rs": "pub fn f() { super::super::top(); }\n",
        }
    )

    assert repository.calls() == {
        ("lib.tests.t", "lib.S.new"),
        ("lib.tests.inner.u", "lib.top"),
        ("deep.f", "lib.top"),
    }


def test_rust_crates_are_known_by_names_in_either_quotes(repository: Repository) -> None:
    repository.put(
        {
            "one/Cargo.toml": "[package]\nname = 'one'\n",
            "one/src/lib.rs": "pub fn f() {}\n",
            "two/Cargo.toml": '[package]\nname = "two"\n',
            "two/src/main.rs": "fn main() { one::f(); }\n",
        }
    )

    assert repository.calls() == {("main.main", "lib.f")}


def test_python_what_a_pattern_captures_is_no_global(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "def g():\n    pass\n\n\ndef h():\n    pass\n\n\n"
                "def rest(v):\n    match v:\n        case [1, *g]:\n            g()\n"
                "        case {'k': 1, **h}:\n            h()\n\n\n"
                "def field(v):\n    match v:\n        case C(f=g):\n            g()\n"
            )
        }
    )

    assert repository.calls() == set()


def test_python_every_class_of_a_matched_union_is_followed(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "class A:\n    def run(self):\n        pass\n\n\nclass B:\n    def run(self):\n        pass\n\n\n"
                "def go(v):\n    match v:\n        case A() | B() as one:\n            one.run()\n"
            )
        }
    )

    assert repository.calls() == {("m.go", "m.A.run"), ("m.go", "m.B.run")}


def test_python_a_name_that_del_makes_local_is_no_global(repository: Repository) -> None:
    repository.put({"m.py": "def f():\n    pass\n\n\ndef g():\n    del f\n    f()\n"})

    assert repository.calls() == set()


def test_python_what_a_subclass_assigns_to_self_hides_an_inherited_method(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "class A:\n    def f(self):\n        pass\n\n"
                "    @property\n    def p(self) -> 'A':\n        return self\n\n\n"
                "class B(A):\n    def __init__(self, given):\n        self.f = given\n        self.p = given\n\n"
                "    def one(self):\n        self.f()\n\n    def two(self):\n        self.p.f()\n"
            )
        }
    )

    assert repository.calls() == {("m.B.two", "m.A.f")}


def test_python_a_type_parameter_is_no_global_class(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "class S:\n    def m(self):\n        pass\n\n\nclass B:\n    def b(self):\n        pass\n\n\n"
                "class W[S]:\n    def m(self, s: S):\n        s.m()\n\n\n"
                "def f[S](s: S) -> S:\n    s.m()\n\n\n"
                "class V[S: B]:\n    def m(self, s: S):\n        s.b()\n"
            )
        }
    )

    assert repository.calls() == {("m.V.m", "m.B.b")}
    assert ("m.f", "m.S") not in repository.related("uses")


def test_python_cast_is_followed_however_it_is_imported(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "import typing as t\nfrom typing import cast\nfrom typing import cast as c\n\n\n"
                "class R:\n    def send(self):\n        pass\n\n\n"
                "def one(x):\n    cast(R, x).send()\n\n\ndef two(x):\n    t.cast('R', x).send()\n\n\n"
                "def three(x):\n    c(R, x).send()\n"
            ),
            "own.py": (
                "from m import R\n\n\ndef cast(kind, x):\n    return x\n\n\ndef four(x):\n    cast(R, x).send()\n"
            ),
        }
    )

    found = {source for source, target in repository.calls() if target == "m.R.send"}

    assert found == {"m.one", "m.two", "m.three"}


def test_python_an_inherited_factory_makes_the_class_it_is_called_on(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "class B:\n    @classmethod\n    def make(cls):\n        made = cls()\n        return made\n\n"
                "    @classmethod\n    def again(cls):\n        return cls.make()\n\n\n"
                "class R(B):\n    def send(self):\n        pass\n\n\n"
                "class Q(B):\n    def send(self):\n        pass\n\n\n"
                "def one():\n    R.make().send()\n\n\ndef two():\n    R.again().send()\n"
            )
        }
    )

    found = {pair for pair in repository.calls() if pair[1].endswith("send")}

    assert found == {("m.one", "m.R.send"), ("m.two", "m.R.send")}


def test_python_type_arguments_of_a_generic_class_are_followed(repository: Repository) -> None:
    repository.put(
        {
            "tv.py": "from typing import TypeVar\n\nT = TypeVar('T')\n",
            "m.py": (
                "from typing import Generic\nfrom tv import T\n\n\n"
                "class Sub:\n    def only(self):\n        pass\n\n\n"
                "class Other:\n    def only(self):\n        pass\n\n\n"
                "class Box(Generic[T]):\n    def get(self) -> T: ...\n\n\nclass Case(Box[Sub]):\n    pass\n\n\n"
                "def one(box: Box[Sub]):\n    box.get().only()\n\n\ndef two():\n    Box[Sub]().get().only()\n\n\n"
                "def three():\n    Case().get().only()\n\n\ndef none(box: Box):\n    box.get().only()\n"
            ),
        }
    )

    found = {pair for pair in repository.calls() if pair[1].endswith("only")}

    assert found == {("m.one", "m.Sub.only"), ("m.two", "m.Sub.only"), ("m.three", "m.Sub.only")}


def test_python_a_call_tells_the_type_variables_of_a_function(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "from typing import Callable, Iterable, TypeVar\n\nT = TypeVar('T')\n\n\n"
                "class Sub:\n    def only(self):\n        pass\n\n\n"
                "def same(x: T) -> T: ...\n\n\ndef make(kind: type[T]) -> T: ...\n\n\n"
                "def run(f: Callable[[], T]) -> T: ...\n\n\ndef first(found: Iterable[T]) -> T: ...\n\n\n"
                "def sub() -> Sub: ...\n\n\n"
                "def one():\n    same(Sub()).only()\n\n\ndef two():\n    make(Sub).only()\n\n\n"
                "def three():\n    run(sub).only()\n\n\ndef four(found: list[Sub]):\n    first(found).only()\n"
            )
        }
    )

    found = {source for source, target in repository.calls() if target == "m.Sub.only"}

    assert found == {"m.one", "m.two", "m.three", "m.four"}


def test_python_a_class_has_the_methods_of_its_metaclass(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "class Meta(type):\n    def register(cls):\n        pass\n\n\nclass A(metaclass=Meta):\n    pass\n\n\n"
                "class B(A):\n    pass\n\n\ndef one():\n    B.register()\n\n\ndef two():\n    B().register()\n"
            )
        }
    )

    assert ("m.one", "m.Meta.register") in repository.calls()
    assert ("m.two", "m.Meta.register") not in repository.calls()


def test_typescript_var_is_bound_in_the_whole_function(repository: Repository) -> None:
    repository.put(
        {
            "m.ts": (
                "export function f() {}\nexport class A { static make() { return new A() }\n  run() {} }\n"
                "function block() { if (1) { var f = () => 1 } f() }\n"
                "function loop() { for (var f of []) {} f() }\n"
                "function part() { try { var { f } = x } catch {} f() }\n"
                "function inner() { if (1) { let f = 1 } f() }\n"
                "function value() { { const made = A.make(); var a = made } a.run() }\n"
            )
        }
    )

    calls = repository.calls()

    assert {source for source, target in calls if target == "m.f"} == {"m.inner"}
    assert ("m.value", "m.A.run") in calls


def test_typescript_a_function_expression_knows_its_own_name(repository: Repository) -> None:
    repository.put(
        {
            "m.ts": (
                "export function f() {}\nconst g = function f() { f() }\nsetTimeout(function f() { f() })\n"
                "const h = function own() { own() }\n"
            )
        }
    )

    assert repository.calls() == {("m.g", "m.g"), ("m.h", "m.h")}


def test_javascript_exports_are_followed_in_their_own_file(repository: Repository) -> None:
    repository.put(
        {
            "m.js": (
                "exports.a = function () { exports.b() };\nexports.b = function () {};\n"
                "module.exports.c = () => { module.exports.b() }\nfunction own(exports) { exports.b() }\n"
            )
        }
    )

    assert repository.calls() == {("m.a", "m.b"), ("m.c", "m.b")}


def test_javascript_exports_beside_an_exported_function_are_its_members(repository: Repository) -> None:
    repository.put(
        {
            "one.js": (
                "exports = module.exports = create;\nfunction create() { return exports.helper() }\n"
                "exports.helper = function () {};\nexports.Route = require('./route');\n"
            ),
            "two.js": "function make() {}\nmake.Route = require('./route');\nmodule.exports = make;\n",
            "route.js": "module.exports = class Route { go() {} }\n",
            "use.js": (
                "const one = require('./one'), two = require('./two');\nfunction a() { one().x; one.helper() }\n"
                "function b() { new one.Route().go() }\nfunction c() { new two.Route().go() }\n"
            ),
        }
    )

    calls = repository.calls()

    assert ("one.create", "one.helper") in calls
    assert {("use.a", "one.create"), ("use.a", "one.helper")} <= calls
    assert {("use.b", "route.Route.go"), ("use.c", "route.Route.go")} <= calls


def test_javascript_a_folder_is_what_its_package_json_says(repository: Repository) -> None:
    repository.put(
        {
            "package.json": '{"main": "lib/e.js"}',
            "lib/e.js": "module.exports = create;\nfunction create() {}\n",
            "p/package.json": '{"main": "./out"}',
            "p/out.js": "exports.go = () => 1;\n",
            "q/index.js": "exports.go = () => 1;\n",
            "test/t.js": (
                "const e = require('..'), p = require('../p'), q = require('../q/');\n"
                "function t() { e(); p.go(); q.go() }\n"
            ),
        }
    )

    assert repository.calls() == {("t.t", "e.create"), ("t.t", "out.go"), ("t.t", "q.go")}


def test_typescript_a_type_guard_narrows(repository: Repository) -> None:
    repository.put(
        {
            "m.ts": (
                "export class A { run() {} }\nexport class B { run() {} }\n"
                "function isA(x: any): x is A { return true }\nfunction test(x: any): boolean { return true }\n"
                "function one(x: any) { if (isA(x)) x.run() }\nfunction two(x: any) { return isA(x) && x.run() }\n"
                "function three(x: B) { if (test(x)) x.run() }\nfunction four(x: any) { if (!isA(x)) x.run() }\n"
            )
        }
    )

    found = {pair for pair in repository.calls() if pair[1].endswith("run")}

    assert found == {("m.one", "m.A.run"), ("m.two", "m.A.run"), ("m.three", "m.B.run")}


def test_typescript_a_call_tells_the_type_parameters_of_a_function(repository: Repository) -> None:
    repository.put(
        {
            "m.ts": (
                "export class Sub { only() {} }\ntype Ctor<T> = new (...a: any[]) => T\n"
                "function make<T>(C: new () => T): T { return new C() }\nconst made = <T,>(c: Ctor<T>): T => new c()\n"
                "function same<T>(x: T): T { return x }\nfunction get<T>(name: string): T { return f(name) }\n"
                "function one() { make(Sub).only() }\nfunction two() { made(Sub).only() }\n"
                "function three() { same(new Sub()).only() }\nfunction four() { get<Sub>('x').only() }\n"
            )
        }
    )

    found = {source for source, target in repository.calls() if target == "m.Sub.only"}

    assert found == {"m.one", "m.two", "m.three", "m.four"}


def test_typescript_the_first_argument_chooses_the_overload(repository: Repository) -> None:
    repository.put(
        {
            "m.ts": (
                "class A { run() {} }\nclass B { run() {} }\n"
                "function over(x: string): A; function over(x: B): B; function over(x: any): any { return x }\n"
                "function one() { over('x').run() }\nfunction two() { over(new B()).run() }\n"
            )
        }
    )

    found = {pair for pair in repository.calls() if pair[1].endswith("run")}

    assert found == {("m.one", "m.A.run"), ("m.two", "m.B.run")}


def test_go_a_type_inside_a_function_has_none_of_the_methods_of_the_packages(repository: Repository) -> None:
    repository.put(
        {
            "go.mod": "module m\n",
            "a.go": (
                "package a\n\ntype S struct{}\n\nfunc (S) Lock() {}\n\ntype L interface{ Lock() }\n\n"
                "func one() { type S struct{ mu other.Mutex }; s := S{}; s.Lock() }\n\n"
                "func two() { type T struct{ S }; var t T; t.Lock() }\n"
            ),
        }
    )

    assert repository.calls() == {("a.two", "a.S.Lock")}
    assert ("a.one.S", "a.L") not in repository.related("implements")


def test_java_patterns_bind_typed_names(repository: Repository) -> None:
    repository.put(
        {
            "A.java": (
                "class A {\n"
                "  void rule(Object o) { switch (o) { case B b when b.ok() -> b.run(); default -> {} } }\n"
                "  void group(Object o) { switch (o) { case B b: b.run(); break; default: } }\n"
                "  void record(Object o) { if (o instanceof R(B x)) x.run(); }\n"
                "  void nested(Object o) { switch (o) { case Q(R(var x), B y) -> x.run(); default -> {} } }\n"
                "  void chain(Object o) { if (o instanceof C c) c.go(); else if (o instanceof B c) c.run(); }\n"
                "  void denied(Object o) { if (!(o instanceof B b)) return; b.run(); }\n}\n"
                "class B { void run() {} boolean ok() { return true; } }\nclass C { void go() {} void run() {} }\n"
                "record R(B b) {}\nrecord Q(R r, B b) {}\n"
            )
        }
    )

    calls = repository.calls()

    assert ("A.A.rule", "A.B.ok") in calls
    assert {source for source, target in calls if target == "A.B.run"} == {
        f"A.A.{name}" for name in ("rule", "group", "record", "nested", "chain", "denied")
    }
    assert ("A.A.chain", "A.C.run") not in calls


def test_java_a_qualified_this_or_super_is_the_outer_objects(repository: Repository) -> None:
    repository.put(
        {
            "A.java": (
                "class P { void f() {} }\n"
                "class A extends P { void f() {}\n"
                "  class In { void one() { A.this.f(); } void two() { A.super.f(); } }\n}\n"
                "interface I { default void d() {} }\nclass K implements I { void three() { I.super.d(); } }\n"
            )
        }
    )

    assert repository.calls() == {("A.A.In.one", "A.A.f"), ("A.A.In.two", "A.P.f"), ("A.K.three", "A.I.d")}


def test_rust_the_manifest_says_what_a_crate_is_and_is_called(repository: Repository) -> None:
    repository.put(
        {
            "Cargo.toml": '[workspace]\nmembers = ["a", "b", "c"]\n',
            "a/Cargo.toml": '[package]\nname = "core-lib"\n[lib]\nname = "corex"\npath = "src/root.rs"\n',
            "a/src/root.rs": "mod m;\npub fn top() {}\n",
            "a/src/m.rs": "fn up() { crate::top(); super::top() }\n",
            "b/Cargo.toml": '[package]\nname = "b"\n[dependencies]\nmine = { package = "core-lib", path = "../a" }\n',
            "b/src/lib.rs": "fn renamed() { mine::top() }\n",
            "c/Cargo.toml": '[package]\nname = "c"\n[dependencies]\ncore-lib = { path = "../a" }\n',
            "c/src/lib.rs": "fn named() { corex::top() }\nfn other() { mine::top() }\n",
        }
    )

    assert repository.calls() == {("m.up", "root.top"), ("lib.renamed", "root.top"), ("lib.named", "root.top")}


def test_rust_a_path_attribute_says_where_a_module_is(repository: Repository) -> None:
    repository.put(
        {
            "Cargo.toml": '[package]\nname = "a"\n',
            "src/lib.rs": '#[path = "odd.rs"]\n/// doc\n#[cfg(unix)]\nmod o;\npub fn top() { o::f() }\n',
            "src/odd.rs": "pub fn f() {}\n",
        }
    )

    assert repository.calls() == {("lib.top", "odd.f")}


def test_rust_tuples_aliases_and_derefs_are_followed(repository: Repository) -> None:
    repository.put(
        {
            "Cargo.toml": '[package]\nname = "a"\n',
            "src/lib.rs": (
                "pub struct R;\nimpl R { pub fn new() -> Self { R } pub fn go(&self) {} pub fn clone(&self) {} }\n"
                "pub struct S;\nimpl S { pub fn go(&self) {} }\ntype Alias = R;\npub struct W(R);\n"
                "impl std::ops::Deref for W { type Target = R; fn deref(&self) -> &Self::Target { &self.0 } }\n"
                "fn pair() { let (a, b) = (1, R::new()); b.go() }\nfn place(t: (S, R)) { t.1.go() }\n"
                "fn alias() { Alias::new().go() }\nfn deref(w: &W) { w.go(); w.clone() }\n"
            ),
        }
    )

    calls = repository.calls()

    assert {source for source, target in calls if target == "lib.R.go"} == {
        "lib.pair", "lib.place", "lib.alias", "lib.deref"
    }  # fmt: skip
    assert ("lib.alias", "lib.R.new") in calls
    assert ("lib.deref", "lib.R.clone") not in calls
    assert ("lib.place", "lib.S.go") not in calls


def test_rust_a_type_as_a_trait_has_what_it_implements_of_it(repository: Repository) -> None:
    repository.put(
        {
            "Cargo.toml": '[package]\nname = "a"\n',
            "src/lib.rs": (
                "pub struct R;\npub trait T { fn st(); fn df() {} }\nimpl T for R { fn st() {} }\n"
                "fn one<H: T>() { <H as T>::st() }\nfn two() { <R as T>::st(); <R as T>::df() }\n"
            ),
        }
    )

    assert repository.calls() == {("lib.one", "lib.T.st"), ("lib.two", "lib.R.st"), ("lib.two", "lib.T.df")}


def test_c_a_function_declared_inside_another_is_the_one_with_external_linkage(repository: Repository) -> None:
    repository.put(
        {
            "a.c": (
                "int x(void) { extern int up(void); return up(); }\nint y(void) { int priv(void); return priv(); }\n"
                "int z(void) { int own(void); return own(); }\nstatic int own(void) { return 1; }\n"
            ),
            "b.c": "int up(void) { return 2; }\nstatic int priv(void) { return 2; }\n",
        }
    )

    assert repository.calls() == {("a.x", "b.up"), ("a.z", "a.own")}


def test_c_a_body_whose_braces_a_condition_splits_is_still_its_functions(repository: Repository) -> None:
    repository.put(
        {
            "a.c": (
                "int f(void) { return 1; }\nint main(void)\n{\n    int x = f();\n#ifdef A\n    if (f()) {\n#else\n"
                "    if (f() > 1) {\n#endif\n        f();\n    }\n    return f();\n}\n"
                "int after(void) { return main(); }\n"
            )
        }
    )

    edges = {(source, target, lines) for _, source, _, _, target, _, lines in repository.edges()}

    assert edges == {("a.main", "a.f", (4, 6, 8, 10, 12)), ("a.after", "a.main", (14,))}


def test_python_what_a_foreign_call_gives_is_unknown_and_what_a_built_in_gives_is_foreign(
    repository: Repository,
) -> None:
    repository.put(
        {
            "m.py": (
                "import ext\n\n\nclass R:\n    def send(self):\n        pass\n\n\n"
                "def call():\n    made = ext.make()\n    made.send()\n\n\n"
                "def item():\n    held = {}\n    held.get(1).send()\n\n\n"
                "def module():\n    ext.send()\n\n\ndef new():\n    ext.Session().send()\n\n\n"
                "def literal():\n    ''.join([]).send()\n\n\ndef built_in():\n    open('x').read().send()\n"
            )
        }
    )

    assert repository.calls() == set()
    assert {edge[1] for edge in repository.edges() if edge[5] == "name_only"} == {"m.call", "m.item"}


def test_typescript_what_a_foreign_call_gives_is_unknown(repository: Repository) -> None:
    repository.put(
        {
            "m.ts": (
                "import { make, S } from 'ext'\nclass R { send() {} }\nfunction call() { make().send() }\n"
                "function made() { new S().send() }\nfunction literal() { 'x'.trim().send() }\n"
            )
        }
    )

    assert {edge[1] for edge in repository.edges() if edge[5] == "name_only"} == {"m.call"}
