"""Where a TypeScript or JavaScript import leads: relative files, path aliases, workspaces, package exports.

After Node's resolution algorithm and TypeScript's `bundler` one; node_modules is foreign.
"""

from __future__ import annotations

import posixpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_ENDINGS = (".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs")
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_CONFIGURATIONS = ("tsconfig.json", "jsconfig.json")


class Modules:
    """The modules of one repository."""

    def __init__(self, paths: frozenset[str], listed: Iterable[str], text: Callable[[str], str | None]) -> None:
        self._paths = paths
        self._text = text
        self._found: dict[tuple[str, str], str | None] = {}
        self._packages: dict[str, tuple[str, dict[str, Any]]] = {}
        """Package name → its folder and its package.json."""
        self._aliases: dict[str, list[tuple[str, list[str]]]] = {}
        """Folder of a tsconfig → (pattern, targets relative to the root)."""
        self._mains: dict[str, list[str]] = {}
        """Folder with a package.json → what that says the folder is."""
        self._configured: set[str] = set()
        self._keys: dict[str, set[str]] = {}
        for path in listed:
            folder, _, name = path.rpartition("/")
            if name == "package.json":
                found = _parsed(text(path))
                self._mains[folder] = _mains(found)
                if isinstance(found.get("name"), str):
                    self._packages[found["name"]] = (folder, found)
            elif name in _CONFIGURATIONS:
                self._configured.add(path)

    def keys(self, module: str) -> set[str]:
        """The names of files that could answer this import, in whatever file it stands."""
        if module not in self._keys:
            names = {named.rstrip("/").rpartition("/")[2] for named in (module, *self._targets(module))}
            stems = {part for name in names for part in (name, name.partition(".")[0], name.rpartition(".")[0])}
            self._keys[module] = stems - {""} | {"index"}
        return self._keys[module]

    def _targets(self, module: str) -> list[str]:
        """What aliases and packages put in the place of a module's name."""
        if module.startswith("."):
            last = module.rstrip("/").rpartition("/")[2]
            folders = [f for f in self._mains if last in (".", "..") or f.rpartition("/")[2] == last]
            return [main for folder in folders for main in self._mains[folder]]
        found = []
        for path in self._configured:
            for pattern, targets in self._aliases_in(path):
                held = _matched(pattern, module)
                if held is not None:
                    found += [target.replace("*", held, 1) for target in targets]
        for name, (_, package) in self._packages.items():
            if module.startswith("#"):
                found += _targets(package.get("imports"), module)
            elif module == name or module.startswith(f"{name}/"):
                found += _targets(package.get("exports"), f".{module[len(name) :]}") + _mains(package)
        return found

    def root(self, path: str) -> str:
        """The folder of the nearest package.json or configuration above a file; else the repository's own."""
        folders = {*self._mains, *(posixpath.dirname(other) for other in self._configured)}
        folder = posixpath.dirname(path)
        while folder and folder not in folders:
            folder = posixpath.dirname(folder)
        return folder

    def find(self, path: str, module: str) -> str | None:
        """The file that `module` means in the file at `path`; None when it is none of the repository's."""
        key = (posixpath.dirname(path), module)
        if key not in self._found:
            self._found[key] = self._find(key[0], module)
        return self._found[key]

    def _find(self, folder: str, module: str) -> str | None:
        module = module.partition("?")[0]
        if module.startswith("."):
            return self._file(posixpath.normpath(posixpath.join(folder, module)))
        for pattern, targets in self._aliases_of(folder):
            held = _matched(pattern, module)
            for target in targets if held is not None else ():
                found = self._file(posixpath.normpath(target.replace("*", held or "", 1)))
                if found is not None:
                    return found
        if module.startswith("#"):
            return self._imports(folder, module)
        return self._package(module)

    def _file(self, base: str, *, folders: bool = True) -> str | None:
        """The file at a path that may lack its ending, name a compiled file, or be a folder."""
        if base.startswith(".."):
            return None
        base = "" if base == "." else base
        stem, ending = posixpath.splitext(base)
        candidates = [stem + source for source in _COMPILED.get(ending, ())]
        candidates.append(base)
        candidates += [base + e for e in _ENDINGS]
        found = next((c for c in candidates if c in self._paths), None)
        mains = self._mains.get(base, ()) if found is None and folders else ()
        for main in mains:
            found = found or self._file(posixpath.normpath(posixpath.join(base, main)), folders=False)
        inside = f"{base}/index" if base else "index"
        return found or next((inside + e for e in _ENDINGS if inside + e in self._paths), None)

    def _package(self, module: str) -> str | None:
        parts = module.split("/")
        count = 2 if module.startswith("@") else 1
        name, inner = "/".join(parts[:count]), "/".join(parts[count:])
        if name not in self._packages:
            return None
        folder, package = self._packages[name]
        exports = package.get("exports")
        targets = _targets(exports, f"./{inner}" if inner else ".")
        if exports is not None and not targets:
            return None  # what `exports` does not list is closed, whatever `main` says
        if not inner:
            targets += _mains(package)
        return self._first(folder, targets, inner)

    def _first(self, folder: str, targets: list[str], inner: str) -> str | None:
        """The source that one of a package's targets is, or was compiled from."""
        compiled = None
        for target in targets:
            found = self._file(posixpath.normpath(posixpath.join(folder, target)))
            if found is not None and not found.endswith(".d.ts"):
                return found
            compiled = compiled or found
            parts = target.removeprefix("./").split("/")
            for skipped in (1, 2):
                if len(parts) > skipped:
                    stem = "/".join(parts[skipped:]).partition(".")[0]
                    found = self._file(posixpath.normpath(posixpath.join(folder, "src", stem)))
                    if found is not None:
                        return found
        bare = posixpath.join(folder, "src", inner) if inner else posixpath.join(folder, "src")
        return compiled or self._file(bare) or self._file(posixpath.join(folder, inner) if inner else folder)

    def _imports(self, folder: str, module: str) -> str | None:
        """`#name`, by the `imports` of the nearest package."""
        for name, (where, package) in sorted(self._packages.items(), key=lambda item: -len(item[1][0])):
            if (folder + "/").startswith(where + "/") or not where:
                targets = _targets(package.get("imports"), module)
                return self._first(where, targets, module[1:]) if targets or name else None
        return None

    def _aliases_of(self, folder: str) -> list[tuple[str, list[str]]]:
        above = folder
        while True:
            for name in _CONFIGURATIONS:
                path = f"{above}/{name}" if above else name
                if path in self._configured:
                    return self._aliases_in(path)
            if not above:
                return []
            above = above.rpartition("/")[0]

    def _aliases_in(self, path: str) -> list[tuple[str, list[str]]]:
        if path not in self._aliases:
            self._aliases[path] = self._configuration(path, {path})
        return self._aliases[path]

    def _configuration(self, path: str, seen: set[str]) -> list[tuple[str, list[str]]]:
        config = _parsed(self._text(path))
        folder = posixpath.dirname(path)
        options = config.get("compilerOptions")
        options = options if isinstance(options, dict) else {}
        base = options.get("baseUrl")
        root = posixpath.normpath(posixpath.join(folder, base)) if isinstance(base, str) else folder
        found = []
        paths = options.get("paths")
        for pattern, targets in paths.items() if isinstance(paths, dict) else ():
            listed = targets if isinstance(targets, list) else []
            found.append((pattern, [posixpath.join(root, target) for target in listed if isinstance(target, str)]))
        if isinstance(base, str):
            found.append(("*", [posixpath.join(root, "*")]))
        for other in _others(folder, config, {name: where for name, (where, _) in self._packages.items()}):
            if not found and other not in seen:
                seen.add(other)
                found = self._configuration(other, seen)
        found.sort(key=lambda item: -len(item[0]))
        return found


