"""The engines behind code_search and code_match: their versions, their limits, and the rules they are given."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import guilds_code.__main__ as program
from guilds_code import hits
from guilds_code.engines import engine_process, ripgrep
from guilds_code.engines.ignore_rules import Globs, inherited_rules, matches
from guilds_code.engines.ripgrep import Query, Ripgrep
from guilds_wire import request
from guilds_wire.door import perform
from guilds_wire.paths import Workspace
from guilds_wire.places import Places
from guilds_wire.processes import read
from tests.agent_home import BIN, AgentHome

Ask = Callable[..., dict[str, Any]]
ENGINES = [path for path in (b"/usr/bin/rg", os.fsencode(BIN / "rg")) if os.access(path, os.X_OK)]
MEMORY_MOST_BYTES = 150 << 20


@pytest.fixture
def ask(home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Call a tool in this process, where a limit or the engine can be another."""
    for name, value in home.environment().items():
        monkeypatch.setenv(name, value)

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        body = {"tool": tool, "args": arguments}
        return perform(program.HELPER, request.parse(home.carried(json.dumps(body).encode())[0].encode()))

    return call


def _below(folder: Path, home: Path, **options: Any) -> Iterator[Ripgrep]:
    with Workspace(Places(os.fsencode(home), b"/nowhere"), os.fsencode(home)).locate(str(folder)) as located:
        yield Ripgrep(located, os.fsencode(home), time.monotonic() + 60, **options)


def _listed(folder: Path, home: Path, globs: Globs | None = None) -> list[str]:
    return [os.fsdecode(path) for engine in _below(folder, home, globs=globs) for path in sorted(engine.files())]


@pytest.mark.skipif(len(ENGINES) < 2, reason="one version of ripgrep is installed")
@pytest.mark.parametrize(
    "arguments",
    [
        {"pattern": "needle"},
        {"pattern": "needle", "mode": "content", "context": 2},
        {"pattern": "needle$", "mode": "content"},
        {"pattern": "needle\nhay", "mode": "content", "context": 1},
        {"pattern": "needle", "path": "sub/deep", "glob": "*.txt,!b*"},
        {"pattern": "needle("},
        {"pattern": "(a{1000}){1000}"},
        {"pattern": "Needle"},
    ],
)
def test_every_version_gives_the_same_answer(
    home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
) -> None:
    home.put(".gitignore", "sub/*/a.txt\n")
    home.put("crlf.txt", b"needle\r\nhay\r\nneedle\rx\r\n" * 8)
    home.put("nul.bin", b"needle\n\0needle\n")
    home.put("wide.txt", "needle\n".encode("utf-16"))
    for name in ("a.txt", "b.txt", "c.txt"):
        home.put(f"sub/deep/{name}", "hay\nneedle\n")
    answers = set()

    for engine in ENGINES:
        monkeypatch.setattr(ripgrep, "PROGRAMS", (engine,))
        answer = ask("code_search", **arguments)
        answers.add(answer.get("text") or answer["error"]["code"])

    assert len(answers) == 1


def test_without_the_engine_it_is_said_how_to_install_it(
    home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "PROGRAMS", (os.fsencode(home.top / "none"),))

    answer = ask("code_search", pattern="x")

    assert answer["error"]["code"] == "unavailable"
    assert "install" in answer["error"]["message"]


def test_an_engine_that_fails_is_named_with_its_version(
    home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = home.put(
        "rg", '#!/bin/sh\n[ "$1" = --version ] && echo ripgrep 0.1 || { echo bad flag >&2; exit 2; }\n', 0o755
    )
    monkeypatch.setattr(ripgrep, "PROGRAMS", (os.fsencode(script),))

    answer = ask("code_search", pattern="x")

    assert answer["error"]["code"] == "engine_failed"
    assert "ripgrep 0.1" in answer["error"]["message"]
    assert "bad flag" in answer["error"]["message"]


@pytest.mark.parametrize("mode", ["files", "content"])
def test_a_search_that_takes_too_long_gives_what_was_found(
    home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(hits, "SEARCH_SECONDS", 1)
    home.put("a.txt", "needle\n")
    os.truncate(home.put("endless.txt", "hay\n"), 1 << 43)

    answer = ask("code_search", pattern="needle", mode=mode)

    assert answer["text"].startswith("a.txt:")
    assert answer["text"].endswith("[stopped after 1 s; this is what was found so far]")
    assert answer["meta"]["truncated"] is True


def test_a_match_that_takes_too_long_says_so(home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "SEARCH_SECONDS", 0)
    home.put("a.py", "a == b\n")

    answer = ask("code_match", pattern="$A == $B")

    assert "[stopped after 0 s; this is what was found so far]" in answer["text"]
    assert answer["meta"]["truncated"] is True


@pytest.mark.parametrize("mode", ["files", "content"])
@pytest.mark.parametrize(
    ("name", "content"),
    [("lines.txt", b"needle\n" * 1_000_000), ("line.txt", b"needle " * 1_000_000 + b"\n")],
)
def test_a_million_matches_take_little_memory(home: AgentHome, mode: str, name: str, content: bytes) -> None:
    home.put(name, content)
    body = json.dumps({"tool": "code_search", "args": {"pattern": "needle", "mode": mode}}).encode()
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)"
    )

    done = subprocess.run(
        [str(BIN / "python3"), "-c", measure, str(BIN / "guilds-code"), *home.carried(body)],
        env=home.environment(),
        capture_output=True,
        check=True,
    )

    assert int(done.stdout) < MEMORY_MOST_BYTES


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_without_end_to_its_memory_fails_alone_and_says_so(
    home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch, engine: bytes
) -> None:
    monkeypatch.setattr(ripgrep, "PROGRAMS", (engine,))
    monkeypatch.setattr(engine_process, "MEMORY_MAX_BYTES", 64 << 20)
    home.put("a.txt", "needle\n")
    (home.path / ".gitignore").symlink_to("/dev/zero")

    answer = ask("code_search", pattern="needle")

    assert answer["error"]["code"] == "engine_failed"
    assert "memory" in answer["error"]["message"]


