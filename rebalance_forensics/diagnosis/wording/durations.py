"""Times and counts as one would say them, and settings as a person would write them."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event


def span(events: Iterable[Event]) -> str:
    """` within 12.3 s`, from the first to the last; nothing for what happened once."""
    known = [e.at for e in events if e.at is not None]
    if len(known) < 2:
        return ""
    length = max(known) - min(known)
    return f" within {seconds(length) if length >= 1_000 else 'a second'}"


def times(number: int) -> str:
    """`once`, `twice`, `5 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def seconds(ms: int) -> str:
    """`12.3 s`, or `5 min 12 s`."""
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms // 60_000} min {ms % 60_000 // 1000} s"


def rounded_up(ms: int) -> int:
    """A setting with headroom for what took `ms`: half as much again, as a person would write it."""
    step = 5_000 if ms < 60_000 else 30_000
    return max(10_000, -(-ms * 3 // 2 // step) * step)


def counted(number: int, noun: str) -> str:
    """`one member`, `3 members`."""
    return f"one {noun}" if number == 1 else f"{number} {noun}s"
