"""Rebalances within seconds of each other: what failed in between, and why the next one began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebalance_forensics.diagnosis.rounds import Round, member_name, rounds_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalancing import JoinFailed, SyncFailed
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.build import Timeline

SECONDS_MS = 5_000
SLACK_MS = 500
ROUND_TRIP = "MEMBER_ID_REQUIRED"
"""KIP-394: every newcomer is sent back once for its id; that is no failure."""

_WHY = {
    "UNKNOWN_MEMBER_ID": "the coordinator no longer knew the member: it had been removed, or its id was an old one",
    "ILLEGAL_GENERATION": "the group had moved on to a later generation",
    "NOT_COORDINATOR": "the broker was no longer the group's coordinator",
    "COORDINATOR_NOT_AVAILABLE": "the group had no coordinator at that moment",
    "COORDINATOR_LOAD_IN_PROGRESS": "the new coordinator was still loading the group",
    "FENCED_INSTANCE_ID": "another live member uses the same group.instance.id",
    "GROUP_MAX_SIZE_REACHED": "the group was full",
    "INCONSISTENT_GROUP_PROTOCOL": "the member and the group have no assignor or protocol type in common",
    "GROUP_AUTHORIZATION_FAILED": "the member may not use the group",
    "TOPIC_AUTHORIZATION_FAILED": "the member may not use the topic",
    "REQUEST_TIMED_OUT": "the coordinator could not write to __consumer_offsets in time",
    "NETWORK_EXCEPTION": "the connection to the coordinator broke",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """A JoinGroup or SyncGroup that failed between two rebalances."""

    at: EpochMs
    who: str | None
    api: str
    generation: int | None
    error: str | None
    why: str
    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Rebalances one right after the other. `reasons` holds, for each but the first, why it began."""

    generations: tuple[int | None, ...]
    started_at: EpochMs
    ended_at: EpochMs
    rebalances: int
    reasons: tuple[str | None, ...]
    failures: tuple[FailedAttempt, ...]


def close_together(timeline: Timeline) -> tuple[Burst, ...]:
    """Every burst of two rebalances or more."""
    return close_together_of(timeline, rounds_of(timeline))


def close_together_of(timeline: Timeline, rounds: Sequence[Round]) -> tuple[Burst, ...]:
    """The same, of rounds already known."""
    runs: list[list[Round]] = []
    for each in rounds:
        if runs and each.started_at - runs[-1][-1].ended_at() <= SECONDS_MS:
            runs[-1].append(each)
        else:
            runs.append([each])
    failed = [e for e in timeline.of(JoinFailed, SyncFailed) if e.at is not None and _is_failure(e)]
    return tuple(_burst(timeline, run, failed) for run in runs if len(run) > 1)


def _is_failure(event: Event) -> bool:
    return isinstance(event, JoinFailed | SyncFailed) and event.error != ROUND_TRIP


def _burst(timeline: Timeline, run: Sequence[Round], failed: Sequence[Event]) -> Burst:
    begin, end = run[0].started_at - SLACK_MS, run[-1].ended_at() + SLACK_MS
    mine = [e for e in failed if begin <= (e.at or 0) <= end]
    return Burst(
        generations=tuple(r.generation for r in run),
        started_at=run[0].started_at,
        ended_at=EpochMs(max(r.ended_at() for r in run)),
        rebalances=len(run),
        reasons=tuple(_began(timeline, before, after) for before, after in pairwise(run)),
        failures=tuple(_attempt(timeline, e, run) for e in mine),
    )


def _began(timeline: Timeline, before: Round, after: Round) -> str | None:
    """Why the later one began: a follow-up, the coordinator's words, or what happened to members in between."""
    if after.followup:
        return f"a {after.followup} follow-up of the rebalance before"
    if after.reason:
        return after.reason
    begin, end = before.started_at, after.stabilized_at or after.started_at
    went = [f"{d.actor.name} left ({d.why})" for d in timeline.departures if begin < d.at <= end]
    came = [f"{a.actor.name} joined" for a in timeline.arrivals if begin < a.at <= end]
    asked = [f"a rejoin was requested ({r.reason or r.why})" for r in timeline.requests if begin < r.at <= end]
    return "; ".join(dict.fromkeys([*went, *came, *asked])) or None


def _attempt(timeline: Timeline, event: Event, run: Sequence[Round]) -> FailedAttempt:
    assert isinstance(event, JoinFailed | SyncFailed)
    assert event.at is not None
    actor = timeline.cast.of_speaker(event)
    return FailedAttempt(
        at=event.at,
        who=event.speaker.client_id or (member_name(event.member) if event.member else actor.name if actor else None),
        api="SyncGroup" if isinstance(event, SyncFailed) else "JoinGroup",
        generation=event.generation,
        error=event.error,
        why=_why(event, run),
        path=event.origin.path,
        line=event.origin.line,
    )


def _why(event: JoinFailed | SyncFailed, run: Sequence[Round]) -> str:
    if event.error == "REBALANCE_IN_PROGRESS":
        which = f" of generation {event.generation}" if event.generation and event.generation > 0 else ""
        later = next((r for r in run if r.started_at >= (event.at or 0) - SLACK_MS and r.reason), None)
        began = f" ({later.reason})" if later is not None else ""
        return f"another rebalance had begun before the assignment{which} reached this member{began}"
    return _WHY.get(event.error or "") or event.detail or "the line gives no reason"
