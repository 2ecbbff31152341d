"""A member held up the join barrier, and the group waited for it.

What happened is put forward in four ways: a barrier that stood open longer than heartbeats and the initial delay
explain (LONG, LAST); members that the coordinator removed at the rebalance timeout, once or again and again (REMOVED,
REMOVED_AGAIN); a late rejoin that only the member's own log shows (HEARD); a barrier that is still open when the logs
end. A barrier of which only a newcomer's log remains counts less (WAITED_ALONE). The sentence names the members and how
long the others waited; the advice is about poll loops, or about the timeout where members need longer than it allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.advice.poll_loops import allow_slower_rejoins, poll_at_last, poll_during_rebalances
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.long_barriers import LongBarrier, allowed_ms, long_barriers
from rebalance_forensics.diagnosis.episodes.rebalances.rebalance_notices import RebalanceNotice, rebalance_notices
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.vanished_topics import vanished_topics
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated
from rebalance_forensics.diagnosis.signs import barriers
from rebalance_forensics.diagnosis.wording.culprits import each_culprit
from rebalance_forensics.diagnosis.wording.durations import counted, lasting, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalances import JoinStarted, JoinSucceeded, RebalanceStarted, SyncSucceeded
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import all_have_heard_ms, quiet_ms, shown_rebalance_ms

_EXPIRED = ("rebalance-timeout", "revocation-timeout")
LONG = stated(
    "long-barrier", present="the join barrier stood open longer than heartbeats and the initial delay explain"
)
LAST = stated("last-to-join", present="one member joined long after the others, or was removed because it did not join")
REMOVED = stated(
    "removed-at-rebalance-timeout",
    present="the coordinator removed it because it did not take part in the rebalance before the timeout",
)
REMOVED_AGAIN = stated(
    "removed-at-every-rebalance-timeout", present="rebalance after rebalance it was removed at the rebalance timeout"
)
HEARD = stated("heard-and-did-not-join", present="it was told of the rebalance again and again and did not join")
WAITED_ALONE = stated("only-newcomer-heard", present="only a newcomer's log shows how long it waited to be let in")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Join barriers open longer than heartbeats and the initial delay explain; members removed at the timeout."""
    yield from about_barriers(timeline)


CAUSE = Cause(
    summary="One member held up a rebalance; the whole group waited for it.",
    mechanism=(
        "The coordinator creates a generation only when every known member has sent JoinGroup, or when the rebalance "
        "timeout (max.poll.interval.ms) expires. Under eager rebalancing no member reads meanwhile."
    ),
    shows=(
        "A long time between 'Preparing to rebalance' and 'Stabilized'; one member rejoins last, or 'removed … "
        "who haven't joined'; a client whose own log repeats 'group is already rebalancing' and does not rejoin."
    ),
    remedy="Make that member poll: a rebalance is only as fast as its slowest member.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(LONG, STRONG),
        speaks_for(LAST, STRONG),
        speaks_for(REMOVED, STRONG),
        speaks_for(REMOVED_AGAIN, STRONG),
        speaks_for(HEARD, STRONG),
        speaks_against(WAITED_ALONE, WEAK),
        speaks_against(barriers.heartbeats_may_explain, STRONG + WEAK),
        speaks_against(barriers.session_expiry_ended_it, DECISIVE),
        speaks_against(barriers.member_lost_meanwhile, DECISIVE - WEAK),
        speaks_against(barriers.coordinator_out_of_reach, DECISIVE),
        speaks_against(barriers.coordinator_moved_meanwhile, DECISIVE),
        speaks_against(barriers.coordinator_stood_still, DECISIVE),
    ),
    implies=("scale-out", "subscription-change", "unstable-leader"),
    lookalikes=("coordinator-failover",),
    settings=("max.poll.interval.ms", "heartbeat.interval.ms", "group.initial.rebalance.delay.ms", "group.protocol"),
    kips=("KIP-62", "KIP-848"),
)


