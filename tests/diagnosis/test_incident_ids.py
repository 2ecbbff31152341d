"""An id means one incident, in a ticket, an alert or a link."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.engine.incidents import with_unique_ids
from tests.report.building import a_crash


def test_two_incidents_that_begin_with_one_line_have_two_ids() -> None:
    crash = a_crash()
    cause = replace(crash.root_causes[0], narrative="The other worker died.")
    other = replace(crash, summary="Worker 2 died.", root_causes=(cause,))
    (one, _), (two, _) = with_unique_ids([(crash, ()), (other, ())])
    again = [incident for incident, _ in with_unique_ids([(other, ()), (crash, ())])]
    assert one.id == crash.id != two.id
    assert again == [one, two]
    assert len(two.id) == 16
