"""Finds the incident that a mark or a bar of a picture belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from msgspec import Struct

from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from rebalance_forensics.diagnosis.model import Incident, RootCause
from rebalance_forensics.report.urgency_order import urgency
from rebalance_forensics.timeline.model import Evidence, Generation, Mark, Span
from rebalance_forensics.timeline.time_index import IntervalIndex

LASTING = frozenset({"member", "coordinating"})
# Verdicts about a member that fell silent; the lines show only the silence.
SILENCES = frozenset({"dead", "frozen", "cut-off"})
SILENT = "silent"


class Links(Struct, frozen=True, kw_only=True):
    """The incidents of one group by quoted line and by time, with their numbers on the page."""

    incidents: tuple[tuple[int, Incident], ...]
    """The most urgent first."""
    quoted: Mapping[tuple[str, int], int]
    generations: Mapping[int, int]
    in_time: IntervalIndex[tuple[int, int, Incident]]
    """Rank, number and incident."""

    def shown_as(self, why: str, incident: int | str | None) -> str:
        """How to draw a bar of an incident (id or number): an uncertain verdict as mere silence."""
        # From PROBABLE on a line is decisive; below that, a picture does not show the verdict as a fact. Members whose
        # coordinator stood still were only silent.
        guessed = why in SILENCES and any(
            incident in (number, known.id)
            and (known.root_causes[0].confidence < PROBABLE or _blames_only_brokers(known.root_causes[0]))
            for number, known in self.incidents
        )
        return SILENT if guessed else why

    def of_mark(self, mark: Mark) -> int | None:
        """The incident that quotes the mark's line, or during which it occurred."""
        quoting = self.quoted.get((mark.evidence.path, mark.evidence.line))
        return quoting if quoting is not None else self._during(mark.at, mark.at)

    def of_span(self, span: Span, lane: str) -> int | None:
        """The incident of a disturbance, preferably one that blames its lane; None for plain membership."""
        if span.kind in LASTING:
            return None
        return self._during(span.started_at, span.ended_at or span.started_at, lane)

    def of_gap(self, start: int, end: int | None) -> int | None:
        """The incident during which a partition was unread."""
        return self._during(start, start if end is None else end)

    def of_generation(self, generation: Generation) -> int | None:
        """The incident that a generation belongs to."""
        return self.generations.get(generation.generation)

    def _during(self, start: int, end: int, lane: str = "") -> int | None:
        found = self.in_time.touching(start, end)
        blaming = [known for known in found if lane and _blames(known[2].root_causes[0], lane)]
        return min(blaming or found, key=itemgetter(0))[1] if found else None


def _blames(cause: RootCause, name: str) -> bool:
    return any(name == culprit.name or name in culprit.names for culprit in cause.culprits)


def _blames_only_brokers(cause: RootCause) -> bool:
    return bool(cause.culprits) and all(culprit.kind == "broker" for culprit in cause.culprits)


def links_of(numbered: Sequence[tuple[int, Incident]]) -> Links:
    """Index a group's incidents, the most urgent first."""
    ordered = tuple(sorted(numbered, key=lambda pair: urgency(pair[1])))
    quoted: dict[tuple[str, int], int] = {}
    generations: dict[int, int] = {}
    for number, incident in ordered:
        for line in lines_of(incident):
            quoted.setdefault((line.path, line.line), number)
        for generation in incident.generations:
            generations.setdefault(generation, number)
    ranked = [(rank, number, incident) for rank, (number, incident) in enumerate(ordered)]
    in_time = IntervalIndex(
        ranked,
        lambda ranked_incident: ranked_incident[2].started_at,
        lambda ranked_incident: end_of_incident(ranked_incident[2]),
    )
    return Links(incidents=ordered, quoted=quoted, generations=generations, in_time=in_time)


def end_of_incident(incident: Incident) -> int | None:
    """When an incident was over; None while it lasts."""
    return None if incident.ongoing else incident.ended_at


def lines_of(incident: Incident) -> list[Evidence]:
    """Every line that an incident quotes."""
    links = [link.evidence for cause in incident.root_causes for link in cause.chain]
    return [line for cause in incident.root_causes for line in cause.evidence] + [line for line in links if line]
