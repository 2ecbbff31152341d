"""Streams replaces dying threads (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.replaced_threads import replaced_threads
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.instances import about_replaced_threads
from rebalance_forensics.diagnosis.signs import replaced_threads as shows
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Instances whose handler replaced a thread that died."""
    yield from (about_replaced_threads(timeline, replaced) for replaced in replaced_threads(timeline))


CAUSE = Cause(
    summary="A Streams instance replaces threads that die.",
    mechanism=(
        "The uncaught exception handler answers REPLACE_THREAD: the dying thread's consumer leaves, a new"
        " one joins; with a poison record this repeats forever."
    ),
    shows="'Replacing thread in the streams uncaught exception handler', threads with rising numbers.",
    remedy="Handle the exception where it arises; limit replacements.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(shows.HANDLER_REPLACED, DECISIVE + WEAK),
        speaks_for(shows.SUCCESSOR_ADDED, DECISIVE),
        speaks_for(shows.THREADS_SWAPPED, STRONG),
    ),
    implies=(
        "scaling-flap",
        "member-left",
        "scale-out",
        "scale-in",
        "slow-processing",
        "rolling-restart",
        "process-crash",
        "process-pause",
        "rebalance-straggler",
        "unstable-leader",
    ),
    lookalikes=("process-crash", "slow-processing", "streams-shutdown"),
    settings=("num.stream.threads", "processing.exception.handler", "default.deserialization.exception.handler"),
    kips=("KIP-671", "KIP-663", "KIP-1033"),
)
