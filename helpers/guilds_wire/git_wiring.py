"""What the environment of a command holds for git: our credential helper before every other, and GH_TOKEN.

git reads `GIT_CONFIG_COUNT` and its pairs after every file (git-config(1), "ENVIRONMENT"), and an empty helper
resets the list (gitcredentials(7)), so no file that the agent writes puts another helper beside ours.
"""

from __future__ import annotations

import os
import sys

from guilds_wire.places import DEFAULT_RUNTIME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.git_tokens import Tokens

_GITHUB = b"https://github.com"
_HELPER = b"guilds-git-credential"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,:@")
_COUNT = b"GIT_CONFIG_COUNT"

SITES_MOST = 500
"""Each host takes some 400 bytes of the environment of every command, which is bounded (execve(2))."""


def git_environment(inherited: dict[bytes, bytes], runtime: bytes, directory: bytes) -> dict[bytes, bytes]:
    """The variables to add to what a command in `directory` inherits.

    A token file that can't be used adds none of its hosts and no GH_TOKEN; a line on stderr then says so, as it does
    of hosts past SITES_MOST.
    """
    tokens = _tokens(runtime)
    sites = list(dict.fromkeys([_GITHUB, *(tokens.sites if tokens else ())]))
    if len(sites) > SITES_MOST:
        print(f"git has tokens for {SITES_MOST} of {len(sites)} hosts: more are not wired", file=sys.stderr)
    added = _configuration(inherited, sites[:SITES_MOST], _helper(runtime))
    if tokens and (token := _token_of(tokens, directory)):
        added[b"GH_TOKEN"] = token
    return added


def _configuration(inherited: dict[bytes, bytes], sites: list[bytes], helper: bytes) -> dict[bytes, bytes]:
    """The wiring, numbered on after the pairs that are there."""
    first = _count(inherited.get(_COUNT, b""))
    pairs = [
        pair
        for site in sites
        for pair in (
            (b"credential." + site + b".helper", b""),
            (b"credential." + site + b".helper", helper),
            (b"credential." + site + b".useHttpPath", b"true"),
        )
    ]
    added = {_COUNT: b"%d" % (first + len(pairs))}
    for number, (key, value) in enumerate(pairs, first):
        added[b"GIT_CONFIG_KEY_%d" % number] = key
        added[b"GIT_CONFIG_VALUE_%d" % number] = value
    return added


def _count(text: bytes) -> int:
    """The number of pairs as git reads it, by strtoul(3); 0 for what git refuses."""
    digits = text.lstrip(b" \t\n\v\f\r").removeprefix(b"+").lstrip(b"0")
    return int(digits) if digits.isdigit() and len(digits) < 10 else 0


def _helper(runtime: bytes) -> bytes:
    """The helper's command line, which git gives to a shell. It lies beside the interpreter that runs us."""
    program = _quoted(os.path.join(os.path.dirname(os.fsencode(sys.executable)), _HELPER))
    if runtime == DEFAULT_RUNTIME.encode():
        return program
    return program + b" --runtime-dir " + _quoted(runtime)


def _quoted(path: bytes) -> bytes:
    """An absolute path for a shell. Its slash stays outside of the quotes: git knows a path by that."""
    if _PLAIN.issuperset(path):
        return path
    return b"/'" + path[1:].replace(b"'", b"'\\''") + b"'"


def _tokens(runtime: bytes) -> Tokens | None:
    """The token file; None without one. Reading it costs an import that a sandbox without tokens is spared."""
    if not os.path.lexists(os.path.join(runtime, b"git-tokens.json")):
        return None
    from guilds_wire.git_tokens import TokenFileError, read_tokens

    try:
        tokens = read_tokens(runtime)
    except TokenFileError as problem:
        print(f"git has no tokens: {problem}", file=sys.stderr)
        return None
    if tokens.left_out:
        print(tokens.left_out, file=sys.stderr)
    return tokens


def _token_of(tokens: Tokens, directory: bytes) -> bytes | None:
    """The token for the origin of the repository that holds the directory."""
    from guilds_wire.git_repository import origin_url
    from guilds_wire.git_tokens import path_of

    url = origin_url(directory)
    site, path = _remote(url) if url else (None, b"")
    if site is None:
        return None
    entries = tokens.of(site, path_of(site, path))
    return next((entry.token.encode() for entry in entries if tokens.is_usable(entry)), None)


def _remote(url: bytes) -> tuple[bytes | None, bytes]:
    """The site and path of a remote in one of the forms of git-fetch(1), "GIT URLS".

    Over ssh it is the same repository as over https; the port is then ssh's own and says nothing.
    """
    from guilds_wire.git_tokens import site_of, split_url

    try:
        protocol, _, host, path = split_url(url)
    except ValueError:
        host, colon, path = url.partition(b":")
        if not colon or b"/" in host:  # a path on this machine
            return None, b""
        return site_of(b"https", host.rpartition(b"@")[2]), path.removeprefix(b"/")
    if protocol.lower() == b"ssh":
        return site_of(b"https", host.partition(b":")[0]), path
    return site_of(protocol, host), path
