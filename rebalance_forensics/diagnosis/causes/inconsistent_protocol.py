"""A member with no common assignor or another protocol (INCONSISTENT_GROUP_PROTOCOL, KIP-848 migration)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator import join_rejections
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, Row, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, names_of, the_group
from rebalance_forensics.diagnosis.wording.durations import how_often, listed
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.profile import assignors_in
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

# ConsumerPartitionAssignor.name() by class; JoinGroup contains the names.
ASSIGNOR_NAMES = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
    "StreamsPartitionAssignor": "stream",
}
MIGRATION_REFUSED = clue(
    "migration-refused",
    DECISIVE + WEAK,
    "the coordinator refused to let members of both group protocols into the group",
)
ASSIGNOR_REFUSED = clue(
    "assignor-refused",
    DECISIVE + WEAK,
    "the coordinator does not have the server-side assignor that the member asked for",
)
TOPOLOGY_REFUSED = clue(
    "topology-refused", DECISIVE + WEAK, "the coordinator refused a topology that differs from the application's"
)
# Lines that may show a member of the other protocol.
MIXING = (ev.ConversionRefused, ev.GroupHeartbeatFailed)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Clients whose assignors or group protocol the group does not accept."""
    for rejection in join_rejections.rejections(timeline, "INCONSISTENT_GROUP_PROTOCOL"):
        agree = Advice(
            action=(
                "Give all members one common partition.assignment.strategy and migrate in two rolling restarts; mix "
                "classic and consumer protocol members only as group.consumer.migration.policy allows."
            ),
            why=(
                "The coordinator accepts only members that support an assignor all others support; it rejected the "
                f"join {how_often(rejection.events)}."
            ),
            cost="Each rolling restart costs at least a rebalance for every member.",
        )
        narrative = f"{{who}} was rejected: {nothing_in_common(timeline, rejection.participant)}."
        yield join_rejections.about_rejection(timeline, rejection, narrative=narrative, advice=(agree,))
    for protocol, group in (("consumer", "classic"), ("classic", "consumer")):
        mixed = (e for e in timeline.of(*MIXING) if isinstance(e, MIXING))
        refusals: list[Event] = [e for e in mixed if e.joined_with == protocol]
        for run in runs(refusals, time_of, ONE_REBALANCE_MS):
            yield about_refused_migration(timeline, run, protocol, group)
    asked: list[Event] = [e for e in timeline.of(ev.GroupHeartbeatFailed) if e.error == "UNSUPPORTED_ASSIGNOR"]
    yield from (about_refused_assignor(timeline, run) for run in runs(asked, time_of, ONE_REBALANCE_MS))
    updates: list[Event] = [e for e in timeline.of(ev.GroupHeartbeatFailed) if e.other_topology]
    yield from (about_refused_topology(timeline, run) for run in runs(updates, time_of, ONE_REBALANCE_MS))


def nothing_in_common(timeline: Timeline, participant: Participant) -> str:
    """A clause on the assignors of the member and the group; a general one if the logs do not show both."""
    dumps = (dict(dump.settings) for dump in timeline.group_events.of_type(ev.SettingsReported))
    configured = (assignors_in(settings) for settings in dumps if settings.get("client.id") in participant.client_ids)
    # Custom assignors are named by their class.
    names = {
        tuple(ASSIGNOR_NAMES.get(name, name) for each in classes if (name := each.rpartition(".")[2]))
        for classes in configured
    }
    offered, used = names - {()}, {e.protocol for e in timeline.of(ev.JoinSucceeded) if e.protocol}
    if len(offered) != 1 or len(used) != 1 or not used.isdisjoint(*offered):
        return "it shares no assignor with the group, or uses another protocol type"
    return f"it offers only {listed(offered.pop())}; the group uses {used.pop()}"


CAUSE = Cause(
    propose=propose,
    evidence_types=(*join_rejections.REJECTING, *MIXING),
    implies=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("group-max-size", "authorization-failure"),
)


def about_refused_migration(timeline: Timeline, run: list[Event], protocol: str, group: str) -> Hypothesis:
    """Members with one group protocol that were rejected by a group with the other one."""
    reason = next((e.reason for e in run if isinstance(e, ev.ConversionRefused)), None)
    return _about_refusal(
        timeline,
        run,
        MIGRATION_REFUSED,
        verbs=("it joins", "they join"),
        why=f"with the {protocol} protocol, the group uses the {group} one, and the coordinator does not convert it"
        f"{f' ({reason})' if reason else ''}",
        advice=Advice(
            action=(
                "Allow the migration with group.consumer.migration.policy on the brokers, or start all members "
                "with the same group.protocol."
            ),
            why=f"The coordinator rejected it {how_often(run)}.",
            cost="A converted group cannot use custom client-side assignors.",
        ),
    )


def about_refused_assignor(timeline: Timeline, run: list[Event]) -> Hypothesis:
    """Members of a KIP-848 group that asked for a server-side assignor that the brokers do not have."""
    named = next((e for e in run if isinstance(e, ev.GroupHeartbeatFailed) and e.assignor is not None), None)
    known = f"; the coordinator has {', '.join(named.assignors)}" if named is not None else ""
    asked = named.assignor if named is not None else "that the coordinator lacks"
    return _about_refusal(
        timeline,
        run,
        ASSIGNOR_REFUSED,
        verbs=("it asks", "they ask"),
        why=f"for the server-side assignor {asked}{known}",
        advice=Advice(
            action="Set group.remote.assignor to an assignor of the brokers, or remove it: the group then keeps the "
            "first of group.consumer.assignors.",
            why=f"The coordinator rejected it {how_often(run)}.",
        ),
    )


def about_refused_topology(timeline: Timeline, run: list[Event]) -> Hypothesis:
    """Instances of a streams group (KIP-1071) whose topology is not that of the running application."""
    return _about_refusal(
        timeline,
        run,
        TOPOLOGY_REFUSED,
        verbs=("its topology differs", "their topology differs"),
        why="from that of the running application, and the coordinator does not support topology updates",
        advice=Advice(
            action="Stop all instances before starting those with the new topology, or give the new topology another "
            "application.id.",
            why=f"The coordinator rejected it {how_often(run)}.",
            cost="The application processes nothing while it is stopped.",
        ),
    )


def _about_refusal(
    timeline: Timeline, run: list[Event], shown: Row, *, verbs: tuple[str, str], why: str, advice: Advice
) -> Hypothesis:
    speakers = (timeline.participants.of_speaker(e) for e in run if e.speaker.role != "broker")
    rejected = tuple(dict.fromkeys(participant for participant in speakers if participant is not None))
    facts = [
        f
        for p in rejected
        for f in join_rejections.moves_during_rejection(timeline, p, time_of(run[0]), time_of(run[-1]))
    ]
    culprits = culprits_of(timeline, rejected) if rejected else (the_group(timeline),)
    who = names_of(culprits) if rejected else "A member"
    was, does = ("were", verbs[1]) if len(culprits) > 1 else ("was", verbs[0])
    return Hypothesis(
        because=run,
        culprits=culprits,
        clues={shown: Present(tuple(run))},
        participants=rejected,
        severity="warning",
        implies=with_rebalances(timeline, facts),
        narrative=f"{who} {was} rejected: {does} {why}.",
        advice=(advice,),
    )
