"""Spellings: the byte strings in which a secret value may show in a result.

Those of the usual encoders, which a cut may split; `decoded` finds what others escape.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from guilds_wire.output import clean

LINE_LEAST_CHARACTERS = 16
"""A line of a value of several lines is a secret by itself from this length: a numbered file shows it alone."""

LEAST_BYTES = 4

_ENCODE_URI_COMPONENT_SAFE = "!'()*~"  # what JavaScript's encodeURIComponent leaves as it is


def spellings(value: str) -> set[bytes]:
    """The value as it is, in JSON strings, in URLs and in base64; also what is left of it by trimming or cleaning."""
    found = {spelled for plain in _plain(value) for spelled in _encoded(plain)}
    return {spelled for spelled in found if len(spelled) >= LEAST_BYTES}


def _plain(value: str) -> Iterator[str]:
    yield value
    yield value.strip()
    yield clean(value.encode())  # as a terminal shows it, when it holds control characters
    yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= LINE_LEAST_CHARACTERS)


def _encoded(value: str) -> Iterator[bytes]:
    raw = value.encode()
    yield raw
    yield from (text.encode() for text in _in_json(value))
    yield from (text.encode() for text in _in_urls(raw))
    for before in range(3):
        yield from _in_base64(raw, before)


def _in_json(value: str) -> Iterator[str]:
    for is_ascii in (True, False):
        text = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        yield text
        yield text.replace("/", "\\/")
    yield "".join(_upper_escape(character) for character in value)


def _upper_escape(character: str) -> str:
    escaped = json.dumps(character)[1:-1]
    return escaped.upper().replace("\\U", "\\u") if escaped.startswith("\\u") else escaped


def _in_urls(raw: bytes) -> Iterator[str]:
    for text in (quote(raw, safe=""), quote(raw), quote_plus(raw), quote(raw, safe=_ENCODE_URI_COMPONENT_SAFE)):
        yield text
        yield _lower_escapes(text)
    yield raw.decode().replace(" ", "+")  # what is left of a form's encoding once its escapes are undone


def _lower_escapes(text: str) -> str:
    first, *others = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in others)])


def _in_base64(raw: bytes, before: int) -> Iterator[bytes]:
    """The characters that the value alone settles when `before` (0 to 2) bytes of others precede it in a group."""
    encoded = base64.b64encode(bytes(before) + raw)
    first, end = -(-8 * before // 6), 8 * (before + len(raw)) // 6
    yield encoded[first:end]
    yield base64.urlsafe_b64encode(bytes(before) + raw)[first:end]
