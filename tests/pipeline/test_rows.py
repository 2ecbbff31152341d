"""Events and findings survive the way through rows."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.pipeline.case_rows import CaseReader, payload_of
from rebalance_forensics.pipeline.event_rows import event_of, row_of
from rebalance_forensics.pipeline.rows import Codec, dumps
from rebalance_forensics.pipeline.schemas import ROWS, batch_of, rows_of
from rebalance_forensics.timeline.model import Evidence, GroupHistory

SLOW_DATA = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
st.register_type_strategy(int, st.integers(-(10**14), 10**14))
st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
st.register_type_strategy(str, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))


@pytest.mark.parametrize("name", sorted(EVENT_TYPES))
def test_every_kind_of_event_comes_back_from_its_row(name: str) -> None:
    @SLOW_DATA
    @given(st.data())
    def comes_back(data: st.DataObject) -> None:
        event = data.draw(st.from_type(EVENT_TYPES[name]))
        (row,) = rows_of(batch_of([row_of(event, shard=3, split=7)]))
        assert event_of(row) == event

    comes_back()


@SLOW_DATA
@given(st.from_type(Incident))
def test_an_incident_comes_back_from_json(incident: Incident) -> None:
    assert Codec().loads(Incident, dumps(incident)) == incident


def test_a_codec_can_replace_objects_deep_inside() -> None:
    evidence = Evidence(path="a.log", line=3, byte_offset=40, timestamp=None, text="t")
    codec = Codec({Evidence: lambda e: Evidence(path=e.path, line=99, byte_offset=0, timestamp=None, text=e.text)})
    assert codec.loads(Evidence, dumps(evidence)).line == 99


def test_a_field_that_json_cannot_carry_is_refused_and_named() -> None:
    with pytest.raises(TypeError, match="no row can hold"):
        Codec().read(bytes, b"")


def test_a_history_is_something_a_row_can_hold() -> None:
    history = GroupHistory(
        group="g", cluster="c", kind="consumer", protocol="classic", protocols=(), rebalance_mode="eager",
        coordinators=(), generations=(), pauses=(), settings=(("session.timeout.ms", "45000"),),
    )  # fmt: skip
    assert Codec().loads(GroupHistory, dumps(history)) == history


def test_no_rows_are_a_batch_too() -> None:
    assert batch_of([]).schema == ROWS


@SLOW_DATA
@given(st.from_type(GroupCase))
def test_a_case_comes_back_with_every_line_corrected_once(case: GroupCase) -> None:
    corrected: list[Evidence] = []

    def correct(line: Evidence) -> Evidence:
        corrected.append(line)
        return line

    assert CaseReader(correct).read(payload_of(case)) == case
    assert len(corrected) == len(set(corrected))
