"""What Go's types without a name, generic functions and interfaces lead to, beyond the common rules."""

from __future__ import annotations

from tests.graph.conftest import Repository

TYPES = """package a

type I struct{}

func (I) V() {}

type L[T any] struct{ xs []T }

func (l *L[T]) At(i int) T { return l.xs[i] }
"""

STRUCTS = """package a

import "testing"

func TestListed(t *testing.T) {
	tests := []struct {
		name string
		it   I
	}{{"a", I{}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.it.V() })
	}
}

func TestMapped(t *testing.T) {
	for _, tc := range map[string]struct{ in I }{"x": {in: I{}}} {
		tc.in.V()
	}
}

type cfg struct{ inner struct{ deep struct{ i I } } }

func (c cfg) Nested() { c.inner.deep.i.V() }

func Promoted(p struct{ I }) { p.V() }

func Named(p struct{ I I }) { p.V() }

func Local(t *testing.T) {
	type I struct{ n int }
	tests := []struct{ it I }{}
	for _, tt := range tests {
		tt.it.V()
	}
}
"""

GENERIC = """package a

func NewL[T any](xs ...T) *L[T]           { return nil }
func Ptr[T any](v T) *T                   { return &v }
func First[T any](xs []T) T               { return xs[0] }
func Must[T any](v T, err error) T        { return v }
func Map[A, B any](xs []A, f func(A) B) []B { return nil }
func Value[K comparable, T any](m map[K]T) T { panic(m) }
func mk() (I, error)                      { return I{}, nil }
func written()                            { NewL[I]().At(0).V() }
func many()                               { NewL(nil, I{}).At(0).V() }
func one()                                { Ptr(I{}).V() }
func conversion()                         { Ptr[I](x).V() }
func listed(xs []I)                       { First(xs).V() }
func several()                            { Must(mk()).V() }
func function()                           { Map([]int{}, func(i int) I { return I{} })[0].V() }
func mapped(m map[string]I)               { Value(m).V() }
func other(xs []I)                        { Map(xs, func(i I) int { return 1 })[0].V() }
"""


def test_structs_without_a_name_know_their_fields(repository: Repository) -> None:
    repository.put({"go.mod": "module m\n", "a.go": TYPES, "a_test.go": STRUCTS})

    callers = {caller for caller, callee in repository.calls() if callee == "a.I.V"}

    assert callers == {f"a_test.{name}" for name in ("TestListed", "TestMapped", "cfg.Nested", "Promoted")}


def test_a_generic_functions_result_is_of_the_types_it_is_given(repository: Repository) -> None:
    repository.put({"go.mod": "module m\n", "a.go": TYPES, "b.go": GENERIC})

    callers = {caller for caller, callee in repository.calls() if callee == "a.I.V"}

    names = ("written", "many", "one", "conversion", "listed", "several", "function", "mapped")
    assert callers == {f"b.{name}" for name in names}


def test_an_unexported_method_implements_interfaces_of_its_package_alone(repository: Repository) -> None:
    repository.put(
        {
            "go.mod": "module m\n",
            "a.go": "package a\n\ntype L interface{ seal() }\n\ntype X struct{}\n\nfunc (X) seal() {}\n",
            "b/b.go": "package b\n\ntype Y struct{}\n\nfunc (Y) seal() {}\n",
        }
    )

    assert repository.related("implements") == {("a.X", "a.L"), ("a.X.seal", "a.L.seal")}


def test_a_method_of_an_embedded_interface_does_not_implement_itself(repository: Repository) -> None:
    repository.put(
        {"go.mod": "module m\n", "a.go": "package a\n\ntype L interface{ Log() }\n\ntype base struct{ L }\n"}
    )

    assert repository.related("implements") == {("a.base", "a.L")}
