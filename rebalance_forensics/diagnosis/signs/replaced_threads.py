"""What shows that stream threads were replaced: only the search for replaced threads can answer."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.replaced_threads import ReplacedThreads
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, Unobservable, stated
from rebalance_forensics.diagnosis.signs.needs import client_log
from rebalance_forensics.timeline.windows import PROCESS_START_MS

HANDLER_REPLACED = stated(
    "handler-replaced-thread", present="the uncaught exception handler of the instance answered REPLACE_THREAD"
)
SUCCESSOR_ADDED = stated(
    "successor-added-at-once", present="a thread was told to stop and its successor was added at once, not by hand"
)
THREADS_SWAPPED = stated(
    "threads-swapped", present="threads of the instance left while others of the same process joined in their place"
)

HOW = {"handler": HANDLER_REPLACED, "successor": SUCCESSOR_ADDED, "swapped": THREADS_SWAPPED}


def shown_by(replaced: ReplacedThreads) -> dict[Sign, Answer]:
    """By what it shows; only the instance's own log names the handler's answer."""
    shown: dict[Sign, Answer] = {HOW[replaced.shown]: Present(replaced.lines)}
    if replaced.participant.has_log:
        return shown
    begin, end = replaced.times[0] - PROCESS_START_MS, replaced.times[-1] + PROCESS_START_MS
    return {HANDLER_REPLACED: Unobservable((client_log(replaced.participant, begin, end),))} | shown
