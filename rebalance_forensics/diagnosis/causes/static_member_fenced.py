"""Two running members use the same group.instance.id (FENCED_INSTANCE_ID, KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.seen import coordinator_log
from rebalance_forensics.diagnosis.sign import STRONG, WEAK, Answer, Present, Row, Unobservable, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import how_often, listed, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import natural
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.answers import error_of
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.identity.printed_answers import is_printed

WAS_FENCED = clue("fenced", STRONG + WEAK, "a member was fenced: another one had registered with its group.instance.id")
BOTH_SEEN = clue("both-members-seen", STRONG, "the logs show the second member with the same group.instance.id")
PERHAPS_REMOVED = clue(
    "perhaps-removed", -WEAK, "an admin may have removed it before the other member took its id, as its log says"
)
ONCE = clue("fenced-once", -WEAK, "one member was fenced, once: a restart whose processes overlap looks the same")
HOLDER_UNHEARD = clue(
    "holder-unheard",
    -STRONG,
    "no log shows that the member that held the id was running: one that died holds it for a session, too",
)
# FENCED_INSTANCE_ID is fatal (AbstractCoordinator): poll() throws FencedInstanceIdException from then on.
_STAYS_OUT = " A fenced consumer does not rejoin by itself; its process has to be restarted."
# After more fences than this, two processes certainly fence each other in turn.
MANY_FENCES = 6
_REQUESTS = (ev.JoinFailed, ev.SyncFailed, ev.HeartbeatFailed, ev.OffsetCommitFailed, ev.GroupHeartbeatFailed)
FENCING = (ev.StaticMemberFenced, ev.InstanceFenced, ev.JoinRequested, ev.ExceptionLogged, *_REQUESTS)
# A fenced member logs these in addition to the line about the fencing; used only if its log has no other line.
_ADDITIONAL_LINES = (ev.ExceptionLogged, ev.OffsetCommitFailed, ev.JoinRequested)
FENCED, UNRELEASED = "FENCED_INSTANCE_ID", "UNRELEASED_INSTANCE_ID"


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for every instance id with a fenced or rejected member."""
    for fence in fences(timeline):
        begin, end = fence.begin - windows.PROCESS_START_MS, fence.end + windows.PROCESS_START_MS
        initial = initial_arrivals(timeline)
        meanwhile = (facts.between(begin, end) for facts in (timeline.departures, timeline.arrivals, timeline.returns))
        facts = [f for found in meanwhile for f in found if f.participant in fence.participants and f.id not in initial]
        culprits = culprits_of(timeline, fence.participants, as_instance=True)
        if fence.instance is not None:
            # The culprit is the instance id, with its members as other names; without an id, the fenced members.
            names = {n for c in culprits for n in (c.name, *c.names)} - {fence.instance}
            culprits = (Culprit(kind="instance", name=fence.instance, names=tuple(sorted(names, key=natural))),)
        lines = Present(distinct_events(fence.events))
        # Without a line of the coordinator or of the other member, the coordinator's log would decide.
        clues: dict[Row, Answer] = {
            WAS_FENCED: lines,
            BOTH_SEEN: lines if fence.both_seen else Unobservable((coordinator_log(begin, end),)),
        }
        may_have_died = fence.refused and not fence.holder_ran
        doubts = ((PERHAPS_REMOVED, fence.perhaps_removed), (ONCE, fence.once), (HOLDER_UNHEARD, may_have_died))
        often, why = (
            how_often(fence.events),
            "A second member with the same id takes the first one's place and fences it",
        )
        if fence.refused:
            why = "Under KIP-848 a second member with the same id is rejected (UNRELEASED_INSTANCE_ID)"
        yield Hypothesis(
            because=[*fence.events, *(e for f in facts for e in f.events[:2])],
            culprits=culprits,
            clues=clues | {row: lines for row, is_so in doubts if is_so},
            participants=tuple(fence.participants),
            severity="critical" if len(fence.events) > MANY_FENCES else "warning",
            onset=fence.begin,
            implies=with_rebalances(timeline, facts),
            narrative=_fence_in_words(fence),
            advice=(
                Advice(
                    action="Give every process its own group.instance.id; "
                    f"{fence.instance or f'that of {fence.name}'} is configured twice.",
                    why=f"{why}{'' if often == times(1) else f'; this happened {often}'}.",
                    cost="Joining under a new id costs one rebalance.",
                ),
            ),
        )


