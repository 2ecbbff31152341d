"""The words for what accompanies a verdict: rivals, causes ruled out, logs that would decide, and the signs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Blame, Headline, Incident, RootCause, RuledOut, SignRow, WouldDecide
from rebalance_forensics.diagnosis.wording.durations import listed, naming, some
from rebalance_forensics.records import SECOND_MS, EpochMs, input_name, is_timed
from rebalance_forensics.report.times import day, time_to_second, utc
from rebalance_forensics.report.urgency_order import is_unexplained
from rebalance_forensics.report.wording import count, place, share, sureness

# From this confidence on, a rival is mentioned even if there is room for only a few.
MATTERS = 0.2
PLACES_SHOWN = 2
LOGS_SHOWN = 12
"""At most this many logs are requested for an incident; a group may have thousands of members with a log each."""
DECISIVE, STRONG = 4, 2
"""Weights from which on a table marks a sign three times, or twice."""
UNKNOWN, NOTHING, NOT_ASKED = "?", "0", ""
LEGEND = (
    "+ or - weak, ++ or -- strong, +++ or --- decisive; 0 says nothing about this cause; ? not shown by these logs, "
    "which decides nothing; blank: this cause does not depend on it."
)


class Hypothesis(Struct, frozen=True, kw_only=True):
    """A column in a table of signs: a cause and its outcome."""

    cause: str
    standing: str


class SignLine(Struct, frozen=True, kw_only=True):
    """A row in a table of signs: the sign as the logs show it, and a mark for each hypothesis."""

    row: SignRow
    wording: str
    marks: tuple[str, ...]
    where: str


class SignTable(Struct, frozen=True, kw_only=True):
    """Hypotheses against signs; `relevant` signs decide between them, or would; `idle` signs do not."""

    hypotheses: tuple[Hypothesis, ...]
    relevant: tuple[SignLine, ...]
    idle: tuple[SignLine, ...]


def likelihoods(incident: Headline) -> str:
    """`Most likely process-pause (55 % sure); or network-partition, 27 %.`."""
    first, *rivals = incident.root_causes
    if is_unexplained(incident):
        return "Unexplained: no known root cause fits these logs."
    others = "".join(f"; or {chance(rival)}" for rival in rivals)
    return f"Most likely {first.cause} ({sureness(first.confidence)}){others}."


def chance(rival: Blame) -> str:
    """`network-partition, 27 %`."""
    return f"{rival.cause}, {share(rival.confidence)}"


def serious_rivals(incident: Incident) -> tuple[RootCause, ...]:
    """Pick the rivals that a message of a few words must not leave out."""
    return tuple(cause for cause in incident.root_causes[1:] if cause.confidence >= MATTERS)


class WantedLogs(Struct, frozen=True, kw_only=True):
    """Logs that would decide between the same causes over the same times; causes only if there are several."""

    needs: str
    spans: tuple[tuple[EpochMs | None, EpochMs | None], ...]
    between: tuple[str, ...]


def wanted_logs(incident: Incident) -> tuple[WantedLogs, ...]:
    """The most useful logs that would decide, grouped by time, with the other times of the same logs."""
    together: list[list[WouldDecide]] = []
    for log in incident.would_decide[:LOGS_SHOWN]:
        alike = next((logs for logs in together if _at_one_time(logs[0], log)), None)
        if alike is None:
            together.append([log])
        else:
            alike.append(log)
    spans: dict[tuple[str, tuple[str, ...]], list[tuple[EpochMs | None, EpochMs | None]]] = {}
    for first, *others in together:
        needs = listed(_of_several([first, *others]))
        between = first.between if len(first.between) > 1 else ()
        spans.setdefault((needs, between), []).append((first.started_at, first.ended_at))
    return tuple(
        WantedLogs(needs=needs, spans=tuple(times), between=between) for (needs, between), times in spans.items()
    )


def _at_one_time(first: WouldDecide, other: WouldDecide) -> bool:
    """True if both decide between the same causes over the same times, to the second."""
    ends = ((first.started_at, other.started_at), (first.ended_at, other.ended_at))
    near = all((a is None) == (b is None) and abs((a or 0) - (b or 0)) < SECOND_MS for a, b in ends)
    return near and first.between == other.between


def _of_several(logs: Iterable[WouldDecide]) -> list[str]:
    """`the logs of clients a, b and c` for `the log of client a`, `the log of client b` and `the log of client c`."""
    names: dict[str, dict[str | None, None]] = {}
    for log in logs:
        names.setdefault(log.template or log.needs, {})[log.who] = None
    return [naming(template, [*whose]) for template, whose in names.items()]


def decides(incident: Incident) -> str:
    """What the missing logs would do: decide between causes, or show what is behind a certain one."""
    open_yet = any(len(log.between) != 1 for log in incident.would_decide)
    return "To settle it" if open_yet else "To see why"


def deciding(incident: Incident) -> Iterator[str]:
    """`get the log of client reporting-2, 02:30:40 to 02:31:10 (process-crash or network-partition)`, and so on."""
    # Up to LOGS_SHOWN logs, then the number of further ones in the JSON report.
    for logs in wanted_logs(incident):
        between = f" ({either(logs.between)})" if logs.between else ""
        when = " and ".join(filter(None, (_span(*span, incident.started_at) for span in logs.spans)))
        yield f"get {logs.needs}{when and f', {when}'}{between}"
    if len(incident.would_decide) > LOGS_SHOWN:
        yield f"and {count(len(incident.would_decide) - LOGS_SHOWN, 'more log')}; the JSON report names them all"


def either(causes: tuple[str, ...]) -> str:
    """`process-crash, process-pause or network-partition`."""
    return listed(causes, "or")


def proof_of(other: RuledOut | SignRow, incident: Incident) -> str:
    """Where it is shown, or where it was searched for: `node-3/app.log:120`; empty if unknown."""
    if other.evidence:
        return some([place(line) for line in other.evidence], PLACES_SHOWN)
    if not other.looked_in:
        return ""
    begin = min(log.started_at for log in other.looked_in)
    end = max(log.ended_at for log in other.looked_in)
    paths = list(dict.fromkeys(input_name(log.path) for log in other.looked_in))
    when = _span(begin, end, incident.started_at)
    return f"looked in {some(paths, PLACES_SHOWN)}{when and f', {when}'}"


class Exclusion(Struct, frozen=True, kw_only=True):
    """Causes that are ruled out for the same reason by the same lines or logs."""

    causes: tuple[str, ...]
    example: RuledOut
    """One of them, with the reason and its lines."""


def exclusions(incident: Incident) -> tuple[Exclusion, ...]:
    """The causes ruled out, grouped by reason."""
    together: dict[object, list[RuledOut]] = {}
    for exclusion in incident.ruled_out:
        together.setdefault((exclusion.why, exclusion.evidence, exclusion.looked_in), []).append(exclusion)
    return tuple(
        Exclusion(causes=tuple(exclusion.cause for exclusion in alike), example=alike[0]) for alike in together.values()
    )


def ruled_out(other: RuledOut, incident: Incident) -> str:
    """`no new process started (node-3/app.log:120)`."""
    proof = proof_of(other, incident)
    return f"{other.why} ({proof})" if proof else other.why


def sign_table(incident: Incident) -> SignTable:
    """The table of an incident's hypotheses and signs, the most decisive signs first."""
    hypotheses = tuple(_hypotheses(incident))
    lines = [_line(row, hypotheses, incident) for row in incident.signs]
    possible = {root_cause.cause for root_cause in incident.root_causes}
    relevant = [line for line in lines if _decides(line.row, possible)]
    relevant.sort(key=lambda line: -_most(line.row))
    idle = [line for line in lines if not _decides(line.row, possible)]
    return SignTable(hypotheses=hypotheses, relevant=tuple(relevant), idle=tuple(idle))


