from __future__ import annotations

import pytest

from tests.diagnosis.closings import comes
from tests.kafka_words import Release
from tests.story import Side, Story


@pytest.mark.parametrize("release", [(1, 0), (2, 2), (2, 4), (2, 8), (3, 9), (4, 1)])
def test_a_group_that_forms_from_empty_starts_up(release: Release) -> None:
    (incident,) = Story(release=release).formed("c-1", "c-2", "c-3").case().incidents
    assert incident.root_causes[0].cause == "startup"
    assert incident.severity == "info"
    assert incident.generations == (1,)


@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(seen: Side) -> None:
    incidents = Story(seen=seen).formed("c-1", "c-2").case().incidents
    assert [i.root_causes[0].cause for i in incidents] == ["startup"]


def test_a_newcomer_to_a_living_group_is_no_startup() -> None:
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:30:00.000", ["c-1", "c-2", "c-3"])
    assert [i.root_causes[0].cause for i in story.case().incidents] == ["startup", "scale-out"]


def test_logs_that_begin_in_the_middle_show_no_startup() -> None:
    story = Story(generation=41, holds={"c-1": ("orders-0",), "c-2": ("orders-1",)})
    story.rebalanced("01:00:00.000", story.words.leaving("c-9-0000"), ["c-1", "c-2"])
    assert "startup" not in [i.root_causes[0].cause for i in story.case().incidents]
