"""The door of a helper: a request in, an envelope out; a session of many; or a person at a command line.

Only the envelope ever reaches the real stdout: it is put aside at the start, and descriptor 1 points at stderr.
"""

from __future__ import annotations

import os
import sys

from guilds_wire import envelope, request
from guilds_wire.call import Call
from guilds_wire.descriptors import write_all
from guilds_wire.errors import ToolError
from guilds_wire.places import Places
from guilds_wire.schema import validate
from guilds_wire.tools import all_tools, tools_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from guilds_wire.envelope import Result
    from guilds_wire.request import Request
    from guilds_wire.schema import Schema

    Perform = Callable[[Request], dict[str, Any]]

REQUEST_FILE_OPTION = "--request-file"
SERVE_OPTION = "--serve"


class Helper:
    """A helper program: its name, the package of its tools' modules, and which of the tools are built.

    The module of a tool bears its name and holds a function of that name, `(Call, **arguments) -> Result`.
    Those in `sharing` leave their process as they found it, so that a session's calls can share one.
    With `forward`, another process does the work: that function gets the request and its checked arguments, and
    gives the result or raises its ToolError.
    By hand, `prefix` is left off the tools' names, and `settings` are options that become a request's own
    top-level objects. With `alone` the program is that one tool, and `is_argument` tells its argument from a request.
    """

    __slots__ = ("alone", "built", "forward", "is_argument", "modules", "name", "prefix", "settings", "sharing")

    def __init__(
        self,
        name: str,
        *,
        modules: str = "",
        built: tuple[str, ...] = (),
        sharing: tuple[str, ...] = (),
        forward: Callable[[Request, dict[str, Any]], Result] | None = None,
        prefix: str = "",
        settings: dict[str, Schema] | None = None,
        alone: str = "",
        is_argument: Callable[[str], bool] | None = None,
    ) -> None:
        self.name = name
        self.modules = modules
        self.built = built
        self.sharing = sharing
        self.forward = forward
        self.prefix = prefix
        self.settings = settings or {}
        self.alone = alone
        self.is_argument = is_argument or self._is_command

    def command(self, tool: str) -> str:
        """What a person types for a tool."""
        return tool.removeprefix(self.prefix).replace("_", "-")

    def function(self, tool: str) -> Callable[..., Result]:
        """The function that does a tool's work; only now is its module imported."""
        found: Callable[..., Result] = getattr(__import__(f"{self.modules}.{tool}", fromlist=[tool]), tool)
        return found

    def _is_command(self, word: str) -> bool:
        return word in {self.command(tool) for tool in tools_of(self.name)}

    def prepare(self, tool: str) -> bool:
        """Import what a call of this tool needs, where many calls are to come; whether calls can share a process."""
        if tool in self.built:
            self.function(tool)
        return tool in self.sharing


def main(helper: Helper) -> int:
    """Answer whatever this process was started for; its exit status."""
    arguments = [os.fsencode(argument) for argument in sys.argv[1:]]
    _open_standard_streams()
    if len(arguments) == 2 and arguments[0] == REQUEST_FILE_OPTION.encode():
        return _answer(helper, lambda: request.read_request_file(arguments[1], Places.from_environment()))
    if arguments == [SERVE_OPTION.encode()]:
        from guilds_wire.session import serve

        return serve(lambda asked: perform(helper, asked), helper.prepare, put_stdout_aside())
    if len(arguments) == 1 and _is_request(helper, arguments[0]):
        return _answer(helper, lambda: arguments[0])
    from guilds_wire.command_line import run_by_hand

    return run_by_hand(helper)


def perform(helper: Helper, asked: Request) -> dict[str, Any]:
    """Do what a request asks; its envelope, whatever happens."""
    try:
        return envelope.of_result(work(helper, asked))
    except ToolError as error:
        return envelope.of_error(error)
    except Exception as problem:  # the caller gets an answer, the traceback goes to stderr
        import traceback

        traceback.print_exc(file=sys.stderr)
        return envelope.of_error(ToolError("internal", f"{type(problem).__name__}: {problem}"))


def work(helper: Helper, asked: Request) -> Result:
    """The tool's own result. Raises ToolError."""
    tools = tools_of(helper.name)
    if asked.tool not in tools:
        raise _unknown(helper, asked.tool)
    arguments = validate(tools[asked.tool].parameters, asked.args)
    if helper.forward:
        return helper.forward(asked, arguments)
    if asked.tool not in helper.built:
        raise ToolError("unavailable", f"{asked.tool} is not part of this version of {helper.name}.")
    call = Call(asked, Places.from_environment())
    result = helper.function(asked.tool)(call, **{_parameter(name): value for name, value in arguments.items()})
    if call.run.notice:
        result = result.prefixed(call.run.notice)
        result.meta["cwd_reset"] = True
        call.run.settle()
    return result.within(asked.result_max_bytes)


def put_stdout_aside() -> int:
    """A descriptor of the real stdout, for the envelope alone; from now on descriptor 1 is stderr."""
    real = os.dup(1)
    os.dup2(2, 1)
    return real


def _answer(helper: Helper, read: Callable[[], bytes]) -> int:
    """Print the envelope of one request; 1 when it can't be printed."""
    stdout = put_stdout_aside()
    try:
        answer = perform(helper, request.parse(read()))
    except ToolError as error:
        answer = envelope.of_error(error)
    try:
        write_all(stdout, envelope.encode(answer) + b"\n")
    except OSError as problem:
        print(f"{helper.name}: the answer can't be written: {problem.strerror}", file=sys.stderr)
        return 1
    return 0


def _is_request(helper: Helper, argument: bytes) -> bool:
    """One argument that names no command (or whatever a person may give alone) and is no option is a request."""
    return not argument.startswith(b"-") and not helper.is_argument(argument.decode("ascii", "replace"))


def _open_standard_streams() -> None:
    """Have something open at 0, 1 and 2, so that no file of ours lands there, and nothing else of the caller's."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            # Nothing can be written to a stdout that was closed, and the exit status is to say so.
            os.open("/dev/null", os.O_RDONLY if descriptor == 1 else os.O_RDWR)
            os.set_inheritable(descriptor, True)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _unknown(helper: Helper, name: str) -> ToolError:
    from guilds_wire.errors import quoted

    elsewhere = all_tools().get(name)
    if elsewhere:
        return ToolError("unknown_tool", f"{name} is served by {elsewhere.helper}, not by {helper.name}.")
    there = ", ".join(tools_of(helper.name))
    return ToolError("unknown_tool", f"there is no tool {quoted(name)}; {helper.name} has: {there}.")


def _parameter(name: str) -> str:
    """An argument's name as Python takes it: `in` is a keyword."""
    return "in_" if name == "in" else name
