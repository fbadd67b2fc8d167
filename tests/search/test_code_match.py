"""code_match: what matches, in which languages, and what is said when nothing does."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_code.engines.ast_grep import LANGUAGES, required_words
from tests.agent_home import BIN, AgentHome
from tests.search.ordinary_user import as_an_ordinary_user

SAMPLES = {
    "bash": ("a.sh", "echo hi there\n", "echo $A there", "1: echo hi there"),
    "c": ("a.c", "int f(void) {\n  return run(1);\n}\n", "run($A)", "2: run(1)"),
    "cpp": ("a.cpp", "int f() {\n  return run(1);\n}\n", "run($A)", "2: run(1)"),
    "csharp": ("A.cs", "class A { void F() { Run(1); } }\n", "Run($A)", "1: Run(1)"),
    "css": ("a.css", "a {\n  color: red;\n}\n", "color: $C", "2: color: red;"),
    "dart": ("a.dart", "void main() { run(1); }\n", "run($A)", "1: run(1)"),
    "elixir": ("a.ex", 'IO.puts("a")\n', "IO.puts($A)", '1: IO.puts("a")'),
    "go": ("a.go", "package a\n\nfunc f() {\n\tx := load(1)\n}\n", "$X := load($A)", "4: x := load(1)"),
    "haskell": ("a.hs", 'main = putStrLn "a"\n', "putStrLn $A", '1: putStrLn "a"'),
    "hcl": ("a.tf", 'resource "a" "b" {\n  name = "x"\n}\n', "name = $A", '2: name = "x"'),
    "html": ("a.html", "<div><p>hi</p></div>\n", "<p>$A</p>", "1: <p>hi</p>"),
    "java": ("A.java", "class A { void f() { run(1); } }\n", "run($A)", "1: run(1)"),
    "javascript": ("a.jsx", "log(<b>1</b>);\n", "log($A)", "1: log(<b>1</b>)"),
    "json": ("a.json", '{"name": [1, 2]}\n', "[1, 2]", "1: [1, 2]"),
    "kotlin": ("a.kt", "fun main() { println(1) }\n", "println($A)", "1: println(1)"),
    "lua": ("a.lua", "print(1)\n", "print($A)", "1: print(1)"),
    "markdown": ("a.md", "text\n\n# Title\n", "# $A", "3: # Title"),
    "nix": ("a.nix", "{ x = f 1; }\n", "f $A", "1: f 1"),
    "php": ("a.php", "<?php foo(1);\n", "foo($A)", "1: foo(1)"),
    "python": ("a.pyi", "log(1)\n", "log($A)", "1: log(1)"),
    "ruby": ("a.rb", "puts 1\n", "puts $A", "1: puts 1"),
    "rust": ("a.rs", "fn main() { let v = a.unwrap(); }\n", "$A.unwrap()", "1: a.unwrap()"),
    "scala": ("a.scala", "object A { println(1) }\n", "println($A)", "1: println(1)"),
    "solidity": ("a.sol", "contract C { function f() public { run(1); } }\n", "run($A)", "1: run(1)"),
    "swift": ("a.swift", "print(1)\n", "print($A)", "1: print(1)"),
    "tsx": ("a.tsx", "const a = <p>{x}</p>;\n", "<p>$A</p>", "1: <p>{x}</p>"),
    "typescript": ("a.ts", "log(1 as number);\n", "log($A)", "1: log(1 as number)"),
    "yaml": ("a.yml", "name: x\n", "name: $A", "1: name: x"),
    "zig": ("a.zig", "pub fn main() void { run(1); }\n", "run($A)", "1: run(1)"),
}

PYTHON = 'import os\n\n\ndef load(path):\n    # print(no)\n    text = "print(no)"\n    print(path)\n    return text\n'


def _lines(home: AgentHome, pattern: str, **arguments: Any) -> list[str]:
    return home.call("code_match", pattern=pattern, **arguments).text.split("\n")


def test_every_language_has_a_sample() -> None:
    assert sorted(SAMPLES) == [language.name for language in LANGUAGES]


@pytest.mark.parametrize("language", SAMPLES)
def test_a_language_is_found_by_its_files_ending_by_its_name_and_by_its_short_names(
    home: AgentHome, language: str
) -> None:
    name, source, pattern, expected = SAMPLES[language]
    home.put(name, source)
    aliases = next(one.aliases for one in LANGUAGES if one.name == language)

    answers = [home.call("code_match", pattern=pattern)]
    answers += [home.call("code_match", pattern=pattern, lang=lang) for lang in [language.upper(), *aliases[:2]]]

    for answer in answers:
        assert answer.text.split("\n")[:2] == [f"{name}:{expected}", "1 match in 1 file"]
        assert answer.meta["languages"] == [language]


def test_syntax_is_matched_and_comments_and_strings_are_not(home: AgentHome) -> None:
    home.put("b.py", PYTHON)
    home.put("a.py", "print(1)\n")

    answer = home.call("code_match", pattern="print($A)")

    assert answer.text == "a.py:1: print(1)\nb.py:7: print(path)\n2 matches in 2 files"
    assert {**answer.meta, "engine_ms": 0} == {
        "matches": 2,
        "files": 2,
        "languages": ["python"],
        "truncated": False,
        "engine_ms": 0,
        "cuts": [],
    }


def test_of_a_longer_match_the_first_line_is_shown(home: AgentHome) -> None:
    home.put("a.py", PYTHON)
    home.put("b.py", "print(\r\n1)\r\n")

    assert _lines(home, "def $F($$$A): $$$B")[0] == "a.py:4: def load(path): … +4 lines"
    assert _lines(home, "print($A)")[1] == "b.py:1: print( … +1 line"


def test_a_limit_and_the_cap_leave_matches_out(home: AgentHome) -> None:
    for number in range(60):
        home.put(f"f{number:02}.py", f"print({number})\n" * 2)

    assert _lines(home, "print($A)", limit=3) == [
        "f00.py:1: print(0)",
        "f00.py:2: print(0)",
        "f01.py:1: print(1)",
        "120 matches in 60 files (117 left out)",
    ]
    small = home.call("code_match", pattern="print($A)", limit=100, limits={"result_max_bytes": 1024})
    assert len(small.text.encode()) <= 1024
    assert small.meta["truncated"] is True


def test_a_result_may_fill_its_cap(home: AgentHome) -> None:
    home.put("a.py", f"print({'1' * 40})\n" * 30)
    whole = home.call("code_match", pattern="print($A)")
    size = len(whole.text.encode())

    just = home.call("code_match", pattern="print($A)", limits={"result_max_bytes": size})
    short = home.call("code_match", pattern="print($A)", limits={"result_max_bytes": size - 1})

    assert just.text == whole.text
    assert short.text.endswith("a.py:29: print(" + "1" * 40 + ")\n30 matches in 1 file (1 left out)")


def test_the_same_files_are_seen_as_in_code_search(home: AgentHome) -> None:
    home.put(".gitignore", "build/\n!ok.txt\n")
    for name in (".hidden/a.py", "build/b.py", "c.py", ".git/d.py", ".runs/r0/e.py", "ok.txt"):
        home.put(name, "print(1)\n")

    assert _lines(home, "print($A)") == [".hidden/a.py:1: print(1)", "c.py:1: print(1)", "2 matches in 2 files"]


def test_a_repositorys_own_configuration_is_not_read(home: AgentHome) -> None:
    home.put("sgconfig.yml", "languageGlobs: {python: ['*.txt']}\ncustomLanguages: {x: {libraryPath: /nowhere}}\n")
    home.put("a.txt", "print(1)\n")

    assert _lines(home, "print($A)", lang="python")[0].startswith("no matches")


def test_a_named_file_is_parsed_as_the_language_that_is_asked_for(home: AgentHome) -> None:
    home.put("script", "print(1)\n")

    assert _lines(home, "print($A)", path="script", lang="py")[0] == "script:1: print(1)"
    assert "lang" in home.call("code_match", pattern="print($A)", path="script").message


def test_an_unknown_language_is_refused_with_the_list(home: AgentHome) -> None:
    answer = home.call("code_match", pattern="f($A)", lang="klingon")

    assert answer.code == "invalid_arguments"
    assert all(language.name in answer.problems[0]["problem"] for language in LANGUAGES)


def test_an_endless_pattern_is_refused(home: AgentHome) -> None:
    assert home.call("code_match", pattern="$" * 200_000, lang="c").code == "invalid_arguments"


def test_a_pattern_that_does_not_parse_is_said_for_each_language(home: AgentHome) -> None:
    home.put("a.py", "def f(): pass\n")
    home.put("a.ts", "function f() {}\n")

    assert _lines(home, "def (", lang="python")[-1] == "pattern does not parse as python: syntax error at def ("
    assert _lines(home, "function (", lang="ts")[-1].startswith("pattern does not parse as typescript: ")
    both = _lines(home, "a = (")
    assert [line.partition(":")[0] for line in both[1:]][-2:] == [
        "pattern does not parse as python",
        "pattern does not parse as typescript",
    ]


@pytest.mark.parametrize(
    ("name", "source", "pattern", "expected"),
    [
        ("a.rs", "fn f() {\n  if a { return }\n}\n", "return", "a.rs:2: return"),
        ("a.cs", "class A { bool F() { return a == b; } }\n", "$A == $B", "a.cs:1: a == b"),
        ("a.go", "package a\nfunc f() {\n\tg(a == b)\n}\n", "$A == $B", "a.go:3: a == b"),
        ("a.c", "int f(int a) { return a + b; }\n", "int $F($$$A) { $$$B }", "a.c:1: int f(int a) { return a + b; }"),
        ("a.json", '{"name": 1}\n', '{"name": $A}', 'a.json:1: {"name": 1}'),
    ],
)
def test_a_part_of_a_program_that_can_not_stand_alone_is_matched_where_it_stands(
    home: AgentHome, name: str, source: str, pattern: str, expected: str
) -> None:
    home.put(name, source)

    assert _lines(home, pattern)[:2] == [expected, "1 match in 1 file"]


@pytest.mark.parametrize("language", ["c", "go", "java", "ruby", "rust"])
def test_a_pattern_that_is_not_closed_is_said_not_to_parse(home: AgentHome, language: str) -> None:
    home.put(SAMPLES[language][0], SAMPLES[language][1])

    assert _lines(home, "absent($A")[-1] == f"pattern does not parse as {language}: syntax error at absent($A"


def test_what_matches_by_a_pattern_that_is_not_closed_is_doubted(home: AgentHome) -> None:
    home.put("a.rb", "foo(1)\n")

    assert _lines(home, "foo($A")[-1] == (
        "[ruby: the pattern has a syntax error at foo($A; it may match less than was meant]"
    )


@pytest.mark.parametrize(
    ("name", "source", "pattern"),
    [
        ("a.js", "class A { m() {} }\n", "m() {}"),
        ("a.ts", "class A { m(a) { b } }\n", "m($A) { $B }"),
        ("a.py", "try: a\nexcept E: b\n", "except $A: b"),
        ("a.json", '{"a": 1, "b": 2}\n', '"b": 2'),
    ],
)
def test_a_part_of_a_statement_is_matched(home: AgentHome, name: str, source: str, pattern: str) -> None:
    home.put(name, source)

    lines = _lines(home, pattern)

    assert lines[1] == "1 match in 1 file"
    assert "the pattern was read inside" in lines[2]


@pytest.mark.parametrize(
    ("name", "source", "pattern", "less"),
    [
        ("a.json", '{"b": 1, "c": 2}\n', '{"b": $A}', "it may match less than was meant"),
        ("a.json", '{"b": 1}\n', '"b": $A', "nothing is matched"),
        ("a.c", "struct s { int a; };\n", "struct s { $$$ };", "nothing is matched"),
    ],
)
def test_a_metavariable_that_the_grammar_can_not_place_is_said_to_be_that(
    home: AgentHome, name: str, source: str, pattern: str, less: str
) -> None:
    home.put(name, source)

    told = f": the pattern has a metavariable where the grammar has no place for one; {less}]"
    assert _lines(home, pattern)[-1].endswith(told)


@pytest.mark.parametrize(
    ("name", "source", "pattern"),
    [
        ("a.py", "a = 1\nb = 2\n", "a = 1\nb = 2"),
        ("a.go", "package a\nfunc f() {\n\tfoo(1)\n\tbar(2)\n\tfoo(3)\n}\n", "foo($A); bar($B)"),
    ],
)
def test_several_statements_in_one_pattern_are_said_to_be_that(
    home: AgentHome, name: str, source: str, pattern: str
) -> None:
    home.put(name, source)

    assert _lines(home, pattern)[-1].endswith(": it is more than one statement or expression; search for one at a time")


def test_a_metavariable_in_lower_case_is_pointed_out(home: AgentHome) -> None:
    home.put("a.js", "print(x)\n")
    home.put("b.php", "<?php print($path);\n")

    assert "`$Path` is no metavariable: those are in upper case, as `$PATH`" in _lines(home, "print($Path)")
    assert "`$Args` is no metavariable: those are in upper case, as `$ARGS`" in _lines(home, "print($A, $$$Args)")
    assert "`$path` is no metavariable: those are in upper case, as `$PATH`" in _lines(home, "print($path)", lang="js")
    assert _lines(home, "print($path)", lang="php")[0] == "b.php:1: print($path)"


def test_a_go_call_that_reads_as_a_type_conversion_is_found_and_that_is_said(home: AgentHome) -> None:
    home.put("a.go", 'package main\n\nfunc main() {\n\tfmt.Println("a")\n\tfmt.Println("b", 1)\n}\n')

    assert _lines(home, "fmt.Println($A)") == [
        'a.go:4: fmt.Println("a")',
        "1 match in 1 file",
        "[go: by itself the pattern is a type conversion; read as a call in a function body]",
    ]


def test_no_match_says_what_there_is_no_file_of_or_what_was_ruled_out(home: AgentHome) -> None:
    home.put("a.py", "print(1)\n")
    home.put("latin.py", b"absent('\xe9')\n")

    assert _lines(home, "print($A)", lang="ruby") == [
        "no matches for print($A) in . (0 files parsed)",
        "there is no ruby file under .",
    ]
    assert _lines(home, "absent($A)") == [
        "no matches for absent($A) in . (0 files parsed)",
        "[1 file without the word absent ruled out unparsed]",
        "[1 file skipped: not UTF-8 text]",
    ]
    assert _lines(home, "$A == $B")[0] == "no matches for $A == $B in . (1 file parsed)"


def test_why_a_file_was_not_parsed_is_told_apart(home: AgentHome) -> None:
    home.put("utf16.py", "absent(1)\n".encode("utf-16"))
    home.put("nul.py", b"# \0\nabsent(1)\n")
    home.put("other.py", "print(1)\n")

    assert _lines(home, "absent($A)") == [
        "no matches for absent($A) in . (0 files parsed)",
        "[1 file without the word absent ruled out unparsed]",
        "[1 file skipped: not UTF-8 text]",
        "[1 file skipped: binary, with a NUL byte]",
    ]


def test_no_word_is_called_missing_that_is_there(home: AgentHome) -> None:
    home.put("a.py", "first()\nsecond()\n")

    assert _lines(home, "first()\nsecond()") == [
        "no matches for 'first()\\nsecond()' in . (0 files parsed)",
        "pattern does not parse as python: it is more than one statement or expression; search for one at a time",
    ]
    assert _lines(home, "second(absent)")[1] == "[1 file without the word absent ruled out unparsed]"
    assert _lines(home, "second(no)")[1] == "[1 file ruled out unparsed: without one of the words second, no]"


def test_a_file_that_crashes_a_grammar_is_left_out_alone(home: AgentHome) -> None:
    deep = "- " * 400 + "x: y\n"
    home.put("deep.yaml", deep)
    for number in range(40):
        home.put(f"{number}.yaml", "a: b\n")

    assert _lines(home, "$A: $B")[-2:] == [
        "40 matches in 40 files (10 left out)",
        "[1 file skipped: the parser failed on it]",
    ]
    assert _lines(home, "$A: $B", path="deep.yaml")[1] == "[1 file skipped: the parser failed on it]"


def test_a_pattern_that_crashes_a_grammar_is_told_as_one_that_does_not_parse(home: AgentHome) -> None:
    home.put("a.yaml", "a: b\n")

    assert _lines(home, "- " * 400 + "x", lang="yaml")[1] == "pattern does not parse as yaml: the parser failed on it"


@pytest.mark.parametrize("path", ["closed", "closed.py"])
def test_what_can_not_be_read_is_counted_and_fails_nothing(home: AgentHome, path: str) -> None:
    home.put("closed/a.py", "print(1)\n").parent.chmod(0o000)
    home.put("closed.py", "print(1)\n", 0o000)
    request = b'{"tool": "code_match", "args": {"pattern": "print($A)", "path": "%s"}}' % path.encode()

    answer = home.run([*as_an_ordinary_user(home, "code_match"), *home.carried(request)])

    assert answer.text.startswith(f"no matches for print($A) in {path} (0 files parsed)\n")
    assert answer.text.endswith("[1 file could not be read]")
    assert "word" not in answer.text


def test_three_dollars_stand_for_anything_and_are_no_syntax_error(home: AgentHome) -> None:
    home.put("a.py", "load(1, 2)\n")
    home.put("a.go", "package a\n\nfunc f() {\n\tload(1, 2)\n}\n")

    assert _lines(home, "load($$$)") == ["a.go:4: load(1, 2)", "a.py:1: load(1, 2)", "2 matches in 2 files"]


def test_a_long_pattern_is_clipped_with_a_cut(home: AgentHome) -> None:
    home.put("a.py", "print(1)\n")

    answer = home.call("code_match", pattern="q" * 300)

    assert answer.text.count("…") == 1
    assert answer.meta["cuts"] == [answer.text.index("…"), answer.text.index("…") + 1]


def test_a_file_that_is_too_large_is_skipped_and_that_is_said(home: AgentHome) -> None:
    home.put("a.py", "print(1)\n" * 300_000)
    home.put("b.py", "print(2)\n")

    assert _lines(home, "print($A)") == ["b.py:1: print(2)", "1 match in 1 file", "[1 file skipped: over 2 MB]"]


def test_a_byte_order_mark_and_carriage_returns_disturb_nothing(home: AgentHome) -> None:
    home.put("a.py", b"\xef\xbb\xbfprint(1)\r\nx = '\f'\r\nprint(2)\r\n")

    assert _lines(home, "print($A)")[:2] == ["a.py:1: print(1)", "a.py:3: print(2)"]


def test_the_same_query_gives_the_same_bytes(home: AgentHome) -> None:
    for number in range(120):
        home.put(f"d{number % 7}/f{number}.py", "print(1)\n" * (number % 5))

    assert len({home.call("code_match", pattern="print($A)").text for _ in range(4)}) == 1


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("print($A)", ["print"]),
        ("$A == $B", []),
        ("$$$", []),
        ("foo($$$ARGS, $_, $_X, key=1)", ["foo", "key", "1"]),
        ("$name.größe", ["größe", "name"]),
        ("a$B", ["a"]),
    ],
)
def test_the_words_that_a_match_must_hold_are_those_outside_metavariables(pattern: str, words: list[str]) -> None:
    assert required_words(pattern) == words


SNIPPETS = ["a", "b", "foo", "1", '"s"', "foo(a)", "foo(a, b)", "a == b", "a.foo", "a.foo(1)", "x = foo(a)", "not a"]
PATTERNS = ["a", "foo($A)", "foo($$$)", "$A == $B", "$A.foo", "$F(1)", "$X = $Y", "not $A", '"s"', "a.foo($A)", "$A"]


@given(st.lists(st.sampled_from(SNIPPETS), max_size=12), st.sampled_from(PATTERNS))
def test_no_file_with_a_match_lacks_a_required_word(statements: list[str], pattern: str) -> None:
    from ast_grep_py import SgRoot

    source = "\n".join(statements)
    found = SgRoot(source, "python").root().find_all(pattern=pattern)

    assert not found or all(word in source for word in required_words(pattern))


@pytest.mark.skipif(not shutil.which(str(BIN / "ast-grep")), reason="the command line of ast-grep is not installed")
@pytest.mark.parametrize("pattern", ["$A.append($B)", "isinstance($A, $B)", "return $A", "$A if $B else $C"])
def test_as_much_is_found_as_by_the_command_line_of_the_engine(home: AgentHome, pattern: str) -> None:
    for module in ("argparse", "ast", "inspect", "shutil"):
        home.put(f"{module}.py", _library_source(module))

    done = subprocess.run(
        [str(BIN / "ast-grep"), "run", "--pattern", pattern, "--lang", "python", "--json=stream", "."],
        cwd=home.path,
        capture_output=True,
        check=True,
    )

    assert home.call("code_match", pattern=pattern).meta["matches"] == done.stdout.count(b"\n")


def _library_source(module: str) -> bytes:
    import argparse
    from pathlib import Path

    return Path(argparse.__file__).with_name(f"{module}.py").read_bytes()
