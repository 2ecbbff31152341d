from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.diagnosis.reference.glossary import glossary

CAUSES = sorted(set(all_causes()) - {"unexplained"})


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_names_settings_or_kips_that_are_explained_and_a_neighbour(cause: str) -> None:
    known = glossary()
    assert cause in known.causes, "it needs an entry under `causes` in diagnosis/reference/glossary.yaml"
    explained = known.causes[cause]
    assert explained.settings or explained.kips
    assert set(explained.settings) <= known.settings.keys()
    assert set(explained.kips) <= known.kips.keys()
    assert dict(known.neighbours_of(cause))


def test_lookalikes_are_causes_and_each_pair_is_listed_once() -> None:
    pairs = [frozenset(pair.causes) for pair in glossary().lookalikes]
    assert len(set(pairs)) == len(pairs)
    assert {cause for pair in pairs for cause in pair} <= all_causes().keys()
    assert all(len(pair) == 2 for pair in pairs)


def test_nothing_is_explained_that_no_cause_needs() -> None:
    known = glossary()
    assert known.causes.keys() == all_causes().keys()
    assert known.settings.keys() == {name for cause in known.causes.values() for name in cause.settings}
    assert known.kips.keys() == {name for cause in known.causes.values() for name in cause.kips}