def about_barriers(timeline: Timeline) -> Iterator[Hypothesis]:
    """Missed rebalance timeouts, long barriers, late rejoins, and the barrier that is still open at the end."""
    # A single timeout that ended a long barrier is part of it; timeouts that repeat are shorter than the members need.
    barriers = list(long_barriers(timeline))
    removed = {departure.id for barrier in barriers for departure in barrier.removed}
    missed = [
        m
        for m in rebalance_timeouts(timeline)
        if len(m.found) > 1 or not removed.issuperset(d.id for d in m.departures)
    ]
    repeated = {r.id for m in missed for r in m.rebalances}
    barriers = [b for b in barriers if b.rebalance.id not in repeated]
    yield from (about_rebalance_timeouts(timeline, m) for m in missed)
    yield from (about_long_barrier(timeline, barrier) for barrier in barriers)
    yield from (about_late_join(timeline, late) for late in late_joins(timeline, barriers))
    still = open_barrier(timeline)
    if still is not None and still.open_ms > allowed_ms(timeline):
        yield about_open_barrier(timeline, still)


def rebalance_timeouts(timeline: Timeline) -> Iterator[RebalanceTimeouts]:
    """Missed rebalance timeouts; those of the same participants stand together until the group is quiet."""
    found = list(_by_line(timeline))
    for group in _of_same_participants(found):
        yield from (
            RebalanceTimeouts(tuple(run)) for run in runs(group, lambda timeout: timeout.at, quiet_ms(timeline))
        )


class RebalanceTimeouts(Struct, frozen=True):
    """Rebalance timeouts that the same participants missed, one soon after another."""

    found: tuple[RebalanceTimeout, ...]

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Participants that were removed."""
        return tuple(dict.fromkeys(p for timeout in self.found for p in timeout.participants))

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Their removals."""
        return tuple(d for timeout in self.found for d in timeout.departures)

    @property
    def rebalances(self) -> tuple[Rebalance, ...]:
        """Rebalances that the removals ended."""
        return tuple(
            {
                timeout.rebalance.id: timeout.rebalance for timeout in self.found if timeout.rebalance is not None
            }.values()
        )

    def timeout_ms(self, timeline: Timeline) -> int | None:
        """The rebalance timeout in a logged setting, else the shortest time that the coordinator waited."""
        known = [shown_rebalance_ms(timeline, p) for p in self.participants]
        waited = [timeout.waited_ms for timeout in self.found]
        return max((ms for ms in known if ms), default=None) or min((ms for ms in waited if ms), default=None)

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """Arrivals of the removed members, oldest first."""
        return sorted((a for timeout in self.found for a in timeout.returns(timeline)), key=lambda a: a.at)

    def needed_ms(self, timeline: Timeline) -> int | None:
        """Longest time from the start of such a rebalance to the rejoin of a member that was removed."""
        return max(
            (
                back.at - timeout.rebalance.started_at
                for timeout in self.found
                if timeout.rebalance is not None
                for back in timeout.returns(timeline)
            ),
            default=None,
        )


