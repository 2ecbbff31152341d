"""What a group is set to, where logs tell it, and the spans that follow from that."""

from __future__ import annotations

from rebalance_forensics.diagnosis.reference.releases import latest_release
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.session_timeouts import number_of, session_timeout_of
from rebalance_forensics.timeline.windows import (
    CLOCK_SLACK_MS,
    HEARTBEAT_MS,
    NO_TIMEOUT_MS,
    OFFSETS_WRITE_MS,
    PATIENCE_MS,
    QUIET_MS,
    SESSION_BEFORE_3_0_MS,
    SESSION_MS,
    TOGETHER_MS,
)

_SET_BY_BROKERS = ("consumer", "share", "streams")
LONGER_SESSIONS_SINCE = (3, 0)
"""KIP-735 raised the default of Java consumers."""


def session_timeout_ms(timeline: Timeline) -> int:
    """session.timeout.ms of the group as a log shows it; else the longest that clients have by default.

    It says how far to look back: a client of an older release may have been given a longer one than its own default.
    """
    return timeline.remembered(_session_ms)


def _session_ms(timeline: Timeline) -> int:
    return session_told_ms(timeline) or SESSION_MS


def session_in_words(timeline: Timeline) -> str:
    """session.timeout.ms as what follows `the session timeout is`: a default is called one, no log shows it in use."""
    return timeline.remembered(_session_in_words)


def _session_in_words(timeline: Timeline) -> str:
    if told := session_told_ms(timeline):
        return seconds(told)
    if unset := _session_unset_ms(timeline):
        return f"{seconds(unset)} unless configured otherwise"
    new, old = seconds(SESSION_MS), seconds(SESSION_BEFORE_3_0_MS)
    return f"not shown by these logs (Java clients: {new} by default, {old} before 3.0)"


def session_known_ms(timeline: Timeline) -> int | None:
    """session.timeout.ms as a log shows it, else as it is where none was set; None where that depends on the client."""
    return session_told_ms(timeline) or timeline.remembered(_session_unset_ms)


def _session_unset_ms(timeline: Timeline) -> int | None:
    """session.timeout.ms of its members where none was set: by protocol, kind of client, or the releases logs tell."""
    if len(timeline.protocols) > 1:
        return None  # classic members had a timeout of their own
    if timeline.protocol not in ("classic", "unknown"):
        return SESSION_MS
    if timeline.kind == "connect":
        return SESSION_BEFORE_3_0_MS
    known = timeline.remembered(latest_release).values()
    if not known:
        return None
    return SESSION_BEFORE_3_0_MS if all(release < LONGER_SESSIONS_SINCE for release in known) else SESSION_MS


def together_ms(timeline: Timeline) -> int:
    """Threads of one process that go together are evicted within a session timeout of each other."""
    return max(TOGETHER_MS, session_told_ms(timeline) or 0)


def session_setting(timeline: Timeline) -> str:
    """Where an operator sets it: since KIP-848 members are told it by the brokers, and their own setting is refused."""
    if timeline.protocol in _SET_BY_BROKERS:
        return f"the group's {timeline.protocol}.session.timeout.ms (kafka-configs.sh --entity-type groups)"
    return "session.timeout.ms"


def least_session(timeline: Timeline) -> str:
    """The broker's lower bound of it, with its default (GroupCoordinatorConfig)."""
    if timeline.protocol in _SET_BY_BROKERS:
        return f"group.{timeline.protocol}.min.session.timeout.ms, 45000 by default"
    return "group.min.session.timeout.ms, 6000 by default"


def session_ceiling(timeline: Timeline) -> str:
    """The broker's upper bound of it (GroupCoordinatorConfig): half an hour for classic groups, a minute for others."""
    protocol = f"{timeline.protocol}." if timeline.protocol in _SET_BY_BROKERS else ""
    return f"group.{protocol}max.session.timeout.ms"


def session_limit(timeline: Timeline) -> str:
    """What a silent member exceeded, `session.timeout.ms (10000 ms)`, with its value where a log shows it."""
    told = session_told_ms(timeline)
    if timeline.protocol in _SET_BY_BROKERS:
        return f"its session timeout{f' ({seconds(told)})' if told else ''}"
    return f"session.timeout.ms{f' ({told} ms)' if told else ''}"


def session_told_ms(timeline: Timeline) -> int | None:
    """session.timeout.ms of the group where a log shows it: what is said to an operator is no guess."""
    return timeline.remembered(_session_told_ms)


def _session_told_ms(timeline: Timeline) -> int | None:
    return session_timeout_of(timeline.own, timeline.protocol, timeline.settings) or None


def setting(timeline: Timeline, name: str, default: int) -> int:
    """A number among the settings the logs show."""
    number = number_of(timeline.settings.get(name, ""))
    return default if number is None else number


def heartbeat_interval_ms(timeline: Timeline) -> int:
    """heartbeat.interval.ms, as far as a log shows it."""
    return setting(timeline, "heartbeat.interval.ms", HEARTBEAT_MS)


def all_have_heard_ms(timeline: Timeline) -> int:
    """How long it takes until every member knows of a rebalance: each hears of it at a heartbeat, one may be lost."""
    return 3 * heartbeat_interval_ms(timeline) + CLOCK_SLACK_MS


def offsets_write_ms(timeline: Timeline) -> int:
    """How long a coordinator waits for a write to `__consumer_offsets`."""
    return setting(timeline, "offsets.commit.timeout.ms", OFFSETS_WRITE_MS)


def long_enough_ms(timeline: Timeline) -> int:
    """How long the logs must continue after a departure before a missing return says something.

    A silence that has lasted for a session is as likely as not to last for another one.
    """
    return session_timeout_ms(timeline)


def patience_ms(timeline: Timeline) -> int:
    """How long the logs must continue after a departure before its return can be called missing."""
    return max(2 * session_timeout_ms(timeline), PATIENCE_MS)


def quiet_ms(timeline: Timeline) -> int:
    """How long a group must be quiet for a repetition to be a new incident (contract)."""
    timeouts = [
        number
        for key in ("session.timeout.ms", "max.poll.interval.ms", "rebalance.timeout.ms")
        if (number := number_of(timeline.settings.get(key, ""))) is not None
    ]
    return max(QUIET_MS, 3 * max((t for t in timeouts if t < NO_TIMEOUT_MS), default=0))
