"""Investigate one group: turn its events into its history, incidents and gaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.engine.contest import Outcome, contest, merge_repeats
from rebalance_forensics.diagnosis.engine.discovery import all_causes, consequences, propose_all
from rebalance_forensics.diagnosis.engine.drafts import Assigned, Draft, assign_rebalances, merged, shared_rebalances
from rebalance_forensics.diagnosis.engine.impact import Extent, reasons_of_heartbeat_loss, shared_out
from rebalance_forensics.diagnosis.engine.incidents import IncidentAndUnread, ended_at, incident_of, with_unique_ids
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import broker_outages, unreached_brokers
from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import known_partition
from rebalance_forensics.diagnosis.gaps import failed_causes, gaps_of
from rebalance_forensics.diagnosis.group_patterns import patterns_of
from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.diagnosis.unexplained.left_over import left_over
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import StaticMemberFenced
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.clocks.file_clocks import FileClock
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.history import history_of
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.model import Generation, GroupHistory, GroupOutline, Loss, UnreadSpan
from rebalance_forensics.timeline.ownership.losses import explain_heartbeat_loss
from rebalance_forensics.timeline.ownership.member_time import member_time_of
from rebalance_forensics.timeline.ownership.owners import leaders_of, ownership_of
from rebalance_forensics.timeline.timeouts import quiet_ms
from rebalance_forensics.timeline.unnamed_groups import SpeakerKey, UnnamedGroup, speaker_key
from rebalance_forensics.timeline.windows import QUIET_MS

# At most this many losses of a group are kept for the comparison with other groups.
MOST_LOSSES = 200


class CaseOutline(Struct, frozen=True, kw_only=True, gc=False):
    """What a report needs of every group before it shows one: outlines of its history and incidents."""

    history: GroupOutline
    incidents: tuple[Headline, ...]
    gaps: tuple[Gap, ...]
    clocks: tuple[FileClock, ...]
    speakers: tuple[SpeakerKey, ...] = ()
    """The clients that logged this group's lines."""
    from_unnamed: bool = False
    """True if no line names the group."""


class GroupCase(CaseOutline, frozen=True, kw_only=True, gc=False):
    """Everything that the report shows for one group."""

    history: GroupHistory
    incidents: tuple[Incident, ...]


def investigate(
    cluster: str, group: str, events: Iterable[Event], shared: Iterable[Event] | UngroupedEvents, *, lanes: bool = True
) -> GroupCase:
    """Rebuild the group's history and diagnose its incidents; the order of the events does not matter.

    Swim lanes are optional because they contain nearly every line again.
    """
    timeline = build(cluster, group, events, shared)
    found, triggers, broken = _diagnosed(timeline)
    incidents = sorted((incident for incident, _ in found), key=lambda i: (i.started_at, i.id))
    history = history_of(timeline, lanes=lanes)
    generations = _triggered(timeline, triggers)
    return GroupCase(
        history=replace(
            history,
            generations=tuple(generations),
            unread=tuple(_with_incidents(history.unread, found)),
            reading=patterns_of(timeline),
            offsets_partition=known_partition(timeline),
            outages=tuple([o.outlined() for o in broker_outages(timeline)]) if incidents else (),
            losses=_losses(timeline) if incidents else (),
            leaders=leaders_of(timeline),
            unreached=unreached_brokers(timeline)[:MOST_LOSSES] if incidents else (),
        ),
        incidents=tuple(incidents),
        gaps=(*gaps_of(timeline, incidents), *failed_causes(timeline, broken)),
        clocks=timeline.clocks,
        speakers=_speakers(timeline),
    )


def _diagnosed(timeline: Timeline) -> tuple[list[IncidentAndUnread], dict[str, str], dict[str, str]]:
    """The incidents; the trigger of each rebalance that belongs to one, by its id; by cause why it broke off."""
    # Nothing else of the contest outlives it: the hypotheses of a hot group take more memory than its lines.
    weighed, broken = propose_all(timeline)
    outcome = contest(weighed, consequences())
    merge_repeats(outcome, quiet_ms(timeline))
    explain_heartbeat_loss(timeline, reasons_of_heartbeat_loss(all_causes(), outcome))
    drafts = merged(outcome.standing, quiet_ms(timeline))
    assigned = assign_rebalances(timeline, drafts, outcome.explains)
    for draft in merged(list(left_over(timeline, all_causes(), assigned, drafts)), QUIET_MS):
        drafts.append(draft)
        facts = chain.from_iterable(finding.hypothesis.explains for finding in draft.findings)
        assigned |= {fact.id: (draft, fact.followup or draft.cause) for fact in facts if isinstance(fact, Rebalance)}
    found = [*with_unique_ids(_incidents(timeline, outcome, drafts, assigned))]
    return found, {rebalance: trigger for rebalance, (_, trigger) in assigned.items()}, broken


