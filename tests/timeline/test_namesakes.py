from __future__ import annotations

import pytest

from tests.kafka_words import member_id
from tests.story import Story

CLIENT = "consumer-payments-1"


def process(number: int) -> str:
    """The member id of one process; all have the client id that Kafka gives by default."""
    return member_id(CLIENT, number)


def formed(*numbers: int) -> Story:
    story = Story(seen="brokers")
    for number in numbers:
        story.broker("01:00:00.000", story.words.introduced(process(number)))
    story.broker("01:00:00.010", story.words.preparing(0, story.words.adding(process(numbers[0]))))
    return settled(story, "01:00:03.000", numbers)


def settled(story: Story, time: str, numbers: tuple[int, ...]) -> Story:
    story.generation += 1
    story.broker(time, story.words.stabilized(story.generation, len(numbers)))
    return story.broker(time, story.words.assigned(story.generation, len(numbers), process(numbers[0])))


def restarted(story: Story, minute: int, old: int, new: int, others: tuple[int, ...]) -> Story:
    at = f"01:{minute}:0"
    story.broker(f"{at}0.000", story.words.left(process(old)))
    story.broker(f"{at}0.001", story.words.preparing(story.generation, story.words.leaving(process(old))))
    settled(story, f"{at}0.500", others)
    story.broker(f"{at}8.000", story.words.introduced(process(new)))
    story.broker(f"{at}8.001", story.words.preparing(story.generation, story.words.adding(process(new))))
    return settled(story, f"{at}8.500", (*others, new))


def test_members_of_one_generation_with_one_client_id_are_several_processes() -> None:
    participants = formed(1, 2, 3).timeline().membership.members
    assert sorted(len(a.member_ids) for a in participants) == [1, 1, 1]
    assert len({a.name for a in participants}) == 3


def test_a_new_id_takes_the_place_of_the_namesake_that_went() -> None:
    participants = restarted(formed(1, 2), 10, old=2, new=3, others=(1,)).timeline().membership.members
    assert sorted(sorted(a.member_ids) for a in participants) == [[process(1)], [process(2), process(3)]]


def replaced(story: Story, old: int, new: int, members: tuple[int, ...]) -> Story:
    """A process dies and starts again within its session: it joins while its former id is still a member."""
    story.broker("01:20:00.000", story.words.introduced(process(new)))
    story.broker("01:20:00.001", story.words.preparing(story.generation, story.words.adding(process(new))))
    story.broker("01:20:01.500", story.words.failed(process(old)))
    return settled(story, "01:20:01.501", members)


def test_a_process_that_rejoins_before_its_former_id_expires_takes_the_place_of_that_id() -> None:
    story = replaced(formed(1, 2, 3), old=2, new=4, members=(1, 3, 4))
    participants = story.timeline().membership.members
    assert sorted(sorted(a.member_ids) for a in participants) == [[process(1)], [process(2), process(4)], [process(3)]]
    assert story.causes() == ["process-crash"]
    assert story.blamed() == [process(2)]


def test_a_new_member_that_increases_the_size_of_the_group_is_an_additional_member() -> None:
    story = formed(1, 2, 3)
    story.broker("01:20:00.000", story.words.introduced(process(5)))
    story = replaced(story, old=2, new=4, members=(1, 3, 4, 5))
    participants = story.timeline().membership.members
    assert len(participants) == 5


def test_a_deployment_of_namesakes_is_one() -> None:
    story = formed(1, 2, 3)
    restarted(story, 10, old=1, new=4, others=(2, 3))
    restarted(story, 11, old=2, new=5, others=(3, 4))
    restarted(story, 12, old=3, new=6, others=(4, 5))
    assert story.causes() == ["rolling-restart"]


def surged(story: Story, minute: int, old: int, new: int, others: tuple[int, ...]) -> Story:
    """A new process joins, and an old one leaves 25 seconds later."""
    at = f"01:{minute}:"
    story.broker(f"{at}00.000", story.words.introduced(process(new)))
    story.broker(f"{at}00.001", story.words.preparing(story.generation, story.words.adding(process(new))))
    settled(story, f"{at}03.000", (old, *others, new))
    story.broker(f"{at}25.000", story.words.left(process(old)))
    story.broker(f"{at}25.001", story.words.preparing(story.generation, story.words.leaving(process(old))))
    return settled(story, f"{at}27.000", (*others, new))


