"""Clients that print no client id, beside the log of the coordinator that names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.kafka_words import CoordinatorWords, member_id

WORDS = CoordinatorWords(group="payments", broker=2, release=(2, 0))
ONE, TWO, AGAIN = member_id("shop-1"), member_id("shop-2"), member_id("shop-1", 2)


def coordinator(second: int, message: str) -> str:
    return f"[2026-03-01 01:{second // 60:02}:{second % 60:02},100] INFO {message} ({WORDS.logger})"


STARTED = [
    coordinator(0, WORDS.preparing(0, "")), coordinator(3, WORDS.stabilized(1, 2)),
    coordinator(3, WORDS.assigned(1, 2, ONE)),
]  # fmt: skip
LEFT_AND_RETURNED = [
    coordinator(400, WORDS.left(ONE)), coordinator(400, WORDS.preparing(1, "")),
    coordinator(401, WORDS.stabilized(2, 1)), coordinator(420, WORDS.preparing(2, "")),
    coordinator(421, WORDS.stabilized(3, 2)),
    coordinator(421, WORDS.assigned(3, 2, TWO)), coordinator(900, WORDS.preparing(3, "")),
]  # fmt: skip


def incidents(directory: Path, broker: list[str], **clients: list[str]) -> tuple[Incident, ...]:
    for host, lines in (({"broker-2": broker} if broker else {}) | clients).items():
        (directory / host.replace("_", "-")).mkdir()
        (directory / host.replace("_", "-") / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


def franz_go(second: int, message: str) -> str:
    return f"[2026-03-01 01:{second // 60:02}:{second % 60:02}.050] [INFO] {message}"


@pytest.mark.parametrize("error", ["GROUP_MAX_SIZE_REACHED", "INCONSISTENT_GROUP_PROTOCOL"])
def test_a_client_that_was_never_let_in_is_known_by_its_log(tmp_path: Path, error: str) -> None:
    refused = [
        franz_go(100, "joining group; group: payments"),
        franz_go(101, f"join group failed; group: payments, err: {error}: no."),
    ]
    found = incidents(tmp_path, STARTED, node_9=refused)
    (cause,) = [
        i.root_causes[0] for i in found if i.root_causes[0].cause in ("group-max-size", "inconsistent-protocol")
    ]
    assert [culprit.name for culprit in cause.culprits] == ["node-9"]


PYTHON = "2026-03-01 01:{:02}:{:02},050 - kafka.coordinator.base - {} - {}"
RUBY = "{}, [2026-03-01T01:{:02}:{:02}.050000 #12] {:>5} -- : {}"


@pytest.mark.parametrize("broker", [[], [*STARTED, *LEFT_AND_RETURNED]], ids=["clients", "both"])
@pytest.mark.parametrize("client", ["kafka-python", "ruby-kafka"])
def test_a_client_that_logs_or_has_no_poll_timeout_did_not_leave_for_one_unlogged(
    tmp_path: Path, client: str, broker: list[str]
) -> None:
    def line(second: int, python: str, ruby: str) -> str:
        at = second // 60, second % 60
        return PYTHON.format(*at, "INFO", python) if client == "kafka-python" else RUBY.format("I", *at, "INFO", ruby)

    def join(second: int, member: str, generation: int) -> list[str]:
        return [
            line(second - 2, "(Re-)joining group payments", "Joining group `payments`"),
            line(
                second,
                f"Successfully joined group payments <Generation {generation} (member_id: {member}, protocol: range)>",
                f"Joined group `payments` with member id `{member}`",
            ),
        ]

    left = line(400, "Leaving consumer group (payments).", "Leaving group `payments`")
    log = [*join(3, ONE, 1), left, *join(421, AGAIN, 3), line(900, "processed", "processed")]
    other = [*join(3, TWO, 1), *join(401, TWO, 2), *join(421, TWO, 3), line(900, "processed", "processed")]
    found = incidents(tmp_path, broker, node_1=log, node_2=other)
    assert "slow-processing" not in {i.root_causes[0].cause for i in found}


def test_aiokafka_is_known_although_it_subscribes_in_javas_words(tmp_path: Path) -> None:
    def line(second: int, message: str, module: str = "group_coordinator") -> str:
        time = f"2026-03-01 01:{second // 60:02}:{second % 60:02},050"
        return f"{time} - aiokafka.consumer.{module} - INFO - {message}"

    def join(second: int, member: str, generation: int) -> list[str]:
        words = f"Joined group 'payments' (generation {generation}) with member_id {member}"
        return [line(second - 2, "(Re-)joining group payments"), line(second, words)]

    subscribed = "[Consumer clientId=shop-1, groupId=payments] Subscribed to topic(s): orders"
    log = [
        line(0, subscribed, "consumer"), *join(3, ONE, 1), line(400, "LeaveGroup request succeeded"),
        *join(421, AGAIN, 3), line(900, "processed"),
    ]  # fmt: skip
    found = incidents(tmp_path, [], node_1=log, node_2=[*join(3, TWO, 1), *join(401, TWO, 2), *join(421, TWO, 3)])
    assert "slow-processing" in {i.root_causes[0].cause for i in found}
