"""The facts of an incident in words, line by line, for every output that people read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from msgspec import Struct

from rebalance_forensics.diagnosis.model import ChainLink, Culprit, Headline, Incident, KnownBug, RootCause
from rebalance_forensics.diagnosis.wording.durations import listed, some
from rebalance_forensics.records import SECOND_MS, EpochMs, input_name, is_timed, natural
from rebalance_forensics.report.differential import decides, deciding
from rebalance_forensics.report.times import day, time_of_day, time_to_second, utc
from rebalance_forensics.report.wording import (
    count,
    culprits,
    impact,
    names_besides,
    ranges,
    since,
    thousands,
)
from rebalance_forensics.timeline.model import Evidence

NAMES_SHOWN = 4
NAMES_CHARACTERS = 130
IDS_SHOWN = 3


class Fact(NamedTuple):
    """A fact of an incident with its label, which is repeated if a fact takes several lines."""

    label: str
    value: str
    is_detail: bool = False
    """True for a detail of the previous fact."""


def facts(incident: Incident) -> Iterator[Fact]:
    """Every fact of an incident, most important first."""
    cause = incident.root_causes[0]
    members = bool(cause.culprits) and all(culprit.kind == "group" for culprit in cause.culprits)
    yield Fact("Culprit", "no single member" if members else culprits(cause))
    others = list(dict.fromkeys(name for culprit in cause.culprits for name in other_names(culprit, cause)))
    if others:
        names = some(others, _names_that_fit(others))
        yield Fact("Members" if members else "Also known as", names, is_detail=True)
    for link in cause.behind:
        yield Fact("Behind it", link.why)
    yield Fact(
        "Impact",
        impact(
            incident.impact,
            groups=max(1, len(incident.groups)),
            outside=unread_outside(incident) + _unfetched(incident),
        ),
    )
    yield Fact("When", since(incident))
    if incident.occurrences > 1:
        yield Fact("Disturbed" if incident.groups else "Happened", how_often(incident))
    if incident.generations:
        yield Fact(*generations(incident))
    for wanted in deciding(incident):
        yield Fact(decides(incident), wanted)
    for relation in incident.related:
        incidents = "Incident" if len(relation.ids) == 1 else "Incidents"
        yield Fact("Related", f"{relation.why} {incidents} {some(relation.ids, IDS_SHOWN)}.")


def other_names(culprit: Culprit, cause: RootCause) -> list[str]:
    """Other names of a culprit, without its log, which is named next to each line of the proof."""
    shown = {input_name(line.path) for line in cause.evidence}
    return [name for name in names_besides(culprit) if name not in shown]


def _names_that_fit(names: Sequence[str]) -> int:
    # The number of names that fit: generated ones are long, and the first screen has to show more than names.
    lengths = accumulate(len(name) for name in names[:NAMES_SHOWN])
    return max(1, sum(length <= NAMES_CHARACTERS for length in lengths))


def unread_outside(incident: Headline) -> str:
    """When partitions were unread outside the time span of the incident's own lines."""
    longest = incident.impact.longest_unread_ms or 0
    if not is_timed(incident.started_at) or incident.lasted_ms is None or longest - incident.lasted_ms < SECOND_MS:
        return ""
    if incident.root_causes[0].cause == "shutdown":
        return " until the logs end"
    return f", starting before {time_to_second(incident.started_at)}"


def _unfetched(incident: Incident) -> str:
    """The partitions that had a member and no leader to fetch them from."""
    led = unfetched(incident)
    if not led:
        return ""
    all_had_members = incident.impact.unread_partitions == 0
    return f"{' for lack of a member, but' if all_had_members else ';'} nobody could fetch {some(led)}"


def unfetched(incident: Incident) -> list[str]:
    """Partitions of all its groups that nobody could fetch while the broker that led them was out."""
    return sorted({partition for group in incident.groups for partition in group.led}, key=natural)


def generations(incident: Incident) -> tuple[str, str]:
    """`Generations` and `2-4, with cooperative follow-up rebalances`."""
    follow_ups = f", with {listed(incident.followups)} follow-up rebalances" if incident.followups else ""
    return "Generations" if incident.generations[1:] else "Generation", ranges(incident.generations) + follow_ups


def narrative_beyond(cause: RootCause, incident: Incident) -> str:
    """What happened, unless the incident's summary above already says so."""
    if incident.scope == "cluster":
        # How often each of several groups was disturbed is not how often it happened.
        return cause.narrative if cause.narrative != incident.summary else ""
    # The summary of a group's own incident is that of its first cause.
    return "" if cause is incident.root_causes[0] else cause.whole_narrative


def how_often(incident: Incident) -> str:
    """`7 times`, `once to each of 3 members`, `up to 3 times in one group`."""
    if incident.groups:
        return f"up to {thousands(incident.occurrences)} times in one group"
    blamed = incident.root_causes[0].culprits
    names = blamed[0].names if len(blamed) == 1 and blamed[0].kind == "group" else blamed
    each = len(names) == incident.occurrences
    return f"once to each of {len(names)} members" if each else f"{thousands(incident.occurrences)} times"


def fixed(bug: KnownBug) -> str:
    """`fixed in 3.6.1`."""
    return f"fixed in {bug.fixed_in}" if bug.fixed_in else "no fixed release known"


def lines_left_out(cause: RootCause) -> str:
    """`The 20 most telling of 1,204 lines.`; empty if the evidence is complete."""
    shown = len(cause.evidence)
    return f"The {shown} most telling of {count(cause.evidence_total, 'line')}." if cause.evidence_total > shown else ""


class Step(Struct, frozen=True, kw_only=True):
    """A step in a cause's chain, with the number of consecutive repetitions and the time of the last one."""

    at: EpochMs | None
    what: str
    evidence: Evidence | None
    times: int = 1
    last_at: EpochMs | None = None

    @property
    def repeated(self) -> str:
        """`, 9 times until 02:20:38.647`, with the date if it was another day; empty if it happened once."""
        written = time_of_day if day(self.at) == day(self.last_at) else utc
        until = f" until {written(self.last_at)}" if is_timed(self.last_at) else ""
        return f", {self.times} times{until}" if self.times > 1 else ""


def steps_of(cause: RootCause) -> Iterator[Step]:
    """The chain of a cause, with repeated links combined to one step."""
    for what, run in groupby(cause.chain, key=lambda link: link.what):
        links: list[ChainLink] = list(run)
        first = links[0]
        yield Step(at=first.at, what=what, evidence=first.evidence, times=len(links), last_at=links[-1].at)


def of_one_day(steps: Sequence[Step]) -> bool:
    """True if all steps were on one day, so that the time of day is enough."""
    return len({day(at) for each in steps for at in (each.at, each.last_at) if is_timed(at)}) <= 1


def state_of(incident: Incident) -> tuple[str, bool, str, tuple[str, ...]]:
    """The state whose change is reported again: severity, whether it lasts, cause and culprits."""
    first = incident.root_causes[0]
    return incident.severity, incident.ongoing, first.cause, tuple(culprit.name for culprit in first.culprits)
