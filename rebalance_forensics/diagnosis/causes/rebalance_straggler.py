"""One member held up the join barrier."""

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


class RebalanceTimeout(Struct, frozen=True):
    """One line of the coordinator: the members it removed, and the rebalance that waited for them, where it shows."""

    line: MemberFailed
    departures: tuple[Departure, ...]
    rebalance: Rebalance | None

    @property
    def at(self) -> int:
        """When the members were removed."""
        return time_of(self.line)

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Everybody who lost a member."""
        return tuple(dict.fromkeys(d.participant for d in self.departures))

    @property
    def waited_ms(self) -> int | None:
        """How long the coordinator waited: the line says so, else the line that opened the rebalance does."""
        if self.line.timeout_ms is not None:
            return self.line.timeout_ms
        opened = [e for e in self.rebalance.events if isinstance(e, RebalanceStarted)] if self.rebalance else []
        return self.at - time_of(opened[0]) if opened else None

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """How its members came back: under a new id, as the old one is unknown by then."""
        removed = {d.id for d in self.departures}
        came = (a for p in self.participants for a in timeline.arrivals.of(p).since(self.at))
        return [a for a in came if a.after in removed]


class RebalanceTimeouts(Struct, frozen=True):
    """The timeouts that the same participants missed, before the group was quiet."""

    found: tuple[RebalanceTimeout, ...]

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Everybody who was removed."""
        return tuple(dict.fromkeys(p for timeout in self.found for p in timeout.participants))

    @property
    def departures(self) -> tuple[Departure, ...]:
        """All removals."""
        return tuple(d for timeout in self.found for d in timeout.departures)

    @property
    def rebalances(self) -> tuple[Rebalance, ...]:
        """The rebalances that waited until then."""
        return tuple(
            {
                timeout.rebalance.id: timeout.rebalance for timeout in self.found if timeout.rebalance is not None
            }.values()
        )

    def timeout_ms(self, timeline: Timeline) -> int | None:
        """The rebalance timeout as a setting shows it, else the shortest time that the coordinator waited."""
        known = [shown_rebalance_ms(timeline, p) for p in self.participants]
        waited = [timeout.waited_ms for timeout in self.found]
        return max((ms for ms in known if ms), default=None) or min((ms for ms in waited if ms), default=None)

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """How its members came back, oldest first."""
        return sorted((a for timeout in self.found for a in timeout.returns(timeline)), key=lambda a: a.at)

    def needed_ms(self, timeline: Timeline) -> int | None:
        """The longest from the start of such a rebalance until a member that it did not wait for asked to join."""
        return max(
            (
                back.at - timeout.rebalance.started_at
                for timeout in self.found
                if timeout.rebalance is not None
                for back in timeout.returns(timeline)
            ),
            default=None,
        )


def rebalance_timeouts(timeline: Timeline) -> Iterator[RebalanceTimeouts]:
    """All of them, those together that struck the same participants again and again."""
    found = list(_by_line(timeline))
    for group in _of_same_participants(found):
        yield from (
            RebalanceTimeouts(tuple(run)) for run in runs(group, lambda timeout: timeout.at, quiet_ms(timeline))
        )


def _by_line(timeline: Timeline) -> Iterator[RebalanceTimeout]:
    by_line: dict[int, list[Departure]] = defaultdict(list)
    lines: dict[int, MemberFailed] = {}
    for departure in timeline.departures:
        for event in departure.events if departure.why in _EXPIRED else ():
            if isinstance(event, MemberFailed) and event.why in _EXPIRED:
                lines.setdefault(id(event), event)
                by_line[id(event)].append(departure)
    for key, line in lines.items():
        yield RebalanceTimeout(line, tuple(by_line[key]), _that_waited(timeline, time_of(line)))


def _that_waited(timeline: Timeline, at: int) -> Rebalance | None:
    """The rebalance that was open until members were removed: the removal ends it."""
    open_then = timeline.rebalances.touching(at, at)
    return next((r for r in reversed([*open_then]) if r.started_at < at), None)


def _of_same_participants(found: Iterable[RebalanceTimeout]) -> list[list[RebalanceTimeout]]:
    """Joined wherever they have somebody in common."""
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


class OpenBarrier(Struct, frozen=True):
    """Who heard of the rebalance in vain, the lines that repeat it, and the joins of those who wait.

    Nobody is seen to wait where no other member's log is there.
    """

    participants: tuple[Participant, ...]
    told: tuple[Event, ...]
    waiting: tuple[Event, ...]
    is_one: bool
    """Whether all of it is surely one rebalance: of picked lines a JoinGroup may have been left out."""

    @property
    def began_at(self) -> int:
        """When the first of them all heard of it, or joined."""
        return min(time_of(e) for e in (*self.told, *self.waiting))

    @property
    def open_ms(self) -> int:
        """How long a member is known to have kept the others waiting."""
        return max(map(time_of, self.told)) - min(map(time_of, self.told))

    def rebalances(self, timeline: Timeline) -> list[Rebalance]:
        """The rebalances that have not ended."""
        since = timeline.rebalances.since(self.began_at - all_have_heard_ms(timeline))
        return [r for r in since if r.stabilized_at is None and r.completed_at is None]

    def arrivals(self, timeline: Timeline) -> Sequence[Arrival]:
        """Who came since it opened."""
        return timeline.arrivals.since(self.began_at - all_have_heard_ms(timeline))


