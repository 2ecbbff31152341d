from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import ChainLink
from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.incident_facts import of_one_day, steps_of
from rebalance_forensics.report.times import DAY
from tests.report.building import a_crash, a_line, at


def test_repeated_steps_are_listed_once_with_their_count_and_end() -> None:
    steps = ["c-1: join requested"] * 3 + ["broker-1: rebalance started"] + ["c-1: join requested"]
    chain = tuple(
        ChainLink(at=at(second), what=what, evidence=a_line("app.log", second + 1, second, what))
        for second, what in enumerate(steps)
    )
    first, second, third = steps_of(replace(a_crash().root_causes[0], chain=chain))
    assert (first.times, first.at, first.last_at) == (3, at(0), at(2))
    assert first.evidence is not None
    assert first.evidence.line == 1
    assert first.repeated == ", 3 times until 10:00:02.000"
    assert (second.what, second.repeated) == ("broker-1: rebalance started", "")
    assert (third.times, third.repeated) == (1, "")


def test_steps_of_several_days_have_dates() -> None:
    chain = tuple(ChainLink(at=EpochMs(at(0) + n * DAY), what="c-1: left", evidence=None) for n in range(3))
    steps = [*steps_of(replace(a_crash().root_causes[0], chain=chain))]
    assert [step.repeated for step in steps] == [", 3 times until 2026-03-03 10:00:00"]
    assert not of_one_day(steps)
    assert of_one_day([replace(steps[0], last_at=at(1))])
