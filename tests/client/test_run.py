"""What a run offers, and the one path of every call and its result."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guilds_client import (
    Agent,
    Registry,
    Run,
    SandboxError,
    Script,
    Tool,
    ToolContext,
    ToolFailedError,
    never_on_schedule_runs,
    only_on_direct_runs,
    open_sandbox,
)
from guilds_wire.envelope import Result
from guilds_wire.tools import all_tools, tools_of
from tests.client.asynchronous import asynchronous
from tests.client.fakes import ExecSandbox, envelope, refusal

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
LOW = "Write durable findings and finish with text. A batch costs one call each."
HALF_A_PAIR = chr(0xD800)
DONE = envelope("done")


def a_run(answer: bytes = DONE, **options: Any) -> Run:
    return Run(ExecSandbox(lambda _: answer), agent=Agent("a1", coding=True, browser=True), **options)


def requests_of(run: Run) -> list[dict[str, Any]]:
    assert isinstance(run.sandbox, ExecSandbox)
    return run.sandbox.requests


def echoing(**options: Any) -> Registry:
    """A registry with a tool that returns its text."""
    registry = Registry()

    @registry.tool(parameters=TEXT, **options)
    def echo(_context: ToolContext, text: str) -> str:
        """Return the text."""
        return text

    return registry


def hanging() -> Registry:
    """A registry with a tool that does not return by itself."""
    registry = Registry()

    @registry.tool(parameters=NOTHING)
    async def hang(_context: ToolContext) -> str:
        await asyncio.sleep(60)
        return ""

    return registry


class SpeechlessError(Exception):
    """An exception whose own words fail."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def names(run: Run) -> list[str]:
    return [tool.name for tool in run.offered()]


# what is offered


@pytest.mark.parametrize(
    ("agent", "helpers"),
    [
        (Agent("a"), ["guilds-script-run"]),
        (Agent("a", scripting=False), []),
        (Agent("a", coding=True), ["guilds-code", "guilds-script-run"]),
        (Agent("a", browser=True), ["guilds-browser", "guilds-script-run"]),
    ],
)
def test_the_agents_flags_say_which_tools_are_offered(agent: Agent, helpers: list[str]) -> None:
    run = Run(ExecSandbox(lambda _: b""), agent=agent)

    assert names(run) == [name for helper in helpers for name in tools_of(helper)]


def test_a_flag_that_is_turned_off_counts_from_the_next_offer() -> None:
    run = a_run()
    before = names(run)

    run.agent.browser = False

    assert "browser_click" in before
    assert "browser_click" not in names(run)


def test_the_schemas_of_the_offer_are_lowered() -> None:
    shell = a_run().offered()[0]

    assert "additionalProperties" not in shell.parameters
    assert "additionalProperties" in all_tools()["shell"].parameters


@pytest.mark.parametrize(("kind", "offered"), [("direct", ["echo", "ask"]), ("group", ["echo"]), ("schedule", [])])
def test_a_hosts_tool_has_a_rule_of_its_own(kind: Any, offered: list[str]) -> None:
    registry = echoing(offered=never_on_schedule_runs)
    registry.tool(parameters=NOTHING, name="ask", offered=only_on_direct_runs)(lambda _context: "")

    assert [name for name in names(a_run(registry=registry, kind=kind)) if name in ("echo", "ask")] == offered


def test_a_tool_whose_schema_can_not_be_lowered_is_left_out_and_named() -> None:
    registry = echoing()
    registry.tool(parameters={"type": "array"}, name="broken")(lambda _context: "")
    run = a_run(registry=registry)

    assert "broken" not in names(run)
    assert "echo" in names(run)
    assert list(run.left_out) == ["broken"]


LOOP = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}},
}
LIST = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": [1]},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "properties": {"a": {"type": "strng"}}},
        {"type": "object", "properties": {"a": {"minLength": "x"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "required": "a"},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/schema.json"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}, "required": ["a"]},
        LOOP,
    ],
)
def test_a_tool_whose_arguments_could_never_be_checked_is_left_out_and_named(schema: dict[str, Any]) -> None:
    registry = echoing()
    registry.tool(parameters=schema, name="broken")(lambda _context, **_arguments: "")
    registry.tool(parameters=LIST, name="recursive")(lambda _context, **_arguments: "")
    run = a_run(registry=registry)

    assert {"echo", "recursive"} <= set(names(run))
    assert list(run.left_out) == ["broken"]


