"""Renders the incident report: first what happened, who caused it, proof and advice; then everything else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from rich.console import RenderableType

from rebalance_forensics.diagnosis.model import Gap, Headline, Impact, Incident
from rebalance_forensics.diagnosis.wording.durations import capitalized, some
from rebalance_forensics.records import is_timed
from rebalance_forensics.report import conclusions, differential, wording
from rebalance_forensics.report.incident_facts import unread_outside
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal.coverage import coverage_summary
from rebalance_forensics.report.terminal.incident import explained, in_brief, in_full, legend, signs_of, verdict
from rebalance_forensics.report.terminal.rebalance_pattern import pattern_in_brief, pattern_in_full
from rebalance_forensics.report.terminal.rich_blocks import (
    columns,
    heading,
    indented,
    labelled,
    listed,
    printed,
    text_block,
)
from rebalance_forensics.report.times import day, duration, time_to_second, utc
from rebalance_forensics.report.urgency_order import (
    Incidents,
    by_day,
    faults,
    is_unexplained,
    most_urgent_first,
    planned,
    unexplained,
    urgency,
)

GAPS_SHOWN = 4
ALIKE_GAPS_SHOWN = 3
OTHERS_SHOWN = 8
VERDICTS_SHOWN = 50
GROUPS_NAMED = 2
DAYS_SHOWN = 14


def render(
    report: Report,
    *,
    width: int = 80,
    color: bool = False,
    verbosity: int = 0,
    why: bool = False,
    top: int | None = None,
    so_far: bool = False,
) -> str:
    """Render the whole report; `verbosity` -1 keeps only the verdicts, 1 shows every line of proof.

    `why` adds how each incident was judged: its hypotheses against its signs. `top` is how many incidents, and groups
    of an incident, are listed before the rest is only counted. `so_far`: the logs are still being written.
    """
    lay_out = _verdicts if verbosity < 0 else partial(_screens, verbosity=verbosity)
    blocks = lay_out(report, top=top, why=why, so_far=so_far)
    return printed(blocks, width=width, color=color)


def render_incident(incident: Incident, *, width: int = 80, color: bool = False) -> str:
    """Render how one incident was judged, with the lines of each sign."""
    return printed(explained(incident), width=width, color=color)


def at_this_moment(report: Report) -> str:
    """Groups with their state, and the latest incident, on one line, for a terminal that follows logs."""
    last_of = {wording.named(group.group): group.generations[-1] for group in report.groups if group.generations}
    states = {name: wording.state_after(generation) for name, generation in last_of.items()}
    groups = "; ".join(f"{name} {state}" for name, state in states.items())
    if len(states) > GROUPS_NAMED:
        tally = Counter(wording.state_after(last, counted=False) for last in last_of.values()).most_common()
        groups = f"{len(states)} groups: {', '.join(f'{number} {state}' for state, number in tally)}"
    latest = max(report.lazy_incidents.outlines, key=lambda incident: incident.started_at, default=None)
    words = []
    if latest is not None:
        when = wording.period(latest)
        at = "" if when.begin is None else time_to_second(when.begin)
        state = "going on" if latest.ongoing else when.state
        whose = wording.group_of(latest) if len(states) > 1 else ""
        words = [", ".join(filter(None, (f"last: {latest.root_causes[0].cause}", whose, at, state)))]
    return " | ".join(filter(None, (groups, *words))) or "no consumer group yet"


def _verdicts(report: Report, *, top: int | None, why: bool, so_far: bool) -> Iterator[RenderableType]:
    found = faults(report)
    if not found:
        yield text_block(_all_quiet(report, so_far=so_far))
    shown = VERDICTS_SHOWN if top is None else top
    for incident in found.outlines[:shown]:
        yield from verdict(incident)
        yield text_block(wording.since(incident), "dim")
    if len(found) > shown:
        yield text_block(f"and {len(found) - shown} more; --json FILE has them all, --group GROUP those of one group")
    if why:
        yield from _why(report)


def _screens(report: Report, *, verbosity: int, top: int | None, why: bool, so_far: bool) -> Iterator[RenderableType]:
    found, most = faults(report), OTHERS_SHOWN if top is None else top
    if found:
        yield from _overview(report, found.outlines, most)
        yield from _days(found.outlines)
        yield from in_full(found[0], verbosity, top)
        yield from _read(report, found, verbosity)
    else:
        calm = conclusions.conclusion(report).calm and not conclusions.caveat(report)
        yield text_block(_all_quiet(report, so_far=so_far), "bold green" if calm else "bold yellow")
    yield from _others(found[1:], verbosity, most)
    yield from _unexplained(unexplained(report), verbosity, most)
    yield from _planned(planned(report), verbosity)
    yield from _gaps(report.gaps, verbosity)
    if why:
        yield from _why(report)
    yield heading("What was read")
    yield from coverage_summary(report.inputs, every_file=verbosity > 0)
    if found:
        # In a long report the verdict has scrolled away, so it is repeated at the end.
        yield heading("Summary")
        yield indented(_summary(found.outlines))


def _overview(report: Report, found: Sequence[Headline], most: int) -> Iterator[RenderableType]:
    # All incidents in one table if several groups are in trouble, so that readers see which to read first.
    troubled = {(incident.cluster, name) for incident in found for name in incident.group_names}
    if len(found) == 1 or len(troubled) == 1:
        return
    # With --group, the report still shows incidents that disturbed it together with others.
    of_all = f"{wording.thousands(len(troubled))} of {wording.count(len(report.groups), 'group')}"
    where = of_all if len(troubled) <= len(report.groups) else wording.count(len(troubled), "group")
    yield text_block(f"{wording.count(len(found), 'incident')}, {_tally(found)}, in {where}:", "bold")
    rows = [
        (
            incident.severity,
            incident.root_causes[0].cause,
            some(incident.root_causes[0].culprit_names, 2) or "-",
            wording.group_of(incident),
            _longest(incident.impact.longest_unread_ms),
        )
        for incident in found[:most]
    ]
    yield columns(("severity", "cause", "culprit", "group", "unread"), rows, numbers=frozenset({4}))
    if len(found) > most:
        yield indented(text_block(wording.left_out(len(found) - most, f"--top {len(found)}"), "dim"))
    yield text_block("")


def _days(found: Sequence[Headline]) -> Iterator[RenderableType]:
    # For logs of several days: the last days, with the worst incident of each.
    days = by_day(found)
    if not days:
        return
    rows = [
        (day(at) or "", ", ".join(wording.severities(Counter(i.severity for i in of_day))), _worst(of_day))
        for at, of_day in list(days.items())[-DAYS_SHOWN:]
    ]
    yield columns(("day (UTC)", "incidents", "most urgent"), rows)
    yield text_block("")


def _worst(of_day: Sequence[Headline]) -> str:
    worst = min(of_day, key=urgency)
    return f"{worst.root_causes[0].cause} in {wording.group_of(worst)}"


def _longest(unread_ms: int | None) -> str:
    return "not logged" if unread_ms is None else duration(unread_ms) if unread_ms else "none"


def _read(report: Report, found: Incidents, verbosity: int) -> Iterator[RenderableType]:
    # The rebalance pattern of the group in trouble; with --verbose of all groups in trouble.
    groups = report.lazy_groups
    places = {(group.cluster, group.group): place for place, group in enumerate(groups.outlines)}
    troubled = dict.fromkeys((incident.cluster, name) for incident in found.outlines for name in incident.group_names)
    shown = [places[key] for key in troubled if key in places][: None if verbosity > 0 else 1]
    for history in groups.at(shown):
        yield from pattern_in_full(history, of=history.group) if verbosity > 0 else pattern_in_brief(history)


def _summary(found: Sequence[Headline]) -> str:
    first = found[0]
    tally = _tally(found)
    cause = first.root_causes[0]
    by = "" if not cause.culprits or any(culprit.kind == "group" for culprit in cause.culprits) else "by "
    sure = f" ({wording.sureness(cause.confidence)})"
    if is_unexplained(first):
        by, sure = "", ""
    who = f" {by}{wording.culprits(cause)}" if by else ""
    state = "still going on" if first.ongoing else wording.period(first).state
    verdict = ", ".join(filter(None, (f"{cause.cause}{sure}{who} in {wording.group_of(first)}", state)))
    return f"{tally}{': ' if len(found) == 1 else '; most urgent: '}{verdict}."


def _tally(found: Sequence[Headline]) -> str:
    """`3 critical and 5 warnings`."""
    return " and ".join(wording.severities(Counter(incident.severity for incident in found)))


def _all_quiet(report: Report, *, so_far: bool) -> str:
    return f"{conclusions.conclusion(report, so_far=so_far)} {conclusions.caveat(report)}".rstrip()


def _why(report: Report) -> Iterator[RenderableType]:
    ordered = most_urgent_first(report.lazy_incidents)
    for incident in ordered[:VERDICTS_SHOWN]:
        yield heading(f"Why {incident.root_causes[0].cause} in {wording.group_of(incident)}, incident {incident.id}")
        yield from signs_of(incident)
    if any(incident.signs for incident in ordered):
        yield text_block("")
        yield legend()
    if len(ordered) > VERDICTS_SHOWN:
        yield text_block("")
        yield text_block(f"and {len(ordered) - VERDICTS_SHOWN} more; --json FILE has the signs of all")


def _others(incidents: Incidents, verbosity: int, most: int) -> Iterator[RenderableType]:
    if not incidents:
        return
    yield heading(f"{wording.count(len(incidents), 'more incident')}")
    if verbosity > 0:
        for incident in incidents:
            yield text_block("")
            yield from in_full(incident, verbosity)
        return
    kinds = _alike(incidents.outlines)
    for first, *others in kinds[:most]:
        yield from in_brief(first, others)
    left_out = sum(len(kind) for kind in kinds[most:])
    if left_out:
        yield indented(wording.left_out(left_out))


def _alike(incidents: Sequence[Headline]) -> list[list[Headline]]:
    kinds: dict[tuple[str, str, str], list[Headline]] = defaultdict(list)
    for incident in incidents:
        read = incident.summary.replace(incident.group or "", "")
        kinds[incident.severity, incident.root_causes[0].cause, read].append(incident)
    return list(kinds.values())


def _unexplained(incidents: Incidents, verbosity: int, most: int) -> Iterator[RenderableType]:
    # Incidents without a known cause: neither a fault nor benign.
    if not incidents:
        return
    yield heading(f"Unexplained: {len(incidents)}")
    shown = incidents if verbosity > 0 else incidents[:most]
    for incident in shown:
        yield from in_brief(incident)
        yield from (indented(f"To settle it, {wanted}", 4) for wanted in differential.deciding(incident))
    if len(shown) < len(incidents):
        yield indented(wording.left_out(len(incidents) - len(shown)))


def _planned(incidents: Incidents, verbosity: int) -> Iterator[RenderableType]:
    if not incidents:
        return
    yield heading(f"Planned or benign: {len(incidents)}")
    if verbosity > 0:
        for incident in incidents.outlines:
            yield from in_brief(incident)
        return
    yield indented(labelled(_folded(incidents.outlines)))


def _folded(incidents: Sequence[Headline]) -> Iterator[tuple[str, str]]:
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    first: dict[str, Headline] = {}
    costs: dict[str, list[Impact]] = defaultdict(list)
    for incident in incidents:
        cause = incident.root_causes[0].cause
        groups[cause].update(incident.group_names)
        first.setdefault(cause, incident)
        costs[cause].append(incident.impact)
    for cause, counter in sorted(groups.items()):
        who = some(wording.each_with_times(map(wording.named, counter.elements())))
        once = first[cause]
        alone = counter.total() == 1
        first_at = f"; first at {utc(once.started_at)} UTC" if is_timed(once.started_at) else ""
        yield cause, f"{who}: {once.summary}" if alone else f"{who}{first_at}"
        if any(each.unread_partition_ms is not None or each.pause_ms for each in costs[cause]):
            yield "", f"{capitalized('; '.join(wording.worst_of(costs[cause], unread_outside(once))))}."


def _gaps(gaps: Sequence[Gap], verbosity: int) -> Iterator[RenderableType]:
    if not gaps:
        return
    yield heading("What the logs do not show")
    of_consequence: dict[str, list[Gap]] = defaultdict(list)
    for gap in gaps:
        of_consequence[gap.consequence].append(gap)
    # A gap of one group is often a gap of others as well, each with its own logs to add.
    of_kind: dict[tuple[str, ...], list[list[Gap]]] = defaultdict(list)
    for alike in of_consequence.values():
        of_kind[tuple(gap.template or gap.what for gap in alike)].append(alike)
    every = [[alike] for alike in of_consequence.values()]
    shown = every if verbosity > 0 else list(of_kind.values())[:GAPS_SHOWN]
    for first, *others in shown:
        most = len(first) if verbosity > 0 else ALIKE_GAPS_SHOWN
        *whats, last = (gap.sentences[0] for gap in first[:most])
        left_out = len(first[most:]) + sum(map(len, others))
        more = f"{wording.count(left_out, 'similar gap')} not shown; --verbose shows every gap." if left_out else ""
        yield indented(listed([*whats, " ".join(filter(None, (last, more, first[0].sentences[1])))]))
    if left_out := len(gaps) - sum(map(len, chain.from_iterable(shown))):
        yield indented(wording.left_out(left_out))
