"""ast-grep: which nodes of a file's syntax tree a pattern matches.

Files are parsed in processes of their own, one a processor, since the library holds the interpreter's lock; the
pattern is too, since text can crash a grammar (that of YAML has a buffer for some 250 levels, and aborts beyond). No
configuration file is ever looked for: the library is handed the text of a file and the pattern, nothing else.
"""

from __future__ import annotations

import os
import select
import time

from guilds_code.engines.engine_process import fork
from guilds_code.hits import clipped
from guilds_wire import lean
from guilds_wire.descriptors import write_all
from guilds_wire.errors import VALUE_MAX_CHARACTERS, ToolError, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap
    from typing import Any

    from ast_grep_py import SgNode

FILE_MAX_BYTES = 2_000_000
"""A larger file is skipped: a syntax tree takes up to 200 times the memory of its text."""

FILES_PER_WORKER = 16  # fewer are not worth a process
SHARE_BYTES = 4
INDEX_BYTES = 4
NO_FILE = b"\xff" * INDEX_BYTES
PIPE_LEAST_BYTES = 4_096  # what a pipe holds when the user's are at their limit (pipe(7))
FLUSH_BYTES = 16_384
FLUSH_SECONDS = 0.2
OVERTIME_SECONDS = 2.0
"""How long one file may take past the deadline before its process is ended."""
SIGKILL = 9

REASONS = ("lacking", "not_utf_8", "binary", "unreadable", "large", "crashed")
"""Why a file is not parsed: it lacks a word, is text in another encoding, holds a NUL byte, can't be read, is over
FILE_MAX_BYTES, or the parser crashed on it."""

CRASHES_MOST = 20
"""Files that a search is begun again without; more of them are told as a failure."""
PATTERN_SECONDS = 10.0
CRASHED = "the parser failed on it"
MISPLACED = "metavariable where the grammar has no place for one"

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_HERE = "\0"


class Language:
    """A language: its name in the library, other names for it, and the endings of its files' names.

    `stand_in` is what the library puts for the `$` of a metavariable, where the language has no `$` in names.
    `context` is code around `_HERE` in which can stand what can't stand alone: an expression, a method, a clause.
    """

    __slots__ = ("aliases", "context", "endings", "name", "stand_in")

    def __init__(self, name: str, aliases: str, endings: str, stand_in: str = "$", context: str = "") -> None:
        self.name = name
        self.aliases = aliases.split()
        self.endings = endings.split()
        self.stand_in = stand_in
        self.context = context


LANGUAGES = (
    Language("bash", "sh shell zsh ksh", "sh bash zsh ksh bats"),
    Language("c", "", "c h", "_", f"void f(void) {{ {_HERE}; }}"),
    Language("cpp", "c++ cc cxx hpp", "cpp cc cxx c++ hpp hh hxx h cu ino", "_", f"void f() {{ {_HERE}; }}"),
    Language("csharp", "cs c#", "cs", "µ", f"class C {{ void F() {{ {_HERE}; }} }}"),
    Language("css", "", "css", "_", f"a {{ {_HERE} }}"),
    Language("dart", "", "dart", context=f"void f() {{ {_HERE}; }}"),
    Language("elixir", "ex exs", "ex exs", "µ"),
    Language("go", "golang", "go", "µ", f"package p\nfunc f() {{ {_HERE} }}"),
    Language("haskell", "hs", "hs", "µ"),
    Language("hcl", "terraform tf", "hcl tf tfvars", "µ"),
    Language("html", "htm", "html htm xhtml", "z"),
    Language("java", "", "java", context=f"class C {{ void f() {{ {_HERE}; }} }}"),
    Language("javascript", "js jsx mjs cjs node", "js jsx mjs cjs", context=f"class C {{ {_HERE} }}"),
    Language("json", "", "json", context=f"{{ {_HERE} }}"),
    Language("kotlin", "kt kts", "kt kts ktm", "µ"),
    Language("lua", "", "lua"),
    Language("markdown", "md", "md markdown"),
    Language("nix", "", "nix", "_"),
    Language("php", "", "php", "µ", f"<?php {_HERE};"),
    Language("python", "py python3 py3", "py pyi py3 bzl", "µ", f"try: pass\n{_HERE}"),
    Language("ruby", "rb", "rb rbw gemspec", "µ"),
    Language("rust", "rs", "rs", "µ", f"fn f() {{ {_HERE}; }}"),
    Language("scala", "", "scala sc sbt"),
    Language("solidity", "sol", "sol", context=f"contract C {{ function f() public {{ {_HERE}; }} }}"),
    Language("swift", "", "swift", "µ"),
    Language("tsx", "", "tsx", context=f"class C {{ {_HERE} }}"),
    Language("typescript", "ts mts cts", "ts mts cts", context=f"class C {{ {_HERE} }}"),
    Language("yaml", "yml", "yaml yml"),
    Language("zig", "", "zig zon", "µ", f"fn f() void {{ {_HERE}; }}"),
)
"""All that the library carries."""

