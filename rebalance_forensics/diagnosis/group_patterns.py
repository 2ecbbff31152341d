"""Three views of a rebalancing group: its leaders, the times of its rebalances, and their participants.

The intervals between rebalances are compared with the settings that may explain them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.records import EpochMs, natural
from rebalance_forensics.timeline import timeouts
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.facts import DepartureWhy, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.model import (
    Burst,
    FailedAttempt,
    Generation,
    LeaderChange,
    Leadership,
    Participation,
    Reading,
    Spacing,
)
from rebalance_forensics.timeline.time_index import TimeIndex, grouped
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS


class Round(Struct, frozen=True, kw_only=True):
    """One rebalance. `members` pairs each name with its member id; None if no line shows the participants."""

    generation: int | None
    started_at: EpochMs
    stabilized_at: int | None = None
    completed_at: int | None = None
    leader: str | None = None
    members: tuple[tuple[str, str | None], ...] | None = None
    clients: int | None = None
    consumers: int | None = None
    followup: str | None = None
    reason: str | None = None

    def ended_at(self) -> int:
        """Return its last known time."""
        return max(self.completed_at or 0, self.stabilized_at or 0, self.started_at)


def rounds_of(timeline: Timeline) -> tuple[Round, ...]:
    """Return all rounds, oldest first; a leader's member list of an unknown rebalance is a separate round."""
    lists = TimeIndex((e for e in timeline.of(ev.StreamsParticipants) if e.at is not None), time_of, ordered=True)
    generations = grouped(timeline.generations, attrgetter("generation"))
    used: set[int] = set()
    rounds = []
    for rebalance in timeline.rebalances:
        begin, end = rebalance.stabilized_at or rebalance.started_at, rebalance.ended_at()
        near = lists.between(begin - ROUND_TRIP_MS, end + ROUND_TRIP_MS)
        listed = next((e for e in near if id(e) not in used), None)
        used.add(id(listed))
        rounds.append(_with_list(_round_of(rebalance, _generation_of(rebalance, generations)), listed))
    rounds += [
        _with_list(Round(generation=None, started_at=EpochMs(time_of(e))), e) for e in lists if id(e) not in used
    ]
    return tuple(sorted(rounds, key=lambda r: (r.started_at, r.generation or 0)))


def member_name(member_id: str) -> str:
    """Return the client id (or group.instance.id) with which a member id starts, else the member id."""
    return name_in_member_id(member_id) or member_id


def shared_names(rounds: Sequence[Round]) -> frozenset[str]:
    """Return the names that several members of one round share."""
    often = [Counter(name for name, _ in each.members) for each in rounds if each.members]
    return frozenset(name for counts in often for name, number in counts.items() if number > 1)


def distinct_names(members: Sequence[tuple[str, str | None]], shared: Container[str]) -> dict[str, str | None]:
    """Return name -> member id; members with a shared name are named by their member ids in every round."""
    return {(member or name if name in shared else name): member for name, member in members}


def _generation_of(rebalance: Rebalance, generations: Mapping[int, Sequence[Generation]]) -> Generation | None:
    """Return the resulting generation: the nearest in time, since numbers start again after a group is deleted."""
    same = generations.get(rebalance.generation, ()) if rebalance.generation is not None else ()
    return min(same, key=lambda g: abs((g.started_at or g.completed_at or 0) - rebalance.started_at), default=None)


def _round_of(rebalance: Rebalance, generation: Generation | None) -> Round:
    return Round(
        generation=rebalance.generation,
        started_at=EpochMs(rebalance.started_at),
        stabilized_at=rebalance.stabilized_at,
        completed_at=rebalance.completed_at,
        leader=member_name(generation.leader) if generation is not None and generation.leader else None,
        members=_members_of(generation),
        followup=rebalance.followup,
        reason=generation.reason if generation is not None else None,
    )


def _members_of(generation: Generation | None) -> tuple[tuple[str, str | None], ...] | None:
    if generation is None or (not generation.members and generation.outcome != "empty"):
        return None
    named = {
        (m.instance_id or m.client_id or (member_name(m.member_id) if m.member_id else "?"), m.member_id)
        for m in {m.instance_id or m: m for m in generation.members}.values()
    }
    return tuple(sorted(named, key=lambda m: (m[0], m[1] or "")))


