"""The differential diagnosis of a verdict, from the signs: its rivals, causes ruled out, and logs that would decide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.confidence import LEAST_SHOWN, UNSURE, confidences
from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.weights import Weighed, answers_to, contradictions, worth
from rebalance_forensics.diagnosis.model import RuledOut, SearchedLog, SignAnswer, SignRow, WouldDecide
from rebalance_forensics.diagnosis.seen import client_log, coordinator_log, earlier_logs, later_logs
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, Absent, Answer, Need, Present, Row, Sign, Unobservable
from rebalance_forensics.diagnosis.wording.durations import naming
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs, is_timed, natural
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, QUIET_MS, ROUND_TRIP_MS

# At most this many findings must contradict a cause to rule it out: a storm repeats the same case.
MOST_ASKED = 20
MOST_LINES = 5
_KINDS: Mapping[type[Answer], SignAnswer] = {Present: "present", Absent: "absent", Unobservable: "unobservable"}


class Rival(Struct, frozen=True):
    """A cause that is not ruled out: its confidence, and its hypotheses in this incident, likeliest first."""

    cause: str
    confidence: float
    weighed: tuple[Weighed, ...]


def rivals_of(findings: Sequence[Weighed], outcome: Outcome) -> tuple[float, tuple[Rival, ...]]:
    """Return the confidence of an incident's verdict, and its rivals."""
    best = findings[0]
    if len(findings) > 1:
        best = max(findings, key=lambda w: (w.odds, -w.hypothesis.started_at()))
    others = grouped((rival for w in findings for rival in outcome.rivals.get(w, ())), attrgetter("cause"))
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
    """Cap the confidence if lines are missing: hints alone never make a verdict certain."""
    return min(sure, UNSURE) if best.lacks_decision else sure


def ruled_out(
    timeline: Timeline,
    causes: Mapping[str, Cause],
    findings: Sequence[Weighed],
    outcome: Outcome,
    possible: Iterable[str],
) -> tuple[RuledOut, ...]:
    """Return the causes that a line contradicts, or that a log at hand would have shown."""
    verdict = findings[0].cause
    asked = {w.cause for weighed in findings for w in outcome.contradicted.get(weighed, ())}
    asked |= set(causes[verdict].lookalikes)
    found = []
    for name in sorted(asked - {verdict, *possible}):
        against = _decisive_contradiction(timeline, causes[name], name, findings[0], outcome)
        others = findings[1:MOST_ASKED]
        if against and all(
            _decisive_contradiction(timeline, causes[name], name, weighed, outcome) for weighed in others
        ):
            found.append(_ruled_out(name, against))
    return tuple(found)


def _decisive_contradiction(
    timeline: Timeline, cause: Cause, name: str, verdict: Weighed, outcome: Outcome
) -> tuple[Row, Answer] | None:
    """Return the first decisive sign against a cause as an explanation of the verdict's facts, if any."""
    loser = next((other for other in outcome.contradicted.get(verdict, ()) if other.cause == name), None)
    against = contradictions(timeline, cause, verdict.subject) if loser is None else loser.answers(timeline)
    found = ((row, answer) for row, answer in against if worth(row, answer) <= -DECISIVE and _is_proven(answer))
    return next(found, None)


def _is_proven(answer: Answer) -> bool:
    """True if the answer is backed by a line or by a searched log."""
    if type(answer) is Present:
        return bool(answer.lines)
    return type(answer) is Absent and bool(answer.looked_in or answer.lines)


def _ruled_out(name: str, against: tuple[Row, Answer]) -> RuledOut:
    row, answer = against
    return RuledOut(
        cause=name,
        why=_sentence_of(row, answer),
        sign=row.sign.id,
        evidence=tuple([evidence_of(e) for e in _lines(answer)[:MOST_LINES]]),
        looked_in=_searched(answer),
    )


def sign_table(
    timeline: Timeline, verdict: Weighed, rivals: Sequence[Rival], losers: Iterable[Weighed]
) -> tuple[SignRow, ...]:
    """Return every sign that was checked, with its weight for each hypothesis."""
    rows: list[tuple[Row, Answer, dict[str, int]]] = []
    known: dict[tuple[Sign, type[Answer]], dict[str, int]] = {}
    for weighed in (verdict, *[rival.weighed[0] for rival in rivals], *losers):
        cause = weighed.cause
        for row, answer in weighed.answers(timeline):
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
    if isinstance(answer, Unobservable):
        return _bare_row(sign.id, sign.present, "unobservable", weighs)
    sentence = _sentence_of(row, answer)
    searched = _searched(answer) if kind is Absent else ()
    if not answer.lines and not searched:
        return _bare_row(sign.id, sentence, _KINDS[kind], weighs)
    return SignRow(
        sign=sign.id,
        says=sentence,
        answer=_KINDS[kind],
        weighs=weighs,
        evidence=tuple([evidence_of(e) for e in answer.lines[:MOST_LINES]]),
        looked_in=searched,
    )


@lru_cache(maxsize=1 << 12)
def _bare_row(sign: str, sentence: str, answer: SignAnswer, weighs: tuple[tuple[str, int], ...]) -> SignRow:
    """Return a cached row of a sign without evidence: a large cluster has a million, but only a few hundred differ."""
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


# At most this many logs are asked for: nobody fetches more to explain one rebalance.
MOST_LOGS = 5
Answers = Iterable[tuple[Row, Answer]]


