"""Which language a file is in, by its name, and the module that reads it. No grammar is loaded here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

ENDINGS = {
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "typescript"),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "javascript"),
    "go": "go",
    "java": "java",
    **dict.fromkeys(("c", "h"), "c"),
    "rs": "rust",
    **dict.fromkeys(("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "cu", "cuh"), "cpp"),
    "cs": "csharp",
    **dict.fromkeys(("php", "phtml"), "php"),
    **dict.fromkeys(("rb", "rake", "gemspec", "ru"), "ruby"),
    **dict.fromkeys(("kt", "kts"), "kotlin"),
    "swift": "swift",
    **dict.fromkeys(("scala", "sc", "sbt"), "scala"),
    **dict.fromkeys(("ex", "exs"), "elixir"),
    "lua": "lua",
    "dart": "dart",
    "zig": "zig",
    **dict.fromkeys(("sh", "bash"), "bash"),
    **dict.fromkeys(("html", "htm"), "html"),
    "css": "css",
    **dict.fromkeys(("yaml", "yml"), "yaml"),
    "toml": "toml",
    **dict.fromkeys(("json", "jsonc"), "json"),
    **dict.fromkeys(("tf", "hcl", "tfvars"), "hcl"),
    **dict.fromkeys(("md", "markdown"), "markdown"),
}
NAMES = {"Rakefile": "ruby", "Gemfile": "ruby", "Vagrantfile": "ruby", "Podfile": "ruby", "BUILD": "python",
         "SConstruct": "python", "wscript": "python", ".bashrc": "bash", ".profile": "bash"}  # fmt: skip
FULL = frozenset(("python", "typescript", "javascript", "go", "java", "c", "rust"))
OUTLINED = frozenset(("html", "css", "yaml", "toml", "json", "hcl", "markdown"))
"""These give headings, selectors and keys, and no references."""
FAMILIES = {"javascript": "typescript"}
"""Languages that one resolver serves together, since their files import each other."""
CONFIGURATION = frozenset(
    ("package.json", "tsconfig.json", "jsconfig.json", "go.mod", "Cargo.toml", "__init__.py", "__init__.pyi")
)
"""Files whose coming, going or change can move what any import of their language means."""


def language_of(path: str) -> str | None:
    """The language that a file's name tells, or None for one that the graph does not read."""
    name = path.rpartition("/")[2]
    known = NAMES.get(name)
    if known is None and "." in name:
        known = ENDINGS.get(name.rpartition(".")[2].lower())
    return known


def languages_of(paths: Iterable[str]) -> dict[str, str]:
    """The language of each file that the graph reads. Headers are C++ where that has more sources than C."""
    found = {path: language for path in paths if (language := language_of(path)) is not None}
    sources = [path for path, language in found.items() if language in ("c", "cpp") and not path.endswith(".h")]
    if 2 * sum(found[path] == "cpp" for path in sources) > len(sources):
        found.update((path, "cpp") for path in found if path.endswith(".h"))
    return found


def family_of(language: str) -> str:
    """The family that a language resolves in."""
    return FAMILIES.get(language, language)


def module_of(language: str) -> ModuleType:
    """The module that extracts and resolves a language; of `extract(source, path, language)` and `Semantics`."""
    from importlib import import_module

    family = family_of(language)
    if language in OUTLINED:
        name = "outlined"
    elif family in FULL:
        name = family
    else:
        name = "broad"
    return import_module(f"guilds_code.engines.graph.languages.{name}")
