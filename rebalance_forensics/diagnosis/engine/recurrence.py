"""A member that is lost again and again: what explains all of its losses explains each of them better than another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.diagnosis.cause import STRONG
from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.weights import Weighed

Choices = dict[str, Weighed]
"""Cause -> the hypothesis by which it explains what the verdict explains, the verdict among them."""


def told_as_one(outcome: Outcome, quiet_ms: int) -> None:
    """Let the same culprit's losses have one cause where one could explain them all (contract: one incident).

    From brokers alone a process that crashes in a loop looks like a pause each time it comes back, and like a crash
    once the logs end before it does.
    """
    for losses in _repeated(outcome.standing, quiet_ms):
        for run in _runs_with_one_cause([_choices(one, outcome) for one in losses]):
            _settle(outcome, run)


def _repeated(standing: Iterable[Weighed], quiet_ms: int) -> Iterator[list[Weighed]]:
    """What happened to the same culprits, cut wherever the group was quiet for longer."""
    by_culprit: dict[frozenset[str], list[Weighed]] = defaultdict(list)
    for one in sorted(standing, key=lambda w: (w.hypothesis.started_at(), w.cause)):
        by_culprit[frozenset(c.name for c in one.hypothesis.culprits)].append(one)
    for names, told in by_culprit.items():
        chain: list[Weighed] = []
        for one in told if names else ():
            if chain and one.hypothesis.started_at() - chain[-1].hypothesis.last_at() > quiet_ms:
                yield chain
                chain = []
            chain.append(one)
        yield chain


def _choices(one: Weighed, outcome: Outcome) -> Choices:
    """The verdict, and the rivals that explain the very same about as well."""
    facts = {fact.id for fact in one.hypothesis.explains}
    found = {
        rival.cause: rival
        for rival in outcome.rivals.get(one, ())
        if {fact.id for fact in rival.hypothesis.explains} == facts and rival.odds >= max(0, one.odds - STRONG)
    }
    return {**found, one.cause: one}


def _runs_with_one_cause(told: Sequence[Choices]) -> Iterator[list[Choices]]:
    """The longest stretches of losses that some cause can explain throughout."""
    run: list[Choices] = []
    shared: set[str] = set()
    for choices in told:
        both = shared & set(choices) if run else set(choices)
        if run and not both:
            yield run
            run, both = [], set(choices)
        run, shared = [*run, choices], both
    if run:
        yield run


def _settle(outcome: Outcome, run: Sequence[Choices]) -> None:
    """Give all of them the cause that explains them best together."""
    shared = set.intersection(*(set(choices) for choices in run))
    best = max(sorted(shared), key=lambda cause: sum(choices[cause].odds for choices in run))
    for choices in run:
        verdict = next(one for one in choices.values() if one in outcome.standing)
        if verdict.cause != best:
            _exchange(outcome, verdict, choices[best])


def _exchange(outcome: Outcome, verdict: Weighed, rival: Weighed) -> None:
    outcome.standing[outcome.standing.index(verdict)] = rival
    outcome.rivals[rival] = [*(w for w in outcome.rivals.pop(verdict, []) if w is not rival), verdict]
    outcome.contradicted[rival] = outcome.contradicted.pop(verdict, [])
    outcome.explains |= {fact: rival for fact, by in outcome.explains.items() if by is verdict}
    for fact in rival.hypothesis.accounts_for:
        outcome.explains.setdefault(fact.id, rival)
