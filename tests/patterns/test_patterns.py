"""Every pattern file is its own spec: its samples and rejects are tests, tried against the whole catalog."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rebalance_forensics.catalog.loader import pattern_files, shipped_patterns
from rebalance_forensics.catalog.pattern import Pattern, Problem, Sample
from rebalance_forensics.catalog.pattern_checks import Loaded, Proof

LOADED = Loaded({identifier: path for path, identifier in pattern_files([shipped_patterns()])})
PROOF = Proof(LOADED.catalog())


def _named(pattern: Pattern, sample: Sample) -> object:
    return pytest.param(pattern, sample, id=f"{pattern.id}: {sample.name}")


def _samples() -> list[object]:
    return [_named(p, sample) for p in LOADED.sound if not p.fragment for sample in p.samples]


def _rejects() -> list[object]:
    return [_named(p, reject) for p in LOADED.sound if not p.fragment for reject in p.rejects]


def _told(problems: Iterator[Problem]) -> str:
    return "\n".join(map(str, problems))


@pytest.mark.parametrize(("pattern", "sample"), _samples())
def test_a_sample_yields_exactly_its_fields_from_its_pattern_alone(pattern: Pattern, sample: Sample) -> None:
    assert not _told(PROOF.sample_problems(pattern, sample))


@pytest.mark.parametrize(("pattern", "reject"), _rejects())
def test_a_reject_is_left_alone(pattern: Pattern, reject: Sample) -> None:
    assert not _told(PROOF.reject_problems(pattern, reject))


def test_every_file_says_what_it_means_in_words_of_the_vocabulary() -> None:
    assert not _told(iter(LOADED.problems))


@pytest.mark.parametrize("pattern", [pytest.param(p, id=p.id) for p in LOADED.sound])
def test_every_template_is_proven_by_a_sample(pattern: Pattern) -> None:
    assert not _told(PROOF.template_problems(pattern))
