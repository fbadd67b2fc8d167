"""How many MB/s of each kind of output are cleaned, in chunks of two sizes. It measures no process and no log."""

from __future__ import annotations

import time

from guilds_wire.output import OutputShaper

CHUNK_BYTES = (65_536, 1_048_576)
RESULT_BYTES = 8192
SECONDS = 0.5
KINDS = {
    "plain lines": b"src/app.py:120: a line of a build log as long as they usually are, 0123456789\n",
    "one plain line": b"x" * 100,
    "line ends alone": b"\n",
    "plain lines, UTF-8": "größe: 12 °C – ein Satz, wie er in einem Protokoll steht\n".encode(),
    "plain lines, CJK": "このファイルは正しく書き込まれました\n".encode(),
    "CRLF": b"src/app.py:120: a line of a build log as long as they usually are, 0123456789\r\n",
    "colours": b"\x1b[32mok\x1b[0m  \x1b[1mtests/test_app.py\x1b[0m::t \x1b[01;31m\x1b[Kfailed\x1b[m\x1b[K\n",
    "bytes of no encoding": bytes(range(256)) * 4 + b"\n",
    "redrawn progress": b"\r\x1b[2K\x1b[36m[#########         ]\x1b[0m 50% of 120 MB, 3 s left",
    "titles and links": b"\x1b]0;make\x07\x1b]8;;http://host/a\x1b\\a\x1b]8;;\x1b\\ is up to date\n",
    "row blanked to the left": b"x" * 16_000 + b"\x1b[1Kx\b" * 100_000,
    "row emptied": b"x" * 16_000 + b"\x1b[2Kx\b" * 100_000,
    "row redrawn": b"x" * 16_000 + b"\ry" * 100_000,
    "carriage returns": b"\r",
    "escape characters": b"\x1b",
    "open sequences": b"\x1b[0\x1b]",
}


def megabytes_per_second(unit: bytes, chunk_bytes: int) -> float:
    data = (unit * (chunk_bytes // len(unit) + 1))[:chunk_bytes]
    shaper = OutputShaper(RESULT_BYTES)
    start = time.perf_counter()
    while time.perf_counter() < start + SECONDS:
        shaper.feed(data)
    shaper.finish(RESULT_BYTES, [], "out.log")
    return shaper.raw_bytes / (time.perf_counter() - start) / 1e6


def main() -> None:
    print("MB/s in chunks of", *(f"{size // 1024} KiB" for size in CHUNK_BYTES))
    for kind, unit in KINDS.items():
        print(f"{kind:24}", *(f"{megabytes_per_second(unit, size):8.1f}" for size in CHUNK_BYTES))


if __name__ == "__main__":
    main()