_BY_ENDING = {ending: language for language in reversed(LANGUAGES) for ending in language.endings}


def language_named(name: str) -> Language | None:
    """The language with this name or short form, in any case."""
    wanted = name.strip().lower()
    return next((one for one in LANGUAGES if wanted == one.name or wanted in one.aliases), None)


def language_of(path: bytes) -> Language | None:
    """The language of a file by the ending of its name."""
    _, dot, ending = os.path.basename(path).rpartition(b".")
    return _BY_ENDING.get(os.fsdecode(ending)) if dot else None


def required_words(pattern: str) -> list[str]:
    """The words that stand in every match of a pattern, longest first: all but its metavariables."""
    words = set()
    start = 0
    for at in range(len(pattern) + 1):
        if at < len(pattern) and (pattern[at].isalnum() or pattern[at] == "_"):
            continue
        word = pattern[start:at]
        metavariable = pattern[start - 1 : start] == "$" and (word[:1].isupper() or word[:1] == "_")
        if word and not metavariable:
            words.add(word)
        start = at + 1
    return sorted(words, key=lambda word: (-len(word), word))


class Reading:
    """How a pattern reads in a language: the `rule` to match by, or the `problem` with it.

    `doubt` is a syntax error within a pattern that may match all the same, or MISPLACED. `inside` is the code, with
    `…` for the pattern, within which it was read, or "". `call` is the rule for a Go call that reads as a type
    conversion.
    """

    __slots__ = ("call", "doubt", "inside", "problem", "rule")

    def __init__(self, rule: Any, problem: str = "") -> None:
        self.call: Any = None
        self.doubt = ""
        self.inside = ""
        self.problem = problem
        self.rule = rule

    def read(self, language: Language) -> None:
        """Find out how the rule, a pattern yet, reads. The process can end in it."""
        pattern: str = self.rule
        self.problem = _refusal(pattern, language)
        root = _tree(_with_stand_ins(pattern, language), language)
        errors = _syntax_errors(root)
        innermost = root
        while len(children := innermost.children()) == 1:
            innermost = children[0]
            if innermost.kind() == "type_conversion_expression":
                self.call = _in_context(pattern, language)
        if not errors and not self.problem:
            return
        rule = _in_context(pattern, language)
        if rule:
            self.rule, self.problem, self.inside = rule, "", language.context.replace(_HERE, "…")
        elif errors:
            near = errors[0].strip().replace("µ", "$") if language.stand_in in "$µ" else pattern
            near = near or pattern
            self.doubt = "syntax error" + (f" at {quoted(near)}" if len(near) <= VALUE_MAX_CHARACTERS else "")
            if _is_misplaced(pattern, language):
                self.doubt = MISPLACED
            self.problem = self.problem and self.doubt


def readings(pattern: str, languages: list[Language]) -> list[Reading]:
    """How a pattern reads in each language; they are read in a process apart."""
    from ast_grep_py import SgRoot  # noqa: F401 (20 ms: once here, not in every process)

    found: list[Reading] = []
    while len(found) < len(languages):
        left = languages[len(found) :]
        pipe, output = os.pipe()
        pid = fork(lambda: _read(pattern, left, output))  # noqa: B023 (it is called in here)
        os.close(output)
        lines = _lines(pipe, time.monotonic() + PATTERN_SECONDS)
        os.kill(pid, SIGKILL)  # it has ended, or takes too long
        os.waitpid(pid, 0)
        for line in lines:
            reading = Reading(pattern)
            reading.call, reading.doubt, reading.inside, reading.problem, reading.rule = lean.loads(line.decode())
            found.append(reading)
        if len(lines) < len(left):
            found.append(Reading(pattern, CRASHED))
    return found


