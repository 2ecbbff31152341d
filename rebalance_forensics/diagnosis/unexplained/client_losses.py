"""Findings from the logs of single clients: expired sessions, fatal errors, lost coordinators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import merge
from itertools import chain

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.engine.drafts import Draft, findings_between, overlaps_a_fault
from rebalance_forensics.diagnosis.model import Severity
from rebalance_forensics.diagnosis.signs.connections import without_route
from rebalance_forensics.diagnosis.unexplained import config_lags, rebalances
from rebalance_forensics.diagnosis.unexplained.speakers import Losses, by_speaker, hypothesis_of_client, speaker_of
from rebalance_forensics.diagnosis.wording.durations import lasting, listed, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.answers import error_of, failed_request
from rebalance_forensics.timeline.brokers import broker_of
from rebalance_forensics.timeline.coverage import DETAILED, covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import EXPELLED, ended_its_session, is_late_commit
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

_ERROR_RESPONSES = (ev.GroupHeartbeatFailed, ev.HeartbeatFailed, ev.JoinFailed, ev.SyncFailed)
_REJECTED = (*_ERROR_RESPONSES, ev.JoinRequested, ev.OffsetCommitFailed)

# The member's generation was reset, so that onPartitionsLost is called (ConsumerCoordinator,
# AbstractMembershipManager).
_GENERATION_LOST = (ev.ListenerCalled, ev.MemberTransitioned, ev.OwnershipGivenUp, ev.PartitionsLost)
_TROUBLE = (ev.CoordinatorLost, ev.NodeDisconnected, ev.JoinFailed)

# The member found a coordinator again, or no longer needs one.
_RECOVERED = (
    ev.CoordinatorFound, ev.JoinSucceeded, ev.JoinReported, ev.SyncSucceeded, ev.PartitionsAssigned, ev.LeaveSent,
    ev.ConsumerClosed, ev.ProcessStopping, ev.StreamsStateChanged, ev.WorkerStopped,
)  # fmt: skip

# JoinGroup errors that the client's configuration alone explains (GroupCoordinator.handleJoinGroup).
REFUSED_SETTINGS = {
    "INVALID_SESSION_TIMEOUT": (
        "its session.timeout.ms is outside the range that the broker allows, group.min.session.timeout.ms to "
        "group.max.session.timeout.ms"
    ),
    "INVALID_GROUP_ID": "its group.id is empty or not valid",
}


def _left_without_coordinator(timeline: Timeline) -> Losses:
    """Members that lost their coordinator and did not find one again by the end of their logs."""
    # Only a log at INFO shows that a coordinator was found again. A process that stops needs no coordinator.
    troubled: Losses = {}
    recovered: dict[tuple[Participant | None, str], int] = {}
    for event in timeline.group_events.of_type(*_TROUBLE, *_RECOVERED):
        speaker = speaker_of(timeline, event)
        if isinstance(event, _RECOVERED):
            troubled.pop(speaker, None)
            recovered[speaker] = time_of(event)
        elif event.speaker.role != "broker" and event.at is not None and _is_trouble(event):
            troubled.setdefault(speaker, []).append(event)
    lost = {s: lines for s, lines in troubled.items() if any(isinstance(e, ev.CoordinatorLost) for e in lines)}
    for speaker, lines in lost.items():
        # Connections that other clients of the process have lost since then count as well.
        nearby = (
            timeline.process_events.spoken(timeline.participants).get(speaker[0], ()) if speaker[0] is not None else ()
        )
        since = (part.of_type(ev.NodeDisconnected).since(recovered.get(speaker, 0)) for part in nearby)
        lines[:] = merge(lines, *since, key=time_of)
    detailed = (
        {speaker_of(timeline, e) for e in timeline.group_events.by_clients if e.level in DETAILED} if lost else set()
    )
    return {
        speaker: lines
        for speaker, lines in lost.items()
        if speaker in detailed and time_of(lines[-1]) - time_of(lines[0]) > HEARTBEAT_MS
    }


def _is_trouble(event: Event) -> bool:
    return not isinstance(event, ev.JoinFailed) or event.error == "COORDINATOR_NOT_AVAILABLE"


def _brokers_out_of_reach(lost: Sequence[Event], failed: Sequence[Event]) -> dict[int, list[ev.NodeDisconnected]]:
    """Failed connections to brokers that the same client had lost as coordinators, by broker id."""
    given_up = {e.coordinator for e in lost if isinstance(e, ev.CoordinatorLost) and e.coordinator is not None}
    by_broker = grouped((e for e in failed if isinstance(e, ev.NodeDisconnected)), broker_of)
    return {broker: events for broker, events in by_broker.items() if broker is not None and broker in given_up}


def _is_fatal(event: Event) -> bool:
    if isinstance(event, ev.ExceptionLogged):
        failed = failed_request(event)
        return failed is not None and failed[0] != "OffsetCommit"  # after which it remains a member
    error = getattr(event, "error", None)
    return error is not None and (getattr(event, "fatal", False) or error in REFUSED_SETTINGS)


def _lost_membership(event: Event) -> bool:
    match event:
        case ev.ListenerCalled(during=during):
            return during == "lost"
        case ev.MemberTransitioned(after=after):
            return after == "FENCED"
        case ev.PartitionsLost(partitions=partitions):
            return bool(partitions)
        case ev.OwnershipGivenUp():
            return True
    return getattr(event, "error", None) in EXPELLED or is_late_commit(event) or isinstance(event, ev.ThreadFenced)


def _ended_threads(event: Event) -> bool:
    return not isinstance(event, ev.StreamsStateChanged) or event.after in ("ERROR", "PENDING_ERROR")


def _is_crash(event: Event) -> bool:
    return isinstance(event, ev.ExceptionLogged) and event.group is not None and event.stops_consumer


def _ended_a_worker(event: Event) -> bool:
    return isinstance(event, ev.ExceptionLogged) and event.group is not None and event.speaker.role == "connect"


def _is_unreplicated(event: Event) -> bool:
    # The broker's error comes with a partition (OffsetCommitResponseHandler in ConsumerCoordinator): it is that of the
    # append in GroupMetadataManager.storeOffsets. A client whose own request timed out logs a different message.
    if isinstance(event, ev.CoordinatorLost):
        return error_of(event) == _TIMED_OUT
    return isinstance(event, ev.OffsetCommitFailed) and event.error == _TIMED_OUT and event.partition is not None


def _was_refused(event: Event) -> bool:
    # Another rebalance and the request to rejoin with a member id (KIP-394) are no rejections.
    return getattr(event, "error", None) not in (rebalances.REBALANCING, "MEMBER_ID_REQUIRED")


_TIMED_OUT = "REQUEST_TIMED_OUT"


def expired_sessions(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Sessions that expired according to the member's own log and that no finding explains."""
    session = session_timeout_ms(timeline)
    expired = by_speaker(timeline, filter(ended_its_session, timeline.group_events.of_type(ev.CoordinatorLost)))
    for (participant, place), events in expired.items():
        unclaimed = [e for e in events if not any(findings_between(drafts, time_of(e) - session, time_of(e) + session))]
        if not unclaimed:
            continue
        stayed = participant is not None and _stayed_in(timeline, participant, unclaimed, session)
        lost = "gave up its coordinator" if stayed else "considered its session expired"
        unknown = (
            "and it stayed in the group."
            if stayed
            else "and its host had no route to the brokers (network unreachable)."
            if without_route(timeline, participant, time_of(unclaimed[0]) - session, timeline.last)
            else "and the logs do not show whether the member, the network or the coordinator was to blame."
        )
        often = f" {times(len(unclaimed))}{span(unclaimed)}" if unclaimed[1:] else ""
        sentence = f"{lost}{often}: no heartbeat was answered in time, {unknown}"
        yield hypothesis_of_client(participant, place, unclaimed, "info" if stayed else "warning", sentence)


