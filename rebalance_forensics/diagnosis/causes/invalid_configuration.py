"""A client whose own configuration JoinGroup does not accept (INVALID_SESSION_TIMEOUT, INVALID_GROUP_ID)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator import join_rejections
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import how_often
from rebalance_forensics.timeline.group_timeline import Timeline


class Setting(Struct, frozen=True):
    """What is wrong with it, and how to put it right."""

    fault: str
    fix: str
    cost: str | None = None


# GroupCoordinator.handleJoinGroup checks them before anything else.
SETTINGS = {
    "INVALID_SESSION_TIMEOUT": Setting(
        "its session.timeout.ms is outside the range that the broker allows, group.min.session.timeout.ms to "
        "group.max.session.timeout.ms",
        "Set session.timeout.ms of {who} within group.min.session.timeout.ms and group.max.session.timeout.ms of the "
        "brokers (6 s and 30 min by default; older brokers allow less), in the unit that this client expects.",
        "With a longer session timeout dead members are noticed later.",
    ),
    "INVALID_GROUP_ID": Setting("its group.id is empty or not valid", "Give {who} a group.id that is not empty."),
}


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients whose JoinGroup was refused for a setting of their own."""
    for error, setting in SETTINGS.items():
        for rejection in join_rejections.rejections(timeline, error):
            often = how_often(rejection.events)
            repair = Advice(action=setting.fix, why=f"The coordinator rejected the join {often}.", cost=setting.cost)
            narrative = f"{{who}} was refused when it asked to join: {setting.fault} ({error})."
            yield join_rejections.about_rejection(timeline, rejection, narrative=narrative, advice=(repair,))


CAUSE = Cause(
    propose=propose,
    evidence_types=join_rejections.REJECTING,
    implies=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("group-max-size", "inconsistent-protocol", "authorization-failure"),
)
