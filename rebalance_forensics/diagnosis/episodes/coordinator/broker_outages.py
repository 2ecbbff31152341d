"""Brokers that were down, paused or unreachable, according to their own logs, the controllers' and the clients'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Literal

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.behind import (
    Link,
    behind_end,
    behind_last_lines,
    behind_pause,
    ended_on_request,
    longest_first,
    lost_session,
    outlined,
    resumed_at,
    stopped_at,
    units_killed_with,
)
from rebalance_forensics.diagnosis.episodes.members.pods import is_kill
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.sign import Need
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.brokers import (
    affected_broker,
    broker_at,
    broker_of,
    brokers_by_home,
    next_line,
    stops_and_starts,
)
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.facts import Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.log_names import application_words
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.join_barriers import removed_at_timeout
from rebalance_forensics.timeline.model import BrokerOutage, Unreached
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, grouped, lists_by_key
from rebalance_forensics.timeline.timeouts import shown_poll_ms

_OF_A_BROKER = frozenset({"broker", "cluster", "confluent", "kafka", "kafkaserver", "server"})

# Causes that clients log for a connection that could not be established.
NOT_CONNECTED = ("error connecting", "could not be established", "connection setup timeout")
# The response to a commit that the replicas of `__consumer_offsets` did not acknowledge in time.
_WRITE_ERRORS = ("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE")
_MOST_LINES = 4

How = Literal["shut-down", "failed", "lost", "froze", "unreachable"]


class Downtime(Struct, frozen=True, kw_only=True):
    """A period in which a broker was down, paused or unreachable, and the lines that show it."""

    broker: int
    started_at: int
    ended_at: int | None
    how: How
    lines: tuple[Event, ...]
    behind: tuple[Link, ...] = ()
    is_fenced: bool = False
    """True if a controller fenced it, except at the end of a controlled shutdown."""

    def outlined(self) -> BrokerOutage:
        """The outage as an entry of the group's outline."""
        return BrokerOutage(
            broker=broker_name(self.broker),
            started_at=self.started_at,
            ended_at=self.ended_at,
            how=self.how,
            evidence=tuple(map(evidence_of, self.lines)),
            behind=outlined(self.behind),
            is_fenced=self.is_fenced,
        )


def unseen_ms(how: How) -> int:
    """The longest time, in ms, that a broker may have been out before the first line that shows it."""
    # A controller fences it a session after its last heartbeat (broker.session.timeout.ms, 9 s by default).
    return windows.AT_ONCE_MS if how in ("lost", "froze") else windows.TICK_MS


class _Sighting(Struct, frozen=True):
    """A line that shows that a broker is down or back."""

    at: int
    broker: int
    is_back: bool
    event: Event


def outages_of_other_brokers(timeline: Timeline, broker: int | str | None, begin: int, end: int) -> list[Downtime]:
    """The outages of other brokers that kept a running coordinator from serving its groups, nearest in time first.

    Every commit and every assignment is a write to `__consumer_offsets` that each in-sync replica must acknowledge
    (acks=all). While a replica is down and still in the ISR, the write times out (offsets.commit.timeout.ms, 5 s), the
    coordinator responds with COORDINATOR_NOT_AVAILABLE, and its members search for another coordinator in vain. After
    replica.lag.time.max.ms (30 s), the broker is removed from the ISR.
    """
    near = [o for o in outages_between(timeline, begin, end) if o.started_at >= begin - windows.ONE_REBALANCE_MS]
    if broker is None or any(outage.broker == broker for outage in near):
        return []
    return sorted(near, key=lambda outage: abs(outage.started_at - begin))


def write_failed(timeline: Timeline, lost: Event) -> bool:
    """True if a member gave up its coordinator for its response to a commit: it could not write to its partition."""
    who, at = timeline.participants.of_speaker(lost), time_of(lost)
    commits = timeline.events_from(who, ev.OffsetCommitFailed).between(at - windows.ROUND_TRIP_MS, at)
    return any(e.error in _WRITE_ERRORS for e in commits)


def outages_between(timeline: Timeline, begin: int, end: int) -> list[Downtime]:
    """The outages of all brokers that overlap a time span; their last lines may precede it."""
    outages = (outage for outage in broker_outages(timeline) if outage.started_at <= end + unseen_ms(outage.how))
    return [o for o in outages if o.ended_at is None or o.ended_at >= begin - windows.HEARTBEAT_MS]


