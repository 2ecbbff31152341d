"""Compares two reports or two incidents and shows only the differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from rich.console import RenderableType

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.records import is_timed, natural
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal.rich_blocks import columns, heading, labelled, printed, text_block
from rebalance_forensics.report.times import duration, utc
from rebalance_forensics.report.wording import culprits, group_of, ranges, share, thousands, unread
from rebalance_forensics.timeline.model import GroupHistory

Facts = dict[str, str]


class GroupFacts(Struct, frozen=True):
    """The facts that are compared for a group: its behavior and its configuration."""

    history: Facts
    setup: Facts

    @property
    def every(self) -> Facts:
        """All facts."""
        return self.history | self.setup


def render_compare(
    before: Report | Incident,
    after: Report | Incident,
    *,
    names: tuple[str, str] = ("A", "B"),
    width: int = 80,
    color: bool = False,
) -> str:
    """Render the differences; compared with an incident, a report is represented by its most urgent incident."""
    return printed(_blocks(before, after, names), width=width, color=color)


def _blocks(before: Report | Incident, after: Report | Incident, names: tuple[str, str]) -> Iterator[RenderableType]:
    if isinstance(before, Incident) and isinstance(after, Incident):
        yield from _differences("Incident", incident_facts(before), incident_facts(after), names)
        return
    yield from _differences("Summary", _facts(before), _facts(after), names)
    groups_before, groups_after = _groups(before), _groups(after)
    alone = groups_before.keys() - groups_after.keys(), groups_after.keys() - groups_before.keys()
    if all(len(side) == 1 for side in alone):
        # A single group on each side is compared even if the names differ.
        (left,), (right,) = alone
        pair = groups_before.pop(left).every, groups_after.pop(right).every
        yield from _differences(f"Group {left} and {right}", *pair, names)
    for name in sorted(groups_before.keys() | groups_after.keys(), key=natural):
        if name in groups_before and name in groups_after:
            yield from _differences(f"Group {name}", groups_before[name].every, groups_after[name].every, names)
        else:
            yield from _on_one_side(name, groups_before, groups_after, names)


def _on_one_side(
    name: str, before: dict[str, GroupFacts], after: dict[str, GroupFacts], names: tuple[str, str]
) -> Iterator[RenderableType]:
    # A group that only one side has is only summarized.
    where, facts = (names[0], before[name]) if name in before else (names[1], after[name])
    yield heading(f"Group {name}, only in {where}")
    yield labelled(facts.history.items())


def _differences(title: str, before: Facts, after: Facts, names: tuple[str, str]) -> Iterator[RenderableType]:
    labels = list(dict.fromkeys([*before, *after]))
    rows = [
        (label, before.get(label, "-"), after.get(label, "-"))
        for label in labels
        if before.get(label) != after.get(label)
    ]
    yield heading(title)
    if rows:
        yield columns(("", *names), rows)
    else:
        yield text_block("no difference")


def incident_facts(incident: Incident) -> Facts:
    """An incident as short facts that can be compared with another's."""
    cause = incident.root_causes[0]
    return {
        "group": some(incident.group_names),
        "severity": incident.severity,
        "cause": cause.cause,
        "confidence": share(cause.confidence),
        "culprit": culprits(cause),
        "what happened": incident.summary,
        "began": f"{utc(incident.started_at)} UTC" if is_timed(incident.started_at) else "the lines have no times",
        "length": _length(incident),
        "occurrences": thousands(incident.occurrences),
        "partitions unread": unread(incident.impact),
        "unread partition time": _known(incident.impact.unread_partition_ms, duration),
        "whole group stopped": _known(incident.impact.stopped_ms, duration),
        "pauses": _known(incident.impact.pause_ms, duration),
        "members": _known(incident.impact.members, thousands),
        "partitions that paused": _known(incident.impact.partitions, thousands),
        "rebalances": thousands(incident.impact.rebalances),
        "generations": ranges(incident.generations) or "none",
        "follow-ups": ", ".join(incident.followups) or "none",
    }


def _length(incident: Incident) -> str:
    if incident.ongoing:
        return "ongoing"
    return "end not seen" if incident.ended_at is None else _known(incident.lasted_ms, duration)


def _known(number: int | None, written: Callable[[int], str]) -> str:
    return "not in the logs" if number is None else written(number)


def _added_up(numbers: Sequence[int | None]) -> int | None:
    # The sum of the known ones; None if there are some, but none is known.
    known = [number for number in numbers if number is not None]
    return sum(known) if known or not numbers else None


def _facts(side: Report | Incident) -> Facts:
    incidents = side.incidents if isinstance(side, Report) else (side,)
    causes = sorted({cause.cause for incident in incidents for cause in incident.root_causes[:1]})
    return {
        "incidents": thousands(len(incidents)),
        "critical": thousands(sum(incident.severity == "critical" for incident in incidents)),
        "warning": thousands(sum(incident.severity == "warning" for incident in incidents)),
        "causes": ", ".join(causes) or "none",
        "unread partition time": _known(
            _added_up([incident.impact.unread_partition_ms for incident in incidents]), duration
        ),
        "whole group stopped": _known(_added_up([incident.impact.stopped_ms for incident in incidents]), duration),
        "pauses": _known(_added_up([incident.impact.pause_ms for incident in incidents]), duration),
        "rebalances": thousands(sum(incident.impact.rebalances for incident in incidents)),
    }


def _groups(side: Report | Incident) -> dict[str, GroupFacts]:
    if isinstance(side, Incident):
        return {group_of(side): GroupFacts({f"incident {key}": v for key, v in incident_facts(side).items()}, {})}
    return {group_of(h): GroupFacts(_incidents_of(side, h) | _history_of(h), _setup_of(h)) for h in side.groups}


def _history_of(history: GroupHistory) -> Facts:
    ended = [pause.lasted_ms for pause in history.pauses if pause.ended_at is not None]
    in_all = _added_up(ended)
    last = history.generations[-1] if history.generations else None
    return {
        "protocol": history.protocol,
        "rebalance mode": history.rebalance_mode,
        "generations": thousands(len(history.generations)),
        "last members": "-" if last is None else thousands(last.size),
        "pauses": f"{len(ended)}, {'of unknown length' if in_all is None else duration(in_all)}",
        "longest pause": _known(None if in_all is None else max(filter(None, ended), default=0), duration),
    }


def _setup_of(history: GroupHistory) -> Facts:
    settings = {f"setting {key}": value for key, value in history.settings}
    return settings | {f"version of {running.name}": running.version for running in history.versions}


def _incidents_of(report: Report, history: GroupHistory) -> Facts:
    found = [
        incident
        for incident in report.incidents
        if incident.cluster == history.cluster and history.group in incident.group_names
    ]
    return {
        "incidents": some([f"{incident.root_causes[0].cause} ({incident.severity})" for incident in found]) or "none"
    }
