"""Markdown for a ticket or a post-mortem, with blank fields for what only people know."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident, RootCause
from rebalance_forensics.records import is_timed
from rebalance_forensics.report.chains import steps_of
from rebalance_forensics.report.conclusions import conclusion
from rebalance_forensics.report.differential import LEGEND, chance, deciding, likelihoods, ruled_out, sign_table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of, prose
from rebalance_forensics.report.times import time_of_day
from rebalance_forensics.report.urgency_order import faults, unexplained
from rebalance_forensics.report.wording import (
    alternative,
    count,
    culprits,
    group_of,
    impact,
    names_besides,
    narrative,
    place,
    ranges,
    since,
    some,
    step,
)
from rebalance_forensics.timeline.model import Evidence

SUFFIX = ".md"
LINE_CHARACTERS = 1_000
LINK = re.compile(r"@|:(?=//)|\bwww(?=\.)|\bmailto(?=:)", re.IGNORECASE)
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
        yield from (f"- {_safe(group_of(one))}, {since(one)}: {_safe(one.summary)}" for one in open_ones)
        yield ""
    if report.gaps:
        yield from ("## What the logs do not show", "")
        yield from (f"- {_safe(gap.what)}: {_safe(gap.consequence)}" for gap in report.gaps)
        yield ""
    yield f"Made by rebalance-forensics {report.tool_version} from {count(len(report.inputs), 'file')}. Times are UTC."


def _incident(incident: Incident) -> Iterator[str]:
    yield from (f"# {_safe(incident.summary)}", "", "| | |", "|---|---|")
    yield from (f"| {label} | {_safe(value)} |" for label, value in _facts(incident))
    yield ""
    for rank, cause in enumerate(incident.root_causes):
        yield from _cause(cause, f"Or {chance(cause)}" if rank else f"What happened: {cause.cause}")
    if incident.ruled_out:
        yield from ("## Ruled out", "")
        yield from (f"- **{_safe(other.cause)}**: {_safe(ruled_out(other, incident))}" for other in incident.ruled_out)
        yield ""
    if incident.what_if:
        yield from ("## What if", "")
        yield from (f"- {_safe(alternative(other))}" for other in incident.what_if)
        yield ""
    yield from _signs(incident)
    for title, blank in BLANKS:
        yield from (f"## {title}", "", blank if blank.startswith("|") else f"_{blank}_", "")


def _facts(incident: Incident) -> Iterator[tuple[str, str]]:
    cause = incident.root_causes[0]
    yield "Incident", incident.id
    yield "Group", group_of(incident)
    yield "Severity", incident.severity
    yield "Root cause", likelihoods(incident)
    for one in incident.would_decide:
        yield "Would decide", deciding(one, incident)
    yield "Culprit", culprits(cause)
    others = [name for one in cause.culprits for name in names_besides(one)]
    if others:
        yield "Also known as", some(others)
    yield "When", since(incident)
    yield "Impact", impact(incident.impact)
    if incident.generations:
        yield "Generations", ranges(incident.generations)
    for relation in incident.related:
        yield "Related", f"{relation.why} Incidents {some(relation.ids)}."
    yield "Authors", ""
    yield "Status", ""


def _signs(incident: Incident) -> Iterator[str]:
    """Every cause against every sign that decides something, as a table."""
    table = sign_table(incident)
    if not table.telling:
        return
    heads = [f"{_safe(one.cause)} ({one.standing})" for one in table.hypotheses]
    yield from ("## Why", "", f"| {' | '.join([*heads, 'sign', 'read in'])} |", f"|{'---|' * (len(heads) + 2)}")
    for line in table.telling:
        marks = (f"`{mark}`" if mark else "" for mark in line.marks)
        where = f"`{_code(line.where)}`" if line.where else ""
        yield f"| {' | '.join([*marks, _safe(line.says), where])} |"
    yield from ("", _safe(LEGEND), "")


def _cause(cause: RootCause, title: str) -> Iterator[str]:
    yield from (f"## {_safe(title)}", "", _safe(narrative(cause)), "")
    if cause.chain:
        yield from ("| time (UTC) | event | line |", "|---|---|---|")
        for one in steps_of(cause):
            line = f"`{_code(place(one.evidence))}`" if one.evidence else ""
            yield f"| {time_of_day(one.at, 'unknown')} | {_safe(step(one.what))}{one.repeated} | {line} |"
        yield ""
    yield from ("## Proof", "")
    for evidence in cause.evidence:
        yield from _quoted(evidence)
    if cause.evidence_total > len(cause.evidence):
        yield from (f"The {len(cause.evidence)} most telling of {cause.evidence_total} lines.", "")
    if cause.advice:
        yield from ("## What to do", "")
        for number, advice in enumerate(cause.advice, 1):
            cost = f" {_safe(advice.cost)}" if advice.cost else ""
            yield f"{number}. **{_safe(advice.action)}** {_safe(advice.why)}{cost}"
        yield ""
    for bug in cause.known_bugs:
        fixed = f"fixed in {bug.fixed_in}" if bug.fixed_in else "no fixed release known"
        yield from (f"Known bug {_safe(bug.jira)}: {_safe(bug.title)}; {fixed}.", "")


def _quoted(line: Evidence) -> Iterator[str]:
    text = line_of(line.text, LINE_CHARACTERS)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    when = f" {time_of_day(line.timestamp)}" if is_timed(line.timestamp) else ""
    yield from (f"`{_code(place(line))}`{when}", "", f"{fence}text", text, fence, "")


def _safe(text: str) -> str:
    """Escape what Markdown or the HTML inside it would act on."""
    escaped = re.sub(r"([\\`*_{}\[\]#!|~])", r"\\\1", line_of(prose(text), LINE_CHARACTERS))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Mentions would ping people of the ticket system, and a stranger's address would become a link.
    return LINK.sub(lambda found: f"{found.group()}&#8203;", escaped)


def _code(text: str) -> str:
    return line_of(text, LINE_CHARACTERS).replace("`", "'").replace("|", "\\|")
