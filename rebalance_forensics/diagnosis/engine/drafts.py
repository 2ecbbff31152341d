"""Incidents in the making: what happens to the same culprit before the group was quiet, and its rebalances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.timeline.facts import Departure, Fact, Rebalance, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import quiet_ms
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, PROCESS_START_MS, TICK_MS


@dataclass(slots=True, eq=False)
class Draft:
    """An incident in the making: hypotheses of one cause that belong together."""

    cause: str
    started_at: int
    """Its first evidence."""
    last_at: int
    """Its last known effect."""
    names: set[str] = field(default_factory=set)
    """Names of the culprits."""
    findings: list[Weighed] = field(default_factory=list)
    hit_at: int | None = None
    """Time of the last strike, for causes that may strike several members at once."""

    def add(self, weighed: Weighed) -> None:
        """Add a finding."""
        self.started_at = min(self.started_at, weighed.hypothesis.started_at())
        self.last_at = max(self.last_at, weighed.hypothesis.last_at())
        self.names |= names_of(weighed)
        self.hit_at = weighed.hypothesis.hit_at
        self.findings.append(weighed)


def names_of(weighed: Weighed) -> set[str]:
    """Names of a hypothesis' culprits."""
    return {c.name for c in weighed.hypothesis.culprits}


def _hit_together(draft: Draft, weighed: Weighed) -> bool:
    """True if both were hit within seconds: such members have one cause in common, though each is blamed."""
    if draft.hit_at is None or weighed.hypothesis.hit_at is None:
        return False
    return abs(weighed.hypothesis.hit_at - draft.hit_at) <= PROCESS_START_MS


def merged(findings: Iterable[Weighed], quiet: int) -> list[Draft]:
    """One draft for what recurs for the same culprit before the group was quiet for `quiet` ms."""
    drafts: list[Draft] = []
    recent: dict[str, list[Draft]] = {}
    for weighed in sorted(findings, key=lambda w: (w.hypothesis.started_at(), w.cause)):
        at, names = weighed.hypothesis.started_at(), names_of(weighed)
        alike = recent[weighed.cause] = [d for d in recent.get(weighed.cause, ()) if at - d.last_at <= quiet]
        # It shares a culprit with the draft, or both have none, or both were hit at once.
        same = (d for d in alike if names & d.names or not (names or d.names) or _hit_together(d, weighed))
        draft = next(same, None)
        if draft is None:
            draft = Draft(weighed.cause, at, weighed.hypothesis.last_at(), names, [weighed], weighed.hypothesis.hit_at)
            drafts.append(draft)
            alike.append(draft)
        else:
            draft.add(weighed)
    return drafts


# Which draft each rebalance belongs to and its trigger (a cause or a follow-up), by the rebalance's identity.
Assigned = dict[str, tuple[Draft, str]]


def assign_rebalances(timeline: Timeline, drafts: list[Draft], explained: Mapping[str, Weighed]) -> Assigned:
    """Assign each rebalance to the draft that explains it or that it follows up on."""
    of_finding = {f: d for d in drafts for f in d.findings}
    explains = {w: {fact.id for fact in w.hypothesis.explains} for w in set(explained.values())}
    found: Assigned = {}
    last: Draft | None = None
    for rebalance, own in _with_facts(timeline, explained):
        claimed = explained.get(rebalance.id)
        finding = claimed or next((explained[f.id] for f in own), None)
        if claimed is not None and rebalance.id in explains[claimed]:
            last = of_finding[claimed]
            found[rebalance.id] = (last, rebalance.followup or claimed.cause)
        elif rebalance.followup and last is not None and all(of_finding[explained[f.id]] is last for f in own):
            found[rebalance.id] = (last, rebalance.followup)
        elif finding is not None:
            last = of_finding[finding]
            found[rebalance.id] = (last, finding.cause)
        elif rebalance.events and not rebalance.followup:
            last = None  # nothing explains it, nor what follows up on it
    return found


def rebalances_shared(
    timeline: Timeline, drafts: Sequence[Draft], explained: Mapping[str, Weighed], assigned: Assigned
) -> Mapping[Draft, Sequence[Rebalance]]:
    """Of each draft the rebalances of another that removed a member whose departure this one explains."""
    # A coordinator removes everybody who is missing in one rebalance; it belongs to one incident and is a cost of each.
    of_finding = {f: d for d in drafts for f in d.findings}
    found: dict[Draft, list[Rebalance]] = defaultdict(list)
    for rebalance, own in _with_facts(timeline, explained):
        owner, _ = assigned.get(rebalance.id, (None, ""))
        removing = {of_finding[explained[fact.id]]: None for fact in own if isinstance(fact, Departure)}
        for draft in removing:
            if owner is not None and draft is not owner:
                found[draft].append(rebalance)
    return found


def _with_facts(timeline: Timeline, explained: Mapping[str, Weighed]) -> Iterator[tuple[Rebalance, Sequence[Fact]]]:
    """Each rebalance with the explained facts that may have begun it."""
    unordered: list[Fact] = [
        *timeline.departures, *timeline.arrivals, *timeline.stops, *timeline.requests, *timeline.returns,
    ]  # fmt: skip
    facts = TimeIndex((fact for fact in unordered if fact.id in explained), fact_at)
    since, quiet = 0, quiet_ms(timeline)  # what happened before the group was quiet for so long began nothing later
    earlier: set[int] = set()
    for rebalance in timeline.rebalances:
        found = _facts_of(rebalance, facts, max(since, rebalance.started_at - quiet) if since else 0)
        # What the lines of an earlier rebalance show, as who came and went by its list of members, began that one.
        yield rebalance, [f for f in found if not f.events or not earlier.issuperset(map(id, f.events))]
        earlier.update(map(id, rebalance.events))
        since = max(since, rebalance.barrier_end())


def _facts_of(rebalance: Rebalance, facts: TimeIndex[Fact], since: int) -> list[Fact]:
    until = rebalance.barrier_end() + TICK_MS
    begin = min(since, rebalance.started_at) if since else rebalance.started_at - ONE_REBALANCE_MS
    return facts.between(begin - TICK_MS + 1, until)


def found_between(drafts: Iterable[Draft], begin: int, end: int) -> Iterator[Hypothesis]:
    """The findings of these drafts that were going on at some time in a span."""
    findings = (weighed.hypothesis for draft in drafts for weighed in draft.findings)
    return (h for h in findings if h.started_at() <= end and h.last_at() >= begin)


def is_amid_a_fault(drafts: Iterable[Draft], begin: int, end: int) -> bool:
    """True if a fault, which is more than information, was going on between these times."""
    return any(h.severity != "info" for h in found_between(drafts, begin, end))
