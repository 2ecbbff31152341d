from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.epochs import three_members
from tests.kafka_words import Release
from tests.story import Side, Story, ms

ALL = ["c-1", "c-2", "c-3"]


def deployed(release: Release = (3, 9), seen: Side = "both", bounces: int = 1) -> Story:
    story = Story(release=release, seen=seen).formed(*ALL)
    for minute, client in enumerate(ALL * bounces, 10):
        stay = [c for c in ALL if c != client]
        closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:08.000", [*stay, client])
    return story


@pytest.mark.parametrize("release", [(2, 4), (2, 8), (3, 9), (4, 1)])
def test_members_that_leave_and_return_one_after_another_are_a_deployment(release: Release) -> None:
    story = deployed(release)
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().generations == (2, 3, 4, 5, 6, 7)


@pytest.mark.parametrize("release", [(2, 4), (2, 6), (2, 8), (3, 9)])
@pytest.mark.parametrize("seen", ["brokers", "clients"])
def test_one_side_is_enough(release: Release, seen: Side) -> None:
    assert deployed(release, seen).causes() == ["rolling-restart"]


@pytest.mark.parametrize("release", [(1, 0), (2, 4), (3, 9), (4, 1)])
def test_a_member_that_died_shortly_before_was_no_step_of_it(release: Release) -> None:
    story = Story(release=release).formed(*ALL)
    dead = story.id_of("c-1")
    story.broker("01:09:00.000", story.words.failed(dead))
    story.reborn("c-1").rebalanced("01:09:00.001", f"removing member {dead} on heartbeat expiration", ["c-2", "c-3"])
    comes(story, "c-1", "01:09:20.000", ALL)
    for second, client in zip((45, 52, 59), ALL, strict=True):
        stay = [c for c in ALL if c != client]
        closes(story, client, f"01:09:{second}.000", stay)
        comes(story, client, f"01:09:{second}.900", [*stay, client])
    crash, deployment = story.incidents()
    assert [i.root_causes[0].cause for i in (crash, deployment)] == ["process-crash", "rolling-restart"]
    assert [i.generations for i in (crash, deployment)] == [(2, 3), (4, 5, 6, 7, 8, 9)]


@pytest.mark.parametrize("release", [(2, 8), (3, 9), (4, 1)])
def test_a_member_that_dies_while_the_others_are_restarted_is_a_crash(release: Release) -> None:
    """Its log ends without a shutdown where those of the others show one, and its session expires."""
    members = [*ALL, "c-4"]
    story = Story(release=release).formed(*members)
    for minute, client in ((10, "c-1"), (11, "c-2"), (13, "c-4")):
        stay = [c for c in members if c != client]
        if client == "c-4":
            dies(story, "c-3", "01:12:00.000", ["c-1", "c-2", "c-4"])
            comes(story, "c-3", "01:12:20.000", members)
        closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:08.000", [*stay, client])
    found = {i.root_causes[0].cause: i for i in story.incidents()}
    assert set(found) == {"rolling-restart", "process-crash"}
    assert [c.name for c in found["process-crash"].root_causes[0].culprits] == ["c-3"]


@pytest.mark.parametrize("release", [(0, 11), (1, 0), (2, 0)])
def test_a_consumer_that_is_back_without_a_new_configuration_was_not_restarted(release: Release) -> None:
    story = Story(release=release).formed("c-1", "c-2")
    story.rebalanced("01:09:00.000", "", ["c-2"]).reborn("c-1").rebalanced("01:09:15.000", "", ["c-2", "c-1"])
    for second, client, other in ((45, "c-1", "c-2"), (55, "c-2", "c-1")):
        closes(story, client, f"01:09:{second}.000", [other])
        comes(story, client, f"01:09:{second}.900", [other, client])
    slow, deployment = story.incidents()
    assert [i.root_causes[0].cause for i in (slow, deployment)] == ["slow-processing", "rolling-restart"]
    assert [i.generations for i in (slow, deployment)] == [(2, 3), (4, 5, 6, 7)]


def test_one_member_that_restarts_for_ever_is_no_deployment() -> None:
    story = Story().formed(*ALL)
    for minute in (10, 11, 12):
        closes(story, "c-3", f"01:{minute}:00.000", ["c-1", "c-2"])
        comes(story, "c-3", f"01:{minute}:08.000", ALL)
    assert "rolling-restart" not in story.causes() or story.blamed() == ["c-3"]


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_two_deployments_in_a_row_are_deployments_still(seen: Side) -> None:
    story = deployed(seen=seen, bounces=2)
    assert set(story.causes()) == {"rolling-restart"}
    assert {i.severity for i in story.incidents()} == {"info"}


def dies(story: Story, client: str, time: str, stay: list[str]) -> Story:
    """Its session expires, and the others rebalance."""
    dead = story.id_of(client)
    story.broker(time, story.words.failed(dead))
    return story.reborn(client).rebalanced(time, f"removing member {dead} on heartbeat expiration", stay)


OLD = ["pay-7c9f-aaa", "pay-7c9f-bbb", "pay-7c9f-ccc"]
NEW = ["pay-5d4e-xxx", "pay-5d4e-yyy", "pay-5d4e-zzz"]


def test_members_that_had_left_for_good_before_are_no_part_of_those_it_must_cover() -> None:
    everybody = ["c-1", "c-2", "c-3", "c-4", "c-5"]
    story = Story(release=(3, 9)).formed(*everybody)
    for minute, client in enumerate(everybody[2:], 10):
        closes(story, client, f"01:{minute}:00.000", [c for c in everybody if c not in everybody[2 : minute - 7]])
    for minute, client in enumerate(everybody[:2], 10):
        stay = [c for c in everybody[:2] if c != client]
        closes(story, client, f"04:{minute}:00.000", stay)
        comes(story, client, f"04:{minute}:08.000", [*stay, client])
    assert story.causes()[-1] == "rolling-restart"


