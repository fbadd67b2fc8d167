"""Declarations of the tools that guilds-code serves."""

from __future__ import annotations

from guilds_wire.schema import boolean, integer, object_schema, string
from guilds_wire.tools import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.schema import Schema

SHELL_TIMEOUT_MOST_SECONDS = 600

_PATH = "Absolute, or relative to the working directory."


def _code(name: str, seconds: int, description: str, parameters: Schema) -> Tool:
    return Tool(
        name=name,
        helper="guilds-code",
        description=description,
        parameters=parameters,
        call_timeout_seconds=seconds,
    )


TOOLS = (
    _code(
        "shell",
        SHELL_TIMEOUT_MOST_SECONDS + 30,
        "Run a bash command and return its output, with the exit code when it is not 0. "
        "A change of directory is kept for the next call.",
        object_schema(
            ("command",),
            command=string("What to run, as after `bash -c`. Its stdin is empty.", minLength=1),
            timeout_seconds=integer(
                "After so many seconds the command and its children are ended.",
                1,
                SHELL_TIMEOUT_MOST_SECONDS,
                120,
            ),
            background=boolean(
                "Start it and return at once with a name for shell_status: for servers and long builds."
            ),
        ),
    ),
    _code(
        "shell_status",
        30,
        "List the background commands, or show one's state, exit code and last 40 lines of output, or stop it.",
        object_schema(
            id=string("The command's name (b1, b2, …). Omit it to list all.", minLength=1),
            stop=boolean("End that command with all its processes."),
        ),
    ),
    _code(
        "file_read",
        60,
        "Read lines of a text file, numbered; or list a directory.",
        object_schema(
            ("path",),
            path=string(_PATH, minLength=1),
            offset=integer("The first line to show.", 1, default=1),
            limit=integer("How many lines to show.", 1, 500, 200),
        ),
    ),
    _code(
        "file_edit",
        60,
        "Replace an exact string in a file. It must stand there once, unless replace_all is set.",
        object_schema(
            ("path", "old_string", "new_string"),
            path=string(_PATH, minLength=1),
            old_string=string("The text to replace, exactly as it stands, without line numbers.", minLength=1),
            new_string=string("The text to put in its place."),
            replace_all=boolean("Replace every occurrence."),
        ),
    ),
    _code(
        "file_write",
        60,
        "Create a file, or replace it whole. Missing folders are made.",
        object_schema(
            ("path", "content"),
            path=string(_PATH, minLength=1),
            content=string("The file's whole new content."),
        ),
    ),
    _code(
        "code_search",
        75,
        "Search text with a regular expression in the files that git would not ignore.",
        object_schema(
            ("pattern",),
            pattern=string("A regular expression (ripgrep's syntax).", minLength=1),
            path=string("The file or folder to search.", minLength=1, default="."),
            glob=string("Only files that match, e.g. `*.py,*.ts`; a leading `!` leaves files out.", minLength=1),
            mode=string(
                "`files`: paths with counts. `content`: the matching lines. "
                "`symbols`: hits under their function or class.",
                enum=["files", "content", "symbols"],
                default="files",
            ),
            fixed=boolean("Take the pattern as plain text."),
            ignore_case=boolean("Ignore case."),
            context=integer("Lines to show around each match, in mode `content`.", 0, 5, 0),
            limit=integer("Show at most so many entries; each mode has a lower bound of its own.", 1, 1000),
        ),
    ),
    _code(
        "code_match",
        75,
        "Search code by its syntax: a pattern of code in which `$NAME` stands for one node and `$$$ARGS` for any.",
        object_schema(
            ("pattern",),
            pattern=string("Code with metavariables, e.g. `print($A)`.", minLength=1),
            lang=string("The language. Omit it to go by each file's extension.", minLength=1),
            path=string("The file or folder to search.", minLength=1, default="."),
            limit=integer("How many matches to show.", 1, 100, 30),
        ),
    ),
    _code(
        "code_map",
        700,
        "A first look at a repository: its parts, their sizes and their most referenced symbols.",
        object_schema(
            repo=string("The repository's folder name under repos/. Omit it for the current one.", minLength=1)
        ),
    ),
    _code(
        "code_find",
        700,
        "Find the symbols and files that a question is about.",
        object_schema(
            ("question",),
            question=string("What to look for, in words or as an identifier.", minLength=1),
            **{"in": string("Only below this folder or file.", minLength=1)},
            source=boolean("Show up to 8 lines of each."),
            limit=integer("How many to show.", 1, 20, 8),
        ),
    ),
    _code(
        "code_outline",
        700,
        "Every signature in a file with its span of lines, without bodies.",
        object_schema(("path",), path=string(_PATH, minLength=1)),
    ),
    _code(
        "code_callers",
        700,
        "What references a symbol, or what it references.",
        object_schema(
            ("symbol",),
            symbol=string("A name, a qualified name (`Flask.route`) or `path:line`.", minLength=1),
            direction=string("`in`: what references it. `out`: what it references.", enum=["in", "out"], default="in"),
            depth=integer("How many steps to follow.", 1, 3, 1),
            **{"in": string("Only below this folder or file.", minLength=1)},
        ),
    ),
)
