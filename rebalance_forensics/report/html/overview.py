"""All incidents on one time axis: a row for each group, a mark for each incident, dense runs as one mark."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Headline, Severity
from rebalance_forensics.records import SECOND_MS, is_timed
from rebalance_forensics.report.html.axis import Tick, ticks
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.times import utc
from rebalance_forensics.report.urgency_order import urgency
from rebalance_forensics.report.wording import count, group_of

ROWS = 12
# Marks closer than this would cover one another on a phone.
NEAR_PERCENT = 4.0
SUMMARY_CHARACTERS = 200


class Occurrence(Struct, frozen=True, kw_only=True):
    """One incident, or several that began close together."""

    percent: float
    width: float
    """For how much of the axis it lasted."""
    severity: Severity
    label: str
    target: str | None
    """The id of the element that shows it."""
    number: int
    groups: tuple[str, ...]
    causes: tuple[str, ...]
    incidents: tuple[str, ...]
    """The ids of the elements that tell of each in full, where there is one."""


class OverviewRow(Struct, frozen=True, kw_only=True):
    """The incidents of one group, or of all groups that have no row of their own."""

    label: str
    occurrences: tuple[Occurrence, ...]


class Overview(Struct, frozen=True, kw_only=True):
    """The axis with its rows."""

    rows: tuple[OverviewRow, ...]
    ticks: tuple[Tick, ...]
    started_at: int
    ended_at: int


def overview_of(numbered: Sequence[Headline], with_sections: Collection[str], logs_end: int) -> Overview | None:
    """Lay out the incidents that have a time, the most urgent first; None where one picture shows them all anyway."""
    numbered = [incident for incident in numbered if is_timed(incident.started_at)]
    if len(numbered) <= 1:
        return None
    start = min(incident.started_at for incident in numbered)
    last = max(_end(incident, logs_end) for incident in numbered)
    margin = max((last - start) // 40, SECOND_MS)
    axis = _Axis(start=start - margin, end=last + margin, with_sections=with_sections, logs_end=logs_end)
    by_group: dict[str, list[Headline]] = {}
    for incident in numbered:
        by_group.setdefault(group_of(incident), []).append(incident)
    groups = list(by_group.items())
    own = groups if len(groups) <= ROWS else groups[: ROWS - 1]
    rows = [OverviewRow(label=name, occurrences=tuple(axis.occurrences(incidents))) for name, incidents in own]
    rest = [*chain.from_iterable(incidents for _, incidents in groups[len(own) :])]
    if rest:
        label = f"{len(groups) - len(own)} other groups"
        rows.append(OverviewRow(label=label, occurrences=tuple(axis.occurrences(rest))))
    return Overview(rows=tuple(rows), ticks=ticks(axis.start, axis.end), started_at=axis.start, ended_at=axis.end)


def _end(incident: Headline, logs_end: int) -> int:
    if incident.ongoing:
        return max(logs_end, incident.started_at)
    return incident.started_at if incident.ended_at is None else incident.ended_at


class _Axis(Struct, frozen=True, kw_only=True):
    start: int
    end: int
    with_sections: Collection[str]
    logs_end: int

    def occurrences(self, incidents: Sequence[Headline]) -> Iterator[Occurrence]:
        """Fold what began too close together to be drawn side by side."""
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
        worst = min(run, key=urgency)
        begun, ended = run[0].started_at, max(_end(incident, self.logs_end) for incident in run)
        return Occurrence(
            percent=self._percent(begun),
            width=round(self._percent(ended) - self._percent(begun), 2),
            severity=worst.severity,
            label=_label(run, worst),
            target=f"incident-{worst.id}" if worst.id in self.with_sections else f"listed-{worst.id}",
            number=len(run),
            groups=tuple(dict.fromkeys(group_of(incident) for incident in run)),
            causes=tuple(dict.fromkeys(incident.root_causes[0].cause for incident in run)),
            incidents=tuple(f"incident-{incident.id}" for incident in run),
        )


def _label(run: Sequence[Headline], worst: Headline) -> str:
    sentence = f"{worst.severity}: {line_of(worst.summary, SUMMARY_CHARACTERS)}"
    if len(run) == 1:
        return f"{utc(worst.started_at)} UTC, {sentence}"
    return f"{count(len(run), 'incident')} from {utc(run[0].started_at)} UTC on, the worst {sentence}"
