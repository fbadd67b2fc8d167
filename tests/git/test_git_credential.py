"""guilds-git-credential as git runs it: a process, an operation, attributes on stdin."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import time
from pathlib import Path

import pytest

import guilds_wire
from tests.agent_home import BIN, AgentHome
from tests.git.conftest import PutTokens

APP = "https://github.com/acme/app"
LIB = "https://github.com/acme/lib"
PROGRAM = str(BIN / "guilds-git-credential")


class Answer:
    """What the helper printed: its attributes, and its line on stderr."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.status = done.returncode
        self.raw = done.stdout
        self.attributes = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
        self.line = done.stderr.decode()


def ask(home: AgentHome, operation: str, *lines: str | bytes, options: tuple[str, ...] = ()) -> Answer:
    given = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    done = subprocess.run(
        [PROGRAM, *options, operation],
        input=given + b"\n",
        capture_output=True,
        env=home.environment(),
        timeout=30,
        check=False,
    )
    return Answer(done)


def get(home: AgentHome, path: str, *more: str, host: str = "github.com", protocol: str = "https") -> Answer:
    return ask(home, "get", f"protocol={protocol}", f"host={host}", f"path={path}", *more)


def erase(home: AgentHome, path: str, password: str) -> Answer:
    lines = ("protocol=https", "host=github.com", f"path={path}", "username=x-access-token", f"password={password}")
    return ask(home, "erase", *lines)


