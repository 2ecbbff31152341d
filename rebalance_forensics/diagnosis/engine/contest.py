"""The contest of hypotheses for facts: the best one explains a fact, and absorbs hypotheses that follow from it.

A hypothesis that explains all losses of a member is better than one for each loss.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK
from rebalance_forensics.timeline.facts import Fact, Rebalance
from rebalance_forensics.timeline.time_index import grouped

# Cause -> the causes that can follow from it. Not transitive: a slow poll loop may look like a scaling flap, and a flap
# like a restart, but a slow poll loop does not cause restarts.
Consequences = Mapping[str, frozenset[str]]


@dataclass(slots=True, kw_only=True, eq=False)
class Outcome:
    """The accepted hypotheses, the one that explains each fact (by fact id), and the rejected ones."""

    standing: list[Weighed] = field(default_factory=list)
    explains: dict[str, Weighed] = field(default_factory=dict)
    rivals: dict[Weighed, list[Weighed]] = field(default_factory=lambda: defaultdict(list))
    """Accepted hypothesis -> less likely ones for the same facts that no sign rules out."""
    contradicted: dict[Weighed, list[Weighed]] = field(default_factory=lambda: defaultdict(list))
    """Accepted hypothesis -> hypotheses for the same facts that a sign rules out."""


def contest(hypotheses: Iterable[Weighed], implies: Consequences) -> Outcome:
    """Let the hypotheses compete for the facts, best first, but each after those that may have caused it."""
    every = sorted(hypotheses, key=_best_first)
    # A hypothesis that is less likely than not cannot be a verdict, but it may be a rival.
    possible = [w for w in every if w.contradiction is None and w.odds >= 0]
    outcome = Outcome()
    for weighed in _causes_first(possible, implies):
        _decide(weighed, outcome, implies)
    for weighed in every:
        if weighed.contradiction is not None or weighed.odds < 0:
            losers = outcome.contradicted if weighed.contradiction is not None else outcome.rivals
            for winner in _winners(weighed, outcome):
                if winner.cause != weighed.cause and weighed.cause not in implies[winner.cause]:
                    losers[winner].append(weighed)
    return outcome


def _best_first(weighed: Weighed) -> tuple[object, ...]:
    hypothesis = weighed.hypothesis
    names = tuple([culprit.name for culprit in hypothesis.culprits])
    return -weighed.odds, -len(hypothesis.explains), hypothesis.started_at(), weighed.cause, names


def _causes_first(possible: Sequence[Weighed], implies: Consequences) -> Iterator[Weighed]:
    """Yield the hypotheses best first, but each after those that may have caused it."""
    by_fact: dict[str, list[Weighed]] = defaultdict(list)
    for weighed in possible:
        for fact in weighed.hypothesis.accounts_for:
            by_fact[fact.id].append(weighed)
    done: set[int] = set()
    for weighed in possible:
        yield from _after_its_causes(weighed, by_fact, implies, done)


def _after_its_causes(
    weighed: Weighed, by_fact: Mapping[str, Sequence[Weighed]], implies: Consequences, done: set[int]
) -> Iterator[Weighed]:
    """Yield the hypotheses that may have caused this one, then this one, each unless it is in `done`."""
    if id(weighed) in done:
        return
    done.add(id(weighed))
    cause, odds = weighed.cause, min(weighed.odds, WEAK)  # a mere guess must not absorb a well-supported one
    underlying: dict[int, Weighed] = {}
    for fact in _core(weighed):
        for other in by_fact[fact.id]:
            if cause in implies[other.cause] and other.odds >= odds:
                underlying[id(other)] = other
    for other in sorted(underlying.values(), key=_best_first) if len(underlying) > 1 else underlying.values():
        yield from _after_its_causes(other, by_fact, implies, done)
    yield weighed


def _core(weighed: Weighed) -> tuple[Fact, ...]:
    return weighed.hypothesis.explains or weighed.hypothesis.implies


def _decide(weighed: Weighed, outcome: Outcome, implies: Consequences) -> None:
    core = _core(weighed)
    separate = _is_separate_fault(weighed, outcome, implies)
    if core and all(fact.id in outcome.explains for fact in core) and not separate:
        winners = _winners(weighed, outcome)
        if not any(weighed.cause == w.cause or weighed.cause in implies[w.cause] for w in winners):
            for winner in winners:
                outcome.rivals[winner].append(weighed)
        return
    root = _explained_by(weighed, outcome, implies)
    if separate:
        outcome.explains |= {fact.id: root or weighed for fact in weighed.hypothesis.explains}
    for fact in weighed.hypothesis.accounts_for:
        outcome.explains.setdefault(fact.id, root or weighed)
    if root is None:
        outcome.standing.append(weighed)


def _is_separate_fault(weighed: Weighed, outcome: Outcome, implies: Consequences) -> bool:
    """True if it is a fault within rebalances that had another trigger, and does not follow from that trigger."""
    # The trigger of a rebalance (a restart, members that join and leave) does not explain why one member kept the rest
    # waiting. If the trigger is itself a fault, a second fault takes decisive evidence.
    if weighed.hypothesis.severity == "info" or weighed.odds <= 0 or not weighed.hypothesis.explains:
        return False
    return all(_is_implied_only(fact, weighed, outcome, implies) for fact in weighed.hypothesis.explains)


def _is_implied_only(fact: Fact, weighed: Weighed, outcome: Outcome, implies: Consequences) -> bool:
    """True if the fact is a rebalance that its hypothesis only implies, while it explains other facts."""
    winner = outcome.explains.get(fact.id)
    if winner is None or not isinstance(fact, Rebalance) or weighed.cause in implies[winner.cause]:
        return False
    explained = {other.id for other in winner.hypothesis.explains}
    if not explained or fact.id in explained:
        return False
    return winner.hypothesis.severity == "info" or weighed.odds >= DECISIVE


def _explained_by(weighed: Weighed, outcome: Outcome, implies: Consequences) -> Weighed | None:
    """Return the hypothesis about the same culprits that causes this one and explains most of its facts, if any."""
    # Most is enough: a thread that is replaced repeatedly may have flapped before the first line of its replacement.
    core = _core(weighed)
    bringing = [w for f in core if (w := outcome.explains.get(f.id)) and weighed.cause in implies[w.cause]]
    if not bringing:
        return None
    found = Counter(bringing)
    blamed = {c.name for w in found for c in w.hypothesis.culprits}
    if 2 * found.total() <= len(core) or not {c.name for c in weighed.hypothesis.culprits} <= blamed:
        return None
    return found.most_common(1)[0][0]


def _winners(weighed: Weighed, outcome: Outcome) -> list[Weighed]:
    """Return the distinct hypotheses that explain its facts."""
    found = {id(w): w for fact in _core(weighed) if (w := outcome.explains.get(fact.id)) is not None}
    return list(found.values())


def consequences_of(direct: Mapping[str, Iterable[str]]) -> Consequences:
    """Return the declared consequences of each cause; raise ValueError if two causes imply each other."""
    found = {cause: frozenset(implies) for cause, implies in direct.items()}
    mutual = sorted(f"{a} and {b}" for a, bs in found.items() for b in bs if a < b and a in found.get(b, ()))
    if mutual:
        raise ValueError(f"causes bring each other about: {', '.join(mutual)}")
    return defaultdict(frozenset, found)


# Cause -> its hypothesis for the facts that the verdict explains; includes the verdict.
Choices = dict[str, Weighed]


def merge_repeats(outcome: Outcome, quiet_ms: int) -> None:
    """Give repeated losses of the same culprits one cause if one can explain them all: one cause makes one incident."""
    # In brokers' logs alone, a process that crashes in a loop looks like a pause each time it rejoins, and like a crash
    # if the logs end before that.
    verdicts = _Verdicts(outcome)
    for losses in _repeated(outcome.standing, quiet_ms):
        for run in _runs_with_one_cause([_choices(weighed, outcome) for weighed in losses]):
            verdicts.settle(run)


def _repeated(standing: Iterable[Weighed], quiet_ms: int) -> Iterator[list[Weighed]]:
    """Yield the hypotheses about the same culprits, split wherever the group was quiet for more than `quiet_ms`."""
    ordered = sorted(standing, key=lambda w: (w.hypothesis.started_at(), w.cause))
    for names, losses in grouped(ordered, lambda w: frozenset(c.name for c in w.hypothesis.culprits)).items():
        chain: list[Weighed] = []
        for weighed in losses if names else ():
            if chain and weighed.hypothesis.started_at() - chain[-1].hypothesis.last_at() > quiet_ms:
                yield chain
                chain = []
            chain.append(weighed)
        yield chain


def _choices(weighed: Weighed, outcome: Outcome) -> Choices:
    """Return the verdict and, if none of its members has a log, rivals nearly as likely for exactly the same facts."""
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
    """Yield the longest runs of losses that one cause can explain."""
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
    """An index of the accepted hypotheses and the facts of each: a storm of evictions may exchange thousands."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._places = {weighed: place for place, weighed in enumerate(outcome.standing)}
        self._explained: dict[Weighed, list[str]] = defaultdict(list)
        for fact, by in outcome.explains.items():
            self._explained[by].append(fact)

    def settle(self, run: Sequence[Choices]) -> None:
        """Give all losses of the run the cause with the highest total odds."""
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
