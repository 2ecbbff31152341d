"""Exports a Slack message for a webhook: verdict, impact, culprit, time and link on one line, then the rest."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.diagnosis.wording.durations import capitalized
from rebalance_forensics.records import is_dated
from rebalance_forensics.report.conclusions import conclusion
from rebalance_forensics.report.differential import chance, deciding, serious_rivals
from rebalance_forensics.report.documents import Document, Json, written
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of, prose
from rebalance_forensics.report.times import utc
from rebalance_forensics.report.urgency_order import faults, is_unexplained
from rebalance_forensics.report.wording import cluster_of, count, culprits, group_of, impact, place, since, sureness
from rebalance_forensics.timeline.evidence import abridged

SECTION, FIELD, LINE, PART = 2_800, 1_900, 300, 600
INCIDENTS_SHOWN = 5
PROOF_SHOWN = 3
# Slack writes it in the reader's zone.
READERS_TIME = "{date_short_pretty} {time}"


def export(report: Report) -> str:
    """Write one message about the most urgent incidents."""
    found = faults(report)
    blocks: list[Json] = [
        block for incident in found[:INCIDENTS_SHOWN] for block in _incident(incident, report.link_to(incident))
    ]
    if len(found) > INCIDENTS_SHOWN:
        blocks.append(_section(f"And {count(len(found) - INCIDENTS_SHOWN, 'more incident')}."))
    if not found:
        concluded = str(conclusion(report))
        return written({"text": _unmarked(line_of(prose(concluded), SECTION)), "blocks": [_section(concluded)]})
    # Shown where blocks are not, as in a notification. It is parsed as markup, so it must not contain a mention.
    first = found[0]
    text = _unmarked(line_of(prose(f"{_verdict(first)} {_summary(first)}"), SECTION))
    at = first.started_at
    began = f" <!date^{at // 1_000}^{READERS_TIME}|{utc(at)} UTC>" if is_dated(at) else ""
    return written({"text": f"{text}{began}", "blocks": blocks})


def _incident(incident: Incident, link: str | None) -> Iterator[Document]:
    cause, rivals = incident.root_causes[0], serious_rivals(incident)
    yield {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": list(_in_one_line(incident, link))}],
    }
    yield _section(incident.summary)
    facts = [f"When: {since(incident)}", *(f"Or {chance(rival)}" for rival in rivals)]
    yield {"type": "section", "fields": [_plain(fact, FIELD) for fact in facts]}
    if rivals and incident.would_decide:
        yield _section("To settle it, " + "; ".join(deciding(incident)))
    if cause.advice:
        yield _section("What to do: " + " ".join(advice.action for advice in cause.advice[:PROOF_SHOWN]))
    if cause.evidence:
        lines = [f"{place(line)}  {abridged(line.text, LINE)}" for line in cause.evidence[:PROOF_SHOWN]]
        yield {"type": "context", "elements": [_plain(line, FIELD) for line in lines]}
    yield {
        "type": "context",
        "elements": [_plain(f"Incident {incident.id}, cluster {cluster_of(incident) or 'unnamed'}", FIELD)],
    }


def _in_one_line(incident: Incident, link: str | None) -> Iterator[Document]:
    # Rich text, in which no text from a log is markup, a mention or an emoji.
    yield {"type": "text", "text": line_of(prose(_verdict(incident)), PART), "style": {"bold": True}}
    yield {"type": "text", "text": f" {line_of(prose(_summary(incident)), SECTION)}"}
    if is_dated(incident.started_at):
        yield {"type": "text", "text": " Began "}
        yield {
            "type": "date",
            "timestamp": incident.started_at // 1_000,
            "format": READERS_TIME,
            "fallback": f"{utc(incident.started_at)} UTC",
        }
        yield {"type": "text", "text": ", still going on." if incident.ongoing else "."}
    if link:
        yield {"type": "text", "text": " "}
        yield {"type": "link", "url": link, "text": "Report"}


def _verdict(incident: Incident) -> str:
    cause = incident.root_causes[0]
    found = "unexplained" if is_unexplained(incident) else f"{cause.cause}, {sureness(cause.confidence)}"
    return f"{incident.severity.capitalize()}: {found}, in {group_of(incident)}."


def _summary(incident: Incident) -> str:
    return f"{capitalized(impact(incident.impact))}. Culprit: {culprits(incident.root_causes[0])}."


def _section(text: str) -> Document:
    return {"type": "section", "text": _plain(text, SECTION)}


def _plain(text: str, limit: int) -> Document:
    # A text object without markup, mentions or emoji.
    whole = line_of(prose(text), limit)
    return {"type": "plain_text", "text": whole[: limit + 10] or "-", "emoji": False}


def _unmarked(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


EXPORTS = {"slack": export}
