"""What Java, C and Rust calls lead to where several definitions could be meant, and what they must not lead to."""

from __future__ import annotations

from tests.graph.conftest import Repository


def lines_called(repository: Repository) -> set[tuple[str, int]]:
    """Each symbol that is called, by its own first line, and the line of the call; in a repository of one file."""
    return {
        (f"{edge[4]}:{target}", line)
        for edge, target in repository.edges_with_start()
        if edge[2] == "calls" and edge[5] == "resolved"
        for line in edge[6]
    }


def as_a_fresh_build(repository: Repository, name: str) -> set[tuple[str, str]]:
    """Each symbol that calls and the files of what it calls, once these are seen to be what a fresh build says."""
    fresh = repository.home.parent / name
    fresh.mkdir()
    edges = repository.edges()
    assert edges == repository.edges(fresh)
    return {(edge[1], edge[3]) for edge in edges if edge[2] == "calls" and edge[5] == "resolved"}


def test_java_overloads_of_one_arity_are_told_apart_by_the_types_of_arguments(repository: Repository) -> None:
    repository.put(
        {
            "A.java": (
                "class B {}\nclass C extends B {}\nclass A {\n"
                "  void m(int a) {}\n  void m(String s) {}\n  void m(B b) {}\n  void m(Object... all) {}\n"
                "  void t(String s, C c, Object o) {\n"
                "    m(1);\n    m(s);\n    m(c);\n    m(new B());\n    m(o);\n    m(1, 2);\n    m(s.trim());\n  }\n}\n"
            )
        }
    )

    assert lines_called(repository) == {
        ("A.A.m:4", 9), ("A.A.m:5", 10), ("A.A.m:6", 11), ("A.A.m:6", 12), ("A.A.m:7", 14), ("A.B:1", 12)
    }  # fmt: skip
    assert ("A.java", "A.A.t", "calls", "A.java", "A.A.m", "name_only", (13, 15)) in repository.edges()


def test_java_a_class_with_nothing_foreign_above_it_is_no_foreign_type(repository: Repository) -> None:
    repository.put(
        {
            "A.java": (
                "import java.util.Collection;\nclass U {}\nclass F extends Foreign {}\nclass R<T> {\n"
                "  void save(T t) {}\n  void save(Collection<T> ts) {}\n"
                "  void t(R<U> r, U u, F f) {\n    r.save(u);\n    r.save(f);\n  }\n}\n"
            )
        }
    )

    assert lines_called(repository) == {("A.R.save:5", 8)}


def test_java_an_overload_above_counts_unless_it_is_overridden(repository: Repository) -> None:
    repository.put(
        {
            "A.java": (
                "class A {\n  void m(String s) {}\n  void m(char c) {}\n}\n"
                "class B extends A {\n  void m(int i) {}\n  void m(char c) {}\n"
                "  void t() {\n    m(1);\n    m(\"s\");\n    m('c');\n  }\n}\n"
            )
        }
    )

    assert lines_called(repository) == {("A.B.m:6", 9), ("A.A.m:2", 10), ("A.B.m:7", 11)}


def test_java_a_method_implements_one_of_the_same_parameters_and_a_static_one_none(repository: Repository) -> None:
    repository.put(
        {
            "A.java": (
                "interface I<T> {\n  void go(String s);\n  void take(T t);\n  void st();\n}\n"
                "class C implements I<Integer> {\n  void go(String s) {}\n  void go(int i) {}\n"
                "  void take(Integer i) {}\n  static void st() {}\n}\n"
            )
        }
    )

    found = {(*edge[1:5], edge[6]) for edge in repository.edges() if edge[2] == "implements" and edge[1] != "A.C"}

    assert found == {
        ("A.C.go", "implements", "A.java", "A.I.go", (7,)),
        ("A.C.take", "implements", "A.java", "A.I.take", (9,)),
    }


