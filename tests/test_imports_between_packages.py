"""Who may import whom: the contract imports nothing of ours, everything else only the contract and itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "guilds_wire": ROOT / "helpers/guilds_wire",
    "guilds_code": ROOT / "helpers/guilds_code",
    "guilds_browser": ROOT / "helpers/guilds_browser",
    "guilds_script_run": ROOT / "helpers/guilds_script_run",
    "guilds_git_credential": ROOT / "helpers/guilds_git_credential",
    "guilds_client": ROOT / "client/guilds_client",
}


def imported_packages(source: str) -> set[str]:
    """The top-level packages that `source` imports anywhere in it; relative ones stay in its own."""
    nodes = list(ast.walk(ast.parse(source)))
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {module.partition(".")[0] for module in modules}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_nothing_of_ours_but_the_contract_and_itself(package: str) -> None:
    sources = list(PACKAGES[package].rglob("*.py"))
    others = PACKAGES.keys() - {package, "guilds_wire"}

    offenders = {str(path): found for path in sources if (found := imported_packages(path.read_text()) & others)}

    assert sources, f"{PACKAGES[package]} holds no module"
    assert offenders == {}


def test_every_package_of_ours_is_held_to_the_rule() -> None:
    found = {folder.name for folder in ROOT.glob("*/guilds_*") if folder.is_dir()}

    assert found == PACKAGES.keys()
