"""One question to the logs: what was logged, by whom and when, and where it was not, whether a log would show it.

Present with the lines; absent with the logs and spans that were searched; else unobservable, with the logs to fetch.
Whether a log would show it follows from its coverage and from what its client logs (timeline/clients.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.sign import Absent, Answer, LookedIn, Need, Present, Sign, Subject, Unobservable
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import input_name
from rebalance_forensics.timeline.clients import would_log
from rebalance_forensics.timeline.coverage import CoveredLog, covering
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

# Nobody fetches more logs than this to explain one rebalance.
MOST_NEEDED = 5


class Place(Struct, frozen=True, gc=False):
    """Where lines would stand: a span, the logs that cover it from begin to end, and the log to fetch without them."""

    begin: int
    end: int
    logs: tuple[CoveredLog, ...]
    need: Need


def seen(lines: Iterable[Event], places: Iterable[Place]) -> Answer:
    """The lines; else that none of these places has them, or the logs of those that no log at hand covers."""
    found = tuple(lines)
    if found:
        return Present(found)
    searched: list[LookedIn] = []
    needs: list[Need] = []
    for place in places:
        searched += looked(place.logs, place.begin, place.end)
        if not place.logs:
            needs.append(place.need)
    return Unobservable(tuple(needs[:MOST_NEEDED])) if needs or not searched else Absent(tuple(searched))


def looked(logs: Iterable[CoveredLog], begin: int, end: int) -> tuple[LookedIn, ...]:
    """The part of each log that was searched."""
    found: list[LookedIn] = []
    for log in logs:
        since, until = max(begin, log.begin), min(end, log.end)
        if since <= until:
            found.append(LookedIn(path=log.path, begin=since, end=until))
    return tuple(found)


def own_place(
    timeline: Timeline, participant: Participant, begin: int, end: int, *types: type[Event], need: Need | None = None
) -> Place:
    """The log of one member, as far as its client would log events of these types."""
    logs = covering(timeline.coverage.of(participant), begin, end)
    shown = logs and all(would_log(timeline, participant, kind) for kind in types)
    return Place(begin, end, logs if shown else (), need or client_log(participant, begin, end))


def coordinator_place(timeline: Timeline, begin: int, end: int) -> Place:
    """The log of the group's coordinator; a broker logs nothing of a group that another one coordinates."""
    return Place(begin, end, covering(timeline.coverage.brokers, begin, end), coordinator_log(begin, end))


When = Callable[[Subject], Iterable[tuple[int, int]]]


def just_before(subject: Subject) -> Iterable[tuple[int, int]]:
    """From a heartbeat before the facts that the hypothesis explains: members learn of a rebalance by heartbeats."""
    return [(subject.begin - HEARTBEAT_MS, subject.end)]


def logged_by_coordinator(name: str, *types: type[Event], when: When, present: str, absent: str) -> Sign:
    """A sign that is nothing but this question: did the group's coordinator log events of these types, and when."""

    def ask(timeline: Timeline, subject: Subject) -> Answer:
        spans, events = [*when(subject)], timeline.own.of_type(*types)
        lines = (e for begin, end in spans for e in events.between(begin, end) if e.group == timeline.group)
        return seen(lines, (coordinator_place(timeline, *span) for span in spans))

    return Sign(id=name, present=present, absent=absent, ask=ask)


def own_log(timeline: Timeline, absence: Absence) -> Need:
    """The log of a member around its absence: from a session before it, to its return or a session after it."""
    session = session_timeout_ms(timeline)
    return client_log(absence.participant, absence.at - session, absence.back_at or absence.at + session)


def client_log(participant: Participant, begin: int, end: int) -> Need:
    """The log of one member, worker or Streams instance at INFO."""
    return Need(what=_log_of(participant), who=participant.name, begin=begin, end=end)


def host_place(timeline: Timeline, absence: Absence, words: str, logs: tuple[CoveredLog, ...] = ()) -> Place:
    """What the JVM or the host of a member logs while its session runs out, and the logs of it that are at hand."""
    participant, begin = absence.participant, absence.at - session_timeout_ms(timeline)
    what = words.replace("{who}", f"{participant.kind}{{s}} {{who}}")
    need = Need(what=what, who=participant.name, begin=begin, end=absence.at, of_its_host=True)
    return Place(begin, absence.at, logs, need)


@lru_cache(maxsize=1 << 11)
def _log_of(participant: Participant) -> str:
    """The member's log in words; cached because sign after sign asks for it."""
    at_hand = input_name(min(participant.files)) if participant.has_log and participant.files else ""
    # A client that gives no name goes by its file.
    if at_hand == participant.name:
        return f"{at_hand} at INFO"
    return f"the log{{s}} of {participant.kind}{{s}} {{who}}{f' at INFO, in {at_hand}' if at_hand else ''}"


def coordinator_log(begin: int, end: int) -> Need:
    """What the group's coordinator wrote."""
    what = "server.log of the group's coordinator"
    return Need(what=what, who=None, begin=begin, end=end, of_the_coordinator=True)


def earlier_logs(begin: int, end: int) -> Need:
    """The earlier part of the same logs."""
    return Need(what="earlier logs of the brokers and clients", who=None, begin=begin, end=end)


def later_logs(begin: int, end: int) -> Need:
    """More of what is at hand already."""
    return Need(what="later logs of the brokers and clients", who=None, begin=begin, end=end)
