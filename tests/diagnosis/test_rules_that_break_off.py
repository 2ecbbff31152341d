"""A cause that breaks off silences no other, and its cause is called neither found nor ruled out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.engine import discovery
from rebalance_forensics.timeline.group_timeline import Timeline
from tests.diagnosis.closings import closes
from tests.story import Story


def breaks_off(_timeline: Timeline) -> Iterator[Hypothesis]:
    yield from ()
    raise LookupError("no such member")


@pytest.fixture
def broken_scale_out(monkeypatch: pytest.MonkeyPatch) -> None:
    causes = discovery.all_causes()
    monkeypatch.setattr(
        discovery, "all_causes", lambda: causes | {"scale-out": replace(causes["scale-out"], propose=breaks_off)}
    )


@pytest.mark.usefixtures("broken_scale_out")
def test_the_other_causes_are_found_and_the_gap_is_reported() -> None:
    story = closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"])
    assert [incident.root_causes[0].cause for incident in story.incidents()] == ["scale-in"]
    (gap,) = story.failed_causes()
    assert gap.startswith(f"Whether group {story.group} had a case of scale-out could not be evaluated")
    assert "LookupError: no such member (diagnosis/engine/discovery.py:" in gap