def _with_list(known: Round, listed: ev.StreamsParticipants | None) -> Round:
    """Add the leader's list to a round: only the leader logs all participants."""
    if listed is None:
        return known
    leader = listed.speaker.thread or listed.speaker.client_id
    consumers = sorted({member for _, members in listed.participants for member in members})
    return replace(
        known,
        leader=known.leader or (member_name(leader) if leader else None),
        members=tuple((member_name(m), m) for m in consumers) or known.members,
        clients=listed.clients or len(listed.participants) or None,
        consumers=listed.consumers or len(consumers) or None,
    )


# Settings that can determine the time between two rebalances.
SETTINGS = (
    timeouts.PROBING,
    timeouts.CONNECT_DELAY,
    timeouts.POLL,
    timeouts.REBALANCE,
    timeouts.SESSION,
    timeouts.INITIAL_DELAY,
    timeouts.REQUEST,
    timeouts.HEARTBEAT,
)
# The timer of a long setting fires within this share of its value.
EXACT_SHARE = 0.03
_OF_FOLLOW_UPS: Mapping[str | None, str] = {"probing": timeouts.PROBING, "connect-delayed": timeouts.CONNECT_DELAY}
_WANTED = frozenset({"metadata-changed", "subscription-changed", "enforced", "shutdown-requested"})
_CLOSED = frozenset({"closed", "unsubscribed", "removed-by-admin"})


class _Clock(Struct, frozen=True):
    """The timeouts of a group: configured values or defaults."""

    timeline: Timeline
    values: Mapping[str, Sequence[tuple[int, bool]]]
    """Setting -> its configured or else its possible default values, each with whether it is configured."""

    def formed(self, during: Round) -> bool:
        """True if members joined an empty group in that rebalance."""
        came = self.timeline.arrivals.between(during.started_at - ROUND_TRIP_MS, during.ended_at())
        return any(arrival.while_empty for arrival in came)

    def was_planned(self, during: Round) -> bool:
        """True if the rebalance was requested or a process started or closed: no timer triggered it."""
        near = during.started_at - ROUND_TRIP_MS, during.started_at + ROUND_TRIP_MS
        asked = any(request.why in _WANTED for request in self.timeline.requests.between(*near))
        closed = any(departure.why in _CLOSED for departure in self.timeline.departures.between(*near))
        return asked or closed or any(arrival.start is not None for arrival in self.timeline.arrivals.between(*near))

    def fits(self, setting: str, elapsed: int, late_ms: int = 0) -> tuple[int, bool] | None:
        """Return the value that `elapsed` equals or exceeds by at most `late_ms`, and whether it is configured."""
        for value, configured in self.values[setting]:
            slack = max(ROUND_TRIP_MS, round(value * EXACT_SHARE))
            if value and value - slack <= elapsed <= value + slack + late_ms:
                return value, configured
        return None


def spacings(timeline: Timeline, rounds: Sequence[Round]) -> tuple[Spacing, ...]:
    """Return the interval between each two successive rebalances, oldest first."""
    clock = _Clock(timeline, {setting: timeouts.possible_ms(timeline, setting) for setting in SETTINGS})
    pairs = list(pairwise(rounds))
    gaps = [after.started_at - before.started_at for before, after in pairs]
    evenly = _regular(gaps)
    found = []
    for index, (before, after) in enumerate(pairs):
        bare = Spacing(
            from_generation=before.generation,
            to_generation=after.generation,
            at=after.started_at,
            gap_ms=gaps[index],
            evenly=evenly[index],
        )
        found.append(next(_explained(bare, before, after, clock), bare))
    return tuple(found)


def _regular(gaps: Sequence[int]) -> list[bool]:
    """Return for each gap if it equals a neighboring one; short gaps of a burst in between are skipped."""
    before = _last_long(gaps)
    after = _last_long(gaps[::-1])[::-1]
    found = []
    for index, gap in enumerate(gaps):
        if gap < HEARTBEAT_MS:
            found.append(False)
            continue
        neighbours = (*gaps[max(index - 1, 0) : index], *gaps[index + 1 : index + 2], before[index], after[index])
        near = max(ROUND_TRIP_MS, round(gap * EXACT_SHARE))
        found.append(any(o is not None and abs(o - gap) <= near for o in neighbours))
    return found


