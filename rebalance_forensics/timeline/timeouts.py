"""The timeouts of a group and its members: the values that the logs show, otherwise the defaults.

A value comes from a line about the member itself (from its client, its coordinator or its configuration), otherwise
from any configuration in the group's logs, otherwise from the default of the client or the broker. The `shown_…`
functions return None instead of a default, so that reports never present a guess. All values are in milliseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import HOUR_MS
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clients import is_java_member
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import Protocol
from rebalance_forensics.timeline.releases import latest_releases

SESSION = "session.timeout.ms"
POLL = "max.poll.interval.ms"
HEARTBEAT = "heartbeat.interval.ms"
REQUEST = "request.timeout.ms"
REBALANCE = "rebalance.timeout.ms"
CONNECT_DELAY = "scheduled.rebalance.max.delay.ms"
PROBING = "probing.rebalance.interval.ms"
INITIAL_DELAY = "group.initial.rebalance.delay.ms"
LEAST_SESSION = "group.min.session.timeout.ms"
OFFSETS_WRITE = "offsets.commit.timeout.ms"
OF_MEMBERS = (SESSION, POLL, HEARTBEAT)

DEFAULTS: Mapping[str, int] = {
    # KIP-735: Java consumers from 3.0; group.consumer.session.timeout.ms of brokers (KIP-848)
    SESSION: windows.SESSION_MS,
    POLL: 300_000,  # ConsumerConfig, KIP-62
    # ConsumerConfig and DistributedConfig; other clients have the same or a little more
    HEARTBEAT: windows.HEARTBEAT_MS,
    # ConsumerConfig from 2.0 (KIP-266); Connect workers wait 40 s (DistributedConfig)
    REQUEST: windows.REQUEST_TIMEOUT_MS,
    REBALANCE: 60_000,  # DistributedConfig; a consumer's rebalance timeout is its max.poll.interval.ms
    CONNECT_DELAY: 300_000,  # DistributedConfig, KIP-415
    PROBING: 600_000,  # StreamsConfig, KIP-441
    INITIAL_DELAY: 3_000,  # GroupCoordinatorConfig, KIP-134; the server.properties that Kafka ships sets 0
    LEAST_SESSION: 6_000,  # GroupCoordinatorConfig
    OFFSETS_WRITE: 5_000,  # GroupCoordinatorConfig: the coordinator waits this long for a write to be replicated
}
SESSION_BEFORE_3_0 = 10_000
"""Default session.timeout.ms of Java consumers before 3.0, and of all Connect workers (DistributedConfig)."""
LONGER_SESSIONS_SINCE = (3, 0)
JOIN_LAPSE = 5_000
"""JoinGroup times out this long after the rebalance timeout (AbstractCoordinator.JOIN_GROUP_TIMEOUT_LAPSE)."""
HEARTBEATS_PER_SESSION = 3
"""heartbeat.interval.ms should be no more than a third of session.timeout.ms (ConsumerConfig)."""
# Maximum number of digits of a Java long.
_LONGEST = 19


class _Shown(Struct, frozen=True, kw_only=True):
    """The timeouts in the lines of a group."""

    printed: Mapping[str, Mapping[str, int]]
    """Setting -> client id -> value in the logged configuration of that client."""
    logged: Mapping[str, Mapping[str, int]]
    """Setting -> member id -> value logged by a coordinator."""
    various: frozenset[str]
    """The settings with different values in different lines."""
    rebalance: Mapping[Participant, int]
    """Member -> max.poll.interval.ms, which its coordinator logs as the rebalance timeout (KIP-62)."""
    anywhere: Mapping[str, frozenset[int]]
    """Setting -> all values that coordinators or workers log for any member."""
    session: int | None
    """session.timeout.ms logged by the coordinator, otherwise from a configuration; None if no line shows it."""


def number_of(value: str) -> int | None:
    """The numeric value of a setting; None if it is not a number or does not fit in a Java long."""
    return int(value) if value.isdecimal() and len(value) <= _LONGEST else None


def session_of_events(events: EventIndex, protocol: Protocol, settings: Mapping[str, str]) -> int | None:
    """session.timeout.ms that the coordinator logs for a member that left or was loaded, otherwise as configured."""
    for event in reversed(events.of_type(ev.MemberLoaded, ev.MemberLeft)):
        assert isinstance(event, ev.MemberLoaded | ev.MemberLeft)
        if event.session_timeout_ms is not None:
            return event.session_timeout_ms
    # With KIP-848 the broker sets the session timeout, so the client's configuration is not used.
    name = SESSION if is_set_by_clients(protocol) else f"group.{protocol}.{SESSION}"
    return number_of(settings.get(name, ""))


def is_set_by_clients(protocol: Protocol) -> bool:
    """True if clients set the session timeout; with KIP-848 the brokers set it."""
    return protocol in ("classic", "unknown")


def shown_ms(timeline: Timeline, name: str) -> int | None:
    """The value of a setting in any configuration in the group's logs, or None."""
    return number_of(timeline.settings.get(name, ""))


