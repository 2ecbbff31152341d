"""What was found of a group as rows of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from rebalance_forensics.diagnosis.model import DisturbedGroup, Incident
from rebalance_forensics.pipeline.tables.columns import Cells, row_of
from rebalance_forensics.pipeline.tables.schemas import (
    FINDINGS,
    GENERATIONS,
    INCIDENT_GROUPS,
    INCIDENTS,
    PAUSES,
    UNREAD,
)
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.model import Generation, GroupHistory, Pause, UnreadSpan


def hashed(*parts: object) -> str:
    """A short name for a combination of things, the same in every run."""
    return sha256("\0".join(map(str, parts)).encode(errors="replace")).hexdigest()[:16]


def moment(at: int | None) -> datetime | None:
    """Epoch ms as the datetime that a row of the ledger holds when it is read back."""
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


def millis(at: datetime) -> EpochMs:
    """The epoch ms of a datetime that was read back."""
    return EpochMs(round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))


def generation_row(history: GroupHistory, generation: Generation) -> Cells:
    """One row of `generations`."""
    start = generation.started_at or generation.completed_at
    row_id = hashed(history.cluster, history.group, generation.generation, start)
    return row_of(GENERATIONS.columns, history, generation, id=row_id)


def pause_row(history: GroupHistory, pause: Pause) -> Cells:
    """One row of `pauses`."""
    row_id = hashed(
        history.cluster, history.group, pause.client_id, pause.member_id, pause.started_at, *pause.partitions
    )
    return row_of(PAUSES.columns, history, pause, id=row_id)


def unread_row(history: GroupHistory, span: UnreadSpan) -> Cells:
    """One row of `unread`."""
    row_id = hashed(history.cluster, history.group, span.partition, span.started_at)
    return row_of(UNREAD.columns, history, span, id=row_id)


def incident_row(incident: Incident) -> Cells:
    """One row of `incidents`."""
    return row_of(INCIDENTS.columns, incident, incident.root_causes[0], incident.impact)


def incident_group_rows(incident: Incident) -> Iterator[Cells]:
    """The rows of `incident_groups`, one for each group that it disturbed: the only one of a group's own incident."""
    own = DisturbedGroup(
        group=incident.group_name,
        severity=incident.severity,
        impact=incident.impact,
        followups=incident.followups,
        generations=incident.generations,
        evidence=incident.root_causes[0].evidence,
        summary=incident.summary,
        parts=(incident.id,),
    )
    for group in incident.groups or (own,):
        row_id, parts = hashed(incident.id, group.group), (incident, incident.root_causes[0], group, group.impact)
        yield row_of(INCIDENT_GROUPS.columns, *parts, id=row_id, incident_id=incident.id)


def finding_rows(incident: Incident) -> Iterator[Cells]:
    """The rows of `findings`, one a root cause."""
    for rank, cause in enumerate(incident.root_causes):
        yield row_of(FINDINGS.columns, incident, cause, id=f"{incident.id}-{rank}", incident_id=incident.id, rank=rank)
