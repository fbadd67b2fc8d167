"""An attacker that exchanges a folder for a link, over and over, while a tool is at work in it."""

from __future__ import annotations

import threading
from pathlib import Path


def swap(folder: Path, link: Path, spare: Path, stop: threading.Event) -> None:
    """Until `stop` is set; `spare` is a free name beside them."""
    while not stop.is_set():
        folder.rename(spare)
        link.rename(folder)
        folder.rename(link)
        spare.rename(folder)