def test_java_members_that_are_not_inherited_hide_nothing(repository: Repository) -> None:
    repository.put(
        {
            "p/Up.java": "package p;\npublic class Up { private void own() {} static int size; }\n",
            "q/Far.java": "package q;\npublic class Far { void near() {} protected void far() {} }\n",
            "p/I.java": "package p;\ninterface I { static void of() {} }\n",
            "p/S.java": "package p;\nclass S { static void of() {} }\n",
            "p/O.java": (
                "package p;\nimport static p.S.*;\nclass O {\n  void own() {} void near() {} void far() {}\n"
                "  class A extends Up { void a() { own(); } }\n"
                "  class B extends q.Far { void b() { near(); far(); } }\n"
                "  class C implements I { void c() { of(); I.of(); } }\n}\n"
            ),
        }
    )

    assert repository.calls() == {
        ("O.O.A.a", "O.O.own"), ("O.O.B.b", "O.O.near"), ("O.O.B.b", "Far.Far.far"), ("O.O.C.c", "S.S.of"),
        ("O.O.C.c", "I.I.of"),
    }  # fmt: skip


def test_java_a_class_of_two_modules_is_the_one_of_the_callers_own(repository: Repository) -> None:
    util = "package x;\npublic class Util { public static void go() {} }\n"
    repository.put(
        {
            "a/src/main/java/x/Util.java": util,
            "b/src/main/java/x/Util.java": util,
            "b/src/main/java/x/B.java": "package x;\nclass B { void b() { Util.go(); } }\n",
            "a/src/test/java/x/A.java": "package x;\nclass A { void a() { Util.go(); } }\n",
            "c/src/main/java/y/C.java": "package y;\nimport x.Util;\nclass C { void c() { Util.go(); } }\n",
        }
    )

    found = {(edge[1], edge[3]) for edge in repository.edges() if edge[2] == "calls" and edge[5] == "resolved"}

    assert found == {("B.B.b", "b/src/main/java/x/Util.java"), ("A.A.a", "a/src/main/java/x/Util.java")}


def test_java_a_name_with_its_package_leads_to_its_class_unless_a_variable_has_it(repository: Repository) -> None:
    repository.put(
        {
            "q/r/U.java": "package q.r;\npublic class U { public static U st() { return null; } public void m() {} }\n",
            "p/A.java": (
                "package p;\nclass A { void t() { q.r.U.st().m(); } void hidden(String q) { q.r.U.st(); } }\n"
            ),
        }
    )

    assert repository.calls() == {("A.A.t", "U.U.st"), ("A.A.t", "U.U.m")}


def test_c_of_several_definitions_the_one_of_the_file_that_includes_the_prototype_is_called(
    repository: Repository,
) -> None:
    repository.put(
        {
            "u.h": "int real(int);\nint twice(int);\n",
            "u.c": '#include "u.h"\nint real(int x) { return x; }\nint twice(int x) { return x; }\n',
            "a/fake.c": "int real(int x) { return 0; }\n",
            "b/u.c": '#include "../u.h"\nint twice(int x) { return 0; }\n',
            "main.c": '#include "u.h"\nint t(int x) { return real(x) + twice(x); }\n',
            "bare.c": "int twice(int);\nint b(int x) { return twice(x); }\n",
        }
    )

    found = {edge[1:2] + edge[3:5] for edge in repository.edges() if edge[2] == "calls" and edge[5] == "resolved"}

    assert found == {("main.t", "u.c", "u.real"), ("main.t", "u.h", "u.twice"), ("bare.b", "bare.c", "bare.twice")}


