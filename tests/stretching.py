"""Logs at another pace: the typed events of a folder of logs, on a clock that runs as a test wants it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

from msgspec import structs

from rebalance_forensics.diagnosis.case import GroupCase, investigate, investigate_unnamed
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported, StartTimeReported
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import plan_reading
from rebalance_forensics.pipeline.report_assembly import not_named_elsewhere
from rebalance_forensics.pipeline.schemas import Kind, event_of, object_of, rows_of
from rebalance_forensics.pipeline.stages import in_order, read_portion
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coverage import LogSpan, logs_read
from rebalance_forensics.timeline.facts import Arrival, Departure, StaticReturn, Stop

Clock = Callable[[int], int]
"""From a time in a log to the same time in the stretched log."""
SESSION_MS = 45_000
"""session.timeout.ms of Java clients since 3.0, for logs that do not show it."""
TIMERS = ("session.timeout.ms", "max.poll.interval.ms", "rebalance.timeout.ms", "probing.rebalance.interval.ms",
          "scheduled.rebalance.max.delay.ms", "metadata.max.age.ms")  # fmt: skip
"""Timers: a gap as long as one of these is not a pause of a process."""
_LIKE_A_TIMER_MS = 3_000


@dataclass(frozen=True)
class ClusterLogs:
    """The events of the logs of one cluster, and the time spans of the logs."""

    cluster: str
    events: tuple[Event, ...]
    spans: tuple[LogSpan, ...]

    def groups(self) -> dict[str, list[Event]]:
        """The lines of each group."""
        found = defaultdict(list)
        for event in self.events:
            if event.group is not None:
                found[event.group].append(event)
        return found

    def cases(self) -> Iterator[GroupCase]:
        """The case of each group."""
        ungrouped = UngroupedEvents([e for e in self.events if e.group is None], logs_read(self.spans))
        for group, own in self.groups().items():
            yield investigate(self.cluster, group, own, ungrouped)

    def reported_cases(self) -> list[GroupCase]:
        """The cases of all groups, including those of members whose lines name no group."""
        ungrouped = UngroupedEvents([e for e in self.events if e.group is None], logs_read(self.spans))
        unnamed = (investigate_unnamed(self.cluster, u, ungrouped) for u in ungrouped.unnamed_groups.values())
        cases = [*self.cases(), *unnamed]
        return [cases[place] for place in not_named_elsewhere(cases)]

    def verdicts(self) -> dict[str, list[str]]:
        """The first causes of each group's incidents, one for each incident, in order of their names."""
        return {c.history.group: sorted(i.root_causes[0].cause for i in c.incidents) for c in self.cases()}

    def paced(self, clock: Clock, factor: int = 1) -> ClusterLogs:
        """The same on another clock, with all timeouts `factor` times as long."""
        shifts = self._shifts()

        def moved(at: int, place: Place) -> EpochMs:
            shift = shifts.get(place, 0)
            return EpochMs(clock(at - shift) + shift)

        def event_moved(event: Event) -> Event:
            slow = _with_timeouts(event, factor)
            if event.at is None:
                return slow
            at = moved(event.at, place_of(event))
            if isinstance(slow, StartTimeReported):
                # The process reads this from the same clock.
                slow = structs.replace(slow, start_time_ms=slow.start_time_ms + at - event.at)
            return structs.replace(slow, at=at)

        def span_moved(s: LogSpan) -> LogSpan:
            place = (s.path, s.host)
            opening, closing = (None if at is None else moved(at, place) for at in (s.opening, s.closing))
            return structs.replace(s, opening=opening, closing=closing)

        return replace(self, events=tuple(map(event_moved, self.events)), spans=tuple(map(span_moved, self.spans)))

    @cache  # noqa: B019 - as long as the tests
    def _shifts(self) -> Mapping[Place, int]:
        return {(clock.path, clock.host): clock.shift_ms for case in self.cases() for clock in case.clocks}

    def times(self) -> list[int]:
        """When something was said, on one clock."""
        shifts = self._shifts()
        return sorted(e.at - shifts.get(place_of(e), 0) for e in self.events if e.at is not None)

    def quiet(self) -> list[tuple[int, int]]:
        """The stretches in which nobody says anything for longer than a session, and that no timer explains."""
        timers = self._timers()
        least = max((ms for name, ms in timers if name == "session.timeout.ms"), default=SESSION_MS)
        gaps = ((a, b) for a, b in pairwise(self.times()) if b - a > least)
        return [(a, b) for a, b in gaps if not any(abs(b - a - ms) <= _LIKE_A_TIMER_MS for _, ms in timers)]

    def rests(self) -> list[int]:
        """Where the group was whole, just before each of its members but the first went: the start of a silence."""
        ((group, own),) = self.groups().items()
        timeline = build(self.cluster, group, own, [e for e in self.events if e.group is None])
        came: list[Arrival | StaticReturn] = [*timeline.arrivals, *timeline.returns]
        gone: list[Departure | Stop] = [*timeline.departures, *timeline.stops]
        went = (one for one in gone if _comes_back(one, came))
        up = sorted([*(one.at for one in came), *(r.ended_at() for r in timeline.rebalances)])
        found = set()
        for at in {one.at for one in went}:
            whole = max((t for t in up if t < at), default=None)
            silences = [(b - a, a) for a, b in pairwise(self.times()) if whole is not None and whole <= a and b <= at]
            if silences:
                found.add(max(silences)[1])
        return sorted(found)[1:]

    def _timers(self) -> set[tuple[str, int]]:
        printed = chain.from_iterable(e.settings for e in self.events if isinstance(e, SettingsReported))
        found = {(name, int(value)) for name, value in printed if name in TIMERS and value.isdigit()}
        sessions = (getattr(e, "session_timeout_ms", None) for e in self.events)
        return found | {("session.timeout.ms", ms) for ms in sessions if ms}


