"""Git tokens: keeps the sandbox's token file fresh. Which token git then gets is the credential helper's affair."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson

from guilds_client.errors import said
from guilds_client.redaction import Redactor
from guilds_client.sandbox import Sandbox

TOKEN_FILE = "git-tokens.json"
TOKEN_FILE_MODE = 0o600
RENEWED_BEFORE_EXPIRY = timedelta(minutes=10)
USERNAME = "x-access-token"  # what GitHub expects beside an installation's token

logger = logging.getLogger("guilds")


@dataclass(frozen=True, slots=True)
class Token:
    """The token of one repository, by its https address. `expires_at` has a time zone; None: it does not expire."""

    url: str
    token: str = field(repr=False)
    username: str = USERNAME
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.expires_at is not None and self.expires_at.tzinfo is None:
            raise ValueError(f"the token of {self.url} expires at {self.expires_at}, which has no time zone")


TokenSource = Callable[[str], Token | Awaitable[Token]]
"""Gives a fresh token for a repository's address."""


class TokenFile:
    """The token file of one run's sandbox. Every token that was in it stays among the run's secrets."""

    def __init__(
        self, sandbox: Sandbox, tokens: Iterable[Token], source: TokenSource | None, redactor: Redactor
    ) -> None:
        self._sandbox = sandbox
        self._tokens = {token.url: token for token in tokens}
        self._source = source
        self._redactor = redactor
        self._is_written = not self._tokens
        self._lock = asyncio.Lock()
        redactor.add({_secret_name(token): token.token for token in self._tokens.values()})

    async def refresh(self) -> list[str]:
        """Replace the tokens that expire within ten minutes, and write the file if it is not as it should be.

        A token that can't be renewed stays, and the log says why; returned are the addresses of these.
        Raises SandboxError when the file can't be written.
        """
        async with self._lock:
            due = [url for url, token in self._tokens.items() if _is_due(token)]
            are_fresh = await asyncio.gather(*(self._renew(url) for url in due))
            if not self._is_written:
                path = f"{self._sandbox.runtime_dir}/{TOKEN_FILE}"
                await self._sandbox.write_file(path, _content(self._tokens.values()), TOKEN_FILE_MODE)
                self._is_written = True
        return [url for url, is_fresh in zip(due, are_fresh, strict=True) if not is_fresh]

    async def _renew(self, url: str) -> bool:
        if self._source is None:
            return False
        try:
            fresh = self._source(url)
            if inspect.isawaitable(fresh):
                fresh = await fresh
            _check(fresh, url)
            self._redactor.add({_secret_name(fresh): fresh.token})
        except Exception as problem:  # the host's own source; the call goes on with the token that there is
            logger.error("no fresh token for %s: %s", url, self._redactor.redact_all(said(problem)))
            return False
        self._tokens[url] = fresh
        self._is_written = False
        return True


def _check(fresh: object, url: str) -> None:
    """Refuse what is no token of this repository. Raises TypeError and ValueError."""
    if not isinstance(fresh, Token):
        raise TypeError(f"the source returned {type(fresh).__name__}, not a Token")
    if fresh.url != url:
        raise ValueError(f"the source returned a token of {fresh.url}")
    if fresh.expires_at is not None and fresh.expires_at <= datetime.now(UTC):
        raise ValueError("the source returned a token that has expired")
    _content([fresh])  # fails for what the file can't hold


def _secret_name(token: Token) -> str:
    return f"token of {token.url}"


def _is_due(token: Token) -> bool:
    return token.expires_at is not None and token.expires_at - datetime.now(UTC) <= RENEWED_BEFORE_EXPIRY


def _content(tokens: Iterable[Token]) -> bytes:
    """The token file's JSON."""
    entries = []
    for token in tokens:
        entry = {"url": token.url, "token": token.token, "username": token.username}
        if token.expires_at is not None:
            entry["expires_at"] = token.expires_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        entries.append(entry)
    return orjson.dumps({"version": 1, "tokens": entries})
