"""What the graph's tools say, and that they keep to their caps."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from guilds_code.engines.graph.words import split
from guilds_code.tools.code_callers import code_callers
from guilds_code.tools.code_map import code_map
from guilds_wire.errors import ToolError
from tests.graph.conftest import Repository

APP = '''"""Orders."""
import shop.money as m
from shop.store import Store, open_store


class Cart:
    """What a customer is about to buy."""

    def __init__(self, store: Store):
        self.store = store
        self.lines = []

    def add(self, name, price):
        self.lines.append((name, m.parse(price)))
        return self

    def save(self):
        self.store.put("cart", self.lines)


def checkout(path):
    cart = Cart(open_store(path))
    cart.add("pen", "1.20").save()
    return m.parse("1"), m.parse("2")
'''
STORE = """class Store:
    def put(self, key, value):
        raise NotImplementedError


class FileStore(Store):
    def put(self, key, value):
        return (key, value)


def open_store(path) -> FileStore:
    return FileStore()
"""
MONEY = "def parse(text):\n    return text\n"


@pytest.fixture
def shop(repository: Repository) -> Repository:
    return repository.put({"shop/__init__.py": "", "shop/app.py": APP, "shop/store.py": STORE, "shop/money.py": MONEY})


def test_outline_nests_signatures_with_spans_and_docs(shop: Repository) -> None:
    assert shop.outline("repos/one/shop/app.py").text.split("\n") == [
        "repos/one/shop/app.py · python · 24 lines · 5 symbols",
        "6–18  class Cart  — What a customer is about to buy.",
        "  9–11  def __init__(self, store: Store)",
        "  13–15  def add(self, name, price)",
        "  17–18  def save(self)",
        "21–24  def checkout(path)",
    ]


def test_outline_shows_headings_selectors_and_keys(repository: Repository) -> None:
    repository.put(
        {
            "a.md": "# One\n\n## Two\n\ntext\n\n# Three\n",
            "a.css": ".a, b > c { color: red }\n@media print { .d { x: y } }\n",
            "a.yaml": "a: 1\nb:\n  c: 2\n",
            "a.toml": "[tool.x]\nb = 2\n",
            "a.json": '{"a": {"b": 1}}\n',
            "a.html": "<body><h1>Title</h1><section id='s'></section></body>\n",
            "a.tf": 'resource "x" "y" {\n  a = 1\n}\n',
        }
    )

    texts = {
        kind: repository.outline(f"repos/one/a.{kind}").text
        for kind in ("md", "css", "yaml", "toml", "json", "html", "tf")
    }

    assert "1–6  # One\n  3–6  ## Two\n7  # Three" in texts["md"]
    assert ".a, b > c" in texts["css"]
    assert "  .d" in texts["css"] or "2  .d" in texts["css"]
    assert "2–3  b\n  3  c" in texts["yaml"]
    assert "[tool.x]" in texts["toml"]
    assert "1  a\n  1  b" in texts["json"]
    assert "h1 Title" in texts["html"]
    assert 'resource "x" "y"' in texts["tf"]


def test_outline_of_a_language_that_is_not_read_says_what_to_use(repository: Repository) -> None:
    repository.put({"a.cobol": "IDENTIFICATION DIVISION.\n"})

    assert "code_search" in repository.outline("repos/one/a.cobol").text


def test_outline_keeps_to_its_cap_and_says_what_is_left_out(repository: Repository) -> None:
    repository.put({"long.py": "".join(f"def function_{n}():\n    pass\n" for n in range(500))})

    result = repository.outline("repos/one/long.py", cap_bytes=1024)

    assert len(result.text.encode()) <= 1024
    assert "more symbols left out" in result.text
    assert len(result.cuts) == 2


def test_callers_show_every_line_and_tell_the_kinds_apart(shop: Repository) -> None:
    text = shop.callers("money.parse").text.split("\n")

    assert text == [
        "repos/one/shop/money.py:1  function parse",
        "  repos/one/shop/app.py:14  Cart.add  calls 14",
        "  repos/one/shop/app.py:24  checkout  calls 24",
    ]


def test_callers_of_a_class_are_its_constructions_and_its_subclasses(shop: Repository) -> None:
    text = shop.callers("Store").text

    assert "repos/one/shop/store.py:6  FileStore  inherits 6" in text
    assert "(module level)  imports 3" in text
    assert "repos/one/shop/store.py:12  open_store  calls 12" in shop.callers("FileStore").text


def test_callers_follow_depth_and_direction(shop: Repository) -> None:
    inward = shop.callers("money.parse", depth=2).text
    outward = shop.callers("checkout", direction="out", depth=2).text

    assert "    repos/one/shop/app.py:23  checkout  calls 23" in inward
    assert "  repos/one/shop/store.py:11  open_store  calls 22" in outward
    assert "    repos/one/shop/store.py:6  FileStore" in outward


def test_callers_take_a_place_and_a_qualified_name(shop: Repository) -> None:
    by_place = shop.callers("repos/one/shop/app.py:14").text
    by_name = shop.callers("shop.app.Cart.add").text

    assert by_place == by_name
    assert by_name.startswith("repos/one/shop/app.py:13  method Cart.add\n")


def test_callers_take_a_place_from_the_working_directory_before_one_of_the_repository(shop: Repository) -> None:
    shop.put({"money.py": "def wrong(): pass\n"})
    call = shop.call()
    call.workspace.directory = os.fsencode(shop.path / "shop")

    answers = [code_callers(call, place).text for place in ("money.py:1", f"{shop.path}/shop/money.py:1")]

    assert answers[0].startswith("money.py:1  function parse\n")
    assert answers[1] == answers[0]
    assert code_callers(call, "shop/money.py:1").text == answers[0]


@pytest.mark.parametrize("line", ["0", "3", "9" * 30])
def test_callers_of_a_line_that_the_file_does_not_have_are_refused(shop: Repository, line: str) -> None:
    with pytest.raises(ToolError) as caught:
        shop.callers(f"repos/one/shop/money.py:{line}")

    assert caught.value.code == "not_found"
    assert "repos/one/shop/money.py has the lines 1 to 2; there is no line" in caught.value.message


def test_callers_of_a_line_outside_any_function_are_those_of_the_file(shop: Repository) -> None:
    assert "app.py:1  file" in shop.callers("repos/one/shop/app.py:2").text


def test_callers_of_a_line_of_an_empty_file_are_those_of_the_file(repository: Repository) -> None:
    repository.put({"empty.py": "", "long.py": f"x = '{'y' * 3_000_000}'\n\n\nz = 1\n"})

    assert "empty.py:1  file" in repository.callers("repos/one/empty.py:1").text
    assert "long.py:1  file" in repository.callers("repos/one/long.py:4").text


def test_callers_of_a_file_are_also_those_that_import_from_it(shop: Repository) -> None:
    text = shop.callers("shop/store.py").text

    assert text.split("\n") == [
        "repos/one/shop/store.py:1  file shop/store.py",
        "  repos/one/shop/app.py:3  (module level)  imports 3",
    ]
    assert "app.py:2  (module level)  imports 2" in shop.callers("shop/money.py").text


def test_in_that_leaves_a_symbol_out_is_said_with_the_place_of_the_symbol(shop: Repository) -> None:
    shop.put({"callers/use.py": "from shop.store import open_store\nopen_store('')\n"})

    with pytest.raises(ToolError) as caught:
        shop.callers("open_store", in_="repos/one/callers")

    assert caught.value.code == "not_found"
    assert "is not defined in repos/one/callers but in repos/one/shop/store.py:11" in caught.value.message


def test_a_repository_may_have_a_name_that_begins_with_a_dot(graph_home: Path) -> None:
    first = Repository(graph_home, ".config").put({"a.py": "def a(): pass\n"})
    Repository(graph_home, "two").put({"a.py": "def a(): pass\n"})

    assert first.map(".config").text.startswith(".config: 1 file, 1 symbol")


def test_a_checkout_within_another_has_a_graph_of_its_own(repository: Repository) -> None:
    repository.put({"outer.py": "def outer():\n    pass\n", "vendor/lib/inner.py": "def inner():\n    pass\n"})
    subprocess.run(["git", "init", "-q", str(repository.path / "vendor/lib")], check=True)

    found = repository.find("inner", in_="repos/one/vendor/lib")
    outline = repository.outline("repos/one/vendor/lib/inner.py")

    assert found.text.startswith("repos/one/vendor/lib/inner.py:1  def inner()")
    assert "1–2  def inner()" in outline.text
    assert "git repositories of their own: vendor/lib" in repository.map("one").text
    assert repository.find("outer").text.startswith("repos/one/outer.py:1  def outer()")


def test_the_working_directory_itself_is_shown_as_a_dot(shop: Repository) -> None:
    call = shop.call()
    call.workspace.directory = os.fsencode(shop.path / "shop")

    assert "\n./  4 files" in code_map(call, "one").text


def test_callers_of_a_name_that_several_have_stand_under_their_own_headings(shop: Repository) -> None:
    text = shop.callers("put").text

    assert "repos/one/shop/store.py:2  method Store.put" in text
    assert "repos/one/shop/store.py:7  method FileStore.put" in text
    assert "2 symbols fit; name one as `store.Store.put`, `store.FileStore.put`" in text


def test_each_of_several_symbols_is_named_so_that_only_it_fits(repository: Repository) -> None:
    repository.put({"pkg/core.py": "def run(): pass\n", "pkg/sub/core.py": "def run(): pass\n"})
    repository.put(
        {"core.py": "def run(): pass\n", "twice.py": "if 1:\n    def run(): pass\nelse:\n    def run(): pass\n"}
    )

    text = repository.callers("run").text
    names = text.partition("name one as ")[2].strip("`").split("`, `")
    answers = [repository.callers(name).text for name in names]

    assert sorted(names) == [
        "pkg.core.run",
        "repos/one/core.py:1",
        "repos/one/twice.py:2",
        "repos/one/twice.py:4",
        "sub.core.run",
    ]
    assert not [answer for answer in answers if "symbols fit" in answer]


def test_callers_keep_references_by_name_alone_apart(repository: Repository) -> None:
    repository.put(
        {"a.py": "class A:\n    def go(self):\n        pass\n\n\ndef f(x):\n    x.go()\n\n\ndef g():\n    A().go()\n"}
    )

    certain, _, possible = repository.callers("A.go").text.partition("possible (name only)")

    assert "g  calls 11" in certain
    assert "f  calls" not in certain
    assert "f  calls 7" in possible


def test_an_unknown_symbol_names_near_ones(shop: Repository) -> None:
    with pytest.raises(ToolError) as caught:
        shop.callers("chekout")

    assert caught.value.code == "not_found"
    assert "checkout" in caught.value.message


@pytest.mark.parametrize(("wanted", "near"), [("Cart.ad", "Cart.add, Cart.save"), ("Cart.nosuch", "Cart.save")])
def test_an_unknown_member_names_those_of_its_class(shop: Repository, wanted: str, near: str) -> None:
    with pytest.raises(ToolError) as caught:
        shop.callers(wanted)

    assert f"near names: {near}" in caught.value.message


def test_find_puts_the_named_thing_first_and_shows_its_source(shop: Repository) -> None:
    by_words = shop.find("open a store").text.split("\n")
    exact = shop.find("FileStore").text
    source = shop.find("checkout", source=True, limit=1).text

    assert by_words[0].startswith("repos/one/shop/store.py:11  def open_store(path)")
    assert exact.startswith("repos/one/shop/store.py:6  class FileStore(Store)")
    assert "    22\t    cart = Cart(open_store(path))" in source


def test_every_place_where_a_line_is_clipped_is_told_as_a_cut(repository: Repository) -> None:
    long = ", ".join(f"parameter_{number}" for number in range(60))
    repository.put({"m.py": f'KEY = \'{"k" * 500}\'\n\n\ndef wide({long}):\n    """{"word " * 200}"""\n'})

    results = [repository.outline("repos/one/m.py"), repository.find("wide"), repository.find("KEY", source=True)]

    assert all("…" in result.text for result in results)
    for result in results:
        places = [at for at, letter in enumerate(result.text) if letter == "…"]
        assert result.cuts == [cut for at in places for cut in (at, at + 1)]


def test_find_ranks_tests_lower_unless_they_are_asked_for(repository: Repository) -> None:
    repository.put(
        {
            "tests/test_a.py": "def test_parse_money():\n    parse_money()\n",
            "money.py": "def parse_money():\n    pass\n",
        }
    )

    assert repository.find("money parsing").text.startswith("repos/one/money.py")
    assert repository.find("test money parsing").text.startswith("repos/one/tests/test_a.py")


def test_find_stays_below_the_folder_that_is_named(shop: Repository) -> None:
    shop.put({"other/store.py": "def open_store():\n    pass\n"})

    assert "shop/" not in shop.find("open store", in_="repos/one/other").text


@pytest.mark.parametrize("question", ['"', "a OR b*", "NEAR(x)", "-", "' ; drop table words", "ß ñ 漢字", "(" * 500])
def test_find_takes_any_question_as_words(shop: Repository, question: str) -> None:
    assert shop.find(question).text


def test_map_counts_files_and_symbols_and_names_what_is_referenced_most(shop: Repository) -> None:
    text = shop.map("one").text

    assert text.startswith("one: 4 files, 11 symbols · python 4\n")
    assert "most referenced:\n" in text
    assert "function parse  (1 file)" in text


def test_map_counts_each_file_once_and_none_that_is_left_out(repository: Repository) -> None:
    repository.put({"a.py": "def f(): pass\n", "b.ts": "export function g() {}\n", "c.yaml": "a: 1\n", "d.md": "# D\n"})
    repository.put({"x_pb2.py": "# Generated by the protocol buffer compiler.  DO NOT EDIT!\ndef h(): pass\n"})

    lines = repository.map("one").text.split("\n")

    assert lines[0] == "one: 2 files, 2 symbols · python 1, typescript 1 · outline only: markdown 1, yaml 1"
    assert lines[1] == "left out: 1 generated"


def test_map_tells_folders_that_share_a_line_as_a_cut(repository: Repository) -> None:
    repository.put({f"d{number}/a.py": "def f(): pass\n" for number in range(20)})

    result = repository.map("one")
    start = result.text.index("\nand 6 smaller folders: 6 files, 6 symbols")

    assert result.cuts == [
        start,
        result.text.index("\n", start + 1) if "\n" in result.text[start + 1 :] else len(result.text),
    ]


def test_find_takes_the_name_of_a_file_for_that_file(repository: Repository) -> None:
    repository.put({"src/db/query.py": "class QueryBuilder: pass\n\n\ndef run_query(q):\n    return q\n"})
    repository.put(
        {"src/db/pool.py": "from .query import run_query\n\n\ndef python_query():\n    return run_query(1)\n"}
    )

    for question in ("query.py", "what is in `db/query.py`?"):
        assert repository.find(question).text.startswith("repos/one/src/db/query.py:1  file")


def test_several_repositories_and_none_named_is_refused_with_their_names(graph_home: Path) -> None:
    first = Repository(graph_home, "one").put({"a.py": "def a(): pass\n"})
    Repository(graph_home, "two").put({"a.py": "def a(): pass\n"})

    with pytest.raises(ToolError) as caught:
        first.find("a")

    assert caught.value.code == "invalid_arguments"
    assert "one, two" in caught.value.message


def test_a_link_that_leads_out_of_home_is_no_repository(graph_home: Path, tmp_path: Path) -> None:
    one = Repository(graph_home, "one").put({"a.py": "def a(): pass\n"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "s.py").write_text("def secret(): pass\n", "utf-8")
    (graph_home / "repos/ext").symlink_to(outside)

    with pytest.raises(ToolError) as caught:
        one.map("ext")

    assert caught.value.code == "path_outside_home"
    assert one.map().text.startswith("one: 1 file")
    with pytest.raises(ToolError) as unknown:
        one.map("none")
    assert "those there are: one." in unknown.value.message


def test_a_link_to_a_folder_of_home_is_a_repository(graph_home: Path) -> None:
    one = Repository(graph_home, "one").put({"a.py": "def a(): pass\n"})
    (graph_home / "repos").rename(graph_home / "elsewhere")
    (graph_home / "repos").mkdir()
    (graph_home / "repos/linked").symlink_to(graph_home / "elsewhere/one")

    assert "elsewhere/one/a.py:1  def a()" in one.find("a").text
    assert "elsewhere/one/" in one.map("linked").text


@pytest.mark.parametrize("odd", ["a\nrepos/one/safe.py:1  function f  (99 files)\nx.py", "a\x1b[2Jb.py", "a\r\x85b.py"])
def test_a_file_name_makes_no_line_and_no_control_sequence(repository: Repository, odd: str) -> None:
    repository.put({odd: "def target(): pass\n\n\ndef g():\n    target()\n"})

    texts = [
        repository.map("one").text,
        repository.find("target").text,
        repository.callers("target").text,
        repository.callers("g", direction="out").text,
        repository.outline(f"repos/one/{odd}").text,
    ]

    escaped = odd.encode("unicode_escape").decode()
    assert all(f"repos/one/{escaped}" in text for text in texts)
    assert not [line for text in texts for line in text.split("\n") if not line.isprintable()]


def test_a_name_in_code_makes_no_line_and_no_control_sequence(repository: Repository) -> None:
    repository.put({"a.ts": "export class A { 'x\x1b[2J\u2028y'() {} }\n", "a.json": '{"x\x1b[2J": 1}\n'})

    texts = [repository.outline("repos/one/a.ts").text, repository.outline("repos/one/a.json").text]
    texts += [repository.find("A").text, repository.callers("A").text, repository.map("one").text]

    assert not [line for text in texts for line in text.split("\n") if not line.isprintable()]


def test_the_same_tree_gives_the_same_answer_byte_for_byte(shop: Repository) -> None:
    answers = [shop.find("store put").text, shop.map("one").text, shop.callers("put").text]
    shop.put({"shop/extra.py": "from shop.money import parse\nparse('')\n"})
    shop.map("one")

    (shop.path / "shop/extra.py").unlink()

    assert [shop.find("store put").text, shop.map("one").text, shop.callers("put").text] == answers


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("get_URLs", ["get", "url"]),
        ("parseIDsFast", ["parse", "id", "fast"]),
        ("HTTPStatus", ["http", "status"]),
        ("isASet", ["is", "a", "set"]),
        ("Tests", ["tests"]),
    ],
)
def test_a_plural_acronym_is_one_word_without_its_ending(name: str, words: list[str]) -> None:
    assert split(name) == words


def test_a_member_is_found_under_the_class_that_inherits_it(shop: Repository) -> None:
    shop.put({"shop/late.py": "from shop.store import FileStore\n\n\nclass Late(FileStore):\n    pass\n"})

    assert shop.callers("Late.put").text.startswith("repos/one/shop/store.py:7  method FileStore.put\n")


def test_outline_of_an_ignored_file_is_read_on_the_spot(repository: Repository) -> None:
    repository.put({".gitignore": "made.py\n", "made.py": "class Made:\n    def go(self):\n        pass\n"})

    assert repository.outline("repos/one/made.py").text.endswith("1–3  class Made\n  2–3  def go(self)")
