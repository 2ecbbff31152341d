"""Members that deleted topics hold up: what they explain, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import NEAR_MS, Absence, absences, distinct_events, seconds, touched
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit, Severity
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs import metadata
from rebalance_forensics.diagnosis.unready_topics import Unready, unready_topics
from rebalance_forensics.diagnosis.vanished_topics import Vanished, vanished_topics
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import HELD_UP_MS


def deleted_topics(timeline: Timeline) -> Iterator[Hypothesis]:
    """Streams groups without tasks, and members that cannot commit, because their topics are gone."""
    yield from (_without_tasks(timeline, u) for u in unready_topics(timeline) if u.missing and u.read_before)
    yield from (_held_up(timeline, vanished) for vanished in vanished_topics(timeline))


def _held_up(timeline: Timeline, vanished: Vanished) -> Hypothesis:
    """Members that do not rejoin because they cannot commit what they read of a topic that is gone."""
    begin, end, names = vanished.begin, vanished.end, ", ".join(vanished.topics)
    late = [a for a in absences(timeline, ("poll-timeout",)) if vanished.held_up(a)]
    facts = [*timeline.moves(begin, end + NEAR_MS), *(fact for away in late for fact in away.facts())]
    asked = timeline.requests.between(begin, end)
    who = f"{vanished.members} members" if vanished.members > 1 else "one member"
    lines = distinct_events([*vanished.deleted[:2], *_first_and_last(vanished)])
    return Hypothesis(
        because=lines,
        culprits=_culprits(vanished.topics),
        answers={metadata.DELETION_LOGGED if vanished.deleted else metadata.COMMITS_REFUSED: Present(lines)},
        severity=_severity(timeline, vanished, late),
        onset=begin,
        ongoing=vanished.still,
        brings=(*asked, *facts, *touched(timeline, [*asked, *facts])),
        narrative=(
            f"{names} vanished under the members; {who} tried for {seconds(end - begin)} to commit what was read of it "
            "and did not rejoin meanwhile."
        ),
        advice=(
            Advice(
                action=f"Create {names} again, or take it out of the application and restart.",
                why="A commit for a topic that is gone is repeated until a timeout; the whole group waits for it.",
                cost="What was in the topic stays lost.",
            ),
        ),
    )


def _severity(timeline: Timeline, vanished: Vanished, late: list[Absence]) -> Severity:
    # An application of Streams cannot do without a source topic; a consumer reads on what is left to it.
    if timeline.kind == "streams":
        return "critical"
    return "warning" if late or vanished.end - vanished.begin > HELD_UP_MS else "info"


def _first_and_last(vanished: Vanished) -> list[Event]:
    """The first and the last refusal of each topic and partition."""
    ends: dict[str | None, list[Event]] = {}
    for event in vanished.refused:
        ends.setdefault(event.partition, []).append(event)
    return [event for told in ends.values() for event in (told[0], told[-1])]


def _without_tasks(timeline: Timeline, unready: Unready) -> Hypothesis:
    """A KIP-1071 group whose source topics were deleted: its coordinator takes all tasks away."""
    begin, end = time_of(unready.told[0]), time_of(unready.told[-1])
    names = ", ".join(unready.topics)
    lines = distinct_events(unready.told)
    return Hypothesis(
        because=lines,
        culprits=_culprits(unready.topics),
        answers={metadata.DELETION_LOGGED: Present(lines)},
        severity="critical",
        onset=begin,
        brings=(*timeline.rebalances.between(begin - NEAR_MS, end), *timeline.moves(begin, end + NEAR_MS)),
        narrative=f"{names} vanished under the application, and the coordinator gave it no task any more.",
        advice=(
            Advice(
                action=f"Create {names} again, or take it out of the topology and restart.",
                why=f"The members were told that it is missing for {seconds(end - begin)}.",
            ),
        ),
    )


def _culprits(topics: Sequence[str]) -> tuple[Culprit, ...]:
    return tuple(Culprit(kind="topic", name=name) for name in topics)
