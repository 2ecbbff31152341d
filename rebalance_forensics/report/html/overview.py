"""All incidents on one time axis: a row for each cause, with a row for each of its groups; dense runs are one mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import RANKS, Headline, Severity
from rebalance_forensics.records import SECOND_MS, is_timed
from rebalance_forensics.report import times, urgency_order, wording
from rebalance_forensics.report.html.prepared_history import Glimpse
from rebalance_forensics.report.html.shapes import Tick, ticks
from rebalance_forensics.report.plain_text import line_of

CAUSES = 12
GROUPS_OF_A_CAUSE, GROUP_ROWS = 40, 160
# Marks closer than this would overlap on a phone.
NEAR_PERCENT = 7.0
# Bars closer than this are drawn as one; a row is rarely a thousand pixels wide.
TOUCHING_PERCENT = 0.2
SUMMARY_CHARACTERS = 200

Look = Callable[[tuple[str, str]], Glimpse | None]
"""Cluster and name -> a glimpse of the group; None if the page has used up its glimpses."""


LogsEnd = Callable[[Headline], int]
"""The end of the disturbed groups' logs, up to which an ongoing incident is drawn."""


class Occurrence(Struct, frozen=True, kw_only=True):
    """One incident, or several that began close together."""

    percent: float
    width: float
    """The share of the axis that it lasted."""
    severity: Severity
    label: str
    target: str | None
    """The id of the element that shows it."""
    number: int
    groups: tuple[str, ...]
    causes: tuple[str, ...]
    severities: tuple[Severity, ...]
    incidents: tuple[str, ...]
    """The ids of the elements that show each incident in full, if there are any."""


class Stretch(Struct, frozen=True, kw_only=True):
    """A period in which a group rebalanced or left partitions unread."""

    kind: str
    percent: float
    width: float


class OverviewRow(Struct, frozen=True, kw_only=True):
    """The incidents of one cause with a row for each group, or those of one group."""

    label: str
    note: str = ""
    """The group of a cause, or the number of groups."""
    occurrences: tuple[Occurrence, ...]
    stretches: tuple[Stretch, ...] = ()
    groups: tuple[OverviewRow, ...] = ()


class Overview(Struct, frozen=True, kw_only=True):
    """The axis with its rows."""

    rows: tuple[OverviewRow, ...]
    ticks: tuple[Tick, ...]
    started_at: int
    ended_at: int