def test_c_a_struct_that_a_header_leaves_open_has_the_members_its_source_gives_it(repository: Repository) -> None:
    repository.put(
        {
            "l.h": "typedef struct loop loop_t;\nstruct ops { int (*init)(loop_t *); };\nloop_t *mk(void);\n",
            "l.c": (
                '#include "l.h"\nstruct loop { const struct ops *ops; int (*idle)(loop_t *); };\n'
                "int f(loop_t *l) { return l->ops->init(l) + l->idle(l); }\nint g(void) { return mk()->idle(0); }\n"
            ),
            "two.h": "typedef struct two two_t;\n",
            "x.c": '#include "two.h"\nstruct two { int (*run)(int); };\nint x(two_t *t) { return t->run(1); }\n',
            "y.c": '#include "two.h"\nstruct two { int (*run)(int); };\nint y(two_t *t) { return t->run(1); }\n',
        }
    )

    assert repository.calls() == {
        ("l.f", "l.ops.init"), ("l.f", "l.loop.idle"), ("l.g", "l.mk"), ("l.g", "l.loop.idle"), ("x.x", "x.two.run"),
        ("y.y", "y.two.run"),
    }  # fmt: skip


CRATE = {"Cargo.toml": '[package]\nname = "a"\n'}
TYPES = "pub struct Error;\nimpl Error { fn at(&self) {} }\npub struct F;\nimpl F { fn touch(&self) {} }\n"


def callers(repository: Repository, callee: str) -> set[str]:
    return {source for source, target in repository.calls() if target == callee}


def test_rust_a_method_implements_only_the_trait_of_its_own_impl(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                "struct S;\ntrait A { fn go(&self); }\ntrait B { fn go(&self); }\n"
                "impl A for S {\n  fn go(&self) {}\n}\n"
                "impl Iterator for S {\n  fn go(&self) {}\n}\nimpl S {\n  fn go(&self) {}\n}\n"
                "fn t(s: &S) {\n  s.go();\n}\n"
            ),
        }
    )

    edges = repository.edges_with_start()

    assert {(edge[6], start) for edge, start in edges if edge[2] == "implements" and edge[1] == "lib.S.go"} == {
        ((5,), 2)
    }
    assert lines_called(repository) == {("lib.S.go:11", 14)}


def test_rust_a_method_that_several_traits_give_is_a_match_by_name(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                "struct S;\nimpl From<u8> for S { fn from(x: u8) -> S { S } }\n"
                "impl From<u16> for S { fn from(x: u16) -> S { S } }\nfn t() { S::from(1); }\n"
            ),
        }
    )

    found = {edge[5] for edge in repository.edges() if edge[1] == "lib.t" and edge[2] == "calls"}

    assert found == {"name_only"}


def test_rust_a_pattern_in_matches_is_a_use(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                "enum K { D(u8) }\nimpl K { fn ok(&self) -> bool { true } }\nfn get() -> K { K::D(1) }\n"
                "fn d(k: &K) -> bool { matches!(get(), K::D(_) if k.ok()) }\n"
                "fn e(k: &K) { assert!(matches!(k, K::D(_))); }\n"
            ),
        }
    )

    assert repository.calls() == {("lib.get", "lib.K.D"), ("lib.d", "lib.get"), ("lib.d", "lib.K.ok")}
    assert {("lib.d", "lib.K.D"), ("lib.e", "lib.K.D")} <= repository.related("uses")


def test_rust_results_give_their_value_and_their_error_through_aliases_too(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                f"{TYPES}pub type Result<T, E = Error> = std::result::Result<T, E>;\n"
                "fn dec() -> Result<F> { todo!() }\n"
                "fn arms() { match dec() { Ok(f) => f.touch(), Err(e) => e.at() } }\n"
                "fn question() -> Result<()> { let f = dec()?; f.touch(); Ok(()) }\n"
                "fn first() { dec().map_err(|e| e.at()).ok().unwrap().touch() }\n"
                "fn changed() { if let Err(e) = dec().map_err(|e| other(e)) { e.at() } }\n"
                "fn arm() { let f = match dec() { Ok(f) => f, Err(_) => return }; f.touch() }\n"
                "fn branch(r: Option<F>) { let f = if let Some(f) = r { f } else { return }; f.touch() }\n"
            ),
        }
    )

    assert callers(repository, "lib.F.touch") == {
        "lib.arms", "lib.question", "lib.arm", "lib.branch", "lib.first"
    }  # fmt: skip
    assert callers(repository, "lib.Error.at") == {"lib.arms", "lib.first"}


