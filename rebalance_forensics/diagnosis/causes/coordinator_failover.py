"""The coordinator broker died, froze, restarted or handed the group over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rebalance_forensics.diagnosis.behind import Link, advice_on
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import (
    Downtime,
    behind_lost_session,
    coordinator_silences,
    log_of_broker,
    log_of_its_end,
    outages_between,
)
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import (
    ANSWERED,
    BETWEEN,
    EVIDENCE,
    LOADED,
    REFUSED_A_STARTER,
    REFUSED_AGAIN,
    CoordinatorMove,
    chains_of_moves,
    effects_of_moves,
    is_planned_handover,
    shutdown_fault,
    whole_cluster_stopped,
    without_coordinator_ms,
)
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import OFFSETS
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import STRONG, Need, Present, Row, clue
from rebalance_forensics.diagnosis.wording.culprits import broker
from rebalance_forensics.diagnosis.wording.durations import capitalized, lasting
from rebalance_forensics.events.coordinator import CoordinatorLost, GroupLoaded
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.membership.lost_membership import ended_its_session
from rebalance_forensics.timeline.timeouts import shown_session_ms
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

STOOD_STILL = clue(
    "coordinator-stood-still",
    STRONG,
    "it logged nothing for several times the rebalance timeout, after which it removes members that wait",
)
_GAVE_UP: Mapping[str | None, str] = {
    "log directories": "; the broker shut down because all of its log directories had failed",
    "fatal fault": "; the broker shut down after a fatal error",
}
_WITHOUT_A_MOVE: Mapping[Row, str] = {
    ANSWERED: "answered that it did not coordinate the group",
    REFUSED_A_STARTER: "answered that it did not coordinate the group",
    REFUSED_AGAIN: "refused every request: it did not coordinate the group at that moment",
    BETWEEN: "could not serve the group: it was stopping, or had not loaded it yet",
}


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Moves of the coordinator after the first generation, and coordinators that stood still.

    Moves of one broker after another are one hypothesis.
    """
    yield from (about_moves(timeline, chain) for chain in chains_of_moves(timeline))
    for silence in coordinator_silences(timeline):
        # It stood still during a rebalance: the members waited, and were removed when it resumed.
        number, begin = silence.removal.speaker.broker, silence.rebalance.started_at
        usual = lasting(timeline.measured(silence.timeout_ms), " ({} in other rebalances)")
        yield Hypothesis(
            because=silence.lines,
            culprits=() if number is None else (broker(number),),
            clues={STOOD_STILL: Present(silence.lines)},
            severity="warning",
            onset=begin,
            explains=tuple(silence.disturbed(timeline)),
            implies=tuple(timeline.departures.between(begin, begin + silence.open_ms + ONE_REBALANCE_MS)),
            narrative=(
                f"{'The coordinator' if number is None else broker_name(number)} logged nothing"
                f"{lasting(timeline.measured(silence.open_ms))} while a rebalance was open, and"
                " removed the members that had not rejoined as soon as it logged again. Members cannot hold up a "
                f"rebalance past its timeout{usual}: its process or host stood still."
            ),
            advice=(STOOD_STILL_ADVICE,),
        )


CAUSE = Cause(
    propose=propose,
    implies=(
        *("network-partition", "process-pause", "process-crash", "slow-processing", "rebalance-straggler"),
        *("scale-out", "startup", "unstable-leader", "enforced-rebalance", "member-left"),
    ),
    lookalikes=("network-partition",),
    # Members whose session expired because the coordinator moved were running.
    silence="fenced",
)


# For a broker that stood still and then resumed.
STOOD_STILL_ADVICE = Advice(
    action="Find out why {who} stood still: a suspended or migrated virtual machine, a host that slept, a full "
    "garbage collection, a blocked disk.",
    why="All groups that it coordinates wait until it runs again.",
)


def about_moves(timeline: Timeline, chain: list[CoordinatorMove]) -> Hypothesis:
    """One or more brokers that stopped coordinating the group, one after another."""
    brokers = list(dict.fromkeys(m.broker for m in chain))
    facts = effects_of_moves(timeline, chain)
    named = [b for b in brokers if b is not None]
    planned = len(named) > 1 and not any(timeline.pauses.any_between(m.at, m.at + ONE_REBALANCE_MS) for m in chain)
    shown = next(row for row in EVIDENCE if any(m.shown_by is row for m in chain))
    planned |= shown is REFUSED_A_STARTER or is_planned_handover(chain, facts) or whole_cluster_stopped(timeline, chain)
    outages = [outage for move in chain for outage in _outages_of(timeline, move)]
    fenced = any(o.is_fenced for o in outages) and all(o.how != "shut-down" for o in outages)
    fault, loaded = shutdown_fault(chain), _loaded_by(chain)
    # A controller fences a broker long after it stopped responding: only members' logs show when that was.
    timed = not fenced or any(e.speaker.role != "broker" for m in chain for e in m.events)
    lost = (e for move in chain for e in move.events if isinstance(e, CoordinatorLost))
    unanswered = any(map(ended_its_session, lost))
    session_ms = shown_session_ms(timeline) or 0 if unanswered else 0
    without_ms = max(without_coordinator_ms(chain), session_ms) if timed else None
    behind = _behind(timeline, chain, outages)
    moved = _move_in_words(chain, brokers, shown, unharmed="" if facts else " without a rebalance")
    return Hypothesis(
        because=tuple(e for m in sorted(chain, key=lambda m: m.shown_by is not LOADED) for e in m.events),
        culprits=tuple(broker(b) for b in sorted(named, key=str)),
        clues={shown: Present(chain[0].events)},
        severity="info" if planned else "warning",
        onset=chain[0].at,
        implies=facts,
        narrative=f"{moved} {behind[-1].why}" if behind and fault is None and len(brokers) == 1 else moved,
        behind=behind,
        unseen=() if behind else tuple(_logs_of_brokers(timeline, chain)),
        advice=(repair_broker(disks=fault == "log directories"),)
        if fault is not None
        else advice_on(behind)
        or restart_brokers_cleanly(
            timeline.measured(without_ms) if without_ms else None,
            fenced=fenced,
            again=len(brokers) == 1 and bool(loaded) and all(before == after for before, after in loaded),
        ),
    )


