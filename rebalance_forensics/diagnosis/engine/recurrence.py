"""A member that is lost again and again: what explains all of its losses explains each of them better than another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.sign import STRONG

# Cause -> the hypothesis by which it explains what the verdict explains, the verdict among them.
Choices = dict[str, Weighed]


def merge_repeats(outcome: Outcome, quiet_ms: int) -> None:
    """Let the same culprit's losses have one cause where one could explain them all (contract: one incident).

    From brokers alone a process that crashes in a loop looks like a pause each time it comes back, and like a crash
    once the logs end before it does.
    """
    verdicts = _Verdicts(outcome)
    for losses in _repeated(outcome.standing, quiet_ms):
        for run in _runs_with_one_cause([_choices(weighed, outcome) for weighed in losses]):
            verdicts.settle(run)


def _repeated(standing: Iterable[Weighed], quiet_ms: int) -> Iterator[list[Weighed]]:
    """Findings of the same culprits, in runs that end where the group was quiet for longer."""
    by_culprit: dict[frozenset[str], list[Weighed]] = defaultdict(list)
    for weighed in sorted(standing, key=lambda w: (w.hypothesis.started_at(), w.cause)):
        by_culprit[frozenset(c.name for c in weighed.hypothesis.culprits)].append(weighed)
    for names, losses in by_culprit.items():
        chain: list[Weighed] = []
        for weighed in losses if names else ():
            if chain and weighed.hypothesis.started_at() - chain[-1].hypothesis.last_at() > quiet_ms:
                yield chain
                chain = []
            chain.append(weighed)
        yield chain


def _choices(weighed: Weighed, outcome: Outcome) -> Choices:
    """The verdict and, if no member has a log, rivals that explain exactly the same facts about as well."""
    if any(who.has_log for who in weighed.hypothesis.participants):
        return {weighed.cause: weighed}
    facts = {fact.id for fact in weighed.hypothesis.explains}
    found = {
        rival.cause: rival
        for rival in outcome.rivals.get(weighed, ())
        if {fact.id for fact in rival.hypothesis.explains} == facts and rival.odds >= max(0, weighed.odds - STRONG)
    }
    return {**found, weighed.cause: weighed}


def _runs_with_one_cause(losses: Sequence[Choices]) -> Iterator[list[Choices]]:
    """The longest stretches of losses that some cause can explain throughout."""
    run: list[Choices] = []
    shared: set[str] = set()
    for choices in losses:
        both = shared & set(choices) if run else set(choices)
        if run and not both:
            yield run
            run, both = [], set(choices)
        run.append(choices)
        shared = both
    if run:
        yield run


class _Verdicts:
    """The hypotheses that stand, by their place, and what each explains: a storm has thousands to be exchanged."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._places = {weighed: place for place, weighed in enumerate(outcome.standing)}
        self._explained: dict[Weighed, list[str]] = defaultdict(list)
        for fact, by in outcome.explains.items():
            self._explained[by].append(fact)

    def settle(self, run: Sequence[Choices]) -> None:
        """Give the whole run the cause that explains it best."""
        if len(run) == 1 and len(run[0]) == 1:
            return
        shared = set.intersection(*(set(choices) for choices in run))
        best = max(sorted(shared), key=lambda cause: sum(choices[cause].odds for choices in run))
        for choices in run:
            verdict = next(weighed for weighed in choices.values() if weighed in self._places)
            if verdict.cause != best:
                self._exchange(verdict, choices[best])

    def _exchange(self, verdict: Weighed, rival: Weighed) -> None:
        outcome = self._outcome
        place = self._places[rival] = self._places.pop(verdict)
        outcome.standing[place] = rival
        outcome.rivals[rival] = [*(w for w in outcome.rivals.pop(verdict, []) if w is not rival), verdict]
        outcome.contradicted[rival] = outcome.contradicted.pop(verdict, [])
        facts = self._explained.pop(verdict, [])
        facts += (fact.id for fact in rival.hypothesis.accounts_for if fact.id not in outcome.explains)
        outcome.explains |= dict.fromkeys(facts, rival)
        self._explained[rival] += facts
