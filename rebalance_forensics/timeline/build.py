"""From the events of one group to its timeline; the order in which events come does not matter.

Each stage takes what the one before it has finished and changes nothing in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.group_clock import timed
from rebalance_forensics.timeline.cluster_events import Surroundings
from rebalance_forensics.timeline.coordinators import coordinators_of
from rebalance_forensics.timeline.coverage import coverage_of
from rebalance_forensics.timeline.event_index import settings_of
from rebalance_forensics.timeline.group_lines import attributed, gathered
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.build_participants import profile_of
from rebalance_forensics.timeline.identity.speakers import identified
from rebalance_forensics.timeline.pauses import pauses_of
from rebalance_forensics.timeline.replay.follow_ups import with_follow_ups
from rebalance_forensics.timeline.replay.group_replay import replayed
from rebalance_forensics.timeline.replay.processes import processes_of
from rebalance_forensics.timeline.replay.requests import requests_of
from rebalance_forensics.timeline.static_returns import with_lines_behind
from rebalance_forensics.timeline.time_index import InTime, Lasting
from rebalance_forensics.timeline.timeouts import session_of_events


def build(cluster: str, group: str, own: Iterable[Event], shared: Iterable[Event] | Surroundings) -> Timeline:
    """Rebuild one group's history from its own events and those that name no group, sorted or not."""
    around = shared if isinstance(shared, Surroundings) else Surroundings(shared)
    spoken = identified(gathered(group, own, around), around)
    lines = timed(attributed(spoken), around)
    who = profile_of(lines)
    processes = processes_of(who.participants, lines.own)
    grouped = lines.of_the_group()
    coordinators = coordinators_of(grouped)
    coverage = coverage_of(who.participants, lines.own, lines.around, around.logs, lines.clocks, coordinators)
    settings = settings_of(lines.own, lines.around)
    session_ms = session_of_events(lines.own, who.protocol, settings) if who.protocol == "classic" else None
    history = replayed(who.participants, processes, lines.own, coverage=coverage, session_ms=session_ms)
    rebalances = with_follow_ups(history.rebalances, lines, who.mode)
    return Timeline(
        group=group,
        cluster=cluster,
        kind=who.kind,
        protocol=who.protocol,
        protocols=who.protocols,
        mode=who.mode,
        participants=who.participants,
        own=lines.own,
        around=lines.around,
        starts=InTime(processes.starts),
        stops=InTime(processes.stops),
        departures=InTime(history.departures),
        arrivals=InTime(history.arrivals),
        returns=InTime(with_lines_behind(history.returns, lines.around)),
        requests=InTime(requests_of(who.participants, lines.own)),
        rebalances=Lasting(rebalances, attrgetter("started_at"), lambda r: r.stabilized_at or r.ended_at()),
        generations=history.generations,
        pauses=Lasting(
            pauses_of(who.participants, processes.starts, lines.own.by_clients, lines.clocks),
            attrgetter("started_at"),
            attrgetter("ended_at"),
        ),
        coordinators=coordinators,
        clocks=tuple(lines.clocks[place] for place in sorted(lines.clocks, key=lambda p: (p[0], p[1] or ""))),
        coverage=coverage,
        settings=settings,
    )
