from __future__ import annotations

from tests.diagnosis.closings import APP_INFO
from tests.story import Story


def test_a_consumer_that_closes_leaves_the_others_of_its_process_alone() -> None:
    story = Story(seen="clients")
    for client in ("c-1", "c-2"):
        joined = f"Generation{{generationId=1, memberId='{story.id_of(client)}', protocol='range'}}"
        story.line("app-1/app.log", "01:00:00.000", story.of(client).joining())
        story.line(
            "app-1/app.log",
            "01:00:03.000",
            story.of(client).said(f"Successfully joined group with generation {joined}"),
        )
    story.line("app-1/app.log", "01:10:00.000", "App info kafka.consumer for c-2 unregistered", logger=APP_INFO)
    assert [stop.participant.name for stop in story.timeline().stops] == ["c-2"]
