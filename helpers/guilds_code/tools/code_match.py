"""code_match: the places whose syntax a pattern of code matches."""

from __future__ import annotations

from guilds_code.engines import ast_grep
from guilds_code.engines.ast_grep import LANGUAGES, Found, Language, Reading
from guilds_code.engines.ignore_rules import Endings
from guilds_code.engines.ripgrep import Ripgrep
from guilds_code.hits import Listing, Names, Watch, counted, totals
from guilds_wire.errors import VALUE_MAX_CHARACTERS, quoted
from guilds_wire.schema import invalid_argument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from guilds_wire.call import Call
    from guilds_wire.envelope import Result
    from guilds_wire.paths import Located

PATTERN_MAX_CHARACTERS = 10_000
_NAMES_WITH_A_DOLLAR = ("bash", "php")


def code_match(call: Call, pattern: str, path: str, limit: int, lang: str | None = None) -> Result:
    """List what the pattern matches below `path`, in files of `lang`, or of every language by the names' endings.

    Raises ToolError: `invalid_arguments` for a pattern or language that can't be taken, those of Workspace.locate,
    `not_a_file`, `unavailable`, `engine_failed`.
    """
    if len(pattern) > PATTERN_MAX_CHARACTERS:
        raise invalid_argument("pattern", f"is too long: it has over {PATTERN_MAX_CHARACTERS} characters")
    language = None if lang is None else _language(lang)
    with call.workspace.locate(path) as located:
        search = _Search(call, located, pattern, language)
        search.run(limit)
        return search.result(Names(call, located, path))


