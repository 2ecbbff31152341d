"""Topics or partitions of the subscription were created or deleted."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.topics.topic_changes import CHANGING, topic_changes
from rebalance_forensics.diagnosis.episodes.topics.unready_topics import WAITING, deleted_source_topics
from rebalance_forensics.diagnosis.episodes.topics.vanished_topics import REFUSING, vanished_topics
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import topics
from rebalance_forensics.diagnosis.signs import metadata, rejoins
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Whatever shows changed topics, or may be due to them; and members held up by topics that are gone."""
    vanished = vanished_topics(timeline)
    changes = (
        c for c in topic_changes(timeline) if not any(topic_set.covers(c.topics, *c.began) for topic_set in vanished)
    )
    yield from (topics.about_topic_change(timeline, change) for change in changes)
    yield from (topics.about_deleted_source_topics(timeline, deleted) for deleted in deleted_source_topics(timeline))
    yield from (topics.about_vanished_topics(timeline, topic_set) for topic_set in vanished)


CAUSE = Cause(
    summary="Topics or partitions of the subscription were created or deleted.",
    mechanism=(
        "The leader compares the metadata it assigned with what it sees now; if they differ, it rejoins "
        "and starts a rebalance; under KIP-848 the coordinator does this. A pattern "
        "subscription may also match topics that nobody had in mind."
    ),
    shows=(
        "'cached metadata has changed from … to …', the group leader rejoins; a topic was created or "
        "got more partitions just before."
    ),
    remedy="Create topics in batches; make pattern subscriptions as narrow as they can be.",
    usual="planned",
    propose=propose,
    evidence_types=(*CHANGING, *REFUSING, *WAITING),
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
    implies=("slow-processing", "rebalance-straggler"),
    lookalikes=("subscription-change", "enforced-rebalance"),
    settings=("metadata.max.age.ms",),
)
