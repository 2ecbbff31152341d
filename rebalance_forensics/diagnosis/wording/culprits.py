"""Names of culprits as operators know them, with their other names, and counts of members, instances and workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache, partial

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Advice, Culprit, CulpritKind
from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.events.base import Event, member_ids_in
from rebalance_forensics.records import natural
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import LOOPBACK, broker_name, streams_client
from rebalance_forensics.timeline.identity.participants import Participant

# A Streams instance has one member for each thread.
KINDS = {("streams", "instance"): "instance", ("connect", "worker"): "worker"}
# At most this many names in a sentence, so that it stays readable; the report lists all culprits.
MOST_NAMES = 6
# For a member with more ids only those in the evidence are listed: in a rebalance storm it gets thousands.
MOST_IDS = 100


@lru_cache(maxsize=1024)
def culprit_of(participant: Participant, *, as_instance: bool = False) -> Culprit:
    """The culprit for a participant.

    A member is named by its client id, a static member by its instance id; a Streams instance, a worker or one of
    several members with the same client id by where it runs. Cached because a member in a long rebalance storm is
    blamed thousands of times.
    """
    if participant.has_namesakes or (
        participant.kind == "instance" and participant.client_ids and not participant.instance_ids
    ):
        name = participant.name
    elif as_instance and participant.instance_ids:
        return Culprit(
            kind="instance",
            name=min(participant.instance_ids),
            names=_other_names(participant, min(participant.instance_ids)),
        )
    elif participant.kind == "client":
        consumers = sorted(c for c in participant.client_ids if streams_client(c) is None)
        name = consumers[0] if consumers else min(participant.instance_ids, default=participant.name)
    else:
        name = participant.name
    kind: CulpritKind = (
        "worker" if participant.kind == "worker" else "instance" if participant.kind == "instance" else "client"
    )
    return Culprit(kind=kind, name=name, names=_other_names(participant, name))


def names_of(culprits: Sequence[Culprit]) -> str:
    """`orders-1 and orders-2`; if there are many, the first names and the number of the others."""
    names = [culprit.name for culprit in culprits]
    return some(names, MOST_NAMES if len(names) > MOST_NAMES + 1 else len(names))


def about(advice: Iterable[Advice], culprits: Sequence[Culprit]) -> tuple[Advice, ...]:
    """The advice with its `{figure}` and, for `{who}`, the names of these culprits, in place of earlier ones."""
    who = names_of(culprits) or "the process"
    return tuple(_filled_in(a, kind_of(a), who) for a in advice)


def kind_of(advice: Advice) -> str:
    """The template of advice, which is the same for several occurrences or groups; names and figures differ."""
    return advice.template or advice.action


def _filled_in(advice: Advice, template: str, who: str) -> Advice:
    action = template.replace("{figure}", str(advice.figure)).replace("{who}", who)
    return replace(advice, action=action, template=template) if action != template else advice


def _other_names(participant: Participant, name: str) -> tuple[str, ...]:
    # All workers of a Connect cluster use the same client ids for the internal topics: {group.id}-configs.
    names = participant.lasting_names() - participant.worker_clients - LOOPBACK
    if len(participant.member_ids) <= MOST_IDS:
        names |= participant.member_ids
    return tuple(sorted(names - {name, "", "-"}, key=natural))


def ids_in_evidence(timeline: Timeline, lines: Iterable[Event]) -> dict[str, list[str]]:
    """The member ids in these lines, by culprit name, of participants with more than MOST_IDS ids."""
    ids_by_culprit: dict[str, list[str]] = defaultdict(list)
    many = _with_many_ids(timeline)
    for member in dict.fromkeys(m for line in lines for m in member_ids_in(line)) if many else ():
        participant = timeline.participants.of_member(member)
        if participant is not None and participant in many:
            ids = ids_by_culprit[culprit_of(participant).name]
            if len(ids) < MOST_IDS:
                ids.append(member)
    return ids_by_culprit


@cached_answer
def _with_many_ids(timeline: Timeline) -> frozenset[Participant]:
    return frozenset(
        participant for participant in timeline.participants.everybody if len(participant.member_ids) > MOST_IDS
    )


def culprits_of(
    timeline: Timeline, participants: Iterable[Participant], *, as_instance: bool = False
) -> tuple[Culprit, ...]:
    """The culprits for these participants; the group as a single culprit if they are all of its members (2 or more)."""
    blamed = tuple(participants)
    if len(blamed) == 1:
        return _single_culprit(blamed[0], as_instance)
    blamed = tuple(dict.fromkeys(blamed))
    compute = partial(_culprits_of, timeline, blamed, as_instance=as_instance)
    return timeline.cached_as(("culprits", blamed, as_instance), compute)


@lru_cache(maxsize=1024)
def _single_culprit(participant: Participant, as_instance: bool) -> tuple[Culprit, ...]:  # noqa: FBT001 - cache key
    return (culprit_of(participant, as_instance=as_instance),)


def _culprits_of(timeline: Timeline, blamed: Sequence[Participant], *, as_instance: bool) -> tuple[Culprit, ...]:
    if len(blamed) > 1 and len(blamed) >= len(timeline.membership.members):
        return (the_group(timeline, blamed),)
    culprits = {c.name: c for c in (culprit_of(a, as_instance=as_instance) for a in blamed)}
    return tuple(culprits[name] for name in sorted(culprits, key=natural))


def the_group(timeline: Timeline, participants: Iterable[Participant] = ()) -> Culprit:
    """The group as a single culprit, with these participants as its other names."""
    names = {culprit_of(a).name for a in participants}
    return Culprit(kind="group", name=timeline.group, names=tuple(sorted(names - {timeline.group}, key=natural)))


def broker(broker: int | str) -> Culprit:
    """The culprit for a broker, by its id or its address."""
    return broker_named(broker_name(broker))


def broker_named(name: str) -> Culprit:
    """The culprit for a broker name such as `broker-3`, with its other name `3`."""
    return Culprit(kind="broker", name=name, names=(name.removeprefix("broker-"),))


def each_culprit(participants: Iterable[Participant]) -> tuple[Culprit, ...]:
    """One culprit for each participant, even if they are all members of the group."""
    return tuple(sorted({culprit_of(a) for a in participants}, key=lambda c: natural(c.name)))


def topic_culprits(topics: Iterable[str]) -> tuple[Culprit, ...]:
    """One culprit for each topic."""
    return tuple(Culprit(kind="topic", name=name) for name in topics)


def member(timeline: Timeline, participants: Collection[Participant]) -> str:
    """`instance` or `worker` if all participants are of that kind, `member` otherwise."""
    kinds = {KINDS.get((timeline.kind, participant.kind), "member") for participant in participants}
    return kinds.pop() if len(kinds) == 1 else "member"


def members(timeline: Timeline, participants: Collection[Participant]) -> str:
    """`members`, `instances` or `workers`."""
    return f"{member(timeline, participants)}s"


def counted_members(timeline: Timeline, participants: Collection[Participant], single: str = "one ") -> str:
    """`one member`, `3 instances`."""
    number = len(participants)
    return f"{single}{member(timeline, participants)}" if number == 1 else f"{number} {members(timeline, participants)}"
