"""Times that jump, run backwards, have unusual zones, or are invalid."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_TIME = re.compile(rb"(\d{4})-(\d\d)-(\d\d)([ T])(\d\d):(\d\d):(\d\d)([.,]\d+)?(Z|[+-]\d\d:?\d\d)?")
_EPOCH = re.compile(rb"(?<![\w.-])1[67]\d{8}(?:\d{3}|\d{6}|\d{9})?(?![\w-])")
_ZONES = (
    b"Z",
    b"+00:00",
    b"+14:00",
    b"-12:00",
    b"+23:59",
    b"+99:99",
    b"-0000",
    b" UTC",
    b" CEST",
    b"+0530",
    b"[Mars/X]",
)
_DATES = (
    *(b"0000-01-01", b"0001-01-01", b"9999-12-31", b"1969-12-31", b"1970-01-01", b"2038-01-19", b"2026-02-29"),
    *(b"2026-13-01", b"2026-00-00", b"2026-11-31", b"2024-02-29", b"26-11-20", b"20261120", b"11/12/2026"),
    *(b"", b"20.11.2026", b"\xd9\xa2\xd9\xa0\xd9\xa2\xd9\xa6-11-20", b"12026-11-20"),
)  # fmt: skip
_CLOCKS = (b"24:00:00", b"23:59:60", b"99:99:99", b"-1:00:00", b"10:15", b"", b"10h15", b"10:15:30 PM", b"00:00:00")
_FRACTIONS = (b"", b",", b".", b",1", b",123456", b".123456789", b"." + b"1" * 400, b",-12", b":123")
_JUMPS = (
    *(timedelta(seconds=1), timedelta(minutes=-7), timedelta(hours=1), timedelta(hours=-79), timedelta(hours=25)),
    *(timedelta(days=3), timedelta(days=-400), timedelta(days=40_000), timedelta(milliseconds=-1)),
)
Damage = Callable[[random.Random, re.Match[bytes]], bytes]


def jump(rng: random.Random, found: re.Match[bytes]) -> bytes:
    """Another time, near or far away."""
    try:
        at = datetime(*(int(found[n]) for n in (1, 2, 3, 5, 6, 7)), tzinfo=UTC) + rng.choice(_JUMPS)  # type: ignore[misc, arg-type]
    except (ValueError, OverflowError):
        return b"9999-99-99 99:99:99"
    return f"{at:%Y-%m-%d}{found[4].decode()}{at:%H:%M:%S}".encode() + (found[8] or b"") + (found[9] or b"")


def zone(rng: random.Random, found: re.Match[bytes]) -> bytes:
    """An added or a different zone."""
    return found[0][: len(found[0]) - len(found[9] or b"")] + rng.choice(_ZONES)


def date(rng: random.Random, found: re.Match[bytes]) -> bytes:
    """A date at the limits of the calendar or beyond them, or no date."""
    return rng.choice(_DATES) + found[0][10:]


def clock(rng: random.Random, found: re.Match[bytes]) -> bytes:
    """An invalid time of day."""
    return found[0][:11] + rng.choice(_CLOCKS) + found[0][19:]


def fraction(rng: random.Random, found: re.Match[bytes]) -> bytes:
    """More digits, fewer digits or none."""
    return found[0][:19] + rng.choice(_FRACTIONS) + (found[9] or b"")


DAMAGES: tuple[Damage, ...] = (jump, jump, zone, date, date, clock, fraction)
_EPOCHS = (b"0", b"-1", b"1", b"9" * 10, b"9" * 13, b"9" * 19, b"9" * 5000, b"1e9", b"1795169730.5", b"NaN", b"")


def damaged(rng: random.Random, lines: list[bytes], done: list[str]) -> list[bytes]:
    """Damage some times, all in the same way or each differently; sometimes the whole log runs backwards."""
    share, damage = rng.choice((0.3, 1.0)), rng.choice(DAMAGES)
    each = rng.random() < 0.5
    seed = rng.random()

    def changed(found: re.Match[bytes]) -> bytes:
        own = rng if each else random.Random(seed)
        used = rng.choice(DAMAGES) if each else damage
        done.append(used.__name__)
        return used(own, found)

    result = [_TIME.sub(changed, line) if rng.random() < share else line for line in lines]
    if rng.random() < 0.3:
        result = [_EPOCH.sub(lambda _: rng.choice(_EPOCHS), line) for line in result]
        done.append("epoch")
    if rng.random() < 0.15:
        done.append("backwards")
        result.reverse()
    return result