@cached_answer
def broker_outages(timeline: Timeline) -> tuple[Downtime, ...]:
    """Every outage of a broker that these logs show, oldest first.

    A broker that is fenced and then continues to log without a start was paused: the controller fences it for missing
    heartbeats (broker.session.timeout.ms), and it registers again when it resumes (BrokerLifecycleManager).
    """
    seen = (
        *_logged_changes(timeline),
        *_replayed_changes(timeline),
        *_stops_of_processes(timeline),
        *_missed_by_clients(timeline),
    )
    by_broker = grouped(seen, attrgetter("broker"))
    found = [
        _outage(timeline, broker, run)
        for broker, sightings in by_broker.items()
        for run in _one_outage_each(sorted(sightings, key=lambda s: s.at))
    ]
    return tuple(sorted(found, key=lambda outage: (outage.started_at, outage.broker)))


def _logged_changes(timeline: Timeline) -> Iterator[_Sighting]:
    """Brokers that are down or back, according to their own lines and the active controllers'."""
    for event in stops_and_starts(timeline):
        is_back = isinstance(event, ev.BrokerStarted)
        named = affected_broker(event)
        for broker in dict.fromkeys((*((named,) if named is not None else ()), *event.brokers)):
            if event.at is not None:
                yield _Sighting(event.at, broker, is_back, event)


def _replayed_changes(timeline: Timeline) -> Iterator[_Sighting]:
    """Brokers that are fenced, unfenced or stopping, according to lines that standby controllers log as well.

    Changes that a controller replays while it loads the metadata log, or catches up with it, happened earlier and are
    left out: it then sees every broker for the first time, or fences and unfences a broker within a moment.
    """
    replayed = [e for e in timeline.of(ev.RegistrationReplayed) if isinstance(e, ev.RegistrationReplayed) and e.at]
    for of_one in grouped(replayed, lambda e: (e.speaker.file, e.broker)).values():
        loading_until = 0
        for run in runs(of_one, time_of, windows.TICK_MS):
            changes = {event.change for event in run}
            if "first seen" in changes:
                loading_until = time_of(run[-1]) + windows.PROCESS_START_MS + windows.AT_ONCE_MS
            is_history = bool(changes & _BACK) and bool(changes - _BACK)
            if not is_history and time_of(run[0]) > loading_until:
                yield from (_Sighting(time_of(e), e.broker, e.change in _BACK, e) for e in run)


_BACK = {"unfenced", "new incarnation"}


def _stops_of_processes(timeline: Timeline) -> Iterator[_Sighting]:
    """Stops of a broker's JVM that last longer than a heartbeat interval, and the end of its process.

    They are in logs on the broker's host (`kafkaServer-gc.log`, the kernel's, systemd's), which do not name the broker.
    """
    for event in timeline.of(*ev.OF_THE_HOST):
        broker = broker_at(timeline, event) if event.at is not None else None
        if broker is None:
            continue
        if isinstance(event, ev.ThreadsStopped):
            if event.stopped_ms >= windows.NEXT_HEARTBEAT_MS and _may_be_of_broker(event.speaker.file):
                yield _Sighting(stopped_at(event), broker, is_back=False, event=event)
                yield _Sighting(resumed_at(event), broker, is_back=True, event=event)
        elif isinstance(event, ev.ProcessKilled) and _ended_broker(timeline, broker, event):
            yield _Sighting(time_of(event), broker, is_back=False, event=event)
    for pod, brokers in brokers_by_home(timeline).items() if timeline.orchestration else ():
        reports = timeline.orchestration.of_pod.get(pod, NOTHING)
        if len(brokers) == 1 and len({e.namespace for e in reports}) == 1:
            broker = min(brokers)
            for report in reports:
                known = timeline.orchestration.is_of_application(report, ("broker", "kafka"))
                if is_kill(report) and known and not _kept_logging(timeline, broker, time_of(report)):
                    yield _Sighting(time_of(report), broker, is_back=False, event=report)


def _ended_broker(timeline: Timeline, broker: int, kill: ev.ProcessKilled) -> bool:
    near = timeline.of(ev.ProcessKilled).between(time_of(kill) - 2 * SECOND_MS, time_of(kill) + 2 * SECOND_MS)
    units = units_killed_with(kill, near) if kill.unit is None or kill.command else {kill.unit}
    of_kafka = kill.command in (None, "java") and all(map(_may_be_of_broker, units))
    return of_kafka and not ended_on_request(kill) and not _kept_logging(timeline, broker, time_of(kill))


