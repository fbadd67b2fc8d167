"""Why a string was not found in a file: the nearest place, and how it differs."""

from __future__ import annotations

import difflib
import heapq
import re
import unicodedata

from guilds_wire.errors import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LINES_MOST = 400_000
"""A longer file is not searched for a near match: that would take more than a few seconds."""

CANDIDATES_MOST = 40
"""Comparing by likeness is slow (up to 10 ms a place): only the places with the most words in common are compared."""

SIMILAR_ENOUGH = 0.6

_LINE_NUMBER = re.compile(r"^\s*\d+\t", re.M)
_LOOK_ALIKES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys(
            "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u202f\u205f\u3000", " "
        ),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", None),
        "\u2026": "...",
        # Letters of Cyrillic and Greek that look like Latin ones.
        **dict(zip("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501", "aeopcyxijsd", strict=True)),
        **dict(
            zip(
                "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405",
                "ABEKMHOPCTXIJS",
                strict=True,
            )
        ),
        **dict(
            zip(
                "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd",
                "ABEZHIKMNOPTYXov",
                strict=True,
            )
        ),
    }
)


def no_match(shown: str, content: bytes, old: str) -> ToolError:
    """The `no_match` error for `old` in a file, with the nearest place when there is one."""
    lines = content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    wanted = old.replace("\r\n", "\n")
    if "\r\n" in old and wanted.encode() in content:
        hint = "It has CRLF line ends where the file has LF; send it with LF."
    else:
        hint = _hint(lines, wanted) if len(lines) <= LINES_MOST else ""
    return ToolError(
        "no_match",
        f"{shown} does not hold `old_string`; nothing was changed. {hint or 'Read it and copy the text exactly.'}",
    )


def _hint(lines: list[str], wanted: str) -> str:
    without_numbers = _LINE_NUMBER.sub("", wanted)
    if without_numbers != wanted and (place := _find(lines, without_numbers, lambda text: text)):
        return f"It carries file_read's line numbers; without them it stands at {_lines(place)}."
    for how, fold in _FOLDS:
        if place := _find(lines, wanted, fold):
            return f"It nearly stands at {_lines(place)}: {how}. Copy the text from file_read exactly."
    return _similar(lines, wanted)


def _fold_indentation(text: str) -> str:
    return "\n".join(line.lstrip() for line in text.split("\n"))


def _fold_trailing(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip()


def _fold_white_space(text: str) -> str:
    return "\n".join("".join(line.split()) for line in text.split("\n")).strip("\n")


def _fold_quotes(text: str) -> str:
    return text.replace('"', "'")


def _fold_normal_form(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _fold_look_alikes(text: str) -> str:
    return unicodedata.normalize("NFKC", text.translate(_LOOK_ALIKES))


_FOLDS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("the white space at line ends differs", _fold_trailing),
    ("the indentation (white space at line starts) differs", _fold_indentation),
    ("the white space differs", _fold_white_space),
    ("the quotes differ", _fold_quotes),
    ("the same characters are in another Unicode normal form", _fold_normal_form),
    ("a character only looks alike (quotes, dashes, spaces)", _fold_look_alikes),
    (
        "look-alike characters, quotes and white space differ",
        lambda t: _fold_white_space(_fold_quotes(_fold_look_alikes(t))),
    ),
    ("upper and lower case differ", str.casefold),
)


def _find(lines: list[str], wanted: str, fold: Callable[[str], str]) -> tuple[int, int] | None:
    """The first and last line (from 1) where the text stands when both are folded line by line."""
    folded = fold(wanted)
    if not folded.strip():
        return None
    whole = [fold(line) for line in lines]
    text = "\n".join(whole)
    at = text.find(folded)
    if at < 0:
        return None
    first = text.count("\n", 0, at) + 1
    return first, first + folded.count("\n")


def _similar(lines: list[str], wanted: str) -> str:
    """The run of lines most like the wanted one, if any is like enough."""
    wanted_lines = wanted.strip("\n").split("\n")
    words = set(re.findall(r"\w+", wanted_lines[0][:500]))
    common = [(sum(word in line for word in words), -number) for number, line in enumerate(lines)]
    best, best_ratio = 0, 0.0
    for count, place in heapq.nlargest(CANDIDATES_MOST, common):
        block = "\n".join(lines[-place : -place + len(wanted_lines)])[:2000]
        ratio = difflib.SequenceMatcher(None, block, wanted[:2000]).ratio() if count else 0.0
        if ratio > best_ratio:
            best, best_ratio = -place, ratio
    if best_ratio < SIMILAR_ENOUGH:
        return ""
    return (
        f"The nearest text stands at {_lines((best + 1, best + len(wanted_lines)))}; its words differ. Read it again."
    )


def _lines(place: tuple[int, int]) -> str:
    first, last = place
    return f"line {first}" if first == last else f"lines {first}–{last}"