CAUSE = Cause(
    propose=propose,
    evidence_types=FENCING,
    implies=(
        "static-member-restart",
        "scaling-flap",
        "member-left",
        "process-pause",
        "scale-out",
        "rolling-restart",
        "static-member-expired",
    ),
    lookalikes=("static-member-restart",),
    silence="fenced",
)


def _fence_in_words(fence: Fence) -> str:
    """A sentence on two members with one instance id, according to what the logs show about both of them."""
    same = f"group.instance.id {fence.instance}" if fence.instance else f"the group.instance.id of {fence.name}"
    if fence.both_seen:
        refused = "the coordinator rejected the second while the first was running"
        what = refused if fence.refused else "the second took the place of the first and fenced it"
        return f"Two running members used {same}: {what}.{'' if fence.refused else _STAYS_OUT}"
    if fence.refused:
        return f"A member was rejected because another one, running or not yet expired, held {same}."
    return (
        f"A running member was fenced because another one had joined with {same}; these logs do not show whether both "
        f"were meant to run or a restart overlapped.{_STAYS_OUT}"
    )


@dataclass(slots=True)
class Fence:
    """An instance id that two members used at the same time, and the lines that show it."""

    instance: str | None
    """None if no line names it, as with many clients."""
    participants: list[Participant]
    events: list[Event] = field(default_factory=list)
    holder_ran: bool = False
    """True if a newcomer was rejected and the member with the id is known to have been running."""

    @property
    def name(self) -> str:
        """The instance id, or the names of its members if unknown."""
        return self.instance or listed([participant.name for participant in self.participants])

    @property
    def begin(self) -> int:
        """Time of the first line."""
        return min(map(time_of, self.events))

    @property
    def end(self) -> int:
        """Time of the last line."""
        return max(map(time_of, self.events))

    @property
    def refused(self) -> bool:
        """True if the second member was rejected while the first was running."""
        return all(map(_is_refusal, self.events))

    @property
    def both_seen(self) -> bool:
        """True if not only the fenced member but also the coordinator or the other member logged it."""
        if self.refused:
            return self.holder_ran
        logged_by_coordinator = any(isinstance(e, ev.StaticMemberFenced) for e in self.events)
        return logged_by_coordinator or len({(e.speaker.host, e.speaker.file) for e in self.events}) > 1

    @property
    def once(self) -> bool:
        """True if a single member was fenced; if both were meant to run, the restarted member would fence the other."""
        if self.refused or self.perhaps_removed:
            return False
        return len({m for e in self.events if (m := getattr(e, "member", None))}) <= 1

    @property
    def perhaps_removed(self) -> bool:
        """True under KIP-848, where a member is fenced only after it was removed from the group."""
        return all(isinstance(e, ev.GroupHeartbeatFailed) and e.error == FENCED for e in self.events)


