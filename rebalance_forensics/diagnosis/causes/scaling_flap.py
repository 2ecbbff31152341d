"""The same members come and go again and again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import Absence, distinct_events, span, touched
from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import (
    VOLUNTARY,
    Restart,
    born_with_the_group,
    closings,
    restarts,
)
from rebalance_forensics.diagnosis.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, Sign, stated
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.windows import STARTUP_GAP_MS

CYCLES = 2
CYCLED = stated("left-and-came-back-repeatedly", present="the same members left and came back while the others stayed")
TAKEN_OVER = stated("places-taken-in-turn", present="members without a name left and others came in their place")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that left in good order at least twice and came back, while others stayed throughout."""
    cycles: dict[Actor, list[Absence]] = defaultdict(list)
    for away in closings(timeline):
        # An autoscaler stops its members in good order; one that fails and is started again crashes in a loop.
        if not exception_before(timeline, away):
            cycles[away.actor].append(away)
    born = born_with_the_group(timeline)
    added = Counter(a.actor for a in timeline.arrivals if a.id not in born)
    flapping = {a: None for a, aways in cycles.items() if len(aways) >= CYCLES and added[a] >= CYCLES}
    if not flapping:
        yield from _nameless(timeline)
    if not flapping or len(flapping) >= len(timeline.actors()):
        return
    aways = [w for a in flapping for w in cycles[a]]
    since = timeline.arrivals.since(_joined_before(timeline, aways))
    came = [a for a in since if a.actor in flapping and not a.while_empty]
    yield _hypothesis(timeline, list(flapping), sorted(aways, key=lambda w: w.at), came, CYCLED)


def _nameless(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose ids name nobody: one leaves, another comes in its place, leaves as well, and so on."""
    chain_of: dict[Actor, list[Restart]] = {}
    for restart in restarts(timeline):
        came_after = all(a.actor is not restart.by and a.at > restart.away.at for a in restart.arrivals)
        if came_after and restart.away.departures[0].why in VOLUNTARY:
            chain = [*chain_of.pop(restart.by, ()), restart]
            chain_of |= {a.actor: chain for a in restart.arrivals}
    chains = [c for c in chain_of.values() if len(c) >= CYCLES]
    replacing = {a.actor for c in chain_of.values() for r in c for a in r.arrivals}
    if not chains or 2 * len(chains) > sum(a not in replacing for a in timeline.actors()):
        yield from _waves(timeline)
        return
    links = sorted((r for c in chains for r in c), key=lambda r: r.away.at)
    actors = list(dict.fromkeys(x for r in links for x in (r.by, *(a.actor for a in r.arrivals))))
    yield _hypothesis(timeline, actors, [r.away for r in links], [a for r in links for a in r.arrivals], TAKEN_OVER)


def _waves(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose ids name nobody: as many come as went the last time, go together, and others stay throughout."""
    left = {a.actor: a for a in closings(timeline) if a.back_at is None}
    born = born_with_the_group(timeline)
    came = [a for a in timeline.arrivals if a.actor in left and a.id not in born and _is_nameless(a)]
    waves: list[list[Arrival]] = []
    gone_at = 0
    for arrival in came:
        if not waves or arrival.at > gone_at:
            waves.append([])
        waves[-1].append(arrival)
        gone_at = max(gone_at, left[arrival.actor].at)
    alike = len(waves) >= CYCLES and len({len(wave) for wave in waves}) == 1
    if alike and _others_stayed(timeline, came[0].at):
        actors = list(dict.fromkeys(a.actor for a in came))
        yield _hypothesis(timeline, actors, [left[a] for a in actors], came, TAKEN_OVER)


def _is_nameless(arrival: Arrival) -> bool:
    return not arrival.actor.has_log and is_bare_member_id(arrival.member or "")


def _others_stayed(timeline: Timeline, since: int) -> bool:
    """Whether anybody was in before the first of them came and never went."""
    stayed = (a for a in timeline.actors() if not timeline.departures.of(a))
    return any(not timeline.arrivals.of(a).between(since, timeline.last) for a in stayed)


def _joined_before(timeline: Timeline, aways: list[Absence]) -> int:
    """The arrival before the first departure belongs to the flapping unless it was the group's own start."""
    first = min(w.at for w in aways)
    start = timeline.arrivals[0].at if timeline.arrivals else 0
    actors = {w.actor for w in aways}
    between = timeline.arrivals.between(start + STARTUP_GAP_MS + 1, first - 1)
    return next((a.at for a in between if a.actor in actors), first)


def _hypothesis(
    timeline: Timeline, flapping: list[Actor], aways: list[Absence], came: list[Arrival], how: Sign
) -> Hypothesis:
    facts = (*(f for w in aways for f in w.facts()), *came)
    names = ", ".join(c.name for c in culprits_of(timeline, flapping))
    return Hypothesis(
        because=distinct_events(e for w in aways for e in w.events()),
        culprits=culprits_of(timeline, flapping),
        answers={how: Present(distinct_events(e for w in aways for e in w.events()[:1]))},
        actors=tuple(flapping),
        absences=tuple(aways),
        severity="warning",
        brings=(*facts, *touched(timeline, facts)),
        explains=tuple(d for w in aways for d in w.departures),
        narrative=(
            f"{names} left and came back {len(aways)} times while the other members stayed: "
            f"scaling that does not settle."
        ),
        advice=(
            Advice(
                action="Widen the autoscaler's thresholds or its stabilization window.",
                why=f"{len(aways)} removals{span(e for w in aways for e in w.events())} cost two rebalances each.",
                cost="Scaling reacts more slowly.",
            ),
        ),
    )


CAUSE = Cause(
    summary="The same members are added and removed again and again, usually by an autoscaler.",
    mechanism=(
        "Each step is a rebalance; its pause raises the lag that the autoscaler watches, which makes the next step."
    ),
    shows="Alternating scale-out and scale-in of the same members while others stay.",
    remedy="Hysteresis: a longer stabilization window, or scaling on a smoother signal than lag.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(CYCLED, WEAK),
        speaks_for(TAKEN_OVER, WEAK),
        speaks_for(closes.shutdown_logged, WEAK),
        speaks_against(closes.error_before_close, STRONG, absent=STRONG),
    ),
    brings=("member-left", "scale-in", "scale-out", "rolling-restart"),
    lookalikes=("rolling-restart", "slow-processing", "thread-replacement"),
    settings=("session.timeout.ms", "partition.assignment.strategy", "group.protocol"),
    kips=("KIP-429", "KIP-848"),
)
