"""A member did not call poll() for max.poll.interval.ms (KIP-62, KIP-800).

What happened: its poll timeout expired, or its silence looks like it; one hypothesis for each run of such absences of
a participant (episodes/members/poll_timeouts.py). The signs weigh the lines of both sides, and everything that another
loss of heartbeats would have left. A broker out of reach at that time may be why the loop stalled; a second
consumer of the same process may be why the first was never polled again: these have a sentence and advice of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import bring_broker_back
from rebalance_forensics.diagnosis.advice.poll_loops import close_the_old, shorten_loops
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, is_missing
from rebalance_forensics.diagnosis.episodes.members.departures import settled_after
from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts, missed_between, poll_timeouts
from rebalance_forensics.diagnosis.episodes.members.unreachable_brokers import UnreachableBroker, waited_for
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign
from rebalance_forensics.diagnosis.signs import departures, heartbeat_loops, heartbeats, threads
from rebalance_forensics.diagnosis.signs.poll_timeouts import (
    BY_TURNS,
    IMPLAUSIBLE,
    OUT_OF_REACH,
    SAME_PROCESS,
    shown_by,
)
from rebalance_forensics.diagnosis.wording.culprits import broker, culprits_of
from rebalance_forensics.diagnosis.wording.narratives import did_not_poll, left_unclosed
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

MANY = 3
"""Poll timeouts soon after one another beyond which a group does little else."""


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """One hypothesis for each run of poll timeouts, certain or likely."""
    yield from (about_poll_timeouts(timeline, slow) for slow in poll_timeouts(timeline))


CAUSE = Cause(
    summary="A member took longer than max.poll.interval.ms between two calls of poll() and left the group.",
    mechanism=(
        "The heartbeat thread checks the time since the last poll(); past max.poll.interval.ms it sends LeaveGroup by "
        "itself, the group rebalances, and the member rejoins when it polls again: two rebalances for one slow loop. "
        "A static member sends none; it stays in the group until its session expires."
    ),
    shows="Client: 'consumer poll timeout has expired'. Broker: the same leave reason since 3.2, only a leave before.",
    remedy="Make the loop faster (max.poll.records, timeouts on the calls it makes), or raise max.poll.interval.ms.",
    usual="fault",
    propose=propose,
    prior=-WEAK,
    signs=(
        speaks_for(departures.poll_timeout_logged, DECISIVE + STRONG, absent=STRONG),
        speaks_for(IMPLAUSIBLE, STRONG),
        speaks_for(SAME_PROCESS, STRONG + WEAK),
        speaks_for(BY_TURNS, STRONG),
        speaks_against(OUT_OF_REACH, STRONG + WEAK),
        speaks_for(heartbeat_loops.heartbeats_in_the_loop, STRONG + WEAK),
        speaks_for(heartbeat_loops.heartbeats_between_records, WEAK),
        speaks_for(threads.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.expiry_logged, DECISIVE - STRONG),
        speaks_for(heartbeats.awake_without_a_leave, STRONG + WEAK),
        speaks_for(heartbeats.own_log_continues, 0, absent=DECISIVE),
        speaks_for(heartbeats.learned_by_commit, STRONG),
        speaks_for(heartbeats.lost_before_its_log, WEAK),
        speaks_against(heartbeats.gave_up_coordinator, WEAK),
        speaks_against(departures.other_reason_logged, DECISIVE),
        speaks_against(departures.reason_cut_off, WEAK),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
    ),
    implies=(
        *("rebalance-straggler", "member-left", "scaling-flap", "startup"),
        *("unstable-leader", "scale-out", "scale-in"),
    ),
    lookalikes=("process-pause", "process-crash", "network-partition", "member-left"),
    settings=("max.poll.interval.ms", "max.poll.records", "group.instance.id"),
    kips=("KIP-62", "KIP-800", "KIP-345"),
)


def about_poll_timeouts(timeline: Timeline, slow: PollTimeouts) -> Hypothesis:
    """Poll timeouts of one participant, certain or likely, once or again and again."""
    duplicates = [
        a for away in slow.absences if (a := duplicate_consumer(timeline, away, slow.limit_ms or 0)) is not None
    ]
    unclosed = len(duplicates) == len(slow.absences)
    losses = [d for a in slow.absences for d in a.departures]
    waited = waited_for(timeline, losses)
    missing = is_missing(timeline, slow.absences) and not unclosed
    return about_absences(
        timeline,
        slow.absences,
        because=slow.lines,
        circumstances=[*(e for a in duplicates for e in a.events[:1]), *(waited.lines if waited is not None else ())],
        implies=[*missed_between(timeline, slow.absences), *duplicates],
        answers=shown_by(slow) | _broker_away(waited, len(losses)),
        severity="critical" if missing or len(slow.absences) > MANY else "warning",
        culprits=(broker(waited.broker),) if waited is not None else (),
        narrative=(left_unclosed(slow) if unclosed else did_not_poll(timeline, slow, waited)).replace(
            "{who}", ", ".join([c.name for c in culprits_of(timeline, [a.participant for a in slow.absences])])
        ),
        advice=close_the_old() if unclosed else _bring_back(waited) + shorten_loops(timeline, slow),
        onset=min(a.at for a in duplicates) if unclosed else None,
    )


def duplicate_consumer(timeline: Timeline, absence: Absence, limit_ms: int) -> Arrival | None:
    """A member that the same process had join while this one was in; `limit_ms` is max.poll.interval.ms or 0."""
    # Threads that share one client id live side by side, too: they join together, or are polled for longer than the
    # poll timeout after the others joined.
    participant = absence.participant
    if participant.kind != "client" or not participant.has_log or participant.has_namesakes:
        return None
    former_ids = {d.member for d in absence.departures}
    arrivals = timeline.arrivals.of(participant)
    joined = min((a.at for a in arrivals if a.member in former_ids), default=timeline.first)
    since = max(settled_after(timeline, joined + 1), absence.at - limit_ms - ROUND_TRIP_MS if limit_ms else joined + 1)
    newcomers = (a for a in arrivals.between(since, absence.at) if a.member not in former_ids and a.start is None)
    return next(newcomers, None)


def _broker_away(waited: UnreachableBroker | None, members: int) -> dict[Sign, Answer]:
    """OUT_OF_REACH for a single member: it may have been slow just then; several at once were not slow by chance."""
    return {OUT_OF_REACH: Present(waited.lines)} if waited is not None and members == 1 else {}


def _bring_back(waited: UnreachableBroker | None) -> tuple[Advice, ...]:
    return () if waited is None else bring_broker_back(waited.broker)