def _read(pattern: str, languages: list[Language], output: int) -> None:
    _be_silent()
    for language in languages:
        reading = Reading(pattern)
        reading.read(language)
        fields = [reading.call, reading.doubt, reading.inside, reading.problem, reading.rule]
        write_all(output, lean.dumps(fields).encode() + b"\n")


def _lines(pipe: int, deadline: float) -> list[bytes]:
    """The whole lines that come from a pipe, up to its end or the deadline; it is closed."""
    data = b""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while poll.poll(max(0, int((deadline - time.monotonic()) * 1000))):
        piece = os.read(pipe, 1 << 20)
        if not piece:
            break
        data += piece
    os.close(pipe)
    return data.split(b"\n")[:-1]


def _be_silent() -> None:
    """What a library prints as it crashes is nobody's."""
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)


class Found:
    """What a search found. `shown` holds `(index of the file, line, text, cuts in it, lines that follow)`.

    `passed_over` counts the files that were not parsed, by the reason: one of REASONS. `timed_out`: not all was seen.
    """

    __slots__ = ("by_file", "parsed", "passed_over", "shown", "timed_out")

    def __init__(self) -> None:
        self.by_file: dict[int, int] = {}
        self.shown: list[tuple[int, int, str, list[int], int]] = []
        self.parsed = 0
        self.passed_over = dict.fromkeys(REASONS, 0)
        self.timed_out = False

    @property
    def matches(self) -> int:
        return sum(self.by_file.values())

    def merge(self, other: Found, most: int) -> None:
        """Take in what was found in other files, or by another rule; `most` matches stay shown."""
        self.by_file |= other.by_file
        self.shown = sorted(self.shown + other.shown)[:most]
        self.parsed = max(self.parsed, other.parsed)
        for reason, number in other.passed_over.items():
            self.passed_over[reason] = max(self.passed_over[reason], number)
        self.timed_out = self.timed_out or other.timed_out

    def add(self, line: bytes) -> None:
        """Take a line that a worker wrote: a file's index and count and what is shown of it; or its last one."""
        record = lean.loads(line.decode())
        if isinstance(record, dict):
            self.parsed += record["parsed"]
            for reason in REASONS:
                self.passed_over[reason] += record[reason]
            self.timed_out = self.timed_out or record["late"]
        else:
            index, count, *shown = record
            self.by_file[index] = count
            self.shown += [(index, *one) for one in shown]


class Task:
    """Files to match: by index, path below the folder of `descriptor` (or that very file), language and rule."""

    __slots__ = ("deadline", "descriptor", "files", "most", "words")

    def __init__(
        self,
        descriptor: int,
        files: list[tuple[int, bytes, Language, Any]],
        words: list[str],
        most: int,
        deadline: float,
    ) -> None:
        self.descriptor = descriptor
        self.files = files
        self.words = [word.encode() for word in words]
        self.most = most
        self.deadline = deadline


def match(task: Task) -> Found:
    """Match all files; of the first `most` matches also what is shown. Raises ToolError(`engine_failed`)."""
    from ast_grep_py import SgRoot  # noqa: F401 (20 ms: once here, not in every process)

    crashed = 0
    while True:
        found = Found()
        culprit = _attempt(task, found)
        if culprit is None:
            break
        crashed += 1
        if crashed > CRASHES_MOST:
            raise ToolError("engine_failed", f"the parser failed on over {CRASHES_MOST} files; name a smaller folder.")
        task.files = [one for one in task.files if one[0] != culprit]
    found.passed_over["crashed"] = crashed
    found.shown = sorted(found.shown)[: task.most]
    return found


