"""Which token belongs to which URL, and what becomes of a token file that is not as it should be."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guilds_git_credential import __main__ as helper
from guilds_wire import places
from guilds_wire.git_tokens import TokenFileError, path_of, read_tokens, site_of, split_url

GITHUB = b"https://github.com"
TOKEN = "tok-secret-1"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
ENTRIES = st.fixed_dictionaries(
    {"url": st.just("https://github.com/acme/app") | JSON, "token": st.just(TOKEN) | JSON},
    optional={"username": JSON, "expires_at": JSON | st.datetimes().map(str)},
)


def put(folder: Path, content: Any) -> bytes:
    """A token file in a run-time folder; the folder as the helper takes it."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / "git-tokens.json").write_bytes(raw)
    return bytes(folder)


def one(**more: Any) -> dict[str, Any]:
    entry = {"url": "https://github.com/acme/app", "token": TOKEN, **more}
    return {"version": 1, "tokens": [{name: value for name, value in entry.items() if value is not ...}]}


@pytest.mark.parametrize(
    "path",
    ["acme/app", "acme/app.git", "acme/app/", "acme/app.git/", "acme/app.git/info/lfs", "acme/app.git/info/lfs/",
     "Acme/App", "ACME/APP.GIT", "acme/app.Git/Info/LFS"],
)  # fmt: skip
def test_spellings_of_one_repository_are_one(path: str) -> None:
    assert path_of(GITHUB, path.encode()) == b"acme/app"


@pytest.mark.parametrize(
    "path",
    ["", "/", ".", "acme/../acme/app", "acme/./app", "acme/app/..", "acme//app", "/acme/app", "acme/app//",
     "acme/%61pp", "acme%2fapp", "acme/app?a=b", "acme/app#a", "acme/app\\x", "acme/.git", "acme/..git", "a\tb", "\x7f",
     "..", "a/\x00"],
)  # fmt: skip
def test_a_path_in_disguise_is_the_path_of_no_repository(path: str) -> None:
    assert path_of(GITHUB, path.encode()) is None


@pytest.mark.parametrize(
    "path", ["acme/app2", "acme/ap", "acme/app/evil", "acme", "acme/app/info/lfs", "acme/app.git.git", "acme/app.git/x",
             "acme/app.git/info/lfs/x", "acme/app ", "acme/\u212apple", "acme-app"]
)  # fmt: skip
def test_another_path_is_another_repository(path: str) -> None:
    assert path_of(GITHUB, path.encode()) != b"acme/app"


def test_the_case_of_a_path_counts_on_every_host_but_github() -> None:
    assert path_of(b"https://git.example.com", b"Acme/App") == b"Acme/App"
    assert path_of(b"https://github.com.example.com", b"Acme/App") == b"Acme/App"


@pytest.mark.parametrize(
    ("protocol", "host", "site"),
    [
        ("https", "github.com", "https://github.com"),
        ("https", "GitHub.COM", "https://github.com"),
        ("HTTPS", "github.com:443", "https://github.com"),
        ("https", "github.com:0443", "https://github.com"),
        ("https", "github.com:8443", "https://github.com:8443"),
        ("https", "github.com:80", "https://github.com:80"),
        ("http", "127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http", "127.0.0.2:8080", "http://127.0.0.2:8080"),
        ("http", "127.255.255.254", "http://127.255.255.254"),
        ("http", "localhost:80", "http://localhost"),
        ("http", "[::1]:8080", "http://[::1]:8080"),
        ("https", "[::1]", "https://[::1]"),
    ],
)
def test_spellings_of_one_host_are_one(protocol: str, host: str, site: str) -> None:
    assert site_of(protocol.encode(), host.encode()) == site.encode()