class RebalanceTimeout(Struct, frozen=True):
    """One line of the coordinator, the members that it removed, and the rebalance that waited for them, if known."""

    line: MemberFailed
    departures: tuple[Departure, ...]
    rebalance: Rebalance | None

    @property
    def at(self) -> int:
        """Time of the removal."""
        return time_of(self.line)

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Participants whose members were removed."""
        return tuple(dict.fromkeys(d.participant for d in self.departures))

    @property
    def waited_ms(self) -> int | None:
        """Time the coordinator waited: as its line gives it, else since the line that opened the rebalance."""
        if self.line.timeout_ms is not None:
            return self.line.timeout_ms
        opened = [e for e in self.rebalance.events if isinstance(e, RebalanceStarted)] if self.rebalance else []
        return self.at - time_of(opened[0]) if opened else None

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """Arrivals of the removed members, under new ids because the coordinator no longer knows the old ones."""
        removed = {d.id for d in self.departures}
        came = (a for p in self.participants for a in timeline.arrivals.of(p).since(self.at))
        return [a for a in came if a.ends is not None and a.ends.id in removed]


def _by_line(timeline: Timeline) -> Iterator[RebalanceTimeout]:
    by_line: dict[int, list[Departure]] = defaultdict(list)
    lines: dict[int, MemberFailed] = {}
    for departure in timeline.departures:
        for event in departure.events if departure.why in _EXPIRED else ():
            if isinstance(event, MemberFailed) and event.why in _EXPIRED:
                lines.setdefault(id(event), event)
                by_line[id(event)].append(departure)
    for key, line in lines.items():
        yield RebalanceTimeout(line, tuple(by_line[key]), _rebalance_open_at(timeline, time_of(line)))


def _rebalance_open_at(timeline: Timeline, at: int) -> Rebalance | None:
    """The rebalance that was open when the members were removed; the removal ends it."""
    open_then = timeline.rebalances.touching(at, at)
    return next((r for r in reversed([*open_then]) if r.started_at < at), None)


def _of_same_participants(found: Iterable[RebalanceTimeout]) -> list[list[RebalanceTimeout]]:
    """Timeouts grouped so that any two with a common participant are in one group."""
    groups: list[tuple[set[Participant], list[RebalanceTimeout]]] = []
    for timeout in found:
        names, members = set(timeout.participants), [timeout]
        apart = []
        for known, group in groups:
            if known.isdisjoint(names):
                apart.append((known, group))
            else:
                names |= known
                members = [*group, *members]
        groups = [*apart, (names, members)]
    return [sorted(group, key=lambda timeout: timeout.at) for _, group in groups]


def about_rebalance_timeouts(timeline: Timeline, missed: RebalanceTimeouts) -> Hypothesis:
    """Removals at the rebalance timeout, once or again and again."""
    culprits, lines = each_culprit(missed.participants), [timeout.line for timeout in missed.found]
    opened = [e for r in missed.rebalances for e in r.events if isinstance(e, RebalanceStarted)]
    returns, timeout_ms = missed.returns(timeline), missed.timeout_ms(timeline)
    timeout_ms = None if timeout_ms is None else timeline.measured(timeout_ms)
    return Hypothesis(
        because=[*lines[:2], *opened[:2], *lines[2:], *(e for back in returns for e in back.events[:1]), *opened[2:]],
        culprits=culprits,
        answers={REMOVED: Present(tuple(lines[:4]))}
        | ({REMOVED_AGAIN: Present(tuple(lines[:4]))} if len(lines) > 1 else {}),
        participants=missed.participants,
        severity="warning",
        onset=min([*(r.started_at for r in missed.rebalances), time_of(lines[0])]),
        explains=(*missed.departures, *missed.rebalances),
        implies=tuple(returns),
        narrative=_timeouts_in_words(timeline, missed, ", ".join(c.name for c in culprits), timeout_ms),
        advice=(
            allow_slower_rejoins(timeline, timeout_ms, missed.needed_ms(timeline))
            if len(lines) > 1
            else poll_during_rebalances(timeline, timeout_ms)
        ),
    )


def _timeouts_in_words(timeline: Timeline, missed: RebalanceTimeouts, who: str, timeout_ms: int | None) -> str:
    """The step that came too late: the rejoin, or under KIP-848 the revocation."""
    revoking = missed.found[0].line.why == "revocation-timeout"
    timeout = f"before the rebalance timeout{lasting(timeout_ms, ' ({})')} expired"
    if len(missed.found) == 1:
        was, them = ("was", "it") if len(missed.participants) == 1 else ("were", "them")
        waits = "" if revoking else f": the others in the group had to wait for {them} until then"
        late = "giving up partitions" if revoking else "rejoining"
        return f"{who} {was} removed from the group for not {late} {timeout}{waits}."
    lines = [found.line for found in missed.found]
    removed = counted(len(missed.departures), "member")
    back = "; they came back as new members" if missed.returns(timeline) else ""
    late = "give up partitions" if revoking else "rejoin"
    return f"{who} did not {late} {timeout}, {times(len(lines))}{span(lines)}: {removed} removed{back}."


def about_long_barrier(timeline: Timeline, barrier: LongBarrier) -> Hypothesis:
    """The members that joined last, or were removed because they did not join, held up the others."""
    culprits, generation = each_culprit(barrier.last), barrier.rebalance.generation
    open_ms = timeline.measured(barrier.open_ms)
    who, them = ", ".join(c.name for c in culprits) or "A member", "it" if len(culprits) < 2 else "them"
    return Hypothesis(
        because=barrier.lines,
        culprits=culprits,
        answers={LONG: Present(barrier.lines[:2])} | _last_to_join(barrier),
        participants=barrier.last,
        severity="warning",
        onset=barrier.rebalance.started_at,
        explains=(barrier.rebalance,),
        implies=(*barrier.removed, *barrier.began_by),
        narrative=(
            f"{who} held up generation {generation}{lasting(open_ms)}: the others had to wait for {them} to rejoin."
        ),
        advice=poll_during_rebalances(timeline, open_ms),
    )


def _last_to_join(barrier: LongBarrier) -> dict[Sign, Answer]:
    """LAST, or WAITED_ALONE if all lines are a newcomer's: it may have joined an empty group together with others."""
    if barrier.last:
        return {LAST: Present(barrier.lines[-2:])}
    alone = all(isinstance(e, JoinStarted | JoinSucceeded) for e in barrier.lines)
    return {WAITED_ALONE: Present(barrier.lines[:2])} if alone else {}


