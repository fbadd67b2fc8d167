"""What TypeScript's and JavaScript's names, members and types lead to, beyond the common rules."""

from __future__ import annotations

from tests.graph.conftest import Repository

AB = "class A { go() {} }\nclass B { go() {} }\n"


def test_static_and_instance_members_of_one_name_are_two(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": AB + "class P {\n"
            "  make() { return new A() }\n"
            "  static make() { return new B() }\n"
            "  own() { this.make().go() }\n"
            "  static whole() { this.make().go() }\n"
            "}\n"
            "class Q extends P {\n"
            "  above() { super.make().go() }\n"
            "  static beyond() { super.make().go() }\n"
            "}\n"
            "function one() { new P().make().go() }\n"
            "function all() { P.make().go() }\n"
        }
    )

    goes = {pair for pair in repository.calls() if pair[1].endswith(".go")}

    assert goes == {
        *((f"a.{name}", "a.A.go") for name in ("P.own", "Q.above", "one")),
        *((f"a.{name}", "a.B.go") for name in ("P.whole", "Q.beyond", "all")),
    }


def test_an_instance_has_no_static_member_and_a_class_no_instance_member(repository: Repository) -> None:
    repository.put({"a.ts": "class P { one() {}\n static all() {} }\nfunction f(p: P) { p.all(); P.one() }\n"})

    assert repository.calls() == set()


def test_this_in_an_arrow_of_an_object_literal_is_that_of_the_method_around(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": "class K {\n  g() {}\n"
            "  f() { return { g() {}, arrow: () => this.g(), plain() { this.g() } } }\n}\n"
            "const o = { g() {}, h: () => { this.g() } }\n"
        }
    )

    assert repository.calls() == {("a.K.f.arrow", "a.K.g"), ("a.K.f.plain", "a.K.f.g")}


def test_any_and_unknown_end_what_is_known(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": "class U { m() {} }\n"
            "class F { held: any = new U()\n f() { this.held.m() } }\n"
            "function a() { const u: any = new U(); u.m() }\n"
            "function b(u: U) { (u as any).m() }\n"
            "function c(u: unknown = new U()) { u.m() }\n"
            "function d(u: U | any) { u.m() }\n"
        }
    )

    found = {(edge[1], edge[5]) for edge in repository.edges() if edge[4] == "a.U.m"}

    assert found == {(f"a.{name}", "name_only") for name in ("F.f", "a", "b", "c", "d")}


def test_a_static_method_implements_nothing(repository: Repository) -> None:
    repository.put({"a.ts": "interface R { opt?(): void }\nclass C implements R { static opt() {} }\n"})

    assert repository.related("implements") == {("a.C", "a.R")}


def test_decorators_belong_to_what_they_decorate(repository: Repository) -> None:
    repository.put(
        {
            "d.ts": "export const Log = (t: any) => t\nexport const Get = (p: string) => Log\n",
            "a.ts": "import { Log, Get } from './d'\n@Get('/')\nexport class A {\n"
            "  @Log m() {}\n  @Get('/x')\n  n() {}\n  constructor(@Log private y: number) {}\n}\n@Log\nclass B {}\n",
        }
    )

    assert repository.related("decorates") == {
        ("a.A", "d.Get"),
        ("a.A.m", "d.Log"),
        ("a.A.n", "d.Get"),
        ("a.A.constructor", "d.Log"),
        ("a.B", "d.Log"),
    }


def test_a_destructured_member_is_called(repository: Repository) -> None:
    repository.put(
        {
            "t.ts": "export function f() {}\nexport class S { m() {} }\n",
            "u.ts": "import * as N from './t'\nfunction a() { const { f } = N; f() }\nfunction d({ m }: N.S) { m() }\n"
            "function e(given?: () => void) { const f = given ?? N.f; f() }\n"
            "function g(given: unknown) { const f = given as typeof N.f; f() }\n",
        }
    )

    assert repository.calls() == {("u.a", "t.f"), ("u.d", "t.S.m")}


def test_members_of_what_the_language_gives_are_no_matches_by_name(repository: Repository) -> None:
    repository.put(
        {
            "d.ts": "class D { from() {}\n log() {}\n parse() {}\n at() {} }\n",
            "u.ts": "function a(s: string) { Array.from(s); JSON.parse(s); console.log(1); s.at(0) }\n"
            "function b(u: Foreign) { u.at() }\n",
        }
    )

    found = {(edge[1], edge[4]) for edge in repository.edges() if edge[5] == "name_only"}

    assert found == {("u.b", "d.D.at")}


