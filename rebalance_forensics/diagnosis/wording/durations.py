"""Durations, counts and lists of names in words, and settings rounded to values that a person would set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.records import elapsed

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


def span(events: Iterable[Event]) -> str:
    """` within 12.3 s`, from the first event to the last; empty for a single event or without times."""
    known = [e.at for e in events if e.at is not None]
    length = elapsed(min(known), max(known)) if len(known) > 1 else None
    return "" if length is None else f" within {seconds(length) if length >= 1_000 else 'a second'}"


def lasting(ms: int | None, words: str = " for {}") -> str:
    """` for 3.2 s`; empty if the length is unknown."""
    return "" if ms is None else words.format(seconds(ms))


def times(number: int) -> str:
    """`once`, `twice`, `5 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def how_often(events: Sequence[Event]) -> str:
    """`once`, `5 times within 12.3 s`: the number of occurrences, each of which several lines may show."""
    number = occurrences(events)
    return times(number) + (span(events) if number > 1 else "")


def occurrences(events: Sequence[Event]) -> int:
    """The number of occurrences that these lines show.

    The broker, the client and the application (without a client id) may each log an occurrence, but no type of line
    appears twice for it.
    """
    return max(Counter((type(event), event.speaker.client_id is None) for event in events).values(), default=0)


def seconds(ms: int) -> str:
    """`850 ms`, `3.2 s`, `4 min 12 s`, `2 h 05 min`, `3 d 4 h`: at most two units."""
    if ms < SECOND:
        return f"{ms} ms"
    if ms < MINUTE - 50:
        return f"{ms / SECOND:.1f} s".replace(".0 s", " s")
    whole = round(ms / SECOND)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s".replace(" 00 s", "")
    minutes = round(ms / MINUTE)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min".replace(" 00 min", "")
    hours = round(ms / HOUR)
    return f"{hours // 24} d {hours % 24} h".replace(" 0 h", "")


def rounded_up(ms: int) -> int:
    """A timeout in ms with headroom for something that took `ms`: half as much again, rounded up, at least 10 s."""
    step = 5_000 if ms < 60_000 else 30_000
    return max(10_000, -(-ms * 3 // 2 // step) * step)


def some(names: Sequence[object], most: int = 4) -> str:
    """`orders-1, orders-2 and orders-3`; if there are more than `most`, `orders-1, orders-2 and 5 more`."""
    return listed([*names[:most], *([f"{len(names) - most} more"] if len(names) > most else ())])


def listed(names: Sequence[object], word: str = "and") -> str:
    """`orders-1, orders-2 and orders-3`: all names, joined as in a sentence."""
    if len(names) == 1:
        return str(names[0])
    return f" {word} ".join(filter(None, (", ".join(map(str, names[:-1])), *map(str, names[-1:]))))


def naming(template: str, names: Sequence[object]) -> str:
    """`the logs of clients a and b` for the template `the log{s} of client{s} {who}`."""
    return template.replace("{s}", "s" if len(names) > 1 else "").replace("{who}", listed(names))


def capitalized(text: str) -> str:
    """The text with its first letter in upper case, unless it starts with a file name (`server.log …`)."""
    return text if "." in text.partition(" ")[0].rstrip(".") else text[:1].upper() + text[1:]


def counted(number: int, noun: str) -> str:
    """`one member`, `3 members`."""
    return f"one {noun}" if number == 1 else f"{number} {noun}s"
