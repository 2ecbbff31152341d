"""Every pattern file is its own spec: its samples and rejects are tests, tried against the whole catalog."""

from __future__ import annotations

from itertools import chain

import pytest

from rebalance_forensics.catalog.loader import pattern_files, shipped_patterns
from rebalance_forensics.catalog.pattern import Pattern
from rebalance_forensics.catalog.pattern_checks import Loaded, Proof

LOADED = Loaded({identifier: path for path, identifier in pattern_files([shipped_patterns()])})
PROOF = Proof(LOADED.catalog())


@pytest.mark.parametrize("pattern", [pytest.param(p, id=p.id) for p in LOADED.sound])
def test_a_pattern_yields_what_its_samples_say_leaves_its_rejects_alone_and_proves_its_templates(
    pattern: Pattern,
) -> None:
    alone = () if pattern.fragment else (pattern,)  # a fragment stands inside other patterns' lines only
    samples = (PROOF.sample_problems(p, sample) for p in alone for sample in p.samples)
    rejects = (PROOF.reject_problems(p, reject) for p in alone for reject in p.rejects)
    assert [str(problem) for problem in chain(*samples, *rejects, PROOF.template_problems(pattern))] == []


def test_every_file_says_what_it_means_in_words_of_the_vocabulary() -> None:
    assert [str(problem) for problem in LOADED.problems] == []
