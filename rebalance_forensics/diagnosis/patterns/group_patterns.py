"""The three things to look at in a rebalancing group: who leads, when, and who takes part."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TypeGuard

from msgspec.structs import replace

from rebalance_forensics.diagnosis.patterns.rebalance_intervals import spacings_of
from rebalance_forensics.diagnosis.patterns.rebalance_rounds import (
    Round,
    distinct_names,
    member_name,
    rounds_of,
    shared_names,
)
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import JoinFailed, SyncFailed
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.facts import DepartureWhy
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Burst, FailedAttempt, LeaderChange, Leadership, Participation, Reading
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS, ROUND_TRIP_MS

# KIP-394: every newcomer is sent back once for its id; that is no failure.
ROUND_TRIP = "MEMBER_ID_REQUIRED"
_WHY = {
    "UNKNOWN_MEMBER_ID": "the coordinator no longer knew the member: it had been removed, or its id was an old one",
    "ILLEGAL_GENERATION": "the group had moved on to a later generation",
    "NOT_COORDINATOR": "the broker was no longer the group's coordinator",
    # GroupMetadataManager.storeGroup returns it when the append lacks replicas or times out.
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
Failed = JoinFailed | SyncFailed
# Times, and what happened then, in words.
Moves = tuple[Sequence[int], Sequence[str]]
# Only a member that sent LeaveGroup left; the others were removed by the coordinator, or are merely missing.
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


def tips(timeline: Timeline) -> Reading:
    """All three, from one walk over the rebalances."""
    rounds = rounds_of(timeline)
    return Reading(
        leadership=leadership_of(rounds),
        close_together=close_together_of(timeline, rounds),
        spacings=tuple(s for s in spacings_of(timeline, rounds) if s.evenly or s.setting is not None),
        participants=participants_of(rounds),
    )


def participants(timeline: Timeline) -> tuple[Participation, ...]:
    """Every rebalance with its leader and its members."""
    return participants_of(rounds_of(timeline))


def leadership(timeline: Timeline) -> Leadership:
    """Stability of the leadership, and every move of it."""
    return leadership_of(rounds_of(timeline))


def participants_of(rounds: Sequence[Round]) -> tuple[Participation, ...]:
    """Participants of rounds already known."""
    found = []
    shared = shared_names(rounds)
    before: dict[str, str | None] | None = None
    for each in rounds:
        now = None if each.members is None else distinct_names(each.members, shared)
        found.append(_compared(each, now, before))
        before = before if now is None else now
    return tuple(found)


def _compared(each: Round, now: dict[str, str | None] | None, before: dict[str, str | None] | None) -> Participation:
    return Participation(
        generation=each.generation,
        at=each.started_at,
        leader=each.leader,
        members=None if now is None else tuple(sorted(now)),
        missing=tuple(sorted(before.keys() - now.keys())) if now is not None and before is not None else (),
        new=tuple(sorted(now.keys() - before.keys())) if now is not None and before is not None else (),
        renewed=_renewed(now, before) if now and before else (),
        consumers=each.consumers,
        clients=each.clients,
    )


def _renewed(now: dict[str, str | None], before: dict[str, str | None]) -> tuple[str, ...]:
    both = now.keys() & before.keys()
    return tuple(sorted(n for n in both if now[n] and before[n] and now[n] != before[n]))


def leadership_of(rounds: Sequence[Round]) -> Leadership:
    """Leadership of rounds already known."""
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
    """True if a member took part under the id it had; under a new id it had lost its membership."""
    if after.members is None:
        return None
    known = {member for other, member in before.members or () if other == name and member is not None}
    return any(n == name and (not known or member is None or member in known) for n, member in after.members)


def close_together(timeline: Timeline) -> tuple[Burst, ...]:
    """Every burst of two rebalances or more."""
    return close_together_of(timeline, rounds_of(timeline))


def close_together_of(timeline: Timeline, rounds: Sequence[Round]) -> tuple[Burst, ...]:
    """Bursts of rounds already known."""
    runs: list[list[Round]] = []
    for each in rounds:
        if runs and each.started_at - runs[-1][-1].ended_at() <= NEXT_HEARTBEAT_MS:
            runs[-1].append(each)
        else:
            runs.append([each])
    bursts = [run for run in runs if len(run) > 1]
    if not bursts:
        return ()
    moves = _moves(timeline)
    failed = [e for e in timeline.of(JoinFailed, SyncFailed) if _is_failure(e)]
    times = [e.at or 0 for e in failed]
    return tuple(_burst(timeline, run, moves, failed[slice(*_during(times, run))]) for run in bursts)


def _is_failure(event: Event) -> TypeGuard[Failed]:
    return isinstance(event, JoinFailed | SyncFailed) and event.error != ROUND_TRIP and event.at is not None


def _during(times: Sequence[int], run: Sequence[Round]) -> tuple[int, int]:
    end = max(r.ended_at() for r in run)
    return bisect_left(times, run[0].started_at - ROUND_TRIP_MS), bisect_right(times, end + ROUND_TRIP_MS)


def _burst(timeline: Timeline, run: Sequence[Round], moves: Sequence[Moves], failed: Sequence[Failed]) -> Burst:
    explained = [r for r in run if r.reason]
    return Burst(
        generations=tuple(r.generation for r in run),
        started_at=run[0].started_at,
        ended_at=EpochMs(max(r.ended_at() for r in run)),
        rebalances=len(run),
        reasons=tuple(_began(moves, before, after) for before, after in pairwise(run)),
        failures=_folded(_attempt(timeline, e, explained) for e in failed),
    )


def _moves(timeline: Timeline) -> tuple[Moves, ...]:
    """Departures, arrivals and requests, each in order of time."""
    asked = sorted(timeline.requests, key=lambda r: r.at)
    return (
        (
            [d.at for d in timeline.departures],
            [f"{d.participant.name} {DEPARTED[d.why]}" for d in timeline.departures],
        ),
        ([a.at for a in timeline.arrivals], [f"{a.participant.name} joined" for a in timeline.arrivals]),
        ([r.at for r in asked], [f"a rejoin was requested ({r.reason or r.why})" for r in asked]),
    )


def _began(moves: Sequence[Moves], before: Round, after: Round) -> str | None:
    """Why the later one began: a follow-up, the coordinator's words, or what happened to members in between."""
    if after.followup:
        return f"a {after.followup} follow-up of the previous rebalance"
    if after.reason:
        return after.reason
    begin, end = before.started_at, after.stabilized_at or after.started_at
    found = chain.from_iterable(words[bisect_right(at, begin) : bisect_right(at, end)] for at, words in moves)
    return "; ".join(dict.fromkeys(found)) or None


def _folded(attempts: Iterable[FailedAttempt]) -> tuple[FailedAttempt, ...]:
    """The first of each kind, and how often it happened."""
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
        api="SyncGroup" if isinstance(event, SyncFailed) else "JoinGroup",
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
