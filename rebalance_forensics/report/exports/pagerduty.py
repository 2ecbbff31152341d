"""Exports PagerDuty events (Events API v2), one per line; the dedup key is the incident id, so runs update alerts."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.differential import chance, deciding, serious_rivals
from rebalance_forensics.report.documents import Document, json_line
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of, prose
from rebalance_forensics.report.times import iso
from rebalance_forensics.report.urgency_order import faults
from rebalance_forensics.report.wording import cluster_of, culprits, group_of, impact, place, since
from rebalance_forensics.timeline.model import Evidence

SUMMARY, TEXT = 900, 500
PROOF_SHOWN = 5


def export(report: Report) -> str:
    """Write the events of every fault; an incident that is over is triggered, then resolved."""
    return "".join(
        json_line(event) + "\n" for incident in faults(report) for event in _events(incident, report.link_to(incident))
    )


def _events(incident: Incident, link: str | None) -> Iterator[Document]:
    # The routing key is a secret that the sender fills in.
    base: Document = {"routing_key": "", "dedup_key": incident.id}
    links: Document = {"links": [{"href": link, "text": "Report"}]} if link else {}
    trigger: Document = {"event_action": "trigger", "client": "rebalance-forensics", "payload": _payload(incident)}
    yield base | trigger | links
    if not incident.ongoing and incident.ended_at is not None:
        yield base | {"event_action": "resolve"}


def _payload(incident: Incident) -> Document:
    cause = incident.root_causes[0]
    payload: Document = {
        "summary": line_of(prose(f"{incident.group or group_of(incident)}: {incident.summary}"), SUMMARY)[:1024],
        "source": line_of(cluster_of(incident) or incident.group or group_of(incident), TEXT),
        "severity": incident.severity,
        "timestamp": iso(incident.started_at),
        "group": line_of(", ".join(incident.group_names), TEXT),
        "class": cause.cause,
        "custom_details": {
            "culprit": line_of(culprits(cause), TEXT),
            "confidence": round(cause.confidence, 4),
            "impact": impact(incident.impact),
            "unread_partition_ms": incident.impact.unread_partition_ms,
            "stopped_ms": incident.impact.stopped_ms,
            "since": since(incident),
            "advice": [line_of(prose(advice.action), TEXT) for advice in cause.advice],
            "proof": [_proof(line) for line in cause.evidence[:PROOF_SHOWN]],
            **_rivals(incident),
        },
    }
    return payload | {"component": line_of(cause.culprits[0].name, TEXT)} if cause.culprits else payload


def _rivals(incident: Incident) -> Document:
    # Serious rivals and the log that would decide; empty if the cause is nearly certain.
    rivals = serious_rivals(incident)
    if not rivals:
        return {}
    return {
        "or": [chance(rival) for rival in rivals],
        "would_decide": [line_of(prose(wanted), TEXT) for wanted in deciding(incident)],
    }


def _proof(line: Evidence) -> str:
    return line_of(f"{place(line)}  {line.text}", TEXT)


EXPORTS = {"pagerduty": export}
