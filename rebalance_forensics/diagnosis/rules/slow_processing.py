"""A member did not call poll() for max.poll.interval.ms (KIP-62, KIP-800)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import (
    Away,
    absences,
    distinct_events,
    members_counted,
    runs,
    seconds,
    setting,
    touched,
)
from rebalance_forensics.diagnosis.finding import CERTAIN, PROBABLE, UNSURE, Fact, Finding, Rule
from rebalance_forensics.diagnosis.kafka_settings import number_in
from rebalance_forensics.diagnosis.living_threads import process_lived
from rebalance_forensics.diagnosis.model import Advice, RuledOut
from rebalance_forensics.diagnosis.silence import silences
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberLeft, PollTimeoutExpired
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.names import is_bare_member_id

STORM_GAP_MS = 120_000
SLACK_MS = 1_000
ENOUGH_TO_WALK = 3
"""Two members that leave and return while a third dies may as well have been slow."""


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame whoever's poll timeout expired, by its own log or by the reason its LeaveGroup carried."""
    told = absences(timeline, ("poll-timeout",))
    silent = [a for a in absences(timeline, ("left",)) if _left_and_came_back(a) and _may_have_expired(timeline, a)]
    for group in runs(told, lambda a: a.at, STORM_GAP_MS):
        yield _finding(timeline, group, CERTAIN)
    for group in runs(silent, lambda a: a.at, STORM_GAP_MS):
        if all(_same_process(a) for a in group):
            yield _finding(timeline, group, PROBABLE)
        elif _like_poll_timeouts(timeline, group):
            yield _finding(timeline, group, UNSURE)
    unheard = [s for s in silences(timeline) if s.verdict == "slow"]
    for silent_ones in runs(unheard, lambda s: s.away.at, STORM_GAP_MS):
        yield _finding(timeline, [s.away for s in silent_ones], min(s.confidence for s in silent_ones))


def _left_and_came_back(away: Away) -> bool:
    """An old broker names no reason: a client that leaves and rejoins by itself was most likely slow."""
    by_itself = not away.actor.has_log or (away.start is None and away.stop is None)
    return by_itself and away.back_at is not None and away.actor.kind != "worker" and not _another_process(away)


def _may_have_expired(timeline: Timeline, away: Away) -> bool:
    """Whether max.poll.interval.ms, where it is known, had passed since the member joined: who joins polls.

    Who had left before joined after that, whether a line tells so or not.
    """
    allowed = _told_limit([away]) or setting(timeline, "max.poll.interval.ms", 0)
    before = (timeline.arrivals.of(away.actor).last(away.at - 1), timeline.departures.of(away.actor).last(away.at - 1))
    return all(fact is None or away.at - fact.at >= allowed - SLACK_MS for fact in before)


def _told_limit(group: list[Away]) -> int | None:
    """What the coordinator says of the members that left: a consumer's rebalance timeout is its poll interval."""
    lines = (e for a in group if a.actor.kind != "worker" for d in a.departures for e in d.events)
    told = (e.rebalance_timeout_ms for e in lines if isinstance(e, MemberLeft))
    return next((limit for limit in told if limit), None)


def _same_process(away: Away) -> bool:
    """A client makes its KIP-848 member id when it starts and keeps it: who comes back under it was not restarted."""
    left = {d.member for d in away.departures if is_bare_member_id(d.member or "")}
    return any(a.member in left for a in away.arrivals)


def _another_process(away: Away) -> bool:
    """Who comes back under another id of its own making was started anew."""
    ids = [*(d.member for d in away.departures), *(a.member for a in away.arrivals)]
    return all(is_bare_member_id(m or "") for m in ids) and not _same_process(away)


def _like_poll_timeouts(timeline: Timeline, group: list[Away]) -> bool:
    actors = {a.actor for a in group}
    everybody = max(len(timeline.actors()), members_counted(timeline, group[0].at))
    if len(actors) >= ENOUGH_TO_WALK:
        everybody -= len(_died_meanwhile(timeline, group) - actors)
    walks = len(group) == len(actors) and len(actors) > 1 and len(actors) >= everybody
    return not walks


