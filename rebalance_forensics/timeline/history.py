"""The public history of a group, from its timeline."""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import VersionReported
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import streams_client
from rebalance_forensics.timeline.lanes import lanes_of
from rebalance_forensics.timeline.model import GroupHistory, Identity
from rebalance_forensics.timeline.ownership import ownership_of

SHOWN_SETTINGS = (
    "group.protocol", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records",
    "partition.assignment.strategy", "request.timeout.ms", "rebalance.timeout.ms", "scheduled.rebalance.max.delay.ms",
    "num.stream.threads", "num.standby.replicas", "probing.rebalance.interval.ms", "acceptable.recovery.lag",
    "max.warmup.replicas", "group.initial.rebalance.delay.ms", "group.max.size", "offsets.retention.minutes",
)  # fmt: skip


def history_of(timeline: Timeline) -> GroupHistory:
    """What the report shows of the group."""
    return GroupHistory(
        group=timeline.group,
        cluster=timeline.cluster,
        kind=timeline.kind,
        protocol=timeline.protocol,
        protocols=timeline.protocols,
        rebalance_mode=timeline.mode,
        coordinators=timeline.coordinators,
        generations=tuple(timeline.generations),
        pauses=tuple(timeline.pauses),
        unread=tuple(ownership_of(timeline).spans),
        identities=tuple(_identity(timeline, a) for a in sorted(timeline.actors(), key=lambda a: (a.kind, a.name))),
        lanes=lanes_of(timeline),
        settings=tuple((k, timeline.settings[k]) for k in SHOWN_SETTINGS if k in timeline.settings),
        versions=_versions(timeline),
    )


def _identity(timeline: Timeline, actor: Actor) -> Identity:
    spoken = [e.at for e in timeline.said_by(actor, Event) if e.at is not None]
    told = (timeline.departures.of(actor), timeline.arrivals.of(actor), timeline.stops.of(actor))
    times = [*spoken, *(fact.at for facts in told for fact in facts)]
    plain = sorted(c for c in actor.client_ids if streams_client(c) is None)
    return Identity(
        name=actor.name,
        kind=actor.kind,
        names=actor.every_name(),
        client_id=plain[0] if plain else min(actor.client_ids, default=None),
        member_ids=tuple(sorted(actor.member_ids)),
        instance_id=min(actor.instance_ids, default=None),
        process=min(actor.processes, default=None),
        thread=min(actor.threads, default=None),
        host=min(actor.hosts or actor.endpoints, default=None),
        files=tuple(sorted(actor.files)),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )


def _versions(timeline: Timeline) -> tuple[tuple[str, str], ...]:
    found = {(_who(e), e.version) for e in timeline.of(VersionReported) if e.product == "kafka"}
    return tuple(sorted(found))


def _who(event: Event) -> str:
    return event.speaker.host or event.speaker.file
