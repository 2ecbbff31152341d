"""Streams replaces dying threads (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.applications import skip_poison_records
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.members.replaced_threads import (
    lines_of_threads,
    moves_of_threads,
    replaced_threads,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.signs import replaced_threads as shows
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.narratives import replaced_dying_threads
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Instances whose handler replaced a thread that died."""
    for replaced in replaced_threads(timeline):
        culprits, facts = culprits_of(timeline, [replaced.participant]), moves_of_threads(timeline, replaced)
        yield Hypothesis(
            because=lines_of_threads(timeline, replaced, facts),
            culprits=culprits,
            severity="critical" if replaced.count > 2 else "warning",
            explains=with_rebalances(timeline, facts),
            participants=(replaced.participant,),
            answers=shows.shown_by(replaced),
            narrative=replaced_dying_threads(culprits[0].name, replaced.count),
            advice=skip_poison_records(replaced),
        )


CAUSE = Cause(
    summary="A Streams instance replaces threads that die.",
    mechanism=(
        "The uncaught exception handler answers REPLACE_THREAD: the dying thread's consumer leaves, a new"
        " one joins; with a poison record this repeats for ever."
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
    brings=(
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
    settings=("num.stream.threads", "default.deserialization.exception.handler"),
    kips=("KIP-671", "KIP-663"),
)
