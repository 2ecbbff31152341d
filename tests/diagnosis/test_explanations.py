from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.kafka_settings import SETTINGS
from rebalance_forensics.diagnosis.kips import KIPS
from rebalance_forensics.diagnosis.neighbours import PAIRS, neighbours_of
from rebalance_forensics.diagnosis.registry import all_rules

CAUSES = sorted(set(all_rules()) - {"unexplained"})


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_names_settings_or_kips_that_are_explained_and_a_neighbour(cause: str) -> None:
    rule = all_rules()[cause]
    assert rule.settings or rule.kips
    assert set(rule.settings) <= SETTINGS.keys()
    assert set(rule.kips) <= KIPS.keys()
    assert dict(neighbours_of(cause))


def test_neighbours_are_causes_and_each_pair_stands_once() -> None:
    pairs = [frozenset(pair[:2]) for pair in PAIRS]
    assert len(set(pairs)) == len(pairs)
    assert {cause for pair in pairs for cause in pair} <= all_rules().keys()
    assert all(len(pair) == 2 for pair in pairs)


def test_nothing_is_explained_that_no_cause_needs() -> None:
    rules = all_rules().values()
    assert SETTINGS.keys() == {name for rule in rules for name in rule.settings}
    assert KIPS.keys() == {name for rule in rules for name in rule.kips}
