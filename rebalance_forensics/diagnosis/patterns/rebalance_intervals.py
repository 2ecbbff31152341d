"""The time between rebalances, matched against the settings that explain it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.patterns.rebalance_rounds import Round, rounds_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Spacing
from rebalance_forensics.timeline.timeouts import (
    CONNECT_DELAY,
    HEARTBEAT,
    INITIAL_DELAY,
    POLL,
    PROBING,
    REBALANCE,
    REQUEST,
    SESSION,
    possible_ms,
)
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS

# The timers that set the time between two rebalances.
SETTINGS = (PROBING, CONNECT_DELAY, POLL, REBALANCE, SESSION, INITIAL_DELAY, REQUEST, HEARTBEAT)
# Timers of long settings fire within this share of them.
EXACT_SHARE = 0.03
_OF_FOLLOW_UPS: Mapping[str | None, str] = {"probing": PROBING, "connect-delayed": CONNECT_DELAY}
_WANTED = frozenset({"metadata-changed", "subscription-changed", "enforced", "shutdown-requested"})
_CLOSED = frozenset({"closed", "unsubscribed", "removed-by-admin"})


class _Clock(Struct, frozen=True):
    """The group's timeouts, configured or by default."""

    timeline: Timeline
    values: Mapping[str, Sequence[tuple[int, bool]]]
    """Of each setting the configured values, else what the default may be."""
    departed_at: Sequence[int]
    """The times of the timeline's departures."""
    formed_at: Sequence[int]
    """When members joined an empty group."""

    def departures(self, after: int, until: int) -> Sequence[Departure]:
        """Members that left in that time."""
        first, last = bisect_right(self.departed_at, after), bisect_right(self.departed_at, until)
        return self.timeline.departures[first:last]

    def formed(self, during: Round) -> bool:
        """True if the group was empty when that rebalance began."""
        index = bisect_left(self.formed_at, during.started_at - ROUND_TRIP_MS)
        return index < len(self.formed_at) and self.formed_at[index] <= during.ended_at()

    def on_purpose(self, during: Round) -> bool:
        """True if a client logged a rebalance on request, which no timer sets off."""
        near = during.started_at - ROUND_TRIP_MS, during.started_at + ROUND_TRIP_MS
        asked = any(request.why in _WANTED for request in self.timeline.requests.between(*near))
        closed = any(departure.why in _CLOSED for departure in self.timeline.departures.between(*near))
        return asked or closed or any(arrival.start is not None for arrival in self.timeline.arrivals.between(*near))

    def fits(self, setting: str, elapsed: int, late_ms: int = 0) -> tuple[int, bool] | None:
        """The value if `elapsed` is as long, or up to `late_ms` longer."""
        for value, configured in self.values[setting]:
            slack = max(ROUND_TRIP_MS, round(value * EXACT_SHARE))
            if value and value - slack <= elapsed <= value + slack + late_ms:
                return value, configured
        return None


def _clock_of(timeline: Timeline) -> _Clock:
    formed_at = [a.at for a in timeline.arrivals if a.while_empty]
    values = {setting: possible_ms(timeline, setting) for setting in SETTINGS}
    return _Clock(timeline, values, [d.at for d in timeline.departures], formed_at)


def spacings(timeline: Timeline) -> tuple[Spacing, ...]:
    """Every gap between two rebalances, oldest first."""
    return spacings_of(timeline, rounds_of(timeline))


def spacings_of(timeline: Timeline, rounds: Sequence[Round]) -> tuple[Spacing, ...]:
    """Intervals between rounds already known."""
    clock = _clock_of(timeline)
    pairs = list(pairwise(rounds))
    gaps = [after.started_at - before.started_at for before, after in pairs]
    evenly = _evenly(gaps)
    found = []
    for index, (before, after) in enumerate(pairs):
        bare = Spacing(
            from_generation=before.generation,
            to_generation=after.generation,
            at=after.started_at,
            gap_ms=gaps[index],
            evenly=evenly[index],
        )
        found.append(next(_explained(bare, before, after, clock), bare))
    return tuple(found)


