"""From the events of one group to its timeline; the order in which events come does not matter.

Each stage takes what the one before it has finished and changes nothing in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.group_clock import timed
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coordinators import coordinators_of
from rebalance_forensics.timeline.coverage import coverage_of
from rebalance_forensics.timeline.event_index import settings_of
from rebalance_forensics.timeline.group_lines import attributed, gathered, identified
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.pauses import pauses_of
from rebalance_forensics.timeline.processes import processes_of
from rebalance_forensics.timeline.profile import profile_of
from rebalance_forensics.timeline.rebalance_requests import requests_of, with_follow_ups
from rebalance_forensics.timeline.replay.group_replay import replayed
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex
from rebalance_forensics.timeline.timeouts import session_of_events


def build(cluster: str, group: str, own: Iterable[Event], shared: Iterable[Event] | UngroupedEvents) -> Timeline:
    """Rebuild one group's history from its own events and those that name no group, sorted or not."""
    ungrouped = shared if isinstance(shared, UngroupedEvents) else UngroupedEvents(shared)
    identified_lines = identified(gathered(group, own, ungrouped), ungrouped)
    lines = timed(attributed(identified_lines), ungrouped)
    profile = profile_of(lines)
    processes = processes_of(profile.participants, lines.own)
    grouped = lines.of_the_group()
    coordinators = coordinators_of(grouped)
    coverage = coverage_of(profile.participants, lines.own, lines.ungrouped, ungrouped.logs, lines.clocks, coordinators)
    settings = settings_of(lines.own, lines.ungrouped)
    session_ms = session_of_events(lines.own, profile.protocol, settings) if profile.protocol == "classic" else None
    history = replayed(
        profile.participants, processes, lines.own, lines.ungrouped, coverage=coverage, session_ms=session_ms
    )
    rebalances = with_follow_ups(history.rebalances, lines, profile.mode)
    return Timeline(
        group=group,
        cluster=cluster,
        kind=profile.kind,
        protocol=profile.protocol,
        protocols=profile.protocols,
        mode=profile.mode,
        participants=profile.participants,
        own=lines.own,
        ungrouped=lines.ungrouped,
        starts=TimeIndex(processes.starts),
        stops=TimeIndex(processes.stops),
        departures=TimeIndex(history.departures),
        arrivals=TimeIndex(history.arrivals),
        returns=TimeIndex(history.returns),
        requests=TimeIndex(requests_of(profile.participants, lines.own)),
        rebalances=IntervalIndex(rebalances, attrgetter("started_at"), lambda r: r.stabilized_at or r.ended_at()),
        generations=history.generations,
        pauses=IntervalIndex(
            pauses_of(profile.participants, processes.starts, lines.own.by_clients, lines.clocks),
            attrgetter("started_at"),
            attrgetter("ended_at"),
        ),
        coordinators=coordinators,
        clocks=tuple(lines.clocks[place] for place in sorted(lines.clocks, key=lambda p: (p[0], p[1] or ""))),
        coverage=coverage,
        settings=settings,
    )
