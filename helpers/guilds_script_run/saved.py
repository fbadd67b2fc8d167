"""The folder of saved scripts: their names, their files, and the source that a request brings along."""

from __future__ import annotations

import os
import stat

from guilds_wire import lean
from guilds_wire.errors import ToolError, io_error, quoted
from guilds_wire.paths import Located, Workspace
from guilds_wire.replace import open_target
from guilds_wire.schema import invalid_argument
from guilds_wire.tools.scripts import RESERVED_NAME, SCRIPT_NAME_MAX_CHARACTERS, is_script_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from guilds_wire.places import Places

FOLDER = "scripts"
NAMES_MOST = 30
READ_BYTES = 1 << 20


def require_name(name: str) -> None:
    """Raises ToolError(`invalid_arguments`) unless a script can be called that."""
    if not is_script_name(name):
        raise invalid_argument(
            "name",
            f"is {quoted(name)}; a name has 1 to {SCRIPT_NAME_MAX_CHARACTERS} of a-z 0-9 _ -, "
            f"begins with a letter, and is not {RESERVED_NAME}",
        )


def file_of(name: str) -> str:
    """The script's path below home."""
    return f"{FOLDER}/{name}.py"


def put_source(places: Places, name: str, script: Any) -> None:
    """Have the script's file hold the source of a request's `script`; a file that holds it is left as it is.

    Write protection does not keep another source: the request, not the file, says what the script is.
    Raises ToolError: `invalid_arguments`, and what replacing a file raises.
    """
    source = script.get("source") if isinstance(script, dict) else None
    wanted = script.get("sha256") if isinstance(script, dict) else None
    if not isinstance(source, str) or not isinstance(wanted, str):
        raise _invalid_script("is no object with the strings `source` and `sha256`")
    try:
        content = source.encode()
    except UnicodeEncodeError as problem:
        raise _invalid_script(f"holds half of a surrogate pair at character {problem.start} of `source`") from None
    found = lean.sha256(content).hexdigest()
    if found != wanted:
        raise _invalid_script(f"has a source with the SHA-256 {found}, and names {quoted(wanted)}")
    with _home(places).locate(file_of(name), allow_missing=True) as located:
        if not located.missing:
            located.require_file()
            if located.status.st_size == len(content) and _sha256(located) == found:
                return
            _lift_write_protection(located)
    with open_target(_home(places), file_of(name), create=True) as target:
        if target.before != content:
            target.write(content, new_file_mode=0o644)


def sha256_of(places: Places, name: str) -> str:
    """The SHA-256 of the script's file. Raises ToolError: `not_found` with the scripts there are, `not_a_file`."""
    try:
        located = _home(places).locate(file_of(name))
    except ToolError as error:
        if error.code == "not_found":
            raise ToolError("not_found", f"there is no script {name}; {_there_are(places)}.") from None
        raise
    with located:
        located.require_file()
        return _sha256(located)


def remove(places: Places, name: str) -> bool:
    """Delete the script's file; False when there is none. A link goes, and what it leads to stays.

    Raises ToolError: `not_a_file`, `path_outside_home`, `io_error`.
    """
    with _home(places).locate(FOLDER, allow_missing=True) as folder:
        if folder.missing:
            return False
        try:
            os.unlink(f"{name}.py", dir_fd=folder.descriptor)
        except FileNotFoundError:
            return False
        except IsADirectoryError:
            raise ToolError("not_a_file", f"{file_of(name)} is a folder, not a script.") from None
        except OSError as problem:
            raise io_error(problem, file_of(name)) from problem
    return True


def _home(places: Places) -> Workspace:
    """Home, with paths relative to it wherever the run's shell is."""
    return Workspace(places, places.home)


def _sha256(located: Located) -> str:
    try:
        with open(located.open(os.O_RDONLY), "rb", buffering=0) as file:
            hash_ = lean.sha256(expected_bytes=located.status.st_size)
            while part := file.read(READ_BYTES):
                hash_.update(part)
    except OSError as problem:
        raise io_error(problem, located.shown) from problem
    return hash_.hexdigest()


def _lift_write_protection(located: Located) -> None:
    mode = stat.S_IMODE(located.status.st_mode)
    if mode & 0o222:
        return
    try:
        os.chmod(f"/proc/self/fd/{located.descriptor}", mode | stat.S_IWUSR)
    except OSError as problem:
        raise io_error(problem, located.shown) from problem


def _invalid_script(problem: str) -> ToolError:
    return ToolError(
        "invalid_arguments",
        f"`script` {problem}. Nothing was done.",
        [{"path": "$.script", "problem": f"`script` {problem}"}],
    )


def _there_are(places: Places) -> str:
    try:
        entries = os.listdir(os.path.join(places.home, FOLDER.encode()))
    except OSError:
        entries = []
    files = [os.fsdecode(entry) for entry in entries]
    named = [file[:-3] for file in files if file.endswith(".py") and is_script_name(file[:-3])]
    names = sorted(name for name in named if _can_be_run(places, name))
    if not names:
        return "there are none yet"
    more = f" and {len(names) - NAMES_MOST} more" if len(names) > NAMES_MOST else ""
    return f"there are: {', '.join(names[:NAMES_MOST])}{more}"


def _can_be_run(places: Places, name: str) -> bool:
    """Whether the script's path leads to a file in home that can be read."""
    try:
        with _home(places).locate(file_of(name)) as located:
            located.require_file()
            os.close(located.open(os.O_RDONLY))
    except (ToolError, OSError):
        return False
    return True