@pytest.mark.parametrize("members", [(1, 2), (1, 2, 3, 4)])
def test_a_deployment_that_starts_each_namesake_before_it_stops_another_is_one(members: tuple[int, ...]) -> None:
    story, now = formed(*members), members
    for step, old in enumerate(members):
        surged(story, 10 + step, old, old + len(members), now[1:])
        now = (*now[1:], old + len(members))
    assert story.causes() == ["rolling-restart"]
    assert story.the_incident().summary.startswith(f"{len(members)} members were restarted")


def scaled(story: Story, hour: int, workers: tuple[int, ...]) -> Story:
    """Workers join the first member, and leave it 50 minutes later."""
    for number in workers:
        story.broker(f"0{hour}:00:00.000", story.words.introduced(process(number)))
    story.broker(f"0{hour}:00:00.010", story.words.preparing(story.generation, story.words.adding(process(workers[0]))))
    settled(story, f"0{hour}:00:03.000", (1, *workers))
    reason = story.words.leaving(process(workers[0]))
    story.broker(f"0{hour}:50:00.000", story.words.preparing(story.generation, reason))
    for number in workers:
        story.broker(f"0{hour}:50:00.000", story.words.left(process(number)))
    return settled(story, f"0{hour}:50:02.000", (1,))


def test_namesakes_that_come_an_hour_after_others_left_are_new_members_of_a_group_that_grows_with_its_load() -> None:
    story = formed(1)
    for hour, workers in ((2, (2, 3)), (4, (4, 5)), (6, (6, 7))):
        scaled(story, hour, workers)
    assert {len(a.member_ids) for a in story.timeline().membership.members} == {1}
    assert story.causes() == ["scale-out", "scale-in"] * 3
    assert story.incidents()[1].summary.startswith("2 of 3 members")


def test_one_client_that_comes_back_under_a_new_id_has_no_namesake() -> None:
    story = formed(1)
    story.broker("01:10:00.000", story.words.left(process(1)))
    story.broker("01:10:00.001", story.words.preparing(1, story.words.leaving(process(1))))
    story.broker("01:10:00.002", story.words.empty(2))
    story.generation = 2
    story.broker("01:10:08.000", story.words.introduced(process(2)))
    story.broker("01:10:08.001", story.words.preparing(2, story.words.adding(process(2))))
    (participant,) = settled(story, "01:10:11.000", (2,)).timeline().membership.members
    assert participant.name == CLIENT


def test_where_they_run_tells_namesakes_apart() -> None:
    story = Story()
    for host in ("node-1", "node-2"):
        words = f"[Consumer clientId={CLIENT}, groupId=payments] "
        joined = (
            f"Successfully joined group with generation Generation{{generationId=1, memberId='{host}', protocol='x'}}"
        )
        story.line(f"{host}/app.log", "01:00:00.000", words + "(Re-)joining group")
        story.line(f"{host}/app.log", "01:00:03.000", words + joined)
    assert [i.name for i in story.history().identities] == ["node-1", "node-2"]
    assert {i.client_id for i in story.history().identities} == {CLIENT}


def in_one_log(story: Story, *numbers: int) -> Story:
    """A collector puts what three processes log into one file; Java gives each of them the same client id."""
    for number in numbers:
        joined = f"Successfully joined group with generation Generation{{generationId=1, memberId='{process(number)}'"
        line = f"[Consumer clientId={CLIENT}, groupId=payments] {joined}, protocol='range'}}"
        story.line("all/app.log", f"01:00:03.0{number}0", line)
    return story


def test_members_that_write_to_one_log_under_one_client_id_are_several_in_one_participant() -> None:
    for numbers, is_several in (((1, 2, 3), True), ((1,), False)):
        story = formed(*numbers)
        story.seen = "both"
        (member,) = in_one_log(story, *numbers).timeline().membership.members
        assert member.is_several is is_several


def test_static_members_with_one_client_id_in_one_log_are_apart_by_their_instance_ids() -> None:
    story = Story(seen="clients")
    for second, pod in enumerate(("pod-1", "pod-2", "pod-3")):
        joined = f"Successfully joined group with generation Generation{{generationId=1, memberId='{member_id(pod)}'"
        words = f"[Consumer instanceId={pod}, clientId={CLIENT}, groupId=payments] {joined}, protocol='range'}}"
        story.line("all/app.log", f"01:00:0{second}.000", words)
    participants = story.timeline().membership.members
    assert {a.name: sorted(a.member_ids) for a in participants} == {
        pod: [member_id(pod)] for pod in ("pod-1", "pod-2", "pod-3")
    }