@pytest.mark.parametrize("name", ["x.py", "a b", "../x", "", "A", "näm", "a" * 300])
def test_a_script_whose_name_no_script_can_have_is_left_out_and_named(name: str) -> None:
    run = a_run(scripts=[Script(name, "print(1)", parameters=TEXT), Script("report", "print(2)", parameters=TEXT)])

    assert name not in names(run)
    assert "report" in names(run)
    assert list(run.left_out) == [name]


def test_two_scripts_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two scripts are called report"):
        a_run(scripts=[Script("report", "print(1)"), Script("report", "print(2)")])


@pytest.mark.parametrize("name", ["", "a/b", "a b", "a" * 200, "größe"])
def test_a_name_that_models_interfaces_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no tool can be called"):
        Registry().add(Tool(name, "", NOTHING, lambda _context: ""))


def test_a_name_can_be_registered_once() -> None:
    with pytest.raises(ValueError, match="there is a tool shell already"):
        Registry().tool(parameters=NOTHING, name="shell")(lambda _context: "")


@asynchronous
async def test_a_script_with_parameters_is_a_tool_while_scripts_are_offered() -> None:
    report = Script("report", "print(1)", description="The week's report.", parameters=TEXT)
    run = a_run(scripts=[report, Script("plain", "print(2)")])

    message = await run.call("report", '{"text": "x"}')
    with_scripts = names(run)
    run.agent.scripting = False

    request = requests_of(run)[0]
    assert message.content.startswith("done\n")
    assert request["tool"] == "script_run"
    assert request["args"] == {"name": "report", "arguments": {"text": "x"}}
    assert request["script"] == {"source": "print(1)", "sha256": report.sha256}
    assert "report" in with_scripts
    assert "plain" not in with_scripts
    assert "report" not in names(run)


@asynchronous
async def test_a_known_script_brings_its_source_along() -> None:
    run = a_run(scripts=[Script("report", "print(1)")])

    await run.call("script_run", {"name": "report"})

    assert requests_of(run)[0]["script"]["source"] == "print(1)"


# the request


@asynchronous
async def test_a_request_says_whose_call_it_is() -> None:
    run = a_run(id="r9")
    run.visible_from = 4

    await run.call("file_read", {"path": "a"}, call_id="c7", seq=12)
    await run.call("browser_eval", {"script": "1"})

    first, second = requests_of(run)
    assert first["run"] == {"id": "r9", "agent_id": "a1", "call_id": "c7", "seq": 12, "visible_from": 4}
    assert second["run"]["seq"] == 13
    assert (second["browser"], second["limits"]) == ({"slot": 0}, {"result_max_bytes": 32_768})


@asynchronous
async def test_the_digits_of_numbers_arrive_as_they_were_sent(folder: Path) -> None:
    (folder / "scripts").mkdir()
    (folder / "scripts" / "show.py").write_text("import sys\nprint(sys.stdin.read())")
    sent = '{"name": "show", "arguments": {"a": 1.10, "b": 123456789012345678901234567890, "c": 1e400}}'

    async with open_sandbox(f"local:{folder}") as sandbox, Run(sandbox, agent=Agent("a1")) as run:
        message = await run.call("script_run", sent)

    assert "1.10" in message.content
    assert "123456789012345678901234567890" in message.content
    assert "1e400" in message.content


