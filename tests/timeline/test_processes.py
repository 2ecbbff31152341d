from __future__ import annotations

from msgspec.structs import replace

from tests.diagnosis.closings import APP_INFO
from tests.diagnosis.threads import Application
from tests.kafka_words import generation_of, member_id
from tests.story import Story, ms

WORKER = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"


def test_a_consumer_that_closes_leaves_the_others_of_its_process_alone() -> None:
    story = Story(seen="clients")
    for client in ("c-1", "c-2"):
        joined = f"Generation{{generationId=1, memberId='{story.id_of(client)}', protocol='range'}}"
        story.line("app-1/app.log", "01:00:00.000", story.of(client).joining())
        story.line(
            "app-1/app.log",
            "01:00:03.000",
            story.of(client).prefixed(f"Successfully joined group with generation {joined}"),
        )
    story.line("app-1/app.log", "01:10:00.000", "App info kafka.consumer for c-2 unregistered", logger=APP_INFO)
    assert [stop.participant.name for stop in story.timeline().stops] == ["c-2"]


def test_one_more_client_in_a_running_process_is_no_start_of_it() -> None:
    """A producer that an application creates on first use says its version, as every client does."""
    story = Story(seen="clients", generation=4)
    for generation, minute in ((4, "00"), (5, "10")):
        after = story.of("c-1").joined(generation, story.id_of("c-1"))
        story.line("c-1/app.log", f"01:{minute}:00.000", story.of("c-1").joining())
        assert after is not None
        story.line("c-1/app.log", f"01:{minute}:03.000", after)
        story.line("c-1/app.log", f"01:{minute}:30.000", "Kafka version: 3.9.0", logger=APP_INFO)
    assert [start.at for start in story.timeline().starts] == [ms("01:10:30.000")]


def test_a_start_whose_settings_were_lost_on_the_way_shows_in_its_version_and_its_new_member_id() -> None:
    story = Story(seen="clients")
    for member, minute in (("c-1-77aa", "00"), ("c-1-88bb", "10")):
        if minute == "00":
            story.started("c-1", f"01:{minute}:00.000")
        story.line("c-1/app.log", f"01:{minute}:00.100", "Kafka version: 3.9.0", logger=APP_INFO)
        asked = f"Request joining group due to: need to re-join with the given member-id: {member}"
        story.line("c-1/app.log", f"01:{minute}:01.000", story.of("c-1").prefixed(asked))
        story.line(
            "c-1/app.log",
            f"01:{minute}:03.000",
            story.of("c-1").prefixed(
                f"Successfully joined group with generation {generation_of(1 + (minute == '10'), member)}"
            ),
        )
    assert [start.at for start in story.timeline().starts] == [ms("01:00:00.000"), ms("01:10:00.100")]


def test_clients_that_a_worker_creates_for_a_task_are_no_start_of_the_worker() -> None:
    story = Story(seen="clients", group="connect-shop")
    worker = "[Worker clientId=connect-w-1:8083, groupId=connect-shop] "
    coordinator = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
    for generation, minute in ((1, "00"), (2, "10")):
        joined = f"Successfully joined group with generation {generation_of(generation, 'connect-w-1:8083-77aa')}"
        for second, message in (("00", "(Re-)joining group"), ("03", joined)):
            story.line("w-1/connect.log", f"01:{minute}:{second}.000", worker + message, logger=coordinator)
        story.line("w-1/connect.log", f"01:{minute}:30.000", "Kafka version: 3.9.0", logger=APP_INFO)
    assert story.timeline().kind == "connect"
    assert not story.timeline().starts


def test_a_worker_that_starts_again_without_its_settings_in_the_log_was_restarted_if_it_was_a_member() -> None:
    story = Story(seen="clients", group="connect-shop")
    worker = "[Worker clientId=connect-w-1:8083, groupId=connect-shop] "
    coordinator = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
    story.line(
        "w-1/connect.log",
        "01:00:00.000",
        "DistributedConfig values: \n\tgroup.id = connect-shop",
        logger="org.apache.kafka.connect.runtime.distributed.DistributedConfig",
    )
    for minute, member in (("00", "77aa"), ("10", "88bb")):
        story.line(
            "w-1/connect.log",
            f"01:{minute}:10.000",
            worker + "Herder started",
            logger="org.apache.kafka.connect.runtime.distributed.DistributedHerder",
        )
        joined = f"Successfully joined group with generation {generation_of(1, f'connect-w-1:8083-{member}')}"
        story.line("w-1/connect.log", f"01:{minute}:13.000", worker + joined, logger=coordinator)
    assert [start.at for start in story.timeline().starts] == [ms("01:00:00.000"), ms("01:10:10.000")]


def test_a_streams_thread_that_recreates_its_producer_starts_no_process() -> None:
    """Of a cut log: the settings of the process are gone, and a fenced thread has made a new producer (KIP-447)."""
    story = Application(group="shop", seen="clients")
    story.by_thread(1, 1, "01:00:00.000", "State transition from RUNNING to PARTITIONS_REVOKED")
    story.line("node-1/app.log", "01:00:00.010", "Kafka version: 2.8.2", logger=APP_INFO)
    version = story.events[-1]
    story.events[-1] = replace(version, speaker=replace(version.speaker, thread=story.thread(1, 1)))
    story.round("01:00:01.000", story.words.adding(member_id(story.consumer(1, 1))))
    assert not story.timeline().starts
    story.events.remove(story.events[1])
    story.line("node-1/app.log", "01:10:00.000", "Kafka version: 2.8.2", logger=APP_INFO)
    assert [start.at for start in story.timeline().starts] == [ms("01:10:00.000")]


def test_a_worker_that_hands_over_a_task_closes_its_clients_and_continues() -> None:
    """Of MirrorMaker the clients of a task are named after the flow, the connector and what they are for."""
    story = Story(seen="clients", group="A-mm2")
    worker = "[Worker clientId=A->B, groupId=A-mm2] "
    joined = f"Successfully joined group with generation {generation_of(2, 'A->B-77aa')}"
    story.line("mm-1/app.log", "01:00:00.000", worker + joined, logger=WORKER)
    for client in ("A->B|MirrorSourceConnector-0|replication-consumer", "connector-consumer-files-0"):
        story.line(
            "mm-1/app.log", "01:10:00.000", f"App info kafka.consumer for {client} unregistered", logger=APP_INFO
        )
    assert not story.timeline().stops
    story.line("mm-1/app.log", "01:20:00.000", "App info kafka.connect for A->B unregistered", logger=APP_INFO)
    assert [stop.at for stop in story.timeline().stops] == [ms("01:20:00.000")]


def test_a_worker_that_says_only_that_it_starts_is_the_one_that_joins_next() -> None:
    story = Story(group="connect-shop")
    old, new = (f"connect-w-1:8083-{uuid}-ceb9-4009-b792-64f0452fd3a6" for uuid in ("9e7ca01b", "1b7ca01e"))
    story.says("01:10:00.000", f"Member {old} in group connect-shop has failed, removing it from the group")
    cli = "org.apache.kafka.connect.cli.AbstractConnectCli"
    story.line("broker-2/server.log", "01:10:10.000", "Kafka Connect worker initializing ...", logger=cli)
    story.broker("01:10:14.000", story.words.introduced(new))
    assert [start.at for start in story.timeline().starts] == [ms("01:10:10.000")]