def _may_be_of_broker(name: str) -> bool:
    # Connect, ZooKeeper, the REST proxy and exporters run on brokers' hosts, in JVMs and units with similar names.
    return application_words(name) <= _OF_A_BROKER


def _kept_logging(timeline: Timeline, broker: int, at: int) -> bool:
    """True if the broker's own log continues without a restart: another process was killed."""
    started = [e for e in timeline.of(ev.BrokerStarted) if affected_broker(e) == broker and e.speaker.broker == broker]
    # "starting" is among the first lines of a process; other start-up lines come at the end of its start.
    starts = (time_of(e) - (e.phase != "starting") * windows.PROCESS_START_MS for e in started if time_of(e) > at)
    until = min(starts, default=None)
    return next_line(timeline, broker, at + windows.ROUND_TRIP_MS, None if until is None else until - 1) is not None


def _missed_by_clients(timeline: Timeline) -> Iterator[_Sighting]:
    """Failed connections to a broker from most members with a log, while they reached the other brokers."""
    failed = _failed_connections(timeline)
    heard = sum(member.has_log for member in timeline.membership.members)
    for broker, events in failed.items():
        for run in runs(events, time_of, windows.REQUEST_TIMEOUT_MS):
            missing = _members_reaching_others(timeline, broker, run)
            if (
                len(missing) > 1
                and 2 * len(missing) > heard
                and time_of(run[-1]) - time_of(run[0]) > windows.HEARTBEAT_MS
            ):
                yield from (_Sighting(time_of(event), broker, is_back=False, event=event) for event in run)


def unreached_brokers(timeline: Timeline) -> tuple[Unreached, ...]:
    """Brokers that members could not connect to for longer than a heartbeat while they reached the other brokers.

    A single member does not prove an outage; members of several groups do.
    """
    found = []
    for broker, events in sorted(_failed_connections(timeline).items()):
        for run in runs(events, time_of, windows.REQUEST_TIMEOUT_MS):
            for member in _members_reaching_others(timeline, broker, run):
                own = [event for event in run if timeline.participants.of_speaker(event) is member]
                if time_of(own[-1]) - time_of(own[0]) > windows.HEARTBEAT_MS:
                    found.append(
                        Unreached(
                            broker=broker_name(broker),
                            member=member.name,
                            started_at=time_of(own[0]),
                            ended_at=time_of(own[-1]),
                            evidence=evidence_of(own[0]),
                        )
                    )
    return tuple(sorted(found, key=lambda each: (each.started_at, each.broker, each.member)))


@cached_answer
def _failed_connections(timeline: Timeline) -> dict[int, TimeIndex[ev.NodeDisconnected]]:
    """Broker -> the failed attempts of clients to connect to it."""
    timed = (event for event in timeline.disconnected(*NOT_CONNECTED) if event.at is not None)
    found = TimeIndex(timed, time_of, ordered=True).by(broker_of)
    return {broker: events for broker, events in found.items() if broker is not None}


def _members_reaching_others(timeline: Timeline, broker: int, run: Sequence[ev.NodeDisconnected]) -> list[Participant]:
    """The members of these failed connections, except members that failed to reach other brokers as well."""
    failed = _failed_connections(timeline)
    begin, end = time_of(run[0]) - windows.HEARTBEAT_MS, time_of(run[-1]) + windows.HEARTBEAT_MS
    others = (e for other, events in failed.items() if other != broker for e in events.between(begin, end))
    cut_off = {timeline.participants.of_speaker(event) for event in others}
    missing = dict.fromkeys(timeline.participants.of_speaker(event) for event in run)
    return [member for member in missing if member is not None and member not in cut_off]


def _one_outage_each(sightings: Iterable[_Sighting]) -> Iterator[list[_Sighting]]:
    """Split sightings into outages: from the first line that shows the broker down to the last that shows it back."""
    run: list[_Sighting] = []
    for sighting in sightings:
        if run and sighting.at - run[-1].at > windows.ONE_REBALANCE_MS and not (run[-1].is_back < sighting.is_back):
            yield run
            run = []
        if run and run[-1].is_back and not sighting.is_back:
            yield run
            run = []
        if run or not sighting.is_back:
            run.append(sighting)
    if run:
        yield run


