"""A cause as the report tells it: its verdict and its rivals in one shape, with culprits, proof and advice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rebalance_forensics.diagnosis.engine.drafts import names_of
from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.model import Advice, ChainLink, Culprit, RootCause
from rebalance_forensics.diagnosis.reference.known_bugs import known_bugs_of
from rebalance_forensics.diagnosis.wording.culprits import ids_told, the_group
from rebalance_forensics.diagnosis.wording.event_text import what_happened
from rebalance_forensics.diagnosis.wording.proof import most_telling
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import by_time_then_origin
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.group_timeline import Timeline

LONGEST_CHAIN = 40
_NUMBERS = re.compile(r"\d+")


def root_cause(timeline: Timeline, cause: str, findings: Sequence[Weighed], confidence: float) -> RootCause:
    """One cause of an incident, told by all of its hypotheses that belong together."""
    told = [w.hypothesis for w in findings]
    because = [e for h in told for e in h.because]
    circumstances = [e for h in told for e in h.circumstances]
    evidence, total = most_telling(_interleaved([h.because for h in told]), circumstances)
    return RootCause(
        cause=cause,
        confidence=confidence,
        culprits=_culprits(timeline, findings),
        narrative=_told_first(findings).hypothesis.narrative,
        evidence=evidence,
        evidence_total=total,
        occurrences=len(told),
        affected=tuple(_others(findings)),
        advice=_advice(findings),
        known_bugs=known_bugs_of(timeline, cause, because),
        chain=tuple(
            [
                ChainLink(at=e.at, what=what_happened(e), evidence=evidence_of(e))
                for e in sorted(because, key=by_time_then_origin)[:LONGEST_CHAIN]
            ]
        ),
    )


def _advice(findings: Sequence[Weighed]) -> tuple[Advice, ...]:
    """Each piece once: occurrences differ in their numbers only, and those of the longest count."""
    kept: dict[str, Advice] = {}
    told = [w.hypothesis for w in findings]
    for one in sorted(told, key=lambda h: h.started_at() - h.last_at()) if len(told) > 1 else told:
        for advice in one.advice:
            kept.setdefault(_without_numbers(advice.action), advice)
    return tuple(kept.values())


@lru_cache(maxsize=1 << 10)
def _without_numbers(text: str) -> str:
    return _NUMBERS.sub("", text)


def _interleaved(told: Sequence[Sequence[Event]]) -> list[Event]:
    """The best line of every occurrence first, then the second best, and so on."""
    if len(told) == 1:
        return list(told[0])
    found: list[Event] = []
    rank, left = 0, list(told)
    while left:
        found += [lines[rank] for lines in left]
        rank += 1
        left = [lines for lines in left if len(lines) > rank]
    return found


def summary_of(findings: Sequence[Weighed]) -> str:
    """The first finding, and to how many more it happened: a verdict that names one of many would mislead."""
    first, others = _told_first(findings), _others(findings)
    if not others:
        return first.hypothesis.narrative
    return f"{_sentence(first.hypothesis.narrative)} {_affected(others)}"


def _others(findings: Sequence[Weighed]) -> list[str]:
    if len(findings) == 1:
        return []
    return sorted({name for one in findings for name in names_of(one)} - names_of(_told_first(findings)))


def _told_first(findings: Sequence[Weighed]) -> Weighed:
    """The first fault: that a member was stopped once before it failed again and again says little."""
    return next((one for one in findings if one.hypothesis.severity != "info"), findings[0])


def _affected(others: Sequence[str]) -> str:
    if len(others) == 1:
        return f"{others[0]} was affected as well."
    return f"{len(others)} other members were affected as well."


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _culprits(timeline: Timeline, findings: Sequence[Weighed]) -> tuple[Culprit, ...]:
    blamed = {id(c): c for w in findings for c in w.hypothesis.culprits}
    ids = ids_told(timeline, (e for w in findings for e in w.hypothesis.because))
    found: dict[str, Culprit] = {}
    for culprit in blamed.values():
        known = found.get(culprit.name)
        names = {*culprit.names, *(known.names if known else ids.get(culprit.name, ()))}
        found[culprit.name] = Culprit(kind=culprit.kind, name=culprit.name, names=tuple(sorted(names)))
    groups = [c for c in found.values() if c.kind == "group"]
    if groups:
        return (groups[0],)
    members = [c for c in found.values() if c.kind in ("client", "instance", "worker")]
    if len(members) > 1 and len(members) == len(found) and len(members) >= len(timeline.members()):
        group = the_group(timeline)
        return (Culprit(kind="group", name=group.name, names=tuple(sorted(c.name for c in members))),)
    return tuple(found[name] for name in sorted(found))
