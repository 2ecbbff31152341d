from __future__ import annotations

import pytest

from tests.diagnosis.closings import APP_INFO
from tests.diagnosis.statics import replaced, said_by_static, static_group
from tests.epochs import HEARTBEAT, MEMBERSHIP, EpochStory, three_members
from tests.kafka_words import CONSUMER, member_id
from tests.story import Side, Story


def fenced() -> Story:
    story = static_group("pod-1", "pod-2")
    old = story.id_of("pod-2")
    replaced(story, "pod-2", "01:10:00.000")
    return story.says(
        "01:10:01.000",
        f"Request memberId={old} for static member with groupInstanceId=pod-2 is fenced by current "
        f"memberId={story.id_of('pod-2')} during operation heartbeat",
    )


def test_a_second_process_with_the_same_instance_id_fences_the_first() -> None:
    assert fenced().causes() == ["static-member-fenced"]
    assert fenced().blamed() == ["pod-2"]
    assert fenced().the_incident().severity != "info"


def test_the_client_alone_says_it_too() -> None:
    story = Story(seen="clients")
    story.line(
        "node-2/app.log",
        "01:10:01.000",
        "[Consumer instanceId=pod-2, clientId=c-2, groupId=payments] Caught fenced "
        "group.instance.id Optional[pod-2] error in heartbeat thread",
        level="ERROR",
    )
    assert story.causes() == ["static-member-fenced"]


def test_the_second_process_that_is_given_the_old_assignment_is_no_restart_of_the_first() -> None:
    story = static_group("pod-1", "pod-2")
    said_by_static(story, "c-2", "pod-2", "01:00:03.020", f"Successfully synced group in {first_of(story, 'pod-2')}")
    story.started("c-9", "01:09:58.000", group_instance_id="pod-2")
    replaced(story, "pod-2", "01:10:00.000")
    said_by_static(story, "c-9", "pod-2", "01:10:00.010", f"Successfully joined group with {first_of(story, 'pod-2')}")
    story.says(
        "01:10:01.000",
        f"given member.id {member_id('pod-2')} is identified as a known static member pod-2, but not matching the "
        f"expected member.id {story.id_of('pod-2')} during commit-offsets, will respond with instance fenced error",
    )
    assert story.causes() == ["static-member-fenced"]


def first_of(story: Story, pod: str) -> str:
    return f"generation Generation{{generationId=1, memberId='{story.id_of(pod)}', protocol='range'}}"


def test_a_request_that_an_evicted_member_sent_before_it_rejoined_is_no_second_process() -> None:
    """Requests that were on their way while the network was down arrive after the JoinGroup that they missed."""
    story = static_group("pod-1", "pod-2")
    old, new = story.id_of("pod-2"), member_id("pod-2", 2)
    story.says("01:10:00.000", f"Member {old} in group payments has failed, removing it from the group")
    story.broker("01:10:00.010", story.words.preparing(1, f"removing member {old} on heartbeat expiration"))
    story.broker("01:10:03.000", story.words.stabilized(2, 1))
    story.broker("01:10:03.010", story.words.assigned(2, 1, story.id_of("pod-1")))
    story.says(
        "01:10:20.000",
        "Static member with groupInstanceId=pod-2 and unknown member id joins group payments in Stable state. "
        f"Created a new member id {new} for this member and add to the group.",
    )
    reason = f"Adding new member {new} with group instance id Some(pod-2); client reason: not provided"
    story.broker("01:10:20.010", story.words.preparing(2, reason))
    story.broker("01:10:23.000", story.words.stabilized(3, 2))
    story.broker("01:10:23.010", story.words.assigned(3, 2, story.id_of("pod-1")))
    story.says(
        "01:10:24.000",
        f"Request memberId={old} for static member with groupInstanceId=pod-2 is fenced by existing memberId={new} "
        "during operation heartbeat",
    )
    assert "static-member-fenced" not in story.causes()
    assert story.blamed() == ["pod-2"]


def test_a_return_alone_fences_no_member() -> None:
    assert "static-member-fenced" not in replaced(static_group("pod-1", "pod-2"), "pod-2", "01:10:00.000").causes()


def test_a_fence_names_no_group_and_concerns_only_the_one_that_knows_the_member() -> None:
    other = Story(group="reports").formed("01:00:00.000", "reports-1", "reports-2")
    stranger = next(e for e in fenced().events if "is fenced by" in e.text)
    other.events.append(stranger)
    assert "static-member-fenced" not in other.causes()


def test_under_the_consumer_protocol_the_second_process_is_turned_away() -> None:
    story = turned_away("both").goes_on("01:20:00.000")
    assert story.causes() == ["static-member-fenced"]
    assert story.blamed() == ["pod-3"]
    assert story.the_incident().root_causes[0].confidence == 0.97
    assert story.the_incident().summary == (
        "Two running members used group.instance.id pod-3: the coordinator rejected the second while the first "
        "was running."
    )


def turned_away(seen: Side) -> EpochStory:
    """A second process with the id of pod-3 asks to join; the coordinator says no, and the client that it heard it."""
    story = three_members(seen)
    no = "cannot join the group because the instance id is owned by"
    story.group_says("01:10:00.999", f"Static member 1zF6bZ with instance id pod-3 {no} member woqDiIxwQne7mo1TkppoLQ.")
    message = f"Static member 1zF6bZ with instance id pod-3 {no} woqDiIxwQne7mo1TkppoLQ member."
    story.line(
        "node-9/app.log",
        "01:10:01.000",
        "[Consumer instanceId=pod-3, clientId=c-9, groupId=payments] ConsumerGroupHeartbeatRequest failed due to "
        f"unreleased instance id pod-3: {message}",
        level="ERROR",
        logger=HEARTBEAT,
    )
    return story


