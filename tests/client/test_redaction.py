"""No value of a run's secrets reaches the model, however it is spelled and wherever it is cut."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_client.redaction import Redactor

# Secrets are of characters that the text around them and the markers do not have: what is left of one is seen.
VALUES = st.text(st.sampled_from("ABCXYZ0189+/=_~!'\"\\\n\t& %éß漢🔑"), min_size=4, max_size=40).filter(str.strip)
FILLER = st.text(st.sampled_from("abc xyz.,;\n"), max_size=30)
MARKER = "[… n bytes left out …]"


def in_base64(value: str, before: int) -> str:
    return base64.b64encode(b"." * before + value.encode() + b"..").decode()


SPELLED: list[Callable[[str], str]] = [
    lambda value: value,
    lambda value: json.dumps(value)[1:-1],
    lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    lambda value: quote(value, safe=""),
    quote,
    quote_plus,
]
SPELLINGS = st.sampled_from(SPELLED)


IN_JSON: list[Callable[[str], str]] = [
    lambda character: json.dumps(character)[1:-1],
    lambda character: "".join(f"\\u{unit:04x}" for unit in utf_16(character)),
    lambda character: "".join(f"\\u{unit:04X}" for unit in utf_16(character)),
]
IN_URL: list[Callable[[str], str]] = [
    lambda character: quote(character, safe="!'*/+=~_&"),
    lambda character: "".join(f"%{byte:02x}" for byte in character.encode()),
    lambda character: "".join(f"%{byte:02X}" for byte in character.encode()),
]


def utf_16(character: str) -> list[int]:
    encoded = character.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]


def uncovered(values: list[str], text: str) -> str:
    """What is left of a text without all the places where one of the values stands."""
    covered: set[int] = set()
    for value in values:
        starts = [at for at in range(len(text)) if text.startswith(value, at)]
        covered.update(at + offset for at in starts for offset in range(len(value)))
    return "".join(character for at, character in enumerate(text) if at not in covered)


def survivors(value: str, text: str) -> list[str]:
    """The runs of 6 characters of a value (the whole of a shorter one) that a text holds."""
    width = min(6, len(value))
    return [run for at in range(len(value) - width + 1) if (run := value[at : at + width]) in text]


@given(st.lists(VALUES, min_size=1, max_size=6), st.data())
def test_nothing_of_a_secret_survives_in_any_spelling(values: list[str], data: st.DataObject) -> None:
    secrets = {f"s{number}": value for number, value in enumerate(values)}
    parts = st.tuples(FILLER, st.sampled_from(values), SPELLINGS)
    spelled = [(filler, spell(value)) for filler, value, spell in data.draw(st.lists(parts, min_size=1, max_size=6))]
    text = "".join(filler + shown for filler, shown in spelled)

    redacted = Redactor(secrets).redact(text)

    assert [shown for _, shown in spelled if shown in redacted] == []
    assert [value for value in values if survivors(value, redacted)] == []


@given(VALUES, st.integers(0, 2), FILLER)
def test_base64_is_found_at_each_of_its_three_alignments(value: str, before: int, filler: str) -> None:
    encoded = in_base64(value, before)

    redacted = Redactor({"KEY": value}).redact(f"{filler} {encoded} {filler}")

    assert "[redacted:KEY]" in redacted
    assert len(redacted) <= len(f"{filler}  {filler}[redacted:KEY]") + 10


@given(VALUES, st.integers(1, 30), VALUES)
def test_values_that_overlap_are_covered_to_the_last_character(value: str, overlap: int, more: str) -> None:
    other = value[-overlap:] + more

    redacted = Redactor({"one": value, "other": other}).redact(f"a{value}{more}b")

    assert survivors(value, redacted) + survivors(other, redacted) == []


@given(VALUES, FILLER, FILLER, SPELLINGS, st.data())
def test_the_pieces_beside_a_cut_are_covered(
    value: str, before: str, after: str, spell: Callable[[str], str], data: st.DataObject
) -> None:
    whole = before + spell(value) + after
    first = data.draw(st.integers(0, len(whole)))
    last = data.draw(st.integers(first, len(whole)))
    text = whole[:first] + MARKER + whole[last:]

    redacted = Redactor({"KEY": value}).redact(text, [first, first + len(MARKER)])

    assert survivors(value, redacted) == []
    assert MARKER in redacted


@given(VALUES, st.data())
def test_a_piece_between_two_cuts_is_covered(value: str, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(value)))
    last = data.draw(st.integers(first, len(value)))
    text = MARKER + value[first:last] + MARKER
    cuts = [0, len(MARKER), len(text) - len(MARKER), len(text)]

    redacted = Redactor({"KEY": value}).redact(text, cuts)

    assert survivors(value, redacted) == []


@given(FILLER, st.lists(VALUES, max_size=3))
def test_text_without_a_secret_stays_as_it_is(text: str, values: list[str]) -> None:
    redactor = Redactor({f"s{number}": value + "0" for number, value in enumerate(values)})

    assert redactor.redact(text, [0, len(text)]) == text


@given(VALUES, FILLER, FILLER, st.randoms(use_true_random=False))
def test_a_value_is_found_whichever_of_its_characters_are_escaped(
    value: str, before: str, after: str, chance: random.Random
) -> None:
    in_json = "".join(chance.choice(IN_JSON)(character) for character in value)
    in_url = "".join(chance.choice(IN_URL)(character) for character in value)
    redactor = Redactor({"KEY": value})

    assert redactor.redact(f"{before}{in_json}\\u0041{after}") == f"{before}[redacted:KEY]\\u0041{after}"
    assert redactor.redact(f"{before}{in_url}%41{after}") == f"{before}[redacted:KEY]%41{after}"


@given(VALUES, FILLER, st.integers(1, 3))
def test_a_value_is_found_in_json_that_stands_in_strings_of_json(value: str, filler: str, depth: int) -> None:
    value = f"K!{value}"  # no run of hexadecimal digits, as escapes have them
    text = f"{filler}{value}\x00é"
    for _ in range(depth + 1):
        text = json.dumps({"k": text})

    redacted = Redactor({"KEY": value}).redact(text)
    for _ in range(depth + 1):
        redacted = json.loads(redacted)["k"]

    assert redacted == f"{filler}[redacted:KEY]\x00é"


@pytest.mark.parametrize("width", [48, 64, 76])
@pytest.mark.parametrize(
    "line_end", ["\n", "\r\n", " \n", "\n  ", "\n12\t", "\n> ", "\n# ", "\\n", "\\r\\n", '",\n  "', "'\n'", " \\\n"]
)
@pytest.mark.parametrize("before", [0, 1, 50, 100])
def test_base64_in_lines_is_found(width: int, line_end: str, before: int) -> None:
    value = "-a-long.secret-" * 6
    encoded = base64.b64encode(b"." * before + value.encode() + b"." * 40).decode()
    lines = line_end.join(encoded[at : at + width] for at in range(0, len(encoded), width))

    redacted = Redactor({"KEY": value}).redact(f"key:\n{lines}\nend\n")

    assert redacted.count("[redacted:KEY]") == 1
    assert redacted.startswith("key:\n" + lines[:before])
    assert redacted.endswith("\nend\n")
    assert len(redacted) <= len(f"key:\n{lines}\nend\n[redacted:KEY]") - len(value) * 4 // 3 + 4


def test_a_piece_beside_a_cut_is_found_in_escaped_text() -> None:
    text = "x \\u0041BCD\\u0045FGH[cut]IJKLMN\\u004f y"

    redacted = Redactor({"K": "ABCDEFGHIJKLMNO"}).redact(text, [text.index("["), text.index("]") + 1])

    assert redacted == "x [redacted:K][cut][redacted:K] y"


def test_a_piece_beside_a_cut_is_found_between_escape_sequences() -> None:
    text = "\x1b[1mABCD\x1b[0mEFGH[cut]IJKLMN\x1b[1mO y"

    redacted = Redactor({"K": "ABCDEFGHIJKLMNO"}).redact(text, [text.index("[cut"), text.index("]") + 1])

    assert redacted == "[redacted:K][cut][redacted:K] y"


@given(st.lists(st.text("ab", min_size=4, max_size=30), min_size=1, max_size=30), st.text("ab", max_size=200))
def test_exactly_the_values_go_from_a_text_that_resembles_them_all(values: list[str], text: str) -> None:
    redacted = Redactor({f"S{number}": value for number, value in enumerate(values)}).redact(text)

    assert re.sub(r"\[redacted:S\d+\]", "", redacted) == uncovered(values, text)


@pytest.mark.parametrize("following", ["", "!", "~"])
def test_of_values_that_begin_alike_the_longest_that_is_there_goes(following: str) -> None:
    long = "abcdefghij" * 6
    secrets = {f"S{length}": long[:length] for length in range(19, 60)}

    assert Redactor(secrets).redact(long[:40] + following) == f"[redacted:S40]{following}"


def test_many_values_of_one_repeated_character_are_found_in_a_long_run_of_it() -> None:
    secrets = {f"S{number}": "a" * (number + 4) + "b" for number in range(200)}

    redacted = Redactor(secrets).redact("a" * 200_000 + "b")

    assert redacted == "a" * (200_000 - 203) + "[redacted:S199]"


def test_the_longest_of_nested_values_gives_the_name() -> None:
    redactor = Redactor({"INNER": "password", "OUTER": "my-password-2"})

    assert redactor.redact("my-password-2 password") == "[redacted:OUTER] [redacted:INNER]"


def test_a_marker_is_not_searched_again() -> None:
    redactor = Redactor({"A": "redacted", "redacted": "another-value"})

    assert redactor.redact("another-value") == "[redacted:redacted]"


def test_a_value_of_over_four_characters_at_the_very_ends_is_found() -> None:
    assert Redactor({"K": "abcde"}).redact("abcde abcde") == "[redacted:K] [redacted:K]"


def test_a_long_line_of_a_value_of_several_lines_is_a_secret_by_itself() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEA\n-----END KEY-----"

    redacted = Redactor({"PEM": key}).redact("1\tx\n2\tMIIEvQIBADANBgkqhkiG9w0B\n3\tAQEFAASCBKcwggSjAgEA\n")

    assert redacted == "1\tx\n2\t[redacted:PEM]\n3\t[redacted:PEM]\n"


def test_a_value_is_found_without_the_white_space_around_it() -> None:
    assert Redactor({"K": "from-a-file\n"}).redact("<from-a-file>") == "<[redacted:K]>"


def test_every_string_of_a_json_value_is_redacted_keys_too() -> None:
    recorded = {"path": "/home/hunter22/x", "hunter22": [1, {"a": "hunter22"}, None, True]}

    redacted = Redactor({"K": "hunter22"}).redact_all(recorded)

    assert redacted == {"path": "/home/[redacted:K]/x", "[redacted:K]": [1, {"a": "[redacted:K]"}, None, True]}


def test_what_an_ellipsis_split_in_recorded_text_is_covered() -> None:
    assert Redactor({"K": "hunter22-hunter23"}).redact_all("no file hunter22-h…") == "no file [redacted:K]…"


def test_a_value_of_under_four_characters_is_refused_by_its_name_alone() -> None:
    with pytest.raises(ValueError, match="the secret PIN has 3 characters") as refused:
        Redactor({"PIN": "735"})

    assert "735" not in str(refused.value)


def test_secrets_in_ten_megabytes_are_all_found() -> None:
    secrets = {f"S{number}": f"{number:04}" + "k3yQ" * 9 for number in range(200)}
    text = " lorem ipsum dolor sit amet".join(secrets.values()) * 900

    redacted = Redactor(secrets).redact(text)

    assert "k3yQ" not in redacted
    assert redacted.count("[redacted:") == 200 * 900