# arguments


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        ("null", "they are null, not a JSON object"),
        ("[]", "they are an array, not a JSON object"),
        ("7", "they are a number"),
        ('{"command": "ls"', "they are no JSON"),
        ('"{\\"command\\": \\"ls\\"}"', "they are encoded twice"),
        ('{"command": "ls"}{"command": "id"}', "something follows the JSON value"),
        ('{"command": NaN}', "they are no JSON: NaN"),
        ("", "they are empty"),
        (None, "they are null"),
        (["ls"], "they are an array"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
@asynchronous
async def test_what_is_not_one_json_object_is_not_run(sent: Any, problem: str) -> None:
    run = a_run()

    message = await run.call("shell", sent)

    assert message.content.startswith("ERROR: ")
    assert problem in message.content
    assert '"command"' in message.content
    assert requests_of(run) == []


@asynchronous
async def test_no_arguments_stand_for_an_empty_object_where_none_is_required() -> None:
    run = a_run()

    await run.call("shell_status", "")

    assert requests_of(run)[0]["args"] == {}


@asynchronous
async def test_the_echo_of_refused_arguments_is_bounded_and_redacted() -> None:
    run = a_run(secrets={"KEY": "hunter22" * 20})

    message = await run.call("shell", "[" + "x" * 750 + "hunter22" * 20 + "x" * 100_000)

    assert len(message.content) < 2_500
    assert "hunter" not in str(message)


@asynchronous
async def test_a_hosts_arguments_are_checked_by_their_schema() -> None:
    message = await a_run(registry=echoing()).call("echo", {"text": 7})

    assert message.content.startswith("ERROR: $.text: 7 is not of type 'string'. Nothing was done.")


# names


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("teleport_home", "ERROR: unknown tool teleport_home"),
        ("functions.shell", "ERROR: unknown tool functions.shell; the closest offered tool is shell"),
        ("mcp__guilds__shell", "ERROR: unknown tool mcp__guilds__shell; the closest offered tool is shell"),
        ("guilds_file_read", "ERROR: unknown tool guilds_file_read; the closest offered tool is file_read"),
        ("File_Read", "ERROR: unknown tool File_Read; the closest offered tool is file_read"),
    ],
)
@asynchronous
async def test_an_unknown_name_is_told_with_the_closest_that_is_offered(name: str, said: str) -> None:
    message = await a_run().call(name, {})

    assert message.content == f"{said}\nremaining_tool_calls: 59"


@asynchronous
async def test_a_tool_that_is_not_offered_is_not_run() -> None:
    run = Run(ExecSandbox(lambda _: b""), agent=Agent("a1"))

    message = await run.call("shell", {"command": "ls"})

    assert message.content == "ERROR: tool shell is not offered this run\nremaining_tool_calls: 59"
    assert message.metadata["error"] == "tool shell is not offered this run"


# the result's path


@asynchronous
async def test_the_trailer_counts_down_and_asks_to_finish_from_eight_on() -> None:
    run = a_run(max_tool_calls=10)

    contents = [(await run.call("shell_status", {})).content for _ in range(11)]

    assert contents[0] == "done\nremaining_tool_calls: 9"
    assert contents[1] == f"done\n{LOW}\nremaining_tool_calls: 8"
    assert contents[9] == f"done\n{LOW}\nremaining_tool_calls: 0"
    assert contents[10] == f"ERROR: no tool calls remain; finish with text\n{LOW}\nremaining_tool_calls: 0"
    assert len(requests_of(run)) == 10


@given(st.text(max_size=400), st.integers(256, 600))
def test_the_cap_holds_and_splits_no_character(text: str, most: int) -> None:
    run = a_run(envelope(text * 3), tool_result_max_bytes=most)

    message = asyncio.run(run.call("shell_status", {}))

    kept = message.content.removesuffix("\nremaining_tool_calls: 59")
    assert len(kept.encode()) <= most
    assert message.metadata["truncated"] == (len((text * 3).encode()) > most)
    assert kept.removesuffix("\n[truncated]") in (text * 3 or "(no output)")


@asynchronous
async def test_the_cap_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_RESULT_MAX_BYTES", "300")

    message = await a_run(registry=echoing()).call("echo", {"text": "x" * 1_000})

    assert message.content == "x" * 288 + "\n[truncated]\nremaining_tool_calls: 59"
    assert message.metadata["original_bytes"] == 1_000


@asynchronous
async def test_a_secret_across_the_cap_is_gone() -> None:
    run = a_run(registry=echoing(), tool_result_max_bytes=300, secrets={"KEY": "hunter22-hunter23"})

    message = await run.call("echo", {"text": "x" * 280 + "hunter22-hunter23" * 10})

    assert "hunter" not in message.content


@asynchronous
async def test_a_secret_that_a_helper_cut_is_gone_from_content_and_metadata() -> None:
    answer = envelope("a hunter22\n[… cut …]\nunter23 b", cuts=[10, 21], path="/x/hunter22-hunter23")
    run = a_run(answer, secrets={"KEY": "hunter22-hunter23"})

    message = await run.call("shell", {"command": "x"})

    assert message.content.startswith("a [redacted:KEY]\n[… cut …]\n[redacted:KEY] b\n")
    assert message.metadata["path"] == "/x/[redacted:KEY]"
    assert "cuts" not in message.metadata


