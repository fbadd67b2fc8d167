"""A page's text as it may stand in an answer: one line, clipped, nothing in it that could steer a reader's screen."""

from __future__ import annotations

import re

from guilds_wire.errors import clip

NAME_MOST_CHARACTERS = 120
URL_MOST_CHARACTERS = 300

# Control characters, line and paragraph separators, zero-width and direction-turning characters (UAX #9).
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")


def shown(text: str, most: int = NAME_MOST_CHARACTERS) -> str:
    """The text on one line, with at most this many characters."""
    return clip(" ".join(_UNSEEN.sub(" ", text).split()), most)


def shown_url(url: str) -> str:
    """A URL, clipped."""
    return shown(url, URL_MOST_CHARACTERS)