def surged(story: Story, old: list[str], new: list[str]) -> Story:
    """Each new pod joins first, then an old one goes."""
    inside = list(old)
    for minute, (goes, starts) in enumerate(zip(old, new, strict=True), 10):
        inside.append(starts)
        comes(story, starts, f"01:{minute}:00.000", inside)
        inside.remove(goes)
        closes(story, goes, f"01:{minute}:10.000", inside)
    return story


@pytest.mark.parametrize("release", [(2, 4), (3, 9)])
@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_deployment_whose_new_pods_have_new_names_is_a_deployment(release: Release, seen: Side) -> None:
    story = surged(Story(release=release, seen=seen).formed(*OLD), OLD, NEW)
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]
    assert story.the_incident().generations == (2, 3, 4, 5, 6, 7)


def test_places_that_are_filled_again_and_again_are_no_deployment_whatever_the_names() -> None:
    """A group of three of which members expire without end, each replaced under a name of its own."""
    inside = list(OLD)
    story = Story(seen="brokers").formed(*inside)
    for minute in range(10, 22):
        lost, newcomer = inside.pop(0), f"pay-5d4e-{minute}zz"
        story.broker(f"01:{minute}:00.000", story.words.failed(story.id_of(lost)))
        inside.append(newcomer)
        story.rebalanced(f"01:{minute}:00.010", f"removing member {story.id_of(lost)} on heartbeat expiration", inside)
    assert "rolling-restart" not in story.causes()
    assert any(incident.severity != "info" for incident in story.incidents())


def test_newcomers_of_another_application_take_nobodys_place() -> None:
    strangers = ["audit-1", "audit-2", "audit-3"]
    assert "rolling-restart" not in surged(Story().formed(*OLD), OLD, strangers).causes()


def test_new_pods_for_a_part_of_the_group_are_no_deployment() -> None:
    story = Story().formed(*OLD)
    comes(story, "pay-5d4e-xxx", "01:10:00.000", [*OLD, "pay-5d4e-xxx"])
    comes(story, "pay-5d4e-yyy", "01:10:10.000", [*OLD, "pay-5d4e-xxx", "pay-5d4e-yyy"])
    closes(story, OLD[0], "01:10:20.000", [*OLD[1:], "pay-5d4e-xxx", "pay-5d4e-yyy"])
    assert "rolling-restart" not in story.causes()


def test_as_many_members_that_go_long_after_others_came_are_removed() -> None:
    story = Story().formed(*OLD)
    inside = list(OLD)
    for minute, client in enumerate(NEW, 10):
        inside.append(client)
        comes(story, client, f"01:{minute}:00.000", inside)
    for minute, client in enumerate(OLD, 30):
        inside.remove(client)
        closes(story, client, f"01:{minute}:00.000", inside)
    assert story.causes() == ["scale-out", "scale-in"]


def test_a_crash_in_the_middle_leaves_a_deployment_a_deployment() -> None:
    story = Story(release=(2, 4), seen="brokers").formed(*ALL, "c-4")
    everyone = [*ALL, "c-4"]
    for minute, client in enumerate(ALL, 10):
        stay = [c for c in everyone if c != client]
        closes(story, client, f"01:{minute}:00.000", stay)
        comes(story, client, f"01:{minute}:08.000", [*stay, client])
        if client == "c-2":
            everyone.remove("c-4")
            dead = story.id_of("c-4")
            story.broker("01:11:30.000", story.words.failed(dead))
            story.rebalanced("01:11:30.001", f"removing member {dead} on heartbeat expiration", ALL)
    assert sorted(story.causes()) == ["process-crash", "rolling-restart"]


def test_the_last_of_a_walk_was_restarted_too_where_its_log_was_collected_as_it_started() -> None:
    """Log4j 2 often ends before the consumer is closed, so its log shows a start alone."""
    story = three_members("clients")
    story.started("c-3", "00:59:59.000")
    for minute, client in enumerate(("c-1", "c-2"), 10):
        others = [c for c in ("c-1", "c-2", "c-3") if c != client]
        story.closes(client, f"01:{minute}:00.000", *others).restarts(client, f"01:{minute}:04.000", *others)
    story.reborn("c-3").started("c-3", "01:12:00.000")
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_restart_hours_before_a_deployment_is_no_part_of_it(seen: Side) -> None:
    story = Story(seen=seen).formed(*ALL)
    for at, client in (("01:10", "c-2"), ("07:10", "c-1"), ("07:11", "c-2"), ("07:12", "c-3")):
        stay = [c for c in ALL if c != client]
        closes(story, client, f"{at}:00.000", stay)
        comes(story, client, f"{at}:08.000", [*stay, client])
    assert story.causes()[-1] == "rolling-restart"
    assert story.incidents()[-1].started_at >= ms("07:00:00.000")


def test_a_member_that_one_list_leaves_out_was_not_surely_restarted_because_another_was() -> None:
    """The log of c-1 alone: c-2 may have stood still."""
    story = Story(seen="clients").formed("c-1", "c-2")
    story.rebalanced("01:10:00.000", "", ["c-1"])
    story.reborn("c-2").rebalanced("01:10:20.000", "", ["c-1", "c-2"])
    closes(story, "c-1", "01:12:00.000", ["c-2"])
    comes(story, "c-1", "01:12:08.000", ["c-1", "c-2"])
    story.events = [e for e in story.events if e.origin.path.startswith("c-1/")]
    causes = [c for i in story.incidents() for c in i.root_causes if c.cause == "rolling-restart"]
    assert all(c.confidence < 0.6 for c in causes)
