"""Texts that are cut say how much is missing, also where they are cut more than once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_forensics.timeline.text_limit import shortened


def test_a_text_within_the_limit_stays_as_it_is() -> None:
    assert shortened("a" * 100, 100) == "a" * 100


def test_a_cut_text_says_how_many_characters_are_missing() -> None:
    assert shortened("a" * 5_000, 2_000) == "a" * 2_000 + " … (+3000 characters)"


def test_no_mark_takes_the_place_of_the_few_characters_that_would_be_missing() -> None:
    assert shortened("a" * 102, 100) == "a" * 102


@given(st.integers(0, 9_000), st.integers(1, 3_000), st.integers(1, 3_000))
def test_what_is_cut_twice_counts_what_is_missing_of_the_whole(length: int, first: int, second: int) -> None:
    text = shortened(shortened("a" * length, max(first, second)), min(first, second))
    kept, _, missing = text.partition(" … (+")
    assert len(kept) + int(missing.partition(" ")[0] or 0) == length