def _outage(timeline: Timeline, broker: int, run: Sequence[_Sighting]) -> Downtime:
    down = [sighting for sighting in run if not sighting.is_back]
    back = [sighting.at for sighting in run if sighting.is_back]
    last = down[-1].at
    logs_again = next_line(timeline, broker, last + windows.TICK_MS + 1)
    silent = logs_again is not None and next_line(timeline, broker, down[0].at + 1, last - 1) is None
    how = _kind_of_outage(run, restarted=_restarted(broker, run), logs_again=silent)
    # Lines of the controller and the broker itself are more conclusive than failed connections of clients.
    clearest = sorted(down, key=lambda s: (isinstance(s.event, ev.NodeDisconnected), s.at))
    lines = [s.event for s in (*clearest[:_MOST_LINES], *[s for s in run if s.is_back][-1:])]
    stops = [s.event for s in down if isinstance(s.event, ev.ThreadsStopped)]
    kills = [s.event for s in down if isinstance(s.event, ev.ProcessKilled | ev.ContainerReported)]
    ended_by = behind_last_lines(_last_errors(timeline, broker, down[0].at, last)) if how in ("lost", "failed") else ()
    ended = (
        logs_again
        if how == "froze" and not stops and silent
        else max(back, default=last if how == "unreachable" else None)
    )
    lost = behind_lost_session(timeline, broker, down[0].at, ended or last)
    return Downtime(
        broker=broker,
        started_at=down[0].at,
        ended_at=ended,
        how=how,
        lines=tuple(dict.fromkeys(lines)),
        behind=()
        if how == "shut-down"
        else behind_end(kills, None) or ended_by or (*lost, *behind_pause(longest_first(stops))),
        is_fenced="fenced" in _changes(run) and how != "shut-down",
    )


def behind_lost_session(timeline: Timeline, broker: int, begin: int, end: int) -> tuple[Link, ...]:
    """The lost session with ZooKeeper or the controller for which a running broker was considered dead; empty if none.

    A broker that was paused logs the same when it resumes. With KRaft, heartbeats that fail until the controller fences
    the broker show that it was running: a killed broker logs nothing more, and one whose heartbeats succeed again keeps
    its session.
    """
    if not timeline.shows_any((ev.BrokerSessionLost,)):
        return ()
    near = timeline.of(ev.BrokerSessionLost).between(begin - windows.REQUEST_TIMEOUT_MS, end + windows.ROUND_TRIP_MS)
    own = [e for e in near if broker in (e.broker, e.speaker.broker, broker_at(timeline, e))]
    # A session that ended before has another reason: the broker had a new one when it went out.
    of_zookeeper = runs([e for e in own if e.peer == "ZooKeeper"], time_of, windows.AT_ONCE_MS)
    if of_zookeeper and any(e.why == "expired" for e in of_zookeeper[-1]):
        return lost_session(of_zookeeper[-1], _that_heard_nothing(timeline, broker, of_zookeeper[-1]))
    stops = stops_and_starts(timeline).between(begin - windows.ROUND_TRIP_MS, end)
    timed_out = (e for e in stops if isinstance(e, ev.BrokerStopped) and e.timed_out)
    fenced = next((time_of(e) for e in timed_out if affected_broker(e) == broker), None)
    if fenced is None:
        return ()
    failed = [e for e in own if e.peer != "ZooKeeper" and time_of(e) <= fenced]
    # A heartbeat times out after half a session, 4.5 s by default, and is sent again (BrokerServer, KAFKA-14392).
    lasted = any(fenced - time_of(e) <= windows.NEXT_HEARTBEAT_MS for e in failed)
    return lost_session(failed) if lasted else ()


def _that_heard_nothing(timeline: Timeline, broker: int, lost: Sequence[ev.BrokerSessionLost]) -> list[str]:
    """The other brokers that heard nothing from ZooKeeper while this one did not: ZooKeeper was out, not the broker."""
    silences = [e for e in lost if e.silent_ms]
    if not silences:
        return []
    begin, end = min(time_of(e) - (e.silent_ms or 0) for e in silences), time_of(silences[-1])
    near = timeline.of(ev.BrokerSessionLost).between(begin, end + windows.ROUND_TRIP_MS)
    silent = {_whose_session(timeline, e) for e in near if e.peer == "ZooKeeper" and e.silent_ms}
    return [broker_name(other) for other in sorted(silent - {None, broker}, key=str) if other is not None]


def _whose_session(timeline: Timeline, lost: ev.BrokerSessionLost) -> int | None:
    named = (lost.broker, lost.speaker.broker, broker_at(timeline, lost))
    return next((number for number in named if number is not None), None)