def _comes_back(gone: Departure | Stop, came: Iterable[Arrival | StaticReturn]) -> bool:
    """A member that goes for good takes no step of a walk."""
    return any(one.participant is gone.participant and one.at > gone.at for one in came)


def cluster_logs_in(logs: Path) -> list[ClusterLogs]:
    """The logs of a folder, by cluster, with the events of the first stage."""
    plan = plan_reading([str(logs)], AnalyzeOptions(engine="local"), workers=1)
    batches = in_order(chain.from_iterable(read_portion(portion, plan.reading) for portion in plan.portions))
    events, spans = defaultdict(list), defaultdict(list)
    for row in chain.from_iterable(map(rows_of, batches)):
        if row.kind == Kind.HEARD:
            spans[row.cluster or ""].append(object_of(LogSpan, row.payload))
        elif row.kind in (Kind.SHARED, Kind.EVENT):
            events[row.cluster or ""].append(event_of(row))
    return [ClusterLogs(cluster, tuple(of_cluster), tuple(spans[cluster])) for cluster, of_cluster in events.items()]


def slow_motion(factor: int, since: int) -> Clock:
    """Everything takes `factor` times as long."""
    return lambda at: since + (at - since) * factor


def longer_pauses(quiet: list[tuple[int, int]], factor: int) -> Clock:
    """The quiet stretches take `factor` times as long, everything else as long as it did."""
    return lambda at: at + (factor - 1) * sum(max(0, min(at, end) - begin) for begin, end in quiet)


def _with_timeouts(event: Event, factor: int) -> Event:
    """The same line from a cluster whose timeouts are longer."""
    spans = [name for name in event.__struct_fields__ if name.endswith("_ms") and name != "start_time_ms"]
    longer: dict[str, object] = {n: ms * factor for n in spans if isinstance(ms := getattr(event, n), int)}
    if isinstance(event, SettingsReported):
        longer["settings"] = tuple(
            (name, str(int(value) * factor) if name.endswith(".ms") and value.isdigit() else value)
            for name, value in event.settings
        )
    return structs.replace(event, **longer) if longer else event
