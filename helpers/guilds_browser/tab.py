"""One tab: its DevTools sessions, its documents' isolated worlds, and what is run in them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os

from playwright.async_api import Error as PlaywrightError

from guilds_browser.devtools import CommandError, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from playwright.async_api import BrowserContext, CDPSession, ElementHandle, Frame, JSHandle, Page

WORLD = "guilds"
"""The isolated world's name: a later process finds the world, and the refs in it, by this."""

ENGINE = "guilds"
ENGINE_SOURCE = """{
  queryAll: (root, asked) => {
    const [what, key] = asked.split(' ')
    if (what === 'keep') { (globalThis[key] ??= []).push(root); return [root] }
    const kept = globalThis[key] ?? []
    delete globalThis[key]
    return kept
  },
  query(root, asked) { return this.queryAll(root, asked)[0] },
}"""
"""A selector engine for Playwright: `keep` notes what the selector before it matches, `take` gives a kept node.

As a content script it runs in Playwright's isolated world, and so do the engines of a selector that it is a part of.
"""

STEP_SECONDS = 5.0
FRAME_SECONDS = 1.5
TITLE_SECONDS = 0.5
NAVIGATING_SECONDS = 0.02

CLICK_EVENTS = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "dblclick"})
LISTENERS_ELEMENTS_MOST = 3_000
LISTENERS_AT_ONCE = 300

_HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(_HERE, "snapshot.js"), encoding="utf-8") as _file:
    SNAPSHOT_SOURCE = _file.read()
SNAPSHOT_VERSION = hashlib.sha256(SNAPSHOT_SOURCE.encode()).hexdigest()[:16]


class DocumentGoneError(Exception):
    """The document in which something was to be run is no longer there."""


class ScriptError(Exception):
    """A script of ours, or of the caller, threw; the text is what it threw."""


class Document:
    """One document: the session that reaches it, its frame, and its isolated world."""

    __slots__ = ("frame_id", "session", "world")

    def __init__(self, session: Session, frame_id: str, world: str) -> None:
        self.session = session
        self.frame_id = frame_id
        self.world = world

    async def run(self, expression: str, *, seconds: float = STEP_SECONDS) -> Any:
        """The value of an expression in the isolated world. Raises DocumentGoneError, ScriptError, TimeoutError."""
        return (await self._evaluate(expression, seconds, returnByValue=True)).get("value")

    async def call(self, function: str, *arguments: Any, seconds: float = STEP_SECONDS) -> Any:
        """What a function of snapshot.js gives for plain arguments. Raises as `run` does."""
        told = ",".join(json.dumps(argument) for argument in arguments)
        return await self.run(f"guilds.{function}({told})", seconds=seconds)

    async def object_id(self, expression: str) -> str | None:
        """A handle of the object that an expression gives; None when it gives none. Raises as `run` does."""
        found: str | None = (await self._evaluate(expression, STEP_SECONDS)).get("objectId")
        return found

    async def send(self, method: str, **parameters: Any) -> Any:
        """A DevTools command on this document's session. Raises DocumentGoneError, TimeoutError."""
        try:
            async with asyncio.timeout(STEP_SECONDS):
                return await self.session.ask(method, **parameters)
        except CommandError as problem:
            raise DocumentGoneError(str(problem)) from problem

    async def _evaluate(self, expression: str, seconds: float, **more: Any) -> Any:
        parameters = {"uniqueContextId": self.world, "expression": expression, "awaitPromise": True, **more}
        try:
            async with asyncio.timeout(seconds):
                answer = await self.session.ask("Runtime.evaluate", **parameters)
        except CommandError as problem:
            raise DocumentGoneError(str(problem)) from problem
        if fault := answer.get("exceptionDetails"):
            raise ScriptError(fault.get("exception", {}).get("description") or fault.get("text", ""))
        return answer["result"]


