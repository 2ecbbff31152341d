from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import ChainLink
from rebalance_forensics.report.incident_facts import steps_of
from tests.report.building import a_crash, a_line, at


def test_steps_that_say_the_same_in_a_row_are_told_once_with_their_number_and_end() -> None:
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
