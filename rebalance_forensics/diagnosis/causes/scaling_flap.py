"""Members with the same name or name template repeatedly leave and come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import attrgetter

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, distinct_events, only_threads_closed
from rebalance_forensics.diagnosis.episodes.members.clean_exits import VOLUNTARY, closings
from rebalance_forensics.diagnosis.episodes.members.departures import (
    initial_arrivals,
    shutdowns,
    states_full_membership,
)
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.restarts import Restart, restart_walks, restarts, same_process
from rebalance_forensics.diagnosis.episodes.members.sink_tasks import task_of
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_absences
from rebalance_forensics.diagnosis.sign import STRONG, WEAK, Need, Present, clue, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import departures
from rebalance_forensics.diagnosis.wording.durations import counted, seconds, span, times
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import is_bare_member_id, is_counted_client_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import ANOTHER_LIFE_MS, AT_ONCE_MS, PROCESS_START_MS

CYCLED = clue("left-and-came-back-repeatedly", WEAK, "the same members left and came back while the others stayed")
TAKEN_OVER = clue("places-taken-in-turn", WEAK, "unnamed members left and others took their place")
# Minimum number of departures and returns of a member.
_CYCLES = 2


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that shut down cleanly at least twice and came back, while others stayed throughout."""
    if not timeline.departures:
        return
    # A deployment restarts all members, so that its restarts are no sign of an autoscaler. With the coordinator's log
    # its count of members decides whether they were all, because members may have no log.
    deployed: set[Absence] = set()
    for walk in (walk for walk in restart_walks(timeline) if walk.everyone):
        began, ended = walk.restarts[0].absence.at, max(r.up_at for r in walk.restarts)
        full = states_full_membership(timeline, began, ended, len(walk.participants))
        deployed |= {r.absence for r in walk.restarts if full or not timeline.has_coordinator_log}
    # A group that all members leave, such as a batch job that is started each night, is no sign of one either.
    shut_down = {(a.participant, a.at) for together in shutdowns(timeline) for a in together}
    stopped = (a for a in closings(timeline) if a not in deployed and (a.participant, a.at) not in shut_down)
    # An autoscaler stops members cleanly. A member that fails and is started again crashes in a loop.
    clean = (a for a in stopped if not same_process(timeline, a) and not exception_before(timeline, a))
    clean = (a for a in clean if task_of(a.participant) is None)  # Connect workers stop and start sink tasks
    cycles = grouped((a for a in clean if a.stop is None or not only_threads_closed(a.stop)), attrgetter("participant"))
    initial = initial_arrivals(timeline)
    added = Counter(a.participant for a in timeline.arrivals if a.id not in initial)
    flapping = {a: None for a, absences in cycles.items() if len(absences) >= _CYCLES and added[a] >= _CYCLES}
    if not flapping:
        yield from _nameless(timeline)
    elif len(flapping) < len(timeline.membership.members):
        absences = sorted((w for a in flapping for w in cycles[a]), key=lambda w: w.at)
        since = timeline.arrivals.since(_joined_before(timeline, absences))
        came = [a for a in since if a.participant in flapping and not a.while_empty]
        yield about_flapping(timeline, tuple(flapping), absences, came, nameless=False)


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(departures.shutdown_logged, WEAK),
        speaks_against(departures.error_before_close, STRONG, absent=STRONG),
    ),
    implies=("member-left", "scale-in", "scale-out", "rolling-restart"),
    lookalikes=("rolling-restart", "slow-processing", "thread-replacement"),
)


def about_flapping(
    timeline: Timeline,
    participants: tuple[Participant, ...],
    absences: Sequence[Absence],
    came: Sequence[Arrival],
    *,
    nameless: bool,
) -> Hypothesis:
    """Members that left and came back while the others stayed, or replaced each other (`nameless`)."""
    number, back = len(absences), sum(away.back_at is not None for away in absences)
    longest = _longest_away_if_brief(absences)
    flapping = "the autoscaler seems to be flapping"
    brief = "" if longest is None else f"each return followed within {seconds(longest)}, too soon for an autoscaler"
    how = f"the other members stayed: {brief or flapping}."
    left = "left and came back" if back in (0, number) else f"left {times(number)} and came back"
    in_all = " in all" if len(participants) > 1 else ""
    removals = counted(number, "removal" if longest is None else "departure")
    why = f"{removals}{span(e for away in absences for e in away.events)}: each leave and each return is a rebalance."
    advice = (
        Advice(
            action="Widen the autoscaler's thresholds or its stabilization window.",
            why=why,
            cost="Scaling then reacts more slowly.",
        )
        if longest is None
        else Advice(
            action="Find out why {who} closes its consumer so often: an error after which the application opens "
            "another one, a consumer for each batch or request, or a process that ends and is started again. Keep one "
            "consumer open.",
            why=why,
        )
    )
    return about_absences(
        timeline,
        absences,
        participants=participants,
        clues={TAKEN_OVER if nameless else CYCLED: Present(distinct_events(e for a in absences for e in a.events[:1]))},
        severity="warning",
        implies=came,
        narrative=f"Members without a stable name joined and left again {times(number)} while {how}"
        if nameless
        else f"{{who}} {left} {times(back or number)}{in_all} while {how}",
        advice=(advice,),
        unseen=(_decisions_of_its_autoscaler(absences),) if longest is None else (),
    )