class Tab:
    """A page of Chrome's, with its DevTools session."""

    def __init__(
        self, page: Page, context: BrowserContext, asked: CDPSession, session: Session, port: int, target_id: str
    ) -> None:
        self.page = page
        self.target_id = target_id
        self.session = session
        self.crashed = False
        self.in_front = False
        self.opener: str | None = None
        self._context = context
        self._asked = asked
        self._port = port
        self._frame_sessions: dict[str, tuple[Session, Frame]] = {}
        self._worlds: dict[tuple[int, str], str] = {}
        self._ready: set[str] = set()
        """The worlds that have our script: a page that hangs can have one and answer no more until it is there."""
        self._listening: dict[str, set[int]] = {}
        self._page_worlds: dict[tuple[int, str], str] = {}
        self._engine_worlds: dict[tuple[int, str], tuple[str, int]] = {}
        self._listen(session)

    @classmethod
    async def of_page(cls, page: Page, context: BrowserContext, port: int) -> Tab:
        """The tab of a Playwright page. Raises PlaywrightError, OSError."""
        async with asyncio.timeout(STEP_SECONDS):
            asked = await context.new_cdp_session(page)  # Playwright tells no target's id
            info = (await asked.send("Target.getTargetInfo"))["targetInfo"]
            session = await Session(port, info["targetId"]).open()
        tab = cls(page, context, asked, session, port, info["targetId"])
        tab.opener = info.get("openerId")
        session.tell("Page.enable")  # a page that hangs answers later, or never
        return tab

    @property
    def is_closed(self) -> bool:
        """Whether the tab has gone; Playwright may hear of that a moment later than we do."""
        return self.session.is_closed or self.page.is_closed()

    async def catch_up(self) -> None:
        """Hear of the dialogs and file choosers that Playwright's driver knows of by now: it tells things in order."""
        try:
            async with asyncio.timeout(FRAME_SECONDS):
                await self._asked.send("Target.getTargetInfo")
        except (PlaywrightError, TimeoutError):  # the tab has gone; or Chrome hangs, which the next look finds
            pass

    def close(self) -> None:
        """Let go of the sessions of a tab that is of no more use."""
        for session in (self.session, *(session for session, _ in self._frame_sessions.values())):
            session.close()

    async def main(self) -> Document:
        """The tab's main document. Raises DocumentGoneError, TimeoutError."""
        return await self.document(self.target_id)

    async def document(self, frame_id: str) -> Document:
        """The document that a frame shows now, or showed a moment ago. Raises DocumentGoneError without a frame."""
        session = await self._session_of(frame_id)
        world = self._worlds.get((id(session), frame_id))
        document = Document(session, frame_id, world or await self._find_world(session, frame_id))
        if document.world in self._ready:
            return document
        if await document.run("globalThis.guilds?.version", seconds=FRAME_SECONDS) != SNAPSHOT_VERSION:
            await document.run(f"{SNAPSHOT_SOURCE}({json.dumps(SNAPSHOT_VERSION)})")
        self._ready.add(document.world)
        return document

    async def ask(
        self, frame_id: str, function: str, *arguments: Any, seconds: float = STEP_SECONDS
    ) -> tuple[Document, Any]:
        """What a function of snapshot.js gives in the document that a frame shows now, and that document.

        Raises DocumentGoneError, ScriptError, TimeoutError.
        """
        for _ in range(3):
            try:
                document = await self.document(frame_id)
                return document, await document.call(function, *arguments, seconds=seconds)
            except DocumentGoneError:  # it has navigated since its world was found, or does so now
                self.forget_world(frame_id)
                await asyncio.sleep(NAVIGATING_SECONDS)
        document = await self.document(frame_id)
        return document, await document.call(function, *arguments, seconds=seconds)

    async def frame_ids(self) -> list[str]:
        """Every frame of the tab, the main one first."""
        if len(self.page.frames) == 1:
            return [self.target_id]
        found = list(_ids_in((await self.session.ask("Page.getFrameTree"))["frameTree"]))
        await self._find_frame_sessions()
        for session, _ in list(self._frame_sessions.values()):
            try:
                async with asyncio.timeout(FRAME_SECONDS):
                    found += _ids_in((await session.ask("Page.getFrameTree"))["frameTree"])
            except (CommandError, TimeoutError):
                pass
        return list(dict.fromkeys(found))

    async def headline(self) -> tuple[str, str]:
        """URL and title of what the tab shows, also when its page does not answer."""
        try:
            async with asyncio.timeout(TITLE_SECONDS):
                _, (url, title) = await self.ask(self.target_id, "headline")
        except (DocumentGoneError, ScriptError, TimeoutError):
            try:
                async with asyncio.timeout(TITLE_SECONDS):
                    info = (await self.session.ask("Target.getTargetInfo"))["targetInfo"]
                url, title = info["url"], info["title"]
            except (CommandError, TimeoutError):
                url, title = self.page.url, ""
        return url, title

    async def handle(self, document: Document, number: int) -> ElementHandle | None:
        """Playwright's handle of the node with a ref; None when it is gone.

        The node crosses into Playwright's own isolated world under a random name, and a selector engine of ours takes
        it there: what a page does to its own world is of no effect.
        """
        there = await document.object_id(f"guilds.elementOf({number})")
        world = await self._engine_world(document)
        if there is None or world is None:
            return None
        node = (await document.send("DOM.describeNode", objectId=there))["node"]
        across = await document.send(
            "DOM.resolveNode", backendNodeId=node["backendNodeId"], executionContextId=world[1]
        )
        key = os.urandom(12).hex()
        await document.send(
            "Runtime.callFunctionOn",
            objectId=across["object"]["objectId"],
            functionDeclaration="function (key) { globalThis[key] = [this] }",
            arguments=[{"value": key}],
        )
        for frame in self._candidates(document):
            try:
                async with asyncio.timeout(STEP_SECONDS):
                    element = await frame.query_selector(f"{ENGINE}=take {key}")
            except PlaywrightError:  # a frame that navigates meanwhile
                continue
            if element is not None:
                return element
        return None

    async def keep(self, frame: Frame, selector: str) -> tuple[int, str]:
        """How many elements of a frame a Playwright selector matches, and the key under which Playwright's own world
        holds them. Raises PlaywrightError, TimeoutError.
        """
        key = os.urandom(12).hex()
        async with asyncio.timeout(STEP_SECONDS):
            return await frame.locator(f"{selector} >> {ENGINE}=keep {key}").count(), key

    async def release(self, document: Document, key: str) -> None:
        """Let go of what `keep` holds."""
        if world := await self._engine_world(document):
            await document.send("Runtime.evaluate", expression=f"delete globalThis[{key!r}]", uniqueContextId=world[0])

    async def adopt(
        self, document: Document, key: str, index: int, first: int, limit: int, chosen: bool
    ) -> dict[str, Any] | None:
        """The ref, role and name of a node that is kept under a key, which is given a ref between `first` and `limit`
        if it has none; None when this document's world keeps nothing there. With `chosen` it need not be in the page.

        Raises DocumentGoneError, TimeoutError.
        """
        world = await self._engine_world(document)
        if world is None:
            return None
        answer = await document.send(
            "Runtime.evaluate", expression=f"globalThis[{key!r}]?.[{index}]", uniqueContextId=world[0]
        )
        object_id = answer["result"].get("objectId")
        if object_id is None:
            return None
        node = (await document.send("DOM.describeNode", objectId=object_id))["node"]
        context = await self._context_number(document)
        here = await document.send("DOM.resolveNode", backendNodeId=node["backendNodeId"], executionContextId=context)
        answer = await document.send(
            "Runtime.callFunctionOn",
            objectId=here["object"]["objectId"],
            functionDeclaration=f"function () {{ return guilds.adopt(this, {first}, {limit}, {json.dumps(chosen)}) }}",
            returnByValue=True,
        )
        found: dict[str, Any] | None = answer["result"].get("value")
        return found

    async def bring_closed_roots(self, document: Document) -> bool:
        """Hand the world the closed shadow roots of the elements that it suspects of one; whether there was any."""
        listed = await document.object_id("guilds.suspects")
        if listed is None:
            return False
        properties = (await document.send("Runtime.getProperties", objectId=listed, ownProperties=True))["result"]
        hosts = [
            entry["value"]["objectId"]
            for entry in properties
            if entry["name"].isdecimal() and entry.get("value", {}).get("subtype") == "node"
        ]
        described = await asyncio.gather(*(document.send("DOM.describeNode", objectId=host) for host in hosts))
        context = None
        for host, answer in zip(hosts, described, strict=True):
            for root in answer["node"].get("shadowRoots", ()):
                if root.get("shadowRootType") == "closed":
                    context = context or await self._context_number(document)
                    await self._bring_root(document, host, root["backendNodeId"], context)
        return context is not None

    async def _engine_world(self, document: Document) -> tuple[str, int] | None:
        """The unique id and the number of Playwright's own world of a document. Raises DocumentGoneError."""
        key = id(document.session), document.frame_id
        if key not in self._engine_worlds:  # it may have come later than ours
            await self._find_world(document.session, document.frame_id)
        return self._engine_worlds.get(key)

    async def mark_listeners(self, document: Document) -> None:
        """Tell the world which nodes listen for clicks; the page's own listeners are seen from outside alone.

        Left out on a long page, where the answer would be megabytes.
        """
        if await document.run("guilds.elements()") > LISTENERS_ELEMENTS_MOST:
            return
        world = self._page_worlds.get((id(document.session), document.frame_id))
        if world is None:
            return
        answer = await document.send("Runtime.evaluate", expression="document", uniqueContextId=world)
        root = answer["result"]["objectId"]  # a node tells the listeners of the world that it was got from, no others
        found = (await document.send("DOMDebugger.getEventListeners", objectId=root, depth=-1))["listeners"]
        known = self._listening.setdefault(document.world, set())
        fresh = {each["backendNodeId"] for each in found if each["type"] in CLICK_EVENTS} - known
        if not fresh:
            return
        context = await self._context_number(document)
        marking = (self._mark(document, node, context) for node in sorted(fresh)[:LISTENERS_AT_ONCE])
        await asyncio.gather(*marking)
        known |= fresh

    async def frame_id_of(self, document: Document, number: int) -> str | None:
        """The frame that an iframe element shows."""
        element = await document.object_id(f"guilds.elementOf({number})")
        if element is None:
            return None
        node = (await document.send("DOM.describeNode", objectId=element))["node"]
        found: str | None = node.get("frameId")
        return found

    async def around(self, document: Document) -> tuple[Document, str] | None:
        """The document that a frame's document is shown in, and a handle there of the frame's element; None for the
        main document. Raises DocumentGoneError, TimeoutError, KeyError.
        """
        if document.frame_id == self.target_id:
            return None
        tree = (await document.send("Page.getFrameTree"))["frameTree"]
        parent = next((each["parentId"] for each in _frames_in(tree) if each["id"] == document.frame_id), None)
        if parent is None:
            return None
        outer = await self.document(parent)
        owner = await outer.send("DOM.getFrameOwner", frameId=document.frame_id)
        context = await self._context_number(outer)
        here = await outer.send("DOM.resolveNode", backendNodeId=owner["backendNodeId"], executionContextId=context)
        return outer, here["object"]["objectId"]

    async def _mark(self, document: Document, backend_id: int, context: int) -> None:
        try:
            here = await document.send("DOM.resolveNode", backendNodeId=backend_id, executionContextId=context)
            await document.send(
                "Runtime.callFunctionOn",
                objectId=here["object"]["objectId"],
                functionDeclaration="function () { guilds.markClickable(this) }",
            )
        except DocumentGoneError:  # the node went away; if it was the document, whoever asked finds out
            pass

    async def _bring_root(self, document: Document, host: str, backend_id: int, context: int) -> None:
        root = (await document.send("DOM.resolveNode", backendNodeId=backend_id, executionContextId=context))["object"]
        await document.send(
            "Runtime.callFunctionOn",
            objectId=host,
            functionDeclaration="function (root) { guilds.adoptRoot(this, root) }",
            arguments=[{"objectId": root["objectId"]}],
        )

    async def _context_number(self, document: Document) -> int:
        """The world's number, which DOM.resolveNode wants. Asking for a world of a name that is there gives that."""
        answer = await document.send("Page.createIsolatedWorld", frameId=document.frame_id, worldName=WORLD)
        return int(answer["executionContextId"])

    def _candidates(self, document: Document) -> list[Frame]:
        """Playwright's frames that may be the document's, the likeliest first. Playwright tells no frame's id."""
        if document.frame_id == self.target_id:
            return [self.page.main_frame]
        if known := self._frame_sessions.get(document.frame_id):
            return [known[1]]
        return self.page.frames[1:]

    def forget_world(self, frame_id: str) -> None:
        """What was known of a frame's document is of no use any more."""
        self._ready -= {world for key, world in self._worlds.items() if key[1] == frame_id}
        for key, world in self._worlds.items():
            if key[1] == frame_id:
                self._listening.pop(world, None)
        self._worlds = {key: world for key, world in self._worlds.items() if key[1] != frame_id}
        self._engine_worlds = {key: world for key, world in self._engine_worlds.items() if key[1] != frame_id}
        self._drop_frame(frame_id)

    def _drop_frame(self, frame_id: str) -> None:
        if known := self._frame_sessions.pop(frame_id, None):
            known[0].close()

    async def _session_of(self, frame_id: str) -> Session:
        if frame_id == self.target_id:
            return self.session
        if known := self._frame_sessions.get(frame_id):
            return known[0]
        owners = [self.session, *(session for session, _ in self._frame_sessions.values())]
        for session in owners:
            if frame_id in await _local_frames(session):
                return session
        await self._find_frame_sessions()
        if known := self._frame_sessions.get(frame_id):
            return known[0]
        for session, _ in self._frame_sessions.values():
            if frame_id in await _local_frames(session):
                return session
        raise DocumentGoneError(f"frame {frame_id} is gone")

    async def _find_frame_sessions(self) -> None:
        """A session for each frame that has a process of its own; Playwright refuses one for any other frame."""
        for frame_id, (session, frame) in list(self._frame_sessions.items()):
            if session.is_closed or frame.is_detached():
                self._drop_frame(frame_id)
        known = {frame for _, frame in self._frame_sessions.values()}
        for frame in self.page.frames[1:]:
            if frame in known or frame.is_detached():
                continue
            try:
                async with asyncio.timeout(FRAME_SECONDS):
                    asked = await self._context.new_cdp_session(frame)
                    frame_id = (await asked.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
                    session = await Session(self._port, frame_id).open()
            except (PlaywrightError, OSError):
                continue
            session.tell("Page.enable")
            self._listen(session)
            self._frame_sessions[frame_id] = (session, frame)

    def _listen(self, session: Session) -> None:
        # Playwright names its world after the page, so that one left by an earlier connection is told apart.
        engine_world = f"__playwright_utility_world_{self.page._impl_obj._guid}"

        def created(event: dict[str, Any]) -> None:
            context = event["context"]
            data = context.get("auxData", {})
            if context["name"] == WORLD:
                self._worlds[id(session), data["frameId"]] = context["uniqueId"]
            elif context["name"] == engine_world:
                self._engine_worlds[id(session), data["frameId"]] = context["uniqueId"], context["id"]
            elif data.get("isDefault"):
                self._page_worlds[id(session), data["frameId"]] = context["uniqueId"]

        session.on("Runtime.executionContextCreated", created)

    async def _find_world(self, session: Session, frame_id: str) -> str:
        """The world's unique id: numbers of worlds are used again by another renderer process, these are not.

        Only with the Runtime domain enabled does Chrome tell them; it is disabled again, since it would send every
        console message.
        """
        try:
            async with asyncio.timeout(FRAME_SECONDS):
                await session.ask("Runtime.enable")
                if (id(session), frame_id) not in self._worlds:
                    await session.ask("Page.createIsolatedWorld", frameId=frame_id, worldName=WORLD)
                await session.ask("Runtime.disable")
        except CommandError as problem:
            self._drop_frame(frame_id)
            raise DocumentGoneError(str(problem)) from problem
        world = self._worlds.get((id(session), frame_id))
        if world is None:
            raise DocumentGoneError("the frame has no document yet")
        return world


def dispose(handle: JSHandle) -> None:
    """Have Playwright let go of what it holds in the page; nobody waits for that."""
    letting_go = asyncio.ensure_future(handle.dispose())
    letting_go.add_done_callback(lambda done: done.cancelled() or done.exception())  # a document that is gone is fine


async def _local_frames(session: Session) -> list[str]:
    try:
        async with asyncio.timeout(FRAME_SECONDS):
            return list(_ids_in((await session.ask("Page.getFrameTree"))["frameTree"]))
    except (CommandError, TimeoutError):
        return []


def _ids_in(tree: dict[str, Any]) -> list[str]:
    return [frame["id"] for frame in _frames_in(tree)]


def _frames_in(tree: dict[str, Any]) -> list[dict[str, Any]]:
    found = [tree["frame"]]
    for child in tree.get("childFrames", ()):
        found += _frames_in(child)
    return found
