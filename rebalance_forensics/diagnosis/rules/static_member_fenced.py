"""Two live members share a group.instance.id (FENCED_INSTANCE_ID, KIP-345)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group
from rebalance_forensics.diagnosis.finding import CERTAIN, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupHeartbeatFailed
from rebalance_forensics.events.membership import InstanceFenced, StaticMemberFenced
from rebalance_forensics.events.rebalancing import HeartbeatFailed, JoinFailed, SyncFailed
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.names import name_in_member_id

AROUND_MS = 20_000
_FENCING = (StaticMemberFenced, InstanceFenced, JoinFailed, SyncFailed, HeartbeatFailed, GroupHeartbeatFailed)


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Every instance id of which one member fenced another."""
    fenced: dict[str, list[Event]] = defaultdict(list)
    for event in timeline.of(*_FENCING):
        instance = _fenced_instance(event)
        if instance is not None:
            fenced[instance].append(event)
    for instance, events in sorted(fenced.items()):
        yield _finding(timeline, instance, events)


def _fenced_instance(event: Event) -> str | None:
    match event:
        case StaticMemberFenced(instance_id=i, member=m, current_member=c):
            return i or _name(m) or _name(c)
        case InstanceFenced(instance_id=i):
            return i or event.speaker.instance_id
        case (
            JoinFailed(error="FENCED_INSTANCE_ID")
            | SyncFailed(error="FENCED_INSTANCE_ID")
            | HeartbeatFailed(error="FENCED_INSTANCE_ID")
        ):
            return getattr(event, "instance_id", None) or event.speaker.instance_id
        case GroupHeartbeatFailed(error="UNRELEASED_INSTANCE_ID"):
            return event.speaker.instance_id
    return None


def _name(member: str | None) -> str | None:
    return name_in_member_id(member) if member else None


def _finding(timeline: Timeline, instance: str, events: list[Event]) -> Finding:
    actors = [a for a in timeline.cast.actors if instance in a.instance_ids]
    culprits = culprits_of(timeline, actors, as_instance=True)
    names = {n for c in culprits for n in (c.name, *c.names)} - {instance}
    begin = min(e.at or 0 for e in events) - AROUND_MS
    end = max(e.at or 0 for e in events) + AROUND_MS
    facts = _facts(timeline, actors, begin, end)
    refused = all(isinstance(e, GroupHeartbeatFailed) and e.error == "UNRELEASED_INSTANCE_ID" for e in events)
    return Finding(
        because=distinct_events([*events, *(e for f in facts for e in getattr(f, "events", [])[:2])]),
        culprits=(Culprit(kind="instance", name=instance, names=tuple(sorted(names))),),
        confidence=CERTAIN,
        severity="critical" if len(events) > 6 else "warning",
        onset=min([e.at or 0 for e in events]),
        claims=(*facts, *touched(timeline, facts)),
        narrative=f"Two live members used group.instance.id {instance}: {_what(refused)}.",
        advice=(
            Advice(
                action=f"Give every process its own group.instance.id; {instance} is configured twice.",
                why=f"{_why(refused)}: {times(len(events))}{span(events)}.",
                cost="Under its new id the member joins as another one: one rebalance.",
            ),
        ),
    )


def _what(refused: bool) -> str:  # noqa: FBT001 - the one thing that differs
    return "the coordinator refused the second while the first lived" if refused else "each join fenced the other"


def _then(refused: bool) -> str:  # noqa: FBT001
    return ", so nobody took its place" if refused else " and was fenced"


def _why(refused: bool) -> str:  # noqa: FBT001
    if refused:
        return "Under KIP-848 a second member with the same id is turned away (UNRELEASED_INSTANCE_ID)"
    return "A second member with the same id takes the first one's place and fences it"


def _facts(timeline: Timeline, actors: list[Actor], begin: int, end: int) -> tuple[Fact, ...]:
    found: list[Fact] = [d for d in timeline.departures.between(begin, end) if d.actor in actors]
    born = born_with_the_group(timeline)
    found += [a for a in timeline.arrivals.between(begin, end) if a.actor in actors and a.id not in born]
    found += [r for r in timeline.returns.between(begin, end) if r.actor in actors]
    return tuple(found)


RULE = Rule(
    summary="Two live members share one group.instance.id and fence each other.",
    mechanism=(
        "The coordinator maps an instance id to one member. A second process that joins with it takes the"
        " place; the first one's next request fails with FENCED_INSTANCE_ID, which is fatal for it. Under"
        " KIP-848 the first one keeps its place while it lives, and the second is refused with"
        " UNRELEASED_INSTANCE_ID."
    ),
    signs=(
        "FENCED_INSTANCE_ID on the client, 'is fenced by' on the coordinator; UNRELEASED_INSTANCE_ID under KIP-848."
    ),
    remedy="Make instance ids unique: from the pod's ordinal, not from the image or a copied configuration.",
    usual="fault",
    rank=10,
    diagnose=diagnose,
    settings=("group.instance.id",),
    kips=("KIP-345", "KIP-848"),
)
