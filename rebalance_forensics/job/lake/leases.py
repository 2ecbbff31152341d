"""A lease: the right to write for some time, held by one process at a time, whichever machine it runs on.

The lease is one small text that is only ever swapped: whoever saw it in one state may put the next one in its place,
and of several only the first succeeds. So two can neither take the same lease nor take over the same dead one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from threading import RLock
from typing import Protocol
from uuid import uuid4

from rebalance_forensics.process.identity import Process
from rebalance_forensics.records import MINUTE_MS

_left_behind: set[str] = set()
"""States of leases that this process holds no more, but could not write so."""
_TAKEN = "another job has taken its lease over"


class Slot(Protocol):
    """Where the text of a lease lies."""

    def read(self) -> tuple[str, str] | None:
        """The text and a tag for this state of it; None where there is none yet."""

    def swap(self, tag: str | None, text: str) -> str | None:
        """Put another text in place of the state with this tag; its tag, or None where somebody was faster."""

    def free(self, tag: str, text: str) -> bool:
        """Write over one's own state for good, also on a full disk; whether it was one's own still."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of day in epoch ms, which other machines know, and one that nobody sets."""

    wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    steady_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a lease says: who holds it, until when, and for how long at a time. Without holder it is free."""

    holder: Process | None
    since_ms: int
    ends_ms: int
    lasts_ms: int
    change: str = field(default_factory=lambda: uuid4().hex)
    """No two states have the same text, so a writer that heard nothing can tell whether it succeeded."""

    def text(self) -> str:
        """The record as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text: str, lasts_ms: int) -> Record:
        """What a text says; one that is cut short is held by nobody known."""
        try:
            fields = json.loads(text)
            holder = Process(**fields.pop("holder")) if fields["holder"] else None
            return cls(**{**fields, "holder": holder})
        except (ValueError, KeyError, TypeError, AttributeError):
            nobody = Process(host="an unknown host", pid=0, begun="", world="")
            return cls(holder=nobody, since_ms=0, ends_ms=0, lasts_ms=lasts_ms, change=text)


class LeaseLost(Exception):  # noqa: N818 - it is no error of anybody's
    """Another one holds the lease now, or may: its time is over and it could not be renewed."""


class Watch:
    """Looks at a lease again and again, as somebody who would like to have it."""

    def __init__(self, slot: Slot, lasts_ms: int, clock: Clock, *, is_gone: Callable[[Process], bool]) -> None:
        self._slot, self._lasts_ms, self._clock, self._gone = slot, lasts_ms, clock, is_gone
        self._tag: str | None = None
        self._seen_ms = clock.steady_ms()

    def standing(self) -> Record | None:
        """The holder of the lease; None where it is free."""
        state = self._slot.read()
        tag = state[1] if state else None
        if tag != self._tag:
            self._tag, self._seen_ms = tag, self._clock.steady_ms()
        if state is None:
            return None
        record = Record.parse(state[0], self._lasts_ms)
        return record if record.holder and not self._is_over(record, record.holder) else None

    def _is_over(self, record: Record, holder: Process) -> bool:
        """Whether the holder died or let the lease expire; wall clocks of two machines may be minutes apart."""
        unchanged_ms = self._clock.steady_ms() - self._seen_ms
        by_the_clock = record.ends_ms and self._clock.wall_ms() >= record.ends_ms + 5 * MINUTE_MS
        over = unchanged_ms >= record.lasts_ms or by_the_clock or record.change in _left_behind
        return bool(over or self._gone(holder))

    def take(self, holder: Process) -> Lease | Record:
        """The lease, or who holds it."""
        standing = self.standing()
        if standing is not None:
            return standing
        now = self._clock.wall_ms()
        lasts = self._lasts_ms
        record = Record(holder=holder, since_ms=now, ends_ms=now + lasts, lasts_ms=lasts)
        steady = self._clock.steady_ms()
        tag = self._slot.swap(self._tag, record.text())
        if tag is None:
            state = self._slot.read()
            return Record.parse(state[0], lasts) if state else record
        return Lease(self._slot, record, tag, self._clock, steady)

    def clear(self) -> Record | None:
        """The holder of the lease; an expired one is marked as free, so that its holder notices when it wakes up."""
        standing = self.standing()
        state = self._slot.read() if standing is None else None
        if state is None or Record.parse(state[0], self._lasts_ms).holder is None:
            return standing
        now = self._clock.wall_ms()
        free = Record(holder=None, since_ms=now, ends_ms=now, lasts_ms=self._lasts_ms)
        if state[1] == self._tag and self._slot.swap(state[1], free.text()) is not None:
            return None
        changed = self._slot.read()
        return Record.parse(changed[0], self._lasts_ms) if changed else None


class Lease:
    """A lease that is held, by several threads of one process."""

    def __init__(self, slot: Slot, record: Record, tag: str, clock: Clock, renewed_ms: int) -> None:
        self._slot, self._record, self._tag, self._clock = slot, record, tag, clock
        self._renewed_ms, self._lock, self._lost = renewed_ms, RLock(), False

    @property
    def lasts_ms(self) -> int:
        """How long it lasts without being renewed."""
        return self._record.lasts_ms

    def renew(self) -> None:
        """Begin its time anew; raise LeaseLost where somebody else holds it."""
        with self._lock:
            now, steady = self._clock.wall_ms(), self._clock.steady_ms()
            self._swap(
                Record(
                    holder=self._record.holder,
                    since_ms=self._record.since_ms,
                    ends_ms=now + self.lasts_ms,
                    lasts_ms=self.lasts_ms,
                )
            )
            self._renewed_ms = steady

    def confirm(self) -> None:
        """Raise LeaseLost where it is lost; asks only when half of its time is over."""
        with self._lock:
            if self._lost:
                raise LeaseLost(_TAKEN)
            steady = self._clock.steady_ms() - self._renewed_ms
            # A machine that slept counts its sleep on one of the two clocks only.
            by_the_clock = self._clock.wall_ms() - (self._record.ends_ms - self.lasts_ms)
            elapsed = max(steady, by_the_clock)
            if elapsed < self.lasts_ms // 2:
                return
            try:
                self.renew()
            except OSError as error:
                if elapsed >= self.lasts_ms * 3 // 4:
                    raise LeaseLost(f"its lease could not be renewed ({error})") from error

    def release(self) -> None:
        """Let the next one have it; where that cannot be written, at least the next one of this process."""
        with self._lock:
            if self._lost:
                raise LeaseLost(_TAKEN)
            self._lost = True
            now = self._clock.wall_ms()
            free = Record(holder=None, since_ms=now, ends_ms=now, lasts_ms=self.lasts_ms)
            try:
                freed = self._slot.free(self._tag, free.text())
            except OSError:
                _left_behind.add(self._record.change)
                raise
            if not freed:
                raise LeaseLost(_TAKEN)

    def _swap(self, record: Record) -> None:
        if self._lost:
            raise LeaseLost(_TAKEN)
        tag = self._slot.swap(self._tag, record.text())
        if tag is None:
            self._lost = True
            raise LeaseLost(_TAKEN)
        self._record, self._tag = record, tag
