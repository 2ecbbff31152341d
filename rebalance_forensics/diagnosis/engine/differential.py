"""What stands beside a verdict, all of it from the signs: rivals, what is ruled out, what would decide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.confidence import LEAST_SHOWN, UNSURE, confidences
from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.weights import Weighed, contradictions, worth
from rebalance_forensics.diagnosis.model import RuledOut, SearchedLog, SignAnswer, SignRow
from rebalance_forensics.diagnosis.sign import DECISIVE, Absent, Answer, Present, Row, Sign, Unobservable
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.group_timeline import Timeline

# A storm repeats itself: what contradicts a cause in its first cases contradicts it in all.
MOST_ASKED = 20
MOST_LINES = 5
_KINDS: Mapping[type[Answer], SignAnswer] = {Present: "present", Absent: "absent", Unobservable: "unobservable"}


class Rival(Struct, frozen=True):
    """A cause that is not ruled out: how sure, and its hypotheses in this incident, the likeliest first."""

    cause: str
    confidence: float
    weighed: tuple[Weighed, ...]


def rivals_of(findings: Sequence[Weighed], outcome: Outcome) -> tuple[float, tuple[Rival, ...]]:
    """Confidence of an incident's verdict, and its rivals."""
    best = findings[0]
    if len(findings) > 1:
        best = max(findings, key=lambda w: (w.odds, -w.hypothesis.started_at()))
    others: dict[str, list[Weighed]] = defaultdict(list)
    for weighed in findings:
        for rival in outcome.rivals.get(weighed, ()):
            others[rival.cause].append(rival)
    if not others:
        return _limited(best, confidences((best.odds,))[0]), ()
    ordered = sorted(others.items(), key=lambda item: (-max(w.odds for w in item[1]), item[0]))
    sure, *less = confidences((best.odds, *[max([w.odds for w in candidates]) for _, candidates in ordered]))
    sure = _limited(best, sure)
    found = (
        Rival(
            cause, min(confidence, sure), tuple(sorted(candidates, key=lambda w: (-w.odds, w.hypothesis.started_at())))
        )
        for (cause, candidates), confidence in zip(ordered, less, strict=True)
    )
    return sure, tuple(rival for rival in found if rival.confidence >= LEAST_SHOWN)


def _limited(best: Weighed, sure: float) -> float:
    """Hints in an excerpt add up to a likely cause, never to a decided one."""
    return min(sure, UNSURE) if best.lacks_decision else sure


def ruled_out(
    timeline: Timeline,
    causes: Mapping[str, Cause],
    findings: Sequence[Weighed],
    outcome: Outcome,
    possible: Iterable[str],
) -> tuple[RuledOut, ...]:
    """The causes that a line contradicts, or that a log at hand would have shown."""
    verdict = findings[0].cause
    asked = {w.cause for weighed in findings for w in outcome.contradicted.get(weighed, ())}
    asked |= set(causes[verdict].lookalikes) if verdict in causes else set()
    found = []
    for name in sorted(asked - {verdict, *possible}):
        against = _contradiction(timeline, causes[name], name, findings[0], outcome)
        others = findings[1:MOST_ASKED]
        if against and all(_contradiction(timeline, causes[name], name, weighed, outcome) for weighed in others):
            found.append(_ruled_out(name, against))
    return tuple(found)


def _contradiction(
    timeline: Timeline, cause: Cause, name: str, verdict: Weighed, outcome: Outcome
) -> tuple[Row, Answer] | None:
    """What speaks decisively against a cause for what another explains."""
    against: Iterator[tuple[Row, Answer]] | None = None
    for other in outcome.contradicted.get(verdict, ()):
        if other.cause == name:
            against = _against(other)
            break
    for refutation in contradictions(timeline, cause, verdict.subject) if against is None else against:
        if _is_shown(refutation[1]):
            return refutation
    return None


def _against(weighed: Weighed) -> Iterator[tuple[Row, Answer]]:
    return ((row, answer) for row, answer in weighed.answers if worth(row, answer) <= -DECISIVE)


def _is_shown(answer: Answer) -> bool:
    """A claim without a line or a log that was searched is none."""
    if isinstance(answer, Present):
        return bool(answer.lines)
    return isinstance(answer, Absent) and bool(answer.looked_in or answer.lines)


def _ruled_out(name: str, against: tuple[Row, Answer]) -> RuledOut:
    row, answer = against
    return RuledOut(
        cause=name,
        why=_sentence_of(row, answer),
        sign=row.sign.id,
        evidence=tuple([evidence_of(e) for e in _lines(answer)[:MOST_LINES]]),
        looked_in=_searched(answer),
    )


def sign_table(verdict: Weighed, rivals: Sequence[Rival], losers: Iterable[Weighed]) -> tuple[SignRow, ...]:
    """Every sign that was asked for, with what it adds to each hypothesis."""
    rows: list[tuple[Row, Answer, dict[str, int]]] = []
    known: dict[tuple[Sign, type[Answer]], dict[str, int]] = {}
    for weighed in (verdict, *[rival.weighed[0] for rival in rivals], *losers):
        cause = weighed.cause
        for row, answer in weighed.answers:
            sign, kind = row.sign, type(answer)
            weighs = known.get((sign, kind))
            if weighs is None:
                if kind is Unobservable and sign.is_clue:
                    continue
                weighs = known[sign, kind] = {}
                rows.append((row, answer, weighs))
            elif cause in weighs:
                continue
            weighs[cause] = row.present if kind is Present else row.absent if kind is Absent else 0
    return tuple([_sign_row(row, answer, tuple(weighs.items())) for row, answer, weighs in rows])


def _sign_row(row: Row, answer: Answer, weighs: tuple[tuple[str, int], ...]) -> SignRow:
    kind, sign = type(answer), row.sign
    if type(answer) is Unobservable:
        return _bare_row(sign.id, sign.present, "unobservable", weighs)
    sentence, lines, searched = _sentence_of(row, answer), _lines(answer), _searched(answer)
    if not lines and not searched:
        return _bare_row(sign.id, sentence, _KINDS[kind], weighs)
    return SignRow(
        sign=sign.id,
        says=sentence,
        answer=_KINDS[kind],
        weighs=weighs,
        evidence=tuple([evidence_of(e) for e in lines[:MOST_LINES]]),
        looked_in=searched,
    )


@lru_cache(maxsize=1 << 12)
def _bare_row(sign: str, sentence: str, answer: SignAnswer, weighs: tuple[tuple[str, int], ...]) -> SignRow:
    """A row without a line or a log of its own, held once: a busy cluster has a million, of a few hundred kinds."""
    return SignRow(sign=sign, says=sentence, answer=answer, weighs=weighs)


def _sentence_of(row: Row, answer: Answer) -> str:
    return (row.sign.absent or row.sign.present) if type(answer) is Absent else row.sign.present


def _lines(answer: Answer) -> tuple[Event, ...]:
    return () if isinstance(answer, Unobservable) else answer.lines


def _searched(answer: Answer) -> tuple[SearchedLog, ...]:
    if type(answer) is not Absent or not answer.looked_in:
        return ()
    return tuple(
        SearchedLog(path=place.path, started_at=EpochMs(place.begin), ended_at=EpochMs(place.end))
        for place in answer.looked_in
    )