def _decides(row: SignRow, possible: Collection[str]) -> bool:
    """True if the sign changes the odds of a cause, or would change those of a possible one."""
    if row.answer == "unobservable":
        return any(cause in possible for cause, _ in row.weighs)
    return bool(_most(row))


def _hypotheses(incident: Incident) -> Iterator[Hypothesis]:
    for rank, root_cause in enumerate(incident.root_causes):
        sure = share(root_cause.confidence) if rank else sureness(root_cause.confidence)
        yield Hypothesis(cause=root_cause.cause, standing="no cause shown" if is_unexplained(incident) else sure)
    possible = {root_cause.cause for root_cause in incident.root_causes}
    excluded = {exclusion.cause for exclusion in incident.ruled_out}
    for cause in dict.fromkeys(cause for row in incident.signs for cause, _ in row.weighs):
        if cause not in possible:
            yield Hypothesis(cause=cause, standing="ruled out" if cause in excluded else "unlikely")


def _line(row: SignRow, hypotheses: tuple[Hypothesis, ...], incident: Incident) -> SignLine:
    weighs = dict(row.weighs)
    return SignLine(
        row=row,
        wording=f"{row.says}: not shown" if row.answer == "unobservable" else row.says,
        marks=tuple(_mark(row, weighs.get(hypothesis.cause)) for hypothesis in hypotheses),
        where=proof_of(row, incident),
    )


def _mark(row: SignRow, weight: int | None) -> str:
    if weight is None:
        return NOT_ASKED
    if row.answer == "unobservable":
        return UNKNOWN
    times = (abs(weight) >= DECISIVE) + (abs(weight) >= STRONG) + (weight != 0)
    return ("+" if weight > 0 else "-") * times or NOTHING


def _most(row: SignRow) -> int:
    return max((abs(weight) for _, weight in row.weighs), default=0)


def _span(begin: EpochMs | None, end: EpochMs | None, incident: EpochMs) -> str:
    """`02:30:40 to 02:31:10`, with the day if it differs from that of the incident; empty if unbounded."""
    if not is_timed(incident):
        return ""
    if begin is None:
        return "" if end is None else f"until {_clock(end, incident)}"
    since = _clock(begin, incident)
    if begin == end:
        return f"at {since}"
    return f"from {since} on" if end is None else f"{since} to {_clock(end, incident)}"


def _clock(at: EpochMs, incident: EpochMs) -> str:
    return time_to_second(at) if day(at) == day(incident) else utc(at)
