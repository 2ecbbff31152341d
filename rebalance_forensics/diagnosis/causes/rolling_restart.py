"""The members were restarted one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from rebalance_forensics.diagnosis.absences import (
    Absence,
    distinct_events,
    members_counted,
    only_listed,
    rounded_up,
    seconds,
    session_timeout_ms,
    touched,
)
from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.departures_and_restarts import Restart, restarts
from rebalance_forensics.diagnosis.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.heartbeat_loss import is_static, losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.replacements import replacements
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated
from rebalance_forensics.diagnosis.surviving_threads import process_lived
from rebalance_forensics.diagnosis.walks import walks
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import AT_ONCE_MS

ENOUGH_TO_WALK = 3
"""Of two members that go by turns nobody can tell a deployment from a flap."""
WALKED = stated("restarted-one-after-another", present="one member after another went, until most had been restarted")
ALL_BACK = stated("every-return-logged", present="each of them came back, or was replaced")
ONLY_LISTED = stated("known-from-lists-only", present="only the leader's lists of members tell who went and came")
EXPIRED_IN_TURN = stated("expired-in-turn", present="no LeaveGroup and no log of theirs tell whether they were stopped")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Restarts that walk over at least two members and most of the group."""
    clean = [r for r in restarts(timeline) if not exception_before(timeline, r.away)]
    for walk in walks(clean, lambda r: r.away.at, lambda r: r.by):
        for group in _bounces(walk):
            if _covers_most(timeline, group):
                yield _hypothesis(timeline, group, everyone=len(_replaced(group)) >= _settled(timeline, group))
    yield from _under_new_names(timeline)
    yield from _unheard(timeline, clean)


def _covers_most(timeline: Timeline, group: list[Restart]) -> bool:
    actors = _replaced(group)
    walks_over = len(actors) >= 2 and len(group) < 2 * len(actors) and not _all_at_once(group)
    return walks_over and 2 * len(actors) > _settled(timeline, group)


def _settled(timeline: Timeline, group: list[Restart], before: int | None = None) -> int:
    """How many members the group had before."""
    replacing = {x.actor for r in group for x in r.arrivals} - set(_replaced(group))
    counted = members_counted(timeline, group[0].away.at if before is None else before)
    return max(sum(a not in replacing for a in timeline.actors()), counted)


def _under_new_names(timeline: Timeline) -> Iterator[Hypothesis]:
    """Newcomers take the places of nearly all members by turns: whoever scales, keeps most of them."""
    clean = [r for r in replacements(timeline) if not exception_before(timeline, r.away)]
    for group in walks(clean, lambda r: r.away.at, lambda r: r.by):
        actors = _replaced(group)
        settled = _settled(timeline, group, min(min(r.up_at, r.away.at) for r in group) - 1)
        by_turns = min(r.away.at for r in group) < max(r.up_at for r in group) and not _all_at_once(group)
        if len(actors) >= 2 and by_turns and 4 * len(actors) >= 3 * settled:
            yield _hypothesis(timeline, group, everyone=len(actors) >= settled, anew=True)


def _unheard(timeline: Timeline, clean: list[Restart]) -> Iterator[Hypothesis]:
    """A Streams instance that closes sends no LeaveGroup: each expires once and is back before the next one goes."""
    silent = [a for a in losses(timeline) if _is_unheard(timeline, a)]
    back = [Restart(a, a.actor, a.back_at or a.at, tuple(a.arrivals)) for a in silent]
    for group in walks([*clean, *back], lambda r: r.away.at, lambda r: r.by):
        actors = {r.by for r in group}
        settled = max(len(timeline.actors()), members_counted(timeline, group[0].away.at))
        once = len(actors) == len(group) >= max(ENOUGH_TO_WALK, settled)
        by_turns = all(before.up_at < after.away.at for before, after in pairwise(group))
        if once and by_turns and any(r in back for r in group):
            found = _hypothesis(timeline, group, everyone=True)
            yield replace(found, answers={**found.answers, EXPIRED_IN_TURN: Present()})


def _is_unheard(timeline: Timeline, absence: Absence) -> bool:
    unknown = absence.actor.kind == "instance" and not absence.actor.has_log and not is_static(timeline, absence)
    back = absence.back_at is not None and absence.back_at >= absence.at
    return unknown and back and not process_lived(timeline, absence)


def _bounces(run: list[Restart]) -> list[list[Restart]]:
    """Two deployments in a row, as Streams' upgrade.from asks for, walk over the same members twice."""
    half = len(run) // 2
    first, second = {r.by for r in run[:half]}, {r.by for r in run[half:]}
    twice = half >= ENOUGH_TO_WALK and len(run) % 2 == 0 and first == second and len(first) == half
    return [run[:half], run[half:]] if twice else [run]


