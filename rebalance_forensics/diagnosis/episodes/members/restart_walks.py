"""Restarts that walk over the members of a group, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, Absence, only_listed
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, losses
from rebalance_forensics.diagnosis.episodes.members.restarts import Restart, replacements, restarts
from rebalance_forensics.diagnosis.episodes.members.static_returns import static_returns
from rebalance_forensics.diagnosis.episodes.members.surviving_threads import process_survived
from rebalance_forensics.diagnosis.episodes.runs import walks
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import logs_leave_group
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS

# Two members that leave in turn may be a deployment or a flap; two that expire, a deployment or two crashes.
_ENOUGH_FOR_WALK = 3


class RestartWalk(Struct, frozen=True):
    """Restarts one after another.

    `everyone`: all members restarted. `new_names`: newcomers took their places. `cut`: the logs show only a part of the
    walk.
    """

    restarts: tuple[Restart, ...]
    participants: tuple[Participant, ...]
    everyone: bool
    new_names: bool = False
    cut: bool = False

    @property
    def lines(self) -> list[Event]:
        """The lines of each departure, and the first line of each return."""
        return [
            e for r in self.restarts for e in (*r.absence.events, *(e for a in r.arrivals[:1] for e in a.events[:1]))
        ]

    @property
    def longest_down_ms(self) -> int:
        """The longest restart."""
        return max(0, *(r.up_at - r.absence.at for r in self.restarts))

    @property
    def took_ms(self) -> int:
        """From the first departure to the last return; new processes may be up before the old ones leave."""
        times = [t for r in self.restarts for t in (r.absence.at, r.up_at)]
        return max(times) - (min(times) if self.new_names else self.restarts[0].absence.at)

    @property
    def mostly_expired(self) -> bool:
        """True if only expired sessions show most restarts: a paused or disconnected member looks the same."""
        return 2 * sum(_expired_without_client_log(r.absence) for r in self.restarts) > len(self.restarts)

    @property
    def mostly_listed(self) -> bool:
        """True if at least half of the restarts show only in the leader's lists of members."""
        return 2 * sum(_is_only_listed(r) for r in self.restarts) >= len(self.restarts)


def restart_walks(timeline: Timeline) -> list[RestartWalk]:
    """Restarts that walk over at least two members and most of the group."""
    # A static member that is back in time costs no rebalance: its walks are in static_returns.
    return timeline.cached_as("restart walks", lambda: list(_restart_walks(timeline)))


def _restart_walks(timeline: Timeline) -> Iterator[RestartWalk]:
    if not timeline.departures:
        return
    in_time = {r.fact.id for group in static_returns(timeline) for r in group if r.fact is not None}
    clean = [r for r in restarts(timeline) if in_time.isdisjoint(a.id for a in r.arrivals)]
    clean = [r for r in clean if not exception_before(timeline, r.absence)]
    for walk in walks(clean, lambda r: r.absence.at, lambda r: r.by):
        for group in map(_from_its_first_step, _bounces(_without_the_killed(timeline, walk))):
            if not group:
                continue
            replaced, settled = tuple(_replaced(group)), _settled(timeline, group)
            most = 2 * len(replaced) > settled
            if _walks_over(timeline, group) and (most or _reaches_out(timeline, group)):
                yield RestartWalk(tuple(group), replaced, everyone=len(replaced) >= settled, cut=not most)
    yield from _under_new_names(timeline)
    yield from _expiring_in_turn(timeline, clean)


def _walks_over(timeline: Timeline, group: list[Restart]) -> bool:
    participants = _replaced(group)
    # An excerpt may leave out the members that stayed: then a second turn is a flap as well.
    most = len(participants) + 1 if timeline.coverage.is_excerpt else 2 * len(participants)
    enough = _ENOUGH_FOR_WALK if all(_expired_without_client_log(r.absence) for r in group) else 2
    if all(_was_killed(timeline, r.absence) for r in group):
        enough = max(_ENOUGH_FOR_WALK, _settled(timeline, group))
    return enough <= len(participants) and len(group) < most and not _all_at_once(group)


def _settled(timeline: Timeline, group: list[Restart], before: int | None = None) -> int:
    """The size of the group before."""
    return timeline.membership.size_at(group[0].absence.at - 1 if before is None else before)


def _under_new_names(timeline: Timeline) -> Iterator[RestartWalk]:
    """Newcomers that take the places of nearly all members in turn."""
    # Scaling keeps most members.
    clean = [r for r in replacements(timeline) if not exception_before(timeline, r.absence)]
    for walk in walks(clean, lambda r: r.absence.at, lambda r: r.by):
        group = _without_the_killed(timeline, walk)
        participants = _replaced(group)
        if len(participants) < 2:
            continue
        settled = _settled(timeline, group, min(min(r.up_at, r.absence.at) for r in group) - 1)
        by_turns = min(r.absence.at for r in group) < max(r.up_at for r in group) and not _all_at_once(group)
        most = 4 * len(participants) >= 3 * settled
        # Places that fill again and again are no part of one deployment.
        once = len(group) < 2 * len(participants)
        if by_turns and (most or (once and _reaches_out(timeline, group))):
            everyone = len(participants) >= settled
            yield RestartWalk(tuple(group), tuple(participants), everyone=everyone, new_names=True, cut=not most)