def _last_long(gaps: Sequence[int]) -> list[int | None]:
    """Return for each gap the nearest previous one that is not within a burst."""
    found: list[int | None] = []
    last: int | None = None
    for gap in gaps:
        found.append(last)
        last = gap if gap > NEXT_HEARTBEAT_MS else last
    return found


def _explained(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    """Yield explanations, those supported by a line first; an equal value alone counts only for regular intervals."""
    yield from _by_follow_up(bare, before, after, clock)
    yield from _by_departure(bare, before, after, clock)
    yield from _by_barrier(bare, before, after, clock)
    if bare.evenly and not clock.was_planned(after):
        yield from _by_number(bare, before, after, clock)


def _spacing(bare: Spacing, setting: str, value: tuple[int, bool], why: str) -> Spacing:
    return replace(bare, setting=setting, value_ms=value[0], configured=value[1], why=why)


def _since_round(
    bare: Spacing, setting: str, at: int, before: Round, clock: _Clock, why: str, late_ms: int = 0
) -> Iterator[Spacing]:
    """Yield the interval explained by the setting if its value equals the time from the previous round to `at`."""
    for mark in _timer_starts(before):
        fit = clock.fits(setting, at - mark, late_ms)
        if fit is not None:
            yield _spacing(bare, setting, fit, why)


def _by_follow_up(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    setting = _OF_FOLLOW_UPS.get(after.followup)
    if setting is not None:
        why = f"a {after.followup} follow-up, due this long after the assignment"
        yield from _since_round(bare, setting, after.started_at, before, clock, why)


def _by_departure(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    # A member that leaves later did not trigger the rebalance, so that its timeout does not explain the gap.
    for departure in clock.timeline.departures.between(before.started_at + 1, after.started_at + ROUND_TRIP_MS):
        who = departure.participant.name
        if departure.why == "poll-timeout":
            why = f"{who} had not called poll() since its assignment in the previous rebalance"
            yield from _since_round(bare, timeouts.POLL, departure.at, before, clock, why)
        elif departure.why in ("session-expired", "expelled"):
            why = f"{who} had sent no heartbeat since the previous rebalance, and its session expired"
            late = clock.values[timeouts.HEARTBEAT][0][0]
            yield from _since_round(bare, timeouts.SESSION, departure.at, before, clock, why, late)


def _by_barrier(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    """Yield an explanation if the previous join phase lasted for a whole timeout and the next started right after."""
    if before.stabilized_at is None or after.started_at - before.stabilized_at > ROUND_TRIP_MS:
        return
    stood_open = before.stabilized_at - before.started_at
    connect = clock.timeline.kind == "connect"
    for setting in (timeouts.REBALANCE if connect else timeouts.POLL, timeouts.INITIAL_DELAY):
        fit = clock.fits(setting, stood_open)
        if fit is not None and (setting != timeouts.INITIAL_DELAY or clock.formed(before)):
            yield _spacing(
                bare, setting, fit, "the previous join phase lasted that long, and the next one began at once"
            )


def _by_number(bare: Spacing, before: Round, after: Round, clock: _Clock) -> Iterator[Spacing]:
    why = "the interval equals the setting; the logs show no other link"
    for setting in _settings_of_kind(clock.timeline):
        found = _since_round(bare, setting, after.started_at, before, clock, why)
        yield from (spacing for spacing in found if (spacing.value_ms or 0) >= HEARTBEAT_MS)


def _settings_of_kind(timeline: Timeline) -> tuple[str, ...]:
    """Return the settings that can cause regular rebalances in this kind of group, most specific first."""
    first = {"streams": (timeouts.PROBING,), "connect": (timeouts.CONNECT_DELAY,)}.get(timeline.kind, ())
    return (*first, timeouts.POLL, timeouts.SESSION, timeouts.REQUEST, timeouts.HEARTBEAT)


def _timer_starts(before: Round) -> list[int]:
    """Return the times in the previous round at which a timer may have started, latest first."""
    marks = (before.completed_at, before.stabilized_at, before.started_at)
    return list(dict.fromkeys(at for at in marks if at is not None))


# KIP-394: every new member has to rejoin once with the id that it gets; that is not a failure.
ROUND_TRIP = "MEMBER_ID_REQUIRED"
_WHY = {
    "UNKNOWN_MEMBER_ID": "the coordinator no longer knew the member: it had been removed, or its id was an old one",
    "ILLEGAL_GENERATION": "the group had moved on to a later generation",
    "NOT_COORDINATOR": "the broker was no longer the group's coordinator",
    # GroupMetadataManager.storeGroup returns it if the append lacks replicas or times out.
    "COORDINATOR_NOT_AVAILABLE": "the coordinator could not write to __consumer_offsets, or was shutting down",
    "COORDINATOR_LOAD_IN_PROGRESS": "the new coordinator was still loading the group",
    "FENCED_INSTANCE_ID": "another running member uses the same group.instance.id",
    "GROUP_MAX_SIZE_REACHED": "the group was full",
    "INCONSISTENT_GROUP_PROTOCOL": "the member and the group have no assignor or protocol type in common",
    "GROUP_AUTHORIZATION_FAILED": "the member may not use the group",
    "TOPIC_AUTHORIZATION_FAILED": "the member may not use the topic",
    "REQUEST_TIMED_OUT": "the coordinator could not write to __consumer_offsets in time",
    "NETWORK_EXCEPTION": "the connection to the coordinator broke",
}
Failed = ev.JoinFailed | ev.SyncFailed
# Only a member that sent LeaveGroup left; others were removed by the coordinator or are just missing.
DEPARTED: Mapping[DepartureWhy, str] = {
    "poll-timeout": "left (poll timeout)",
    "unsubscribed": "left (unsubscribed)",
    "closed": "left (closed)",
    "left": "left",
    "session-expired": "was removed (session expired)",
    "rebalance-timeout": "was removed (rebalance timeout)",
    "sync-timeout": "was removed (no SyncGroup in time)",
    "revocation-timeout": "was fenced (revoked too slowly)",
    "fenced": "was fenced",
    "removed-by-admin": "was removed by an administrator",
    "expelled": "was removed",
    "died": "died",
    "vanished": "was missing",
}


def patterns_of(timeline: Timeline) -> Reading:
    """Return the leadership, bursts, intervals and participants of the group's rebalances."""
    rounds = rounds_of(timeline)
    return Reading(
        leadership=leadership_of(rounds),
        close_together=bursts_of(timeline, rounds),
        spacings=tuple(s for s in spacings(timeline, rounds) if s.evenly or s.setting is not None),
        participants=participants_of(rounds),
    )


def participants_of(rounds: Sequence[Round]) -> tuple[Participation, ...]:
    """Return the leader and members of each rebalance, compared with the previous one with known members."""
    found = []
    shared = shared_names(rounds)
    before: dict[str, str | None] | None = None
    for each in rounds:
        now = None if each.members is None else distinct_names(each.members, shared)
        former, current = before or {}, now or {}
        compared = now is not None and before is not None
        found.append(
            Participation(
                generation=each.generation,
                at=each.started_at,
                leader=each.leader,
                members=None if now is None else tuple(sorted(now)),
                missing=tuple(sorted(former.keys() - current.keys(), key=natural)) if compared else (),
                new=tuple(sorted(current.keys() - former.keys(), key=natural)) if compared else (),
                renewed=tuple(
                    sorted(
                        (n for n in current if current[n] and former.get(n) and current[n] != former[n]), key=natural
                    )
                ),
                consumers=each.consumers,
                clients=each.clients,
            )
        )
        before = before if now is None else now
    return tuple(found)


def leadership_of(rounds: Sequence[Round]) -> Leadership:
    """Return the changes of the leader, and whether it was stable."""
    known = [r for r in rounds if r.leader is not None]
    changes = tuple(
        LeaderChange(
            generation=after.generation,
            at=after.started_at,
            before=before.leader,
            after=after.leader,
            former_took_part=_took_part(before.leader, before, after),
        )
        for before, after in pairwise(known)
        if before.leader is not None and after.leader is not None and before.leader != after.leader
    )
    return Leadership(changes=changes, stable=not changes if len(known) > 1 else None)


def _took_part(name: str, before: Round, after: Round) -> bool | None:
    """True if a member took part with the member id that it had; a new id means that it had lost its membership."""
    if after.members is None:
        return None
    known = {member for other, member in before.members or () if other == name and member is not None}
    return any(n == name and (not known or member is None or member in known) for n, member in after.members)


def bursts_of(timeline: Timeline, rounds: Sequence[Round]) -> tuple[Burst, ...]:
    """Return the bursts of two or more rebalances."""
    apart = runs(rounds, lambda r: r.started_at, NEXT_HEARTBEAT_MS, until=Round.ended_at)
    bursts = [run for run in apart if len(run) > 1]
    if not bursts:
        return ()
    failures = (
        event
        for event in timeline.of(ev.JoinFailed, ev.SyncFailed)
        if isinstance(event, Failed) and event.error != ROUND_TRIP and event.at is not None
    )
    failed = TimeIndex(failures, time_of, ordered=True)
    return tuple(_burst(timeline, run, failed) for run in bursts)


def _burst(timeline: Timeline, run: Sequence[Round], failed: TimeIndex[Failed]) -> Burst:
    begin, end = run[0].started_at, max(r.ended_at() for r in run)
    explained = [r for r in run if r.reason]
    return Burst(
        generations=tuple(r.generation for r in run),
        started_at=begin,
        ended_at=EpochMs(end),
        rebalances=len(run),
        reasons=tuple(_trigger_of(timeline, before, after) for before, after in pairwise(run)),
        failures=_counted_by_kind(
            _attempt(timeline, e, explained) for e in failed.between(begin - ROUND_TRIP_MS, end + ROUND_TRIP_MS)
        ),
    )


def _trigger_of(timeline: Timeline, before: Round, after: Round) -> str | None:
    """Return why the later one started: a follow-up, the coordinator's reason, or events of members in between."""
    if after.followup:
        return f"a {after.followup} follow-up of the previous rebalance"
    if after.reason:
        return after.reason
    between = before.started_at + 1, after.stabilized_at or after.started_at
    found = [
        *(f"{d.participant.name} {DEPARTED[d.why]}" for d in timeline.departures.between(*between)),
        *(f"{a.participant.name} joined" for a in timeline.arrivals.between(*between)),
        *(f"a rejoin was requested ({r.reason or r.why})" for r in timeline.requests.between(*between)),
    ]
    return "; ".join(dict.fromkeys(found)) or None


def _counted_by_kind(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    """Return the first failure of each kind, with its count."""
    kinds: dict[tuple[object, ...], FailedAttempt] = {}
    for attempt in attempts:
        kind = (attempt.who, attempt.api, attempt.generation, attempt.error, attempt.why)
        known = kinds.get(kind)
        kinds[kind] = attempt if known is None else replace(known, times=known.times + 1)
    return tuple(kinds.values())


def _attempt(timeline: Timeline, event: Failed, explained: Sequence[Round]) -> FailedAttempt:
    assert event.at is not None
    participant = timeline.participants.of_speaker(event)
    return FailedAttempt(
        at=event.at,
        who=event.speaker.client_id
        or (member_name(event.member) if event.member else participant.name if participant else None),
        api="SyncGroup" if isinstance(event, ev.SyncFailed) else "JoinGroup",
        generation=event.generation,
        error=event.error,
        why=_why(event, explained),
        evidence=evidence_of(event),
    )


def _why(event: Failed, explained: Sequence[Round]) -> str:
    if event.error == "REBALANCE_IN_PROGRESS":
        which = f" of generation {event.generation}" if event.generation and event.generation > 0 else ""
        later = bisect_left(explained, (event.at or 0) - ROUND_TRIP_MS, key=lambda r: r.started_at)
        began = f" ({explained[later].reason})" if later < len(explained) else ""
        return f"another rebalance had begun before the assignment{which} reached this member{began}"
    return _WHY.get(event.error or "") or event.detail or "no reason was logged"
