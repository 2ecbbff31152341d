"""The leader could not assign or deliver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import (
    SILENT,
    distinct_events,
    runs,
    seconds,
    session_timeout_ms,
    span,
    times,
)
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.failed_assignments import Undelivered, assignor_failures, goes_on, never_assigned
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.setting_spans import offsets_write_ms
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.slow_assignments import SlowAssignment, slow_assignments
from rebalance_forensics.diagnosis.unready_topics import Unready, unready_topics
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import CLOCK_SLACK_MS, QUIET_MS, TOPICS_LATE_MS

THROWN = stated("assignor-threw", present="the leader logged what its assignor threw")
NONE_CAME = stated("no-assignment-came", present="the coordinator created generations and received no assignment")
TOO_SLOW = stated("assigned-too-late", present="the leader assigned for longer than its session lasts")
UNREADY = stated("topics-unready", present="the coordinator told the members that topics are missing or do not fit")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Assignor exceptions at the leader; without its log, generations that never get an assignment."""
    thrown = assignor_failures(timeline)
    for run in thrown:
        yield _failed(timeline, run)
    slow = slow_assignments(timeline)
    for late in runs(slow, lambda s: time_of(s.computed), QUIET_MS):
        yield _too_slow(timeline, late)
    undelivered = never_assigned(timeline) if not thrown and not slow else None
    if undelivered is not None:
        yield _not_delivered(timeline, undelivered)
    for unready in unready_topics(timeline):
        if not (unready.missing and unready.read_before):
            yield _without_topics(timeline, unready)


def _failed(timeline: Timeline, run: list[Event]) -> Hypothesis:
    actors = list(dict.fromkeys(a for e in run for a in _speakers(timeline, e)))
    begin, end = time_of(run[0]), time_of(run[-1])
    facts = _effects(timeline, begin, end)
    if any(isinstance(e, ExceptionLogged) for e in run):
        until = end + session_timeout_ms(timeline) + offsets_write_ms(timeline)
        touching = timeline.rebalances.touching(begin - CLOCK_SLACK_MS, begin)
        facts += [r for r in touching if r.completed_at is None]
        facts += [d for a in actors for d in timeline.departures.of(a).between(begin, until)]
    culprits = culprits_of(timeline, actors)
    names = ", ".join(c.name for c in culprits) or "The leader"
    words = next((w for k in ("detail", "reason", "error") if (w := getattr(run[0], k, None))), "no reason was logged")
    stopped = goes_on(timeline, end)
    return Hypothesis(
        because=distinct_events(run),
        culprits=culprits_of(timeline, actors[:2]),
        answers={THROWN: Present(tuple(run))},
        severity="critical" if len(run) > 2 or stopped else "warning",
        onset=begin,
        ongoing=stopped,
        brings=tuple(facts),
        narrative=f"{names} could not assign or deliver the assignment {times(len(run))}: {words}",
        advice=_fix_assignor(f"{words} (failed {times(len(run))}{span(run)})."),
    )


def _not_delivered(timeline: Timeline, undelivered: Undelivered) -> Hypothesis:
    told = undelivered.told
    begin, end, number = time_of(told[0]), time_of(told[-1]), len({getattr(e, "generation", e) for e in told})
    stopped = goes_on(timeline, end)
    last = number <= 2 and stopped
    # Who comes while the others wait in vain does so because of it; the newcomer that began it only if it never got in.
    since = begin - CLOCK_SLACK_MS if last else begin + CLOCK_SLACK_MS
    return Hypothesis(
        because=distinct_events(told),
        culprits=culprits_of(timeline, undelivered.leaders[:2]),
        answers={NONE_CAME: Present(told)},
        severity="critical" if number > 2 or stopped else "warning",
        onset=begin,
        ongoing=stopped,
        brings=(*_effects(timeline, begin, end), *timeline.arrivals.between(since, end)),
        narrative=(
            "The last generation got no assignment, and the group waits for one: its leader could not assign, or did "
            "not deliver."
            if last
            else f"{number} generations in a row got no assignment: their leader could not assign, or did not deliver."
        ),
        advice=_fix_assignor(f"No assignment arrived (failed {times(1 if last else number)}{span(told)})."),
    )


def _effects(timeline: Timeline, begin: int, end: int) -> list[Fact]:
    """The leader rejoins at once; the coordinator stores what it got, or begins again."""
    asked = timeline.requests.between(begin - CLOCK_SLACK_MS, end + 2 * CLOCK_SLACK_MS)
    facts: list[Fact] = [r for r in asked if r.why in ("member-rejoined", "leader-rejoined", "other")]
    following = timeline.rebalances.between(begin - CLOCK_SLACK_MS, end + offsets_write_ms(timeline))
    return facts + [r for r in following if r.completed_at is None]