def about_late_join(timeline: Timeline, late: RebalanceNotice) -> Hypothesis:
    """A rejoin whose delay only the member's own log shows."""
    culprits, rebalances = each_culprit((late.participant,)), late.joined(timeline)
    lasted_ms = timeline.measured(late.lasted_ms)
    joined = (late.ended_by,) if late.ended_by else ()
    return Hypothesis(
        because=[*late.notices[:4], late.notices[-1], *joined],
        culprits=culprits,
        answers={LONG: Present((late.notices[0], *joined)), HEARD: Present(late.notices[:4])},
        participants=(late.participant,),
        severity="warning",
        onset=late.began_at,
        explains=tuple(rebalances),
        narrative=(
            f"{culprits[0].name} knew of the rebalance{lasting(lasted_ms)} before it rejoined; "
            "until then the group had to wait for it."
        ),
        advice=poll_during_rebalances(timeline, lasted_ms),
    )


def late_joins(timeline: Timeline, barriers: Iterable[LongBarrier]) -> Iterator[RebalanceNotice]:
    """Rejoins later than heartbeats explain, outside the long barriers and the span of brokers' logs."""
    if timeline.kind != "consumer":
        return
    known_barriers = [(barrier.rebalance.started_at, barrier.rebalance.ended_at()) for barrier in barriers]
    for participant in timeline.participants.everybody:
        for notice in rebalance_notices(timeline, participant):
            if (
                not notice.ended_with_a_join
                or notice.lasted_ms <= allowed_ms(timeline)
                or not notice.is_one_rebalance(timeline)
            ):
                continue
            if any(
                topics.retries_throughout(participant, notice.began_at, notice.ended_at)
                for topics in vanished_topics(timeline)
            ):
                continue
            known = covering(timeline.coverage.brokers, notice.began_at, notice.ended_at)
            if not known and not any(
                begin <= notice.ended_at and notice.began_at <= end for begin, end in known_barriers
            ):
                yield notice