def _reaches_out(timeline: Timeline, group: list[Restart]) -> bool:
    """True if the logs begin or end within a step of the walk, so that more of it may lie outside."""
    steps = sorted(at for r in group for at in (r.absence.at, r.up_at))
    stride = max(later - earlier for earlier, later in pairwise(steps))
    begin = timeline.coverage.begin
    return begin is not None and (steps[0] - begin <= stride or timeline.coverage.end - steps[-1] <= stride)


def _expiring_in_turn(timeline: Timeline, clean: list[Restart]) -> Iterator[RestartWalk]:
    """Members that each expire once and are back before the next one leaves."""
    # A Streams instance sends no LeaveGroup on close.
    silent = [a for a in losses(timeline) if _may_have_closed_silently(timeline, a)]
    back = [Restart(a, a.participant, a.back_at or a.at, tuple(a.arrivals)) for a in silent]
    for group in walks([*clean, *back], lambda r: r.absence.at, lambda r: r.by):
        participants = {r.by for r in group}
        settled = max(len(timeline.membership.members), timeline.membership.counted_before(group[0].absence.at))
        once = len(participants) == len(group) >= max(_ENOUGH_FOR_WALK, settled)
        by_turns = all(before.up_at < after.absence.at for before, after in pairwise(group))
        if once and by_turns and any(r in back for r in group):
            yield RestartWalk(tuple(group), tuple(_replaced(group)), everyone=True)


def _expired_without_client_log(absence: Absence) -> bool:
    expired = all(d.why == "session-expired" for d in absence.departures)
    late = absence.back_at is not None and absence.back_at >= absence.at
    return expired and late and not absence.participant.has_log


def _was_killed(timeline: Timeline, absence: Absence) -> bool:
    """True if its log stops without a shutdown."""
    # A deployment lets processes close; one that kills them reaches every member all the same.
    participant = absence.participant
    silent = all(d.why == "session-expired" for d in absence.departures)
    if _fell_silent(absence) and not silent:
        silent = absence.start is not None and logs_leave_group(timeline, participant)
    return participant.has_log and absence.stop is None and silent


def _without_the_killed(timeline: Timeline, walk: list[Restart]) -> list[Restart]:
    """The walk without members that died by themselves."""
    # Where the deployment lets processes close, a log without a shutdown is a death.
    if not any(r.absence.stop is not None for r in walk):
        return walk
    return [r for r in walk if not (_was_killed(timeline, r.absence) and _would_show_its_close(timeline, r.absence))]


def _would_show_its_close(timeline: Timeline, absence: Absence) -> bool:
    begin = absence.at - session_timeout_ms(timeline)
    return any(log.detailed and log.begin <= begin for log in timeline.coverage.of(absence.participant))


def _is_only_listed(restart: Restart) -> bool:
    return all(map(only_listed, restart.absence.departures)) and all(map(only_listed, restart.arrivals))


def _may_have_closed_silently(timeline: Timeline, absence: Absence) -> bool:
    unknown = (
        absence.participant.kind == "instance" and not absence.participant.has_log and not is_static(timeline, absence)
    )
    back = absence.back_at is not None and absence.back_at >= absence.at
    return unknown and back and not process_survived(timeline, absence)


def _bounces(run: list[Restart]) -> list[list[Restart]]:
    # Two deployments in a row, as Streams' upgrade.from asks for, walk over the same members twice.
    half = len(run) // 2
    first, second = {r.by for r in run[:half]}, {r.by for r in run[half:]}
    twice = half >= _ENOUGH_FOR_WALK and len(run) % 2 == 0 and first == second and len(first) == half
    return [run[:half], run[half:]] if twice else [run]


def _from_its_first_step(group: list[Restart]) -> list[Restart]:
    """The walk without members lost before it began: a deployment reaches those with all others."""
    visits = Counter(r.by for r in group)
    for place, restart in enumerate(group):
        if visits[restart.by] == 1 or restart.absence.stop is not None or not _fell_silent(restart.absence):
            return group[place:]
        visits[restart.by] -= 1
    return group


def _fell_silent(absence: Absence) -> bool:
    return all(d.why in UNANNOUNCED for d in absence.departures)


def _replaced(group: list[Restart]) -> list[Participant]:
    """The members from before the first restart, without those that only arrived by a restart."""
    found: dict[Participant, None] = {}
    came: set[Participant] = set()
    for restart in group:
        if restart.by not in came:
            found.setdefault(restart.by)
        came |= {a.participant for a in restart.arrivals}
    return list(found)


def _all_at_once(group: list[Restart]) -> bool:
    """True if all left at once, before any was up again or after all were: no walk over the members."""
    down, up = [r.absence.at for r in group], [r.up_at for r in group]
    apart = max(down) < min(up) or max(up) < min(down)
    return apart and max(down) - min(down) <= AT_ONCE_MS