def would_decide(
    timeline: Timeline, causes: Mapping[str, Cause], verdict: Weighed, rivals: Sequence[Rival], *, sure: bool
) -> tuple[WouldDecide, ...]:
    """Return the missing logs that would settle the verdict, each with the causes that it would distinguish.

    For a `sure` verdict without rivals, return those that would show the cause behind it.
    """
    if sure and not rivals:
        return _logs_behind_verdict(timeline, verdict)
    candidates = _candidates(timeline, causes, verdict, rivals)
    wanted_by: dict[Need, set[str]] = defaultdict(set)
    for name, answers in candidates.items():
        for row, answer in answers:
            if row.weight >= STRONG and type(answer) is Unobservable:
                for need in answer.needs:
                    wanted_by[need].add(name)
    asked: dict[tuple[str, str | None], tuple[list[Need], set[str]]] = {}
    for need, names in wanted_by.items():
        if not _is_at_hand(timeline, need):
            needs, parted = asked.setdefault((need.what, need.who), ([], set()))
            needs.append(need)
            parted.update(names)
    if not asked:
        wanted = (need for need in _missing_logs(timeline, verdict) if not _is_at_hand(timeline, need))
        asked = {(need.what, need.who): ([need], set(candidates)) for need in islice(wanted, MOST_LOGS)}
    undecided = ((needs, parted | {verdict.cause}) for needs, parted in asked.values())
    return tuple(_decides(timeline, needs, parted, tuple(candidates)) for needs, parted in undecided)


def _logs_behind_verdict(timeline: Timeline, verdict: Weighed) -> tuple[WouldDecide, ...]:
    """Return the logs of the JVM, host, supervisor or broker that would show the cause behind a sure verdict."""
    if verdict.hypothesis.severity == "info":
        return ()
    hypothesis = verdict.hypothesis
    unanswered = (
        answer for row, answer in verdict.answers(timeline) if row.present >= STRONG if type(answer) is Unobservable
    )
    needs = [need for answer in unanswered for need in answer.needs if need.of_its_host and not hypothesis.behind]
    needs += hypothesis.unseen
    return tuple(_decides(timeline, [need], {verdict.cause}, (verdict.cause,)) for need in needs[:MOST_LOGS])


def _candidates(
    timeline: Timeline, causes: Mapping[str, Cause], verdict: Weighed, rivals: Sequence[Rival]
) -> dict[str, Answers]:
    """Return the answers for the verdict, its rivals, and its lookalikes that no sign rules out, by cause."""
    found: dict[str, Answers] = {verdict.cause: verdict.answers(timeline)}
    found |= {rival.cause: rival.weighed[0].answers(timeline) for rival in rivals}
    for name in causes[verdict.cause].lookalikes:
        if name in found:
            continue
        if next(contradictions(timeline, causes[name], verdict.subject), None) is None:
            found[name] = zip(*answers_to(timeline, causes[name].deciding, verdict.subject), strict=True)
    return found


def _missing_logs(timeline: Timeline, verdict: Weighed) -> Iterator[Need]:
    """Yield logs to fetch if no sign needs one: of blamed members, the coordinator, other members; earlier, later."""
    begin, end = verdict.subject.begin, verdict.subject.end
    blamed = verdict.hypothesis.participants
    yield from (client_log(participant, begin, end) for participant in blamed)
    yield coordinator_log(begin, end)
    yield from (
        client_log(participant, begin, end) for participant in _members_by_name(timeline) if participant not in blamed
    )
    session, last = session_timeout_ms(timeline), timeline.coverage.end
    if begin - timeline.first < session:
        yield earlier_logs(begin - session, begin)
    if last - end < QUIET_MS:
        yield later_logs(end, last + QUIET_MS)


@cached_answer
def _members_by_name(timeline: Timeline) -> list[Participant]:
    return sorted(timeline.membership.members, key=lambda participant: natural(participant.name))


def _is_at_hand(timeline: Timeline, need: Need) -> bool:
    """True if a log at hand already covers that time in enough detail."""
    if need.begin is None or need.end is None or need.of_its_host:
        return False
    if need.of_the_coordinator:
        return bool(covering(timeline.coverage.brokers, need.begin, need.end))
    participant = _participants_by_name(timeline).get(need.who) if need.who else None
    return participant is not None and bool(covering(timeline.coverage.of(participant), need.begin, need.end))


def _decides(timeline: Timeline, needs: Sequence[Need], parted: set[str], order: Sequence[str]) -> WouldDecide:
    begins = [need.begin for need in needs if need.begin is not None]
    ends = [need.end for need in needs if need.end is not None]
    begin, end = min(begins, default=None), max(ends, default=None)
    if begin is not None and is_timed(begin) and end is not None and end - begin < ROUND_TRIP_MS:
        # A span of a second is widened: the lines around it show what led to it and what followed.
        begin, end = begin - AT_ONCE_MS, end + AT_ONCE_MS
    need = _with_coordinator_names(timeline, needs[0], begin, end)
    return WouldDecide(
        needs=naming(need.what, [need.who]),
        who=need.who,
        started_at=begin if is_timed(begin) else None,
        ended_at=end if is_timed(end) else None,
        between=tuple([name for name in order if name in parted]),
        template=need.what,
    )


def _with_coordinator_names(timeline: Timeline, need: Need, begin: int | None, end: int | None) -> Need:
    """Name the brokers that were the coordinator at that time, according to clients or other brokers, in a need."""
    if not need.of_the_coordinator or begin is None or end is None:
        return need
    names = list(dict.fromkeys(term.broker for term in timeline.coordinators if term.overlaps(begin, end)))
    if not names:
        return need
    return replace(
        need, what=f"server.log of {' or '.join(names)} (coordinator)", who=names[0] if len(names) == 1 else None
    )


@cached_answer
def _participants_by_name(timeline: Timeline) -> dict[str, Participant]:
    return {participant.name: participant for participant in reversed(timeline.participants.everybody)}