@pytest.mark.parametrize(
    ("protocol", "host"),
    [("http", "github.com"), ("http", "127.0.0.1.example.com"), ("http", "127.0.0.1@example.com"), ("ssh", "a.com"),
     ("", "github.com"), ("https", ""), ("https", ":443"), ("https", "github.com:"), ("https", "github.com:44a"),
     ("https", "a@github.com"), ("https", "github.com/acme"), ("https", "github.com\\x"), ("https", "github.com\n"),
     ("https", "github.com:٤٤٣"), ("https", "github.com:999999"), ("http", "localhost.example.com"), ("cert", "x"),
     ("http", "127.0.0.256"), ("http", "128.0.0.1"), ("http", "127.0.0"), ("http", "127.0.0.1.1"),
     ("http", "127.0.0.x"), ("http", "[::2]"), ("https", "a" * 254)],
)  # fmt: skip
def test_a_host_that_could_be_another_gets_no_token(protocol: str, host: str) -> None:
    assert site_of(protocol.encode(), host.encode()) is None


@given(st.text(), st.text(), st.text())
@example("https", "github.com", "acme/app")
def test_two_spellings_that_are_one_repository_differ_in_nothing_that_counts(
    protocol: str, host: str, path: str
) -> None:
    site = site_of(protocol.encode(errors="replace"), host.encode(errors="replace"))
    spelled = path_of(site or b"", path.encode(errors="replace"))

    if site is not None and spelled is not None:
        assert site_of(*site.split(b"://")) == site
        assert split_url(site + b"/" + spelled) == (*site.split(b"://")[:1], b"", site.split(b"://")[1], spelled)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2099-01-01T00:00:00Z", 4_070_908_800),
        ("2024-02-29T23:59:59.999Z", 1_709_251_199),
        ("2026-11-29T20:00:00+05:30", 1_795_962_600),
        ("2026-11-29t20:00:00-00:00", 1_795_982_400),
        ("1969-12-31T23:59:59z", -1),
    ],
)
def test_an_expiry_is_read_in_every_form_of_the_standard(tmp_path: Path, text: str, seconds: int) -> None:
    assert read_tokens(put(tmp_path, one(expires_at=text))).entries[0].expires == seconds


@given(st.datetimes(timezones=st.just(UTC)), st.integers(-1439, 1439))
def test_an_expiry_is_the_moment_that_the_calendar_makes_it(
    tmp_path_factory: pytest.TempPathFactory, moment: datetime, minutes: int
) -> None:
    text = moment.replace(microsecond=0)
    zone = timezone(timedelta(minutes=minutes))
    try:
        written = text.astimezone(zone).isoformat()
    except OverflowError:
        written = text.isoformat()

    found = read_tokens(put(tmp_path_factory.mktemp("t"), one(expires_at=written))).entries[0].expires

    assert found == int(text.timestamp())


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff", b'{"version": 1}', b'{"version": 2, "tokens": []}', b'{"tokens": []}',
        b'{"version": 1, "tokens": {}}', b"[" * 100_000,
    ],
    ids=lambda content: repr(content)[:60],
)  # fmt: skip
def test_a_malformed_token_file_is_refused_in_one_line_without_its_content(tmp_path: Path, content: Any) -> None:
    with pytest.raises(TokenFileError) as caught:
        read_tokens(put(tmp_path, content))

    assert "\n" not in str(caught.value)
    assert "git-tokens.json" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        {"version": 1, "tokens": [1]},
        one(url=...), one(token=...), one(token=""), one(token=None), one(token=1), one(token=TOKEN + "\nquit=1"),
        one(token=TOKEN + "\r"), one(token=TOKEN + "\0"), one(token=TOKEN + "\ud83d"), one(token=TOKEN + "\u2028"),
        one(username=""), one(username="a\nb"), one(username=1), one(url="https://github.com"),
        one(url="http://github.com/acme/app"), one(url="https://u:p@github.com/acme/app"), one(url="acme/app"),
        one(url="https://github.com/acme/app\n"), one(url="https://github.com/acme/../app"), one(url="://x"),
        one(expires_at="tomorrow"), one(expires_at=1), one(expires_at=""), one(expires_at="2026-11-29T20:00:00"),
        one(expires_at="2026-13-29T20:00:00Z"), one(expires_at="2026-11-29T20:00:00.Z"),
        one(expires_at="٢٠٢٦-11-29T20:00:00Z"), one(url=f"https://{'a' * 254}/acme/app"),
    ],
    ids=lambda content: repr(content)[:60],
)  # fmt: skip
def test_an_entry_that_can_not_be_used_is_left_out_and_told_in_one_line_without_its_content(
    tmp_path: Path, content: Any
) -> None:
    content["tokens"].append({"url": "https://github.com/acme/lib", "token": "tok-2"})

    tokens = read_tokens(put(tmp_path, content))

    assert [entry.name for entry in tokens.entries] == ["acme/lib"]
    assert "entry 1" in tokens.left_out
    assert TOKEN not in tokens.left_out
    assert "\n" not in tokens.left_out


