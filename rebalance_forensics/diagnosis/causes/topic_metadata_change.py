"""Partitions or topics appeared or vanished under the subscription."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import touched
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.deleted_topics import deleted_topics
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs import metadata, rejoins
from rebalance_forensics.diagnosis.topic_changes import TopicChange, topic_changes
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline

STORM = 3
"""Rebalances for changed topics within minutes of each other that are no single plan any more."""


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Whatever shows changed topics, or may be due to them; and members held up by topics that are gone."""
    for change in topic_changes(timeline):
        yield _hypothesis(timeline, change)
    yield from deleted_topics(timeline)


def _hypothesis(timeline: Timeline, change: TopicChange) -> Hypothesis:
    shown = change.sign not in (metadata.NOT_SHOWN, metadata.CHANGED_NEARBY)
    return Hypothesis(
        because=change.lines,
        culprits=tuple(Culprit(kind="topic", name=name) for name in change.topics),
        answers={change.sign: Present(change.lines)},
        severity="warning" if change.rebalances > STORM and shown else "info",
        onset=next((fact.started_at for fact in change.facts if isinstance(fact, Rebalance)), None),
        explains=change.facts,
        brings=(*change.facts, *touched(timeline, change.facts)),
        narrative=_narrative(timeline, change),
        advice=_advice(change) if change.sign is not metadata.NOT_SHOWN else (),
    )


def _narrative(timeline: Timeline, change: TopicChange) -> str:
    which = ", ".join(change.topics) or "the logs do not name the topics"
    if timeline.kind == "connect":
        return (
            f"The leader asked for a rebalance soon after topics changed: {which}. Workers subscribe to no topic; "
            "their own logs would tell which connector was changed."
        )
    if change.sign is metadata.NOT_SHOWN:
        return f"Topics or partitions may have changed under the subscription: {which}."
    if change.sign is metadata.CHANGED_NEARBY and isinstance(change.facts[0], Rebalance):
        return f"No reason was logged; {which} changed just before, which may be the reason."
    return f"Topics or partitions changed under the subscription: {which}."


def _advice(change: TopicChange) -> tuple[Advice, ...]:
    count = len(change.topics)
    changed = f"{count} topics" if count > 1 else "One topic" if count else "What changed"
    made = "one rebalance" if change.rebalances == 1 else f"{change.rebalances} rebalances"
    return (
        Advice(
            action="Create topics and add partitions in one go, outside busy hours.",
            why=(
                "Every change that a leader notices is a rebalance of the whole group: "
                f"{changed} made {made}{change.during}."
            ),
            cost="What is new waits for the next round of changes.",
        ),
    )


CAUSE = Cause(
    summary="Partitions or topics appeared or vanished under the subscription.",
    mechanism=(
        "The leader compares the metadata it assigned with what it sees now; on a difference it rejoins "
        "and thereby starts a rebalance; under KIP-848 the coordinator looks by itself. A pattern "
        "subscription also matches topics that nobody thought of."
    ),
    shows=(
        "'cached metadata has changed from … to …', the group leader rejoins; a topic was created or "
        "extended just before."
    ),
    remedy="Create topics in batches; make pattern subscriptions as narrow as they can be.",
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(metadata.CHANGE_LOGGED, DECISIVE + WEAK),
        speaks_for(metadata.DELETION_LOGGED, DECISIVE + WEAK),
        speaks_for(metadata.ALL_NEW, DECISIVE),
        speaks_for(metadata.READ_TOPIC_CHANGED, DECISIVE),
        speaks_for(metadata.EPOCH_FOLLOWED, DECISIVE),
        speaks_for(metadata.SEEM_NEW, STRONG),
        speaks_for(metadata.TOPIC_CHANGED, STRONG),
        speaks_for(metadata.COMMITS_REFUSED, STRONG),
        speaks_for(metadata.CHANGED_NEARBY, 0),
        speaks_for(rejoins.topic_changed_before, 0, absent=STRONG),
        speaks_against(rejoins.follower_rejoined, WEAK),
        speaks_against(metadata.NOT_SHOWN, WEAK),
        speaks_against(rejoins.subscription_logged, STRONG + WEAK),
    ),
    brings=("slow-processing", "rebalance-straggler"),
    lookalikes=("subscription-change", "enforced-rebalance"),
    settings=("metadata.max.age.ms",),
)
