"""Members that try to join but never become part of a generation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.engine.drafts import Draft, overlaps_a_fault
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.diagnosis.wording.durations import lasting, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import ended_its_session
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import REQUEST, setting_ms
from rebalance_forensics.timeline.windows import TICK_MS


def kept_out(timeline: Timeline, drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Members that never joined, unless a fault at that time explains it."""
    waiting = [w for w in waiting_members(timeline) if not overlaps_a_fault(drafts, w.begin, w.end)]
    if waiting:
        yield about_waiting(timeline, waiting)


# Only a member with an assignment logs these.
_ASSIGNED = (
    ev.SyncSucceeded, ev.JoinReported, ev.PartitionsAssigned, ev.AssignmentUpdated, ev.AssignmentNotified,
    ev.MemberTransitioned, ev.TasksAssigned, ev.WorkerAssigned,
)  # fmt: skip
_JOINING = (ev.Subscribed, ev.JoinStarted, ev.JoinFailed, ev.SyncFailed)

# Minimum number of attempts in an excerpt, because one or two lines may just omit the successful response.
_PICKED_ATTEMPTS = 3

# None is ruby-kafka's `Connection error`.
_UNANSWERED = ("REQUEST_TIMED_OUT", "NETWORK_EXCEPTION", None)
# At most this many different errors in a sentence.
MOST_ANSWERS = 2


class WaitingMember(Struct, frozen=True, kw_only=True):
    """A member that tried to join, from its first attempt to the end of its log, without an assignment."""

    participant: Participant
    begin: int
    end: int
    asked: tuple[Event, ...]
    refused: tuple[ev.JoinFailed | ev.SyncFailed, ...] = ()
    """Errors of JoinGroup and SyncGroup."""
    lost: tuple[Event, ...] = ()
    """Lines in which it lost its coordinator."""
    reset: tuple[ev.GenerationReset, ...] = ()
    """Lines in which its generation was reset before it processed the response to JoinGroup."""
    picked: bool = False
    """True if the log is an excerpt, which may omit the line in which it joined."""

    @property
    def attempts(self) -> int:
        """The number of attempts; for clients that log none, the number of errors."""
        return max(sum(isinstance(e, ev.JoinStarted) for e in self.asked), len(self.refused))

    @property
    def lines(self) -> tuple[Event, ...]:
        """The first attempts, the errors, and the last attempt."""
        return (*self.asked[:2], *self.reset[:2], *self.refused[:2], *self.lost[:1], *self.asked[-1:])


def waiting_members(timeline: Timeline) -> Iterator[WaitingMember]:
    """Members that are in no generation although their own logs continue for longer than request.timeout.ms."""
    request_timeout = setting_ms(timeline, REQUEST)
    for participant in timeline.participants.everybody:
        if not participant.has_log or _was_assigned(timeline, participant):
            continue
        if any(map(ended_its_session, timeline.events_from(participant, ev.CoordinatorLost))):
            continue  # only a member has a session that can expire
        waiting = _waiting(timeline, participant)
        if waiting is None:
            continue
        # Each timed-out request took the client's own request timeout, which may be shorter than the default. A client
        # whose connection breaks during every JoinGroup is waiting as well, even if it retries immediately.
        timed_out = sum(e.error in _UNANSWERED for e in waiting.refused) >= _PICKED_ATTEMPTS
        if waiting.reset or waiting.end - waiting.begin > request_timeout or timed_out:
            yield waiting


def _waiting(timeline: Timeline, participant: Participant) -> WaitingMember | None:
    asked = [
        e for e in timeline.events_from(participant, *_JOINING) if not (isinstance(e, ev.Subscribed) and e.by_hand)
    ]
    picked = not timeline.coverage.of(participant)
    resets = timeline.events_from(participant, ev.GenerationReset)
    reset = tuple(e for e in resets if e.why == "while-joining")
    if not asked or (picked and not reset and len(asked) < _PICKED_ATTEMPTS):
        return None
    begin = time_of(asked[0])
    end = time_of(asked[-1]) if picked else _log_end(timeline, participant, begin)
    refused = [e for e in asked if isinstance(e, ev.JoinFailed | ev.SyncFailed) and e.error != "MEMBER_ID_REQUIRED"]
    # ruby-kafka also logs a timed-out request as a connection error.
    repeated = {id(e) for before, e in pairwise(refused) if not e.error and time_of(e) - time_of(before) <= TICK_MS}
    refused = [e for e in refused if id(e) not in repeated]
    return WaitingMember(
        participant=participant,
        begin=begin,
        end=end,
        asked=tuple(asked),
        refused=tuple(refused),
        lost=tuple(timeline.events_from(participant, ev.CoordinatorLost).between(begin, end)),
        reset=reset,
        picked=picked,
    )


