"""What a decoded case holds several times, held once: a line stands in causes, chains and signs alike."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import force_setattr

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.model import Incident, RuledOut, SignRow
from rebalance_forensics.timeline.model import Evidence


class EqualParts:
    """Takes cases that were just decoded, which nobody else has seen, and lets their equal parts be one object."""

    def __init__(self) -> None:
        self._rows: dict[SignRow, SignRow] = {}

    def held_once(self, case: GroupCase) -> GroupCase:
        """The same case, in half the memory."""
        lines: dict[Evidence, Evidence] = {}
        for incident in case.incidents:
            self._share(incident, lines)
        return case

    def _share(self, incident: Incident, lines: dict[Evidence, Evidence]) -> None:
        for cause in incident.root_causes:
            force_setattr(cause, "evidence", _once(cause.evidence, lines))
            for link in cause.chain:
                if link.evidence is not None:
                    force_setattr(link, "evidence", lines.setdefault(link.evidence, link.evidence))
        several: tuple[RuledOut | SignRow, ...] = (*incident.ruled_out, *incident.signs)
        for told in several:
            if told.evidence:
                force_setattr(told, "evidence", _once(told.evidence, lines))
        rows = (row if row.evidence or row.looked_in else self._rows.setdefault(row, row) for row in incident.signs)
        force_setattr(incident, "signs", tuple(rows))


def _once(told: Iterable[Evidence], lines: dict[Evidence, Evidence]) -> tuple[Evidence, ...]:
    return tuple([lines.setdefault(line, line) for line in told])
