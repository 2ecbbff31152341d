"""Exports Markdown for a ticket or a post-mortem, with blank fields for people to fill in."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.conclusions import conclusion
from rebalance_forensics.report.differential import LEGEND, sign_table
from rebalance_forensics.report.incident_markdown import code, incident_markdown, safe
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.urgency_order import faults, unexplained
from rebalance_forensics.report.wording import alternative, count, group_of, since

PEOPLE = ("Authors", "Status")
BLANKS = (
    ("Detection", "Who or what noticed it, and when?"),
    ("Customer impact", "What did users see?"),
    ("Resolution", "What ended it, and who did it?"),
    ("Action items", "| action | owner | due |\n|---|---|---|\n| | | |"),
    ("Lessons", "What went well, what went wrong, where were we lucky?"),
)


def export(report: Report) -> str:
    """Write a post-mortem of every fault, the most urgent first."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    found = faults(report)
    if not found:
        concluded = conclusion(report)
        yield from (f"# {concluded.title}", "", f"{concluded.details}." if concluded.details else "", "")
    for incident in found:
        yield from _incident(incident)
    if open_ones := unexplained(report):
        yield from ("## Unexplained", "")
        yield from (
            f"- {safe(group_of(incident))}, {since(incident)}: {safe(incident.summary)}" for incident in open_ones
        )
        yield ""
    if report.gaps:
        yield from ("## What the logs do not show", "")
        yield from (f"- {safe(' '.join(gap.sentences))}" for gap in report.gaps)
        yield ""
    yield f"Made by rebalance-forensics {report.tool_version} from {count(len(report.inputs), 'file')}. Times are UTC."


def _incident(incident: Incident) -> Iterator[str]:
    yield from incident_markdown(incident, to_fill_in=PEOPLE)
    if incident.what_if:
        yield from ("## What if", "")
        yield from (f"- {safe(alternative(other))}" for other in incident.what_if)
        yield ""
    yield from _signs(incident)
    for title, blank in BLANKS:
        yield from (f"## {title}", "", blank if blank.startswith("|") else f"_{blank}_", "")


def _signs(incident: Incident) -> Iterator[str]:
    table = sign_table(incident)
    if not table.relevant:
        return
    heads = [f"{safe(hypothesis.cause)} ({hypothesis.standing})" for hypothesis in table.hypotheses]
    yield from ("## Why", "", f"| {' | '.join([*heads, 'sign', 'read in'])} |", f"|{'---|' * (len(heads) + 2)}")
    for line in table.relevant:
        marks = (f"`{mark}`" if mark else "" for mark in line.marks)
        where = f"`{code(line.where)}`" if line.where else ""
        yield f"| {' | '.join([*marks, safe(line.wording), where])} |"
    yield from ("", safe(LEGEND), "")


EXPORTS = {"markdown": export}