def overview_of(
    numbered: Sequence[Headline], with_sections: Collection[str], logs_end: LogsEnd, look: Look
) -> Overview | None:
    """The overview of incidents with a time, the most urgent first; None if a single picture shows all of them."""
    numbered = [incident for incident in numbered if is_timed(incident.started_at)]
    if len(numbered) <= 1:
        return None
    start = min(incident.started_at for incident in numbered)
    last = max(_end(incident, logs_end) for incident in numbered)
    margin = max((last - start) // 40, SECOND_MS)
    axis = _Axis(start=start - margin, end=last + margin, with_sections=with_sections, logs_end=logs_end, look=look)
    by_cause: dict[str, list[Headline]] = {}
    for incident in numbered:
        by_cause.setdefault(incident.root_causes[0].cause, []).append(incident)
    causes = list(by_cause.items())
    own = causes if len(causes) <= CAUSES else causes[: CAUSES - 1]
    rows = [axis.cause(cause, incidents, GROUP_ROWS // len(own)) for cause, incidents in own]
    rest = [*chain.from_iterable(incidents for _, incidents in causes[len(own) :])]
    if rest:
        rows.append(axis.cause(f"{len(causes) - len(own)} other causes", rest, 0))
    return Overview(rows=tuple(rows), ticks=ticks(axis.start, axis.end), started_at=axis.start, ended_at=axis.end)


def _end(incident: Headline, logs_end: LogsEnd) -> int:
    if incident.ongoing:
        return max(logs_end(incident), incident.started_at)
    return incident.started_at if incident.ended_at is None else incident.ended_at


def _by_group(incidents: Iterable[Headline]) -> dict[str, list[Headline]]:
    groups: dict[str, list[Headline]] = {}
    for incident in incidents:
        for share in _shares(incident):
            groups.setdefault(wording.group_of(share), []).append(share)
    return groups


def _shares(incident: Headline) -> Iterator[Headline]:
    # The effect of an incident on each group; for a group's own incident, all of it.
    if incident.group is not None:
        yield incident
    for disturbed in incident.groups:
        yield replace(
            incident,
            group=disturbed.group,
            groups=(),
            severity=disturbed.severity,
            summary=disturbed.summary or incident.summary,
            impact=disturbed.impact,
        )


class _Axis(Struct, frozen=True, kw_only=True):
    start: int
    end: int
    with_sections: Collection[str]
    logs_end: LogsEnd
    look: Look

    def cause(self, cause: str, incidents: Sequence[Headline], most: int) -> OverviewRow:
        """The row of a cause, with a row for each of its groups."""
        groups = list(_by_group(incidents).items())
        several = len(groups) > 1
        shown = groups[: min(most, GROUPS_OF_A_CAUSE)] if several else []
        rows = [self._group(name, own) for name, own in shown]
        if shown and len(groups) > len(shown):
            others = list(chain.from_iterable(own for _, own in groups[len(shown) :]))
            label = wording.count(len(groups) - len(shown), "more group")
            rows.append(OverviewRow(label=label, occurrences=tuple(self.occurrences(others))))
        return OverviewRow(
            label=cause,
            note=wording.count(len(groups), "group") if several else groups[0][0],
            occurrences=tuple(self.occurrences(incidents)),
            groups=tuple(rows),
        )

    def _group(self, name: str, incidents: Sequence[Headline]) -> OverviewRow:
        first = incidents[0]
        seen = self.look((first.cluster, first.group or ""))
        return OverviewRow(
            label=name,
            occurrences=tuple(self.occurrences(incidents)),
            stretches=() if seen is None else tuple(self._stretches(seen)),
        )

    def _stretches(self, seen: Glimpse) -> Iterator[Stretch]:
        for kind, spans in (("rebalancing", seen.rebalancing), ("unread", seen.unread)):
            for begun, ended in self._merged(spans):
                yield Stretch(kind=kind, percent=begun, width=round(max(ended - begun, TOUCHING_PERCENT), 2))

    def _merged(self, spans: Iterable[tuple[int, int | None]]) -> Iterator[tuple[float, float]]:
        # Shares of the axis, with overlapping spans merged; a span without a known end is drawn where it begins.
        begun = ended = -1.0
        for start, end in sorted((start, start if end is None else end) for start, end in spans):
            left, right = self._percent(max(start, self.start)), self._percent(min(end, self.end))
            if right < 0 or left > 100:
                continue
            if begun >= 0 and left - ended <= TOUCHING_PERCENT:
                ended = max(ended, right)
                continue
            if begun >= 0:
                yield begun, ended
            begun, ended = left, right
        if begun >= 0:
            yield begun, ended

    def occurrences(self, incidents: Sequence[Headline]) -> Iterator[Occurrence]:
        """Merge incidents that began too close together to be drawn separately."""
        run: list[Headline] = []
        for incident in sorted(incidents, key=lambda headline: (headline.started_at, headline.id)):
            if run and self._percent(incident.started_at) - self._percent(run[0].started_at) >= NEAR_PERCENT:
                yield self._occurrence(run)
                run = []
            run.append(incident)
        if run:
            yield self._occurrence(run)

    def _percent(self, at: int) -> float:
        return round((at - self.start) / (self.end - self.start) * 100, 2)

    def _occurrence(self, run: Sequence[Headline]) -> Occurrence:
        worst = min(run, key=urgency_order.urgency)
        begun, ended = run[0].started_at, max(_end(incident, self.logs_end) for incident in run)
        return Occurrence(
            percent=self._percent(begun),
            width=round(self._percent(ended) - self._percent(begun), 2),
            severity=worst.severity,
            label=_label(run, worst),
            target=f"incident-{worst.id}" if worst.id in self.with_sections else f"listed-{worst.id}",
            number=len({incident.id for incident in run}),
            groups=tuple(dict.fromkeys(chain.from_iterable(filter_groups(incident) for incident in run))),
            causes=tuple(dict.fromkeys(incident.root_causes[0].cause for incident in run)),
            severities=tuple(sorted({incident.severity for incident in run}, key=RANKS.__getitem__)),
            incidents=tuple(dict.fromkeys(f"incident-{incident.id}" for incident in run)),
        )


class Day(Struct, frozen=True, kw_only=True):
    """One day of a longer log: the number of incidents of each severity that began on it, and the worst."""

    at: int
    number: Mapping[Severity, int]
    worst: Headline
    target: str


def days_of(incidents: Sequence[Headline], with_sections: Collection[str]) -> tuple[Day, ...]:
    """An index of the days, in UTC, on which incidents began; empty if all began on one day."""
    found = []
    for day, of_day in urgency_order.by_day(incidents).items():
        worst = min(of_day, key=urgency_order.urgency)
        target = f"incident-{worst.id}" if worst.id in with_sections else f"listed-{worst.id}"
        number = Counter(incident.severity for incident in of_day)
        found.append(Day(at=day, number=number, worst=worst, target=target))
    return tuple(found)


def filter_groups(incident: Headline) -> tuple[str, ...]:
    """The groups by which the filter finds an incident, with their cluster if it has a name."""
    return tuple(wording.group_of(share) for share in _shares(incident))


def _label(run: Sequence[Headline], worst: Headline) -> str:
    sentence = f"{worst.severity}: {line_of(worst.summary, SUMMARY_CHARACTERS)}"
    if len(run) == 1:
        return f"{times.utc(worst.started_at)} UTC, {sentence}"
    return f"{wording.count(len(run), 'incident')} from {times.utc(run[0].started_at)} UTC on, the worst {sentence}"