def test_get_gives_the_credential_of_its_repository(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1", LIB: "tok-2"}, expires_at="2099-01-01T00:00:00Z")

    answer = get(home, "acme/lib.git", "capability[]=authtype", "wwwauth[]=Basic realm=git")

    assert answer.raw == b"username=x-access-token\npassword=tok-2\npassword_expiry_utc=4070908800\n"
    assert (answer.status, answer.line) == (0, "")


def test_a_url_stands_for_its_parts_and_unsets_the_others(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    assert ask(home, "get", f"url={APP}.git").attributes["password"] == "tok-1"
    assert ask(home, "get", "username=eve", f"url={APP}").attributes["password"] == "tok-1"
    assert ask(home, "get", "path=acme/app", "url=https://github.com").raw == b""
    assert "password" not in ask(home, "get", "url=https://eve@github.com/acme/app").attributes


@pytest.mark.parametrize("user", ["me%40example.com", "%6de@example.com:p%40w", "me%40example.com:"])
def test_the_user_in_a_url_is_decoded(home: AgentHome, put_tokens: PutTokens, user: str) -> None:
    put_tokens({APP: "tok-1"}, username="me@example.com")

    assert ask(home, "get", f"url=https://{user}@github.com/acme/app").attributes["password"] == "tok-1"


def test_a_percent_sign_that_encodes_nothing_stands_for_itself(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"}, username="50%+1%zz%")

    assert ask(home, "get", "url=https://50%+1%zz%@github.com/acme/app").attributes["password"] == "tok-1"


@pytest.mark.parametrize("user", ["a%0ab", "a%0Db", "a%00b", "a:b%0ac"])
def test_an_encoded_line_break_in_a_user_is_refused(home: AgentHome, put_tokens: PutTokens, user: str) -> None:
    put_tokens({APP: "tok-1"})

    answer = ask(home, "get", f"url=https://{user}@github.com/acme/app")

    assert answer.raw == b"quit=1\n"
    assert "refused" in answer.line


def test_a_known_username_must_be_the_token_s(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    assert get(home, "acme/app", "username=x-access-token").attributes["password"] == "tok-1"
    other = get(home, "acme/app", "username=eve")
    assert other.attributes == {"quit": "1"}
    assert other.line == "no token for acme/app as eve; this run has acme/app\n"


def test_another_repository_of_a_known_host_ends_the_search_and_names_what_there_is(
    home: AgentHome, put_tokens: PutTokens
) -> None:
    put_tokens({APP: "tok-1", "https://git.example.com/a/b": "tok-3", f"{LIB}.git": "tok-2"})

    answer = get(home, "other/repo.git")

    assert answer.raw == b"quit=1\n"
    assert answer.line == "no token for other/repo; this run has acme/app, acme/lib\n"


def test_a_hostile_path_can_not_write_to_the_terminal(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    answer = get(home, "\x1b]0;owned\x07" + "x" * 5000)

    assert "\x1b" not in answer.line
    assert len(answer.line) < 300


@pytest.mark.parametrize(
    ("protocol", "host", "path"),
    [("https", "example.com", "acme/app"), ("https", "github.com:8443", "acme/app"), ("http", "github.com", "acme/app"),
     ("https", "github.com.example.com", "acme/app"), ("https", "github.com", ""), ("ssh", "github.com", "acme/app")],
)  # fmt: skip
def test_what_is_none_of_its_business_gets_no_word(
    home: AgentHome, put_tokens: PutTokens, protocol: str, host: str, path: str
) -> None:
    put_tokens({APP: "tok-1"})

    answer = get(home, path, host=host, protocol=protocol)

    assert (answer.raw, answer.line, answer.status) == (b"", "", 0)


def test_a_host_alone_gets_no_word(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    answer = ask(home, "get", "protocol=https", "host=github.com")

    assert (answer.raw, answer.line) == (b"", "")


def test_an_expired_token_is_not_given(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"}, expires_at="2020-01-01T00:00:00Z")

    answer = get(home, "acme/app")

    assert answer.raw == b"quit=1\n"
    assert answer.line == "the token for acme/app has expired; the next shell call brings a fresh one\n"


def test_of_two_tokens_for_one_repository_the_one_that_works_is_given(home: AgentHome) -> None:
    (home.runtime / "git-tokens.json").write_text(
        '{"version": 1, "tokens": ['
        f'{{"url": "{APP}", "token": "old", "expires_at": "2020-01-01T00:00:00Z"}},'
        f'{{"url": "{APP}", "token": "new"}}]}}'
    )

    assert get(home, "acme/app").attributes["password"] == "new"


def test_a_refused_token_is_not_offered_again_and_a_fresh_one_is(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1", LIB: "tok-2"})

    erase(home, "acme/app.git", "tok-1")

    refused = get(home, "acme/app")
    assert refused.raw == b"quit=1\n"
    assert refused.line == "the token for acme/app was refused by the server; the next shell call brings a fresh one\n"
    assert get(home, "acme/lib").attributes["password"] == "tok-2"
    put_tokens({APP: "tok-fresh", LIB: "tok-2"})
    assert get(home, "acme/app").attributes["password"] == "tok-fresh"


def test_a_refused_token_is_offered_again_once_the_file_was_written_anew(
    home: AgentHome, put_tokens: PutTokens
) -> None:
    put_tokens({APP: "tok-1"})
    erase(home, "acme/app", "tok-1")
    time.sleep(0.02)  # a kernel tick, by which the two files' times differ

    put_tokens({APP: "tok-1"})

    assert get(home, "acme/app").attributes["password"] == "tok-1"


def test_what_is_kept_of_a_refused_token_does_not_hold_it(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    erase(home, "acme/app", "tok-1")
    erase(home, "acme/app", "tok-1")

    file = home.runtime / "git-tokens.rejected"
    assert re.fullmatch(r"[0-9a-f]{64}\n", file.read_text())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("password", ["tok-2", "", "tok-1x"])
def test_erasing_what_is_not_the_token_refuses_nothing(home: AgentHome, put_tokens: PutTokens, password: str) -> None:
    put_tokens({APP: "tok-1"})

    assert erase(home, "acme/app", password).raw == b""

    assert not (home.runtime / "git-tokens.rejected").exists()


def test_the_marks_of_refused_tokens_stay_few(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})
    file = home.runtime / "git-tokens.rejected"
    file.write_text(("0" * 64 + "\n") * 1008)

    erase(home, "acme/app", "tok-1")

    assert file.stat().st_size == 65
    assert get(home, "acme/app").attributes == {"quit": "1"}


def test_a_mark_after_one_that_was_cut_off_has_a_line_of_its_own(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})
    file = home.runtime / "git-tokens.rejected"
    file.write_text("87def54f5192de25")

    erase(home, "acme/app", "tok-1")

    assert re.fullmatch(r"87def54f5192de25\n[0-9a-f]{64}\n", file.read_text())
    assert get(home, "acme/app").attributes == {"quit": "1"}


def test_a_refusal_that_can_not_be_noted_is_told(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})
    (home.runtime / "git-tokens.rejected").mkdir()

    answer = erase(home, "acme/app", "tok-1")

    assert "can't be noted" in answer.line
    assert "tok-1" not in answer.line


@pytest.mark.parametrize("operation", ["store", "capability", "approve", "frobnicate", "--help"])
def test_other_operations_are_silent_and_change_nothing(home: AgentHome, put_tokens: PutTokens, operation: str) -> None:
    put_tokens({APP: "tok-1"})

    answer = ask(home, operation, f"url={APP}", "username=u", "password=p-1")

    assert (answer.status, answer.raw, answer.line) == (0, b"", "")
    assert sorted(os.listdir(home.runtime)) == ["git-tokens.json", "requests"]


@pytest.mark.parametrize(
    "line", [b"path=acme/app\rhost=github.com", b"path=acme/app\r", b"path=acme/app\0", b"x=\0", b"no attribute"]
)
def test_a_value_that_hides_a_line_is_refused(home: AgentHome, put_tokens: PutTokens, line: bytes) -> None:
    put_tokens({APP: "tok-1"})

    answer = ask(home, "get", "protocol=https", "host=github.com", "path=acme/app", line)

    assert answer.raw == b"quit=1\n"
    assert "refused" in answer.line


def test_attributes_without_end_are_refused(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    assert get(home, "acme/app", *["a=" + "x" * 100_000] * 20).attributes == {"quit": "1"}


def test_what_follows_the_empty_line_does_not_count(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})

    assert get(home, "acme/app", "", "path=acme/other").attributes["password"] == "tok-1"


@pytest.mark.parametrize("content", ["", "{", '["tok-1"]', '{"version": 1, "tokens": [{"token": "tok-1"}]}'])
def test_a_token_file_that_can_not_be_used_is_one_line(home: AgentHome, content: str) -> None:
    file = home.runtime / "git-tokens.json"
    file.write_text(content)

    answer = get(home, "acme/app")

    assert (answer.raw, answer.status) == (b"", 0)
    assert answer.line.count("\n") == 1
    assert "tok-1" not in answer.line


def test_one_entry_that_can_not_be_used_costs_no_other_its_token(home: AgentHome) -> None:
    (home.runtime / "git-tokens.json").write_text(
        f'{{"version": 1, "tokens": [{{"url": "tok-9", "token": "tok-8"}}, {{"url": "{APP}", "token": "tok-1"}}, 3]}}'
    )
    told = (
        f"the token file {home.runtime}/git-tokens.json is malformed in part, which is left out: "
        "`url` of entry 1 is not the https URL of a repository (and 1 more)\n"
    )

    given = get(home, "acme/app")
    other = get(home, "acme/lib")

    assert (given.attributes["password"], given.line) == ("tok-1", told)
    assert (other.raw, other.line) == (b"quit=1\n", f"no token for acme/lib; this run has acme/app; {told}")


def test_a_missing_token_file_is_one_line(home: AgentHome) -> None:
    answer = get(home, "acme/app")

    assert (answer.raw, answer.status) == (b"", 0)
    assert answer.line == f"the token file {home.runtime}/git-tokens.json can't be read: No such file or directory\n"


def test_the_run_time_folder_can_be_named(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"})
    elsewhere = home.top / "it's elsewhere"
    home.runtime.rename(elsewhere)

    apart = ask(home, "get", f"url={APP}", options=("--runtime-dir", str(elsewhere)))
    joined = ask(home, "get", f"url={APP}", options=(f"--runtime-dir={elsewhere}",))

    assert apart.attributes["password"] == joined.attributes["password"] == "tok-1"


@pytest.mark.parametrize(
    "words", [[], ["get", "get"], ["--runtime-dir"], ["--runtime-dir", "x"], ["--runtime-dir=", "get"]]
)
def test_wrong_usage_says_how(home: AgentHome, words: list[str]) -> None:
    done = subprocess.run(
        [PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=home.environment(), check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: guilds-git-credential [--runtime-dir DIR] get|store|erase\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(home: AgentHome, put_tokens: PutTokens, closed: str) -> None:
    file = put_tokens({APP: "tok-1"})
    before = file.read_bytes()

    done = subprocess.run(
        ["sh", "-c", f'"$0" get {closed}', PROGRAM],
        input=f"url={APP}\n\n".encode(),
        capture_output=True,
        env=home.environment(),
        timeout=30,
        check=False,
    )

    assert b"Traceback" not in done.stderr
    assert file.read_bytes() == before


LIST_MODULES = """
import sys
sys.path.append(sys.argv[1])
before = set(sys.modules)
from guilds_git_credential import __main__ as helper
helper.reply("get", b"url=https://github.com/acme/app", sys.argv[2].encode())
print(*(set(sys.modules) - before))
"""


def test_get_imports_only_what_it_uses(home: AgentHome, put_tokens: PutTokens) -> None:
    put_tokens({APP: "tok-1"}, expires_at="2099-01-01T00:00:00Z")
    helpers = str(Path(guilds_wire.__path__[0]).parent)

    done = subprocess.run(
        [str(BIN / "python3"), "-I", "-S", "-X", "utf8", "-c", LIST_MODULES, helpers, str(home.runtime)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(done.stdout.split()) <= {
        "__future__", "stat", "_stat", "_json", "_signal", "_sha256", "_sha2",
        "guilds_git_credential", "guilds_git_credential.__main__",
        "guilds_wire", "guilds_wire.errors", "guilds_wire.git_tokens", "guilds_wire.lean",
    }  # fmt: skip