def fences(timeline: Timeline) -> list[Fence]:
    """All instance ids with a fenced or rejected member, ordered by name."""
    by_instance: dict[str, Fence] = {}
    unnamed: dict[Participant, Fence] = {}
    lines = [
        e
        for e in timeline.of(*FENCING)
        if _is_fence(e) and not _was_closing(timeline, e) and not _was_evicted(timeline, e)
    ]
    for event in [e for e in lines if not isinstance(e, _ADDITIONAL_LINES) and not is_printed(e)] or lines:
        instance = _instance(event)
        if instance is not None:
            users = [a for a in timeline.participants.everybody if instance in a.instance_ids]
            by_instance.setdefault(instance, Fence(instance, users)).events.append(event)
        elif (participant := _speaker(timeline, event)) is not None:
            unnamed.setdefault(participant, Fence(None, [participant])).events.append(event)
    for participant, fence in unnamed.items():
        same = next((f for f in by_instance.values() if participant in f.participants), None)
        if same is not None:
            same.events += fence.events
    named = {participant for fence in by_instance.values() for participant in fence.participants}
    without_id = [fence for participant, fence in unnamed.items() if participant not in named]
    known: list[Fence] = []
    for fence in (*by_instance.values(), *without_id):
        # Under KIP-848 a member that dies keeps its id until its session expires, so that its successor is rejected.
        until = fence.end + timeouts.session_timeout_ms(timeline) + windows.NEXT_HEARTBEAT_MS
        expired = (d for d in timeline.departures.between(fence.begin, until) if d.why == "session-expired")
        if not fence.refused or not any(d.participant in fence.participants for d in expired):
            fence.holder_ran = fence.refused and _holder_ran(timeline, fence)
            known.append(fence)
    return sorted(known, key=lambda fence: fence.name)


def _was_closing(timeline: Timeline, event: Event) -> bool:
    """True if the fenced member was closing: its successor joined before it had finished."""
    member = event.member if isinstance(event, ev.StaticMemberFenced) else None
    participant = timeline.participants.of_speaker(event) or timeline.participants.of_member(member)
    if participant is None or _is_refusal(event):
        return False
    at = time_of(event)
    stop = timeline.closed_by(participant, at - 1, until=at)
    return stop is not None and at - stop.at <= windows.REQUEST_TIMEOUT_MS


def _was_evicted(timeline: Timeline, event: Event) -> bool:
    """True if the fenced member id had been evicted, so that the line is about a late request after a rejoin."""
    if not isinstance(event, ev.StaticMemberFenced) or event.member is None or event.newcomer:
        return False
    participant = timeline.participants.of_member(event.member)
    departures = timeline.departures.of(participant) if participant is not None else ()
    return any(d.why == "session-expired" and d.member == event.member and d.at < time_of(event) for d in departures)


def _holder_ran(timeline: Timeline, fence: Fence) -> bool:
    """True if the log of the member with the id continues, or the coordinator did not evict it."""
    refused = {timeline.participants.of_speaker(e) for e in fence.events}
    holders = [p for p in fence.participants if p not in refused and timeline.starts.of(p).first(fence.begin) is None]
    if any((timeline.coverage.ends(holder) or 0) > fence.end + windows.HEARTBEAT_MS for holder in holders):
        return True
    until = fence.begin + timeouts.session_timeout_ms(timeline) + windows.NEXT_HEARTBEAT_MS
    return bool(covering(timeline.coverage.brokers, fence.begin, until))


def _is_refusal(event: Event) -> bool:
    """True if a newcomer was rejected, according to the coordinator's line or its own (UNRELEASED_INSTANCE_ID)."""
    if isinstance(event, ev.StaticMemberFenced):
        return event.newcomer
    return error_of(event) == UNRELEASED


def _is_fence(event: Event) -> bool:
    match event:
        case ev.StaticMemberFenced() | ev.InstanceFenced():
            return True
        case ev.GroupHeartbeatFailed(error=error):
            return error in (FENCED, UNRELEASED)
    return error_of(event) == FENCED


def _instance(event: Event) -> str | None:
    if isinstance(event, ev.StaticMemberFenced):
        members = (name_in_member_id(m) for m in (event.member, event.current_member) if m)
        return event.instance_id or next(filter(None, members), None)
    instance: str | None = getattr(event, "instance_id", None)
    return instance or event.speaker.instance_id


def _speaker(timeline: Timeline, event: Event) -> Participant | None:
    """The member that logged a line; for an exception without a client id, the only member at that place, or None."""
    participant = timeline.participants.of_speaker(event)
    if participant is not None or not isinstance(event, ev.ExceptionLogged):
        return participant
    neighbors = [a for a in timeline.participants.at_place(event) if a.has_log]
    return neighbors[0] if len(neighbors) == 1 else None
