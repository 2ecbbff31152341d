from __future__ import annotations

from tests.story import Story

GM = "kafka.coordinator.group.GroupMetadata$"
GC = "kafka.coordinator.group.GroupCoordinator"


def loads(story: Story, client: str, generation: int, at: str, number: int) -> Story:
    """A broker of 2.x prints a member of one record of the group."""
    member = f"memberId={story.id_of(client)}, groupInstanceId=None, clientId={client}, clientHost=/10.0.0.7"
    timeouts = "sessionTimeoutMs=10000, rebalanceTimeoutMs=20000, supportedProtocols=List(range)"
    loaded = f"Loaded member MemberMetadata({member}, {timeouts}) in group payments with generation {generation}."
    return story.broker(at, loaded, number, GM)


def loaded(story: Story, generation: int, at: str, number: int) -> Story:
    words = f"[GroupCoordinator {number}]: Loading group metadata for payments with generation {generation}"
    return story.broker(at, words, number, GC)


def members_at_last(story: Story) -> set[str]:
    return {m.client_id or "" for m in story.history().generations[-1].members}


def test_a_broker_prints_the_members_of_every_generation_it_reads_and_only_those_of_the_last_are_in() -> None:
    story = Story(release=(2, 8), seen="brokers", generation=6)
    loads(story, "c-1", 5, "01:00:00.000", 3)
    loads(story, "c-old", 5, "01:00:00.000", 3)
    loads(story, "c-1", 6, "01:00:00.001", 3)
    loads(story, "c-2", 6, "01:00:00.001", 3)
    loaded(story, 6, "01:00:00.010", 3)
    story.coordinator = 3
    story.rebalanced("01:10:00.000", story.words.adding("c-3-77aa"), ["c-1", "c-2", "c-3"])
    assert "c-old" not in members_at_last(story)
    assert {"c-1", "c-2"} <= members_at_last(story)


def test_a_broker_that_loads_the_group_without_coordinating_it_brings_no_member_back() -> None:
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2")
    story.broker("01:05:00.000", story.words.preparing(1, story.words.leaving(story.id_of("c-2"), "closed")))
    story.broker("01:05:00.000", story.words.left(story.id_of("c-2"), "closed"))
    story.generation = 2
    story.broker("01:05:00.500", story.words.stabilized(2, 1))
    story.broker("01:05:00.600", story.words.assigned(2, 1, story.id_of("c-1")))
    for client in ("c-1", "c-2"):
        loads(story, client, 1, "01:06:00.000", 3)
    loaded(story, 1, "01:06:00.010", 3)
    story.broker("01:10:00.000", story.words.preparing(2, story.words.adding("c-3-77aa")))
    story.broker("01:10:00.500", story.words.stabilized(3, 2))
    assert "c-2" not in members_at_last(story)


def test_a_member_that_considers_its_session_expired_while_there_is_no_coordinator_stays_in_the_group() -> None:
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    given_up = "Heartbeat session expired, marking coordinator dead"
    story.line("c-1/app.log", "01:05:20.000", given_up, level="WARN", logger="kafka.coordinator")
    for client in ("c-1", "c-2"):
        loads(story, client, 1, "01:05:25.000", 1)
    loaded(story, 1, "01:05:25.010", 1)
    assert not story.timeline().departures
