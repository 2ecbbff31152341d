"""Which release of Kafka a client runs, where clients of several releases write to one log."""

from __future__ import annotations

from rebalance_forensics.timeline.releases import Affected, PossibleReleases, latest_releases, releases_of
from tests.story import Story

SINCE_2_7 = Affected((2, 7), None)


def beside_a_client_of_2_8() -> Story:
    story = Story(release=(2, 5)).formed("c-1")
    return story.line(
        "c-1/app.log", "01:00:05.000", "Kafka version: 2.8.2", logger="org.apache.kafka.common.utils.AppInfoParser"
    )


def is_affected(story: Story) -> bool:
    timeline = story.client("c-1", "01:10:00.000", "(Re-)joining group").timeline()
    line = next(
        e
        for e in timeline.group_events
        if "(Re-)joining group" in e.text and e.at == max(x.at or 0 for x in timeline.group_events)
    )
    return releases_of(timeline).affects("client", [SINCE_2_7], [line])


def test_a_member_does_not_run_the_release_that_another_client_reports_in_its_log() -> None:
    assert not is_affected(beside_a_client_of_2_8())


def test_a_reconfigured_member_runs_the_release_that_it_reports_then() -> None:
    story = beside_a_client_of_2_8()
    story.release = (3, 9)
    assert is_affected(story.started("c-1", "01:05:00.000"))


def test_a_member_may_run_either_release_where_another_client_starts_while_it_does() -> None:
    story = Story().formed("c-1")
    for client in ("c-1", "other"):
        dump = f"ConsumerConfig values: \n\tclient.id = {client}\n\tgroup.id = payments\n"
        story.line("c-1/app.log", "01:05:00.000", dump, logger="org.apache.kafka.clients.consumer.ConsumerConfig")
    for release in ("2.8.2", "1.1.1"):
        logger = "org.apache.kafka.common.utils.AppInfoParser"
        story.line("c-1/app.log", "01:05:01.000", f"Kafka version : {release}", logger=logger)
    timeline = story.client("c-1", "01:06:00.000", "(Re-)joining group").timeline()
    assert latest_releases(timeline)[timeline.participants.by_name["c-1"]] == PossibleReleases((1, 1), (2, 8))