@asynchronous
async def test_an_empty_result_says_so_and_half_a_surrogate_pair_is_made_well_formed() -> None:
    empty = await a_run(registry=echoing()).call("echo", {"text": ""})
    broken = await a_run(registry=echoing()).call("echo", {"text": f"a{HALF_A_PAIR}b"})

    assert empty.content.startswith("(no output)\n")
    assert broken.content.startswith("a\N{REPLACEMENT CHARACTER}b\n")


@asynchronous
async def test_a_helpers_text_with_half_a_surrogate_pair_is_made_well_formed() -> None:
    message = await a_run(envelope(f"a{HALF_A_PAIR}b \N{KEY}")).call("shell_status", {})

    assert message.content.startswith("a\N{REPLACEMENT CHARACTER}b \N{KEY}\n")


@asynchronous
async def test_escape_sequences_are_gone_before_secrets_are_looked_for() -> None:
    run = a_run(registry=echoing(), secrets={"KEY": "hunter22"})

    message = await run.call("echo", {"text": "hun\x1b[31mter22\x1b[0m"})

    assert message.content.startswith("[redacted:KEY]\n")


@asynchronous
async def test_escape_sequences_in_a_file_hide_no_secret_and_stay_where_there_is_none() -> None:
    split = await a_run(envelope("1\ta hun\x1b[31mter22"), secrets={"KEY": "hunter22"}).call("shell_status", {})
    plain = await a_run(envelope("1\ta \x1b[31mred"), secrets={"KEY": "hunter22"}).call("shell_status", {})

    assert split.content.startswith("1\ta [redacted:KEY]\n")
    assert plain.content.startswith("1\ta \x1b[31mred\n")


@asynchronous
async def test_escape_sequences_hide_no_secret_in_what_is_recorded() -> None:
    run = a_run(envelope("x", cwd="/a/hun\x1b[0mter22", seen="\x1b[31mred"), secrets={"KEY": "hunter22"})

    message = await run.call("shell", {"command": "x"})

    assert message.metadata["cwd"] == "/a/[redacted:KEY]"
    assert message.metadata["seen"] == "\x1b[31mred"


KEY_FILE = "-----BEGIN KEY-----\nfirst-line\nsecond-line\nthird-line"


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (SandboxError(f"no {KEY_FILE}"), "no [redacted:KEY]"),
        (SandboxError("Gone.", stderr=f"x\n{KEY_FILE}\n".encode()), "Gone. Its stderr ended with: x | [redacted:KEY]"),
        (
            SandboxError("Gone.", stderr=f"{KEY_FILE}\na\nb\nc\n".encode()),
            "Gone. Its stderr ended with: …[redacted:KEY] | a | b | c",
        ),
        (
            SandboxError("Gone.", stderr=KEY_FILE.replace("line", "li\x1b[0mne").encode()),
            "Gone. Its stderr ended with: [redacted:KEY]",
        ),
    ],
    ids=["problem", "stderr", "end of stderr", "escape sequences"],
)
@asynchronous
async def test_a_secret_of_several_lines_is_gone_from_a_fault_of_the_sandbox(problem: SandboxError, said: str) -> None:
    def fail(_request: Any) -> bytes:
        raise problem

    run = Run(ExecSandbox(fail), agent=Agent("a1", coding=True), secrets={"KEY": KEY_FILE})

    message = await run.call("shell_status", {})

    assert message.content == f"ERROR: {said}\nremaining_tool_calls: 59"
    assert message.metadata["error"] == said


@asynchronous
async def test_the_filter_comes_first_and_is_recorded_by_name() -> None:
    def upper(text: str) -> str:
        return text.upper()

    run = a_run(registry=echoing(output_filter=upper), secrets={"KEY": "HUNTER22"})

    message = await run.call("echo", {"text": "hunter22"})

    assert message.content.startswith("[redacted:KEY]\n")
    assert message.metadata["output_filter"] == "upper"


@asynchronous
async def test_what_each_call_records() -> None:
    message = await a_run(envelope("hello", exit_code=3, cwd="/home/agent")).call("shell", {"command": "x"})

    duration = message.metadata.pop("duration_ms")
    assert isinstance(duration, int)
    assert message.metadata == {
        "tool_name": "shell",
        "output_filter": None,
        "truncated": False,
        "original_bytes": 5,
        "stored_bytes": len(message.content),
        "error": None,
        "exit_code": 3,
        "cwd": "/home/agent",
    }