def _was_assigned(timeline: Timeline, participant: Participant) -> bool:
    """True if it had an assignment or is in a list of members; a join whose SyncGroup failed does not count."""
    if timeline.events_from(participant, *_ASSIGNED):
        return True
    joined = timeline.events_from(participant, ev.JoinSucceeded)
    if joined:
        failed = timeline.events_from(participant, ev.SyncFailed)
        again = TimeIndex((time_of(e) for e in (*joined, *timeline.events_from(participant, ev.JoinStarted))), int)
        return not all(failed.any_between(at, again.first(at + 1) or timeline.last) for at in map(time_of, joined))
    client_ids, member_ids = _listed(timeline)
    return bool(participant.client_ids & client_ids or participant.member_ids & member_ids)


@cached_answer
def _listed(timeline: Timeline) -> tuple[frozenset[str], frozenset[str]]:
    """The client ids and the member ids of the members of all generations."""
    members = [m for g in timeline.generations for m in g.members]
    client_ids = frozenset(m.client_id for m in members if m.client_id)
    return client_ids, frozenset(m.member_id for m in members if m.member_id)


def _log_end(timeline: Timeline, participant: Participant, begin: int) -> int:
    """The time up to which its log shows it waiting: its close or the end of its log."""
    logs = [log.end for log in timeline.coverage.detailed(participant)]
    stop = timeline.stops.of(participant).first(begin)
    return min(max(logs, default=begin), stop.at if stop is not None else timeline.last)


def about_waiting(timeline: Timeline, out: Sequence[WaitingMember]) -> Hypothesis:
    """The finding about members that repeatedly tried to join without success, with the errors that they received."""
    culprits = tuple(culprit_of(w.participant) for w in out)
    return Hypothesis(
        because=tuple(line for w in out for line in w.lines),
        culprits=culprits,
        severity="warning",
        participants=tuple(w.participant for w in out),
        onset=min(w.begin for w in out),
        until=max(w.end for w in out),
        ongoing=all(w.picked and timeline.stops.of(w.participant).first(w.begin) is None for w in out),
        narrative=(
            f"{culprits[0].name if len(out) == 1 else f'{len(out)} members'} "
            f"{_attempts_in_words(out, timeline.measured(max(w.end - w.begin for w in out)))}{_answers(out)}."
        ),
    )


def _attempts_in_words(out: Sequence[WaitingMember], longest: int | None) -> str:
    attempts, up_to = sum(w.attempts for w in out), "" if len(out) == 1 else "up to "
    if any(w.picked for w in out):
        who = "it" if len(out) == 1 else "they"
        within = lasting(longest or None, f" within {up_to}{{}}")
        return f"asked to join {times(attempts)}{within}, and these lines do not show that {who} got in"
    asked = f"asked to join {times(attempts)} but never got in" if attempts else "subscribed but never joined"
    return asked + lasting(longest, f": {up_to}{{}} without an assignment")


def _answers(out: Sequence[WaitingMember]) -> str:
    """The errors that they received, the most frequent first."""
    failures = Counter(
        ("SyncGroup" if isinstance(e, ev.SyncFailed) else "JoinGroup", e.error or e.detail or "no reason logged")
        for w in out
        for e in w.refused
    )
    parts = [f"{api} failed {times(number)} ({error})" for (api, error), number in failures.most_common(MOST_ANSWERS)]
    lost = sum(len(w.lost) for w in out)
    parts += [f"the coordinator was lost {times(lost)}"] if lost else []
    reset = sum(len(w.reset) for w in out)
    parts += [f"its generation was reset before it took the answer {times(reset)} (generation -1)"] if reset else []
    return f"; {', '.join(parts)}" if parts else ", and no logged error explains it"
