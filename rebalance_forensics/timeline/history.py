"""The history of a group as the report shows it, from its timeline."""

from __future__ import annotations

from operator import attrgetter

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import VersionReported
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import streams_client
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.lanes import lanes_of
from rebalance_forensics.timeline.model import GroupHistory, Identity
from rebalance_forensics.timeline.ownership import ownership_of
from rebalance_forensics.timeline.unnamed_groups import is_named

SHOWN_SETTINGS = (
    "group.protocol", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records",
    "partition.assignment.strategy", "request.timeout.ms", "rebalance.timeout.ms", "scheduled.rebalance.max.delay.ms",
    "num.stream.threads", "num.standby.replicas", "probing.rebalance.interval.ms", "acceptable.recovery.lag",
    "max.warmup.replicas", "group.initial.rebalance.delay.ms", "group.max.size", "offsets.retention.minutes",
)  # fmt: skip


_KIND_AND_NAME = attrgetter("kind", "name")


def history_of(timeline: Timeline, *, lanes: bool = True) -> GroupHistory:
    """The history of a group; without swim lanes if `lanes` is False."""
    owners = ownership_of(timeline)
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
        read=owners.read,
        unread=tuple(owners.spans),
        identities=tuple([_identity(timeline, a) for a in sorted(timeline.members(), key=_KIND_AND_NAME)]),
        lanes=lanes_of(timeline) if lanes else (),
        settings=tuple((k, timeline.settings[k]) for k in SHOWN_SETTINGS if k in timeline.settings),
        versions=_versions(timeline),
        named=is_named(timeline.group),
    )


def _identity(timeline: Timeline, participant: Participant) -> Identity:
    times = [e.at for e in timeline.events_from(participant, Event) if e.at is not None]
    times += [departure.at for departure in timeline.departures.of(participant)]
    times += [arrival.at for arrival in timeline.arrivals.of(participant)]
    times += [stop.at for stop in timeline.stops.of(participant)]
    plain = sorted(c for c in participant.client_ids if streams_client(c) is None)
    return Identity(
        name=participant.name,
        kind=participant.kind,
        names=participant.every_name(),
        client_id=plain[0] if plain else min(participant.client_ids, default=None),
        member_ids=tuple(sorted(participant.member_ids)),
        instance_id=min(participant.instance_ids, default=None),
        process=min(participant.processes, default=None),
        thread=min(participant.threads, default=None),
        host=min(participant.hosts or participant.endpoints, default=None),
        files=tuple(sorted(participant.files)),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )


def _versions(timeline: Timeline) -> tuple[tuple[str, str], ...]:
    found = {(_who(e), e.version) for e in timeline.of(VersionReported) if e.product == "kafka"}
    return tuple(sorted(found))


def _who(event: Event) -> str:
    return event.speaker.host or event.speaker.file
