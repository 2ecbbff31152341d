"""An instance came back with a different application.server."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.rebalances.endpoint_changes import (
    ASKING,
    endpoint_changes,
    followed_returns,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.instances import (
    ASKED_ON_RETURN,
    NEW_ENDPOINT,
    about_followed_return,
    about_new_endpoint,
)
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members told to rebalance again because their host endpoint is new; without their logs, a return that asks."""
    yield from (about_new_endpoint(timeline, change) for change in endpoint_changes(timeline))
    yield from (about_followed_return(timeline, followed) for followed in followed_returns(timeline))


CAUSE = Cause(
    summary="An instance came back with a different application.server.",
    mechanism=(
        "Instances tell each other where to query state. A static member that returns with another "
        "endpoint makes the group rebalance once more, so that all instances learn it."
    ),
    shows="'Requested to schedule immediate rebalance to update group with new host endpoint'.",
    remedy="Nothing to do; a stable host name (StatefulSet) avoids it.",
    usual="planned",
    propose=propose,
    evidence_types=ASKING,
    signs=(speaks_for(NEW_ENDPOINT, DECISIVE + WEAK), speaks_for(ASKED_ON_RETURN, STRONG)),
    implies=(
        *("static-member-restart", "static-member-expired", "rolling-restart", "member-left"),
        *("scale-out", "process-crash"),
    ),
    lookalikes=("rolling-restart", "probing-loop"),
    settings=("application.server",),
    kips=("KIP-441",),
)