def _longest_away_if_brief(absences: Sequence[Absence]) -> int | None:
    """The longest absence in ms if it is too short for an autoscaler, else None."""
    # It evaluates its metrics every 15 s (--horizontal-pod-autoscaler-sync-period), and a new process takes time to
    # start.
    away = [back - a.at for a in absences if (back := a.back_at) is not None]
    return max(away) if away and max(away) < AT_ONCE_MS else None


def _decisions_of_its_autoscaler(absences: Sequence[Absence]) -> Need:
    what = "the autoscaler's log or events (kubectl get events -A -o json > events.json)"
    begin, end = min(a.at for a in absences), max(a.back_at or a.at for a in absences)
    return Need(what=what, who=None, begin=begin - PROCESS_START_MS, end=end, of_its_host=True)


def _nameless(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members with generated ids that replace each other: one leaves, another joins, leaves as well, and so on."""
    chain_of: dict[Participant, list[Restart]] = {}
    for restart in restarts(timeline):
        came_after = all(a.participant is not restart.by and a.at > restart.absence.at for a in restart.arrivals)
        if came_after and restart.absence.departures[0].why in VOLUNTARY:
            chain = [*chain_of.pop(restart.by, ()), restart]
            chain_of |= {a.participant: chain for a in restart.arrivals}
    chains = [c for c in chain_of.values() if len(c) >= _CYCLES]
    replacing = {a.participant for c in chain_of.values() for r in c for a in r.arrivals}
    if not chains or 2 * len(chains) > sum(a not in replacing for a in timeline.membership.members):
        yield from _waves(timeline)
        return
    links = sorted((r for c in chains for r in c), key=lambda r: r.absence.at)
    participants = dict.fromkeys(x for r in links for x in (r.by, *(a.participant for a in r.arrivals)))
    came = [a for r in links for a in r.arrivals]
    yield about_flapping(timeline, tuple(participants), [r.absence for r in links], came, nameless=True)


def _waves(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members with generated ids that repeatedly join and leave together in equal numbers, while others stay."""
    # A process that creates a consumer for each job or request also generates a new name for each.
    left = {a.participant: a for a in closings(timeline) if a.back_at is None}
    initial = initial_arrivals(timeline)
    came = [a for a in timeline.arrivals if a.participant in left and a.id not in initial and _is_nameless(timeline, a)]
    waves: list[list[Arrival]] = []
    wave_end = 0
    for arrival in came:
        if not waves or arrival.at > wave_end:
            waves.append([])
        waves[-1].append(arrival)
        wave_end = max(wave_end, left[arrival.participant].at)
    alike = len(waves) >= _CYCLES and len({len(wave) for wave in waves}) == 1
    # Waves far apart follow the load, which is what scaling is for.
    until = [max(left[a.participant].at for a in wave) for wave in waves]
    alike = alike and any(wave[0].at - at <= ANOTHER_LIFE_MS for at, wave in zip(until, waves[1:], strict=False))
    # Members that joined before the first wave and never left.
    stayed = (timeline.arrivals.of(a) for a in timeline.membership.members if not timeline.departures.of(a))
    if alike and any(not joins.between(came[0].at, timeline.last) for joins in stayed):
        participants = tuple(dict.fromkeys(a.participant for a in came))
        yield about_flapping(timeline, participants, [left[a] for a in participants], came, nameless=True)


def _is_nameless(timeline: Timeline, arrival: Arrival) -> bool:
    participant = arrival.participant
    if any(is_counted_client_id(client, timeline.group) for client in participant.client_ids):
        return True
    return not participant.has_log and is_bare_member_id(arrival.member or "")


def _joined_before(timeline: Timeline, absences: Sequence[Absence]) -> int:
    """The time of the first arrival between the group's start and the first departure, else that of the departure."""
    first = min(w.at for w in absences)
    start = timeline.arrivals[0].at if timeline.arrivals else 0
    participants = {w.participant for w in absences}
    between = timeline.arrivals.between(start + PROCESS_START_MS + 1, first - 1)
    return next((a.at for a in between if a.participant in participants), first)
