"""Events and findings survive the way through rows."""

from __future__ import annotations

import gc
import subprocess
import sys
from itertools import chain
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.model import Headline
from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.pipeline import stages
from rebalance_forensics.pipeline.results import CasesInFile
from rebalance_forensics.pipeline.schemas import ROWS, Row, batch_of, event_of, object_of, payload_of, row_of, rows_of
from rebalance_forensics.pipeline.stages import in_order
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.timeline.coverage import LogSpan

SAMPLES = Path(__file__).parents[2] / "sample_logs"
SLOW_DATA = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
SLOWEST_DATA = settings(SLOW_DATA, max_examples=3)
"""Of a whole case: each draw takes a third of a second, and has dozens of fields of every kind."""
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


@pytest.mark.parametrize("kind", [GroupCase, SplitStats, LogSpan, Failure])
def test_facts_other_than_events_are_restored_from_their_rows(kind: type) -> None:
    @SLOWEST_DATA
    @given(st.from_type(kind))
    def comes_back(told: object) -> None:
        assert object_of(kind, payload_of(told)) == told

    comes_back()


def test_a_case_comes_back_from_the_file_in_which_it_waits_and_its_headlines_are_at_hand() -> None:
    @SLOWEST_DATA
    @given(st.lists(st.from_type(GroupCase), max_size=2))
    def comes_back(told: list[GroupCase]) -> None:
        cases = CasesInFile()
        for case in told * 2:
            incidents = [payload_of(incident).encode() for incident in case.incidents]
            for incident in incidents[:1]:  # of a case that breaks off
                cases.add_incident(incident)
            cases.forget_incidents()
            for incident in incidents:
                cases.add_incident(incident)
            cases.add(payload_of(replace(case, incidents=())).encode())
        outages = [outage for outline in cases.outlines for outage in outline.history.outages]
        assert len(set(map(id, outages))) == len(set(outages)), "each is held once"
        for place, (case, outline) in enumerate(zip(told * 2, cases.outlines, strict=True)):
            assert outline.history.outages == case.history.outages
            assert cases.history(place) == case.history
            assert [cases.incident(place, number) for number in range(len(case.incidents))] == [*case.incidents]
            assert [type(one) for one in outline.incidents] == [Headline] * len(case.incidents)
            assert [one.summary for one in outline.incidents] == [one.summary for one in case.incidents]
            assert (outline.gaps, outline.clocks, outline.speakers) == (case.gaps, case.clocks, case.speakers)

    comes_back()


def test_what_a_report_is_made_of_is_not_looked_through_for_garbage() -> None:
    @SLOWEST_DATA
    @given(st.from_type(GroupCase))
    def is_left_alone(case: GroupCase) -> None:
        rows = object_of(GroupCase, payload_of(case))
        assert not [one for one in (rows, rows.history, *rows.incidents, *rows.gaps) if gc.is_tracked(one)]

    is_left_alone()


def test_rows_are_distinguished_without_pandas() -> None:
    rows = (
        "import sys; from rebalance_forensics.pipeline.schemas import *;"
        "batch = batch_of([Row(shard=7, kind=Kind.EVENT), Row(shard=9, kind=Kind.EVENT)]);"
        "from rebalance_forensics.pipeline.results import results_of;"
        "print(is_one_of('shard', [9], batch).to_pylist(), len(results_of([batch], first_shard=9).events));"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", rows], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout == "[False, True] 2\nFalse\n"


def test_no_rows_are_a_batch_too() -> None:
    assert batch_of([]).schema == ROWS


ANY_ROW = st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from("ab"), st.integers(0, 99), st.text()).map(
    lambda told: Row(shard=told[0], kind=told[1], group=told[2], ts=told[3], payload=told[4])
)


@SLOW_DATA
@given(st.lists(st.lists(ANY_ROW)), st.sampled_from([0, 1, 8]))
def test_rows_of_many_batches_come_in_one_order_and_none_is_lost(batches: list[list[Row]], most_opened: int) -> None:
    with pytest.MonkeyPatch.context() as sizes:
        sizes.setattr(stages, "BATCH_ROWS", 2)
        sizes.setattr(stages, "MOST_OPENED", most_opened)
        rows = [row for batch in in_order(map(batch_of, batches)) for row in rows_of(batch)]
    assert sorted(rows, key=str) == sorted(chain.from_iterable(batches), key=str)
    assert rows == sorted(rows, key=attrgetter("shard", "kind", "group", "ts"))