def _attempt(task: Task, found: Found) -> int | None:
    """Match all files; the index of the one that a process crashed on, then all is to be done again without it."""
    shares = _shares(len(task.files))
    count = min(len(os.sched_getaffinity(0)), -(-len(task.files) // FILES_PER_WORKER))
    workers = dict(_start(task, shares) for _ in range(count))
    os.close(shares)
    rests = dict.fromkeys(workers, b"")
    poll = select.poll()
    culprit = None
    for pipe in workers:
        poll.register(pipe, select.POLLIN)
    try:
        while workers and culprit is None:
            wait = task.deadline + OVERTIME_SECONDS - time.monotonic()
            ready = poll.poll(max(0, int(wait * 1000)))
            for pipe, _ in ready:
                piece = os.read(pipe, 1 << 20)
                *lines, rests[pipe] = (rests[pipe] + piece).split(b"\n")
                for line in lines:
                    found.add(line)
                if not piece:
                    poll.unregister(pipe)
                    crash = _end(pipe, *workers.pop(pipe))
                    culprit = crash if culprit is None else culprit
            if not ready:
                found.timed_out = True
                break
    finally:
        for pipe, (pid, _) in workers.items():
            os.kill(pid, SIGKILL)
            os.waitpid(pid, 0)
            os.close(pipe)
    return culprit


def _shares(files: int) -> int:
    """A pipe from which each worker takes its next share, the number of the first file, while there are any."""
    shares, put = os.pipe()
    size = _share_size(files)
    os.write(put, b"".join(first.to_bytes(SHARE_BYTES, "big") for first in range(0, files, size)))
    os.close(put)
    return shares


def _share_size(files: int) -> int:
    return max(4, -(-files * SHARE_BYTES // PIPE_LEAST_BYTES))


def _start(task: Task, shares: int) -> tuple[int, tuple[int, mmap]]:
    """Start a worker: its pipe, its pid, and where it notes which file it parses."""
    from mmap import mmap

    at_work = mmap(-1, INDEX_BYTES)
    at_work[:] = NO_FILE
    pipe, output = os.pipe()
    pid = fork(lambda: _Worker(task, output, at_work).work(shares))
    os.close(output)
    return pipe, (pid, at_work)


def _end(pipe: int, pid: int, at_work: mmap) -> int | None:
    """See a worker off; the index of the file that it crashed on, if it did."""
    os.close(pipe)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not code:
        return None
    if at_work[:] == NO_FILE:
        raise ToolError("engine_failed", f"the parser ended with {code}; name a smaller folder in `path`.")
    return int.from_bytes(at_work[:], "big")


class _Worker:
    """In a process of its own: parse files and write what is found."""

    def __init__(self, task: Task, output: int, at_work: mmap) -> None:
        self._task = task
        self._output = output
        self._at_work = at_work
        self._room = task.most  # its files ascend, so that after its first `most` matches none is shown
        self._lines: list[str] = []
        self._held = 0
        self._flushed = time.monotonic()
        self._numbers: dict[str, Any] = {"parsed": 0, "late": False, **dict.fromkeys(REASONS, 0)}

    def work(self, shares: int) -> None:
        _be_silent()
        size = _share_size(len(self._task.files))
        while share := os.read(shares, SHARE_BYTES):
            first = int.from_bytes(share, "big")
            for index, path, language, rule in self._task.files[first : first + size]:
                now = time.monotonic()
                if now >= self._task.deadline:
                    self._numbers["late"] = True
                    break
                if self._held > FLUSH_BYTES or (self._held and now - self._flushed > FLUSH_SECONDS):
                    self._flush(now)
                text, reason = self._text(path)
                if reason:
                    self._numbers[reason] += 1
                else:
                    self._match(index, text, language, rule)
        self._put(lean.dumps(self._numbers))
        self._flush(0)

    def _match(self, index: int, text: str, language: Language, rule: Any) -> None:
        self._numbers["parsed"] += 1
        self._at_work[:] = index.to_bytes(INDEX_BYTES, "big")
        nodes = _tree(text, language).find_all({"rule": {"pattern": rule}})
        self._at_work[:] = NO_FILE
        if nodes:
            shown = [_shown(node) for node in nodes[: self._room]]
            self._room -= len(shown)
            self._put(lean.dumps([index, len(nodes), *shown]))

    def _text(self, path: bytes) -> tuple[str, str]:
        """The text of a file that may match; or why it is passed over."""
        try:
            content = _content(self._task.descriptor, path)
        except OSError:  # it has gone, or can't be read
            return "", "unreadable"
        if content is None:
            return "", "large"
        if content.startswith(_UTF_16):
            return "", "not_utf_8"
        if not all(word in content for word in self._task.words):
            return "", "lacking"
        if b"\0" in content:
            return "", "binary"
        try:
            return content.removeprefix(b"\xef\xbb\xbf").decode(), ""
        except UnicodeDecodeError:
            return "", "not_utf_8"

    def _put(self, line: str) -> None:
        self._lines.append(line)
        self._held += len(line)

    def _flush(self, now: float) -> None:
        write_all(self._output, "".join(line + "\n" for line in self._lines).encode())
        self._lines.clear()
        self._held, self._flushed = 0, now


def _content(descriptor: int, path: bytes) -> bytes | None:
    """A file below a folder, or the descriptor's own when `path` is empty; None when it is too large."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
    if path:
        file = os.open(path, flags | os.O_NOFOLLOW, dir_fd=descriptor)
    else:
        file = os.open(f"/proc/self/fd/{descriptor}", flags)
    try:
        size = os.fstat(file).st_size
        if size > FILE_MAX_BYTES:
            return None
        content = os.read(file, size + 1)
        while len(content) < size and (more := os.read(file, size - len(content))):
            content += more
        return content
    finally:
        os.close(file)


def _shown(node: SgNode) -> list[Any]:
    """Line, first line of the text, cuts in it, and how many lines follow."""
    first, _, rest = node.text().rstrip("\n").partition("\n")
    text, cuts = clipped(first.removesuffix("\r").encode(), 0)
    return [node.range().start.line + 1, text, cuts, rest.count("\n") + 1 if rest else 0]


def _tree(text: str, language: Language) -> SgNode:
    from ast_grep_py import SgRoot  # 20 ms, for the tools that parse alone

    return SgRoot(text, language.name).root()


def _refusal(pattern: str, language: Language) -> str:
    """The library's reason for not taking a pattern, or ""."""
    try:
        _tree("", language).find_all(pattern=pattern)
    except RuntimeError as problem:
        said = str(problem).partition("Stack backtrace")[0]
        if "Multiple AST nodes" in said:
            return "it is more than one statement or expression; search for one at a time"
        causes = [line.partition(": ")[2] for line in said.split("\n") if line.strip()[:2] in ("1:", "2:", "3:")]
        return (causes[-1] if causes else said.split("\n")[0]).replace(language.stand_in * 3, "$$$").strip()
    return ""


def _in_context(pattern: str, language: Language) -> Any:
    """The rule for a pattern within the language's context; None when that does not parse, or has none."""
    before, here, after = language.context.partition(_HERE)
    code = pattern.rstrip().removesuffix(";")
    if not here:
        return None
    plain = _with_stand_ins(code, language)
    root = _tree(before + plain + after, language)
    if _syntax_errors(root):
        return None
    node = root
    while inside := [child for child in node.children() if child.is_named() and plain in child.text()]:
        if node.text() == plain and len(node.children()) > 1:
            break
        node = inside[0]
    first = root.find(kind=node.kind())
    several = node.kind() == "statement_list" and len(node.children()) > 1  # it would match a body that is just these
    if several or node.text() != plain or first is None or first.text() != plain:
        return None
    return {"context": before + code + after, "selector": node.kind()}


def _syntax_errors(root: SgNode) -> list[str]:
    """What the parser could not place, then the whole text when a closing bracket or word is missing."""
    errors = [error.text() for error in root.find_all(kind="ERROR")]
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += node.children()
        if node.is_leaf() and not node.is_named() and not node.text() and node.kind().strip("\n\0 ;"):
            return [*errors, root.text()]  # the parser puts an empty one in its place
    return errors


def _is_misplaced(pattern: str, language: Language) -> bool:
    """Whether it is a metavariable that the parser can't place: with nothing for each `$$$`, or a number for each of
    all, the pattern parses, by itself or in the language's context."""
    import re  # only the process that reads a pattern with an error pays for it

    without = re.sub(r"\$\$\$[A-Z0-9_]*", "", pattern)
    others = (_with_stand_ins(without, language), re.sub(r"\$+[A-Z_][A-Z0-9_]*|\$\$\$", "0", pattern))

    def parses(code: str, around: str) -> bool:
        return not _syntax_errors(_tree(around.replace(_HERE, code), language))

    arounds = [around for around in (_HERE, language.context) if around]
    arounds = [around for around in arounds if not parses(_with_stand_ins(pattern, language), around)]
    return any(parses(code, around) for code in others for around in arounds)


def _with_stand_ins(pattern: str, language: Language) -> str:
    """The pattern as the library parses it: a metavariable, or `$$$` by itself, as a name."""
    taken: list[str] = []
    dollars = 0
    for letter in [*pattern, ""]:
        if letter == "$":
            dollars += 1
            continue
        named = dollars == 3 or letter == "_" or "A" <= letter <= "Z"
        taken.append((language.stand_in if named else "$") * dollars + letter)
        dollars = 0
    return "".join(taken)
