from __future__ import annotations

import pytest

from tests.diagnosis.closings import APP_INFO, closes
from tests.diagnosis.statics import static_group
from tests.story import Side, Story

ADMIN = "member was removed by an admin"
COORDINATOR = "b-2:9092 (id: 2147483645 rack: null)"
LOST = (
    f"Group coordinator {COORDINATOR} is unavailable or invalid due to cause: session timed out without receiving a "
    "heartbeat response. isDisconnected: false. Rediscovery will be attempted."
)
UNKNOWN = (
    "Attempt to heartbeat with {} and group instance id Optional[{}] failed due to UNKNOWN_MEMBER_ID, resetting "
    "generation"
)


@pytest.mark.parametrize("seen", ["both", "brokers"])
def test_a_member_that_an_administrator_removes_is_found(seen: Side) -> None:
    story = Story(release=(3, 9), seen=seen).formed("c-1", "c-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("c-2"), ADMIN))
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("c-2"), ADMIN), ["c-1"])
    assert story.causes() == ["member-removed"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().summary == "An administrator removed c-2."


def test_a_static_member_sends_no_leave_group_so_other_words_are_an_administrators() -> None:
    story = static_group("pod-1", "pod-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("pod-2"), "cleaning up after the migration"))
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("pod-2"), "cleaning up"), ["pod-1"])
    assert story.causes() == ["member-removed"]


def test_a_dynamic_member_may_leave_with_its_own_reason() -> None:
    story = Story(release=(3, 9), seen="brokers").formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"], "done for today")
    assert "member-removed" not in story.causes()


def test_a_static_member_that_closes_at_that_moment_asked_for_it_itself() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("c-2"), ADMIN))
    story.line("c-2/app.log", "01:10:00.200", "App info kafka.consumer for c-2 unregistered", logger=APP_INFO)
    story.rebalanced("01:10:00.001", story.words.leaving(story.id_of("c-2"), ADMIN), ["c-1"])
    assert story.causes() == ["scale-in"]


def told_unknown(story: Story, client: str, time: str, *, lost: bool = False) -> None:
    """A static consumer hears at its heartbeat that it is no member, with or without having lost its coordinator."""
    generation = f"Generation{{generationId=1, memberId='{story.id_of(client)}', protocol='range'}}"
    if lost:
        story.client(client, time, LOST)
    story.client(client, time, UNKNOWN.format(generation, client))
    story.client(client, time, "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID")
    story.reborn(client)


def expelled_at(*times: str, lost: bool = False, seen: Side = "clients") -> Story:
    """The consumers c-1, c-2 … are told at these times that they are unknown, and are back in one rebalance."""
    clients = [f"c-{number}" for number, _ in enumerate(times, 1)]
    story = Story(release=(3, 9), seen=seen).formed(*clients)
    for client, time in zip(clients, times, strict=True):
        story.client(client, "01:09:00.000", f"Discovered group coordinator {COORDINATOR}")
        told_unknown(story, client, time, lost=lost)
    story.rebalanced("01:10:03.500", story.words.adding(story.id_of("c-1")), clients)
    return story.goes_on("01:20:00.000")


def test_members_that_are_unknown_all_at_once_did_not_shut_down_and_may_have_been_removed() -> None:
    story = expelled_at("01:10:00.100", "01:10:02.800", "01:10:01.000")
    assert [i.root_causes[0].cause for i in story.case().incidents] == ["startup", "member-removed"]
    cause, *rivals = story.the_incident().root_causes
    assert cause.confidence < 0.75
    assert "process-pause" in {rival.cause for rival in rivals}
    wanted = [one for one in story.the_incident().would_decide if "coordinator" in one.needs]
    assert wanted
    assert {"member-removed", "process-pause"} <= set(wanted[0].between)


def test_if_members_had_lost_their_coordinator_they_or_the_coordinator_were_paused() -> None:
    assert "member-removed" not in expelled_at("01:10:00.100", "01:10:02.800", lost=True).causes()


def test_the_log_of_an_unknown_member_shows_no_administrator_that_removed_it() -> None:
    story = Story(release=(3, 9), seen="clients").formed("c-1", "c-2")
    told_unknown(story, "c-2", "01:10:00.100")
    story.rebalanced("01:10:03.500", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    assert "member-removed" not in story.causes()


def test_the_coordinator_that_evicts_them_one_by_one_says_itself_how_they_went() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.broker("01:10:00.000", story.words.failed(story.id_of(client)))
        told_unknown(story, client, "01:10:00.100")
    story.rebalanced("01:10:03.500", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"])
    assert "member-removed" not in story.causes()