def setting_ms(timeline: Timeline, name: str) -> int:
    """The value of a setting in any configuration in the group's logs, otherwise its default."""
    shown = shown_ms(timeline, name)
    return DEFAULTS[name] if shown is None else shown


def possible_ms(timeline: Timeline, name: str) -> tuple[tuple[int, bool], ...]:
    """All values that a setting may have in this group, each with True if a line shows it."""
    if (shown := shown_ms(timeline, name)) is not None:
        return ((shown, True),)
    if logged := _shown(timeline).anywhere.get(name):
        return tuple((value, True) for value in sorted(logged))
    defaults = (DEFAULTS[name], SESSION_BEFORE_3_0) if name == SESSION else (DEFAULTS[name],)
    return tuple((value, False) for value in defaults)


def configured_ms(timeline: Timeline, name: str) -> frozenset[int]:
    """All values of a setting in the configurations of the group's consumers, which may differ; else the default."""
    dumps = (dict(e.settings) for e in timeline.of(ev.SettingsReported) if e.kind == "ConsumerConfig")
    printed = frozenset(value for s in dumps if (value := number_of(s.get(name, ""))) is not None)
    return printed or frozenset((DEFAULTS[name],))


def shown_session_ms(timeline: Timeline, participant: Participant | None = None) -> int | None:
    """session.timeout.ms of the group or of one member; None if no log shows it."""
    group_ms = _shown(timeline).session or None
    if participant is None or not is_set_by_clients(timeline.protocol):
        return group_ms
    return _of_member_ms(timeline, participant, SESSION, group_ms)


def known_session_ms(timeline: Timeline, participant: Participant | None = None) -> int | None:
    """session.timeout.ms of the group or of one member as logged, else the default; None if the default is unknown."""
    java = participant is None or is_java_member(timeline, participant)
    return shown_session_ms(timeline, participant) or (default_session_ms(timeline) if java else None)


def _of_member_ms(timeline: Timeline, participant: Participant, name: str, group_ms: int | None) -> int | None:
    """A timeout of one member from its configuration or the coordinator's lines, else `group_ms` if all are alike."""

    def answer() -> int | None:
        shown = _shown(timeline)
        printed, logged = shown.printed.get(name, {}), shown.logged.get(name, {})
        for own in (
            {printed[client] for client in participant.client_ids & printed.keys()},
            {logged[member] for member in participant.member_ids & logged.keys()},
        ):
            if own:
                return own.pop() if len(own) == 1 else None
        # The group's value does not apply if configurations differ or the member uses another client library.
        alike = name not in shown.various and (not printed or is_java_member(timeline, participant))
        return group_ms if alike else None

    # A client that is evicted repeatedly has too many member ids to search for each absence.
    return timeline.cached_as((name, participant), answer)


@cached_answer
def session_timeout_ms(timeline: Timeline) -> int:
    """session.timeout.ms of the group as logged, otherwise the longest default."""
    # Used to bound how far to look back: an older client may be configured with more than its own default.
    return shown_session_ms(timeline) or DEFAULTS[SESSION]


@cached_answer
def default_session_ms(timeline: Timeline) -> int | None:
    """The default session.timeout.ms by protocol, kind of client and reported releases; None if that is ambiguous."""
    if len(timeline.protocols) > 1:
        return None  # the group migrated: classic members had their own timeout
    if not is_set_by_clients(timeline.protocol):
        return DEFAULTS[SESSION]
    if timeline.kind == "connect":
        return SESSION_BEFORE_3_0
    releases = latest_releases(timeline).values()
    if any(each.oldest >= LONGER_SESSIONS_SINCE for each in releases):
        return DEFAULTS[SESSION]
    return SESSION_BEFORE_3_0 if releases and all(r.newest < LONGER_SESSIONS_SINCE for r in releases) else None


def shown_poll_ms(
    timeline: Timeline, lines: Iterable[Event] = (), member: Participant | None = None, *, any_member: bool = False
) -> int | None:
    """max.poll.interval.ms from the lines of a departure, else that of the member, else that of the group, or None.

    With `any_member`, the longest value that the coordinator logs for any member is used if no configuration shows one.
    """
    lines = tuple(lines)
    own = (e.limit_ms for e in lines if isinstance(e, ev.PollTimeoutExpired))
    logged = (e.rebalance_timeout_ms for e in lines if isinstance(e, ev.MemberLeft))
    if (stated := next(filter(None, (*own, *logged)), None)) is not None:
        return stated
    if member is not None:
        return _of_member_ms(timeline, member, POLL, shown_ms(timeline, POLL))
    longest = max(_shown(timeline).rebalance.values(), default=None) if any_member else None
    return shown_ms(timeline, POLL) or longest