def test_a_process_that_was_turned_away_was_no_member_that_could_stop() -> None:
    """An application that opens another consumer after each refusal asks to join under a new member id each time."""
    story = turned_away("both")
    story.started("c-9", "01:09:59.000")
    ids = ("1zF6bZNATMKhbPZyLtDMxQ", "QCLvDTYGTqiNEjyKPyxTGg")
    for second, member in enumerate(ids):
        joining = f"Member {member} with epoch 0 transitioned from UNSUBSCRIBED to JOINING."
        fatal = f"Member {member} with epoch 0 transitioned from JOINING to FATAL."
        story.client("c-9", f"01:10:{5 * second:02}.500", joining, logger=MEMBERSHIP)
        story.client("c-9", f"01:10:{5 * second + 1:02}.001", fatal, logger=MEMBERSHIP)
        story.started("c-9", f"01:10:{5 * second + 4:02}.000")
    story.goes_on("01:20:00.000")
    assert story.causes() == ["static-member-fenced"]
    assert [blamed.cause for blamed in story.the_incident().root_causes] == ["static-member-fenced"]


def test_a_member_that_died_holds_its_id_until_its_session_expires_and_its_successor_is_refused_till_then() -> None:
    alone = turned_away("clients").the_incident()
    assert alone.root_causes[0].confidence < 0.6
    assert alone.summary == (
        "A member was rejected because another one, running or not yet expired, held group.instance.id pod-3."
    )


def test_a_holder_that_is_evicted_right_after_was_dead() -> None:
    story = three_members("brokers")
    joined = "with instance id pod-3 joins the consumer group using the consumer protocol."
    story.group_says("01:00:02.500", f"Static member woqDiIxwQne7mo1TkppoLQ {joined}")
    story.events += [e for e in turned_away("brokers").events if "cannot join" in e.text]
    story.expires("c-3", "01:10:20.000", "c-1", "c-2").goes_on("01:20:00.000")
    assert "static-member-fenced" not in story.causes()


def test_a_member_that_is_fenced_as_it_closes_had_a_successor_that_did_not_wait_for_it() -> None:
    story = Story(seen="clients")
    for time, message in (
        ("01:00:00.000", "(Re-)joining group"),
        ("01:09:59.000", "Revoke previously assigned partitions orders-0"),
        ("01:10:01.000", "Caught fenced group.instance.id Optional[pod-2] error in heartbeat thread"),
    ):
        said_by_static(story, "c-2", "pod-2", time, message)
    assert story.causes() == ["static-member-fenced"]
    closing = Story(seen="clients")
    closing.line("c-2/app.log", "01:10:00.000", "App info kafka.consumer for c-2 unregistered", logger=APP_INFO)
    story.events += closing.events
    story.events.sort(key=lambda event: event.at or 0)
    assert "static-member-fenced" not in story.causes()


FENCED = (
    "The broker rejected this static consumer since another consumer with the same group.instance.id has registered "
    "with a different member.id."
)


def client_says(message: str, *, instance: str = "", level: str = "ERROR", logger: str = CONSUMER) -> Story:
    """The last line of a client's log, the only one at hand."""
    story = Story(seen="clients")
    story.line("node-2/app.log", "01:00:00.000", "[Consumer clientId=c-2, groupId=payments] (Re-)joining group")
    line = f"[Consumer {instance}clientId=c-2, groupId=payments] {message}"
    return story.line("node-2/app.log", "01:10:01.000", line, level=level, logger=logger)


@pytest.mark.parametrize(
    "message",
    [
        f"JoinGroup failed due to fatal error: {FENCED}",
        f"Offset commit failed on partition orders-0 at offset 42: {FENCED}",
        "Received fatal exception: group.instance.id gets fenced",
    ],
)
def test_a_log_that_ends_with_the_fence_is_enough_whether_it_names_the_instance_or_not(message: str) -> None:
    story = client_says(message)
    assert story.causes() == ["static-member-fenced"]
    assert story.blamed() == ["c-2"]
    assert story.the_incident().root_causes[0].confidence == 0.75
    assert "or a restart overlapped" in story.the_incident().summary
    assert client_says(message, instance="instanceId=pod-2, ").blamed() == ["pod-2"]


def test_a_member_of_the_consumer_protocol_may_have_been_removed_before_it_was_fenced() -> None:
    removed = (
        "ConsumerGroupHeartbeatRequest failed due to fenced instance id pod-2: Static member fenced. This is expected "
        "in the case that the member was removed from the group by an admin client, and another member joined using "
        "the same group instance id."
    )
    story = client_says(removed, instance="instanceId=pod-2, ", logger=HEARTBEAT)
    assert story.causes() == ["static-member-fenced"]
    assert story.the_incident().root_causes[0].confidence == 0.75
    assert "coordinator" in story.the_incident().would_decide[0].needs


def test_brokers_alone_show_the_fence_of_a_member_they_know() -> None:
    story = fenced()
    brokers = Story(events=[e for e in story.events if e.speaker.role == "broker"])
    assert brokers.causes() == ["static-member-fenced"]
    assert brokers.the_incident().root_causes[0].confidence == 0.9