def extended(listed: Iterable[str], text: Callable[[str], str | None]) -> set[str]:
    """The files, there or not, that the TypeScript configurations of a repository go on in."""
    packages = {}
    pending = []
    for path in listed:
        folder, _, name = path.rpartition("/")
        if name == "package.json":
            named = _parsed(text(path)).get("name")
            if isinstance(named, str):
                packages[named] = folder
        elif name in _CONFIGURATIONS:
            pending.append(path)
    found: set[str] = set()
    while pending:
        path = pending.pop()
        others = _others(posixpath.dirname(path), _parsed(text(path)), packages)
        pending += [other for other in others if other not in found]
        found.update(others)
    return found


def _others(folder: str, config: dict[str, Any], packages: dict[str, str]) -> list[str]:
    """The configurations that one goes on in, the one that counts most first: of several that it extends the last."""
    extends, references = config.get("extends"), config.get("references")
    named = [other for other in (extends if isinstance(extends, list) else [extends]) if isinstance(other, str)]
    found = []
    for other in reversed(named):
        if other.startswith("."):
            base = posixpath.join(folder, other)
        else:
            package = "/".join(other.split("/")[: 2 if other.startswith("@") else 1])
            if package not in packages:
                continue
            base = posixpath.join(packages[package], other[len(package) + 1 :] or "tsconfig.json")
        found.append(base if base.endswith(".json") else f"{base}.json")
    for reference in references if isinstance(references, list) else ():
        where = reference.get("path") if isinstance(reference, dict) else None
        if isinstance(where, str) and where.endswith(".json"):
            found.append(posixpath.join(folder, where))
    whole = [posixpath.normpath(path) for path in found]
    return [path for path in whole if not path.startswith(("../", "/"))]


def _matched(pattern: str, module: str) -> str | None:
    """What `*` of a pattern stands for, or None when the pattern does not fit."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if module == pattern else None
    fits = module.startswith(before) and module.endswith(after) and len(module) >= len(before) + len(after)
    return module[len(before) : len(module) - len(after)] if fits else None


def _mains(package: dict[str, Any]) -> list[str]:
    """What a package without `exports` is."""
    return [package[key] for key in ("source", "module", "main", "types") if isinstance(package.get(key), str)]


def _targets(exports: Any, wanted: str) -> list[str]:
    """The files that a package's `exports` or `imports` give for a subpath, conditions in their order."""
    if isinstance(exports, (str, list)) or (isinstance(exports, dict) and not any(k[:1] in ".#" for k in exports)):
        return _flat(exports) if wanted == "." else []
    if not isinstance(exports, dict):
        return []
    if wanted in exports:
        return _flat(exports[wanted])
    patterns = [pattern for pattern in exports if "*" in pattern]
    for pattern in sorted(patterns, key=lambda pattern: (-pattern.index("*"), -len(pattern))):  # as Node compares keys
        rest, target = _matched(pattern, wanted), exports[pattern]
        if rest is not None:
            return [found.replace("*", rest) for found in _flat(target)]
    return []


def _flat(target: Any) -> list[str]:
    if isinstance(target, str):
        return [target]
    parts = target.values() if isinstance(target, dict) else target if isinstance(target, list) else ()
    return [found for part in parts for found in _flat(part)]


def _parsed(text: str | None) -> dict[str, Any]:
    """A JSON object that may have comments and trailing commas; anything else is an empty one."""
    import json
    import re

    if text is None:
        return {}
    plain = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m[1] or " ", text, flags=re.DOTALL)
    plain = re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda m: m[1] or "", plain)
    try:
        found = json.loads(plain)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
