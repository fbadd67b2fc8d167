"""What Python's guards, aliases and annotations lead to, and what is known of built-in receivers."""

from __future__ import annotations

import pytest

from tests.graph.conftest import Repository

CLASSES = (
    "class A:\n    def run(self):\n        pass\n\n\n"
    "class B:\n    def run(self):\n        pass\n\n\n"
)  # fmt: skip


def called(repository: Repository, code: str) -> set[str]:
    repository.put({"m.py": CLASSES + code})
    return {target for source, target in repository.calls() if source == "m.go"}


@pytest.mark.parametrize(
    "code",
    [
        "def go(x):\n    if not isinstance(x, A):\n        return\n    x.run()\n",
        "def go(x):\n    if not isinstance(x, A):\n        raise TypeError\n    x.run()\n",
        "def go(xs):\n    for x in xs:\n        if not isinstance(x, A):\n            continue\n        x.run()\n",
        "def go(x):\n    assert isinstance(x, A), x\n    x.run()\n",
        "def go(x):\n    return isinstance(x, A) and x.run()\n",
        "def go(x):\n    return not isinstance(x, A) or x.run()\n",
        "def go(x):\n    return x.run() if isinstance(x, A) else 0\n",
        "def go(xs):\n    return [x.run() for x in xs if isinstance(x, A)]\n",
        "def go(self):\n    if isinstance(self.item, A):\n        self.item.run()\n",
        "def go(x):\n    if type(x) is A:\n        x.run()\n",
        "def go(x):\n    if type(x) is not A:\n        return\n    x.run()\n",
        "def go(x):\n    while isinstance(x, A):\n        x.run()\n",
        "def go(kind):\n    if issubclass(kind, A):\n        kind().run()\n",
        "def go(x: A | B):\n    if isinstance(x, B):\n        pass\n    else:\n        x.run()\n",
        "def go(x: A | B):\n    if isinstance(x, B):\n        return\n    x.run()\n",
        "def go(x):\n    if not isinstance(x, A):\n        pass\n    else:\n        found = x\n        found.run()\n",
    ],
)
def test_a_guard_tells_the_class_of_what_it_lets_pass(repository: Repository, code: str) -> None:
    assert called(repository, code) - {"m.A"} == {"m.A.run"}


@pytest.mark.parametrize(
    "code",
    [
        "def go(x):\n    if not isinstance(x, A):\n        x.run()\n",
        "def go(x):\n    if isinstance(x, A):\n        x = other()\n        x.run()\n",
        "def go(n):\n    assert isinstance(n.item, A)\n    n = n.next\n    n.item.run()\n",
        "def go(x):\n    assert isinstance(x, A)\n    def inner(x):\n        x.run()\n    return inner\n",
        "def go(x):\n    if isinstance(x, A) or x:\n        x.run()\n",
        "def go(x):\n    if not isinstance(x, A):\n        print(x)\n    x.run()\n",
    ],
)
def test_a_guard_tells_nothing_where_it_need_not_hold(repository: Repository, code: str) -> None:
    assert called(repository, code) == set()


@pytest.mark.parametrize(
    ("alias", "call"),
    [
        ("K = Annotated[A, Depends(make)]", "x.run()"),
        ("K = Optional[A]", "x.run()"),
        ("K = A | None", "x.run()"),
        ("K = list[A]", "x[0].run()"),
        ("K = dict[str, A]", "x['a'].run()"),
        ("K: TypeAlias = 'A'", "x.run()"),
        ("K: TypeAlias = A", "x.run()"),
        ("type K = A", "x.run()"),
        ("K = Callable[[int], A]", "x(1).run()"),
    ],
)
def test_an_alias_of_a_type_is_that_type(repository: Repository, alias: str, call: str) -> None:
    imports = "from typing import Annotated, Callable, Optional, TypeAlias\nfrom fastapi import Depends\n"

    found = called(repository, f"{imports}\n{alias}\n\n\ndef go(x: K):\n    {call}\n")

    assert found == {"m.A.run"}


def test_annotations_of_a_method_see_the_names_of_its_class(repository: Repository) -> None:
    repository.put(
        {
            "m.py": (
                "class Item:\n    def run(self):\n        pass\n\n\n"
                "class Cart:\n    class Item:\n        def run(self):\n            pass\n\n"
                "    def add(self, item: Item) -> Item:\n        item.run()\n        Item().run()\n\n"
                "    def use(self):\n        self.add(1).run()\n"
            )
        }
    )

    ends = {edge[:2] + edge[4:5] + edge[6:] for edge in repository.edges() if edge[2] == "calls"}

    assert ("m.py", "m.Cart.add", "m.Cart.Item.run", (12,)) in ends
    assert ("m.py", "m.Cart.add", "m.Item.run", (13,)) in ends
    assert ("m.py", "m.Cart.use", "m.Cart.Item.run", (16,)) in ends


def test_a_module_that_two_services_have_is_no_guess(repository: Repository) -> None:
    packages = {f"services/{name}/app/__init__.py": "" for name in "ab"}
    models = {f"services/{name}/app/models.py": "def make():\n    pass\n" for name in "ab"}
    repository.put({**packages, **models, "tools/x.py": "from app.models import make\n\n\ndef go():\n    make()\n"})
    repository.put({"services/a/app/use.py": "from app.models import make\n\n\ndef own():\n    make()\n"})

    found = {edge[:2] + edge[3:4] for edge in repository.edges() if edge[2] in ("calls", "imports")}

    assert ("services/a/app/use.py", "use.own", "services/a/app/models.py") in found
    assert not [edge for edge in found if edge[0] == "tools/x.py"]


def test_a_call_of_a_function_by_another_name_is_one_of_the_function(repository: Repository) -> None:
    code = "def f(): pass\n\n\ndef h(): pass\n\n\ndef go(k):\n    g = f\n    g()\n    fn = f if k else h\n    fn()\n"

    assert called(repository, code) == {"m.f", "m.h"}


def test_what_a_foreign_class_makes_may_give_anything_as_a_descriptor(repository: Repository) -> None:
    code = "from django.db import models\n\n\nclass Order(models.Model):\n    customer = models.ForeignKey(A)\n"
    repository.put({"m.py": f"{CLASSES}{code}\n    def go(self):\n        self.customer.run()\n"})

    assert "Order.go  calls 18" in repository.callers("A.run").text.partition("possible (name only)")[2]


@pytest.mark.parametrize(
    "code",
    [
        "def go(y: list):\n    y.run()\n",
        "def go(y: str):\n    y.run()\n",
        "def go(y: ValueError):\n    y.run()\n",
        "def go():\n    dict(a=1).run()\n",
        "def go():\n    {}.run()\n",
        "def go(x):\n    assert isinstance(x, (list, set))\n    x.run()\n",
    ],
)
def test_a_built_in_receiver_is_never_possibly_one_of_the_repository(repository: Repository, code: str) -> None:
    repository.put({"m.py": CLASSES + code})

    assert "possible" not in repository.callers("A.run").text


def test_what_a_built_in_container_holds_stays_possible(repository: Repository) -> None:
    repository.put({"m.py": f"{CLASSES}def go(y: list, z: dict):\n    y[0].run()\n    z.get(1).run()\n"})

    assert "go  calls 12, 13" in repository.callers("A.run").text.partition("possible (name only)")[2]


def test_a_signature_is_shown_without_the_comments_in_it(repository: Repository) -> None:
    repository.put({"m.py": "def f(a='#',  # first\n      b=1,\n      # more\n      c=2):\n    pass\n"})

    assert repository.outline("repos/one/m.py").text.endswith("1–5  def f(a='#', b=1, c=2)")
