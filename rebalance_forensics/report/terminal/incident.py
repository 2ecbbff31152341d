"""Renders one incident for a terminal: in one sentence, in brief, in full, and as a table of causes and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from rebalance_forensics.diagnosis.model import Headline, Incident, RootCause
from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.report import differential, incident_facts, times, urgency_order, wording
from rebalance_forensics.report.plain_text import lines_of
from rebalance_forensics.report.terminal.rich_blocks import columns, heading, indented, labelled, listed, text_block
from rebalance_forensics.timeline.evidence import abridged, shortened
from rebalance_forensics.timeline.model import Evidence

STYLES = {"critical": "bold red", "warning": "bold yellow", "info": "green"}
PROOF_SHOWN = 3
RULED_OUT_SHOWN = 3
GROUPS_SHOWN = 12
LINE_CHARACTERS = 400
WHOLE_LINE_CHARACTERS = 3_500
SUMMARY_CHARACTERS = 600


def verdict(incident: Headline) -> Iterator[RenderableType]:
    """What happened, and the confidence of the verdict."""
    title = Text()
    title.append(incident.severity.upper(), style=STYLES[incident.severity])
    title.append_text(text_block(f"  {wording.group_of(incident)}", "bold"))
    title.append_text(text_block(f"  incident {incident.id}", "dim"))
    yield title
    yield text_block(shortened(incident.summary, SUMMARY_CHARACTERS))
    yield text_block(differential.likelihoods(incident))


def in_brief(incident: Headline, alike: Sequence[Headline] = ()) -> Iterator[RenderableType]:
    """An incident in a few lines, for a list; `alike` are similar incidents of other groups."""
    cause = incident.root_causes[0]
    title = Text()
    title.append(incident.severity, style=STYLES[incident.severity])
    how_sure = "" if cause.cause == urgency_order.UNEXPLAINED else f" ({wording.sureness(cause.confidence)})"
    title.append_text(text_block(f"  {cause.cause}{how_sure}", "bold"))
    title.append_text(text_block(f"  {some(wording.each_with_times(map(wording.group_of, (incident, *alike))))}"))
    yield indented(title)
    yield indented(shortened(incident.summary, SUMMARY_CHARACTERS), 4)
    yield indented(text_block(f"{'first at ' if alike else ''}{wording.since(incident)}", "dim"), 4)


def in_full(incident: Incident, verbosity: int, top: int | None = None) -> Iterator[RenderableType]:
    """Verdict, culprit, impact, time, proof and advice; with `verbosity` everything else."""
    yield from verdict(incident)
    yield text_block("")
    yield labelled(_facts(incident))
    yield from _groups(incident, verbosity, GROUPS_SHOWN if top is None else top)
    first, *rivals = incident.root_causes
    yield from _cause(incident, first, verbosity)
    for rival in rivals:
        yield from _rival(rival, verbosity)
    yield from _ruled_out(incident, verbosity)
    yield from _what_if(incident)
    yield text_block("")
    yield text_block(f"More about this cause: rebalance-forensics explain {incident.root_causes[0].cause}", "dim")


def explained(incident: Incident) -> Iterator[RenderableType]:
    """How an incident was judged: the verdict, then each sign with its lines."""
    yield from verdict(incident)
    yield text_block("")
    yield labelled(_facts(incident))
    yield from _ruled_out(incident, verbosity=1)
    yield heading("Signs")
    yield from signs_of(incident, every=True)


def _facts(incident: Incident) -> Iterator[tuple[str, str]]:
    # The facts of an incident, each label once; other names of the culprit belong to the line above.
    last = ""
    for label, value, is_detail in incident_facts.facts(incident):
        if is_detail:
            yield "", f"{label.lower()} {value}"
        else:
            yield "" if label == last else label, value
        last = label


def _groups(incident: Incident, verbosity: int, most: int) -> Iterator[RenderableType]:
    if not incident.groups:
        return
    yield heading("Groups")
    shown = incident.groups if verbosity > 0 else incident.groups[:most]
    rows = [
        (
            group.group,
            group.severity,
            wording.unread_briefly(group.impact),
            wording.stopped(group.impact),
            wording.thousands(group.impact.rebalances),
        )
        for group in shown
    ]
    yield columns(("group", "severity", "unread", "stopped", "rebalances"), rows)
    left_out = len(incident.groups) - len(shown)
    if left_out:
        yield indented(
            text_block(
                f"and {wording.count(left_out, 'more group')}; --top {len(incident.groups)} lists them all", "dim"
            )
        )


def _cause(incident: Incident, cause: RootCause, verbosity: int) -> Iterator[RenderableType]:
    if cause.advice:
        yield heading("What to do")
        yield from _advice(cause)
    # How often, and which others were affected, is shown among the facts.
    if narrative := incident_facts.narrative_beyond(cause, incident):
        yield heading("What happened")
        yield indented(narrative)
    yield from _proven(cause, verbosity)


def _rival(cause: RootCause, verbosity: int) -> Iterator[RenderableType]:
    """A cause that is not ruled out, in brief or like the verdict itself."""
    yield heading(f"Or {differential.chance(cause)}: {wording.culprits(cause)}")
    yield indented(cause.whole_narrative)
    if cause.advice:
        yield from _advice(cause, None if verbosity > 0 else 1)
    if verbosity > 0:
        yield from _proven(cause, verbosity)


def _proven(cause: RootCause, verbosity: int) -> Iterator[RenderableType]:
    if verbosity > 0 and cause.chain:
        yield heading("Step by step")
        yield indented(labelled(_steps(cause)))
    yield heading("Proof")
    yield from _proof(cause, verbosity)
    if cause.known_bugs:
        yield heading("Known bugs")
        yield indented(listed(f"{bug.jira}: {bug.title}; {incident_facts.fixed(bug)}" for bug in cause.known_bugs))


def _steps(cause: RootCause) -> Iterator[tuple[str, str]]:
    steps = [*incident_facts.steps_of(cause)]
    clock = times.time_of_day if incident_facts.of_one_day(steps) else times.utc
    for moment in steps:
        where = f" ({wording.place(moment.evidence)})" if moment.evidence else ""
        yield clock(moment.at), f"{moment.what}{moment.repeated}{where}"


def _proof(cause: RootCause, verbosity: int) -> Iterator[RenderableType]:
    shown = cause.evidence if verbosity > 0 else _first_of_each_kind(cause.evidence)
    limit = WHOLE_LINE_CHARACTERS if verbosity > 0 else LINE_CHARACTERS
    if not shown:
        yield indented("no line of these logs shows it")
    for line in shown:
        yield indented(text_block(wording.place(line), "cyan"))
        yield from (indented(part, 4) for part in lines_of(abridged(line.text, limit), limit))
    left_out = max(cause.evidence_total, len(cause.evidence)) - len(shown)
    if left_out:
        hint = "; --verbose shows more" if len(shown) < len(cause.evidence) else ""
        yield indented(text_block(f"and {wording.count(left_out, 'more line')}{hint}", "dim"))


def _first_of_each_kind(evidence: Sequence[Evidence]) -> list[Evidence]:
    # Fold lines that differ only in numbers: the first of each kind, as many as fit on a first screen.
    kinds: dict[str, Evidence] = {}
    for line in evidence:
        kinds.setdefault(re.sub(r"[0-9a-f-]*\d[0-9a-f-]*", "#", line.text[:LINE_CHARACTERS]), line)
    return list(kinds.values())[:PROOF_SHOWN]


def _advice(cause: RootCause, most: int | None = None) -> Iterator[RenderableType]:
    for number, advice in enumerate(cause.advice[:most], start=1):
        yield indented(listed([advice.action], [f"{number}."]))
        yield indented(text_block(" ".join(filter(None, (advice.why, advice.cost))), "dim"), 5)


def _ruled_out(incident: Incident, verbosity: int) -> Iterator[RenderableType]:
    if not incident.ruled_out:
        return
    yield heading("Ruled out")
    together = differential.exclusions(incident)
    shown = together if verbosity > 0 else together[:RULED_OUT_SHOWN]
    yield indented(
        labelled(
            (",\n".join(exclusion.causes), differential.ruled_out(exclusion.example, incident)) for exclusion in shown
        )
    )
    left_out = sum(len(exclusion.causes) for exclusion in together[len(shown) :])
    if left_out:
        yield indented(text_block(wording.left_out(left_out), "dim"))


def _what_if(incident: Incident) -> Iterator[RenderableType]:
    if not incident.what_if:
        return
    yield heading("What if")
    yield indented(listed(wording.alternative(other) for other in incident.what_if))


# Minimum width for the signs to be readable as sentences; names of causes get the rest.
SIGN_CHARACTERS = 34
PADDING = 2


def legend() -> RenderableType:
    """The meaning of the marks in the tables."""
    return text_block(differential.LEGEND, "dim")


def signs_of(incident: Incident, *, every: bool = False) -> Iterator[RenderableType]:
    """The table of signs of an incident; `every` adds irrelevant signs, and the lines."""
    table = differential.sign_table(incident)
    if not incident.signs:
        yield indented("No sign was weighed for it.")
        return
    yield indented(_Grid(table, every))
    if table.idle and not every:
        checked = f"{wording.count(len(table.idle), 'more sign')} {'was' if len(table.idle) == 1 else 'were'} checked"
        causes = "this cause" if len(table.hypotheses) == 1 else "these causes"
        yield indented(text_block(f"{checked} and said nothing about {causes}.", "dim"))
    if every:
        yield indented(legend())
        yield from _lines((*table.relevant, *table.idle))


class _Grid(Struct, frozen=True):
    """A table of signs, with names above the columns if the width allows it, else with letters and a key."""

    table: differential.SignTable
    every: bool

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Render the table."""
        hypotheses = self.table.hypotheses
        if len(hypotheses) == 1:
            yield text_block(f"{_named(hypotheses[0])}:")
            yield self._laid_out([""])
            return
        heads = [hypothesis.cause.replace("-", "-\n") for hypothesis in hypotheses]
        taken = sum(max(map(len, head.split("\n"))) + PADDING for head in heads)
        if taken + SIGN_CHARACTERS <= options.max_width:
            yield text_block(f"{differential.either(tuple(map(_named, hypotheses)))}:")
        else:
            heads = [*ascii_uppercase, *map(str, range(len(hypotheses)))][: len(hypotheses)]
            yield labelled(zip(heads, map(_named, hypotheses), strict=True))
        yield self._laid_out(heads)

    def _laid_out(self, heads: Sequence[str]) -> Table:
        titled = any(heads)
        grid = Table(box=None, padding=(0, PADDING, 0, 0), pad_edge=False, header_style="dim", show_header=titled)
        for head in heads:
            grid.add_column(head, no_wrap=True)
        grid.add_column("sign", overflow="fold")
        for line in (*self.table.relevant, *(self.table.idle if self.every else ())):
            grid.add_row(*line.marks, text_block(line.wording))
        return grid


def _named(hypothesis: differential.Hypothesis) -> str:
    return f"{hypothesis.cause} ({hypothesis.standing})"


def _lines(signs: Sequence[differential.SignLine]) -> Iterator[RenderableType]:
    for sign in signs:
        if not sign.where:
            continue
        yield text_block("")
        yield indented(text_block(sign.wording, "bold"))
        for line in sign.row.evidence:
            yield indented(text_block(wording.place(line), "cyan"), 4)
            yield from (indented(part, 6) for part in lines_of(line.text, LINE_CHARACTERS))
        if not sign.row.evidence:
            yield indented(f"{sign.where}: nothing of the kind", 4)
