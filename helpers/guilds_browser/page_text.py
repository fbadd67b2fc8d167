"""A page's text as it may stand in an answer: one line, clipped, nothing in it that could steer a reader's screen."""

from __future__ import annotations

import re

from guilds_wire.errors import clip

NAME_MOST_CHARACTERS = 120
URL_MOST_CHARACTERS = 300

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
# Zero-width and direction-turning characters (UAX #9), and halves of pairs, which can't be encoded.
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


def shown(text: str, most: int = NAME_MOST_CHARACTERS) -> str:
    """The text on one line, with at most this many characters."""
    return clip(" ".join(_UNSEEN.sub("", _CONTROL.sub(" ", text)).split()), most)


def shown_url(url: str) -> str:
    """A URL, clipped."""
    return shown(url, URL_MOST_CHARACTERS)
