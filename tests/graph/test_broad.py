"""What holds for the broad languages: local names hide others, and outlines show what a file says."""

from __future__ import annotations

import pytest

from tests.graph.conftest import Repository

HIDDEN = {
    "a.lua": (
        "local function f() end\nfunction top(f) f() end\nfunction loop() for _, f in pairs(t) do f() end end\n"
        "local g = function(f) f() end\nfor f in t do f() end\nfunction seen() f() end\n"
    ),
    "a.kt": (
        "fun f() {}\nfun top(f: () -> Unit) { f() }\nfun loop(xs: List<() -> Unit>) { for (f in xs) f() }\n"
        "fun each() { xs.forEach { f -> f() } }\nfun pair() { val (f, g) = z\n f() }\n"
        "fun caught() { try { } catch (f: E) { f() } }\nval g = { f: () -> Unit -> f() }\nfun seen() { f() }\n"
    ),
    "a.cpp": (
        "void f() {}\nvoid top(void (*f)()) { f(); }\nvoid loop() { for (auto f : v) f(); }\n"
        "void pair() { auto [f, g] = z; f(); }\nauto g = [](auto f) { f(); };\nvoid proto(int f);\n"
        "void seen() { f(); }\n"
    ),
    "a.cs": (
        "class C {\n  void f() {}\n  void loop() { foreach (var f in xs) f(); }\n  void each() { xs.Each(f => f()); }\n"
        "  void type() { if (x is D f) f(); }\n  void caught() { try { } catch (E f) { f(); } }\n"
        "  void seen() { f(); }\n}\n"
    ),
    "a.swift": (
        "func f() {}\nfunc loop() { for f in xs { f() } }\nfunc each() { xs.map { f in f() } }\n"
        "func some() { if let f = z { f() } }\nfunc guarded() { guard let f = z else { return }\n f() }\n"
        "func seen() { f() }\n"
    ),
    "a.scala": (
        "object O {\n  def f(): Int = 1\n  def loop = { for (f <- xs) f() }\n  def each = { xs.map(f => f()) }\n"
        "  def kind(x: A) = x match { case B(f) => f() }\n  def seen = { f() }\n}\n"
    ),
    "a.dart": (
        "void f() {}\nvoid loop() { for (var f in xs) f(); }\nvoid caught() { try { } catch (f) { f(); } }\n"
        "void given(void f(int n)) { f(); }\nvoid seen() { f(); }\n"
    ),
    "a.rb": (
        "def f; end\ndef loop\n  for f in xs do f end\nend\ndef pair\n  f, g = z\n  f\nend\n"
        "def caught\n  go\nrescue E => f\n  f\nend\ndef seen\n  f\nend\n"
    ),
}


@pytest.mark.parametrize("path", HIDDEN)
def test_a_local_name_hides_a_function(repository: Repository, path: str) -> None:
    repository.put({path: HIDDEN[path]})

    callers = {source.rpartition(".")[2] for source, target in repository.calls() if target.endswith(".f")}

    assert callers == {"seen"}


def test_ruby_a_block_assigns_to_the_variable_around_it(repository: Repository) -> None:
    repository.put(
        {"a.rb": "class A\n  def m; end\nend\ndef t\n  x = nil\n  xs.each { x = A.new }\n  x.m\nend\n"},
    )

    assert ("a.t", "a.A.m") in repository.calls()


def test_cpp_a_method_defined_in_its_namespace_is_a_member_of_its_class(repository: Repository) -> None:
    repository.put(
        {
            "a.h": "namespace n { class A { public: void m(); void k(); }; }\n",
            "a.cpp": '#include "a.h"\nnamespace n { void A::m() { k(); } }\n',
        }
    )

    assert ("a.n.A.m", "a.n.A.k") in repository.calls()


def test_kotlin_what_its_grammar_can_not_read_costs_no_class(repository: Repository) -> None:
    repository.put(
        {
            "a.kt": "class A { fun m() {} }\nfun interface I { fun x() }\nclass Z {\n  fun q() { A().m() }\n}\n",
        }
    )

    text = repository.outline("repos/one/a.kt").text

    assert "1  class A\n" in text
    assert "class Z\n  4  fun q()" in text
    assert repository.calls() == {("a.Z.q", "a.A"), ("a.Z.q", "a.A.m")}


def test_outlines_show_a_comments_words_and_no_comment_in_a_signature(repository: Repository) -> None:
    repository.put(
        {
            "a.sh": "#!/bin/bash\n# Runs it\nf() {\n  :\n}\n",
            "a.rb": "# A kit\nclass K # inner\n  # A test\n  def q?\n  end\nend\n",
            "a.cs": (
                '/// <summary>Does <see cref="X"/> well</summary>\nclass C { }\n\n'
                "/// <summary>\n/// Second.\n/// </summary>\nclass D { }\n"
            ),
        }
    )

    assert "f()  — Runs it" in repository.outline("repos/one/a.sh").text
    assert repository.outline("repos/one/a.rb").text.split("\n")[1:] == [
        "2–6  class K  — A kit",
        "  4–5  def q?  — A test",
    ]
    assert repository.outline("repos/one/a.cs").text.split("\n")[1:] == [
        "2  class C  — Does X well",
        "7  class D  — Second.",
    ]


def test_dart_factories_are_members_and_make_their_class(repository: Repository) -> None:
    repository.put(
        {
            "a.dart": (
                "class K {\n  K._();\n  factory K.of(int a) { return K._(); }\n  const factory K.other() = Z;\n"
                "  void go() {}\n}\nvoid t() { K.of(1).go(); }\n"
            )
        }
    )

    assert {("a.t", "a.K.of"), ("a.t", "a.K.go"), ("a.K.of", "a.K._")} <= repository.calls()
    assert "factory K.other()" in repository.outline("repos/one/a.dart").text
