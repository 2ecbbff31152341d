"""What group.instance.id would have spared: a member back within session.timeout.ms causes no rebalance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from rebalance_forensics.diagnosis.absences import seconds, session_timeout_ms
from rebalance_forensics.diagnosis.model import WhatIf
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.model import Pause
from rebalance_forensics.timeline.time_index import Lasting

STATIC = "static membership (group.instance.id)"
SLACK_MS = 2_500
FOLLOWS_MS = 10_000
SPARABLE = frozenset({"closed", "left", "poll-timeout", "session-expired", "vanished"})
"""Static members send no LeaveGroup when they close or miss max.poll.interval.ms (KIP-345)."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One departure, how long the member was away (None: it did not come back), and the arrival that ended it."""

    departure: Departure
    away_ms: int | None
    arrival: Arrival | None


def static_membership(
    timeline: Timeline, started: int, ended: int, rebalances: Sequence[Rebalance], pauses: Sequence[Pause]
) -> WhatIf | None:
    """The alternative, None where it makes no sense: no departure, or members that are static already."""
    if timeline.kind not in ("consumer", "streams") or timeline.protocol not in ("classic", "consumer"):
        return None
    session = session_timeout_ms(timeline)
    absences = [
        _absence(timeline, d, session)
        for d in timeline.departures.between(started - SLACK_MS, ended + SLACK_MS)
        if not d.actor.instance_ids and d.why in SPARABLE
    ]
    if not absences:
        return None
    short = [a for a in absences if a.away_ms is not None and a.away_ms <= session]
    spared = _spared_rebalances(timeline, rebalances, short)
    gone = _spared_pauses(pauses, rebalances, spared)
    explanation = _explained(absences, short, session, len(spared), len(rebalances))
    if any(p.kind == "lost" for p in pauses):
        explanation += " What a member lost itself stays without a reader until it is back."
    known = bool(pauses) or every_client_tells(timeline)
    if not known:
        explanation += " Without the clients' logs the length of the pauses is not known."
    ms = sum((p.ended_at or max(ended, p.started_at)) - p.started_at for p in gone)
    return WhatIf(alternative=STATIC, spared_pause_ms=ms if known else None, explanation=explanation)


def every_client_tells(timeline: Timeline) -> bool:
    """Whether each member's own log is there, so that a pause not seen is a pause that was not."""
    return all(a.has_log for a in timeline.actors())


def _absence(timeline: Timeline, departure: Departure, session: int) -> Absence:
    """From the last sign of life to the return; an expiry tells that the last heartbeat was a timeout ago."""
    actor = departure.actor
    expired = departure.why in ("session-expired", "vanished")
    begin = departure.at - session - SLACK_MS
    stop = timeline.stops.of(actor).last(departure.at + SLACK_MS)
    down = departure.at - session if departure.why == "session-expired" else departure.at
    down = stop.at if stop is not None and stop.at >= begin else down
    since = down if expired else departure.at
    came = (a for a in timeline.arrivals.of(actor).onwards(since) if a.member != departure.member)
    back = [*islice(came, 1)]
    back += [departure.returned] if departure.returned is not None else []
    arrival = min(back, key=lambda a: a.at, default=None)
    return Absence(departure, max(arrival.at - down, 0) if arrival is not None else None, arrival)


def _spared_rebalances(
    timeline: Timeline, rebalances: Sequence[Rebalance], short: Sequence[Absence]
) -> list[Rebalance]:
    """Those that only these absences caused, and the follow-ups right after them."""
    harmless = {a.departure.id for a in short} | {a.arrival.id for a in short if a.arrival is not None}
    returning: set[Actor] = {a.departure.actor for a in short}
    found: list[Rebalance] = []
    for rebalance in rebalances:
        facts = _causes_of(timeline, rebalance)
        mine = [f for f in facts if f.id in harmless]
        others = [f for f in facts if f.id not in harmless and not (isinstance(f, Arrival) and f.actor in returning)]
        follows = bool(found) and rebalance.followup == "cooperative" and _right_after(found[-1], rebalance)
        if (mine or follows) and not others:
            found.append(rebalance)
    return found


def _causes_of(timeline: Timeline, rebalance: Rebalance) -> list[Fact]:
    begin, end = rebalance.started_at - SLACK_MS, (rebalance.stabilized_at or rebalance.ended_at()) + 200
    return [*timeline.departures.between(begin, end), *timeline.arrivals.between(begin, end)]


def _right_after(before: Rebalance, after: Rebalance) -> bool:
    return after.started_at - before.ended_at() <= FOLLOWS_MS


def _spared_pauses(
    pauses: Sequence[Pause], rebalances: Sequence[Rebalance], spared: Sequence[Rebalance]
) -> list[Pause]:
    """Pauses that began in a spared rebalance, where no other rebalance would have made them all the same."""
    chosen = {r.id for r in spared}
    known = Lasting(rebalances, attrgetter("started_at"), Rebalance.ended_at)
    found = []
    for pause in pauses:
        touched = known.touching(pause.started_at - 500, pause.started_at + 500)
        if touched and pause.kind == "revoked" and all(r.id in chosen for r in touched):
            found.append(pause)
    return found


def _explained(
    absences: Sequence[Absence], short: Sequence[Absence], session: int, spared: int, rebalances: int
) -> str:
    if not short:
        return (
            f"No member that left was back within session.timeout.ms ({seconds(session)}).{_longest(absences, session)}"
        )
    told = (
        f"After {len(short)} of {len(absences)} {'departure' if len(absences) == 1 else 'departures'} the member was "
        f"back within session.timeout.ms ({seconds(session)}), {_spared(spared, rebalances)}."
    )
    return told + _longest(absences, session)


def _spared(spared: int, rebalances: int) -> str:
    if rebalances == 1:
        return f"{'so' if spared else 'yet'} the rebalance would {'not ' if spared else ''}have happened"
    if spared == rebalances:
        return f"so none of the {rebalances} rebalances would have happened"
    if not spared:
        return f"yet all {rebalances} rebalances would have happened"
    return f"so {spared} of the {rebalances} rebalances would not have happened"


def _longest(absences: Sequence[Absence], session: int) -> str:
    longer = [a.away_ms for a in absences if a.away_ms is not None and a.away_ms > session]
    if not longer:
        return ""
    return (
        f" The longest absence took {seconds(max(longer))}: a session timeout above that would cover it, and its "
        "partitions would stand unread until the member is back."
    )
