"""Draft incidents: findings about the same culprit without a quiet time in between, and their rebalances."""

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
    """A draft incident: findings of one cause that belong together."""

    cause: str
    started_at: int
    """Time of its first evidence."""
    last_at: int
    """Time of its last known effect."""
    names: set[str] = field(default_factory=set)
    """Names of the culprits."""
    findings: list[Weighed] = field(default_factory=list)
    hit_at: int | None = None
    """When the latest finding hit its culprit, for causes that can hit several members at once."""

    def add(self, weighed: Weighed) -> None:
        """Add a finding."""
        self.started_at = min(self.started_at, weighed.hypothesis.started_at())
        self.last_at = max(self.last_at, weighed.hypothesis.last_at())
        self.names |= names_of(weighed)
        self.hit_at = weighed.hypothesis.hit_at
        self.findings.append(weighed)


def names_of(weighed: Weighed) -> set[str]:
    """Return the names of a hypothesis's culprits."""
    return {c.name for c in weighed.hypothesis.culprits}


def _were_hit_together(draft: Draft, weighed: Weighed) -> bool:
    """True if both were hit within seconds, so that they share a cause although different members are blamed."""
    if draft.hit_at is None or weighed.hypothesis.hit_at is None:
        return False
    return abs(weighed.hypothesis.hit_at - draft.hit_at) <= PROCESS_START_MS


def merged(findings: Iterable[Weighed], quiet: int) -> list[Draft]:
    """Merge findings about the same culprits into one draft unless the group was quiet between them for `quiet` ms."""
    drafts: list[Draft] = []
    recent: dict[str, list[Draft]] = {}
    for weighed in sorted(findings, key=lambda w: (w.hypothesis.started_at(), w.cause)):
        at, names = weighed.hypothesis.started_at(), names_of(weighed)
        alike = recent[weighed.cause] = [d for d in recent.get(weighed.cause, ()) if at - d.last_at <= quiet]
        # The finding shares a culprit with the draft, or both have none, or both were hit at once.
        same = (d for d in alike if names & d.names or not (names or d.names) or _were_hit_together(d, weighed))
        draft = next(same, None)
        if draft is None:
            draft = Draft(weighed.cause, at, weighed.hypothesis.last_at(), names, [weighed], weighed.hypothesis.hit_at)
            drafts.append(draft)
            alike.append(draft)
        else:
            draft.add(weighed)
    return drafts


# Rebalance id -> the draft that it belongs to, and its trigger (a cause or a follow-up).
Assigned = dict[str, tuple[Draft, str]]


def assign_rebalances(timeline: Timeline, drafts: list[Draft], explained: Mapping[str, Weighed]) -> Assigned:
    """Assign each rebalance to the draft that explains it, and a follow-up to the draft of the rebalance before it."""
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
            last = None  # neither this rebalance nor its follow-ups are explained
    return found


def shared_rebalances(
    timeline: Timeline, drafts: Sequence[Draft], explained: Mapping[str, Weighed], assigned: Assigned
) -> Mapping[Draft, Sequence[Rebalance]]:
    """Return the rebalances of other drafts that also removed a member whose departure a draft explains, by draft."""
    # One rebalance removes all missing members: it belongs to one incident, but is a cost of each of theirs.
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
    """Yield each rebalance with the explained facts that may have triggered it."""
    unordered: list[Fact] = [
        *timeline.departures, *timeline.arrivals, *timeline.stops, *timeline.requests, *timeline.returns,
    ]  # fmt: skip
    facts = TimeIndex((fact for fact in unordered if fact.id in explained), fact_at)
    since, quiet = 0, quiet_ms(timeline)  # facts before a quiet time trigger no rebalance after it
    earlier: set[int] = set()
    for rebalance in timeline.rebalances:
        found = _facts_of(rebalance, facts, max(since, rebalance.started_at - quiet) if since else 0)
        # A fact shown only by lines of an earlier rebalance (its member list, for example) triggered that one.
        yield rebalance, [f for f in found if not f.events or not earlier.issuperset(map(id, f.events))]
        earlier.update(map(id, rebalance.events))
        since = max(since, rebalance.barrier_end())


def _facts_of(rebalance: Rebalance, facts: TimeIndex[Fact], since: int) -> list[Fact]:
    until = rebalance.barrier_end() + TICK_MS
    begin = min(since, rebalance.started_at) if since else rebalance.started_at - ONE_REBALANCE_MS
    return facts.between(begin - TICK_MS + 1, until)


def findings_between(drafts: Iterable[Draft], begin: int, end: int) -> Iterator[Hypothesis]:
    """Return the hypotheses of these drafts whose time overlaps the span."""
    findings = (weighed.hypothesis for draft in drafts for weighed in draft.findings)
    return (h for h in findings if h.started_at() <= end and h.last_at() >= begin)


def overlaps_a_fault(drafts: Iterable[Draft], begin: int, end: int) -> bool:
    """True if a finding above severity info overlaps the span."""
    return any(h.severity != "info" for h in findings_between(drafts, begin, end))
