"""An instance asked the whole application to stop (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import distinct_events
from rebalance_forensics.diagnosis.finding import CERTAIN, LIKELY, Fact, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice, RuledOut
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.events.streams import ShutdownRequested, SourceTopicsMissing, StreamsStateChanged, ThreadFailed
from rebalance_forensics.timeline.build import Timeline

AFTER_MS = 120_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """The instance whose handler asked, or whose leader found source topics missing."""
    telling = timeline.of(ShutdownRequested, ThreadFailed, SourceTopicsMissing, StreamsStateChanged)
    told = [e for e in telling if _is_request(e)]
    wished = [r for r in timeline.requests if r.why == "shutdown-requested"]
    if not told and not wished:
        return
    begin = told[0].at or 0 if told else wished[0].at
    asking = [e for e in told if _is_asking(e)] or told[:1]
    first = next((a for e in asking if (a := timeline.cast.of_speaker(e)) is not None), None)
    if first is None and wished:
        first = wished[0].actor
    facts: list[Fact] = [*timeline.moves(begin - 2_000, begin + AFTER_MS)]
    facts += timeline.requests.between(begin - 2_000, begin + AFTER_MS)
    rebalances = timeline.rebalances.between(begin - 2_000, begin + AFTER_MS)
    errors = timeline.of(ExceptionLogged, ThreadFailed).between(begin - 5_000, begin + 500)
    culprits = culprits_of(timeline, [first]) if first is not None else ()
    who = culprits[0].name if culprits else "An instance"
    instances = len(timeline.actors())
    yield Finding(
        because=distinct_events([*asking[:2], *errors[:3], *(e for r in wished for e in r.events), *told]),
        culprits=culprits,
        confidence=CERTAIN if told else LIKELY,
        severity="critical",
        onset=begin,
        claims=(*facts, *rebalances),
        narrative=f"{who} asked the whole Streams application to shut down; every instance stops.",
        ruled_out=(RuledOut(cause="shutdown", why="an exception made one instance ask the others to stop"),),
        advice=(
            Advice(
                action="Mend what made it ask, then start the application again.",
                why=(
                    f"{_thrown([*asking, *errors])}SHUTDOWN_APPLICATION stops all instances ({instances} were seen); "
                    "none comes back by itself."
                ),
                cost="A handler that replaces the thread keeps the others running, and dies again on the same record.",
            ),
        ),
    )


def _thrown(errors: Sequence[Event]) -> str:
    names = (getattr(e, "exception", None) or getattr(e, "error", None) for e in errors)
    first = next(filter(None, names), None)
    return f"{first} was thrown just before. " if first else ""


def _is_request(event: Event) -> bool:
    if isinstance(event, ShutdownRequested):
        return True
    if isinstance(event, ThreadFailed):
        return "SHUTDOWN_APPLICATION" in (event.response or "").upper()
    return (
        isinstance(event, SourceTopicsMissing | StreamsStateChanged) and getattr(event, "after", "") == "PENDING_ERROR"
    )


def _is_asking(event: Event) -> bool:
    return isinstance(event, ThreadFailed) or (isinstance(event, ShutdownRequested) and event.asking)


RULE = Rule(
    summary="An instance asked the whole Streams application to stop.",
    mechanism=(
        "The uncaught exception handler answers SHUTDOWN_APPLICATION, or the leader misses source topics:"
        " the error code travels in the subscription and the assignment, and every instance shuts down."
    ),
    signs=(
        "'sent shutdown request for the entire application', 'Detected that shutdown was requested', "
        "state PENDING_ERROR."
    ),
    remedy="Mend the exception or create the topics; restart all instances.",
    usual="fault",
    rank=9,
    diagnose=diagnose,
    settings=("num.stream.threads",),
    kips=("KIP-671", "KIP-662"),
)