class _Search:
    """One call's search: the files that may match, how the pattern reads in their languages, and what is found."""

    def __init__(self, call: Call, located: Located, pattern: str, language: Language | None) -> None:
        self._cap_bytes = call.cap_bytes
        self._located = located
        self._pattern = pattern
        self._named = language
        self._watch = Watch()
        self._words = ast_grep.required_words(pattern)
        endings = [ending for one in ([language] if language else LANGUAGES) for ending in one.endings]
        self._engine = Ripgrep(located, call.places.home, self._watch.deadline, Endings(endings))
        self._readings: dict[str, Reading] = {}
        self._files: list[tuple[bytes, Language]] = []
        self._found = Found()
        self._as_calls: dict[str, Any] = {}
        self._sifted = False  # whether files without the first word were left out
        self._unreadable = 0

    def run(self, limit: int) -> None:
        """Find the files that may match, and match them."""
        if not self._located.is_folder:
            self._files = [(b"", self._language_of_file())]
        elif not (self._named and self._reading(self._named).problem):
            self._sifted = bool(self._words)
            may_match = self._engine.files_with(self._words[0]) if self._sifted else self._engine.files()
            self._files = self._with_languages(may_match)
            self._unreadable = self._engine.unreadable
        readings = self._readings_of(self._files)
        self._match(limit, {name: one.rule for name, one in readings.items() if not one.problem})
        matched = {self._files[index][1].name for index in self._found.by_file}
        self._as_calls = {name: one.call for name, one in readings.items() if one.call and name not in matched}
        if self._as_calls:
            self._match(limit, self._as_calls)

    def result(self, names: Names) -> Result:
        """What was found, or why nothing was."""
        found = self._found
        timed_out = found.timed_out or self._engine.timed_out
        listing = Listing(self._cap_bytes)
        if found.matches:
            told = [totals(found.matches, len(found.by_file))]
        else:
            where = names.shown(b"")
            tail = f" in {where} ({counted(found.parsed, 'file')} parsed)"
            listing.add_quoting("no matches for ", self._pattern, tail)
            told = self._why_nothing(where)
        unreadable = self._unreadable + found.passed_over["unreadable"]
        told += [*self._about_the_pattern(), *self._about_files(), *self._watch.notes(unreadable, timed_out)]
        listing.keep_free("\n".join(told))
        for index, line, text, cuts, following in found.shown:
            more = f" … +{counted(following, 'line')}" if following else ""
            at = [len(text), len(text) + len(more)] if more else []
            if not listing.add(f"{names.shown(self._files[index][0])}:{line}: ", text + more, cuts + at, shows=1):
                break
        if found.matches > listing.shown:
            listing.left_out()
            told[0] += f" ({found.matches - listing.shown} left out)"
        meta = {
            "matches": found.matches,
            "files": len(found.by_file),
            "languages": sorted(name for name, one in self._readings.items() if not one.problem),
            "truncated": listing.truncated or timed_out,
            "engine_ms": self._watch.milliseconds(),
        }
        return listing.result(told, meta)

    def _match(self, limit: int, rules: dict[str, Any]) -> None:
        files = [
            (index, path, language, rules[language.name])
            for index, (path, language) in enumerate(self._files)
            if language.name in rules
        ]
        task = ast_grep.Task(self._located.descriptor, files, self._words, limit, self._watch.deadline)
        self._found.merge(ast_grep.match(task), limit)

    def _language_of_file(self) -> Language:
        self._located.require_file()
        language = self._named or ast_grep.language_of(self._located.real)
        if language is None:
            raise invalid_argument("lang", f"is needed here: the name of {self._located.shown} tells no language")
        return language

    def _with_languages(self, paths: Iterable[bytes]) -> list[tuple[bytes, Language]]:
        """The files in the order of their paths, each with its language."""
        return [(path, self._named or ast_grep.language_of(path) or LANGUAGES[0]) for path in sorted(paths)]

    def _reading(self, language: Language) -> Reading:
        return self._readings_in([language])[language.name]

    def _readings_in(self, languages: Iterable[Language]) -> dict[str, Reading]:
        """How the pattern reads in these languages."""
        named = {one.name: one for one in languages}
        new = [one for name, one in sorted(named.items()) if name not in self._readings]
        if new:
            self._readings |= zip((one.name for one in new), ast_grep.readings(self._pattern, new), strict=True)
        return {name: self._readings[name] for name in sorted(named)}

    def _readings_of(self, files: Iterable[tuple[bytes, Language]]) -> dict[str, Reading]:
        """How the pattern reads in each language that these files are in."""
        return self._readings_in(one for _, one in files)

    def _why_nothing(self, where: str) -> list[str]:
        """What the reader may not know, or have got wrong."""
        told = []
        every = self._with_languages(self._engine.files()) if self._located.is_folder else self._files
        self._readings_of(every)
        if not every:
            kind = f"{self._named.name} file" if self._named else "file in a language that can be parsed"
            told.append(f"there is no {kind} under {where}")
        elif not self._found.timed_out and not self._engine.timed_out:
            told += self._about_words(len(every))
        name = _lower_case_metavariable(self._pattern)
        if name and not set(self._readings) <= set(_NAMES_WITH_A_DOLLAR):
            told.append(f"`{name}` is no metavariable: those are in upper case, as `{name.upper()}`")
        return told

    def _about_words(self, every: int) -> list[str]:
        """How many of all files were not parsed since they lack a word; the engine has just listed them."""
        lacking = self._found.passed_over["lacking"]
        sifted = 0
        if self._sifted:  # a folder that can't be read counts in both of the engine's runs
            sifted = max(0, every - len(self._files) - (self._unreadable - self._engine.unreadable))
        if not sifted + lacking:
            return []
        ruled_out = counted(sifted + lacking, "file")
        words = ", ".join(self._words)
        if len(words) > VALUE_MAX_CHARACTERS:
            return [f"[{ruled_out} ruled out unparsed: without a word of the pattern]"]
        if not lacking or len(self._words) == 1:
            return [f"[{ruled_out} without the word {quoted(self._words[0])} ruled out unparsed]"]
        return [f"[{ruled_out} ruled out unparsed: without one of the words {quoted(words)}]"]

    def _about_the_pattern(self) -> list[str]:
        """In which languages it does not parse, and where it was read in another way than it stands."""
        matched = {self._files[index][1].name for index in self._found.by_file}
        told = []
        for name, reading in sorted(self._readings.items()):
            problem = reading.problem or ("" if name in matched else reading.doubt)
            if problem and problem != ast_grep.MISPLACED:
                told.append(f"pattern does not parse as {name}: {problem}")
            elif name in self._as_calls and name in matched:
                told.append(f"[{name}: by itself the pattern is a type conversion; read as a call in a function body]")
            elif reading.doubt:
                less = "nothing is matched" if reading.problem else "it may match less than was meant"
                told.append(f"[{name}: the pattern has a {reading.doubt}; {less}]")
            elif reading.inside:
                told.append(f"[{name}: the pattern was read inside `{reading.inside}`]")
        return told

    def _about_files(self) -> list[str]:
        told = {
            "not_utf_8": "not UTF-8 text",
            "binary": "binary, with a NUL byte",
            "large": f"over {ast_grep.FILE_MAX_BYTES // 1_000_000} MB",
            "crashed": ast_grep.CRASHED,
        }
        numbers = self._found.passed_over
        return [f"[{counted(numbers[one], 'file')} skipped: {why}]" for one, why in told.items() if numbers[one]]


def _language(name: str) -> Language:
    language = ast_grep.language_named(name)
    if language is None:
        known = ", ".join(one.name for one in LANGUAGES)
        raise invalid_argument("lang", f"{quoted(name)} is no language that can be parsed; there are: {known}")
    return language


def _lower_case_metavariable(pattern: str) -> str:
    """The first name after a `$`, with it, that has a letter in lower case; or ""."""
    for part in pattern.split("$")[1:]:
        end = next((end for end, one in enumerate(part) if not (one.isalnum() or one == "_")), len(part))
        if part[:end] != part[:end].upper():
            return "$" + part[:end]
    return ""