def investigate_unnamed(
    cluster: str, unnamed: UnnamedGroup, shared: UngroupedEvents, *, lanes: bool = True
) -> GroupCase:
    """Investigate a group that its member's lines do not name."""
    return replace(investigate(cluster, unnamed.name, (), shared, lanes=lanes), from_unnamed=True)


def _losses(timeline: Timeline) -> tuple[Loss, ...]:
    expired = (d for d in timeline.departures if d.why == "session-expired")
    by_brokers = ((d, e) for d in expired for e in d.events[:1] if e.speaker.broker is not None and e.at is not None)
    return tuple(
        [
            Loss(at=d.at, broker=broker_name(e.speaker.broker), member=d.participant.name, evidence=evidence_of(e))
            for d, e in islice(by_brokers, MOST_LOSSES)
        ]
    )


def _speakers(timeline: Timeline) -> tuple[SpeakerKey, ...]:
    # For each speaker, prefer a line that names the group: it attributes all of its other lines to the group.
    lines = timeline.group_events.by_clients
    speakers = {id(e.speaker): e for e in chain(lines, (e for e in lines if e.group is not None))}.values()
    members = (e for e in speakers if e.group is not None or timeline.participants.of_speaker(e) is not None)
    # Add members that a coordinator fences without naming the group, as if they had logged it (see `unnamed_groups`).
    fenced = ((*speaker_key(e)[:2], e.instance_id) for e in timeline.of(StaticMemberFenced))
    return tuple(sorted({*map(speaker_key, members), *fenced}, key=str))


def _incidents(
    timeline: Timeline, outcome: Outcome, drafts: Sequence[Draft], assigned: Assigned
) -> Iterator[IncidentAndUnread]:
    by_draft: dict[Draft, list[tuple[Rebalance, str]]] = {draft: [] for draft in drafts}
    for rebalance in timeline.rebalances:
        if rebalance.id in assigned:
            draft, trigger = assigned[rebalance.id]
            by_draft[draft].append((rebalance, trigger))
    causes = all_causes()
    extents = [Extent(draft, draft.started_at, ended_at(draft, rebalances)) for draft, rebalances in by_draft.items()]
    owners, member_time = ownership_of(timeline), member_time_of(timeline)
    unread = shared_out(owners.spans, owners.until, extents)
    absences = shared_out(member_time.spans, member_time.until, extents)
    shared = shared_rebalances(timeline, drafts, outcome.explains, assigned)
    for draft, rebalances in by_draft.items():
        left, also = unread.get(draft, ()), shared.get(draft, ())
        yield incident_of(timeline, causes, outcome, draft, rebalances, left, absences.get(draft, ()), also), left


def _with_incidents(spans: Iterable[UnreadSpan], found: Iterable[IncidentAndUnread]) -> Iterator[UnreadSpan]:
    """Yield each span with the id of the incident that it belongs to; a partition has one span at a time."""
    counted = {(span.partition, span.started_at): incident.id for incident, unread in found for span in unread}
    return (replace(span, incident=counted.get((span.partition, span.started_at))) for span in spans)


def _triggered(timeline: Timeline, by_rebalance: Mapping[str, str]) -> list[Generation]:
    triggers = {r.generation: by_rebalance[r.id] for r in timeline.rebalances if r.id in by_rebalance}
    followups = {r.generation: r.followup for r in reversed(timeline.rebalances)}
    found = []
    for generation in timeline.generations:
        followup = followups.get(generation.generation)
        trigger = triggers.get(generation.generation) or followup
        found.append(replace(generation, trigger=trigger, followup=followup) if trigger else generation)
    return found
