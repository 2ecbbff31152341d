"""Culprits by the name that an operator uses, with every other name; members, instances and workers counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache, partial

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Advice, Culprit, CulpritKind
from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.records import natural
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once
from rebalance_forensics.timeline.identity.names import LOOPBACK, broker_name, streams_client
from rebalance_forensics.timeline.identity.participants import Participant

# A Streams instance has as many members as it has threads.
KINDS = {("streams", "instance"): "instance", ("connect", "worker"): "worker"}
# A sentence with more names is a list that is not read; all culprits are kept in the report.
MOST_NAMES = 6
# A member with more ids than this goes by those in the evidence: a storm makes thousands.
MOST_IDS = 100


@lru_cache(maxsize=1024)
def culprit_of(participant: Participant, *, as_instance: bool = False) -> Culprit:
    """A member: its client id; a Streams instance, a worker, one of many with that client id: where it runs.

    A static member: its instance id. Cached, as a member in a long storm is blamed thousands of times.
    """
    if participant.has_namesakes or (
        participant.kind == "instance" and participant.client_ids and not participant.instance_ids
    ):
        name = participant.name
    elif as_instance and participant.instance_ids:
        return Culprit(
            kind="instance",
            name=min(participant.instance_ids),
            names=_others(participant, min(participant.instance_ids)),
        )
    elif participant.kind == "client":
        plain = sorted(c for c in participant.client_ids if streams_client(c) is None)
        name = plain[0] if plain else min(participant.instance_ids, default=participant.name)
    else:
        name = participant.name
    kind: CulpritKind = (
        "worker" if participant.kind == "worker" else "instance" if participant.kind == "instance" else "client"
    )
    return Culprit(kind=kind, name=name, names=_others(participant, name))


def names_of(culprits: Sequence[Culprit]) -> str:
    """`orders-1, orders-2`; of many the first, and how many more there are."""
    names = [culprit.name for culprit in culprits]
    return some(names, MOST_NAMES if len(names) > MOST_NAMES + 1 else len(names))


def about(advice: Iterable[Advice], culprits: Sequence[Culprit]) -> tuple[Advice, ...]:
    """Advice with its figure, and with the names of these culprits for `{who}`, also where it named others before."""
    who = names_of(culprits) or "the process"
    return tuple(_about(a, kind_of(a), who) for a in advice)


def kind_of(advice: Advice) -> str:
    """What advice is recognized by: that of several occurrences, or groups, differs in who and figure."""
    return advice.template or advice.action


def _about(advice: Advice, template: str, who: str) -> Advice:
    action = template.replace("{figure}", str(advice.figure)).replace("{who}", who)
    return replace(advice, action=action, template=template) if action != template else advice


def _others(participant: Participant, name: str) -> tuple[str, ...]:
    # Every worker of a cluster names the clients of its internal topics alike: {group.id}-configs.
    names = participant.lasting_names() - participant.worker_clients - LOOPBACK
    if len(participant.member_ids) <= MOST_IDS:
        names |= participant.member_ids
    return tuple(sorted(names - {name, "", "-"}, key=natural))


def ids_in_evidence(timeline: Timeline, lines: Iterable[Event]) -> dict[str, list[str]]:
    """The member ids in these lines of those that had too many to list them all, by the name they are blamed under."""
    found: dict[str, list[str]] = defaultdict(list)
    many = _of_many_ids(timeline)
    for member in dict.fromkeys(m for line in lines for m in member_ids_in(line)) if many else ():
        participant = timeline.participants.of_member(member)
        if participant is not None and participant in many:
            ids = found[culprit_of(participant).name]
            if len(ids) < MOST_IDS:
                ids.append(member)
    return found


@answered_once
def _of_many_ids(timeline: Timeline) -> frozenset[Participant]:
    return frozenset(
        participant for participant in timeline.participants.everybody if len(participant.member_ids) > MOST_IDS
    )


def culprits_of(
    timeline: Timeline, participants: Iterable[Participant], *, as_instance: bool = False
) -> tuple[Culprit, ...]:
    """The culprits; when it is everybody (of more than one), the group as a single culprit."""
    blamed = tuple(participants)
    if len(blamed) == 1:
        return _alone(blamed[0], as_instance)
    blamed = tuple(dict.fromkeys(blamed))
    known = partial(_culprits_of, timeline, blamed, as_instance=as_instance)
    return timeline.cached_as(("culprits", blamed, as_instance), known)


@lru_cache(maxsize=1024)
def _alone(participant: Participant, as_instance: bool) -> tuple[Culprit, ...]:  # noqa: FBT001 - it is a key
    return (culprit_of(participant, as_instance=as_instance),)


def _culprits_of(timeline: Timeline, blamed: Sequence[Participant], *, as_instance: bool) -> tuple[Culprit, ...]:
    everybody = timeline.membership.members
    if len(blamed) > 1 and len(blamed) >= len(everybody):
        return (the_group(timeline, blamed),)
    found = {c.name: c for c in (culprit_of(a, as_instance=as_instance) for a in blamed)}
    return tuple(found[name] for name in sorted(found, key=natural))


def the_group(timeline: Timeline, participants: Iterable[Participant] = ()) -> Culprit:
    """Everyone to blame is a single culprit."""
    names = {culprit_of(a).name for a in participants}
    return Culprit(kind="group", name=timeline.group, names=tuple(sorted(names - {timeline.group}, key=natural)))


def broker(broker: int | str) -> Culprit:
    """A broker by its number, or by its address."""
    return broker_named(broker_name(broker))


def broker_named(name: str) -> Culprit:
    """`broker-3`, also known as `3`."""
    return Culprit(kind="broker", name=name, names=(name.removeprefix("broker-"),))


def each_culprit(participants: Iterable[Participant]) -> tuple[Culprit, ...]:
    """Every one of them by name, even where they are everybody."""
    return tuple(sorted({culprit_of(a) for a in participants}, key=lambda c: natural(c.name)))


def topic_culprits(topics: Iterable[str]) -> tuple[Culprit, ...]:
    """Topics, by name."""
    return tuple(Culprit(kind="topic", name=name) for name in topics)


def member(timeline: Timeline, participants: Collection[Participant]) -> str:
    """`member`; `instance` or `worker` where all of them are such."""
    kinds = {KINDS.get((timeline.kind, participant.kind), "member") for participant in participants}
    return kinds.pop() if len(kinds) == 1 else "member"


def members(timeline: Timeline, participants: Collection[Participant]) -> str:
    """Several of them."""
    return f"{member(timeline, participants)}s"


def counted_members(timeline: Timeline, participants: Collection[Participant], single: str = "one ") -> str:
    """`one member`, `3 instances`."""
    number = len(participants)
    return f"{single}{member(timeline, participants)}" if number == 1 else f"{number} {members(timeline, participants)}"
