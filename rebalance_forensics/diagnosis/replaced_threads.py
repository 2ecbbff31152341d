"""Stream threads that another one replaced, where no line says REPLACE_THREAD."""

from __future__ import annotations

from rebalance_forensics.diagnosis.absences import session_timeout_ms
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import ThreadAdded, ThreadRemoved
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.windows import (
    AROUND_MS,
    EXPIRY_SLACK_MS,
    HEARTBEAT_MS,
    THREAD_SWAP_MS,
    THREADS_BY_HAND_MS,
)


def replaced_by_its_handler(timeline: Timeline) -> dict[Actor, list[Event]]:
    """A thread is told to stop and adds its successor at once: all that 2.8 to 3.0 write of REPLACE_THREAD."""
    found: dict[Actor, list[Event]] = {}
    for added in timeline.of(ThreadAdded):
        actor = timeline.cast.of_speaker(added)
        if actor is None or added.replacing:
            continue
        at = time_of(added)
        ended = timeline.said_by(actor, ThreadRemoved).between(at - THREADS_BY_HAND_MS, at)
        stopped = [e for e in ended if e.phase == "stopping" and time_of(e) >= at - THREAD_SWAP_MS]
        if stopped and not any(e.phase == "removing" for e in ended):
            found.setdefault(actor, []).extend((stopped[-1], added))
    return found


def swapped(timeline: Timeline) -> dict[Actor, list[Event]]:
    """From brokers alone: a thread goes while another thread of the same process joins, and that more than once."""
    found: dict[Actor, list[Event]] = {}
    if timeline.kind != "streams":
        return found
    born = born_with_the_group(timeline)
    for departure in timeline.departures:
        if departure.actor.has_log:
            continue
        near = _successors(timeline, departure)
        if any(a.member != departure.member and a.id not in born for a in near):
            found.setdefault(departure.actor, []).append(departure.events[0])
    return {actor: events for actor, events in found.items() if len(events) > 1 and _has_grown(timeline, actor)}


def _has_grown(timeline: Timeline, actor: Actor) -> bool:
    """Some successor has a number that had not gone before; slow threads come back under those they had."""
    born, gone = born_with_the_group(timeline), timeline.departures.of(actor)
    return any(
        a.id not in born and all(_thread_of(timeline, d) != _thread_of(timeline, a) for d in gone.between(0, a.at))
        for a in timeline.arrivals.of(actor)
    )


def _successors(timeline: Timeline, departure: Departure) -> list[Arrival]:
    came = timeline.arrivals.of(departure.actor)
    if departure.why in ("unsubscribed", "closed", "left"):
        near = came.between(departure.at - AROUND_MS, departure.at + AROUND_MS)
        nearest = min(near, key=lambda a: abs(a.at - departure.at), default=None)
        return [nearest] if nearest and _for_it_alone(timeline, departure, nearest) else []
    if departure.why != "session-expired":
        return []
    # Nothing joins for a process that stands still, and everything for one that is started anew.
    since = departure.at - session_timeout_ms(timeline) - EXPIRY_SLACK_MS
    joined = max((a.at for a in came.between(0, departure.at) if a.member == departure.member), default=0)
    heirs = came.between(max(since, joined + 1), departure.at - HEARTBEAT_MS)
    return heirs if heirs and all(_other_thread(timeline, a, departure) for a in heirs) else []


def _for_it_alone(timeline: Timeline, departure: Departure, heir: Arrival) -> bool:
    """Another thread comes for it while the process lives on; of a process that restarts all go before any comes."""
    if not _other_thread(timeline, heir, departure):
        return False
    mine = timeline.departures.of(departure.actor)
    if any(d is not departure for d in mine.between(departure.at, heir.at)):
        return False
    came = {a.member for a in timeline.arrivals.of(departure.actor).between(0, departure.at)}
    return heir.at <= departure.at + THREAD_SWAP_MS or bool(came - {d.member for d in mine.between(0, departure.at)})


def _other_thread(timeline: Timeline, arrival: Arrival, departure: Departure) -> bool:
    came, gone = _thread_of(timeline, arrival), _thread_of(timeline, departure)
    return came is not None and gone is not None and came != gone


def _thread_of(timeline: Timeline, move: Arrival | Departure) -> str | None:
    return streams_thread(timeline.cast.client_of(move.member or "") or "")


def expiries_of(timeline: Timeline, actor: Actor, events: list[Event]) -> list[Departure]:
    """The expiries, a whole session later, of threads that ended in these events: they sent no LeaveGroup."""
    ended: dict[str, int] = {}
    for event in events:
        name = getattr(event, "thread", None) or event.speaker.thread
        if name is not None and not (isinstance(event, ThreadAdded) and not event.replacing):
            ended[name] = time_of(event)
    reach = session_timeout_ms(timeline) + EXPIRY_SLACK_MS
    gone = [d for d in timeline.departures.of(actor) if d.why == "session-expired"]
    return [d for d in gone if 0 <= d.at - ended.get(streams_thread(d.member or "") or "", d.at + 1) <= reach]
