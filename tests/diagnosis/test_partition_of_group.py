from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import offsets_partition

INTS = 2**31


@pytest.mark.parametrize(
    ("group", "code"),
    [("", 0), ("a", 97), ("hello", 99162322), ("payments", 1382682413), ("console-consumer-42", None)],
)
def test_a_group_lives_where_its_java_hash_code_points(group: str, code: int | None) -> None:
    if code is not None:
        assert offsets_partition(group, INTS) == code
    assert 0 <= offsets_partition(group) < 50


def test_a_negative_hash_code_counts_by_its_absolute_value() -> None:
    # "zzzzzz".hashCode() is -685785664 in Java.
    assert offsets_partition("zzzzzz", INTS) == 685785664
    assert offsets_partition("zzzzzz") == 685785664 % 50


def test_the_lowest_int_counts_as_zero() -> None:
    # A string known for this very hash code.
    assert offsets_partition("polygenelubricants") == 0


def test_a_character_beyond_the_basic_plane_is_two_units_as_in_java() -> None:
    assert offsets_partition("\U0001f98a", INTS) == 31 * 0xD83E + 0xDD8A


def test_another_number_of_partitions_moves_the_group() -> None:
    assert offsets_partition("payments", 10) == 1382682413 % 10


@pytest.mark.parametrize(
    ("group", "partition"),
    [("search-indexer-prod", 0), ("ledger", 1), ("email-sender.eu", 4), ("billing-v2", 2), ("fraud-detector", 5)],
)
def test_brokers_with_six_partitions_wrote_the_same(group: str, partition: int) -> None:
    assert offsets_partition(group, 6) == partition