def shown_rebalance_ms(timeline: Timeline, participant: Participant) -> int | None:
    """The rebalance timeout of a member as logged by its coordinator, or None."""
    return _shown(timeline).rebalance.get(participant)


def is_implausible(exceeded_ms: int | None) -> bool:
    """True if a poll timeout was exceeded by an hour or more: the host was suspended, or the timer is wrong."""
    # librdkafka checks its timer twice a second (rd_kafka_cgrp_max_poll_interval_check_tmr_cb), so a slow loop exceeds
    # the timeout by at most half a second.
    return exceeded_ms is not None and exceeded_ms >= HOUR_MS


def heartbeat_interval_ms(timeline: Timeline, member: Participant | None = None) -> int:
    """heartbeat.interval.ms of the group or of one member as logged, otherwise its default."""
    group_ms = setting_ms(timeline, HEARTBEAT)
    if member is None or not is_set_by_clients(timeline.protocol):
        return group_ms
    return _of_member_ms(timeline, member, HEARTBEAT, group_ms) or DEFAULTS[HEARTBEAT]


def all_have_heard_ms(timeline: Timeline) -> int:
    """The time in ms until all members know about a rebalance, with allowance for lost heartbeats."""
    return 3 * heartbeat_interval_ms(timeline) + windows.ROUND_TRIP_MS


def together_ms(timeline: Timeline) -> int:
    """The time in ms within which threads of a process that fail together are evicted: one session timeout."""
    return max(DEFAULTS[SESSION], shown_session_ms(timeline) or 0)


def patience_ms(timeline: Timeline) -> int:
    """The time in ms for which the logs must continue after a departure to show that the member did not return."""
    return max(2 * session_timeout_ms(timeline), windows.PROCESS_START_MS)


def quiet_ms(timeline: Timeline) -> int:
    """The time in ms without rebalances after which a recurrence is a new incident (contract)."""
    timeouts = [ms for name in (SESSION, POLL, REBALANCE) if (ms := shown_ms(timeline, name)) is not None]
    # An hour or more means "never": max.poll.interval.ms of Streams before 2.3 is Integer.MAX_VALUE.
    return max(windows.QUIET_MS, 3 * max((t for t in timeouts if t < HOUR_MS), default=0))


@cached_answer
def _shown(timeline: Timeline) -> _Shown:
    printed: dict[str, dict[str, int]] = defaultdict(dict)
    for dump in timeline.group_events.of_type(ev.SettingsReported):
        settings = dict(dump.settings)
        for name in OF_MEMBERS:
            if (value := number_of(settings.get(name, ""))) is not None:
                printed[name][settings.get("client.id", "")] = value
    logged: dict[str, dict[str, int]] = defaultdict(dict)
    anywhere: dict[str, set[int]] = defaultdict(set)
    for event in timeline.of(ev.MemberDescribed, ev.MemberLoaded, ev.MemberLeft, ev.WorkerAssigned, ev.MemberFailed):
        for name, ms in _timeouts_in(event):
            if ms:
                anywhere[name].add(ms)
            if ms and not (name == POLL and timeline.kind == "connect"):  # a worker has no poll timeout
                logged[name][getattr(event, "member", None) or ""] = ms
    members = ((timeline.participants.of_member(member), ms) for member, ms in logged[POLL].items())
    return _Shown(
        printed=printed,
        logged=logged,
        various=frozenset(n for n in OF_MEMBERS if len({*printed[n].values(), *logged[n].values()}) > 1),
        rebalance={who: ms for who, ms in members if who is not None},
        anywhere={name: frozenset(values) for name, values in anywhere.items()},
        session=session_of_events(timeline.group_events, timeline.protocol, timeline.settings),
    )


def _timeouts_in(event: Event) -> tuple[tuple[str, int | None], ...]:
    """The timeouts of a member in a coordinator's line, or the rebalance delay in a worker's line."""
    match event:
        case ev.MemberLoaded() | ev.MemberLeft():
            return (SESSION, event.session_timeout_ms), (POLL, event.rebalance_timeout_ms)
        case ev.MemberDescribed():
            return ((POLL, event.rebalance_timeout_ms),)
        case ev.WorkerAssigned():
            return ((CONNECT_DELAY, event.delay_ms),)
        case ev.MemberFailed(why="session-expired"):
            return ((SESSION, event.timeout_ms),)
    return ()