def _died_meanwhile(timeline: Timeline, group: list[Away]) -> set[Actor]:
    """Who fell silent for good while the others went by turns: no deployment gets round to the dead."""
    until = max(a.back_at or a.at for a in group)
    died = (s.away for s in silences(timeline) if s.verdict == "crash")
    return {a.actor for a in died if a.back_at is None and group[0].at <= a.at <= until}


def _finding(timeline: Timeline, group: list[Away], confidence: float) -> Finding:
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
    return Finding(
        because=distinct_events(because),
        culprits=culprits_of(timeline, actors),
        confidence=confidence,
        severity="critical" if len(group) > 3 or len(back) < len(group) else "warning",
        claims=(*facts, *touched(timeline, facts)),
        core=tuple(d for a in group for d in a.departures),
        narrative=(
            f"{who} did not call poll() for max.poll.interval.ms ({limit} ms{'' if known else ' by default'}) "
            "and left the group" + (f"; the longest absence took {seconds(away_ms)}." if away_ms else ".")
        ),
        ruled_out=(
            RuledOut(cause="process-pause", why=_why_no_pause(timeline, group)),
            RuledOut(cause="member-left", why="the leave reason is the poll timeout, not a close"),
        ),
        advice=_advice(limit, away_ms, timeline.settings.get("max.poll.records", "")),
    )


def _meanwhile(timeline: Timeline, group: list[Away]) -> list[Fact]:
    """What else befell a member between two poll timeouts of its own: rebalances that it missed, and its returns."""
    left: dict[Actor, list[int]] = defaultdict(list)
    for away in group:
        left[away.actor] += [d.at for d in away.departures]
    found: list[Fact] = []
    for actor, times in left.items():
        begin, end = min(times), max(times) + SLACK_MS
        missed = [d for d in timeline.departures.of(actor).between(begin, end) if d.why != "session-expired"]
        found += [*missed, *timeline.arrivals.of(actor).between(begin, end)]
    return found


def _why_no_pause(timeline: Timeline, group: list[Away]) -> str:
    if any(process_lived(timeline, a) for a in group):
        return "other threads of the same process stayed in the group"
    return "the heartbeat thread lived: the client itself sent LeaveGroup"


def _advice(limit: int, away_ms: int, records: str) -> tuple[Advice, ...]:
    slowest = limit + away_ms
    fit = (number_in(records) or 0) * limit // slowest if away_ms else 0
    at_most = f" At that pace {fit} of the {records} records that max.poll.records allows fit in." if fit else ""
    return (
        Advice(
            action="Lower max.poll.records, or move slow work out of the poll loop.",
            why=f"One loop took about {seconds(slowest)}; max.poll.interval.ms allows {seconds(limit)}.{at_most}",
            cost="Smaller batches cost throughput; work outside the loop needs its own commit logic.",
        ),
        Advice(
            action=f"Raise max.poll.interval.ms above {slowest} if such loops are normal.",
            why="A loop that is allowed to take that long causes no rebalance.",
            cost="A consumer that is really stuck is noticed that much later, and every rebalance may wait that long.",
        ),
    )


RULE = Rule(
    summary="A member took longer than max.poll.interval.ms between two calls of poll() and was out of the group.",
    mechanism=(
        "The heartbeat thread of the client checks the time since the last poll(); past "
        "max.poll.interval.ms it sends LeaveGroup by itself, the coordinator rebalances, and the member "
        "rejoins as a new one when it polls again: two rebalances for one slow loop."
    ),
    signs=(
        "Client: 'consumer poll timeout has expired'. Broker from 3.2: the same words as the leave "
        "reason. Brokers before show only leaves and rejoins of the same client."
    ),
    remedy=(
        "Make the loop faster (max.poll.records, timeouts of calls it makes), or allow it more time "
        "(max.poll.interval.ms)."
    ),
    usual="fault",
    rank=20,
    diagnose=diagnose,
    settings=("max.poll.interval.ms", "max.poll.records", "group.instance.id"),
    kips=("KIP-62", "KIP-800", "KIP-345"),
)