def _stayed_in(timeline: Timeline, participant: Participant, expired: Sequence[Event], session: int) -> bool:
    """True if the coordinator's log covers the time and shows no removal of the member: its heartbeats resumed."""
    begin, end = time_of(expired[0]) - session, time_of(expired[-1]) + session
    is_covered = timeline.has_coordinator_log and covering(timeline.coverage.brokers, begin, end)
    return bool(is_covered) and not timeline.departures.of(participant).any_between(begin, end)


def gravest_losses(timeline: Timeline) -> Iterator[Hypothesis]:
    """The most severe kind of finding from single clients' logs, for groups without any other finding."""
    yield from (
        _first_found(timeline, _GRAVEST_FIRST)
        or list(_lost_coordinators(timeline))
        or _first_found(timeline, _LIGHTER)
        or [*rebalances.mentioned(timeline), *rebalances.of_coordinator_alone(timeline)]
        or list(rebalances.led(timeline))
    )


def _first_found(timeline: Timeline, kinds: Sequence[_Loss]) -> list[Hypothesis]:
    """The findings, one for each client, of the first of these kinds that any client logged."""
    for types, is_shown, severity, in_words in kinds:
        if losses := by_speaker(timeline, filter(is_shown, timeline.group_events.of_type(*types))):
            return [
                hypothesis_of_client(participant, place, events, severity, _loss_in_words(in_words, events))
                for (participant, place), events in losses.items()
            ]
    return []


