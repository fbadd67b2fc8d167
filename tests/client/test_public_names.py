"""The public names are those that docs/client.md explains, and its examples print what they say."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import guilds_client

PAGE = Path(__file__).resolve().parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)


async def run_example(source: str, names: dict[str, Any]) -> None:
    """Run code that awaits at its top level."""
    code = compile(source, PAGE.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = eval(code, names)
    if inspect.isawaitable(result):
        await result


def test_the_examples_of_the_page_print_what_they_say(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    promised = [re.findall(r"# → (.*)", example) for example in EXAMPLES]
    printed: list[list[str]] = []
    names: dict[str, Any] = {}

    for example in EXAMPLES:
        asyncio.run(run_example(example, names))
        printed.append(capsys.readouterr().out.splitlines())

    assert len(EXAMPLES) > 10
    assert printed == promised


@pytest.mark.parametrize("name", guilds_client.__all__)
def test_each_public_name_is_shown_in_an_example(name: str) -> None:
    assert any(re.search(rf"\bguilds\.{name}\b", example) for example in EXAMPLES)


def test_the_list_of_names_is_sorted_and_whole() -> None:
    imported = {
        name for name, value in vars(guilds_client).items() if not name.startswith("_") and not inspect.ismodule(value)
    }

    assert sorted(imported) == sorted(guilds_client.__all__)
    assert guilds_client.__all__ == sorted(guilds_client.__all__)


def test_importing_the_client_imports_no_engines_library() -> None:
    heavy = "docker kubernetes mcp mcp_types jsonschema click".split()  # noqa: SIM905
    source = f"import sys, guilds_client; print(*sorted(set(sys.modules) & {set(heavy)!r}))"

    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)

    assert done.stdout == "\n"


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(guilds_client.__file__).parent / "py.typed").exists()
