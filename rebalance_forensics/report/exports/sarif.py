"""Exports SARIF 2.1.0: every root cause as a result with log lines as locations, for code scanning and IDEs."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from rebalance_forensics.diagnosis.model import Incident, RootCause, Severity
from rebalance_forensics.diagnosis.reference.glossary import glossary
from rebalance_forensics.report.differential import chance
from rebalance_forensics.report.documents import Document, Json, written
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of, prose
from rebalance_forensics.report.times import iso
from rebalance_forensics.report.wording import culprits, impact
from rebalance_forensics.timeline.model import Evidence

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: dict[Severity, str] = {"critical": "error", "warning": "warning", "info": "note"}
SNIPPET_CHARACTERS = 4_000


def export(report: Report) -> str:
    """Write all incidents as one SARIF run."""
    causes = sorted({cause.cause for incident in report.incidents for cause in incident.root_causes})
    results = [_result(incident, cause, causes) for incident in report.incidents for cause in incident.root_causes]
    driver: Document = {
        "name": "rebalance-forensics",
        "version": report.tool_version,
        "rules": [_rule(cause) for cause in causes],
    }
    run: Document = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return written({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(cause: str) -> Document:
    known = glossary().causes.get(cause)
    if known is None:
        return {"id": cause, "name": cause, "shortDescription": {"text": cause.replace("-", " ")}}
    return {
        "id": cause,
        "name": cause,
        "shortDescription": {"text": known.summary},
        "fullDescription": {"text": known.mechanism},
        "help": {"text": known.remedy},
    }


def _result(incident: Incident, cause: RootCause, causes: Sequence[str]) -> Document:
    return {
        "ruleId": cause.cause,
        "ruleIndex": causes.index(cause.cause),
        # No `kind`: only a failure may have a level, and a note is wanted for what was planned.
        "level": LEVELS[incident.severity] if cause is incident.root_causes[0] else "note",
        "message": {"text": _message(incident, cause)},
        "locations": [_location(line) for line in cause.evidence[:1]],
        "relatedLocations": [{"id": number, **_location(line)} for number, line in enumerate(cause.evidence[1:], 1)],
        "partialFingerprints": {"incidentId/v1": incident.id},
        "properties": {
            "confidence": round(cause.confidence, 4),
            "group": incident.group,
            "cluster": incident.cluster,
            "culprits": [culprit.name for culprit in cause.culprits],
            "startedAt": iso(incident.started_at),
            "endedAt": iso(incident.ended_at),
            "ongoing": incident.ongoing,
            "unreadPartitionMs": incident.impact.unread_partition_ms,
            "longestUnreadMs": incident.impact.longest_unread_ms,
            "stoppedMs": incident.impact.stopped_ms,
        },
    }


def _message(incident: Incident, cause: RootCause) -> str:
    advice = f" What to do: {cause.advice[0].action}" if cause.advice else ""
    verdict = incident.summary if cause is incident.root_causes[0] else f"Or {chance(cause)}: {cause.whole_narrative}"
    cost = f" Impact: {impact(incident.impact)}." if cause is incident.root_causes[0] else ""
    return line_of(prose(f"{verdict} Culprit: {culprits(cause)}.{cost}{advice}"), SNIPPET_CHARACTERS)


def _location(line: Evidence) -> dict[str, Json]:
    region: Document = {
        "startLine": line.line,
        "snippet": {"text": line_of(line.text, SNIPPET_CHARACTERS)},
    }
    # A path may contain any character; SARIF requires a URI reference.
    uri = quote(line.path, safe="/!.-_~", errors="replace")
    where: Document = {"artifactLocation": {"uri": uri}, "region": region}
    # SARIF's own byteOffset would mark the file as binary.
    return {"physicalLocation": where, "properties": {"byteOffset": line.byte_offset}}


EXPORTS = {"sarif": export}
