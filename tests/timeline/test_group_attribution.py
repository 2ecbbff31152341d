from __future__ import annotations

from rebalance_forensics.events.coordinator import NodeDisconnected
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from tests.story import Story

HANDLE = "[py-worker-1#consumer-1] [thrd:main]: "
MEMBER = "py-worker-1-d1ddbc17-2da4-4bf8-b411-c070263fa4fd"


def librdkafka() -> Story:
    story = Story(group="payments")
    ask = f'JOIN {HANDLE}broker-2:9092/2: Joining group "payments" with 1 subscribed topic(s) and member id "{MEMBER}"'
    answer = f"JOINGROUP {HANDLE}JoinGroup response: GenerationId 7, Protocol range, LeaderId {MEMBER}, "
    answer += f"my MemberId {MEMBER}, member metadata count 1: (no error)"
    story.line("py-1/app.log", "01:00:00.000", ask, level="DEBUG", logger="org.example.Rdkafka")
    return story.line("py-1/app.log", "01:00:03.000", answer, level="DEBUG", logger="org.example.Rdkafka")


def test_an_answer_that_names_no_group_belongs_to_the_group_its_client_asked() -> None:
    (generation,) = librdkafka().history().generations
    assert generation.generation == 7
    assert [m.client_id for m in generation.members] == ["py-worker-1"]


def test_the_answer_to_another_client_does_not() -> None:
    story = librdkafka()
    other = f"JOINGROUP {HANDLE}JoinGroup response: GenerationId 90, Protocol range, LeaderId {MEMBER}, "
    other = other.replace("py-worker-1", "reports-1") + "my MemberId reports-1-d1, member metadata count 1: (no error)"
    story.line("py-1/app.log", "01:00:04.000", other, level="DEBUG", logger="org.example.Rdkafka")
    assert [g.generation for g in story.history().generations] == [7]


def test_what_another_consumer_of_the_process_says_does_not_though_they_share_a_client_id() -> None:
    story = librdkafka()
    slow = "Application maximum poll interval (300000ms) exceeded by 53ms (adjust max.poll.interval.ms for "
    slow += "long-running message processing): leaving group"
    slow = f"MAXPOLL {HANDLE.replace('#consumer-1', '#consumer-2')}{slow}"
    story.line("py-1/app.log", "01:10:00.000", slow, level="WARN", logger="org.example.Rdkafka")
    assert list(story.timeline().departures) == []


def test_two_consumers_of_a_process_with_the_same_client_id_are_distinguished_by_their_handles() -> None:
    story = librdkafka()
    other, second = MEMBER.replace("d1ddbc17", "aaaa1111"), HANDLE.replace("#consumer-1", "#consumer-2")
    ask = f'JOIN {second}broker-2:9092/2: Joining group "payments" with 1 subscribed topic(s) and member id "{other}"'
    answer = f"JOINGROUP {second}JoinGroup response: GenerationId 7, Protocol range, LeaderId {MEMBER}, "
    answer += f"my MemberId {other}, member metadata count 0: (no error)"
    slow = f"MAXPOLL {second}Application maximum poll interval (300000ms) exceeded by 53ms (adjust "
    slow += "max.poll.interval.ms for long-running message processing): leaving group"
    for time, line in (("01:00:00.100", ask), ("01:00:03.000", answer), ("01:10:00.000", slow)):
        story.line("py-1/app.log", time, line, level="DEBUG", logger="org.example.Rdkafka")
    (departure,) = story.timeline().departures
    assert (departure.member, departure.why) == (other, "poll-timeout")


def test_a_group_goes_through_no_connection_of_a_brokers_own_clients() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    for second in range(3):
        gone = "[AdminClient clientId=adminclient-1] Node 2 disconnected."
        story.broker(f"01:00:0{second}.000", gone, logger="org.apache.kafka.clients.NetworkClient")
    events = story.events
    ungrouped = UngroupedEvents(e for e in events if e.group is None)
    own = [e for e in events if e.group is not None]
    assert len([e for e in events if isinstance(e, NodeDisconnected)]) == 3
    assert ungrouped.near("payments", own) == ([], ())
