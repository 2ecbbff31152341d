"""Two live members share a group.instance.id (FENCED_INSTANCE_ID, KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group
from rebalance_forensics.diagnosis.fences import Fence, fences
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, Unobservable, stated
from rebalance_forensics.diagnosis.signs.needs import coordinator_log
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import FENCED_AROUND_MS

MANY = 6
"""Fences after which two processes are surely taking the place from each other in turns."""
FENCED = stated("fenced", present="a member was fenced: another one had registered with its group.instance.id")
BOTH_SEEN = stated("both-members-seen", present="the logs show the second member with the same group.instance.id")
PERHAPS_REMOVED = stated(
    "perhaps-removed", present="an admin may have removed it before the other member took its id, as its log says"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every instance id of which one member fenced another."""
    for fence in fences(timeline):
        yield _hypothesis(timeline, fence)


def _hypothesis(timeline: Timeline, fence: Fence) -> Hypothesis:
    begin, end = fence.begin - FENCED_AROUND_MS, fence.end + FENCED_AROUND_MS
    facts = _facts(timeline, fence.actors, begin, end)
    same = f"group.instance.id {fence.instance}" if fence.instance else f"the group.instance.id of {fence.name}"
    return Hypothesis(
        because=distinct_events([*fence.events, *(e for f in facts for e in getattr(f, "events", [])[:2])]),
        culprits=_culprits(timeline, fence),
        answers=_answers(fence, begin, end),
        actors=tuple(fence.actors),
        severity="critical" if len(fence.events) > MANY else "warning",
        onset=fence.begin,
        brings=(*facts, *touched(timeline, facts)),
        narrative=f"Two live members used {same}: {_what(fence.refused)}.",
        advice=(
            Advice(
                action=f"Give every process its own group.instance.id; that of {fence.name} is configured twice.",
                why=f"{_why(fence.refused)}: {times(len(fence.events))}{span(fence.events)}.",
                cost="Under its new id the member joins as another one: one rebalance.",
            ),
        ),
    )


def _answers(fence: Fence, begin: int, end: int) -> dict[Sign, Answer]:
    lines = distinct_events(fence.events)
    both: Answer = Present(lines) if fence.both_seen else Unobservable((coordinator_log(begin, end),))
    found: dict[Sign, Answer] = {FENCED: Present(lines), BOTH_SEEN: both}
    return found | ({PERHAPS_REMOVED: Present(lines)} if fence.perhaps_removed else {})


def _culprits(timeline: Timeline, fence: Fence) -> tuple[Culprit, ...]:
    """The instance id, with everybody that used it; without an id those that were fenced."""
    told = culprits_of(timeline, fence.actors, as_instance=True)
    if fence.instance is None:
        return told
    names = {n for c in told for n in (c.name, *c.names)} - {fence.instance}
    return (Culprit(kind="instance", name=fence.instance, names=tuple(sorted(names))),)


def _what(refused: bool) -> str:  # noqa: FBT001 - the one thing that differs
    if refused:
        return "the coordinator refused the second while the first lived"
    return "the second took the place of the first and fenced it"


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


CAUSE = Cause(
    summary="Two live members share one group.instance.id and fence each other.",
    mechanism=(
        "The coordinator maps an instance id to one member. A second process that joins with it takes the"
        " place; the first one's next request fails with FENCED_INSTANCE_ID, which is fatal for it. Under"
        " KIP-848 the first one keeps its place while it lives, and the second is refused with"
        " UNRELEASED_INSTANCE_ID."
    ),
    shows=(
        "FENCED_INSTANCE_ID on the client, 'is fenced by' on the coordinator; UNRELEASED_INSTANCE_ID under KIP-848."
    ),
    remedy="Make instance ids unique: from the pod's ordinal, not from the image or a copied configuration.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(FENCED, STRONG + WEAK),
        speaks_for(BOTH_SEEN, STRONG),
        speaks_against(PERHAPS_REMOVED, WEAK),
    ),
    brings=(
        "static-member-restart",
        "scaling-flap",
        "member-left",
        "process-pause",
        "scale-out",
        "rolling-restart",
        "static-member-expired",
    ),
    lookalikes=("static-member-restart",),
    settings=("group.instance.id",),
    kips=("KIP-345", "KIP-848"),
)
