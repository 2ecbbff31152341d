"""Which incident a moment or a stretch of a picture belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.ranking import urgency
from rebalance_forensics.timeline.model import Evidence, Generation, Mark, Span

LASTING = frozenset({"member", "coordinating"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The incidents of one group, by what they quote and by when they were; numbers are those of the page."""

    incidents: tuple[tuple[int, Incident], ...]
    quoted: Mapping[tuple[str, int], int] = field(default_factory=dict)

    def of_mark(self, mark: Mark) -> int | None:
        """Find the incident that quotes the mark's line, or that it fell into."""
        quoting = self.quoted.get((mark.evidence.path, mark.evidence.line))
        return quoting if quoting is not None else self._during(mark.at, mark.at)

    def of_span(self, span: Span) -> int | None:
        """Find the incident a disturbance falls into; being a member is no disturbance."""
        return None if span.kind in LASTING else self._during(span.started_at, span.ended_at or span.started_at)

    def of_generation(self, generation: Generation) -> int | None:
        """Find the incident a generation belongs to."""
        found = (number for number, incident in self.incidents if generation.generation in incident.generations)
        return next(found, None)

    def _during(self, start: int, end: int) -> int | None:
        for number, incident in self.incidents:
            over = incident.ended_at is not None and not incident.ongoing and incident.ended_at < start
            if incident.started_at <= end and not over:
                return number
        return None


def links_of(numbered: Sequence[tuple[int, Incident]]) -> Links:
    """Index a group's incidents, the most urgent first."""
    ordered = tuple(sorted(numbered, key=lambda pair: urgency(pair[1])))
    quoted: dict[tuple[str, int], int] = {}
    for number, incident in ordered:
        for line in lines_of(incident):
            quoted.setdefault((line.path, line.line), number)
    return Links(incidents=ordered, quoted=quoted)


def lines_of(incident: Incident) -> list[Evidence]:
    """List every line an incident quotes."""
    links = [link.evidence for cause in incident.root_causes for link in cause.chain]
    return [line for cause in incident.root_causes for line in cause.evidence] + [line for line in links if line]
