"""What shows that topics changed under a subscription: only the search for changed topics can answer."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.diagnosis.episodes.topics.topic_changes import Shown
from rebalance_forensics.diagnosis.sign import Sign, stated

CHANGE_LOGGED = stated("changed-metadata-logged", present="the leader's log, or its reason to rejoin, says so")
ALL_NEW = stated("new-partitions", present="the rebalance assigned partitions that no member had before")
SEEM_NEW = stated("partitions-seem-new", present="members got partitions that none of those with a log had before")
READ_TOPIC_CHANGED = stated("topic-of-the-group-changed", present="brokers logged a change of a topic that it reads")
TOPIC_CHANGED = stated("some-topic-changed", present="brokers logged a changed topic, which the group may read")
CHANGED_NEARBY = stated("topic-changed-nearby", present="a topic changed shortly before; the group may not read it")
NOT_SHOWN = stated("no-change-shown", present="these logs show no change of a topic that the group reads")
EPOCH_FOLLOWED = stated("epoch-followed", present="the group epoch rose at the first heartbeat after a topic changed")
DELETION_LOGGED = stated("deletion-logged", present="a topic that members read was deleted or is missing")
COMMITS_REFUSED = stated("commits-refused", present="commits were refused again and again: the topic does not exist")

HOW: Mapping[Shown, Sign] = {
    "change-logged": CHANGE_LOGGED,
    "all-new": ALL_NEW,
    "seem-new": SEEM_NEW,
    "read-topic-changed": READ_TOPIC_CHANGED,
    "topic-changed": TOPIC_CHANGED,
    "changed-nearby": CHANGED_NEARBY,
    "not-shown": NOT_SHOWN,
    "epoch-followed": EPOCH_FOLLOWED,
}
"""The sign for each way in which a change of topics shows."""
