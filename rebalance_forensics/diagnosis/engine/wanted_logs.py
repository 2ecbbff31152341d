"""The logs that would decide: those that a sign asks for, else those of the members and brokers without a log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.differential import Rival
from rebalance_forensics.diagnosis.engine.weights import Weighed, answered, contradictions
from rebalance_forensics.diagnosis.model import WouldDecide
from rebalance_forensics.diagnosis.seen import client_log, coordinator_log, earlier_logs, later_logs
from rebalance_forensics.diagnosis.sign import STRONG, Answer, Need, Row, Unobservable
from rebalance_forensics.records import is_timed
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import QUIET_MS

# Nobody fetches more than this to explain one rebalance.
MOST_LOGS = 5
Answers = tuple[tuple[Row, Answer], ...]


def would_decide(
    timeline: Timeline, causes: Mapping[str, Cause], verdict: Weighed, rivals: Sequence[Rival]
) -> tuple[WouldDecide, ...]:
    """The logs whose absence leaves the verdict open, each once, with the causes that it parts."""
    candidates = _candidates(timeline, causes, verdict, rivals)
    wanted_by: dict[Need, set[str]] = defaultdict(set)
    for name, answers in candidates.items():
        for need in _needed(answers):
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


def _candidates(
    timeline: Timeline, causes: Mapping[str, Cause], verdict: Weighed, rivals: Sequence[Rival]
) -> dict[str, Answers]:
    """The verdict, its rivals, and what a reader would think of that no sign rules out."""
    found: dict[str, Answers] = {verdict.cause: verdict.answers}
    found |= {rival.cause: rival.weighed[0].answers for rival in rivals}
    for name in causes[verdict.cause].lookalikes if verdict.cause in causes else ():
        if name in found:
            continue
        if next(contradictions(timeline, causes[name], verdict.subject), None) is None:
            found[name] = answered(timeline, causes[name].deciding, verdict.subject)
    return found


def _needed(answers: Answers) -> Iterator[Need]:
    for row, answer in answers:
        if type(answer) is Unobservable and row.weight >= STRONG:
            yield from answer.needs


def _missing_logs(timeline: Timeline, verdict: Weighed) -> Iterator[Need]:
    """Where no sign asks for a log: those concerned, the coordinator, the other members; what came before and after."""
    begin, end = verdict.subject.begin, verdict.subject.end
    blamed = verdict.hypothesis.participants
    yield from (client_log(participant, begin, end) for participant in blamed)
    yield coordinator_log(begin, end)
    yield from (
        client_log(participant, begin, end)
        for participant in timeline.cached(_members_by_name)
        if participant not in blamed
    )
    session, last = session_timeout_ms(timeline), timeline.coverage.end
    if begin - timeline.first < session:
        yield earlier_logs(begin - session, begin)
    if last - end < QUIET_MS:
        yield later_logs(end, last + QUIET_MS)


def _members_by_name(timeline: Timeline) -> list[Participant]:
    return sorted(timeline.membership.members, key=lambda participant: participant.name)


def _is_at_hand(timeline: Timeline, need: Need) -> bool:
    """True if the log is there already, as long and as detailed as needed."""
    if need.begin is None or need.end is None or need.of_its_host:
        return False
    if need.of_the_coordinator:
        return bool(covering(timeline.coverage.brokers, need.begin, need.end))
    participant = timeline.cached(_everybody_by_name).get(need.who) if need.who else None
    return participant is not None and bool(covering(timeline.coverage.of(participant), need.begin, need.end))


def _decides(timeline: Timeline, needs: Sequence[Need], parted: set[str], order: Sequence[str]) -> WouldDecide:
    begins = [need.begin for need in needs if need.begin is not None]
    ends = [need.end for need in needs if need.end is not None]
    begin, end = min(begins, default=None), max(ends, default=None)
    need = _by_its_name(timeline, needs[0], begin, end)
    return WouldDecide(
        needs=need.what,
        who=need.who,
        started_at=begin if is_timed(begin) else None,
        ended_at=end if is_timed(end) else None,
        between=tuple(name for name in order if name in parted),
    )


def _by_its_name(timeline: Timeline, need: Need, begin: int | None, end: int | None) -> Need:
    """The coordinator's log with the brokers that clients or other brokers call the coordinator at that time."""
    if not need.of_the_coordinator or begin is None or end is None:
        return need
    terms = [t for t in timeline.coordinators if _during(t.started_at, t.ended_at, begin, end)]
    names = list(dict.fromkeys(term.broker for term in terms))
    if not names:
        return need
    return replace(
        need, what=f"server.log of {' or '.join(names)} (coordinator)", who=names[0] if len(names) == 1 else None
    )


def _during(started: int | None, ended: int | None, begin: int, end: int) -> bool:
    return (started is None or started <= end) and (ended is None or ended >= begin)


def _everybody_by_name(timeline: Timeline) -> dict[str, Participant]:
    return {participant.name: participant for participant in reversed(timeline.participants.everybody)}
