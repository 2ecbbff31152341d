"""What once broke a law breaks none now: each find of the fuzzer, as small as it could be made."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import reduction
from benchmarks.fuzz.cases import Case, kept


@pytest.mark.parametrize("case", kept(), ids=lambda case: case.name)
def test_a_find_stays_mended(case: Case) -> None:
    assert [(find.law, find.sign) for find in reduction.finds(case.input)] == [], case.sentence