def test_a_token_file_that_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "git-tokens.json")

    with pytest.raises(TokenFileError, match="no regular file"):
        read_tokens(bytes(tmp_path))


def test_a_token_file_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenFileError, match="over 1048576 bytes"):
        read_tokens(put(tmp_path, b" " * (1 << 20) + b"{}"))


def test_every_host_of_a_token_file_has_its_token(tmp_path: Path) -> None:
    entries = [{"url": f"https://host-{number}.example.com/a", "token": TOKEN} for number in range(2_000)]
    runtime = put(tmp_path, {"version": 1, "tokens": entries})

    answer, line = helper.reply("get", b"url=https://host-1999.example.com/a", runtime)

    assert f"password={TOKEN}\n".encode() in answer
    assert line == ""


def test_a_username_and_an_expiry_may_be_missing_and_keys_to_come_are_ignored(tmp_path: Path) -> None:
    entry = read_tokens(put(tmp_path, one(username=None, expires_at=None, scope="x"))).entries[0]

    assert (entry.username, entry.expires) == ("x-access-token", None)


@given(st.binary(max_size=300))
@example(b'{"version": 1, "tokens": [{"url": "https://github.com/acme/app", "token": "' + b"1" * 5000)
def test_any_bytes_in_the_token_file_are_tokens_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    _, line = helper.reply("get", b"url=https://github.com/acme/app", put(tmp_path_factory.mktemp("t"), content))

    assert "\n" not in line


@given(
    entries=st.lists(ENTRIES, max_size=3),
    attributes=st.lists(
        st.tuples(
            st.sampled_from(["protocol", "host", "path", "username", "url", "capability[]", "password"])
            | st.text(max_size=5),
            st.sampled_from(["https", "github.com", "acme/app", "acme/app.git", "https://github.com/acme/app", "x"])
            | st.text(max_size=12),
        ),
        max_size=6,
    ),
    operation=st.sampled_from(["get", "erase"]),
)
def test_no_attributes_and_no_token_file_make_the_helper_fall_or_say_more_than_it_may(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Any], attributes: list[tuple[str, str]], operation: str
) -> None:
    runtime = put(tmp_path_factory.mktemp("t"), {"version": 1, "tokens": entries})
    given_lines = "".join(f"{key}={value}\n" for key, value in attributes).encode(errors="surrogateescape")

    answer, line = helper.reply(operation, given_lines, runtime)

    assert TOKEN not in line
    assert "\n" not in line
    assert all(part.partition(b"=")[0] in (b"username", b"password", b"password_expiry_utc", b"quit", b"")
               for part in answer.split(b"\n"))  # fmt: skip
    assert not set(b"\r\0") & set(answer)
    if TOKEN.encode() in answer:
        asked = helper._attributes(given_lines)
        assert site_of(asked[b"protocol"], asked[b"host"]) == GITHUB
        assert asked[b"path"].lower().rstrip(b"/").removesuffix(b"/info/lfs").removesuffix(b".git") == b"acme/app"


@given(st.binary(max_size=200), st.sampled_from(["get", "erase"]))
def test_any_bytes_on_stdin_get_an_answer_without_the_token(
    tmp_path_factory: pytest.TempPathFactory, given_bytes: bytes, operation: str
) -> None:
    runtime = put(tmp_path_factory.mktemp("t"), one())

    answer, line = helper.reply(operation, given_bytes, runtime)

    assert TOKEN not in answer.decode() + line


def test_the_helper_and_the_rest_agree_on_the_run_time_folder() -> None:
    assert helper.RUNTIME_VARIABLE.decode() == places.RUNTIME_VARIABLE
    assert helper.DEFAULT_RUNTIME.decode() == places.DEFAULT_RUNTIME