@pytest.mark.parametrize("mode", ["files", "content"])
def test_a_line_longer_than_the_memory_of_the_engine_does_no_harm(
    home: AgentHome, ask: Ask, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(engine_process, "MEMORY_MAX_BYTES", 128 << 20)
    os.truncate(home.put("a.txt", "needle\n" + "hay\n" * 4_000), 512 << 20)

    assert ask("code_search", pattern="needle", mode=mode)["meta"]["matches"] == 1


def test_an_engine_ends_with_the_process_that_started_it(home: AgentHome) -> None:
    home.put("a.txt", "needle\n")
    os.mkfifo(home.path / ".gitignore")
    body = json.dumps({"tool": "code_search", "args": {"pattern": "needle"}}).encode()
    helper = subprocess.Popen([str(BIN / "guilds-code"), *home.carried(body)], env=home.environment())
    engine = _child_at_work(helper.pid)

    helper.kill()
    helper.wait()

    assert _gone(engine)


def _child_at_work(pid: int) -> int:
    """The one process that another has started, once it is another program."""
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if os.readlink(f"/proc/{child}/exe").endswith("/rg"):
                return int(child)
        time.sleep(0.01)
    raise AssertionError("no engine was started")


def _gone(pid: int) -> bool:
    give_up = time.monotonic() + 10
    while (alive := read(pid) is not None) and time.monotonic() < give_up:
        time.sleep(0.01)
    return not alive


def test_the_numbers_of_matching_lines_are_to_be_had_for_every_file(home: AgentHome) -> None:
    home.put("a.py", "x\nfoo(foo)\n\nfoo\n")
    home.put("sub/b\nc.py", "foo")
    home.put("d.bin", b"\0foo")
    found: dict[bytes, list[int]] = {}

    for engine in _below(home.path, home.path):
        found.update(engine.line_numbers(Query("foo")))

    assert found == {b"a.py": [2, 4], b"sub/b\nc.py": [1]}


NAMES = ["a.py", "b.py", "ab.c", "[x].py", "s/a.py", "s/b.ts", "s/t/a.py", "s/t/c.h", "t/a.py", "t/t/t.py", "x-y/1.py"]
# Without `[!a]`, which the engine lets match a slash, where gitignore(5) has it match within a name alone.
GLOB = st.lists(
    st.sampled_from(["*", "**", "?", "a", "b", ".py", ".c", "s", "t", "/", "[ab]", "[a-c]", "{a,b}", "x-y", "."]),
    min_size=1,
    max_size=6,
).map("".join)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*.py", "a.py", True),
        ("*.py", "a.pyc", False),
        ("a*b*c", "aXbXbc", True),
        ("a*b*c", "aXbX", False),
        ("?", "é", True),
        ("[!a]b", "cb", True),
        ("[^a]b", "ab", False),
        ("[]a]", "]", True),
        ("[a-c-]", "-", True),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("", "", True),
    ],
)
def test_a_pattern_matches_a_name_as_gitignore_has_it(pattern: str, name: str, expected: bool) -> None:
    assert matches(pattern, name) is expected


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("tree") / "home"
    for name in NAMES:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x\n")
    return top


@given(glob=GLOB)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_glob_takes_every_file_that_the_engine_would_take_by_it(tree: Path, glob: str) -> None:
    try:
        globs = Globs(glob, str(tree), str(tree))
    except ValueError:
        return
    done = subprocess.run(
        [ENGINES[0], "--files", f"--glob={glob}"], cwd=tree, capture_output=True, text=True, check=False
    )

    taken = _listed(tree, tree, globs)

    assert set(done.stdout.split()) <= set(taken)
    assert all(globs.take(path) for path in taken)


@given(rules=st.lists(st.tuples(st.sampled_from(["", "!"]), GLOB, st.sampled_from(["", "/"])), max_size=4))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ignore_files_of_the_folders_above_count_as_if_the_search_had_come_through_them(
    tree: Path, rules: list[tuple[str, str, str]]
) -> None:
    ignore_file = tree / ".gitignore"
    ignore_file.write_text("".join(f"{sign}{glob}{slash}\n" for sign, glob, slash in rules) + "!/s/\n!/s/t/\n")

    from_above = [path.removeprefix("s/t/") for path in _listed(tree, tree) if path.startswith("s/t/")]
    from_within = _listed(tree / "s/t", tree)

    ignore_file.unlink()
    assert from_within == from_above


def test_a_pipe_in_the_place_of_an_ignore_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "sub").mkdir()

    assert inherited_rules(os.fsencode(tmp_path), os.fsencode(tmp_path / "sub")) == []


def test_the_engine_is_found_where_a_package_or_a_wheel_puts_it() -> None:
    assert ENGINES
    assert shutil.which("rg", path=":".join(os.path.dirname(os.fsdecode(path)) for path in ripgrep.PROGRAMS))
