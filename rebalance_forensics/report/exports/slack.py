"""A Slack message payload: verdict, culprit, impact and advice; post it to a webhook as it is."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.conclusions import conclusion
from rebalance_forensics.report.differential import chance, deciding, serious_rivals
from rebalance_forensics.report.documents import Document, Json, written
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of, prose, shortened
from rebalance_forensics.report.urgency_order import faults
from rebalance_forensics.report.wording import cluster_of, count, culprits, impact, place, since, sureness

SUFFIX = ".slack.json"
HEADER, SECTION, FIELD, LINE = 140, 2_800, 1_900, 300
INCIDENTS_SHOWN = 5
PROOF_SHOWN = 3


def export(report: Report) -> str:
    """Write one message about the most urgent incidents."""
    found = faults(report)
    title = found[0].summary if found else str(conclusion(report))
    blocks: list[Json] = [block for incident in found[:INCIDENTS_SHOWN] for block in _incident(incident)]
    if not found:
        blocks = [_section(title)]
    if len(found) > INCIDENTS_SHOWN:
        blocks.append(_section(f"And {count(len(found) - INCIDENTS_SHOWN, 'more incident')}."))
    # The fallback text is read as markup, so nothing of it may start a mention.
    return written({"text": _unmarked(line_of(prose(title), SECTION)), "blocks": blocks})


def _incident(incident: Incident) -> Iterator[Document]:
    cause, rivals = incident.root_causes[0], serious_rivals(incident)
    yield {
        "type": "header",
        "text": _plain(f"{incident.severity.capitalize()}: {cause.cause} in {incident.group}", HEADER),
    }
    yield _section(incident.summary)
    facts = (
        f"Culprit: {culprits(cause)}",
        "; or ".join([f"Cause: {cause.cause}, {sureness(cause.confidence)}", *map(chance, rivals)]),
        f"Impact: {impact(incident.impact)}",
        f"When: {since(incident)}",
    )
    yield {"type": "section", "fields": [_plain(fact, FIELD) for fact in facts]}
    if rivals and incident.would_decide:
        yield _section("Would decide: " + "; ".join(deciding(one, incident) for one in incident.would_decide))
    if cause.advice:
        yield _section("What to do: " + " ".join(advice.action for advice in cause.advice[:PROOF_SHOWN]))
    if cause.evidence:
        lines = [f"{place(line)}  {shortened(line.text, LINE)}" for line in cause.evidence[:PROOF_SHOWN]]
        yield {"type": "context", "elements": [_plain(line, FIELD) for line in lines]}
    yield {
        "type": "context",
        "elements": [_plain(f"Incident {incident.id}, cluster {cluster_of(incident) or 'unnamed'}", FIELD)],
    }


def _section(text: str) -> Document:
    return {"type": "section", "text": _plain(text, SECTION)}


def _plain(text: str, limit: int) -> Document:
    """Make a text object in which nothing is markup, a mention or an emoji."""
    whole = line_of(prose(text), limit)
    return {"type": "plain_text", "text": whole[: limit + 10] or "-", "emoji": False}


def _unmarked(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
