"""The same incident under another protocol: which of its pauses would have been spared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter

from rebalance_forensics.diagnosis.absences import seconds
from rebalance_forensics.diagnosis.model import WhatIf
from rebalance_forensics.diagnosis.static_membership import every_client_tells, static_membership
from rebalance_forensics.events.partitions import PartitionsAssigned
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import Pause
from rebalance_forensics.timeline.time_index import InTime

COOPERATIVE = "cooperative rebalancing"
KIP_848 = "the KIP-848 protocol (group.protocol=consumer)"
SLACK_MS = 1_500
PLANNED_WHOLE = frozenset({"startup", "shutdown", "offsets-expired"})
"""Nobody keeps partitions when everybody comes or goes, so no protocol spares anything."""


@dataclass(frozen=True, slots=True)
class PauseShare:
    """One pause of the incident, and which of its partitions the same member got back at its end."""

    pause: Pause
    ms: int
    kept: int
    moved: int

    def kept_ms(self) -> int:
        """The part of the pause for partitions that only left to come back; all of it when none moved."""
        whole = self.kept + self.moved
        return round(self.ms * self.kept / whole) if whole else 0


def alternatives(
    timeline: Timeline, started: int, ended: int, causes: Sequence[str], rebalances: Sequence[Rebalance]
) -> tuple[WhatIf, ...]:
    """What cooperative rebalancing, static membership and KIP-848 would have spared; what is in use is left out."""
    if not rebalances or PLANNED_WHOLE.issuperset(causes):
        return ()
    shares = pause_shares(timeline, started, ended)
    static = static_membership(timeline, started, ended, rebalances, [s.pause for s in shares])
    found = [static] if static is not None else []
    plain = timeline.kind == "consumer" and timeline.protocol == "classic"
    if plain and (shares or not every_client_tells(timeline)):
        found.append(_kip_848(timeline, shares, rebalances))
        if timeline.mode == "eager":
            found.insert(0, _cooperative(shares, rebalances))
    return tuple(found)


def pause_shares(timeline: Timeline, started: int, ended: int) -> list[PauseShare]:
    """The pauses that overlap the incident, each with what came back."""
    given = timeline.remembered(_given)
    mine = timeline.pauses.touching(started, ended + SLACK_MS)
    return [_share(p, given.get((p.client_id, p.ended_at)), ended) for p in mine]


def _given(timeline: Timeline) -> dict[tuple[str | None, EpochMs | None], PartitionsAssigned]:
    return {(e.speaker.client_id, e.at): e for e in timeline.of(PartitionsAssigned)}


def _share(pause: Pause, given: PartitionsAssigned | None, ended: int) -> PauseShare:
    # A member that lost its partitions was out of the group: no protocol lets it keep them.
    kept = len({*given.partitions} & {*pause.partitions}) if given is not None and pause.kind == "revoked" else 0
    ms = (pause.ended_at or max(ended, pause.started_at)) - pause.started_at
    return PauseShare(pause, ms, kept, len(pause.partitions) - kept)


def _cooperative(shares: Sequence[PauseShare], rebalances: Sequence[Rebalance]) -> WhatIf:
    if not shares:
        return WhatIf(alternative=COOPERATIVE, spared_pause_ms=None, explanation=_unseen(rebalances))
    return WhatIf(
        alternative=COOPERATIVE,
        spared_pause_ms=sum(s.kept_ms() for s in shares),
        explanation=f"{_kept_sentence(shares)} Partitions that move would wait for one more rebalance each time.",
    )


def _kip_848(timeline: Timeline, shares: Sequence[PauseShare], rebalances: Sequence[Rebalance]) -> WhatIf:
    if not shares:
        return WhatIf(alternative=KIP_848, spared_pause_ms=None, explanation=_unseen(rebalances))
    kept = sum(s.kept_ms() for s in shares)
    phases = InTime(_merged(sorted(_join_phases(rebalances))), at=itemgetter(1))
    waited = sum(_waited(s, phases) for s in shares)
    barrier = (
        f" The rest of the pauses spent {seconds(waited)} waiting for other members to join, and KIP-848 has no join "
        "barrier."
        if waited
        else " No pause of moved partitions waited in a join phase."
    )
    opening = _kept_sentence(shares) if timeline.mode == "eager" else f"{_counted(shares)}."
    return WhatIf(alternative=KIP_848, spared_pause_ms=kept + waited, explanation=opening + barrier)


def _waited(share: PauseShare, phases: InTime[tuple[int, int]]) -> int:
    """How long the join barrier was the reason why moved or lost partitions stood still."""
    begin, end = share.pause.started_at, share.pause.started_at + share.ms
    during = takewhile(lambda phase: phase[0] < end, phases.onwards(begin))
    inside = sum(min(end, stop) - max(begin, start) for start, stop in during)
    whole = share.kept + share.moved
    return round(inside * share.moved / whole) if whole else 0


def _join_phases(rebalances: Sequence[Rebalance]) -> Iterator[tuple[int, int]]:
    known = ((r.started_at, r.stabilized_at) for r in rebalances if r.stabilized_at is not None)
    return ((start, stop) for start, stop in known if stop > start)


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, stop in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((start, stop))
    return found


def _kept_sentence(shares: Sequence[PauseShare]) -> str:
    whole = [s for s in shares if s.kept and not s.moved]
    partly = [s for s in shares if s.kept and s.moved]
    total = sum(s.ms for s in shares)
    if not whole and not partly:
        return f"{_counted(shares)}; in none did the member get partitions of its own back."
    text = f"{_counted(shares)}; in {len(whole)} the member got exactly its own partitions back"
    if partly:
        text += f" and in {len(partly)} some of them, counted by their share"
    return f"{text}: {seconds(sum(s.kept_ms() for s in shares))} of {seconds(total)} would have been spared."


def _counted(shares: Sequence[PauseShare]) -> str:
    return f"The logs show {len(shares)} {'pause' if len(shares) == 1 else 'pauses'}"


def _unseen(rebalances: Sequence[Rebalance]) -> str:
    known = [(r.completed_at or r.ended_at()) - r.started_at for r in rebalances]
    return (
        f"No client log shows partitions revoked or lost here, so no pause can be computed; the {len(known)} "
        f"{'rebalance' if len(known) == 1 else 'rebalances'} took {seconds(sum(known))}."
    )
