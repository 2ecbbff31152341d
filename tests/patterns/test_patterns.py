"""Every pattern file is its own spec: its samples and rejects are tests, tried against the whole catalog."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import chain

import pytest

from rebalance_forensics.catalog.loader import names_errors, pattern_files, shipped_patterns
from rebalance_forensics.catalog.pattern import Pattern
from rebalance_forensics.catalog.pattern_checks import Proof
from tests.shipped import shipped

FILES = [identifier for _, identifier in pattern_files([shipped_patterns()]) if not names_errors(identifier)]


@cache
def _patterns() -> Mapping[str, Pattern]:
    return {pattern.id: pattern for pattern in shipped().sound}


@cache
def _proof() -> Proof:
    return Proof(shipped().catalog())


@pytest.mark.parametrize("identifier", FILES)
def test_a_pattern_yields_what_its_samples_say_leaves_its_rejects_alone_and_proves_its_templates(
    identifier: str,
) -> None:
    pattern, proof = _patterns()[identifier], _proof()
    alone = () if pattern.fragment else (pattern,)  # a fragment stands inside other patterns' lines only
    samples = (proof.sample_problems(p, sample) for p in alone for sample in p.samples)
    rejects = (proof.reject_problems(p, reject) for p in alone for reject in p.rejects)
    assert [str(problem) for problem in chain(*samples, *rejects, proof.template_problems(pattern))] == []


def test_every_file_says_what_it_means_in_words_of_the_vocabulary() -> None:
    assert [str(problem) for problem in shipped().problems] == []