def _fix_assignor(why: str) -> tuple[Advice, ...]:
    return (
        Advice(
            action="Fix the assignor that throws, or take it out of partition.assignment.strategy.",
            why=why,
            cost="Taking it out needs a rolling restart, and another assignor that all members have in common.",
        ),
    )


def _speakers(timeline: Timeline, event: Event) -> list[Actor]:
    speaker = timeline.cast.of_speaker(event)
    if speaker is not None:
        return [speaker]
    return list(timeline.cast.at_place(event)) if isinstance(event, ExceptionLogged) else []


def _too_slow(timeline: Timeline, late: Sequence[SlowAssignment]) -> Hypothesis:
    """While the leader assigns, the coordinator's lock of the client is held and its heartbeat thread waits for it."""
    begin, end = time_of(late[0].joined), time_of(late[-1].computed)
    until = end + offsets_write_ms(timeline)
    longest = max(late, key=lambda s: s.took_ms)
    culprits = culprits_of(timeline, list(dict.fromkeys(s.leader for s in late)))
    # Whoever waits in SyncGroup meanwhile is expelled as well.
    facts: list[Fact] = [d for d in timeline.departures.between(begin, until) if d.why in SILENT]
    facts += [a for a in timeline.arrivals.between(begin, until) if not a.first]
    facts += timeline.rebalances.between(begin - CLOCK_SLACK_MS, until)
    shown = [e for s in late for e in (s.joined, s.computed, *(e for d in s.lost for e in d.events))]
    return Hypothesis(
        because=distinct_events(shown),
        culprits=culprits,
        answers={TOO_SLOW: Present(tuple(shown))},
        severity="critical" if len(late) > 2 else "warning",
        onset=begin,
        explains=tuple(d for s in late for d in s.lost),
        brings=tuple(facts),
        narrative=(
            f"{', '.join(c.name for c in culprits)} led the group and took up to {seconds(longest.took_ms)} to assign: "
            "longer than a session lasts, so the group lost its leader before it could deliver."
        ),
        advice=(
            Advice(
                action="Make the assignor faster: no calls to other systems, no waiting inside assign().",
                why=f"One assignment took {seconds(longest.took_ms)}; session.timeout.ms is all that the group waits.",
                cost="An assignor that knows less distributes less evenly.",
            ),
        ),
    )


def _without_topics(timeline: Timeline, unready: Unready) -> Hypothesis:
    begin, end = time_of(unready.told[0]), time_of(unready.told[-1])
    names = ", ".join(unready.topics)
    wrong = "are missing" if unready.missing else "do not fit its topology"
    remedy = "Create the topics" if unready.missing else "Give the topics the partitions that the topology expects"
    rebalances = timeline.rebalances.between(begin - offsets_write_ms(timeline), end)
    return Hypothesis(
        because=distinct_events(unready.told),
        culprits=tuple(Culprit(kind="topic", name=topic) for topic in unready.topics),
        answers={UNREADY: Present(tuple(unready.told))},
        severity="critical",
        onset=begin,
        brings=(*rebalances, *timeline.moves(end - CLOCK_SLACK_MS, end + TOPICS_LATE_MS)),
        narrative=(
            f"The coordinator gave the application no task for {seconds(end - begin)}: topics that it reads {wrong} "
            f"({names})."
        ),
        advice=(
            Advice(
                action=f"{remedy} ({names}); the members go on by themselves.",
                why=f"The coordinator said so {times(len(unready.told))}{span(unready.told)}.",
            ),
        ),
    )


CAUSE = Cause(
    summary="The leader could not assign, or its assignment never arrived.",
    mechanism=(
        "The leader computes the assignment between JoinGroup and SyncGroup. When its assignor throws, no"
        " SyncGroup is sent, the members wait, the leader rejoins and the rebalance begins again."
    ),
    shows=(
        "'rebalance failed due to …' with an exception that is not Kafka's, generations that never become"
        " Stable, pending sync expiry."
    ),
    remedy="Look at the exception in the leader's log; take the assignor out of all members.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(THROWN, DECISIVE + WEAK),
        speaks_for(UNREADY, DECISIVE + WEAK),
        speaks_for(TOO_SLOW, DECISIVE),
        speaks_for(NONE_CAME, STRONG),
    ),
    brings=(
        "process-pause",
        "network-partition",
        "process-crash",
        "rebalance-straggler",
        "unstable-leader",
        "enforced-rebalance",
        "slow-processing",
        "member-left",
        "scale-out",
        "topic-metadata-change",
    ),
    settings=("partition.assignment.strategy", "group.protocol"),
    kips=("KIP-848",),
)
