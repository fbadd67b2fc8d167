"""Words: how names, paths, comments and questions are split and folded, so that they meet in `code_find`.

The same folding serves the index and the question. Nothing here knows files or a store.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_code.engines.graph.facts import Facts

WORD_MAX_CHARACTERS = 40
BODY_WORDS_MAX = 400
"""Distinct words kept of one symbol's body."""
OTHER_BODY_WORDS_MAX = 60
"""The same for tests, examples and vendored code, which are many and rank lower."""
COMMON = frozenset(
    ("a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "code", "could", "did", "do",
     "does", "file", "for", "from", "function", "get", "gets", "has", "have", "how", "i", "if", "in", "into",
     "is", "it", "its", "me", "method", "of", "on", "one", "or", "our", "should", "so", "than", "that", "the",
     "their", "them", "then", "there", "these", "they", "this", "to", "use", "used", "uses", "using", "via",
     "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your")
)  # fmt: skip
"""Words of a question that say nothing about what is looked for."""

KNOWN_MAX = 200_000
"""Identifiers whose folding is kept; they repeat, but a worker's memory is bounded."""

_folded: dict[str, str] = {}
_of_bytes: dict[bytes, tuple[str, ...]] = {}


def fold(identifier: str) -> str:
    """The words of an identifier, lower case, endings folded, with blanks between them."""
    found = _folded.get(identifier)
    if found is None:
        if len(_folded) > KNOWN_MAX:
            _folded.clear()
        found = _folded[identifier] = " ".join(stem(word) for word in split(identifier))
    return found


def split(text: str) -> list[str]:
    """The words of a text or an identifier: apart at anything that is no letter or digit, and at case."""
    words: list[str] = []
    for piece in text.translate(_APART).split():
        if piece.isalpha() and (piece.islower() or piece[1:].islower()):
            words.append(piece.lower()[:WORD_MAX_CHARACTERS])
        else:
            words += _split_at_case(piece)
    return words


_APART = {code: " " for code in range(128) if not chr(code).isalnum()}


def _split_at_case(text: str) -> list[str]:
    words: list[str] = []
    start = 0
    before = ""
    length = len(text)
    for position, character in enumerate(text):
        if not character.isalnum():
            if start < position:
                words.append(text[start:position].lower())
            start, before = position + 1, ""
            continue
        if position - start > 1 and _is_plural(text, position - 1) and text[start:position].isupper():
            words.append(text[start:position].lower())
            start, before = position + 1, ""
            continue
        if before and (
            (character.isupper() and not before.isupper())
            or (character.isupper() and text[position + 1 : position + 2].islower() and not _is_plural(text, position))
            or (character.isdigit() != before.isdigit() and position - start > 1)
        ):
            if start < position:
                words.append(text[start:position].lower())
            start = position
        before = character
    if start < length:
        words.append(text[start:].lower())
    return [word[:WORD_MAX_CHARACTERS] for word in words if word]


def _is_plural(text: str, position: int) -> bool:
    """Whether an `s` alone follows a letter: `URLs`, but not `HTTPStatus`."""
    return text[position + 1] == "s" and not text[position + 2 : position + 3].islower()


def stem(word: str) -> str:
    """A word without plural and common endings. Crude on purpose: it has to be the same on both sides only."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        word = _undoubled(word[:-3])
    elif len(word) > 4 and word.endswith("ed"):
        word = _undoubled(word[:-2])
    elif len(word) > 6 and word.endswith(("tion", "sion")):
        word = word[:-3]
    elif len(word) > 5 and word.endswith(("er", "or")):
        word = _undoubled(word[:-2])
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return word


def _undoubled(word: str) -> str:
    """`running` → `run`."""
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


def documents(source: bytes, facts: Facts, path: str, body_words: int) -> list[tuple[str, str, str, str]]:
    """(name, path, doc, body) words of the file and of each definition; a body leaves out what is nested in it."""
    from re import findall

    lines = source.split(b"\n")
    owner = [0] * (len(lines) + 1)
    for number, definition in enumerate(facts.defs, 1):
        start, end = definition[3] - 1, min(definition[4], len(lines))
        owner[start:end] = [number] * (end - start)
    owner[-1] = -1
    bodies: list[set[bytes]] = [set() for _ in range(len(facts.defs) + 1)]
    start, current = 0, owner[0]
    for position, number in enumerate(owner):
        if number != current:
            bodies[current].update(findall(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*", b"\n".join(lines[start:position])))
            start, current = position, number
    where = " ".join(dict.fromkeys(fold(path.rpartition(".")[0]).split()))
    name = path.rpartition("/")[2]
    found = [(_name_words(name.partition(".")[0]), where, "", _body_words(bodies[0], body_words))]
    for number, definition in enumerate(facts.defs, 1):
        doc = " ".join(map(fold, definition[7].split()))
        found.append((_name_words(definition[1]), where, doc, _body_words(bodies[number], body_words)))
    return found


def _name_words(name: str) -> str:
    return f"{name.lower()} {fold(name)}"


def _body_words(identifiers: set[bytes], most: int) -> str:
    """The first words in alphabetical order, so that the same body always gives the same."""
    words: set[str] = set()
    for identifier in identifiers:
        words.update(_of_bytes.get(identifier) or _folded_bytes(identifier))
    return " ".join(sorted(words)[:most])


def _folded_bytes(identifier: bytes) -> tuple[str, ...]:
    if len(_of_bytes) > KNOWN_MAX:
        _of_bytes.clear()
    found = _of_bytes[identifier] = tuple(fold(identifier.decode("utf-8", "replace")).split(" "))
    return found
