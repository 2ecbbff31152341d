"""The part of the JSON report about how a group's rebalances read, and how a log line is quoted in it."""

from __future__ import annotations

from rebalance_forensics.report.documents import Document
from rebalance_forensics.report.times import iso
from rebalance_forensics.timeline.model import (
    Burst,
    Evidence,
    FailedAttempt,
    LeaderChange,
    Participation,
    Reading,
    Spacing,
)
from rebalance_forensics.timeline.text_limit import shortened

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
