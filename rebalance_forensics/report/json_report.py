"""The report as JSON: the public face that scripts rely on; fields of later releases follow those of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from rebalance_forensics.diagnosis.model import (
    ChainLink,
    Gap,
    Impact,
    Incident,
    MemberImpact,
    RootCause,
    RuledOut,
    Saving,
    SearchedLog,
    SignRow,
    WhatIf,
    WouldDecide,
)
from rebalance_forensics.process.garbage_collection import collecting_rarely
from rebalance_forensics.report.documents import Document, Json, pieces
from rebalance_forensics.report.model import InputSummary, Report
from rebalance_forensics.report.times import iso
from rebalance_forensics.report.wording import narrative
from rebalance_forensics.timeline.evidence import shortened
from rebalance_forensics.timeline.model import (
    Burst,
    Evidence,
    FailedAttempt,
    Generation,
    GroupHistory,
    Identity,
    LeaderChange,
    Member,
    Participation,
    Pause,
    Reading,
    Spacing,
    UnreadSpan,
)

SCHEMA_VERSION = 1


def to_json(report: Report) -> str:
    """Write the whole report; the same report gives the same bytes."""
    return "".join(json_pieces(report))


def json_pieces(report: Report) -> Iterator[str]:
    """The JSON report in chunks, for a file."""
    with collecting_rarely():
        yield from pieces(
            {
                "schema_version": SCHEMA_VERSION,
                "tool": {"name": "rebalance-forensics", "version": report.tool_version},
                # Each is built when it is written: the documents of thousands of groups would not fit into memory.
                "inputs": map(_input, report.inputs),
                "groups": map(_group, report.groups),
                "incidents": map(_incident, report.incidents),
                "gaps": map(_gap, report.gaps),
            }
        )


def _input(summary: InputSummary) -> Document:
    return {
        "path": summary.path,
        "cluster": summary.cluster,
        "host": summary.host,
        "component": summary.component,
        "kafka_version": summary.kafka_version,
        "layout": summary.layout,
        "envelope": summary.envelope,
        "zone": summary.zone,
        "clock_skew_ms": summary.clock_skew_ms,
        "bytes": summary.bytes,
        "lines": summary.lines,
        "records": summary.records,
        "matched": summary.matched,
        "unmatched_kafka": summary.unmatched_kafka,
        "unparsed": summary.unparsed,
        "first": iso(summary.first),
        "last": iso(summary.last),
        "errors": list(summary.errors),
    }


def _group(history: GroupHistory) -> Document:
    return {
        "group": history.group,
        "cluster": history.cluster,
        "kind": history.kind,
        "protocol": history.protocol,
        "protocols": [
            {"protocol": term.protocol, "from": iso(term.started_at), "to": iso(term.ended_at)}
            for term in history.protocols
        ],
        "rebalance_mode": history.rebalance_mode,
        "coordinators": [
            {"broker": term.broker, "from": iso(term.started_at), "to": iso(term.ended_at)}
            for term in history.coordinators
        ],
        "generations": [_generation(generation) for generation in history.generations],
        "pauses": [_pause(pause) for pause in history.pauses],
        "unread": [_unread(span) for span in history.unread],
        "identities": [_identity(identity) for identity in history.identities],
        "settings": dict(history.settings),
        "versions": [{"name": name, "version": version} for name, version in history.versions],
        "offsets_partition": history.offsets_partition,
        "named": history.named,
        **reading_document(history.reading),
    }


def _generation(generation: Generation) -> Document:
    return {
        "generation": generation.generation,
        "started_at": iso(generation.started_at),
        "completed_at": iso(generation.completed_at),
        "trigger": generation.trigger,
        "leader": generation.leader,
        "members": [_member(member) for member in generation.members],
        "joined": list(generation.joined),
        "left": list(generation.left),
        "outcome": generation.outcome,
        "reason": generation.reason,
        "followup": generation.followup,
        "failures": list(generation.failures),
    }


def _member(member: Member) -> Document:
    return {
        "member_id": member.member_id,
        "client_id": member.client_id,
        "instance_id": member.instance_id,
        "host": member.host,
    }


def _pause(pause: Pause) -> Document:
    return {
        "client_id": pause.client_id,
        "member_id": pause.member_id,
        "from": iso(pause.started_at),
        "to": iso(pause.ended_at),
        "ms": pause.lasted_ms,
        "partitions": list(pause.partitions),
        "kind": pause.kind,
    }


def _unread(span: UnreadSpan) -> Document:
    return {
        "partition": span.partition,
        "from": iso(span.started_at),
        "to": iso(span.ended_at),
        "ms": span.lasted_ms,
        "client_id": span.client_id,
        "why": span.why,
        "certain": span.certain,
        "from_earliest": iso(span.from_earliest),
        "incident": span.incident,
    }


def _identity(identity: Identity) -> Document:
    return {
        "name": identity.name,
        "kind": identity.kind,
        "names": list(identity.names),
        "client_id": identity.client_id,
        "member_ids": list(identity.member_ids),
        "instance_id": identity.instance_id,
        "process": identity.process,
        "thread": identity.thread,
        "host": identity.host,
        "files": list(identity.files),
        "from": iso(identity.started_at),
        "to": iso(identity.ended_at),
    }


def _incident(incident: Incident) -> Document:
    return {
        "id": incident.id,
        "group": incident.group,
        "cluster": incident.cluster,
        "started_at": iso(incident.started_at),
        "ended_at": iso(incident.ended_at),
        "ongoing": incident.ongoing,
        "severity": incident.severity,
        "summary": incident.summary,
        "root_causes": [_root_cause(cause) for cause in incident.root_causes],
        "ruled_out": [_ruled_out(other) for other in incident.ruled_out],
        "would_decide": [_would_decide(log) for log in incident.would_decide],
        "followups": list(incident.followups),
        "generations": list(incident.generations),
        "impact": _impact(incident.impact),
        "what_if": [_what_if(other) for other in incident.what_if],
        "occurrences": incident.occurrences,
        "related": [
            {"kind": relation.kind, "incidents": list(relation.ids), "groups": relation.groups, "why": relation.why}
            for relation in incident.related
        ],
        "signs": [_sign(row) for row in incident.signs],
    }


def _ruled_out(other: RuledOut) -> Document:
    return {
        "cause": other.cause,
        "why": other.why,
        "sign": other.sign,
        "evidence": [evidence_document(line) for line in other.evidence],
        "looked_in": [_searched(log) for log in other.looked_in],
    }


def _would_decide(log: WouldDecide) -> Document:
    return {
        "needs": log.needs,
        "who": log.who,
        "from": iso(log.started_at),
        "to": iso(log.ended_at),
        "between": list(log.between),
    }


def _sign(row: SignRow) -> Document:
    return _whole_sign(row) if row.evidence or row.looked_in else _short_sign(row)


@lru_cache(maxsize=1 << 12)
def _short_sign(row: SignRow) -> Document:
    """A row without a line or a log of its own: a busy cluster has a million, of a few hundred kinds."""
    return _whole_sign(row)


def _whole_sign(row: SignRow) -> Document:
    return {
        "sign": row.sign,
        "says": row.says,
        "answer": row.answer,
        "weighs": [{"cause": cause, "weight": weight} for cause, weight in row.weighs],
        "evidence": [*map(evidence_document, row.evidence)],
        "looked_in": [*map(_searched, row.looked_in)],
    }


def _searched(log: SearchedLog) -> Document:
    return {"path": log.path, "from": iso(log.started_at), "to": iso(log.ended_at)}


def _root_cause(cause: RootCause) -> Document:
    return {
        "cause": cause.cause,
        "confidence": round(cause.confidence, 4),
        "culprits": [
            {"kind": culprit.kind, "name": culprit.name, "names": list(culprit.names)} for culprit in cause.culprits
        ],
        "narrative": narrative(cause),
        "evidence": [evidence_document(line) for line in cause.evidence],
        "advice": [{"action": advice.action, "why": advice.why, "cost": advice.cost} for advice in cause.advice],
        "known_bugs": [{"jira": bug.jira, "title": bug.title, "fixed_in": bug.fixed_in} for bug in cause.known_bugs],
        "evidence_total": cause.evidence_total,
        "chain": [_chain_link(link) for link in cause.chain],
        "occurrences": cause.occurrences,
        "affected": list(cause.affected),
    }


def _chain_link(link: ChainLink) -> Document:
    return {
        "at": iso(link.at),
        "what": link.what,
        "evidence": None if link.evidence is None else evidence_document(link.evidence),
    }


def _impact(impact: Impact) -> Document:
    return {
        "unread_partition_ms": impact.unread_partition_ms,
        "unread_at_least": impact.unread_at_least,
        "longest_unread_ms": impact.longest_unread_ms,
        "longest_unread_partition": impact.longest_unread_partition,
        "stopped_ms": impact.stopped_ms,
        "pause_ms": impact.pause_ms,
        "members": impact.members,
        "partitions": impact.partitions,
        "rebalances": impact.rebalances,
        "by_member": None if impact.by_member is None else _by_member(impact.by_member),
    }


def _by_member(impact: MemberImpact) -> Document:
    return {
        "members": impact.members,
        "of_members": impact.of_members,
        "unread_member_ms": impact.unread_member_ms,
        "longest_unread_ms": impact.longest_ms,
        "at_least": impact.at_least,
        "stopped_at_least_ms": impact.stopped_at_least_ms,
        "stopped_at_most_ms": impact.stopped_at_most_ms,
    }


def _what_if(other: WhatIf) -> Document:
    return {
        "alternative": other.alternative,
        "condition": other.condition,
        "saved_unread_partition_ms": _saving(other.unread),
        "saved_stopped_ms": _saving(other.stopped),
        "explanation": other.explanation,
    }


def _saving(saving: Saving | None) -> Json:
    return None if saving is None else {"low": saving.low, "likely": saving.likely, "high": saving.high}


def _gap(gap: Gap) -> Json:
    return {
        "what": gap.what,
        "from": iso(gap.started_at),
        "to": iso(gap.ended_at),
        "consequence": gap.consequence,
        "kind": gap.kind,
    }


EVIDENCE_CHARACTERS = 16_384


def reading_document(reading: Reading) -> Document:
    """Build the fields that a group gains."""
    return {
        "leadership": {
            "stable": reading.leadership.stable,
            "changes": [_change(change) for change in reading.leadership.changes],
        },
        "rebalances": [_participation(participation) for participation in reading.participants],
        "close_together": [_burst(burst) for burst in reading.close_together],
        "spacings": [_spacing(spacing) for spacing in reading.spacings],
    }


def _change(change: LeaderChange) -> Document:
    return {
        "generation": change.generation,
        "at": iso(change.at),
        "before": change.before,
        "after": change.after,
        "former_took_part": change.former_took_part,
    }


def _participation(participation: Participation) -> Document:
    return {
        "generation": participation.generation,
        "at": iso(participation.at),
        "leader": participation.leader,
        "members": None if participation.members is None else list(participation.members),
        "missing": list(participation.missing),
        "new": list(participation.new),
        "renewed": list(participation.renewed),
        "consumers": participation.consumers,
        "clients": participation.clients,
    }


def _burst(burst: Burst) -> Document:
    return {
        "generations": list(burst.generations),
        "from": iso(burst.started_at),
        "to": iso(burst.ended_at),
        "rebalances": burst.rebalances,
        "reasons": list(burst.reasons),
        "failures": [_failure(failure) for failure in burst.failures],
    }


def _failure(failure: FailedAttempt) -> Document:
    return {
        "at": iso(failure.at),
        "who": failure.who,
        "api": failure.api,
        "generation": failure.generation,
        "error": failure.error,
        "why": failure.why,
        "times": failure.times,
        "evidence": evidence_document(failure.evidence),
    }


def _spacing(spacing: Spacing) -> Document:
    return {
        "from_generation": spacing.from_generation,
        "to_generation": spacing.to_generation,
        "at": iso(spacing.at),
        "gap_ms": spacing.gap_ms,
        "setting": spacing.setting,
        "value_ms": spacing.value_ms,
        "configured": spacing.configured,
        "evenly": spacing.evenly,
        "why": spacing.why,
    }


def evidence_document(line: Evidence) -> Document:
    """Quote a log line."""
    text = line.text
    return {
        "path": line.path,
        "line": line.line,
        "byte_offset": line.byte_offset,
        "timestamp": iso(line.timestamp),
        "text": text if len(text) <= EVIDENCE_CHARACTERS else shortened(text, EVIDENCE_CHARACTERS),
    }
