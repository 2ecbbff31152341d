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
    """The same as the ledger's rows have it when they are read back."""
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)


def millis(at: datetime) -> EpochMs:
    """And back, to epoch ms."""
    return EpochMs(round(at.replace(tzinfo=at.tzinfo or UTC).timestamp() * 1000))


def generation_row(history: GroupHistory, one: Generation) -> Cells:
    """One row of `generations`."""
    return {
        "id": hashed(history.cluster, history.group, one.generation, one.started_at or one.completed_at),
        "group": history.group,
        "kind": history.kind,
        "protocol": history.protocol,
        "generation": one.generation,
        "started_at": micros(one.started_at),
        "completed_at": micros(one.completed_at),
        "trigger": one.trigger,
        "leader": one.leader,
        "members": [asdict(member) for member in one.members],
        "joined": list(one.joined),
        "left": list(one.left),
        "outcome": one.outcome,
        "reason": one.reason,
    }


def pause_row(history: GroupHistory, one: Pause) -> Cells:
    """One row of `pauses`."""
    return {
        "id": hashed(history.cluster, history.group, one.client_id, one.member_id, one.started_at, *one.partitions),
        "group": history.group,
        "client_id": one.client_id,
        "member_id": one.member_id,
        "started_at": micros(one.started_at),
        "ended_at": micros(one.ended_at),
        "ms": one.lasted_ms,
        "partitions": list(one.partitions),
        "kind": one.kind,
    }


def unread_row(history: GroupHistory, one: UnreadSpan) -> Cells:
    """One row of `unread`."""
    return {
        "id": hashed(history.cluster, history.group, one.partition, one.started_at),
        "group": history.group,
        "incident_id": one.incident,
        "partition": one.partition,
        "started_at": micros(one.started_at),
        "from_earliest": micros(one.from_earliest),
        "ended_at": micros(one.ended_at),
        "ms": one.lasted_ms,
        "why": one.why,
        "certain": one.certain,
        "client_id": one.client_id,
    }


def incident_row(one: Incident) -> Cells:
    """One row of `incidents`."""
    cause = one.root_causes[0]
    return {
        "id": one.id,
        "group": one.group,
        "started_at": micros(one.started_at),
        "ended_at": micros(one.ended_at),
        "ongoing": one.ongoing,
        "severity": one.severity,
        "summary": one.summary,
        "cause": cause.cause,
        "confidence": cause.confidence,
        "culprits": [culprit.name for culprit in cause.culprits],
        "followups": list(one.followups),
        "generations": list(one.generations),
        "unread_partition_ms": one.impact.unread_partition_ms,
        "unread_at_least": one.impact.unread_at_least,
        "longest_unread_ms": one.impact.longest_unread_ms,
        "longest_unread_partition": one.impact.longest_unread_partition,
        "stopped_ms": one.impact.stopped_ms,
        "pause_ms": one.impact.pause_ms,
        "members": one.impact.members,
        "partitions": one.impact.partitions,
        "rebalances": one.impact.rebalances,
        "by_member": None if one.impact.by_member is None else asdict(one.impact.by_member),
        "occurrences": one.occurrences,
        "ruled_out": [_ruled_out(other) for other in one.ruled_out],
        "would_decide": [_would_decide(other) for other in one.would_decide],
        "related": [{**asdict(relation), "ids": list(relation.ids)} for relation in one.related],
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


def finding_rows(one: Incident) -> Iterator[Cells]:
    """The rows of `findings`, one a root cause."""
    for rank, cause in enumerate(one.root_causes):
        yield {
            "id": f"{one.id}-{rank}",
            "incident_id": one.id,
            "group": one.group,
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