@asynchronous
async def test_a_helpers_refusal_is_an_error_and_an_exit_code_is_a_result() -> None:
    refused = await a_run(refusal("not_found", "a.txt: no such file.")).call("file_read", {"path": "a.txt"})
    failed = await a_run(envelope("exit_code: 1", exit_code=1)).call("shell", {"command": "false"})

    assert refused.content.startswith("ERROR: a.txt: no such file.\n")
    assert refused.metadata["error"] == "a.txt: no such file."
    assert failed.metadata["error"] is None


def test_a_secret_that_is_too_short_is_refused_when_the_run_is_made() -> None:
    with pytest.raises(ValueError, match="the secret PIN has 3 characters"):
        a_run(secrets={"PIN": "123"})


# handlers


@asynchronous
async def test_a_handler_may_be_async_and_is_given_its_call() -> None:
    registry = Registry()

    @registry.tool(parameters=TEXT)
    async def whose(context: ToolContext, text: str) -> str:
        return f"{context.run.agent.id} {context.tool_name} {context.seq} {text}"

    message = await a_run(registry=registry).call("whose", {"text": "x"})

    assert message.content.startswith("a1 whose 1 x\n")


@asynchronous
async def test_the_result_of_a_handler_may_carry_what_is_to_be_recorded() -> None:
    registry = Registry()
    registry.tool(parameters=NOTHING, name="rows")(lambda _context: Result("two rows", {"rows": 2}))

    message = await a_run(registry=registry).call("rows", json.dumps({}))

    assert message.metadata["rows"] == 2


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (RuntimeError("no hunter22 here"), "ERROR: no [redacted:KEY] here\n"),
        (KeyError(), "ERROR: KeyError\n"),
        (SystemExit(3), "ERROR: 3\n"),
        (StopIteration(), "ERROR: "),
        (SpeechlessError(), "ERROR: SpeechlessError\n"),
        (ToolFailedError("not today"), "ERROR: not today\n"),
        (asyncio.CancelledError(), "ERROR: interrupted\n"),
    ],
)
@asynchronous
async def test_a_handler_that_throws_is_an_error_for_the_model(problem: BaseException, said: str) -> None:
    registry = Registry()

    @registry.tool(parameters=NOTHING)
    async def fail(_context: ToolContext) -> str:
        raise problem

    run = a_run(registry=registry, secrets={"KEY": "hunter22"})

    assert (await run.call("fail", {})).content.startswith(said)


@asynchronous
async def test_the_whole_error_of_a_handler_goes_to_the_log_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    registry = Registry()

    @registry.tool(parameters=NOTHING)
    def fail(_context: ToolContext) -> str:
        raise RuntimeError("no hunter22 here")

    with caplog.at_level(logging.ERROR, logger="guilds"):
        await a_run(registry=registry, secrets={"KEY": "hunter22"}).call("fail", {})

    assert "Traceback" in caplog.text
    assert "[redacted:KEY]" in caplog.text
    assert "no hunter22 here" not in caplog.text


@asynchronous
async def test_a_handler_in_a_thread_may_throw_anything() -> None:
    registry = Registry()

    @registry.tool()
    def fail(_context: ToolContext) -> str:
        return next(iter([]))

    message = await asyncio.wait_for(a_run(registry=registry).call("fail", {}), 5)

    assert message.content.startswith("ERROR: StopIteration\n")


@asynchronous
async def test_a_rule_that_throws_leaves_its_tool_out_and_names_it() -> None:
    run = a_run(registry=echoing(offered=lambda _run: 1 / 0))

    offered = names(run)
    others = await run.call("shell_status", {})

    assert "echo" not in offered
    assert run.left_out == {"echo": "its rule failed: division by zero"}
    assert others.content.startswith("done\n")


def throwing(problem: Exception) -> Any:
    def fail(_text: str) -> str:
        raise problem

    return fail