def _loss_in_words(in_words: _InWords, events: Sequence[Event]) -> str:
    if not isinstance(in_words, str):
        return in_words(events)
    errors = dict.fromkeys(error for e in events if (error := getattr(e, "error", None)))
    return in_words.format(times=times(len(events)), errors=f" ({', '.join(errors)})" if errors else "")


def _lost_coordinators(timeline: Timeline) -> Iterator[Hypothesis]:
    # Connections that could not be established at all (NetworkClient).
    refused = timeline.disconnected("could not be established")
    failed = by_speaker(timeline, [event for event in refused if event.node is not None])
    for (participant, place), events in by_speaker(timeline, timeline.group_events.of_type(ev.CoordinatorLost)).items():
        unreached = _brokers_out_of_reach(events, failed.get((participant, place), ()))
        lines = [*chain.from_iterable(unreached.values()), *events]
        sentence = f"lost its coordinator {times(len(events))}{_failed_connections_in_words(unreached)}"
        # Without a later line it is unknown whether the client found the coordinator again, so the finding is not over.
        logs_later = participant is None or timeline.events_from(participant, Event).since(time_of(events[-1]) + 1)
        ongoing = timeline.coverage.is_excerpt and not logs_later
        yield hypothesis_of_client(participant, place, lines, "info", sentence, ongoing=ongoing)


def _threads_in_words(events: Sequence[Event]) -> str:
    failed = [e for e in events if isinstance(e, ev.ThreadFailed)]
    if not failed:
        return "is in state ERROR: its stream threads have ended, and it processes nothing until it is started again."
    thrown = list(dict.fromkeys(e.exception.rpartition(".")[2] for e in failed if e.exception))
    why = f" ({', '.join(thrown)})" if thrown else ""
    if len(failed) < len(events):
        return (
            f"lost its stream threads to an exception{why}: in state ERROR it processes nothing until it is restarted."
        )
    ends = any((e.response or "").upper().startswith("SHUTDOWN") for e in failed)
    after = "its Streams client shuts down" if ends else "these lines do not show whether another thread replaced it"
    return f"lost a stream thread to an exception{why}; {after}."


def _out_in_words(events: Sequence[Event]) -> str:
    if all(isinstance(e, ev.JoinFailed) for e in events):
        # The id of the JoinGroup may be new, from the coordinator (KIP-394), or that of the member's previous session.
        return (
            f"was refused {times(len(events))} when it joined: the coordinator did not know its member id, because "
            "that had expired or another broker coordinates the group now. Such a client joins again without one."
        )
    return (
        f"was told {times(len(events))} that it is no longer in the group, and these lines do not show whether it was "
        "too slow, was paused or was cut off."
    )


def _crashed_in_words(events: Sequence[Event]) -> str:
    thrown = dict.fromkeys(e.detail for e in events if isinstance(e, ev.ExceptionLogged) and e.detail)
    return (
        f"crashed {times(len(events))} ({', '.join(thrown)}). KafkaJS then stops the consumer, which leaves the group, "
        "and restarts it after an error that it may retry only; these lines do not show whether it came back."
    )


def _worker_ended_in_words(events: Sequence[Event]) -> str:
    thrown = (e for e in events if isinstance(e, ev.ExceptionLogged) and e.exception)
    reasons = dict.fromkeys(": ".join(filter(None, ((e.exception or "").rpartition(".")[2], e.detail))) for e in thrown)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return (
        f"was ended by an exception{why}: its process exits, and the other workers take over its connectors and tasks; "
        "these lines do not show whether it came back."
    )


def _unreplicated_in_words(events: Sequence[Event]) -> str:
    commits = [e for e in events if isinstance(e, ev.OffsetCommitFailed)] or events
    return (
        f"was answered {times(len(commits))} that its commit had timed out (REQUEST_TIMED_OUT): the coordinator had "
        "not replicated it within offsets.commit.timeout.ms, 5 s by default, as when a replica of __consumer_offsets "
        "is slow or out of reach."
    )


