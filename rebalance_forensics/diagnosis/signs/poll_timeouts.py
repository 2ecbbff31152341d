"""What shows a poll timeout that no line names: only the search for poll timeouts can answer."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated

SAME_PROCESS = stated("left-and-rejoined-by-itself", present="it left and rejoined on its own, as the same process")
BY_TURNS = stated(
    "left-and-came-back", present="it left without a stated reason and came back, and no deployment did it"
)

OUT_OF_REACH = stated(
    "broker-out-of-reach",
    present="a broker was out of reach when this one member stopped polling, which may be chance",
)

IMPLAUSIBLE = stated(
    "poll-timeout-implausible",
    present="its poll timeout expired, and by more than any poll loop takes: a stalled loop, a suspended host or a bug "
    "of the client's timer",
)

HOW: Mapping[str, Sign] = {"same-process": SAME_PROCESS, "by-turns": BY_TURNS}


def shown_by(slow: PollTimeouts) -> dict[Sign, Answer]:
    """How they came back; where a line names the poll timeout, or nothing shows it, other signs answer."""
    if slow.implausible_ms is not None:
        return {IMPLAUSIBLE: Present(slow.lines)}
    return {HOW[slow.shown]: Present(slow.lines)} if slow.shown in HOW else {}