@pytest.mark.parametrize(
    ("output_filter", "said"),
    [
        (throwing(ValueError("no hunter22 here")), "ERROR: no [redacted:KEY] here\n"),
        (throwing(SpeechlessError()), "ERROR: SpeechlessError\n"),
        (lambda _text: None, "ERROR: the output filter <lambda> returned NoneType, not a string\n"),
    ],
)
@asynchronous
async def test_a_filter_that_fails_is_an_error_of_its_call_alone(output_filter: Any, said: str) -> None:
    run = a_run(registry=echoing(output_filter=output_filter), secrets={"KEY": "hunter22"})

    failed, other = await run.call_many([("echo", {"text": "x"}), ("shell_status", {})])

    assert failed.content.startswith(said)
    assert other.content.startswith("done\n")


@asynchronous
async def test_a_handler_that_returns_no_string_is_an_error() -> None:
    registry = Registry()
    registry.tool(parameters=NOTHING, name="number")(lambda _context: 7)  # type: ignore[arg-type,return-value]

    message = await a_run(registry=registry).call("number", {})

    assert message.content.startswith("ERROR: number returned int, not a string\n")


# batches and cancellation


@asynchronous
async def test_a_batch_is_answered_in_the_order_asked_and_one_failure_stops_no_other() -> None:
    registry = Registry()

    @registry.tool(parameters=TEXT)
    async def wait(_context: ToolContext, text: str) -> str:
        await asyncio.sleep(float(text))
        return text

    run = a_run(registry=registry)
    messages = await run.call_many([("wait", {"text": "0.2"}), ("wait", "nonsense"), ("wait", {"text": "0"})])

    assert [message.content.split("\n")[0][:6] for message in messages] == ["0.2", "ERROR:", "0"]
    assert [message.seq for message in messages] == [1, 2, 3]
    assert run.messages == messages


@asynchronous
async def test_edits_of_one_run_to_one_file_all_land(folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"line {number}\n" for number in range(8)))
    edits = [
        ("file_edit", {"path": "a.txt", "old_string": f"line {number}\n", "new_string": f"new {number}\n"})
        for number in range(8)
    ]

    async with open_sandbox(f"local:{folder}") as sandbox, Run(sandbox, agent=Agent("a1", coding=True)) as run:
        messages = await run.call_many(edits)

    assert [message.metadata["error"] for message in messages] == [None] * 8
    assert (folder / "a.txt").read_text() == "".join(f"new {number}\n" for number in range(8))


@asynchronous
async def test_a_cancelled_call_has_its_message_and_ends_its_command(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox, Run(sandbox, agent=Agent("a1", coding=True)) as run:
        call = asyncio.create_task(run.call("shell", {"command": "sleep 1; touch marker"}))
        await asyncio.sleep(0.5)
        call.cancel()
        message = await call
        await asyncio.sleep(1)

    assert message.content.startswith("ERROR: interrupted\n")
    assert run.messages == [message]
    assert not (folder / "marker").exists()


@asynchronous
async def test_cancelling_one_call_of_a_session_leaves_the_others(folder: Path) -> None:
    async with open_sandbox(f"local:{folder}") as sandbox, Run(sandbox, agent=Agent("a1", coding=True)) as run:
        one = asyncio.create_task(run.call("shell", {"command": "sleep 30"}))
        other = asyncio.create_task(run.call("shell", {"command": "sleep 1; echo done"}))
        await asyncio.sleep(0.5)
        one.cancel()
        messages = [await one, await other]

    assert [message.content.split("\n")[0] for message in messages] == ["ERROR: interrupted", "done"]


@asynchronous
async def test_a_cancelled_caller_is_still_cancelled_after_it_has_the_message() -> None:
    run, seen = a_run(registry=hanging()), []

    async def loop() -> None:
        seen.append(await run.call("hang", {}))
        await asyncio.sleep(60)

    task = asyncio.create_task(loop())
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task], timeout=5)

    assert task.cancelled()
    assert seen == run.messages


@asynchronous
async def test_a_loop_of_calls_ends_when_it_is_cancelled() -> None:
    run = a_run(registry=hanging())

    async def loop() -> None:
        while run.remaining_tool_calls:
            await run.call("hang", {})

    task = asyncio.create_task(loop())
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task], timeout=5)

    assert task.cancelled()
    assert [message.metadata["error"] for message in run.messages] == ["interrupted"] * 2


