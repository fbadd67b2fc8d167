"""Whatever part of the store is damaged, the call that meets it makes the store anew and answers."""

from __future__ import annotations

import random
import time
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from tests.graph.conftest import Repository

STORE = "def describe(store):\n    store.go()\n    return repr(store)\n\n\ndef other():\n    return describe(1)\n"
SCRIPT = "export class A { go() { this.stop() } stop() {} }\n"
TABLES = ("meta", "file", "facts", "symbol", "edge", "loose", "depends", "looked")
FULL_TEXT = ("words_data", "words_idx", "words_content", "words_docsize", "words_config")


@pytest.fixture
def shop(repository: Repository) -> Repository:
    repository.put({"shop/__init__.py": "", "shop/store.py": STORE, "a.ts": SCRIPT, "a.yaml": "a:\n  b: 1\n"})
    repository.map("one")
    time.sleep(0.05)
    return repository


@pytest.mark.parametrize("table", [*TABLES, *FULL_TEXT, "words", "vocabulary"])
def test_a_table_that_is_gone(shop: Repository, table: str) -> None:
    expected = _answers(shop)

    _damage(shop, f"drop table {table}")

    assert _answers(shop) == expected


@pytest.mark.parametrize("table", [*TABLES, *FULL_TEXT])
def test_a_table_that_is_empty(shop: Repository, table: str) -> None:
    expected = _answers(shop)

    _damage(shop, f"delete from {table}")

    assert _answers(shop) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "update meta set value = x'ff00' where key = 'tree'",
        "update meta set value = 5 where key = 'tree'",
        "update edge set relation = 99",
        "update edge set lines = 'x'",
        "update symbol set start = 'x'",
        "update symbol set qualified = x'ff00'",
        "update facts set outside = x'ff00'",
        "update words_config set v = 99",
        "update words_data set block = x'ff00fe'",
        "update words_data set block = x'ff00fe' where id = 10",
        "update words_docsize set sz = x'ff'",
        "update words_idx set pgno = -7",
        "drop table vocabulary; create table vocabulary(x)",
    ],
)
def test_a_table_with_other_values(shop: Repository, statement: str) -> None:
    expected = _answers(shop)

    _damage(shop, statement)

    assert _answers(shop) == expected


@pytest.mark.parametrize("seed", range(12))
def test_bytes_that_flipped_give_an_answer(shop: Repository, seed: int) -> None:
    store = _path(shop)
    _damage(shop, "pragma wal_checkpoint(truncate)")
    data = bytearray(store.read_bytes())
    for at in random.Random(seed).sample(range(len(data)), 40):
        data[at] ^= 0xFF

    store.write_bytes(data)

    assert shop.map("one").text
    assert shop.find("describe").text
    assert shop.outline("repos/one/shop/store.py").text


def test_what_was_made_anew_is_kept(shop: Repository) -> None:
    _damage(shop, "drop table words_docsize")
    shop.find("describe")
    time.sleep(0.05)
    shop.find("describe")

    assert shop.find("describe").meta["refreshed"] == 0


def _answers(repository: Repository) -> list[str]:
    return [
        repository.map("one").text,
        repository.find("describe").text,
        repository.find("store thing").text,
        repository.outline("repos/one/shop/store.py").text,
        repository.callers("describe").text,
        repository.callers("other", direction="out").text,
    ]


def _damage(repository: Repository, statements: str) -> None:
    with closing(connect(_path(repository))) as store:
        store.executescript(statements)
        store.commit()


def _path(repository: Repository) -> Path:
    return repository.home / ".cache/graft/one/graph.sqlite"
