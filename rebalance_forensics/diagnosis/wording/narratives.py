"""What happened to a member, in one sentence, where it depends on what is known of it; `{who}` names the member."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import left_without_client_log
from rebalance_forensics.diagnosis.episodes.members.deaths import death_of
from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts
from rebalance_forensics.diagnosis.episodes.members.unreachable_brokers import UnreachableBroker
from rebalance_forensics.diagnosis.episodes.rebalances.enforced_rejoins import EnforcedRejoin
from rebalance_forensics.diagnosis.wording.durations import lasting, seconds, times
from rebalance_forensics.diagnosis.wording.participants import counted_members, members
from rebalance_forensics.diagnosis.wording.timeouts import session_limit
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import session_of_member_ms


def stopped_without_leaving(timeline: Timeline, absence: Absence, newcomers: Sequence[Arrival]) -> str:
    """A process that died; `newcomers` took its place."""
    session = session_of_member_ms(timeline, absence.participant)
    expired = f"its session expired{f' after {seconds(session)}' if session else ''}"
    died = death_of(timeline, absence)
    reason = f"its process died ({died.reason})" if died is not None and died.reason else "its process died"
    how = "it was missing from the next generation" if absence.vanished else expired
    how = how if died is None else reason if absence.only_died else f"{reason} and {how}"
    return f"{{who}} stopped without leaving the group: {how}; {_afterwards(absence, newcomers)}."


def _afterwards(absence: Absence, newcomers: Sequence[Arrival]) -> str:
    if absence.start is not None:
        return "a new process of it started afterwards"
    if absence.back_at is not None:
        return "it joined again later" if absence.back_at >= absence.at else "it had already joined anew"
    return "a newcomer took its place" if newcomers else "the logs do not mention it again"


def sent_no_heartbeat(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> str:
    """A process that stood still; `own` is what its own log shows of it."""
    back_at = absence.back_at or 0
    later = lasting(timeline.measured(back_at - absence.at), " {} later") or " later"
    back = f" and rejoined{later}" if back_at >= absence.at else ""
    seen = own and timeline.events_from(absence.participant, Event).last(absence.at - 1) is not None
    seen = seen and timeline.measured(1) is not None
    known = "its log is silent meanwhile, then resumes" if seen else f"{its_log(absence)} whether it was paused"
    return f"{{who}} {_silenced(timeline, absence)}{back}; {known}."


def _silenced(timeline: Timeline, absence: Absence) -> str:
    """True if the coordinator evicted it; a client without answers may only have counted a session by itself."""
    limit = session_limit(timeline, absence.participant)
    if _expired_by_own_count(absence):
        return f"heard nothing from its coordinator for {limit} and took its session for expired"
    return f"was evicted after {limit} without a heartbeat"


def _expired_by_own_count(absence: Absence) -> bool:
    """True if only the client itself logged the end of its session."""
    return all(isinstance(e, CoordinatorLost) for e in absence.departure_lines)


def cut_off(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> str:
    """A process that ran and could not reach the brokers; `own` are the lost connections that it logged."""
    if _expired_by_own_count(absence):
        known = "its log shows lost connections to the brokers" if own else f"{its_log(absence)} whether it was cut off"
        return f"{{who}} {_silenced(timeline, absence)}; {known}."
    if own:
        return (
            "{who} was evicted for missing heartbeats while still running: its log shows lost connections to the "
            "brokers."
        )
    return f"{{who}} was evicted for missing heartbeats; {its_log(absence)} whether it was running and cut off."


def its_log(absence: Absence) -> str:
    """The reason why it is unknown: `its log does not show` or `without its log nobody can tell`."""
    return "its log does not show" if absence.participant.has_log else "without its own log it is unknown"


def did_not_poll(timeline: Timeline, slow: PollTimeouts, waited: UnreachableBroker | None = None) -> str:
    """Members whose poll timeout expired, one or several; a guess is called one where no line names the timeout."""
    members = len({a.participant for a in slow.absences})
    who = f"{members} members" if members > 1 else "{who}"
    limit = f"max.poll.interval.ms{f' ({slow.limit_ms} ms)' if slow.limit_ms else ''}"
    away = lasting(timeline.measured(slow.away_ms) or None, "; out of the group for up to {}")
    match slow.shown:
        case "poll-timeout" if slow.implausible_ms is not None:
            return (
                f"{who} left the group because {limit} had passed, according to its client, by another "
                f"{seconds(slow.implausible_ms)}. That figure is implausible for a poll loop: the loop stalled, the "
                f"host was suspended, or the client's timer is wrong{away}."
            )
        case "poll-timeout":
            lost = f", while broker-{waited.broker} was out of reach," if waited is not None else ""
            return f"{who} did not call poll() for {limit}{lost} and left the group{away}."
        case "silent":
            return f"{who} lost its membership, and may not have called poll() for {limit}{away}."
        case "too-late":
            return f"{who} lost its membership, and may have handled a record for longer than a rebalance waits{away}."
        case "blocked":
            session = session_limit(timeline, slow.absences[0].participant)
            return f"{who} sent no heartbeat for {session}: handling records may have blocked its heartbeats{away}."
    return f"{who} left the group, gave no reason and rejoined: most likely a poll loop took longer than {limit}{away}."


def left_unclosed(slow: PollTimeouts) -> str:
    """A process created a second consumer, and the first stayed a member without being polled."""
    until = f"max.poll.interval.ms{f' ({slow.limit_ms} ms)' if slow.limit_ms else ''}"
    return (
        f"{{who}} made a new consumer and did not close the old one: that one stayed in the group, not polled any "
        f"more, until {until} had passed."
    )


def replaced_dying_threads(who: str, count: int, thrown: str | None) -> str:
    """A Streams instance whose threads die and are replaced; `thrown` is the exception where all died of the same."""
    of_what = f" after {thrown}" if thrown else ""
    return f"{who} replaced a dying stream thread {times(count)}{of_what}; each replacement is a leave and a join."


def removed_by_hand(threads: Sequence[str]) -> str:
    """Stream threads that the application took away, while others of the same instance stayed."""
    were = "was" if len(threads) == 1 else "were"
    names = ", ".join(threads)
    return f"{names} of {{who}} {were} removed by hand (KafkaStreams.removeStreamThread); its other threads stay."


def removals_in_words(timeline: Timeline, absences: Sequence[Absence], *, silent: bool) -> str:
    """Members that left for good while others stayed; `silent` where only their sessions show that they went."""
    removed = {a.participant for a in absences}
    number = len(removed)
    who = f"{number} of {timeline.cached(_everybody)}"
    if timeline.coverage.is_excerpt:
        who = counted_members(timeline, removed, single="1 ")  # how many members the picked lines leave out is unknown
    if silent and not any(participant.kind == "instance" for participant in removed):
        return (
            f"{who} may have been shut down: a consumer before 2.1 logs nothing when it closes, and Log4j 2 may stop "
            "first, so the log ends as if the process had died."
        )
    if silent:
        return (
            f"{who} may have been shut down: a Streams instance sends no LeaveGroup on close, so its members are "
            "evicted as if it had died."
        )
    closed, it, its = (
        ("its consumer", "was", "its own log") if number == 1 else ("their consumers", "were", "their own logs")
    )
    if left_without_client_log(timeline, absences):
        reasons = {d.why for a in absences for d in a.departures}
        how = f"closed {closed}" if reasons == {"closed"} else "left the group"
        return f"{who} {how} and {it} not back when the logs end; only {its} would show why."
    return f"{who} shut down cleanly and {it} not back when the logs end."


def _everybody(timeline: Timeline) -> str:
    """`5 members`."""
    everybody = timeline.members()
    return f"{len(everybody)} {members(timeline, everybody)}"


def share_a_group_id(names: Sequence[str], *, by_names_alone: bool) -> str:
    """Members of another application, by their topics or only by the form of their client ids."""
    if len(names) == 1:
        use, why = "uses", "its client id differs in form from" if by_names_alone else "it has no topic in common with"
    else:
        use, why = (
            "use",
            "their client ids differ in form from" if by_names_alone else "they have no topic in common with",
        )
    others = "all others" if by_names_alone else "the other members"
    return f"{', '.join(names)} {use} the group.id of another application: {why} {others}."


def request_in_words(rejoin: EnforcedRejoin) -> str:
    """An application that asked for a rebalance, or may have."""
    match rejoin.shown:
        case "in-vain":
            return (
                "apparently asked for a rebalance without effect: it rejoined for no logged reason and got its "
                "old assignment "
                f"back; the group stayed in generation {rejoin.generation}"
            )
        case "no-other-reason":
            return "asked for a rebalance: it rejoined for no other reason"
        case "wordless":
            return "may have asked for a rebalance: it rejoined, and no reason was logged"
    return f"asked for a rebalance: {rejoin.reason or 'no reason given'}"


def ending_in_words(away: Absence) -> str:
    """A consumer that was closed, or the threads of an instance that ended while others go on."""
    threads = ", ".join(away.ended_threads)
    if not threads:
        return "{who} closed its consumer"
    are, them = ("is", "it") if len(away.ended_threads) == 1 else ("are", "them")
    return f"{threads} of {{who}} {are} gone, and the instance runs on without {them},"
