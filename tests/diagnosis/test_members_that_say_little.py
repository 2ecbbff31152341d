"""Members of whose fate their own logs say less than one expects; the lines were recorded on real clusters."""

from __future__ import annotations

from pathlib import Path

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

FOUND = "Discovered group coordinator b1:9092 (id: 2147483646 rack: null)"
ID = "{}-6cd52f5c-0026-455e-8404-e43bbbd07620"


def incidents(directory: Path, logs: dict[str, list[str]], pattern: str = "[2026-11-23 {}] INFO {}") -> list[Incident]:
    """What is found in these logs: by file, `time message`."""
    for name, lines in logs.items():
        path = directory / name / "app.log"
        path.parent.mkdir()
        text = [pattern.format(*line.split(" ", 1)) for line in lines]
        path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return list(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


def faults(found: list[Incident]) -> list[str]:
    """The likeliest causes of whatever is more than planned."""
    return [i.root_causes[0].cause for i in found if i.severity != "info"]


def joined(generation: int, member: str) -> str:
    """How a consumer from 2.6.1 on says that it joined."""
    return (
        f"Successfully joined group with generation Generation{{generationId={generation}, memberId='{member}', "
        "protocol='range'}"
    )


def static(pod: str, *lines: str) -> list[str]:
    """A static member's own lines, which begin with how it joined."""
    member = ID.format(f"pod-{pod}")
    speaker = f"[Consumer instanceId=pod-{pod}, clientId=c-{pod}, groupId=ship]"
    first = (
        "06:11:04,000 Kafka version: 2.6.3 (org.apache.kafka.common.utils.AppInfoParser)",
        f"06:11:08,000 {FOUND}",
        "06:11:08,100 (Re-)joining group",
        f"06:11:11,600 {joined(1, member)}",
        f"06:11:11,680 Adding newly assigned partitions: orders-{pod}",
    )
    text = [line.split(" ", 1) for line in (*first, *lines)]
    return [
        f"{time} {message if message.startswith('Kafka version') else f'{speaker} {message}'}" for time, message in text
    ]


def test_a_static_member_that_restarts_has_not_expired_if_logs_end_before_they_show_it(
    tmp_path: Path,
) -> None:
    started = "06:12:05,000 Kafka version: 2.6.3 (org.apache.kafka.common.utils.AppInfoParser)"
    found = incidents(tmp_path, {"c-1": static("1", started), "c-2": static("2"), "c-3": static("3")})
    assert faults(found) == []


def test_a_static_member_before_3_0_whose_poll_timeout_expires_says_only_that_its_generation_was_reset(
    tmp_path: Path,
) -> None:
    slow = static(
        "2",
        "06:12:05,454 Giving away all assigned partitions as lost since generation has been reset,indicating that "
        "consumer is no longer part of the group",
        "06:12:05,454 Lost previously assigned partitions orders-2",
        "06:12:05,455 (Re-)joining group",
        f"06:12:07,002 {joined(3, 'pod-2-cfd272f8-a223-4de7-9f55-4046ad1cf724')}",
    )
    others = {
        f"c-{pod}": static(
            pod,
            f"06:11:48,442 {joined(2, ID.format(f'pod-{pod}'))}",
            f"06:12:07,001 {joined(3, ID.format(f'pod-{pod}'))}",
        )
        for pod in "13"
    }
    member = ID.format("pod-2")
    removed = (
        "Preparing to rebalance group ship in state PreparingRebalance with old generation 1 (__consumer_offsets-0) "
        f"(reason: removing member {member} on heartbeat expiration)"
    )
    coordinator = [
        f"06:11:{time} [GroupCoordinator 1]: {message} (kafka.coordinator.group.GroupCoordinator)"
        for time, message in (
            ("11,590", "Stabilized group ship generation 1 (__consumer_offsets-0) with 3 members"),
            ("45,776", f"Member {member} in group ship has failed, removing it from the group"),
            ("45,777", removed),
            ("48,441", "Stabilized group ship generation 2 (__consumer_offsets-0) with 2 members"),
        )
    ]
    found = incidents(tmp_path, {"broker-1": coordinator, "c-2": slow, **others})
    assert faults(found) == ["slow-processing"]


def test_a_member_whose_heartbeats_were_answered_until_its_removal_was_not_paused(tmp_path: Path) -> None:
    def logged(client: str, *lines: str) -> list[str]:
        first = (
            "06:13:05,000 Discovered group coordinator b1:9092 (id: 2147483646 rack: null)",
            "06:13:05,010 (Re-)joining group",
            "06:13:16,900 Successfully joined group with generation 1",
            f"06:13:16,901 Setting newly assigned partitions: orders-{client[-1]}",
        )
        text = (line.split(" ", 1) for line in (*first, *lines))
        return [f"{time} [Consumer clientId={client}, groupId=revoker] {message}" for time, message in text]

    rebalancing = "Attempt to heartbeat failed since group is rebalancing"
    slow = logged(
        "c-1",
        f"06:13:53,373 {rebalancing}",
        "06:13:53,760 Revoking previously assigned partitions [orders-1]",
        f"06:13:56,414 {rebalancing}",
        f"06:13:59,431 {rebalancing}",
        f"06:14:02,447 Attempt to heartbeat failed for since member id {ID.format('c-1')} is not valid.",
        "06:14:18,760 (Re-)joining group",
        "06:14:28,773 Successfully joined group with generation 3",
    )
    others = {
        client: logged(
            client,
            f"06:13:53,300 {rebalancing}",
            f"06:13:53,400 Revoking previously assigned partitions [orders-{client[-1]}]",
            "06:13:53,401 (Re-)joining group",
            "06:14:00,400 Successfully joined group with generation 2",
            f"06:14:21,500 {rebalancing}",
            "06:14:21,600 (Re-)joining group",
            "06:14:28,770 Successfully joined group with generation 3",
        )
        for client in ("c-2", "c-3")
    }
    found = incidents(tmp_path, {"c-1": slow, **others})
    assert faults(found) == ["rebalance-straggler"]


def test_the_log_of_a_consumer_before_2_1_may_end_because_it_was_closed(tmp_path: Path) -> None:
    def logged(number: int, *lines: str) -> list[str]:
        first = (
            "06:13:05,000 (Re-)joining group",
            "06:13:08,900 Successfully joined group with generation 1",
            f"06:13:08,901 Setting newly assigned partitions [orders-{number}]",
        )
        text = (line.split(" ", 1) for line in (*first, *lines))
        version = "06:13:04,000 Kafka version : 2.0.1 (org.apache.kafka.common.utils.AppInfoParser)"
        return [version, *(f"{at} [Consumer clientId=c-{number}, groupId=audit] {message}" for at, message in text)]

    def goes_on(number: int) -> list[str]:
        return logged(
            number,
            "06:13:53,373 Attempt to heartbeat failed since group is rebalancing",
            f"06:13:53,760 Revoking previously assigned partitions [orders-{number}]",
            "06:13:53,760 (Re-)joining group",
            "06:13:53,900 Successfully joined group with generation 2",
            "06:19:53,373 Discovered group coordinator b1:9092 (id: 2147483646 rack: null)",
        )

    (away,) = (
        i
        for i in incidents(tmp_path, {"c-1": logged(1), "c-2": goes_on(2), "c-3": goes_on(3)})
        if i.root_causes[0].cause != "startup"
    )
    assert [c.cause for c in away.root_causes[:2]] == ["process-crash", "scale-in"]
    assert away.root_causes[0].confidence < 0.9


def test_a_streams_clients_lines_in_a_file_that_applications_share_concern_only_its_group(
    tmp_path: Path,
) -> None:
    spring = "2026-11-23 {} INFO 4711 --- [-StreamThread-2] org.apache.kafka.streams.KafkaStreams    : {}"
    lines = []
    for second, client in enumerate(("joiner-1", "totals-1")):
        group = client[:-2]
        member = f"{client}-StreamThread-1-consumer"
        lines += [
            f"06:13:0{second}.000 stream-client [{client}] State transition from CREATED to REBALANCING",
            f"06:13:0{second}.900 [Consumer clientId={member}, groupId={group}] {joined(1, ID.format(member))}",
            f"06:13:0{second}.950 stream-client [{client}] State transition from REBALANCING to RUNNING",
        ]
    lines.append(
        "06:20:00.416 stream-client [totals-1] Encountered the following exception during processing and sent shutdown "
        "request for the entire application."
    )
    found = incidents(tmp_path, {"all": lines}, spring)
    assert {i.group for i in found if i.root_causes[0].cause == "streams-shutdown"} == {"totals"}


def test_a_member_that_is_left_out_before_its_session_can_have_expired_left_though_its_log_does_not_say_so(
    tmp_path: Path,
) -> None:
    """Log4j 2 stops logging when the JVM shuts down, before the consumer is closed."""
    config = "ConsumerConfig values: \n\tgroup.id = auto\n\tsession.timeout.ms = 45000\n\theartbeat.interval.ms = 3000"

    def logged(client: str, *lines: str) -> list[str]:
        first = (
            "06:16:00,200 Discovered group coordinator b1:9092 (id: 2147483646 rack: null)",
            "06:16:00,261 (Re-)joining group",
            f"06:16:02,936 {joined(1, ID.format(client))}",
            f"06:16:03,040 Adding newly assigned partitions: orders-{client[-1]}",
        )
        text = (line.split(" ", 1) for line in (*first, *lines))
        speaker = f"[Consumer clientId={client}, groupId=auto]"
        begin = [
            f"06:15:55,000 {config} (org.apache.kafka.clients.consumer.ConsumerConfig)",
            "06:15:56,000 Kafka version: 4.1.2 (org.apache.kafka.common.utils.AppInfoParser)",
        ]
        return [*begin, *(f"{time} {speaker} {message}" for time, message in text)]

    logs = {
        client: logged(
            client,
            "06:16:12,184 Request joining group due to: group is already rebalancing",
            "06:16:12,392 (Re-)joining group",
            f"06:16:12,410 {joined(2, ID.format(client))}",
            "06:20:12,410 Discovered group coordinator b1:9092 (id: 2147483646 rack: null)",
        )
        for client in ("c-1", "c-2")
    }
    found = incidents(tmp_path, {**logs, "c-3": logged("c-3")})
    assert [i.root_causes[0].cause for i in found if i.root_causes[0].cause != "startup"] == ["scale-in"]


def test_a_jvm_that_ends_in_a_log_that_continues_does_not_end_all_members_that_write_to_it(
    tmp_path: Path,
) -> None:
    lines = []
    for client, group in (("c-1", "ship"), ("c-2", "ship"), ("d-1", "mail"), ("d-2", "mail")):
        speaker = f"[Consumer clientId={client}, groupId={group}]"
        lines += [
            f"06:11:04,000 {speaker} {FOUND}",
            f"06:11:08,100 {speaker} (Re-)joining group",
            f"06:11:11,600 {speaker} {joined(1, ID.format(client))}",
            f"06:11:11,680 {speaker} Adding newly assigned partitions: {group}-{client[-1]}",
        ]
    went_on = f"06:21:11,680 [Consumer clientId=d-1, groupId=mail] {FOUND}"
    found = incidents(tmp_path, {"all": [*sorted(lines), went_on]})
    assert faults(found) == []
    log = tmp_path / "all" / "app.log"
    *before, last = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join([*before, "Terminating due to java.lang.OutOfMemoryError: Java heap space\n", last]))
    assert faults(list(analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents)) == []
