"""A member did not call poll() for max.poll.interval.ms (KIP-62, KIP-800)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from rebalance_forensics.diagnosis.absences import (
    Absence,
    absences,
    distinct_events,
    members_counted,
    rounded_up,
    runs,
    seconds,
    setting,
    touched,
)
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.heartbeat_loss import losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs import departures, heartbeats, threads
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberLeft, PollTimeoutExpired
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.session_timeouts import number_of
from rebalance_forensics.timeline.windows import POLL_SLACK_MS, STORM_GAP_MS

ENOUGH_TO_WALK = 3
"""Two members that leave and return while a third dies may as well have been slow."""


SAME_PROCESS = stated("left-and-rejoined-by-itself", present="it left and rejoined by itself, as the same process")
BY_TURNS = stated(
    "left-and-came-back", present="it left without a stated reason and came back, and no deployment did it"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Whoever's poll timeout expired, by its own log or by the reason its LeaveGroup carried, or may have expired."""
    told = absences(timeline, ("poll-timeout",))
    silent = [a for a in absences(timeline, ("left",)) if _left_and_came_back(a) and _may_have_expired(timeline, a)]
    for group in runs(told, lambda a: a.at, STORM_GAP_MS):
        yield _hypothesis(timeline, group)
    for group in runs(silent, lambda a: a.at, STORM_GAP_MS):
        if all(_same_process(a) for a in group):
            yield replace(_hypothesis(timeline, group), answers={SAME_PROCESS: Present(_lines(group))})
        elif _like_poll_timeouts(timeline, group):
            yield replace(_hypothesis(timeline, group), answers={BY_TURNS: Present(_lines(group))})
    for absence in losses(timeline):
        yield _hypothesis(timeline, [absence])


def _lines(group: list[Absence]) -> tuple[Event, ...]:
    return distinct_events(e for a in group for e in a.events())


def _left_and_came_back(away: Absence) -> bool:
    """An old broker names no reason: a client that leaves and rejoins by itself was most likely slow."""
    by_itself = not away.actor.has_log or (away.start is None and away.stop is None)
    return by_itself and away.back_at is not None and away.actor.kind != "worker" and not _another_process(away)


def _may_have_expired(timeline: Timeline, away: Absence) -> bool:
    """Whether max.poll.interval.ms, where it is known, had passed since the member joined: who joins polls.

    Who had left before joined after that, whether a line tells so or not.
    """
    allowed = _told_limit([away]) or setting(timeline, "max.poll.interval.ms", 0)
    before = (timeline.arrivals.of(away.actor).last(away.at - 1), timeline.departures.of(away.actor).last(away.at - 1))
    return all(fact is None or away.at - fact.at >= allowed - POLL_SLACK_MS for fact in before)


def _told_limit(group: list[Absence]) -> int | None:
    """What the coordinator says of the members that left: a consumer's rebalance timeout is its poll interval."""
    lines = (e for a in group if a.actor.kind != "worker" for d in a.departures for e in d.events)
    told = (e.rebalance_timeout_ms for e in lines if isinstance(e, MemberLeft))
    return next((limit for limit in told if limit), None)


def _same_process(away: Absence) -> bool:
    """A client makes its KIP-848 member id when it starts and keeps it: who comes back under it was not restarted."""
    left = {d.member for d in away.departures if is_bare_member_id(d.member or "")}
    return any(a.member in left for a in away.arrivals)


def _another_process(away: Absence) -> bool:
    """Who comes back under another id of its own making was started anew."""
    ids = [*(d.member for d in away.departures), *(a.member for a in away.arrivals)]
    return all(is_bare_member_id(m or "") for m in ids) and not _same_process(away)


def _like_poll_timeouts(timeline: Timeline, group: list[Absence]) -> bool:
    actors = {a.actor for a in group}
    everybody = max(len(timeline.actors()), members_counted(timeline, group[0].at))
    if len(actors) >= ENOUGH_TO_WALK:
        everybody -= len(_died_meanwhile(timeline, group) - actors)
    walks = len(group) == len(actors) and len(actors) > 1 and len(actors) >= everybody
    return not walks


def _died_meanwhile(timeline: Timeline, group: list[Absence]) -> set[Actor]:
    """Who fell silent for good while the others went by turns: no deployment gets round to the dead."""
    until = max(a.back_at or a.at for a in group)
    return {a.actor for a in losses(timeline) if a.back_at is None and group[0].at <= a.at <= until}


