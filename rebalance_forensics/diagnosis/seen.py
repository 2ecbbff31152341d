"""Answer a sign from the logs: present, with the lines; absent, with the logs and times searched; else unobservable.

Whether a log would show it depends on its coverage and on what its client logs (timeline/clients.py). An unobservable
sign lists the logs to fetch.
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

# At most this many logs are asked for: nobody fetches more to explain one rebalance.
MOST_NEEDED = 5


class Place(Struct, frozen=True, gc=False):
    """Where lines would appear: a time span, the logs that cover all of it, and the log to fetch if there are none."""

    begin: int
    end: int
    logs: tuple[CoveredLog, ...]
    need: Need


def seen(lines: Iterable[Event], places: Iterable[Place]) -> Answer:
    """Return present with the lines, if any; absent if logs cover all places; else unobservable, with missing logs."""
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
    """Return the part of each log that was searched."""
    found: list[LookedIn] = []
    for log in logs:
        since, until = max(begin, log.begin), min(end, log.end)
        if since <= until:
            found.append(LookedIn(path=log.path, begin=since, end=until))
    return tuple(found)


def own_place(
    timeline: Timeline, participant: Participant, begin: int, end: int, *types: type[Event], need: Need | None = None
) -> Place:
    """Return the place of one member's log; it counts as missing if its client would not log events of these types."""
    logs = covering(timeline.coverage.of(participant), begin, end)
    shown = logs and all(would_log(timeline, participant, kind) for kind in types)
    return Place(begin, end, logs if shown else (), need or client_log(participant, begin, end))


def coordinator_place(timeline: Timeline, begin: int, end: int) -> Place:
    """Return the place of the coordinator's log: only the coordinator logs the rebalances of a group."""
    return Place(begin, end, covering(timeline.coverage.brokers, begin, end), coordinator_log(begin, end))


When = Callable[[Subject], Iterable[tuple[int, int]]]


def just_before(subject: Subject) -> Iterable[tuple[int, int]]:
    """Return the time of the subject, starting one heartbeat earlier: members learn of a rebalance by heartbeats."""
    return [(subject.begin - HEARTBEAT_MS, subject.end)]


def logged_by_coordinator(name: str, *types: type[Event], when: When, present: str, absent: str) -> Sign:
    """Return a sign that is present if the group's coordinator logged events of these types at these times."""

    def ask(timeline: Timeline, subject: Subject) -> Answer:
        spans, events = [*when(subject)], timeline.group_events.of_type(*types)
        lines = (e for begin, end in spans for e in events.between(begin, end) if e.group == timeline.group)
        return seen(lines, (coordinator_place(timeline, *span) for span in spans))

    return Sign(id=name, present=present, absent=absent, ask=ask)


def own_log(timeline: Timeline, absence: Absence) -> Need:
    """Return the log of a member around its absence: from a session before, to its return or a session after."""
    session = session_timeout_ms(timeline)
    return client_log(absence.participant, absence.at - session, absence.back_at or absence.at + session)


def client_log(participant: Participant, begin: int, end: int) -> Need:
    """Return the log of one member, worker or Streams instance at INFO."""
    return Need(what=_log_of(participant), who=participant.name, begin=begin, end=end)


def host_place(timeline: Timeline, absence: Absence, words: str, logs: tuple[CoveredLog, ...] = ()) -> Place:
    """Return the place of a log of a member's JVM or host, from its last possible heartbeat to its eviction."""
    participant, begin = absence.participant, absence.at - session_timeout_ms(timeline)
    what = words.replace("{who}", f"{participant.kind}{{s}} {{who}}")
    need = Need(what=what, who=participant.name, begin=begin, end=absence.at, of_its_host=True)
    return Place(begin, absence.at, logs, need)


@lru_cache(maxsize=1 << 11)
def _log_of(participant: Participant) -> str:
    """Return the member's log in words; cached because many signs need it."""
    at_hand = input_name(min(participant.files)) if participant.has_log and participant.files else ""
    # A client whose log does not name it is named after its file.
    if at_hand == participant.name:
        return f"{at_hand} at INFO"
    return f"the log{{s}} of {participant.kind}{{s}} {{who}}{f' at INFO, in {at_hand}' if at_hand else ''}"


def coordinator_log(begin: int, end: int) -> Need:
    """Return the log of the group's coordinator."""
    what = "server.log of the group's coordinator"
    return Need(what=what, who=None, begin=begin, end=end, of_the_coordinator=True)


def earlier_logs(begin: int, end: int) -> Need:
    """Return the earlier part of the logs at hand."""
    return Need(what="earlier logs of the brokers and clients", who=None, begin=begin, end=end)


def later_logs(begin: int, end: int) -> Need:
    """Return the later part of the logs at hand."""
    return Need(what="later logs of the brokers and clients", who=None, begin=begin, end=end)
