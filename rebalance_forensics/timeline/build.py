"""Builds the timeline of one group from its events, which may come in any order.

Each stage uses the finished result of the previous stages and does not change it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import attrgetter

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import StreamsParticipants
from rebalance_forensics.timeline.clocks.group_clock import TimedLines, timed
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coordinators import coordinators_of, lines_of_former_coordinators, starts_in_own_logs
from rebalance_forensics.timeline.coverage import Coverage, coverage_of
from rebalance_forensics.timeline.event_index import settings_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.generations import (
    OF_EPOCHS,
    Generations,
    GroupEpochs,
    all_generations,
    all_rebalances,
)
from rebalance_forensics.timeline.group_lines import attributed, gathered, identified
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participants
from rebalance_forensics.timeline.membership.replay import MembershipReplay
from rebalance_forensics.timeline.membership.revision import revise
from rebalance_forensics.timeline.membership.silent import departures_by_missed_rebalance, departures_by_takeover
from rebalance_forensics.timeline.membership.table import MembershipTable
from rebalance_forensics.timeline.model import Generation
from rebalance_forensics.timeline.pauses import pauses_of
from rebalance_forensics.timeline.processes import Processes, processes_of
from rebalance_forensics.timeline.profile import profile_of
from rebalance_forensics.timeline.rebalance_requests import requests_of, with_follow_ups
from rebalance_forensics.timeline.time_index import IntervalIndex, TimeIndex
from rebalance_forensics.timeline.timeouts import session_of_events


def build(
    cluster: str, group: str, group_events: Iterable[Event], shared: Iterable[Event] | UngroupedEvents
) -> Timeline:
    """Build the timeline of a group from the events that name it and the `shared` events, which name no group."""
    ungrouped = shared if isinstance(shared, UngroupedEvents) else UngroupedEvents(shared)
    identified_lines = identified(gathered(group, group_events, ungrouped), ungrouped)
    lines = timed(*attributed(identified_lines), ungrouped)
    profile = profile_of(lines)
    processes = processes_of(profile.participants, lines.group_events, lines.process_events)
    coordinators = coordinators_of(lines.group_events, starts_in_own_logs(lines.ungrouped))
    coverage = coverage_of(
        profile.participants,
        lines.group_events,
        lines.ungrouped,
        ungrouped.logs,
        lines.clocks,
        coordinators,
        lines.process_events,
        ungrouped.dropped,
    )
    settings = settings_of(lines.group_events, lines.ungrouped)
    session_ms = (
        session_of_events(lines.group_events, profile.protocol, settings) if profile.protocol == "classic" else None
    )
    membership, replayed, generations = _replayed(profile.participants, processes, lines, coverage, session_ms)
    rebalances = with_follow_ups(replayed, lines, profile.mode)
    return Timeline(
        group=group,
        cluster=cluster,
        kind=profile.kind,
        protocol=profile.protocol,
        protocols=profile.protocols,
        mode=profile.mode,
        participants=profile.participants,
        group_events=lines.group_events,
        ungrouped=lines.ungrouped,
        process_events=lines.process_events,
        orchestration=ungrouped.orchestration,
        untimed_of_hosts=ungrouped.untimed_of_hosts,
        starts=TimeIndex(processes.starts),
        stops=TimeIndex(processes.stops),
        membership=membership,
        requests=TimeIndex(requests_of(profile.participants, lines.group_events)),
        rebalances=IntervalIndex(rebalances, attrgetter("started_at"), Rebalance.barrier_end),
        generations=generations,
        pauses=IntervalIndex(
            pauses_of(profile.participants, processes.starts, lines.group_events.by_clients, lines.clocks),
            attrgetter("started_at"),
            attrgetter("ended_at"),
        ),
        coordinators=coordinators,
        clocks=tuple(lines.clocks[place] for place in sorted(lines.clocks, key=lambda p: (p[0], p[1] or ""))),
        coverage=coverage,
        settings=settings,
    )


def _replayed(
    participants: Participants, processes: Processes, lines: TimedLines, coverage: Coverage, session_ms: int | None
) -> tuple[MembershipTable, tuple[Rebalance, ...], tuple[Generation, ...]]:
    """The membership table, rebalances and generations; `session_ms` is the session timeout, None if unknown."""
    events = lines.group_events
    former = lines_of_former_coordinators(events)
    membership = MembershipReplay(participants, processes.starts)
    classic, epochs = Generations(participants), GroupEpochs(participants)
    void = former.all
    for event in events:
        if (event.group is not None or isinstance(event, StreamsParticipants)) and id(event) not in void:
            classic.apply(event)
    inferred = [
        # In an excerpt a missing JoinGroup line does not prove that a member missed the rebalance.
        *([] if coverage.is_excerpt else departures_by_missed_rebalance(participants, events, classic.slots)),
        *departures_by_takeover(participants, processes.starts, events, coverage=coverage, session_ms=session_ms),
    ]
    absent = deque(sorted(inferred, key=attrgetter("shown_at")))
    for event in events:
        while absent and event.at is not None and event.at >= absent[0].shown_at:
            membership.infer_departure(absent.popleft())
        if id(event) in former.too_late:
            continue
        if id(event) in former.evicting:
            membership.record_stale_eviction(event)
            continue
        membership.apply(event)
        classic.note_members(event, membership.live)
        if event.group is not None and type(event) in OF_EPOCHS:
            epochs.apply(event, membership.live)
    slots = [s for s in classic.finished() if not epochs.absorbs(s)]
    bumps = epochs.finished()
    rebalances = all_rebalances(classic, slots, bumps, membership.rejoins)
    revise(membership, processes, lines, rebalances, coverage=coverage, session_ms=session_ms)
    table = MembershipTable(participants, membership.transitions, events)
    return table, rebalances, all_generations(participants, slots, bumps)
