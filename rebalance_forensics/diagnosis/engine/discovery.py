"""Discovery of causes: every module in causes/ is one, without registration."""

from __future__ import annotations

import importlib
import pkgutil
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec.structs import force_setattr

from rebalance_forensics import defects
from rebalance_forensics.diagnosis import causes
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.engine.contest import Consequences, consequences_of
from rebalance_forensics.diagnosis.engine.orchestrated import with_orchestration
from rebalance_forensics.diagnosis.engine.weights import Weighed, weighed
from rebalance_forensics.timeline.group_timeline import Timeline

# At most this many hypotheses keep the answers of their signs, to save memory; for others that a report shows, the
# signs are evaluated again.
MOST_ANSWERED = 1 << 13


@cache
def all_causes() -> dict[str, Cause]:
    """Return all causes, by id and in the order of their ids."""
    found = {}
    for module in pkgutil.iter_modules(causes.__path__):
        found[module.name.replace("_", "-")] = importlib.import_module(f"{causes.__name__}.{module.name}").CAUSE
    return dict(sorted(found.items()))


@cache
def consequences() -> Consequences:
    """Return the causes that can follow from each cause."""
    return consequences_of({name: cause.implies for name, cause in all_causes().items()})


def propose_all(timeline: Timeline) -> tuple[list[Weighed], dict[str, str]]:
    """Return the weighed hypotheses of all causes, and the errors of causes that failed, by cause."""
    # A cause that fails on unexpected lines must not prevent the others from being reported.
    names: list[str] = []
    hypotheses: list[Hypothesis] = []
    broken: dict[str, str] = {}
    for name, cause in all_causes().items():
        if cause.evidence_types and not timeline.shows_any(cause.evidence_types):
            continue
        try:
            hypotheses += _with_shared_texts([with_orchestration(timeline, name, h) for h in cause.propose(timeline)])
        except Exception as error:  # noqa: BLE001 - whatever it was, it is reported as a gap
            broken[name] = defects.describe(error)
        names += [name] * (len(hypotheses) - len(names))
    found: dict[int, Weighed] = {}
    for places in _by_subject(hypotheses):
        # The answers about a subject are dropped after its last hypothesis: only verdicts need them later.
        subject = hypotheses[places[0]].subject()
        for place in places:
            name, hypothesis = names[place], hypotheses[place]
            try:
                hypothesis.share(subject)
                keep = len(found) < MOST_ANSWERED
                found[place] = weighed(timeline, name, all_causes()[name], hypothesis, subject, keep=keep)
            except Exception as error:  # noqa: BLE001 - as above
                broken[name] = defects.describe(error)
        subject.answers.clear()
    return [found[place] for place in range(len(hypotheses)) if names[place] not in broken], broken


def _with_shared_texts(hypotheses: Iterable[Hypothesis]) -> Iterator[Hypothesis]:
    # A storm repeats the same few narratives and pieces of advice thousands of times.
    known: dict[object, object] = {}
    for hypothesis in hypotheses:
        for name in ("narrative", "advice", "culprits"):
            value = getattr(hypothesis, name)
            force_setattr(hypothesis, name, known.setdefault(value, value))
        yield hypothesis


def _by_subject(hypotheses: Iterable[Hypothesis]) -> list[array[int]]:
    """Return the indexes of the hypotheses, grouped by subject: the signs of one group share their answers."""
    found: dict[object, array[int]] = defaultdict(lambda: array("q"))
    for place, hypothesis in enumerate(hypotheses):
        found[hypothesis.subject_key()].append(place)
    return list(found.values())
