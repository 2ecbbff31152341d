"""Exports Timesketch JSONL: every event, generation, pause and incident as a line of a forensic timeline."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.documents import Document, json_line
from rebalance_forensics.report.lanes import lanes_by_mark
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.times import iso
from rebalance_forensics.report.wording import impact
from rebalance_forensics.timeline.model import GroupHistory

TEXT_CHARACTERS = 4_000
# Every row repeats the names; names chosen by people are shorter.
NAME_CHARACTERS = 1_000


def export(report: Report) -> str:
    """Write everything that has a time, in order."""
    rows = [row for history in report.groups for row in _group(history)]
    rows += [_incident(incident) for incident in report.incidents]
    # Rows without a real time are left out.
    rows = [row for row in rows if row["datetime"]]
    rows.sort(key=lambda row: (str(row["datetime"]), str(row["timestamp_desc"]), str(row["message"])))
    return "".join(json_line(row) + "\n" for row in rows)


def _row(at: EpochMs, what: str, message: str, history: GroupHistory | Incident) -> Document:
    return {
        "message": line_of(message, TEXT_CHARACTERS),
        "datetime": iso(at) or "",
        "timestamp": at * 1000,
        "timestamp_desc": what,
        "data_type": "kafka:group:rebalance",
        "group": line_of(", ".join(_groups(history)), NAME_CHARACTERS),
        "cluster": line_of(history.cluster, NAME_CHARACTERS),
    }


def _groups(subject: GroupHistory | Incident) -> tuple[str, ...]:
    return subject.group_names if isinstance(subject, Incident) else (subject.group,)


def _group(history: GroupHistory) -> Iterator[Document]:
    yield from _marks(history)
    for generation in history.generations:
        if generation.started_at is not None:
            reason = f": {generation.reason}" if generation.reason else ""
            yield _row(
                generation.started_at, "Rebalance started", f"{history.group} leaves its generation{reason}", history
            )
        if generation.completed_at is not None:
            formed = f"generation {generation.generation} {generation.outcome} with {generation.size} members"
            yield _row(generation.completed_at, "Generation completed", f"{history.group} {formed}", history)
    for pause in history.pauses:
        who = pause.client_id or pause.member_id or "unnamed member"
        yield _row(pause.started_at, "Pause started", f"{who} paused: {pause.kind}", history)
        if pause.ended_at is not None:
            yield _row(pause.ended_at, "Pause ended", f"{who} resumes", history)


def _marks(history: GroupHistory) -> Iterator[Document]:
    for mark, names in lanes_by_mark(history).items():
        row = _row(mark.at, mark.kind, mark.evidence.text, history)
        yield row | {
            "lanes": [line_of(name, NAME_CHARACTERS) for name in names],
            "label": line_of(mark.label, TEXT_CHARACTERS),
            "severity": mark.severity,
            "source_file": mark.evidence.path,
            "source_line": mark.evidence.line,
        }


def _incident(incident: Incident) -> Document:
    cause = incident.root_causes[0]
    row = _row(incident.started_at, "Incident started", incident.summary, incident)
    return row | {
        "incident": incident.id,
        "cause": cause.cause,
        "confidence": round(cause.confidence, 4),
        "severity": incident.severity,
        "impact": impact(incident.impact),
        "tag": ["incident", cause.cause],
    }


EXPORTS = {"timesketch": export}