def _evenly(gaps: Sequence[int]) -> list[bool]:
    """Which gaps are as long as one beside them; the short gaps of a burst in between do not spoil a rhythm."""
    before = _last_long(gaps)
    after = _last_long(gaps[::-1])[::-1]
    found = []
    for index, gap in enumerate(gaps):
        if gap < HEARTBEAT_MS:
            found.append(False)
            continue
        neighbours = (*gaps[max(index - 1, 0) : index], *gaps[index + 1 : index + 2], before[index], after[index])
        near = max(ROUND_TRIP_MS, round(gap * EXACT_SHARE))
        found.append(any(o is not None and abs(o - gap) <= near for o in neighbours))
    return found


def _last_long(gaps: Sequence[int]) -> list[int | None]:
    """For each gap the nearest one before it that lies between bursts."""
    found: list[int | None] = []
    last: int | None = None
    for gap in gaps:
        found.append(last)
        last = gap if gap > NEXT_HEARTBEAT_MS else last
    return found


def _explained(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    """Explanations, those that a line supports first; equal numbers alone count only in a rhythm."""
    yield from _by_follow_up(bare, before, after, clock)
    yield from _by_departure(bare, before, after, clock)
    yield from _by_barrier(bare, before, after, clock)
    if bare.evenly and not clock.on_purpose(after):
        yield from _by_number(bare, before, after, clock)


def _spacing(bare: Spacing, setting: str, value: tuple[int, bool], why: str) -> Spacing:
    return replace(bare, setting=setting, value_ms=value[0], configured=value[1], why=why)


def _by_follow_up(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    setting = _OF_FOLLOW_UPS.get(after.followup)
    if setting is None:
        return
    for mark in _marks(before):
        fit = clock.fits(setting, after.started_at - mark)
        if fit is not None:
            yield _spacing(bare, setting, fit, f"a {after.followup} follow-up, due this long after the assignment")


def _by_departure(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    # Who goes later than that did not begin the rebalance, so the gap before it is not theirs.
    for departure in clock.departures(before.started_at, after.started_at + ROUND_TRIP_MS):
        who = departure.participant.name
        if departure.why == "poll-timeout":
            yield from _poll_timeout(bare, before, departure, clock)
        elif departure.why in ("session-expired", "expelled"):
            late = clock.values[HEARTBEAT][0][0]
            for mark in _marks(before):
                fit = clock.fits(SESSION, departure.at - mark, late)
                if fit is not None:
                    yield _spacing(
                        bare,
                        SESSION,
                        fit,
                        f"{who} had sent no heartbeat since the previous rebalance, and its session expired",
                    )


def _poll_timeout(bare: Spacing, before: Round, departure: Departure, clock: _Clock) -> Iterator[Spacing]:
    for mark in _marks(before):
        fit = clock.fits(POLL, departure.at - mark)
        if fit is not None:
            why = f"{departure.participant.name} had not called poll() since its assignment in the previous rebalance"
            yield _spacing(bare, POLL, fit, why)


def _by_barrier(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    """The rebalance before stood open for a whole timeout, and the next began as soon as it closed."""
    if before.stabilized_at is None or after.started_at - before.stabilized_at > ROUND_TRIP_MS:
        return
    stood_open = before.stabilized_at - before.started_at
    connect = clock.timeline.kind == "connect"
    for setting in (REBALANCE if connect else POLL, INITIAL_DELAY):
        fit = clock.fits(setting, stood_open)
        if fit is not None and (setting != INITIAL_DELAY or clock.formed(before)):
            yield _spacing(
                bare, setting, fit, "the previous join phase lasted that long, and the next one began at once"
            )


def _by_number(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    for setting in _of_kind(clock.timeline):
        for mark in _marks(before):
            fit = clock.fits(setting, after.started_at - mark)
            if fit is not None and fit[0] >= HEARTBEAT_MS:
                yield _spacing(bare, setting, fit, "the interval equals the setting; the logs show no other link")


def _of_kind(timeline: Timeline) -> tuple[str, ...]:
    """Settings that can set a rhythm in this kind of group, the most specific first."""
    first = {"streams": (PROBING,), "connect": (CONNECT_DELAY,)}.get(timeline.kind, ())
    return (*first, POLL, SESSION, REQUEST, HEARTBEAT)


def _marks(before: Round) -> list[int]:
    """Instants of the round before from which a timer may have run, the latest first."""
    marks: list[int] = []
    for at in (before.completed_at, before.stabilized_at, before.started_at):
        if at is not None and at not in marks:
            marks.append(at)
    return marks
