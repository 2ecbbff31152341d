"""The contest of hypotheses for facts: the better one explains a fact, and takes in what follows from it.

What explains all losses of a member explains each of them better than another hypothesis does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK
from rebalance_forensics.timeline.facts import Fact, Rebalance
from rebalance_forensics.timeline.time_index import grouped

# Cause -> the causes that follow from it. Not transitive: a slow loop may look like a flap, and a flap like a restart,
# and yet a slow loop is no restart.
Brings = Mapping[str, frozenset[str]]


@dataclass(slots=True, kw_only=True, eq=False)
class Outcome:
    """The hypotheses that stand, the explanation of each fact (by fact id), and what became of the others."""

    standing: list[Weighed] = field(default_factory=list)
    explains: dict[str, Weighed] = field(default_factory=dict)
    rivals: dict[Weighed, list[Weighed]] = field(default_factory=lambda: defaultdict(list))
    """Hypotheses that explain the same facts less well, and that no sign rules out."""
    contradicted: dict[Weighed, list[Weighed]] = field(default_factory=lambda: defaultdict(list))
    """Hypotheses for the same facts that a sign rules out."""


def contest(hypotheses: Iterable[Weighed], implies: Brings) -> Outcome:
    """Let the hypotheses compete for the facts, the best first, none before those it may follow from."""
    every = sorted(hypotheses, key=_best_first)
    # At less than even odds against chance a hypothesis does not stand by itself; it may still be a rival.
    possible = [w for w in every if w.contradiction is None and w.odds >= 0]
    outcome = Outcome()
    for weighed in _in_turn(possible, implies):
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


def _in_turn(possible: Sequence[Weighed], implies: Brings) -> Iterator[Weighed]:
    """Hypotheses best first, each after those that it may follow from."""
    accounting: dict[str, list[Weighed]] = defaultdict(list)
    for weighed in possible:
        for fact in weighed.hypothesis.accounts_for:
            accounting[fact.id].append(weighed)
    done: set[int] = set()
    for weighed in possible:
        yield from _after_its_causes(weighed, accounting, implies, done)


def _after_its_causes(
    weighed: Weighed, accounting: Mapping[str, Sequence[Weighed]], implies: Brings, done: set[int]
) -> Iterator[Weighed]:
    """The hypotheses that this one may follow from, then itself, unless it is done already."""
    if id(weighed) in done:
        return
    done.add(id(weighed))
    cause, odds = weighed.cause, min(weighed.odds, WEAK)  # a bare guess does not take in what the lines say clearly
    deeper: dict[int, Weighed] = {}
    for fact in _core(weighed):
        for other in accounting[fact.id]:
            if cause in implies[other.cause] and other.odds >= odds:
                deeper[id(other)] = other
    for other in sorted(deeper.values(), key=_best_first) if len(deeper) > 1 else deeper.values():
        yield from _after_its_causes(other, accounting, implies, done)
    yield weighed


def _core(weighed: Weighed) -> tuple[Fact, ...]:
    return weighed.hypothesis.explains or weighed.hypothesis.implies


def _decide(weighed: Weighed, outcome: Outcome, implies: Brings) -> None:
    core = _core(weighed)
    separate = _is_separate_fault(weighed, outcome, implies)
    if core and all(fact.id in outcome.explains for fact in core) and not separate:
        winners = _winners(weighed, outcome)
        if not any(weighed.cause == w.cause or weighed.cause in implies[w.cause] for w in winners):
            for winner in winners:
                outcome.rivals[winner].append(weighed)
        return
    deeper = _follows_from(weighed, outcome, implies)
    if separate:
        outcome.explains |= {fact.id: deeper or weighed for fact in weighed.hypothesis.explains}
    for fact in weighed.hypothesis.accounts_for:
        outcome.explains.setdefault(fact.id, deeper or weighed)
    if deeper is None:
        outcome.standing.append(weighed)


def _is_separate_fault(weighed: Weighed, outcome: Outcome, implies: Brings) -> bool:
    """True if it is a fault in rebalances that something else began, and does not follow from that."""
    # What began a rebalance, a restart or members that come and go, is its trigger: it does not explain how long one
    # member let the others wait. Beside another fault it takes clear evidence.
    if weighed.hypothesis.severity == "info" or weighed.odds <= 0 or not weighed.hypothesis.explains:
        return False
    return all(_is_implied_only(fact, weighed, outcome, implies) for fact in weighed.hypothesis.explains)


def _is_implied_only(fact: Fact, weighed: Weighed, outcome: Outcome, implies: Brings) -> bool:
    """True if the fact is a rebalance that its explanation implies, while that explains other facts."""
    winner = outcome.explains.get(fact.id)
    if winner is None or not isinstance(fact, Rebalance) or weighed.cause in implies[winner.cause]:
        return False
    explained = {other.id for other in winner.hypothesis.explains}
    if not explained or fact.id in explained:
        return False
    return winner.hypothesis.severity == "info" or weighed.odds >= DECISIVE


def _follows_from(weighed: Weighed, outcome: Outcome, implies: Brings) -> Weighed | None:
    """The hypothesis about the same culprits that brings this one about and explains most of its facts."""
    # The rest follows from it too: a flap of a thread that is replaced again and again may begin before the first line.
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
    """Hypotheses that explain its facts, each once."""
    found = {id(w): w for fact in _core(weighed) if (w := outcome.explains.get(fact.id)) is not None}
    return list(found.values())


def consequences_of(direct: Mapping[str, Iterable[str]]) -> Brings:
    """What each cause declares; two causes that bring each other about are refused."""
    found = {cause: frozenset(implies) for cause, implies in direct.items()}
    mutual = sorted(f"{a} and {b}" for a, bs in found.items() for b in bs if a < b and a in found.get(b, ()))
    if mutual:
        raise ValueError(f"causes bring each other about: {', '.join(mutual)}")
    return defaultdict(frozenset, found)


# Cause -> the hypothesis by which it explains what the verdict explains, the verdict among them.
Choices = dict[str, Weighed]


def merge_repeats(outcome: Outcome, quiet_ms: int) -> None:
    """Let the same culprit's losses have one cause where one could explain them all (contract: one incident)."""
    # From brokers alone a process that crashes in a loop looks like a pause each time it comes back, and like a crash
    # once the logs end before it does.
    verdicts = _Verdicts(outcome)
    for losses in _repeated(outcome.standing, quiet_ms):
        for run in _runs_with_one_cause([_choices(weighed, outcome) for weighed in losses]):
            verdicts.settle(run)


def _repeated(standing: Iterable[Weighed], quiet_ms: int) -> Iterator[list[Weighed]]:
    """Findings of the same culprits, in runs that end where the group was quiet for longer."""
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