def open_barrier(timeline: Timeline) -> OpenBarrier | None:
    """The barrier at the end of the logs, if one stands open there."""
    if timeline.kind != "consumer" or timeline.protocol not in ("classic", "unknown"):
        return None
    # Whom the coordinator tells of a rebalance is a member, be it that no line shows how it became one.
    heard = {
        participant: last
        for participant in timeline.participants.everybody
        if (last := _heard_in_vain(timeline, participant))
    }
    if not heard:
        return None
    lines = sorted((e for last in heard.values() for e in last.notices), key=time_of)
    others = [a for a in timeline.members() if a not in heard]
    waiting = [e for a in others if (e := _waits(timeline, a, time_of(lines[0])))]
    if not waiting and any(timeline.coverage.of(a) for a in others):
        return None
    is_one = bool(waiting) or all(last.is_one_rebalance(timeline) for last in heard.values())
    return OpenBarrier(tuple(heard), tuple(lines), tuple(waiting), is_one)


def _heard_in_vain(timeline: Timeline, participant: Participant) -> RebalanceNotice | None:
    """What it was told since it last took a step of its own; None if it is gone."""
    last = next(iter([*rebalance_notices(timeline, participant)][-1:]), None)
    if last is None or last.ended_by is not None:
        return None
    departed = timeline.departures.of(participant).any_between(last.began_at, timeline.last)
    return None if departed else last


def _waits(timeline: Timeline, participant: Participant, since: int) -> Event | None:
    """Its JoinGroup without an answer, sent when the other one first heard of the rebalance."""
    last = timeline.events_from(participant, JoinStarted, JoinSucceeded, SyncSucceeded).last(timeline.last)
    return last if isinstance(last, JoinStarted) and abs(time_of(last) - since) <= all_have_heard_ms(timeline) else None


def late_joins(timeline: Timeline, barriers: Iterable[LongBarrier]) -> Iterator[RebalanceNotice]:
    """Each of them that none of the long barriers tells already."""
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
                topics.kept_busy(participant, notice.began_at, notice.ended_at) for topics in vanished_topics(timeline)
            ):
                continue
            known = covering(timeline.coverage.brokers, notice.began_at, notice.ended_at)
            if not known and not any(
                begin <= notice.ended_at and notice.began_at <= end for begin, end in known_barriers
            ):
                yield notice


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


def about_barriers(timeline: Timeline) -> Iterator[Hypothesis]:
    """Those that ended, the late joins that a member's own log alone shows, and the one that stands open at the end.

    What a rebalance timeout ended once is part of the long barrier, if it was long; what it ended again and again is a
    timeout shorter than the members need.
    """
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


def about_long_barrier(timeline: Timeline, barrier: LongBarrier) -> Hypothesis:
    """Who joined last, or was removed because it did not join, held up the others."""
    culprits, generation = each_culprit(barrier.last), barrier.rebalance.generation
    open_ms = timeline.measured(barrier.open_ms)
    who, them = ", ".join(c.name for c in culprits) or "A member", "it" if len(culprits) < 2 else "them"
    return Hypothesis(
        because=barrier.lines,
        culprits=culprits,
        answers={LONG: Present(barrier.lines[:2])} | _who_tells(barrier),
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


def _who_tells(barrier: LongBarrier) -> dict[Sign, Answer]:
    """Who came last; or that nobody but a newcomer is heard, which may have come with others into an empty group."""
    if barrier.last:
        return {LAST: Present(barrier.lines[-2:])}
    alone = all(isinstance(e, JoinStarted | JoinSucceeded) for e in barrier.lines)
    return {WAITED_ALONE: Present(barrier.lines[:2])} if alone else {}


def about_rebalance_timeouts(timeline: Timeline, missed: RebalanceTimeouts) -> Hypothesis:
    """Members that the coordinator removed at the rebalance timeout, once or again and again."""
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
    """What the members failed to do in time: to rejoin, or under KIP-848 to give up partitions."""
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


def about_late_join(timeline: Timeline, late: RebalanceNotice) -> Hypothesis:
    """Its own log shows how long it let a rebalance wait; whoever else was in the group waited for it."""
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


def about_open_barrier(timeline: Timeline, barrier: OpenBarrier) -> Hypothesis:
    """The logs end before the last one joins: what the others wait for is in its own log."""
    culprits, rebalances = each_culprit(barrier.participants), barrier.rebalances(timeline)
    has = "has" if len(culprits) == 1 else "have"
    wait = "a rebalance waits for every member" if barrier.is_one else "but picked lines may leave out that it did"
    wait = "the others are still waiting when the logs end" if barrier.waiting else wait
    open_ms = timeline.measured(barrier.open_ms)
    heard = {HEARD: Present(barrier.told[:4])}
    return Hypothesis(
        because=[*barrier.told[:4], *barrier.waiting[:4], *(e for r in rebalances for e in r.events)],
        culprits=culprits,
        answers=heard | ({LONG: Present(barrier.waiting[:2] or barrier.told[-1:])} if barrier.is_one else {}),
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
    ),
    implies=("scale-out", "subscription-change", "unstable-leader"),
    lookalikes=("coordinator-failover",),
    settings=("max.poll.interval.ms", "heartbeat.interval.ms", "group.initial.rebalance.delay.ms", "group.protocol"),
    kips=("KIP-62", "KIP-848"),
)