@asynchronous
async def test_calls_that_handlers_make_need_no_place_of_their_own() -> None:
    registry = echoing()

    @registry.tool(parameters=TEXT)
    async def within(context: ToolContext, text: str) -> str:
        (message,) = await context.run.call_many([("echo", {"text": text})])
        return message.content.split("\n")[0]

    run = a_run(registry=registry)
    async with asyncio.timeout(30):
        messages = await run.call_many([("within", {"text": str(number)}) for number in range(20)])

    assert [message.content.split("\n")[0] for message in messages] == [str(number) for number in range(20)]


@asynchronous
async def test_a_callers_timeout_gives_the_message_and_then_its_own_error() -> None:
    run = a_run(registry=hanging())

    async def loop() -> None:
        async with asyncio.timeout(0.05):
            await run.call("hang", {})
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        await loop()
    await asyncio.sleep(0.05)

    assert [message.metadata["error"] for message in run.messages] == ["interrupted"]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.integers(0, 8))
def test_every_call_of_a_batch_has_one_message_whenever_it_is_cancelled(waits: list[int], moment: int) -> None:
    registry = Registry()

    @registry.tool(parameters=TEXT)
    async def wait(_context: ToolContext, text: str) -> str:
        for _ in range(int(text)):
            await asyncio.sleep(0)
        return text

    run = a_run(registry=registry)

    async def batch() -> None:
        task = asyncio.create_task(run.call_many([("wait", {"text": str(number)}) for number in waits]))
        for _ in range(moment + 1):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=5)

    asyncio.run(batch())
    assert [message.seq for message in run.messages] == list(range(1, len(waits) + 1))
    assert {message.metadata["error"] for message in run.messages} <= {None, "interrupted"}


@asynchronous
async def test_an_error_is_cleaned_and_bounded_like_any_result() -> None:
    registry = Registry()

    @registry.tool(parameters=TEXT)
    def fail(_context: ToolContext, text: str) -> str:
        raise ValueError(text * 1_000)

    run = a_run(registry=registry, tool_result_max_bytes=2_000)
    message = await run.call("fail", {"text": "\x1b[31mred\x1b[0m"})

    assert message.content.startswith("ERROR: redred")
    assert "\x1b" not in message.content
    assert len(message.metadata["error"].encode()) <= 2_000


@asynchronous
async def test_a_helper_is_told_a_cap_that_is_smaller_than_its_own() -> None:
    small, usual = a_run(tool_result_max_bytes=2_000), a_run()

    await small.call("file_read", {"path": "a"})
    await small.call("browser_snapshot", {})
    await usual.call("file_read", {"path": "a"})

    assert [request["limits"]["result_max_bytes"] for request in requests_of(small)] == [2_000, 2_000]
    assert "limits" not in requests_of(usual)[0]


@pytest.mark.parametrize("step", [-1, 2**70])
@asynchronous
async def test_a_step_that_no_conversation_has_is_the_hosts_error(step: int) -> None:
    run = a_run()

    with pytest.raises(ValueError, match=f"{step} is no step"):
        await run.call("file_read", {"path": "a"}, seq=step)

    assert (await run.call("file_read", {"path": "a"})).metadata["error"] is None


def test_an_offer_that_a_host_changes_is_whole_the_next_time() -> None:
    run = a_run()

    run.offered()[0].parameters["properties"].clear()

    assert run.offered()[0].parameters["properties"]


# exploration


@asynchronous
async def test_exploration_counts_what_came_before_the_first_edit(folder: Path) -> None:
    (folder / "a.txt").write_text("aaa\n")
    (folder / "b.txt").write_text("bbb\n")

    async with open_sandbox(f"local:{folder}") as sandbox, Run(sandbox, agent=Agent("a1", coding=True)) as run:
        before = run.exploration.calls_before_first_edit
        await run.call("file_read", {"path": "a.txt"})
        unedited = await run.call("file_read", {"path": "b.txt"})
        await run.call("file_edit", {"path": "absent.txt", "old_string": "a", "new_string": "b"})
        await run.call("shell", {"command": "mkdir sub; cd sub; echo bbb >b.txt"})
        await run.call("file_edit", {"path": "b.txt", "old_string": "bbb", "new_string": "ccc"})
        await run.call("file_edit", {"path": "../a.txt", "old_string": "aaa", "new_string": "ccc"})
        explored = run.exploration

    assert before is None
    assert explored.calls_before_first_edit == 4
    assert explored.read_bytes_unedited == unedited.metadata["original_bytes"]
