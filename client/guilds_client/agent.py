"""Agent: whose run it is, and the flags that say which tools it has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Agent:
    """`slot` picks the agent's browser: its DevTools port is 9300 + slot.

    The flags may be changed while a run goes on: each offer and each call goes by what they are then.
    """

    id: str
    coding: bool = False
    browser: bool = False
    scripting: bool = True
    memory: bool = True
    slot: int = 0