def test_rust_a_closure_takes_what_the_functions_bound_says(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                f"{TYPES}fn one<G: Send + FnOnce(&F)>(g: G) {{}}\nfn two(n: u8, g: impl Fn(u8, &F) -> u8) {{}}\n"
                "fn three<G>(g: G) where G: Fn(F) {}\nfn boxed(g: Box<dyn Fn(&F)>) {}\n"
                "impl Error { fn map<G: Fn(&F)>(&self, g: G) {} }\n"
                "fn a() { one(|f| f.touch()) }\nfn b() { two(1, |_, f| f.touch()) }\nfn c() { three(|f| f.touch()) }\n"
                "fn d() { boxed(Box::new(|f| f.touch())) }\nfn e(x: Error) { x.map(|f| f.touch()) }\n"
                "fn g() { two(1, |f, _| f.touch()) }\n"
            ),
        }
    )

    assert callers(repository, "lib.F.touch") == {"lib.a", "lib.b", "lib.c", "lib.e"}


def test_rust_what_an_iterator_maps_to_is_not_what_it_held(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                f"{TYPES}fn mapped(xs: Vec<F>) {{ xs.iter().map(|f| name(f)).for_each(|n| n.touch()) }}\n"
                "fn counted(xs: Vec<F>) { for (i, f) in xs.iter().enumerate() { f.touch() } }\n"
                "fn flat(xs: Vec<Vec<F>>) { xs.iter().flatten().for_each(|f| f.touch()) }\n"
            ),
        }
    )

    assert callers(repository, "lib.F.touch") == {"lib.counted", "lib.flat"}


def test_rust_an_associated_type_has_the_members_of_its_bound(repository: Repository) -> None:
    repository.put(
        {
            **CRATE,
            "src/lib.rs": (
                "pub trait E { fn size(&self) -> usize; }\npub trait C {\n  type Item: E;\n"
                "  fn next(&mut self) -> Option<Self::Item>;\n"
                "  fn run(&mut self) { while let Some(i) = self.next() { i.size(); } }\n}\n"
            ),
        }
    )

    assert ("lib.C.run", "lib.E.size") in repository.calls()


def test_what_is_one_of_several_is_told_again_when_one_comes_or_goes(repository: Repository) -> None:
    util = "package x;\npublic class Util { public static void go() {} }\n"
    repository.put(
        {
            "a/src/main/java/x/Util.java": util,
            "c/src/main/java/y/C.java": "package y;\nimport x.Util;\nclass C { void c() { Util.go(); } }\n",
            "u.h": "int real(int);\n",
            "u.c": '#include "u.h"\nint real(int x) { return x; }\n',
            "main.c": '#include "u.h"\nint t(int x) { return real(x); }\n',
            "l.h": "typedef struct loop loop_t;\nloop_t *mk(void);\n",
            "l.c": '#include "l.h"\nstruct loop { int (*idle)(int); };\n',
            "g.c": '#include "l.h"\nint g(void) { return mk()->idle(0); }\n',
        }
    )

    before = as_a_fresh_build(repository, "1")
    repository.put(
        {
            "b/src/main/java/x/Util.java": util,
            "v.c": '#include "u.h"\nint real(int x) { return 0; }\n',
            "m.c": '#include "l.h"\nstruct loop { int (*idle)(int); };\n',
        }
    )
    between = as_a_fresh_build(repository, "2")
    for path in ("b/src/main/java/x/Util.java", "v.c", "m.c"):
        (repository.path / path).unlink()

    assert before == {
        ("C.C.c", "a/src/main/java/x/Util.java"), ("main.t", "u.c"), ("g.g", "l.h"), ("g.g", "l.c")
    }  # fmt: skip
    assert between == {("main.t", "u.h"), ("g.g", "l.h")}
    assert as_a_fresh_build(repository, "3") == before