# Types of events, the condition that they must fulfill (None: all do), the severity, and the sentence of the report,
# with the number of events and their errors.
_KEPT_OUT = "failed to rejoin {times}{errors}, and these lines do not show whether it got in afterwards."
_InWords = str | Callable[[Sequence[Event]], str]
_Loss = tuple[tuple[type[Event], ...], Callable[[Event], bool] | None, Severity, _InWords]
_GRAVEST_FIRST: tuple[_Loss, ...] = (
    ((ev.ExceptionLogged, ev.ThreadFenced, *_GENERATION_LOST, *_REJECTED), _lost_membership, "warning", _out_in_words),
    ((ev.ExceptionLogged,), _is_crash, "warning", _crashed_in_words),
    ((ev.ExceptionLogged,), _ended_a_worker, "warning", _worker_ended_in_words),
    ((ev.StreamsStateChanged, ev.ThreadFailed), _ended_threads, "warning", _threads_in_words),
    ((ev.ListenerFailed,), None, "warning", rebalances.listeners_in_words),
    ((ev.OffsetCommitFailed, ev.CoordinatorLost), _is_unreplicated, "warning", _unreplicated_in_words),
    ((ev.ConfigOffsetBehind,), config_lags.gave_up_reading, "warning", config_lags.UNREAD_CONFIG),
    ((ev.ConfigOffsetBehind,), config_lags.forced_a_rejoin, "info", config_lags.forced_in_words),
)
_LIGHTER: tuple[_Loss, ...] = (
    ((ev.ConfigOffsetBehind,), None, "info", config_lags.behind_in_words),
    ((ev.JoinFailed, ev.SyncFailed), _was_refused, "info", _KEPT_OUT),
    ((ev.LeaveSent,), None, "info", "left the group {times}, and these lines do not show why."),
)


def fatal_answers(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Members whose client gave up after a fatal error, unless a fault at that time explains it."""
    answers = by_speaker(
        timeline, filter(_is_fatal, timeline.group_events.of_type(ev.ExceptionLogged, *_ERROR_RESPONSES))
    )
    for (participant, place), events in answers.items():
        if not overlaps_a_fault(drafts, time_of(events[0]), time_of(events[-1])):
            yield hypothesis_of_client(participant, place, events, "warning", _fatal_errors_in_words(events))


def without_coordinator(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Members that lost their coordinator until the end of their logs, unless a fault at that time explains it."""
    for (participant, place), events in _left_without_coordinator(timeline).items():
        if not overlaps_a_fault(drafts, time_of(events[0]), time_of(events[-1])):
            lost = [e for e in events if isinstance(e, ev.CoordinatorLost)]
            brokers = {broker_name(e.coordinator): None for e in lost if e.coordinator is not None}
            which = f" ({', '.join(brokers)})" if brokers else ""
            length = timeline.measured(time_of(events[-1]) - time_of(events[0]))
            sentence = (
                f"lost its coordinator{which} and did not find it again before its lines end"
                f"{lasting(length, ', {} later')}; they do not show whether the coordinator, the network or the client "
                "caused it."
            )
            yield hypothesis_of_client(participant, place, [*lost[:2], *events], "warning", sentence, ongoing=True)


def _fatal_errors_in_words(failures: Sequence[Event]) -> str:
    """The requests that failed and their errors, or what is wrong with the client's configuration."""
    errors = dict.fromkeys(error for e in failures if (error := getattr(e, "error", None)))
    if errors and all(error in REFUSED_SETTINGS for error in errors):
        why = " and ".join(f"{REFUSED_SETTINGS[error]} ({error})" for error in errors)
        return f"was refused {times(len(failures))} when it asked to join: {why}."
    answers = dict.fromkeys(failed_request(e) or (_REQUESTS[type(e)], getattr(e, "error", "")) for e in failures)
    why = ", ".join(f"{request} failed with {f'{error!r}' if ' ' in error else error}" for request, error in answers)
    return f"gave up: {why}, which its client does not retry."


_REQUESTS: Mapping[type[Event], str] = {
    ev.JoinFailed: "JoinGroup",
    ev.SyncFailed: "SyncGroup",
    ev.HeartbeatFailed: "Heartbeat",
    ev.GroupHeartbeatFailed: "the group heartbeat",
}


def _failed_connections_in_words(failed: Mapping[int, Sequence[Event]]) -> str:
    """Failed connections in words; clients connect to the address that the broker advertises."""
    if not failed:
        return ", and these lines do not show whether the coordinator, the network or the client caused it."
    brokers = listed([*map(broker_name, failed)])
    return (
        f" and could not connect to it ({brokers}); these lines do not show whether that broker, the network or the "
        "address that it advertises caused it."
    )
