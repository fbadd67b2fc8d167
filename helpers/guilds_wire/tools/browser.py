"""Declarations of the tools that guilds-browser serves."""

from __future__ import annotations

from guilds_wire.schema import boolean, object_schema, string
from guilds_wire.tools import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from guilds_wire.schema import Schema

CALL_SECONDS = 60
"""The longest that a browser call takes, whatever the page does."""

_TARGET = 'A ref of browser_snapshot (`e12`) or a selector (`role=button[name="Go"]`, `text=…`, CSS).'


def _browser(name: str, description: str, parameters: Schema) -> Tool:
    return Tool(
        name=name,
        helper="guilds-browser",
        description=description,
        parameters=parameters,
        call_timeout_seconds=CALL_SECONDS + 15,
    )


TOOLS = (
    _browser(
        "browser_navigate",
        "Open an address in the current tab.",
        object_schema(("url",), url=string("http(s), data: or about:blank; a bare host works.", minLength=1)),
    ),
    _browser(
        "browser_snapshot",
        "The page as an accessibility tree, with a ref on everything that can be acted on.",
        object_schema(
            target=string(f"Only this part. {_TARGET}", minLength=1),
            full=boolean("Everything up to the result's cap, not only what is near the viewport."),
        ),
    ),
    _browser(
        "browser_click",
        "Click an element, and say what happened then.",
        object_schema(
            ("target",),
            target=string(_TARGET, minLength=1),
            button=string("The mouse button.", enum=["left", "right", "middle"], default="left"),
            double=boolean("Double-click."),
            dialog=string(
                "`accept` for a confirm that the click opens, or a prompt's text. Omit it to dismiss them.",
                minLength=1,
            ),
        ),
    ),
    _browser(
        "browser_type",
        "Type keys at the end of what stands in an element.",
        object_schema(
            ("target", "text"),
            target=string(_TARGET, minLength=1),
            text=string("What to type."),
            submit=boolean("Press Enter afterwards."),
        ),
    ),
    _browser(
        "browser_fill",
        "Replace a field's value: text, an option, `true` or `false` for a checkbox, a date, a file's path.",
        object_schema(
            ("target", "value"),
            target=string(_TARGET, minLength=1),
            value=string("The new value."),
        ),
    ),
    _browser(
        "browser_scroll",
        "Scroll one viewport: the page's visible overflow panel where it has one, else the window.",
        object_schema(
            ("direction",),
            direction=string("Which way.", enum=["up", "down", "left", "right"]),
            target=string(f"The panel to scroll. {_TARGET}", minLength=1),
        ),
    ),
    _browser(
        "browser_screenshot",
        "Take a picture of the page, into screenshots/latest.jpg under home.",
        object_schema(
            full_page=boolean("The whole page, not only the viewport."),
            target=string(f"Only this element. {_TARGET}", minLength=1),
        ),
    ),
    _browser(
        "browser_eval",
        "Run JavaScript in the page as the body of an async function; what it returns comes back as JSON.",
        object_schema(("script",), script=string("e.g. `return document.title`.", minLength=1)),
    ),
)
