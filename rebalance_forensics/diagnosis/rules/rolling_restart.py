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
    runs,
    seconds,
    session_timeout_ms,
    touched,
)
from rebalance_forensics.diagnosis.comings import Restart, restarts
from rebalance_forensics.diagnosis.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.finding import GUESS, LIKELY, PROBABLE, UNSURE, Finding, Rule
from rebalance_forensics.diagnosis.last_words import exception_before
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.replacements import replacements
from rebalance_forensics.diagnosis.silence import silences
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact

STEP_MS = 240_000
AT_ONCE_MS = 10_000
ENOUGH_TO_WALK = 3
"""Of two members that go by turns nobody can tell a deployment from a flap."""


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Restarts that walk over at least two members and most of the group."""
    clean = [r for r in restarts(timeline) if not exception_before(timeline, r.away)]
    for group in (g for run in runs(clean, lambda r: r.away.at, STEP_MS) for g in _bounces(run)):
        actors = _replaced(group)
        replacing = {x.actor for r in group for x in r.arrivals} - set(actors)
        settled = max(sum(a not in replacing for a in timeline.actors()), members_counted(timeline, group[0].away.at))
        walks = len(actors) >= 2 and len(group) < 2 * len(actors) and not _all_at_once(group)
        if walks and 2 * len(actors) > settled:
            yield _finding(timeline, group, everyone=len(actors) >= settled)
    yield from _under_new_names(timeline)
    yield from _unheard(timeline, clean)


def _under_new_names(timeline: Timeline) -> Iterator[Finding]:
    """Newcomers take the places of nearly all members by turns: whoever scales, keeps most of them."""
    clean = [r for r in replacements(timeline) if not exception_before(timeline, r.away)]
    for group in runs(clean, lambda r: r.away.at, STEP_MS):
        actors = _replaced(group)
        replacing = {x.actor for r in group for x in r.arrivals} - set(actors)
        before = min(min(r.up_at, r.away.at) for r in group)
        settled = max(sum(a not in replacing for a in timeline.actors()), members_counted(timeline, before - 1))
        by_turns = min(r.away.at for r in group) < max(r.up_at for r in group) and not _all_at_once(group)
        if len(actors) >= 2 and by_turns and 4 * len(actors) >= 3 * settled:
            yield _finding(timeline, group, everyone=len(actors) >= settled, anew=True)


def _unheard(timeline: Timeline, clean: list[Restart]) -> Iterator[Finding]:
    """A Streams instance that closes sends no LeaveGroup: each expires once and is back before the next one goes."""
    silent = [s.away for s in silences(timeline) if s.verdict == "pause" and _is_unheard(s.away)]
    back = [Restart(a, a.actor, a.back_at or a.at, tuple(a.arrivals)) for a in silent]
    for group in runs(sorted([*clean, *back], key=lambda r: r.away.at), lambda r: r.away.at, STEP_MS):
        actors = {r.by for r in group}
        settled = max(len(timeline.actors()), members_counted(timeline, group[0].away.at))
        once = len(actors) == len(group) >= max(ENOUGH_TO_WALK, settled)
        by_turns = all(before.up_at < after.away.at for before, after in pairwise(group))
        if once and by_turns and any(r in back for r in group):
            yield replace(_finding(timeline, group, everyone=True), confidence=UNSURE)


def _is_unheard(away: Absence) -> bool:
    return away.actor.kind == "instance" and not away.actor.has_log and away.back_at is not None


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


def _finding(timeline: Timeline, group: list[Restart], *, everyone: bool, anew: bool = False) -> Finding:
    actors = _replaced(group)
    facts: tuple[Fact, ...] = tuple(f for r in group for f in (*r.away.facts(), *r.arrivals))
    known = all(r.away.arrivals for r in group)
    listed = all(only_listed(d) for r in group for d in r.away.departures)
    listed = listed and all(only_listed(a) for r in group for a in r.arrivals)
    times = [t for r in group for t in (r.away.at, r.up_at)]
    return Finding(
        because=distinct_events(
            e for r in group for e in (*r.away.events(), *(r.arrivals[0].events[:1] if r.arrivals else ()))
        ),
        culprits=(the_group(timeline, actors),) if everyone else culprits_of(timeline, actors),
        confidence=GUESS if listed else LIKELY if known else PROBABLE,
        severity="info",
        claims=(*facts, *touched(timeline, facts)),
        core=tuple(d for r in group for d in r.away.departures),
        narrative=(
            f"{len(actors)} members were restarted one after another{' under new names' if anew else ''} "
            f"within {seconds(max(times) - (min(times) if anew else group[0].away.at))}."
        ),
        advice=(_advice(group, session_timeout_ms(timeline), anew=anew),),
    )


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
    down = max((r.up_at - r.away.at for r in group), default=0)
    return Advice(
        action="Give each member a group.instance.id (static membership).",
        why=_enough(max(down, 0), session),
        cost=cost,
    )


def _enough(down: int, session: int) -> str:
    if down <= session:
        return (
            f"The longest restart took {seconds(down)}: within session.timeout.ms ({seconds(session)}) a static member "
            "costs no rebalance."
        )
    return (
        f"A static member that is back within session.timeout.ms ({seconds(session)}) costs no rebalance; the longest "
        f"restart took {seconds(down)}, so raise it above {down}."
    )


RULE = Rule(
    summary="The members were restarted one after another, as a deployment does.",
    mechanism="Each restart is a leave and a join: two rebalances a member, more when they overlap.",
    signs="Leave (or expiry) and join pairs that walk over the members with a steady gap.",
    remedy=(
        "Static membership with a session timeout above the restart time; cooperative rebalancing or "
        "KIP-848 keep the others reading."
    ),
    usual="planned",
    rank=30,
    diagnose=diagnose,
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345", "KIP-429"),
)
