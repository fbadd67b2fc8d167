"""What the client costs: calls a second with and without a session, beside the bare exec of each sandbox, and the
redaction of 10 MB. docker: is measured where DOCKER_HOST and GUILDS_BENCH_CONTAINER name a running container.
"""

from __future__ import annotations

import asyncio
import base64
import os
import random
import re
import string
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from guilds_client import Completed, HelperClient, Sandbox, SandboxError, open_sandbox
from guilds_client.redaction import Redactor

SECONDS = 2.0
TEXT_BYTES = 10_000_000
SECRETS = 200
RUNS = 5
CONTAINER = os.environ.get("GUILDS_BENCH_CONTAINER")


async def calls_per_second(call: Callable[[], Awaitable[object]]) -> float:
    await call()
    start, count = time.perf_counter(), 0
    while time.perf_counter() < start + SECONDS:
        await call()
        count += 1
    return count / (time.perf_counter() - start)


async def measure(address: str) -> None:
    async with open_sandbox(address) as sandbox:
        path = f"{sandbox.home}/bench.txt"
        await sandbox.write_file(path, b"line\n" * 40)
        session, exec_only = HelperClient(sandbox), HelperClient(_WithoutSessions(sandbox))
        request = {"tool": "file_read", "args": {"path": path}}  # no step: the whole text each time
        bare = await calls_per_second(lambda: sandbox.exec(["true"], timeout=30))
        one_exec = await calls_per_second(lambda: exec_only.call("guilds-code", request, timeout=30))
        one_session = await calls_per_second(lambda: session.call("guilds-code", request, timeout=30))
        await session.close()
    kind = address.partition(":")[0]
    print(f"{kind:8}{bare:10.1f}{one_exec:12.1f}{one_session:12.1f}{one_session / one_exec:9.1f} x")


class _WithoutSessions(Sandbox):
    """A sandbox that keeps no sessions, so that each call is an exec."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Completed:
        return await self._sandbox.exec(argv, stdin=stdin, env=env, timeout=timeout)

    def program(self, name: str) -> str:
        return self._sandbox.program(name)

    async def close(self) -> None:
        pass


def best_milliseconds(work: Callable[[], object]) -> float:
    """The processor's time, which other work on the machine disturbs least."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times) * 1000


def measure_redaction() -> None:
    chance = random.Random(1)
    characters = string.ascii_letters + string.digits + "-_/+"
    values = ["".join(chance.choices(characters, k=chance.randint(20, 60))) for _ in range(SECRETS)]
    redactor = Redactor({f"S{number}": value for number, value in enumerate(values)})
    words = "the quick brown fox of build/main.o: warning: unused variable 'count' [-Wunused]".split()  # noqa: SIM905
    prose = " ".join(chance.choices(words, k=TEXT_BYTES // 5))[:TEXT_BYTES]
    some = [chance.choice(values) if chance.random() < 0.001 else word for word in prose.split()]
    texts = {
        "words": prose,
        "base64": base64.b64encode(chance.randbytes(TEXT_BYTES))[:TEXT_BYTES].decode(),
        "secrets": " ".join(some),
    }
    for kind, text in texts.items():
        data = text.encode()
        scan = best_milliseconds(partial(_translate_and_scan, data))
        ours = best_milliseconds(partial(redactor.redact, text))
        print(f"{kind:8}{scan:10.1f}{ours:12.1f}{ours / scan:12.1f} x")
    alternation = re.compile("|".join(map(re.escape, sorted(values, key=len, reverse=True))))
    tenth = prose[: TEXT_BYTES // 10]
    slow = 10 * best_milliseconds(partial(alternation.sub, "", tenth))
    print(f"re's alternation of the plain values alone, words: {slow:.0f} ms")


def _translate_and_scan(data: bytes) -> int:
    return data.translate(bytes(range(256))).find(b"\xff\xfe")


def main() -> None:
    print("calls/s  bare exec   exec/call     session")
    with tempfile.TemporaryDirectory() as folder:
        for address in (f"local:{folder}", f"bwrap:{folder}", *([f"docker:{CONTAINER}"] if CONTAINER else [])):
            try:
                asyncio.run(measure(address))
            except SandboxError as problem:
                print(f"{address.partition(':')[0]:8}{problem}")
    print(f"\nms for {TEXT_BYTES / 1e6:.0f} MB and {SECRETS} secrets\ntext    translate+find   redaction")
    measure_redaction()


if __name__ == "__main__":
    main()
