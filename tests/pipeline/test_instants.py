"""Times on the command line."""

from __future__ import annotations

import pytest

from rebalance_forensics.pipeline.options import parse_instant
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.records import EpochMs

TEN_O_CLOCK = 1_772_359_200_000
END = EpochMs(TEN_O_CLOCK)


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2026-03-01T10:00:00Z", TEN_O_CLOCK),
        ("2026-03-01T11:00:00+01:00", TEN_O_CLOCK),
        ("2026-03-01 10:00", TEN_O_CLOCK),
        ("2h", TEN_O_CLOCK - 7_200_000),
        ("1h30m", TEN_O_CLOCK - 5_400_000),
        ("45m", TEN_O_CLOCK - 2_700_000),
        ("09:30", TEN_O_CLOCK - 1_800_000),
        ("10:00:00", TEN_O_CLOCK),
        ("22:00", TEN_O_CLOCK - 43_200_000),
    ],
)
def test_a_time_is_iso_8601_or_so_long_before_the_last_line(written: str, at: int) -> None:
    assert parse_instant(written).resolve(END) == at


def test_logs_without_times_have_no_end_to_count_back_from() -> None:
    assert parse_instant("2h").resolve(None) is None


def test_what_is_no_time_is_refused_with_an_example() -> None:
    with pytest.raises(InputError, match=r"cannot parse time 'yesterday': write ISO 8601 .* \(2h, 45m\)"):
        parse_instant("yesterday")