def _behind(timeline: Timeline, chain: list[CoordinatorMove], outages: Sequence[Downtime]) -> tuple[Link, ...]:
    """The reason why the brokers stopped, from logs of their JVMs and hosts or their lost sessions; may be empty."""
    if links := next((outage.behind for outage in outages if outage.behind), ()):
        return links
    numbered = ((move.broker, move) for move in chain if isinstance(move.broker, int))
    lost = (behind_lost_session(timeline, number, m.at, m.until) for number, m in numbered)
    return next(filter(None, lost), ())


def _logs_of_brokers(timeline: Timeline, chain: list[CoordinatorMove]) -> Iterator[Need]:
    """The missing logs that would show why each broker stopped: its own log, or those of its host or orchestrator."""
    for move in chain:
        if not isinstance(move.broker, int):
            continue
        if (need := log_of_broker(timeline, move.broker, move.at)) is not None:
            yield need
        yield from filter(None, (log_of_its_end(timeline, outage) for outage in _outages_of(timeline, move)))


def _outages_of(timeline: Timeline, move: CoordinatorMove) -> Iterator[Downtime]:
    """The outages at that time of the broker that stopped coordinating."""
    return (outage for outage in outages_between(timeline, move.at, move.at) if outage.broker == move.broker)


def _move_in_words(
    chain: list[CoordinatorMove], brokers: Sequence[int | str | None], shown: Row, *, unharmed: str
) -> str:
    serving = dict.fromkeys(broker_name(move.served_by) for move in chain if move.served_by is not None)
    out = " then ".join(map(broker_name, brokers))
    if serving and all(move.served_by is not None for move in chain):
        return f"{' and '.join(serving)} could not serve the group while {out} was out{unharmed}."
    if brokers == [None] and shown in _WITHOUT_A_MOVE:
        out = "the broker that a member was sent to"
    who = capitalized(out) if brokers[0] is None else out
    stopped = f"stopped coordinating the group{_taken_over(_loaded_by(chain), in_turn=len(brokers) > 1)}{unharmed}"
    return f"{who} {_WITHOUT_A_MOVE.get(shown, stopped)}{_GAVE_UP.get(shutdown_fault(chain), '')}."


def _taken_over(by: Sequence[tuple[int | str | None, int | None]], *, in_turn: bool) -> str:
    """A clause on the next coordinators, from lines of brokers that loaded the group; empty without such lines."""
    if not by:
        return ""
    if all(before == after for before, after in by):
        return " and took it over again" if not in_turn else "; each took it over again"
    if in_turn:
        return "; each time another broker took over"
    former, new = by[0]
    return f"; {broker_name(new if former is None else None)} took over"


def _loaded_by(chain: list[CoordinatorMove]) -> list[tuple[int | str | None, int | None]]:
    """The former and the new coordinator of each move whose new coordinator logged that it loaded the group."""
    return [
        (m.broker, e.speaker.broker)
        for m in chain
        if m.shown_by is LOADED
        for e in m.events
        if isinstance(e, GroupLoaded)
    ]


def restart_brokers_cleanly(without_ms: int | None, *, fenced: bool, again: bool) -> tuple[Advice, ...]:
    """Advice for a coordinator that moved: `fenced` by the controller, or loaded `again` by the same broker."""
    # The time without a coordinator is a lower bound if the broker was fenced, because the controller notices late.
    lasted = lasting(without_ms or None, " for at least {}" if fenced else " for up to {}")
    without = f"The group could not commit or send heartbeats{lasted}"
    replicate = Advice(
        action=f"Check that {OFFSETS} has replicas on several brokers (kafka-topics.sh --describe); "
        "kafka-reassign-partitions.sh adds them.",
        why=f"{'The group waited for the same broker' if fenced else f'{without} until the same broker was back'}; "
        "these logs show no other that took over.",
        cost="Each commit then waits for its replicas.",
    )
    cleanly = Advice(
        action="Restart brokers by controlled shutdown, one at a time.",
        why=f"{without}{',' if lasted else ''} until a coordinator had loaded its metadata.",
        cost="A controlled shutdown takes longer: the broker hands over every partition first.",
    )
    if not fenced:
        return (replicate if again else cleanly,)
    find = Advice(
        action="Find out why {who} stopped sending heartbeats to the controller: a crash, a long pause or the network.",
        why=f"The controller fenced it after broker.session.timeout.ms (9 s by default). {without}.",
    )
    if_meant = Advice(
        action="For a planned stop of {who}, use a controlled shutdown (SIGTERM rather than SIGKILL).",
        why="The broker then hands over its groups before it stops, and nobody waits for its session to expire.",
        cost="It takes longer to stop.",
    )
    return find, replicate if again else if_meant


def repair_broker(*, disks: bool) -> Advice:
    """Advice for a broker that shut down after a fatal error or, with `disks`, after its log directories failed."""
    if disks:
        return Advice(
            action="Free or replace the disk that the first IOException in the log of {who} names, then start it.",
            why="A broker halts when the last of its log directories fails; a full disk is enough.",
        )
    return Advice(
        action="Fix the error that {who} logged just before the shutdown, then start it again.",
        why="A broker halts when it can no longer be sure of its own state; it does so again until that is fixed.",
    )
