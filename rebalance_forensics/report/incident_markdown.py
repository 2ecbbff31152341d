"""One incident as Markdown for a ticket, a chat or a post-mortem; text from logs is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.model import Incident, RootCause
from rebalance_forensics.records import is_timed
from rebalance_forensics.report.differential import chance, exclusions, likelihoods, ruled_out
from rebalance_forensics.report.incident_facts import (
    facts,
    fixed,
    lines_left_out,
    narrative_beyond,
    of_one_day,
    steps_of,
)
from rebalance_forensics.report.plain_text import line_of, lines_of, prose
from rebalance_forensics.report.times import time_of_day, utc
from rebalance_forensics.report.wording import group_of, place
from rebalance_forensics.timeline.evidence import abridged
from rebalance_forensics.timeline.model import Evidence

LINE_CHARACTERS = 1_000
LINK = re.compile(r"@|:(?=//)|\bwww(?=\.)|\bmailto(?=:)", re.IGNORECASE)


def incident_markdown(incident: Incident, to_fill_in: Sequence[str] = ()) -> Iterator[str]:
    """Write an incident: facts, each possible cause with its timeline, proof and advice, and causes ruled out."""
    # `to_fill_in` are labels of facts that people fill in.
    yield from (f"# {safe(incident.summary)}", "", "| | |", "|---|---|")
    yield from (f"| {label} | {safe(value)} |" for label, value in _facts(incident))
    yield from (f"| {label} | |" for label in to_fill_in)
    yield ""
    for rank, cause in enumerate(incident.root_causes):
        yield f"## {safe(f'Or {chance(cause)}' if rank else f'What happened: {cause.cause}')}"
        yield ""
        if why := narrative_beyond(cause, incident):
            yield from (safe(why), "")
        yield from _cause(cause)
    if incident.ruled_out:
        yield from ("## Ruled out", "")
        for other in exclusions(incident):
            yield f"- **{safe(', '.join(other.causes))}**: {safe(ruled_out(other.example, incident))}"
        yield ""


def _facts(incident: Incident) -> Iterator[tuple[str, str]]:
    yield "Incident", incident.id
    yield "Group", group_of(incident)
    yield "Severity", incident.severity
    yield "Root cause", likelihoods(incident)
    yield from ((fact.label, fact.value) for fact in facts(incident))


def _cause(cause: RootCause) -> Iterator[str]:
    steps = [*steps_of(cause)]
    if steps:
        shown = time_of_day if of_one_day(steps) else utc
        yield from ("### Timeline", "", "| time (UTC) | event | line |", "|---|---|---|")
        for moment in steps:
            line = f"`{code(place(moment.evidence))}`" if moment.evidence else ""
            yield f"| {shown(moment.at, 'unknown')} | {safe(moment.what)}{moment.repeated} | {line} |"
        yield ""
    yield from ("### Proof", "")
    for evidence in cause.evidence:
        yield from _quoted(evidence)
    if left_out := lines_left_out(cause):
        yield from (left_out, "")
    if cause.advice:
        yield from ("### What to do", "")
        for number, advice in enumerate(cause.advice, 1):
            cost = f" {safe(advice.cost)}" if advice.cost else ""
            yield f"{number}. **{safe(advice.action)}** {safe(advice.why)}{cost}"
        yield ""
    for bug in cause.known_bugs:
        yield from (f"Known bug {safe(bug.jira)}: {safe(bug.title)}; {fixed(bug)}.", "")


def _quoted(line: Evidence) -> Iterator[str]:
    longest = max((len(run) for run in re.findall("`+", line.text)), default=0)
    fence = "`" * max(3, longest + 1)
    when = f" {time_of_day(line.timestamp)}" if is_timed(line.timestamp) else ""
    yield from (
        f"`{code(place(line))}`{when}",
        "",
        f"{fence}text",
        *lines_of(abridged(line.text, LINE_CHARACTERS), LINE_CHARACTERS),
        fence,
        "",
    )


def safe(text: str) -> str:
    """Escape Markdown and HTML."""
    escaped = re.sub(r"([\\`*_{}\[\]#!|~])", r"\\\1", line_of(prose(text), LINE_CHARACTERS))
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Mentions would notify users of the ticket system, and addresses would become links.
    return LINK.sub(lambda found: f"{found.group()}&#8203;", escaped)


def code(text: str) -> str:
    """Remove characters that would end a code span or a table cell."""
    return line_of(text, LINE_CHARACTERS).replace("`", "'").replace("|", "\\|")
