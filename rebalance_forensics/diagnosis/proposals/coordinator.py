"""The coordinator: it moved to another broker, or could not write to `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_forensics.diagnosis.advice.brokers import repair_broker, replicate_offsets, restart_brokers_cleanly
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_move import UNNAMED, CoordinatorMove, ShownBy
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import (
    is_planned_handover,
    shutdown_fault,
    was_fenced,
    whole_cluster_stopped,
    without_coordinator_ms,
)
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_silences import CoordinatorSilence
from rebalance_forensics.diagnosis.episodes.coordinator.move_effects import effects_of_moves
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import (
    OFFSETS,
    Outage,
    moves_in_outage,
    rebalances_in_outage,
)
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, Sign, stated
from rebalance_forensics.diagnosis.signs.coordinator import (
    ANSWERED,
    FOUND_ANOTHER,
    LOADED,
    LOST_BY_MOST,
    REFUSED_A_STARTER,
    REFUSED_AGAIN,
    SUCCEEDED,
    UNLOADED,
)
from rebalance_forensics.diagnosis.wording.culprits import broker
from rebalance_forensics.diagnosis.wording.durations import lasting
from rebalance_forensics.events.coordinator import CoordinatorLost, GroupLoaded
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import shown_session_ms
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

REFUSED = stated("offsets-write-refused", present=f"writes to {OFFSETS} were rejected again and again")
TOO_FEW = stated("too-few-replicas", present=f"a broker logged too few in-sync replicas of {OFFSETS}")
_GAVE_UP: Mapping[str | None, str] = {
    "log directories": "; the broker shut down because all of its log directories had failed",
    "fatal fault": "; the broker shut down after a fatal error",
}
_STOPPED = "stopped coordinating the group"
_WITHOUT_A_MOVE: Mapping[Sign, str] = {
    ANSWERED: "answered that it did not coordinate the group",
    REFUSED_A_STARTER: "answered that it did not coordinate the group",
    REFUSED_AGAIN: "refused every attempt to join or commit: it does not coordinate the group",
}


STOOD_STILL = stated(
    "coordinator-stood-still",
    present="it logged nothing for several times the rebalance timeout, after which it removes members that wait",
)


def about_silence(timeline: Timeline, silence: CoordinatorSilence) -> Hypothesis:
    """The coordinator stood still with a rebalance open; its members waited, and were removed when it woke up."""
    number, rebalances = silence.removal.speaker.broker, silence.disturbed(timeline)
    end = silence.rebalance.started_at + silence.open_ms
    removed = timeline.departures.between(silence.rebalance.started_at, end)
    name = "The coordinator" if number is None else f"broker-{number}"
    return Hypothesis(
        because=silence.lines,
        culprits=() if number is None else (broker(number),),
        answers={STOOD_STILL: Present(silence.lines)},
        severity="warning",
        onset=silence.rebalance.started_at,
        explains=tuple(rebalances),
        implies=(*removed, *timeline.departures.between(end, end + ONE_REBALANCE_MS)),
        narrative=(
            f"{name} logged nothing{lasting(timeline.measured(silence.open_ms))} while a rebalance was open, and"
            " removed the members that had not rejoined as soon as it logged again. Members cannot hold up a rebalance"
            f" past its timeout{lasting(timeline.measured(silence.timeout_ms), ' ({} in other rebalances)')}: its"
            " process or host stood still."
        ),
        advice=(
            Advice(
                action="Find out what stopped that broker then: a suspended or migrated virtual machine, a host that "
                "slept, a full garbage collection, a blocked disk.",
                why="Every group that it coordinates waits meanwhile.",
            ),
        ),
    )


def about_moves(timeline: Timeline, chain: list[CoordinatorMove]) -> Hypothesis:
    """One broker after another stopped coordinating the group."""
    names = list(dict.fromkeys(m.broker for m in chain))
    facts = effects_of_moves(timeline, chain)
    named = [n for n in names if n != UNNAMED]
    planned = len(named) > 1 and not any(timeline.pauses.any_between(m.at, m.at + ONE_REBALANCE_MS) for m in chain)
    unharmed, shown = "" if facts else " without a rebalance", _shown(chain)
    stopped = _STOPPED + _taken_over(chain, in_turn=len(names) > 1)
    effect = _WITHOUT_A_MOVE.get(shown, stopped + unharmed)
    fenced, fault, loaded = was_fenced(chain), shutdown_fault(chain), _loaded_by(chain)
    again = len(names) == 1 and bool(loaded) and all(before == after for before, after in loaded)
    # A controller fences a broker long after it went silent: only members tell since when they could not reach it.
    timed = not fenced or any(e.speaker.role != "broker" for m in chain for e in m.events)
    without_ms = max(without_coordinator_ms(chain), _unanswered_ms(timeline, chain)) if timed else None
    return Hypothesis(
        because=tuple(e for m in sorted(chain, key=lambda m: m.shown_by != "load") for e in m.events),
        culprits=tuple(broker(n) for n in sorted(named)),
        answers={shown: Present(chain[0].events)},
        severity="info"
        if planned
        or shown is REFUSED_A_STARTER
        or is_planned_handover(chain, facts)
        or whole_cluster_stopped(timeline, chain)
        else "warning",
        onset=chain[0].at,
        implies=facts,
        narrative=_not_served(chain, unharmed)
        or f"{_capital(_named(names, shown))} {effect}{_GAVE_UP.get(fault, '')}.",
        advice=repair_broker(fault)
        if fault is not None
        else restart_brokers_cleanly(timeline.measured(without_ms) if without_ms else None, fenced=fenced, again=again),
    )


def _named(names: Sequence[str], shown: Sign) -> str:
    if names == [UNNAMED] and shown in _WITHOUT_A_MOVE:
        return "the broker that a member was sent to"
    return " then ".join(names)


def _not_served(chain: list[CoordinatorMove], unharmed: str) -> str:
    """What happened where the coordinator ran all the while; empty where it did not."""
    serving = dict.fromkeys(move.served_by for move in chain if move.served_by is not None)
    if not serving or any(move.served_by is None for move in chain):
        return ""
    out = " then ".join(dict.fromkeys(move.broker for move in chain))
    return f"{' and '.join(serving)} could not serve the group while {out} was out{unharmed}."


def _unanswered_ms(timeline: Timeline, chain: list[CoordinatorMove]) -> int:
    """Longest time without an answered heartbeat, as members log it; 0 if none does."""
    lost = [e for move in chain for e in move.events if isinstance(e, CoordinatorLost)]
    unanswered = any("session timed out" in (e.cause or "") for e in lost)
    return shown_session_ms(timeline) or 0 if unanswered else 0


def _taken_over(chain: list[CoordinatorMove], *, in_turn: bool) -> str:
    """The next coordinators, from the lines of brokers that loaded the group."""
    by = _loaded_by(chain)
    if not by:
        return ""
    if all(before == after for before, after in by):
        return " and took it over again" if not in_turn else "; each took it over again"
    if in_turn:
        return "; each time another broker took over"
    return f"; {by[0][1]} took over" if by[0][0] == UNNAMED else "; another broker took over"


def _capital(names: str) -> str:
    """At the start of a sentence; the name of a broker stays as it is."""
    return names if names.startswith("broker-") else names[:1].upper() + names[1:]


def _loaded_by(chain: list[CoordinatorMove]) -> list[tuple[str, str]]:
    """The former and the new coordinator of each move that a broker logged."""
    return [
        (m.broker, f"broker-{e.speaker.broker}")
        for m in chain
        if m.shown_by == "load"
        for e in m.events
        if isinstance(e, GroupLoaded)
    ]


def _shown(chain: list[CoordinatorMove]) -> Sign:
    by = {m.shown_by for m in chain}
    shown: dict[ShownBy, Sign] = {
        "load": LOADED, "losses": LOST_BY_MOST, "another": FOUND_ANOTHER, "unload": UNLOADED, "succession": SUCCEEDED,
        "answer": ANSWERED, "refusals": REFUSED_AGAIN,
    }  # fmt: skip
    return next((sign for kind, sign in shown.items() if kind in by), REFUSED_A_STARTER)


def about_outage(timeline: Timeline, outage: Outage) -> Hypothesis:
    """Assignments or commits could not be stored."""
    short = (*outage.shrunk, *outage.insufficient)
    culprits = tuple(broker(number) for number in outage.missing)
    were = "was" if len(culprits) == 1 else "were"
    missing = f"; {', '.join(c.name for c in culprits)} {were} missing from its in-sync replicas." if culprits else "."
    moves = with_rebalances(timeline, moves_in_outage(timeline, outage))
    return Hypothesis(
        because=outage.lines,
        culprits=culprits,
        answers={REFUSED: Present(outage.refused)} | ({TOO_FEW: Present(short)} if short else {}),
        severity="critical",
        onset=outage.begin,
        implies=(*moves, *rebalances_in_outage(timeline, outage)),
        narrative=f"{_outage_in_words(outage)}{missing}",
        advice=replicate_offsets(outage.refused),
    )


def _outage_in_words(outage: Outage) -> str:
    if outage.stored_no_assignment:
        failed = f"the group's assignment to {OFFSETS}: every rebalance failed and started over"
    elif any(isinstance(e, OffsetCommitFailed) for e in outage.refused):
        failed = f"to {OFFSETS}: offset commits failed"
    else:
        failed = f"to the group's partition of {OFFSETS}: no assignment or offset could be stored"
    return f"The coordinator could not write {failed}"