def _replaced(group: list[Restart]) -> list[Actor]:
    """Those who were there before the first of these restarts; whoever only came by one is nobody new."""
    found: list[Actor] = []
    came: set[Actor] = set()
    for restart in group:
        if restart.by not in came and restart.by not in found:
            found.append(restart.by)
        came |= {a.actor for a in restart.arrivals}
    return found


def _all_at_once(group: list[Restart]) -> bool:
    """Everybody was down before anybody was up again: that is no walk over the members."""
    down = [r.away.at for r in group]
    return max(down) < min(r.up_at for r in group) and max(down) - min(down) <= AT_ONCE_MS


def _hypothesis(timeline: Timeline, group: list[Restart], *, everyone: bool, anew: bool = False) -> Hypothesis:
    actors = _replaced(group)
    facts: tuple[Fact, ...] = tuple(f for r in group for f in (*r.away.facts(), *r.arrivals))
    times = [t for r in group for t in (r.away.at, r.up_at)]
    return Hypothesis(
        because=distinct_events(
            e for r in group for e in (*r.away.events(), *(r.arrivals[0].events[:1] if r.arrivals else ()))
        ),
        culprits=(the_group(timeline, actors),) if everyone else culprits_of(timeline, actors),
        severity="info",
        explains=tuple(d for r in group for d in r.away.departures),
        brings=(*facts, *touched(timeline, facts)),
        actors=tuple(actors),
        absences=tuple(r.away for r in group),
        answers=_answers(group),
        narrative=(
            f"{len(actors)} members were restarted one after another{' under new names' if anew else ''} "
            f"within {seconds(max(times) - (min(times) if anew else group[0].away.at))}."
        ),
        advice=(_advice(group, session_timeout_ms(timeline), anew=anew),),
    )


def _answers(group: list[Restart]) -> dict[Sign, Answer]:
    found: dict[Sign, Answer] = {WALKED: Present(tuple(e for r in group for e in r.away.events()[:1]))}
    if all(r.arrivals for r in group):
        found[ALL_BACK] = Present(tuple(e for r in group for a in r.arrivals[:1] for e in a.events[:1]))
    listed = all(only_listed(d) for r in group for d in r.away.departures)
    if listed and all(only_listed(a) for r in group for a in r.arrivals):
        found[ONLY_LISTED] = Present(tuple(e for r in group for e in r.away.events()[:1]))
    return found


def _advice(group: list[Restart], session: int, *, anew: bool) -> Advice:
    cost = f"A member that is really gone is noticed only after session.timeout.ms ({seconds(session)})."
    if anew:
        return Advice(
            action=(
                "Let each new process take over the group.instance.id of an old one (a StatefulSet's pod name), "
                "and start it only when the old one is gone."
            ),
            why=f"Under new names every member costs a join and a leave: here {len(group)} of each.",
            cost=cost,
        )
    down = max(0, *(r.up_at - r.away.at for r in group))
    return Advice(
        action="Give each member a group.instance.id (static membership).", why=_enough(down, session), cost=cost
    )


def _enough(down: int, session: int) -> str:
    if down <= session:
        return (
            f"The longest restart took {seconds(down)}: within session.timeout.ms ({seconds(session)}) a static member "
            "costs no rebalance."
        )
    return (
        f"A static member that is back within session.timeout.ms ({seconds(session)}) costs no rebalance; the longest "
        f"restart took {seconds(down)}, so raise it to about {rounded_up(down)}."
    )


CAUSE = Cause(
    summary="The members were restarted one after another, as a deployment does.",
    mechanism="Each restart is a leave and a join: two rebalances a member, more when they overlap.",
    shows="Leave (or expiry) and join pairs that walk over the members with a steady gap.",
    remedy=(
        "Static membership with a session timeout above the restart time; cooperative rebalancing or "
        "KIP-848 keep the others reading."
    ),
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(WALKED, STRONG),
        speaks_for(ALL_BACK, STRONG),
        speaks_against(ONLY_LISTED, STRONG + WEAK),
        speaks_against(EXPIRED_IN_TURN, STRONG + WEAK),
    ),
    brings=("member-left", "process-crash", "scale-in", "scale-out", "startup", "static-member-expired", "unsubscribe"),
    lookalikes=("scaling-flap", "slow-processing", "member-left", "process-crash"),
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345", "KIP-429"),
)
