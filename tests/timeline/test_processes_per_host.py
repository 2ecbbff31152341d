from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.timeline.clocks.file_clocks import Place
from rebalance_forensics.timeline.identity.log_writers import with_homes
from tests.kafka_words import member_id
from tests.story import Story, clock, ms
from tests.streams_group import two_nodes


def on_one_host(story: Story, *, both_in: str | None = None) -> Story:
    """The same logs, all clients of one machine: `eu/node-1.log` beside `eu/node-2.log`."""
    for place, event in enumerate(story.events):
        if event.speaker.role != "broker":
            path = both_in or f"eu/{event.speaker.file.partition('/')[0]}.log"
            speaker = replace(event.speaker, host="eu", file=path)
            origin = replace(event.origin, path=path)
            story.events[place] = replace(event, speaker=speaker, origin=origin)
    return story


def test_two_instances_on_one_machine_are_two_instances() -> None:
    story = on_one_host(two_nodes().dies("node-2", "01:10:00.000", "node-1"))
    assert story.causes() == ["process-crash"]
    assert story.blamed() == ["node-2"]


def test_logs_of_two_machines_may_have_the_same_names() -> None:
    story = on_one_host(two_nodes())
    for place, event in enumerate(story.events[:]):
        if event.speaker.role != "broker":
            twin = replace(event.speaker, host="us", file=event.speaker.file.replace("eu/", "us/"))
            story.events[place] = replace(event, speaker=twin) if "node-2" in event.speaker.file else event
    assert {participant.name for participant in story.timeline().membership.members} == {"eu", "us"}


def test_one_process_may_write_two_files() -> None:
    story = two_nodes()
    for place, event in enumerate(story.events):
        if event.speaker.file == "node-1/app.log" and place % 2:
            speaker = replace(event.speaker, file="node-1/streams.log")
            story.events[place] = replace(event, speaker=speaker, origin=replace(event.origin, path=speaker.file))
    assert {participant.name for participant in story.timeline().membership.members} == {"node-1", "node-2"}


def test_the_files_of_a_rolled_log_are_of_one_process() -> None:
    story = two_nodes()
    for node in ("node-2", "node-1"):
        story.given(node, 1, "01:06:00.000", "0_1")
    on_one_host(story)
    for place, event in enumerate(story.events):
        if event.speaker.file == "eu/node-1.log" and (event.at or 0) < ms("01:00:04.000"):
            speaker = replace(event.speaker, file="eu/node-1.1.log.gz")
            story.events[place] = replace(event, speaker=speaker, origin=replace(event.origin, path=speaker.file))
    assert {participant.name for participant in story.timeline().membership.members} == {"node-1", "node-2"}


def test_consumers_on_one_machine_with_the_same_client_id_are_distinguished_by_their_logs() -> None:
    story = Story()
    for number, file in enumerate(("a", "b"), start=1):
        for at in ("01:00:00.000", "01:05:00.000"):
            joined = story.of("c").joined(number, member_id("c", number))
            story.line(f"{file}/app.log", clock(ms(at) + number), joined)
    assert {participant.name for participant in on_one_host(story).timeline().membership.members} == {"a", "b"}


def test_an_exception_in_the_log_of_another_application_is_nobodys_here() -> None:
    story = Story().formed("c-1", "c-2")
    config = "org.apache.kafka.clients.consumer.ConsumerConfig"
    story.line("other/app.log", "01:00:00.500", "ConsumerConfig values: \n\tgroup.id = ledger\n", logger=config)
    error = (
        "Fatal error, stopping\norg.apache.kafka.common.errors.GroupMaxSizeReachedException: Consumer group is full."
    )
    story.line("other/app.log", "01:10:00.000", error, level="ERROR", logger="com.acme.Ledger")
    on_one_host(story)
    for place, event in enumerate(story.events):
        if "c-2" in event.speaker.file:
            story.events[place] = replace(event, speaker=replace(event.speaker, host="us"))
    assert story.causes() == []


BROKERS: list[Place] = [(f"broker-{n}/server.log", f"broker-{n}") for n in (1, 2)]


def homes(files: Sequence[str], logs: Sequence[Place], host: str = "ip-10-0-3-7") -> list[str | None]:
    """The hosts to which kernel lines of one machine are tied, file by file."""
    story = Story()
    for file in files:
        story.line(file, "01:00:00.000", "Out of memory: Killed process 42 (java)", logger="kernel")
    kills = [replace(e, speaker=replace(e.speaker, host=host)) for e in story.events]
    return [event.speaker.host for event in with_homes(kills, [*logs, *((file, host) for file in files)])]


def test_a_kernel_log_belongs_to_the_host_whose_logs_are_next_to_it_whatever_the_machine_is_called() -> None:
    assert homes(["broker-2/kern.log"], BROKERS) == ["broker-2"]
    assert homes(["broker-2/var/log/kern.log"], BROKERS) == ["broker-2"]


def test_a_kernel_log_next_to_the_logs_of_several_hosts_or_of_the_only_one_keeps_the_name_of_its_machine() -> None:
    unknown = ["ip-10-0-3-7"]
    assert homes(["kern.log"], BROKERS) == unknown
    assert homes(["case-7/kern.log"], [("case-7/server.log", "case-7")]) == unknown


def test_a_machine_whose_kernel_logs_lie_in_two_folders_is_neither_host() -> None:
    assert homes(["broker-1/kern.log", "broker-2/kern.log"], BROKERS) == ["ip-10-0-3-7"] * 2


def test_a_kernel_log_of_a_host_that_has_other_logs_elsewhere_is_of_that_host() -> None:
    assert homes(["broker-2/kern.log"], [*BROKERS, ("web/app.log", "ip-10-0-3-7")]) == ["ip-10-0-3-7"]