def _last_errors(timeline: Timeline, broker: int, begin: int, end: int) -> list[Event]:
    """Lines of a broker or its JVM about its own end before it was missed, latest first."""
    logged = timeline.of(ev.ProcessDied, ev.ExceptionLogged, ev.BrokerStopped, ev.HostDisturbed).between(
        begin - windows.AT_ONCE_MS, end
    )
    own = [e for e in logged if broker in (e.speaker.broker, broker_at(timeline, e))]
    # A broker that continued for a while survived the error.
    return [e for e in reversed(own) if next_line(timeline, broker, time_of(e) + windows.ROUND_TRIP_MS, end) is None]


def _kind_of_outage(run: Sequence[_Sighting], *, restarted: bool, logs_again: bool) -> How:
    down = [sighting.event for sighting in run if not sighting.is_back]
    phases = _changes(run)
    if "failed" in phases:
        return "failed"
    if "stopping" in phases:
        return "shut-down"
    if restarted or any(isinstance(event, ev.ProcessKilled | ev.ContainerReported) for event in down):
        return "lost"
    if any(isinstance(event, ev.ThreadsStopped) for event in down):
        return "froze"
    if logs_again and any(event.speaker.role == "broker" for event in down):
        return "froze"
    # A process that starts registers a new incarnation before it is unfenced, a paused one is only unfenced.
    if isinstance(run[-1].event, ev.RegistrationReplayed) and run[-1].event.change == "unfenced":
        return "froze"
    return "lost" if phases else "unreachable"


def _changes(run: Sequence[_Sighting]) -> set[str]:
    """The phases of the broker's stop and the changes of its registration, from its own log and the controllers'."""
    down = [sighting.event for sighting in run if not sighting.is_back]
    replayed = (event.change for event in down if isinstance(event, ev.RegistrationReplayed))
    return {*(event.phase for event in down if isinstance(event, ev.BrokerStopped)), *replayed}


def _restarted(broker: int, run: Sequence[_Sighting]) -> bool:
    # That a controller unfences the broker is no proof: it also unfences one that was paused.
    back = [sighting.event for sighting in run if sighting.is_back]
    if any(isinstance(event, ev.RegistrationReplayed) and event.change == "new incarnation" for event in back):
        return True
    starts = (event for event in back if isinstance(event, ev.BrokerStarted))
    return any(event.phase == "starting" or event.speaker.broker == broker for event in starts)


def log_of_broker(timeline: Timeline, broker: int, at: int) -> Need | None:
    """The broker's log, which would show why it went down at this time; None if that log is available."""
    if next_line(timeline, broker, at - windows.QUIET_MS) is not None:
        return None
    name = broker_name(broker)
    begin, end = at - windows.ONE_REBALANCE_MS, at + windows.ONE_REBALANCE_MS
    return Need(what=f"server.log of {name}", who=name, begin=begin, end=end)


def log_of_its_end(timeline: Timeline, outage: Downtime) -> Need | None:
    """The logs that would show what killed a broker whose own log shows no stop; None if known or without its log."""
    if outage.how != "lost" or outage.behind or next_line(timeline, outage.broker, 0, outage.started_at) is None:
        return None
    what = (
        "the kernel and supervisor logs from the host of {who} (journalctl -o short-iso, dmesg -T); of a pod its "
        "events and status (kubectl get events -A -o json > events.json, kubectl get pods -A -o json > pods.json)"
    )
    begin, end = outage.started_at - windows.ONE_REBALANCE_MS, outage.ended_at or outage.started_at
    return Need(what=what, who=broker_name(outage.broker), begin=begin, end=end)


class UnreachableBroker(Struct, frozen=True):
    """A broker, and the lines in which clients of the process failed to reach it."""

    broker: int
    lines: tuple[ev.NodeDisconnected, ...]


# A poll loop that writes to a partition without a leader waits in send() or flush() (delivery.timeout.ms,
# max.block.ms); commits and reads wait as well. Meanwhile, the clients of its process keep retrying that broker:
# producers and admin clients have their own thread and retry even if the application does not call poll().
def unreachable_before(timeline: Timeline, departure: Departure) -> list[UnreachableBroker]:
    """The brokers that its process failed to reach for a while since about its last poll()."""
    if departure.why != "poll-timeout":
        return []
    return timeline.cached_as(("unreachable", departure.id), lambda: _unreachable_before(timeline, departure))