def open_barrier(timeline: Timeline) -> OpenBarrier | None:
    """The barrier that is open when the logs end, if there is one."""
    if timeline.kind != "consumer" or timeline.protocol not in ("classic", "unknown"):
        return None
    # REBALANCE_IN_PROGRESS is sent to members only, so that its receiver is one even if no line shows how it joined.
    heard = {
        participant: last
        for participant in timeline.participants.everybody
        if (last := _unanswered_notice(timeline, participant))
    }
    if not heard:
        return None
    lines = sorted((e for last in heard.values() for e in last.notices), key=time_of)
    others = [a for a in timeline.members() if a not in heard]
    waiting = [e for a in others if (e := _unanswered_join(timeline, a, time_of(lines[0])))]
    if not waiting and any(timeline.coverage.of(a) for a in others):
        return None
    is_one = bool(waiting) or all(last.is_one_rebalance(timeline) for last in heard.values())
    return OpenBarrier(tuple(heard), tuple(lines), tuple(waiting), is_one)


class OpenBarrier(Struct, frozen=True):
    """The barrier that is open when the logs end: members that have not joined, their notices, joins of the others.

    `waiting` is empty where no log of another member is there.
    """

    participants: tuple[Participant, ...]
    notices: tuple[Event, ...]
    waiting: tuple[Event, ...]
    is_one: bool
    """Surely one rebalance; from picked lines a JoinGroup in between may have been left out."""

    @property
    def began_at(self) -> int:
        """Time of the first notice or join."""
        return min(time_of(e) for e in (*self.notices, *self.waiting))

    @property
    def open_ms(self) -> int:
        """Time between the first and the last notice."""
        return max(map(time_of, self.notices)) - min(map(time_of, self.notices))

    def rebalances(self, timeline: Timeline) -> list[Rebalance]:
        """Rebalances since then that have not ended."""
        since = timeline.rebalances.since(self.began_at - all_have_heard_ms(timeline))
        return [r for r in since if r.stabilized_at is None and r.completed_at is None]

    def arrivals(self, timeline: Timeline) -> Sequence[Arrival]:
        """Arrivals since the barrier opened."""
        return timeline.arrivals.since(self.began_at - all_have_heard_ms(timeline))


def _unanswered_notice(timeline: Timeline, participant: Participant) -> RebalanceNotice | None:
    """The last rebalance notice of a member that neither joined nor left after it."""
    last = next(iter([*rebalance_notices(timeline, participant)][-1:]), None)
    if last is None or last.ended_by is not None:
        return None
    departed = timeline.departures.of(participant).any_between(last.began_at, timeline.last)
    return None if departed else last


def _unanswered_join(timeline: Timeline, participant: Participant, since: int) -> Event | None:
    """Its unanswered JoinGroup, sent about when the late member first received the notice."""
    last = timeline.events_from(participant, JoinStarted, JoinSucceeded, SyncSucceeded).last(timeline.last)
    return last if isinstance(last, JoinStarted) and abs(time_of(last) - since) <= all_have_heard_ms(timeline) else None


def about_open_barrier(timeline: Timeline, barrier: OpenBarrier) -> Hypothesis:
    """A member has not rejoined when the logs end; the reason is in its own log."""
    culprits, rebalances = each_culprit(barrier.participants), barrier.rebalances(timeline)
    has = "has" if len(culprits) == 1 else "have"
    wait = "a rebalance waits for every member" if barrier.is_one else "but picked lines may leave out that it did"
    wait = "the others are still waiting when the logs end" if barrier.waiting else wait
    open_ms = timeline.measured(barrier.open_ms)
    heard = {HEARD: Present(barrier.notices[:4])}
    return Hypothesis(
        because=[*barrier.notices[:4], *barrier.waiting[:4], *(e for r in rebalances for e in r.events)],
        culprits=culprits,
        answers=heard | ({LONG: Present(barrier.waiting[:2] or barrier.notices[-1:])} if barrier.is_one else {}),
        participants=barrier.participants,
        severity="warning",
        onset=barrier.began_at,
        ongoing=True,
        implies=(*rebalances, *barrier.arrivals(timeline)),
        narrative=(
            f"{', '.join(c.name for c in culprits)} {has} known of the rebalance{lasting(open_ms)} "
            f"and {has} not rejoined; {wait}."
        ),
        advice=poll_at_last(open_ms),
    )
