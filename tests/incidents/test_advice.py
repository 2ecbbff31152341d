from __future__ import annotations

import re

import pytest

from tests.incidents.sample import Sample, all_samples, report_of

LOOKING = frozenset({"Look", "Check", "Read", "Find", "Take"})
"""To look costs nothing: thread dumps are taken, logs are read."""
"""Advice that begins so changes nothing and costs nothing but the look."""

each_sample = pytest.mark.parametrize("sample", all_samples(), ids=lambda s: s.folder.name)


@each_sample
def test_every_fault_is_followed_by_advice_with_its_own_figure(sample: Sample) -> None:
    for incident in report_of(sample.folder).incidents:
        for cause in incident.root_causes:
            sentences = " ".join(f"{one.action} {one.why}" for one in cause.advice)
            known = incident.severity == "info" or cause.cause == "unexplained"
            assert known or re.search(r"\d|\bonce\b|\btwice\b|\bone\b", sentences), (cause.cause, sentences)


@each_sample
def test_advice_that_changes_something_says_what_it_costs(sample: Sample) -> None:
    advice = [a for i in report_of(sample.folder).incidents for c in i.root_causes for a in c.advice]
    assert not [one.action for one in advice if one.cost is None and one.action.split()[0] not in LOOKING]


@each_sample
def test_no_advice_is_given_twice(sample: Sample) -> None:
    for incident in report_of(sample.folder).incidents:
        for cause in incident.root_causes:
            actions = [re.sub(r"\d+", "", one.action) for one in cause.advice]
            assert len(actions) == len(set(actions))
