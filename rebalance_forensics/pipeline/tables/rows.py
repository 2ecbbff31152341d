"""What was found of a group as rows of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from msgspec.structs import asdict

from rebalance_forensics.diagnosis.model import Incident, RootCause, RuledOut, WouldDecide
from rebalance_forensics.records import EpochMs, is_timed
from rebalance_forensics.report.wording import narrative
from rebalance_forensics.timeline.model import Evidence, Generation, GroupHistory, Pause, UnreadSpan

Cells = dict[str, Any]


def hashed(*parts: object) -> str:
    """A short name for a combination of things, the same in every run."""
    return sha256("\0".join(map(str, parts)).encode(errors="replace")).hexdigest()[:16]


def micros(at: int | None) -> int | None:
    """Epoch ms as the tables hold times; None for what is none: of lines without times only the order is known."""
    return at * 1000 if at is not None and is_timed(at) else None


def moment(at: int | None) -> datetime | None:
    """Epoch ms as the datetime that a row of the ledger holds when it is read back."""
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


def millis(at: datetime) -> EpochMs:
    """And back, to epoch ms."""
    return EpochMs(round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))


def generation_row(history: GroupHistory, generation: Generation) -> Cells:
    """One row of `generations`."""
    return {
        "id": hashed(
            history.cluster, history.group, generation.generation, generation.started_at or generation.completed_at
        ),
        "group": history.group,
        "kind": history.kind,
        "protocol": history.protocol,
        "generation": generation.generation,
        "started_at": micros(generation.started_at),
        "completed_at": micros(generation.completed_at),
        "trigger": generation.trigger,
        "leader": generation.leader,
        "members": [asdict(member) for member in generation.members],
        "joined": list(generation.joined),
        "left": list(generation.left),
        "outcome": generation.outcome,
        "reason": generation.reason,
    }


def pause_row(history: GroupHistory, pause: Pause) -> Cells:
    """One row of `pauses`."""
    return {
        "id": hashed(
            history.cluster, history.group, pause.client_id, pause.member_id, pause.started_at, *pause.partitions
        ),
        "group": history.group,
        "client_id": pause.client_id,
        "member_id": pause.member_id,
        "started_at": micros(pause.started_at),
        "ended_at": micros(pause.ended_at),
        "ms": pause.lasted_ms,
        "partitions": list(pause.partitions),
        "kind": pause.kind,
    }


def unread_row(history: GroupHistory, span: UnreadSpan) -> Cells:
    """One row of `unread`."""
    return {
        "id": hashed(history.cluster, history.group, span.partition, span.started_at),
        "group": history.group,
        "incident_id": span.incident,
        "partition": span.partition,
        "started_at": micros(span.started_at),
        "from_earliest": micros(span.from_earliest),
        "ended_at": micros(span.ended_at),
        "ms": span.lasted_ms,
        "why": span.why,
        "certain": span.certain,
        "client_id": span.client_id,
    }


def incident_row(incident: Incident) -> Cells:
    """One row of `incidents`."""
    cause = incident.root_causes[0]
    return {
        "id": incident.id,
        "group": incident.group,
        "started_at": micros(incident.started_at),
        "ended_at": micros(incident.ended_at),
        "ongoing": incident.ongoing,
        "severity": incident.severity,
        "summary": incident.summary,
        "cause": cause.cause,
        "confidence": cause.confidence,
        "culprits": [culprit.name for culprit in cause.culprits],
        "followups": list(incident.followups),
        "generations": list(incident.generations),
        "unread_partition_ms": incident.impact.unread_partition_ms,
        "unread_at_least": incident.impact.unread_at_least,
        "longest_unread_ms": incident.impact.longest_unread_ms,
        "longest_unread_partition": incident.impact.longest_unread_partition,
        "stopped_ms": incident.impact.stopped_ms,
        "pause_ms": incident.impact.pause_ms,
        "members": incident.impact.members,
        "partitions": incident.impact.partitions,
        "rebalances": incident.impact.rebalances,
        "by_member": None if incident.impact.by_member is None else asdict(incident.impact.by_member),
        "occurrences": incident.occurrences,
        "ruled_out": [_ruled_out(other) for other in incident.ruled_out],
        "would_decide": [_would_decide(other) for other in incident.would_decide],
        "related": [{**asdict(relation), "ids": list(relation.ids)} for relation in incident.related],
    }


def _ruled_out(other: RuledOut) -> Cells:
    return {
        "cause": other.cause,
        "why": other.why,
        "sign": other.sign,
        "evidence": [_evidence(line) for line in other.evidence],
        "looked_in": [
            {"path": log.path, "started_at": micros(log.started_at), "ended_at": micros(log.ended_at)}
            for log in other.looked_in
        ],
    }


def _would_decide(other: WouldDecide) -> Cells:
    return {
        "needs": other.needs,
        "who": other.who,
        "started_at": micros(other.started_at),
        "ended_at": micros(other.ended_at),
        "between": list(other.between),
    }


def finding_rows(incident: Incident) -> Iterator[Cells]:
    """The rows of `findings`, one a root cause."""
    for rank, cause in enumerate(incident.root_causes):
        yield {
            "id": f"{incident.id}-{rank}",
            "incident_id": incident.id,
            "group": incident.group,
            "rank": rank,
            **_cause(cause),
        }


def _cause(cause: RootCause) -> Cells:
    return {
        "cause": cause.cause,
        "confidence": cause.confidence,
        "culprits": [asdict(culprit) for culprit in cause.culprits],
        "narrative": narrative(cause),
        "evidence": [_evidence(line) for line in cause.evidence],
        "evidence_total": cause.evidence_total,
        "advice": [{"action": each.action, "why": each.why} for each in cause.advice],
        "known_bugs": [{"jira": b.jira, "title": b.title, "fixed_in": b.fixed_in} for b in cause.known_bugs],
    }


def _evidence(line: Evidence) -> Cells:
    return {
        "path": line.path,
        "line": line.line,
        "byte_offset": line.byte_offset,
        "timestamp": micros(line.timestamp),
        "text": line.text,
    }
