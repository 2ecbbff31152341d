from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.diagnosis.reference.glossary import GLOSSARY, KIPS, SETTINGS, neighbours_of

CAUSES = sorted(set(all_causes()) - {"unexplained"})


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_names_settings_or_kips_that_are_explained_and_a_neighbour(cause: str) -> None:
    declared = all_causes()[cause]
    assert declared.settings or declared.kips
    assert set(declared.settings) <= SETTINGS.keys()
    assert set(declared.kips) <= KIPS.keys()
    assert dict(neighbours_of(cause))


def test_neighbours_are_causes_and_each_pair_stands_once() -> None:
    pairs = [frozenset(pair.causes) for pair in GLOSSARY.lookalikes]
    assert len(set(pairs)) == len(pairs)
    assert {cause for pair in pairs for cause in pair} <= all_causes().keys()
    assert all(len(pair) == 2 for pair in pairs)


def test_nothing_is_explained_that_no_cause_needs() -> None:
    causes = all_causes().values()
    assert SETTINGS.keys() == {name for cause in causes for name in cause.settings}
    assert KIPS.keys() == {name for cause in causes for name in cause.kips}
