"""Advice on members that missed heartbeats: what to look at, and session.timeout.ms."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.deaths import death_of
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import counted, lasting, rounded_up, seconds, span
from rebalance_forensics.diagnosis.wording.timeouts import (
    least_session,
    session_ceiling,
    session_in_words,
    session_setting,
)
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import known_session_ms, session_of_member_ms, session_timeout_ms


def after_crash(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    """Find out why the process died; a shorter session gives its partitions away sooner."""
    session = session_of_member_ms(timeline, absence.participant)
    is_set_to = f" ({seconds(session)})" if session else ""
    return (
        _look_for_its_end(timeline, absence),
        Advice(
            action=f"Lower {session_setting(timeline)} if another member must take over sooner "
            f"(not below {least_session(timeline)}).",
            why=f"A dead member's partitions stay unread until its session expires{is_set_to}.",
            cost="A pause longer than the new timeout then costs a rebalance (process-pause).",
        ),
    )


def _look_for_its_end(timeline: Timeline, absence: Absence) -> Advice:
    """Where to look for the end of the process: in the JVM's own line, if there is one."""
    died = death_of(timeline, absence)
    if died is not None and "OutOfMemoryError" in (died.reason or ""):
        return Advice(
            action="Give that process more memory, or find what fills it: -XX:+HeapDumpOnOutOfMemoryError writes a "
            "heap dump the next time.",
            why=f"It died of {died.reason}.",
        )
    if died is not None:
        return Advice(
            action="Look at the hs_err file that its virtual machine wrote, and at its native libraries.",
            why=f"It died of {died.reason}." if died.reason else "Its virtual machine reported a fatal error.",
        )
    return Advice(
        action="Find out how that process ended: kernel OOM killer, container exit code, hs_err file, liveness probe.",
        why="Its log ends without a shutdown."
        if absence.participant.has_log
        else "Its own log would show how it ended.",
    )


def after_pause(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    """Find out what stopped the process, or let the session outlast it."""
    away, known = _away_ms(absence), known_session_ms(timeline, absence.participant)
    return timeline.cached_as(("after a pause", away, known), lambda: _after_pause(timeline, absence.participant, away))


def _after_pause(timeline: Timeline, participant: Participant, away: int | None) -> tuple[Advice, ...]:
    silence_ms = _silence_ms(timeline, participant, away)
    session = session_in_words(timeline, participant)
    return (
        Advice(
            action="Look at GC logs, CPU throttling (cgroup nr_throttled) and VM steal of that process at that time.",
            why=f"The coordinator received no heartbeat from it {_silence_in_words(timeline, participant, away)}; "
            f"the session timeout is {session}.",
        ),
        Advice(
            action=f"{_raise_above(timeline, silence_ms)} if such pauses are normal.",
            why="A pause shorter than the session timeout causes no rebalance.",
            cost=f"A dead member is then noticed after {seconds(rounded_up(silence_ms))} rather than {session}."
            if silence_ms
            else f"A dead member is then noticed later than now ({session}).",
        ),
    )


def after_network_outage(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    """Check the network path, or let the session outlast the outage if it ended by itself."""
    session, away = session_timeout_ms(timeline), _away_ms(absence)
    lost = timeline.events_from(absence.participant, NodeDisconnected, CoordinatorLost).between(
        absence.at - session, max(absence.back_at or 0, absence.at) + session
    )
    logged = f"; it logged {counted(len(lost), 'lost connection')}{span(lost)}" if lost else ""
    who, known = absence.participant, known_session_ms(timeline, absence.participant)
    return timeline.cached_as(
        ("after an outage", away, logged, known), lambda: _after_outage(timeline, who, away, logged)
    )


def _after_outage(timeline: Timeline, participant: Participant, away: int | None, logged: str) -> tuple[Advice, ...]:
    silence_ms = _silence_ms(timeline, participant, away)
    check = Advice(
        action=(
            "Check the network between that host and the brokers at that time: links, security groups, conntrack, DNS."
        ),
        why=f"The coordinator received no heartbeat from it {_silence_in_words(timeline, participant, away)}{logged}.",
    )
    if away is None:
        return (check,)
    patience = Advice(
        action=f"{_raise_above(timeline, silence_ms)} to ride out such outages.",
        why=f"The session timeout is {session_in_words(timeline, participant)}; a shorter outage causes no rebalance.",
        cost="A dead member is then noticed "
        f"{f'after {seconds(rounded_up(silence_ms))}' if silence_ms else 'that much later'}, and its partitions "
        "stay unread that long.",
    )
    return check, patience


def _raise_above(timeline: Timeline, silence_ms: int | None) -> str:
    enough = f"to about {rounded_up(silence_ms)}" if silence_ms else "above their length"
    return f"Raise {session_setting(timeline)} {enough}"


def _away_ms(absence: Absence) -> int | None:
    """From when the group lost it to its return, 0 for one that had joined anew before; None where it is not back."""
    return None if absence.back_at is None else max(absence.back_at - absence.at, 0)


def _silence_ms(timeline: Timeline, participant: Participant, away: int | None) -> int | None:
    """How long no heartbeat came, as far as is known; None where no session timeout is, or no time."""
    session, back_after = known_session_ms(timeline, participant), away or 0
    return None if session is None or timeline.measured(back_after) is None else session + back_after


def _silence_in_words(timeline: Timeline, participant: Participant, away: int | None) -> str:
    """Length of the silence as the end of a sentence."""
    if (silence_ms := _silence_ms(timeline, participant, away)) is not None:
        return f"for {'at least' if away is None else 'about'} {seconds(silence_ms)}"
    back_after = timeline.measured(away or 0)
    return f"for its whole session timeout{lasting(back_after or None, ' and {} more')}"


def after_static_expiry(timeline: Timeline, away: Absence) -> tuple[Advice, ...]:
    """How long a static member was down counts from its own last words, else from its last heartbeat."""
    session = session_timeout_ms(timeline)
    down_at = away.stop.at if away.stop is not None else away.at - session
    down = timeline.measured(away.back_at - down_at) if away.back_at is not None else None
    late = f"it was down for {seconds(down)}" if down is not None else _late(away)
    wait = f"for {seconds(rounded_up(down))}" if down is not None else "longer"
    enough = f"to about {rounded_up(down)}" if down is not None else "above the duration of a restart"
    unless_back = "If it was being restarted, raise" if away.back_at is None else "Raise"
    raised = Advice(
        action=f"{unless_back} {session_setting(timeline)} {enough}.",
        why=f"{late[0].upper()}{late[1:]}; the session timeout is {session_in_words(timeline, away.participant)}.",
        cost=(
            f"The partitions of a member that is really gone then stay unread {wait} "
            f"({session_ceiling(timeline)} is the limit)."
        ),
    )
    if away.back_at is not None:
        return (raised,)
    removed = Advice(
        action="If it was removed for good, take it out of the group with Admin.removeMembersFromConsumerGroup.",
        why="A static member sends no LeaveGroup when it closes; its partitions wait until its session expires.",
        cost="The group rebalances at once.",
    )
    return raised, removed


def _late(away: Absence) -> str:
    """Of a static member, where no length is known."""
    return "it was not back when the logs end" if away.back_at is None else "it was back only after its session expired"
