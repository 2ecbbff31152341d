"""Histories and incidents of groups as rows of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import DisturbedGroup, Incident
from rebalance_forensics.pipeline.tables import schemas
from rebalance_forensics.pipeline.tables.schemas import Cells, row_of
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.model import Generation, GroupHistory


def hashed(*parts: object) -> str:
    """A short id for a combination of values, the same in every run."""
    return sha256("\0".join(map(str, parts)).encode(errors="replace")).hexdigest()[:16]


def moment(at: int | None) -> datetime | None:
    """Epoch ms as a UTC datetime, as read back from the ledger."""
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


def millis(at: datetime) -> EpochMs:
    """A datetime that was read back, in epoch ms."""
    return EpochMs(round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))


def of_date(history: GroupHistory, is_selected: Callable[[EpochMs | None], bool]) -> GroupHistory:
    """The parts of a history that have rows in the tables and whose time `is_selected`."""
    generations: list[Generation] = []
    # A generation without a time, such as that of a group that is empty now, has the date of the preceding one.
    dated = next(filter(None, map(_start, history.generations)), None)
    for generation in history.generations:
        dated = _start(generation) or dated
        if is_selected(dated):
            generations.append(generation)
    return replace(
        history,
        generations=tuple(generations),
        pauses=tuple(pause for pause in history.pauses if is_selected(pause.started_at)),
        unread=tuple(span for span in history.unread if is_selected(span.started_at)),
        read=(),
        lanes=(),
        outages=(),
    )


def _start(generation: Generation) -> EpochMs | None:
    return generation.started_at or generation.completed_at


def history_rows(history: GroupHistory) -> Iterator[tuple[schemas.Table, Cells]]:
    """The rows of a group's history, with their tables."""
    group = history.cluster, history.group
    for generation in history.generations:
        row_id = hashed(*group, generation.generation, _start(generation))
        yield schemas.GENERATIONS, row_of(schemas.GENERATIONS.columns, history, generation, id=row_id)
    for pause in history.pauses:
        row_id = hashed(*group, pause.client_id, pause.member_id, pause.started_at, *pause.partitions)
        yield schemas.PAUSES, row_of(schemas.PAUSES.columns, history, pause, id=row_id)
    for span in history.unread:
        row_id = hashed(*group, span.partition, span.started_at)
        yield schemas.UNREAD, row_of(schemas.UNREAD.columns, history, span, id=row_id)


def incident_rows(incident: Incident) -> Iterator[tuple[schemas.Table, Cells]]:
    """The rows of an incident, with their tables: the incident, each group it disturbed, and each root cause."""
    first = incident.root_causes[0]
    yield schemas.INCIDENTS, row_of(schemas.INCIDENTS.columns, incident, first, incident.impact)
    # An incident of a single group disturbed only that group.
    own = DisturbedGroup(
        group=incident.group_name,
        severity=incident.severity,
        impact=incident.impact,
        followups=incident.followups,
        generations=incident.generations,
        evidence=first.evidence,
        summary=incident.summary,
        parts=(incident.id,),
    )
    for group in incident.groups or (own,):
        parts, row_id = (incident, first, group, group.impact), hashed(incident.id, group.group)
        yield (
            schemas.INCIDENT_GROUPS,
            row_of(schemas.INCIDENT_GROUPS.columns, *parts, id=row_id, incident_id=incident.id),
        )
    for rank, cause in enumerate(incident.root_causes):
        own_cells = {"id": f"{incident.id}-{rank}", "incident_id": incident.id, "rank": rank}
        yield schemas.FINDINGS, row_of(schemas.FINDINGS.columns, incident, cause, **own_cells)