def _unreachable_before(timeline: Timeline, departure: Departure) -> list[UnreachableBroker]:
    limit = shown_poll_ms(timeline, departure.events) or 0
    polled = departure.at - limit
    failed = timeline.of(ev.NodeDisconnected).between(polled - limit, departure.at) if limit else ()
    own = (e for e in failed if departure.participant in _of_its_process(timeline, e))
    by_broker = lists_by_key((broker, e) for e in own if (broker := broker_of(e)) is not None)
    return [
        UnreachableBroker(broker, tuple(run))
        for broker, events in sorted(by_broker.items())
        for run in runs(events, time_of, windows.PROCESS_START_MS)
        if _kept_from_polling(run, polled, limit)
    ]


def _of_its_process(timeline: Timeline, event: ev.NodeDisconnected) -> Sequence[Participant]:
    """The members in the process of a client; in a shared log, the members to which its client id belongs."""
    neighbors = timeline.participants.at_place(event)
    if len(neighbors) < 2:
        return neighbors
    speaker, client = timeline.participants.of_speaker(event), event.speaker.client_id or ""
    return [speaker] if speaker is not None else [p for p in neighbors if client.startswith(tuple(p.client_ids))]


def _kept_from_polling(run: Sequence[ev.NodeDisconnected], polled: int, limit: int) -> bool:
    """True if the broker was unreachable for most of the poll interval."""
    # Clients stop retrying once the controller has fenced the broker; its partitions have no leader from then on.
    first, last = time_of(run[0]), time_of(run[-1])
    return (
        first <= polled + limit // 2
        and last >= polled - windows.NEXT_HEARTBEAT_MS
        and last - first > windows.HEARTBEAT_MS
    )


def waited_for(timeline: Timeline, departures: Sequence[Departure]) -> UnreachableBroker | None:
    """The only broker that the processes of all these members failed to reach since their last poll(); else None."""
    by_departure = [{brokers.broker: brokers for brokers in unreachable_before(timeline, d)} for d in departures]
    common = [broker for broker in by_departure[0] if all(broker in brokers for brokers in by_departure)]
    if len(common) != 1:
        return None
    return UnreachableBroker(common[0], tuple(e for brokers in by_departure for e in brokers[common[0]].lines[:2]))


class CoordinatorSilence(Struct, frozen=True, kw_only=True):
    """A rebalance that stayed open past the rebalance timeout while the coordinator logged nothing."""

    rebalance: Rebalance
    removal: ev.MemberFailed
    """The line that ended it: the timer fired when the coordinator resumed."""
    open_ms: int
    timeout_ms: int
    """The shortest time after which the coordinator removed members in another rebalance of the group."""

    @property
    def lines(self) -> tuple[Event, ...]:
        """The last line before the silence and the first one after it."""
        return (*self.rebalance.events[:1], self.removal)

    def disturbed(self, timeline: Timeline) -> list[Rebalance]:
        """The rebalance itself, and later ones in which members still learn that the coordinator removed them."""
        end = self.rebalance.started_at + self.open_ms
        later = timeline.rebalances.between(end, end + windows.ONE_REBALANCE_MS)
        return [self.rebalance, *(r for r in later if r is not self.rebalance)]


@cached_answer
def coordinator_silences(timeline: Timeline) -> tuple[CoordinatorSilence, ...]:
    """All rebalances that the coordinator's silence prolonged, oldest first.

    A member cannot delay a rebalance for longer than the rebalance timeout, after which the coordinator removes it
    (GroupCoordinator.onCompleteJoin). No timer fires as late as twice the timeout.
    """
    removals = _removals(timeline)
    if len(removals) < 2:
        return ()
    waits = {rebalance.id: time_of(removal) - rebalance.started_at for rebalance, removal in removals}
    timeout = min(waits.values())
    return tuple(
        CoordinatorSilence(rebalance=rebalance, removal=removal, open_ms=waits[rebalance.id], timeout_ms=timeout)
        for rebalance, removal in removals
        if waits[rebalance.id] > 2 * timeout + windows.ROUND_TRIP_MS
        and not timeline.coordinator_events.any_between(
            rebalance.started_at + windows.TICK_MS, rebalance.started_at + waits[rebalance.id] - windows.TICK_MS
        )
    )


def _removals(timeline: Timeline) -> list[tuple[Rebalance, ev.MemberFailed]]:
    """Each rebalance that ended with a removal, and the first line that removed a member."""
    found = []
    for rebalance in timeline.rebalances:
        lines = (e for d in removed_at_timeout(timeline, rebalance) for e in d.events)
        if (line := next((e for e in lines if isinstance(e, ev.MemberFailed)), None)) is not None:
            found.append((rebalance, line))
    return found