def _hypothesis(timeline: Timeline, group: list[Absence]) -> Hypothesis:
    actors = [a.actor for a in group]
    facts = (*(f for a in group for f in a.facts()), *_meanwhile(timeline, group))
    everyone = len(set(actors)) > 1
    told = _told_limit(group)
    limit = told or setting(timeline, "max.poll.interval.ms", 300_000)
    known = told is not None or "max.poll.interval.ms" in timeline.settings
    back = [a for a in group if a.back_at is not None]
    away_ms = max(((a.back_at or 0) - a.at for a in back), default=0)
    who = f"{len(set(actors))} members" if everyone else culprits_of(timeline, actors)[0].name
    because: list[Event] = [
        e for a in group for d in a.departures for e in d.events if isinstance(e, PollTimeoutExpired)
    ]
    because += [e for a in group for e in a.events()]
    return Hypothesis(
        because=distinct_events(because),
        culprits=culprits_of(timeline, actors),
        severity="critical" if len(group) > 3 or len(back) < len(group) else "warning",
        explains=tuple(d for a in group for d in a.departures),
        brings=(*facts, *touched(timeline, facts)),
        actors=tuple(dict.fromkeys(actors)),
        absences=tuple(group),
        narrative=(
            f"{who} did not call poll() for max.poll.interval.ms{f' ({limit} ms)' if known else ''} "
            "and left the group" + (f"; out of the group for up to {seconds(away_ms)}." if away_ms else ".")
        ),
        advice=_advice(limit, away_ms, timeline.settings.get("max.poll.records", "")),
    )


def _meanwhile(timeline: Timeline, group: list[Absence]) -> list[Fact]:
    """What else befell a member between two poll timeouts of its own: rebalances that it missed, and its returns."""
    left: dict[Actor, list[int]] = defaultdict(list)
    for away in group:
        left[away.actor] += [d.at for d in away.departures]
    found: list[Fact] = []
    for actor, times in left.items():
        begin, end = min(times), max(times) + POLL_SLACK_MS
        missed = [d for d in timeline.departures.of(actor).between(begin, end) if d.why != "session-expired"]
        found += [*missed, *timeline.arrivals.of(actor).between(begin, end)]
    return found


def _advice(limit: int, away_ms: int, records: str) -> tuple[Advice, ...]:
    slowest = limit + away_ms
    enough = rounded_up(slowest)
    fit = (number_of(records) or 0) * limit // slowest if away_ms else 0
    at_most = f" At that pace {fit} of the {records} records that max.poll.records allows fit in." if fit else ""
    return (
        Advice(
            action="Lower max.poll.records, or move slow work out of the poll loop.",
            why=f"One loop took about {seconds(slowest)}; max.poll.interval.ms allows {seconds(limit)}.{at_most}",
            cost="Smaller batches cost throughput; work outside the loop needs its own commit logic.",
        ),
        Advice(
            action=f"Raise max.poll.interval.ms to about {enough} if such loops are normal.",
            why="A loop that is allowed to take that long causes no rebalance.",
            cost="A consumer that is really stuck is noticed that much later, and every rebalance may wait that long.",
        ),
    )


CAUSE = Cause(
    summary="A member took longer than max.poll.interval.ms between two calls of poll() and was out of the group.",
    mechanism=(
        "The heartbeat thread of the client checks the time since the last poll(); past "
        "max.poll.interval.ms it sends LeaveGroup by itself, the coordinator rebalances, and the member "
        "rejoins as a new one when it polls again: two rebalances for one slow loop."
    ),
    shows=(
        "Client: 'consumer poll timeout has expired'. Broker from 3.2: the same words as the leave "
        "reason. Brokers before show only leaves and rejoins of the same client."
    ),
    remedy=(
        "Make the loop faster (max.poll.records, timeouts of calls it makes), or allow it more time "
        "(max.poll.interval.ms)."
    ),
    usual="fault",
    propose=propose,
    prior=-WEAK,
    signs=(
        speaks_for(departures.poll_timeout_logged, DECISIVE + STRONG, absent=STRONG),
        speaks_for(SAME_PROCESS, STRONG + WEAK),
        speaks_for(BY_TURNS, STRONG),
        speaks_for(threads.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.expiry_logged, DECISIVE - STRONG),
        speaks_for(heartbeats.awake_without_a_leave, STRONG + WEAK),
        speaks_for(heartbeats.own_log_goes_on, 0, absent=DECISIVE),
        speaks_against(heartbeats.gave_up_coordinator, WEAK),
        speaks_against(departures.other_reason_logged, DECISIVE),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
    ),
    brings=(
        "rebalance-straggler",
        "member-left",
        "scaling-flap",
        "startup",
        "unstable-leader",
        "scale-out",
        "scale-in",
    ),
    lookalikes=("process-pause", "process-crash", "network-partition", "member-left"),
    settings=("max.poll.interval.ms", "max.poll.records", "group.instance.id"),
    kips=("KIP-62", "KIP-800", "KIP-345"),
)
