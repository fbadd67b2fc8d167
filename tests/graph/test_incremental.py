"""After any series of edits the graph equals that of a fresh build."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.conftest import Repository

PYTHON = (
    "def make():\n    return Thing()\n\n\nclass Thing:\n    def go(self):\n        return make()\n",
    "from pkg.a import make\n\n\ndef use():\n    make().go()\n    missing().go()\n",
    "from pkg import a, b\nfrom pkg.c import *\n\n\ndef star():\n    helper()\n    a.make().go()\n    b.use()\n",
    "from pkg.a import Thing\n\n\ndef helper():\n    x = Thing()\n    return x\n\n\nclass Sub(Thing):\n    pass\n",
    (
        "from pkg.b import helper as make\n\n\nclass Thing:\n"
        "    other = 1\n\n    def stop(self):\n        return self.other\n"
    ),
    (
        "import pkg.a as m\n\n\ndef first():\n    return second() or m.Thing()\n"
        "\n\ndef second():\n    return first() or m.make()\n"
    ),
    "from pkg.c import first\n\n\ndef late():\n    first().go()\n    return lambda: first().stop()\n",
    (
        "from pkg.a import *\nfrom pkg.b import *\nimport os\n__all__ = ['first', 'make']\n\n\n"
        "class Mixed(os.PathLike, Thing):\n    def mix(self):\n        self.go()\n\n\n"
        "def first():\n    x = make()\n    x = x.go()\n    x.stop()\n    return x\n"
    ),
    (
        "from typing import Generic, TypeVar\nfrom pkg.a import Thing as Other\n\nT = TypeVar('T')\n\n\n"
        "class Thing(Generic[T], metaclass=Other):\n"
        "    @classmethod\n    def make(cls, of: type[T]) -> 'Thing[T]': ...\n\n"
        "    def go(self) -> T: ...\n\n\ndef make(x: T) -> T:\n    return x\n"
    ),
    (
        "from pkg.a import Thing, make\nfrom pkg.b import Thing as Other\n\n\nclass Sub(Thing[Other]):\n    pass\n\n\n"
        "def late(one: Thing[Other]):\n    one.go().stop()\n"
        "    make(Sub()).go().go()\n    Thing.make(Other).go().go()\n"
    ),
    (
        "from pkg.a import Thing\nfrom pkg.b import make as other\n\nK = Thing | None\n\n\ndef make(x: K):\n"
        "    assert isinstance(x, Thing)\n    x.go()\n    return x\n\n\n"
        "def helper(x):\n    if not isinstance(x, K):\n        g = other if x else make\n        return g(x)\n"
        "    y = x.go()\n    return y\n"
    ),
    (
        "from pkg.c import K, Thing as Other, helper\n\n\nclass Thing:\n    class Other:\n        def go(self):\n"
        "            return Thing()\n\n    def __init__(self, x: K):\n        if isinstance(x, Other):\n"
        "            self.x = x.go()\n        else:\n            self.x = helper(x)\n\n"
        "    def make(self, x: Other) -> Other:\n        if isinstance(self.x, K) and self.x.go():\n"
        "            return self.x.go()\n        return x.go()\n"
    ),
)
TYPESCRIPT = (
    "export class Box { open() { return this } }\nexport const make = () => new Box()\n",
    (
        "import { make } from './a'\nexport function use() { make().open(); helper() }\n"
        "function helper() { return make }\n"
    ),
    "export * from './a'\nexport { use as run } from './b'\nimport * as all from './a'\nall.make().open()\n",
    "import { run, make } from './c'\nrun(); make().open()\nexport interface Box { close(): void }\n",
    (
        "exports = module.exports = make\nfunction make() { return exports.use() }\nexports.use = () => 1\n"
        "exports.Box = class Box { open() {} }\n"
    ),
    (
        "import { Box, use } from './a'\nimport all from './c'\nfunction isBox(x: any): x is Box { return use(x) }\n"
        "export function make<T>(C: new () => T): T { if (1) { var use = 1 } if (isBox(x)) x.open(); use() }\n"
        "make(Box).open()\nnew all.Box().open()\n"
    ),
)
GO = (
    'package one\n\ntype Store interface{ Put(k string) error }\n\nfunc Use(s Store) { s.Put("") }\n',
    "package one\n\ntype Mem struct{ n *Node }\n\nfunc (m *Mem) Put(k string) error { m.n.Go(); return nil }\n",
    "package one\n\ntype Node struct{}\n\nfunc (n *Node) Go() { Use(&Mem{}) }\n",
    "package one\n\ntype Node struct{ Mem }\n\nfunc (n Node) Get() *Node { return n.Get() }\n",
    'package one\n\nimport "ex.org/k"\nimport l "ex.org/l/v2"\n\nfunc Far() { k.Far(); l.Far(); type Node struct{} }\n',
)
GO_DEEP = ("package k\n\nfunc Far() {}\n", "package k\n\nfunc Near() { Far() }\n")
C = (
    ('#include "a.h"\nint api(node *n) { return n->next->value + hidden(); }\nstatic int hidden(void) { return 1; }\n'),
    '#include "a.h"\nint main(void) { return api(0); }\n',
    "typedef struct node { struct node *next; int value; } node;\nint api(node *n);\n",
    "int api(int *n);\n#define hidden() 2\n",
)
RUST = (
    "mod a;\npub use a::Foo;\npub fn run() { Foo::new().go() }\n",
    "pub struct Foo;\nimpl Foo { pub fn new() -> Foo { Foo } pub fn go(&self) { crate::run() } }\n",
    "pub struct Bar;\nuse crate::b::Foo;\nimpl Foo { pub fn go(&self) {} }\n",
)
JAVA = (
    "package p;\npublic class A { B b = new B(); void go() { b.run().run(); } }\n",
    "package p;\npublic class B { public B run() { new A().go(); return this; } }\n",
    "package q;\nimport p.*;\npublic class A extends B { void go() { run(); } }\n",
)
FILES = {
    **dict.fromkeys(("pkg/__init__.py", "pkg/a.py", "pkg/b.py", "pkg/c.py", "pkg/sub/c.py", "d.py"), PYTHON),
    **dict.fromkeys(("web/a.ts", "web/b.ts", "web/c.ts", "web/index.ts"), TYPESCRIPT),
    **dict.fromkeys(("svc/a.go", "svc/b.go", "svc/c.go"), GO),
    **dict.fromkeys(("svc/deep/a.go", "svc/deep/b.go", "svc/other/a.go"), GO_DEEP),
    **dict.fromkeys(("c/a.c", "c/b.c", "c/a.h", "c/inc/a.h"), C),
    **dict.fromkeys(("src/lib.rs", "src/a.rs", "src/b.rs"), RUST),
    **dict.fromkeys(("j/A.java", "j/B.java", "k/A.java"), JAVA),
}
FIXED = {
    "svc/go.mod": "module one\n\nreplace ex.org/k => ./deep\n",
    "svc/deep/go.mod": "module ex.org/k\n",
    "svc/other/go.mod": "module ex.org/l/v2\n",
    "Cargo.toml": '[package]\nname = "one"\n',
}
EDITS = st.lists(st.tuples(st.sampled_from(sorted(FILES)), st.integers(-1, 11), st.booleans()), min_size=1, max_size=8)
"""(file, which of its texts or -1 to delete it, whether the graph is asked after it)."""
START = {name: texts[place % len(texts)] for place, (name, texts) in enumerate(sorted(FILES.items()))}
_numbers = itertools.count()


@settings(max_examples=25)
@given(EDITS)
def test_any_series_of_edits_gives_the_edges_of_a_fresh_build(edits: list[tuple[str, int, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(Path(folder).resolve(), "one").put({**FIXED, **START})
        repository.edges()

        for name, text, asked in edits:
            _apply(repository, name, text)
            if asked:
                repository.edges()

        assert repository.edges() == repository.edges(Path(folder).resolve() / f"fresh{next(_numbers)}")


def test_an_import_that_was_in_vain_leads_to_the_module_once_it_comes(repository: Repository) -> None:
    repository.put({"pkg/__init__.py": "", "pkg/use.py": "from pkg.later import run\n\n\ndef go():\n    run()\n"})
    assert repository.calls() == set()

    repository.put({"pkg/later.py": "def run():\n    pass\n"})

    assert repository.calls() == {("use.go", "later.run")}


def test_a_go_package_whose_files_come_later_is_found_whatever_its_folder_is_called(repository: Repository) -> None:
    repository.put(
        {
            "go.mod": "module ex.org/m\n\nreplace ex.org/k => ./there\n",
            "use/m.go": 'package m\n\nimport (\n\tk "ex.org/k"\n\t"ex.org/lib"\n)\n\nfunc F() { k.G(); lib.H() }\n',
            "there/go.mod": "module ex.org/k\n",
            "here/go.mod": "module ex.org/lib\n",
        }
    )
    assert repository.calls() == set()

    repository.put({"there/s.go": "package k\n\nfunc G() {}\n", "here/s.go": "package lib\n\nfunc H() {}\n"})

    assert repository.calls() == {("m.F", "s.G"), ("m.F", "s.H")}


def test_a_star_import_stays_an_edge_when_its_names_change(repository: Repository) -> None:
    repository.put({"x.py": "def q():\n    pass\n", "b.py": "from x import *\n"})
    assert repository.related("imports") == {("b.py", "x.py")}

    repository.put({"x.py": "def r():\n    pass\n"})

    assert repository.related("imports") == {("b.py", "x.py")}


def test_results_through_a_cycle_do_not_depend_on_what_was_asked_before(repository: Repository) -> None:
    repository.put(
        {
            "a.py": (
                "from b import g\n\n\nclass A:\n    def only_a(self):\n        pass\n\n\n"
                "def f():\n    return g() or A()\n\n\ndef use():\n    f().only_b()\n"
            ),
            "b.py": (
                "from a import f\n\n\nclass B:\n    def only_b(self):\n        pass\n\n\n"
                "def g():\n    return f() or B()\n"
            ),
            "_first.py": "from b import g\n\ng().only_a()\n",
        }
    )

    assert {("a.use", "b.B.only_b"), ("_first.py", "a.A.only_a")} <= repository.calls()


def test_a_change_of_the_c_and_cpp_balance_reads_headers_anew(repository: Repository) -> None:
    header = "class Foo { public: int go() { return stay(); } int stay() { return 1; } };\n"
    repository.put({"a.h": header, "a.c": "int f(void) { return 1; }\n"})
    repository.edges()

    repository.put({"a.cpp": "int g() { return 1; }\n", "b.cpp": "int h() { return g(); }\n"})

    assert ("a.Foo.go", "a.Foo.stay") in repository.calls()


def test_a_new_package_file_moves_what_imports_mean(repository: Repository) -> None:
    repository.put({"stuff/tool/core.py": "def run():\n    pass\n", "use.py": "from tool.core import run\nrun()\n"})
    assert ("use.py", "core.run") not in repository.calls()

    repository.put({"stuff/tool/__init__.py": ""})

    assert ("use.py", "core.run") in repository.calls()


def test_a_changed_path_alias_moves_what_imports_mean(repository: Repository) -> None:
    repository.put(
        {
            "src/x/d.ts": "export function go() {}\n",
            "src/y/d.ts": "export function go() {}\n",
            "a.ts": "import { go } from '@lib/d'\nexport function one() { go() }\n",
            "tsconfig.json": '{"compilerOptions": {"paths": {"@lib/*": ["src/x/*"]}}}',
        }
    )
    assert {edge[3] for edge in repository.edges() if edge[2] == "calls"} == {"src/x/d.ts"}

    repository.put({"tsconfig.json": '{"compilerOptions": {"paths": {"@lib/*": ["src/y/*"]}}}'})

    assert {edge[3] for edge in repository.edges() if edge[2] == "calls"} == {"src/y/d.ts"}


def test_a_checkout_of_another_branch_counts_at_once(repository: Repository) -> None:
    git = ["git", "-C", str(repository.path), "-c", "user.name=t", "-c", "user.email=t@localhost"]
    repository.put({"a.py": "def one():\n    two()\n\n\ndef two():\n    pass\n"})
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    subprocess.run([*git, "checkout", "-qb", "other"], check=True)
    repository.put({"a.py": "def one():\n    three()\n\n\ndef three():\n    pass\n"})
    subprocess.run([*git, "commit", "-qam", "two"], check=True)
    assert repository.calls() == {("a.one", "a.three")}

    subprocess.run([*git, "checkout", "-q", "-"], check=True)

    assert repository.calls() == {("a.one", "a.two")}


def _apply(repository: Repository, name: str, text: int) -> None:
    path = repository.path / name
    if text < 0:
        path.unlink(missing_ok=True)
        if not any(path.parent.iterdir()):
            shutil.rmtree(path.parent)
    else:
        repository.put({name: FILES[name][text % len(FILES[name])]})