def test_a_wrapped_default_export_is_imported_and_rendered(repository: Repository) -> None:
    repository.put(
        {
            "b.tsx": "import { memo } from 'react'\nconst Raw = () => null\nexport default memo(Raw)\n",
            "u.tsx": "import B from './b'\nexport function U() { return <B /> }\n",
        }
    )

    assert ("u", "b.default") in {(e[1].removesuffix(".tsx"), e[4]) for e in repository.edges() if e[2] == "imports"}
    assert {("u.U", "b.default"), ("b.default", "b.Raw")} <= repository.related("uses")


def test_an_import_that_cannot_be_told_leads_to_its_file(repository: Repository) -> None:
    repository.put(
        {
            "b.ts": "import { wrap } from 'far'\nexport const { part } = wrap()\n",
            "u.ts": "import { part } from './b'\npart()\n",
        }
    )

    assert ("u.ts", "b.ts") in {(e[0], e[3]) for e in repository.edges() if e[2] == "imports"}


def test_declarations_of_one_name_are_merged(repository: Repository) -> None:
    repository.put(
        {
            "t.ts": "export enum K { A }\nexport namespace K { export function parse() {} }\n"
            "export function fn() {}\nexport namespace fn { export function sub() {} }\n"
            "export class C { m() {} }\n"
            "export namespace C { export function of() {}\n export interface Opt { o(): void } }\n"
            "export interface U { extra(): void }\nexport class U { m() {} }\n",
            "u.ts": "import { K, fn, C, U } from './t'\n"
            "function a() { K.parse(); fn.sub(); C.of(); new C().m() }\n"
            "function b(u: U, o: C.Opt) { u.m(); u.extra(); o.o() }\n",
        }
    )

    assert repository.calls() == {
        *(("u.a", f"t.{name}") for name in ("K.parse", "fn.sub", "C.of", "C.m", "C")),
        *(("u.b", f"t.{name}") for name in ("U.m", "U.extra", "C.Opt.o")),
    }


def test_declared_globals_are_seen_below_their_package(repository: Repository) -> None:
    repository.put(
        {
            "one/package.json": "{}",
            "one/g.d.ts": "declare function far(x: string): void;\ndeclare namespace G { function gf(): void }\n"
            "declare class Amb { am(): void }\n",
            "one/m.d.ts": "export {}\ndeclare global { interface Win { open(): void } }\n",
            "one/u.ts": "export function t(w: Win) { far('x'); G.gf(); new Amb().am(); w.open() }\n",
            "two/u.ts": "export function t() { far('x') }\n",
        }
    )

    names = ("g.far", "g.G.gf", "g.Amb", "g.Amb.am", "m.Win.open")

    assert {(e[0], e[4]) for e in repository.edges() if e[2] == "calls"} == {("one/u.ts", name) for name in names}


def test_a_declared_global_that_comes_later_is_found(repository: Repository) -> None:
    repository.put({"u.ts": "export function t() { far() }\n", "g.d.ts": "declare function near(): void\n"})
    before = repository.calls()
    repository.put({"g.d.ts": "declare function far(): void\n"})

    assert (before, repository.calls()) == (set(), {("u.t", "g.far")})


def test_what_is_required_is_taken_apart_at_any_depth(repository: Repository) -> None:
    repository.put(
        {
            "t.js": "exports.o = { g() {}, h: { i() {} } };\n",
            "v.js": "const { o: { g, h: { i } } } = require('./t');\nfunction a() { g(); i(); }\n",
        }
    )

    assert {name.rpartition(".")[2] for _, name in repository.calls()} == {"g", "i"}


def test_sets_maps_and_returned_objects_keep_what_they_are_made_of(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": "class X { m() {} }\n"
            "export function s() { const s = new Set([new X()]); s.forEach(x => x.m()) }\n"
            "export function t() { const m = new Map([[function () {}, new X()]]); m.get(f)!.m() }\n"
            "export const u = (x: X) => ({ n() { x.m() } })\n"
            "export function v() { u(new X()).n() }\n"
        }
    )

    calls = {pair for pair in repository.calls() if pair[1][-2:] in (".m", ".n")}

    assert calls == {("a.s", "a.X.m"), ("a.t", "a.X.m"), ("a.u.n", "a.X.m"), ("a.v", "a.u.n")}


def test_spread_and_assignment_if_missing_keep_what_is_known(repository: Repository) -> None:
    repository.put(
        {
            "a.ts": "class X { m() {} }\nlet open\n"
            "function one() { return (open ||= new X()) }\n"
            "function a() { one().m(); open.m() }\n"
            "function b(all: Map<string, X>) { [...all.values()].filter(Boolean)[0].m() }\n"
        }
    )

    assert {("a.a", "a.X.m"), ("a.b", "a.X.m")} <= repository.calls()
