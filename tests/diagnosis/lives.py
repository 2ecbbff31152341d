# ruff: noqa: D102 - the base class says what each step is
"""How consumers of other languages begin, join, are told of a rebalance and leave, in their own words and layouts.

The lines are those that kafka-python 2.0, aiokafka 0.14, KafkaJS 2.2, kafka-go 0.4, franz-go 1.22 and
Sarama 1.61 wrote on a cluster
of Kafka 3.9 while members were added, restarted and removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

UUID = "98a07f61-71e0-4d07-9f3f-8a8a1b2c3d{:02}"
Say = Callable[[int, str], str]
"""What one client prints at a second of the day, from its words."""


def clock(second: int) -> str:
    """The time of day."""
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def member_id(number: int, life: int) -> str:
    """The id that the coordinator gives client `number` in one of its lives."""
    return f"pay-{number}-{UUID.format(10 * number + life)}"


class Client:
    """One kind of client; each method gives the lines of one step of member `number`."""

    def begins(self, second: int, number: int, life: int) -> list[str]:
        """Its process starts, and asks to join."""
        raise NotImplementedError

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        """Its JoinGroup was answered."""
        raise NotImplementedError

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        """It hears of a rebalance, and rejoins."""
        raise NotImplementedError

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        """It is closed."""
        raise NotImplementedError


class KafkaPython(Client):
    """kafka-python until 2.0, which prints neither a client id nor a member id."""

    def _say(self, second: int, logger: str, message: str, level: str = "INFO") -> str:
        return f"2026-03-01 {clock(second)},112 {level} kafka.{logger}: {message}"

    def begins(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [
            self._say(second, "consumer.subscription_state", "Updating subscribed topics to: ('orders',)"),
            self._say(second, "coordinator", "Discovered coordinator coordinator-2 for group payments"),
            self._say(
                second, "coordinator.consumer", "Revoking previously assigned partitions set() for group payments"
            ),
            self._say(second, "coordinator", "(Re-)joining group payments"),
        ]

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        del life
        elected = "Elected group leader -- performing partition assignments using range"
        owned = f"{{TopicPartition(topic='orders', partition={number})}}"
        return [
            *([self._say(second, "coordinator", elected)] if leads else []),
            self._say(second, "coordinator", f"Successfully joined group payments with generation {generation}"),
            self._say(second, "coordinator.consumer", f"Setting newly assigned partitions {owned} for group payments"),
        ]

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        del life
        owned = f"{{TopicPartition(topic='orders', partition={number})}}"
        return [
            self._say(
                second, "coordinator", "Heartbeat failed for group payments because it is rebalancing", "WARNING"
            ),
            self._say(
                second, "coordinator.consumer", f"Revoking previously assigned partitions {owned} for group payments"
            ),
            self._say(second, "coordinator", "(Re-)joining group payments"),
        ]

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [self._say(second, "coordinator", "Leaving consumer group (payments).")]


class Aiokafka(Client):
    """aiokafka, whose LeaveGroup names no group."""

    def _say(self, second: int, message: str, module: str = "group_coordinator", level: str = "INFO") -> str:
        return f"2026-03-01 {clock(second)},112 - aiokafka.consumer.{module} - {level} - {message}"

    def begins(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [
            self._say(second, "Updating subscribed topics to: frozenset({'orders'})", "subscription_state"),
            self._say(second, "Discovered coordinator 2 for group payments"),
            self._say(second, "Revoking previously assigned partitions set() for group payments"),
            self._say(second, "(Re-)joining group payments"),
        ]

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        member, elected = (
            member_id(number, life),
            "Elected group leader -- performing partition assignments using range",
        )
        return [
            self._say(second, f"Joined group 'payments' (generation {generation}) with member_id {member}"),
            *([self._say(second, elected)] if leads else []),
            self._say(second, f"Successfully synced group payments with generation {generation}"),
        ]

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [
            self._say(second, "Heartbeat failed for group payments because it is rebalancing", level="WARNING"),
            self._say(second, "(Re-)joining group payments"),
        ]

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [self._say(second, "LeaveGroup request succeeded")]


class KafkaJs(Client):
    """KafkaJS, which prints no generation."""

    def _say(self, second: int, message: str, level: str = "INFO", **more: object) -> str:
        at = f"2026-03-01T{clock(second)}.112Z"
        return json.dumps({"level": level, "timestamp": at, "logger": "kafkajs", "message": message, **more})

    def _join(self, second: int, about: dict[str, object]) -> str:
        message = "[ConsumerGroup] Consumer has joined the group"
        at = f"2026-03-01T{clock(second)}.112Z"
        facts = {"level": "INFO", "timestamp": at, "logger": "kafkajs", "message": message, "groupId": "payments"}
        return json.dumps({**facts, **about, "duration": 90})

    def begins(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [self._say(second, "[Consumer] Starting", groupId="payments")]

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        del generation
        member = member_id(number, life)
        about: dict[str, object] = {"memberId": member, "leaderId": member if leads else member_id(1, 1)}
        return [self._join(second, about)]

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        error = "The group is rebalancing, so a rejoin is needed"
        member = member_id(number, life)
        lines = "[Runner] The group is rebalancing, re-joining"
        return [self._say(second, lines, "WARN", groupId="payments", memberId=member, error=error)]

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [self._say(second, "[Consumer] Stopped", groupId="payments")]


class KafkaGo(Client):
    """kafka-go behind Go's own logger, to the second."""

    def _say(self, second: int, message: str) -> str:
        return f"2026/03/01 {clock(second)} {message}"

    def begins(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [self._say(second, "entering loop for consumer group, payments")]

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        member = member_id(number, life)
        return [
            self._say(second, f"joined group payments as member {member} in generation {generation}"),
            *([self._say(second, "selected as leader for group, payments")] if leads else []),
            self._say(second, "sync group finished for group, payments"),
            self._say(second, "started heartbeat for group, payments [3s]"),
        ]

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [self._say(second, "stopped heartbeat for group payments")]

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        return [self._say(second, f"Leaving group payments, member {member_id(number, life)}")]


class FranzGo(Client):
    """franz-go through a logger of JSON, its values beside the message."""

    def _say(self, second: int, message: str, **more: object) -> str:
        caller = "github.com/twmb/franz-go@v1.22.3/pkg/kgo/consumer_group.go:1137"
        at = f"2026-03-01T{clock(second)}.112Z"
        return json.dumps({"level": "info", "time": at, "caller": caller, "message": message, **more})

    def begins(self, second: int, number: int, life: int) -> list[str]:
        member = member_id(number, life)
        return [
            self._say(second, "beginning to manage the group lifecycle", group="payments"),
            self._say(second, "joining group", group="payments"),
            self._say(
                second,
                "join returned MemberIDRequired, rejoining with response's MemberID",
                group="payments",
                member_id=member,
            ),
        ]

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        about = {"group": "payments", "member_id": member_id(number, life), "generation": generation, "leader": leads}
        lines = "joined, balancing group" if leads else "joined"
        return [
            self._say(second, lines, **about),
            self._say(second, "new group session begun", group="payments", added={"orders": [number]}, lost={}),
        ]

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        error = "REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."
        return [
            self._say(second, "heartbeat errored", group="payments", err=error),
            self._say(second, "joining group", group="payments"),
        ]

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        return [self._say(second, "leaving group", group="payments", member_id=member_id(number, life))]


class Sarama(Client):
    """Sarama, which prints its sessions when they are over, and looks up its coordinator when one begins."""

    def __init__(self) -> None:
        self.sessions: dict[int, int] = {}

    def _say(self, second: int, message: str) -> str:
        return f"[sarama] 2026/03/01 {clock(second)} {message}"

    def _looks_up(self, second: int) -> list[str]:
        return [
            self._say(second, "client/coordinator requesting coordinator for payments from 10.0.0.1:9092"),
            self._say(second, "client/coordinator coordinator for payments is #2 (10.0.0.2:9092)"),
        ]

    def _is_over(self, second: int, number: int, life: int) -> list[str]:
        session = f"consumergroup/session/{member_id(number, life)}/{self.sessions[number]}"
        return [self._say(second, f"{session} heartbeat loop stopped"), self._say(second, f"{session} released")]

    def begins(self, second: int, number: int, life: int) -> list[str]:
        del number, life
        return [
            self._say(second, "Initializing new client"),
            self._say(second, "Successfully initialized new client"),
            *self._looks_up(second),
        ]

    def is_in(self, second: int, number: int, life: int, generation: int, *, leads: bool) -> list[str]:
        del life, leads
        self.sessions[number] = generation
        return self._looks_up(second)

    def is_told(self, second: int, number: int, life: int) -> list[str]:
        return self._is_over(second, number, life)

    def leaves(self, second: int, number: int, life: int) -> list[str]:
        lines = [*self._is_over(second, number, life), self._say(second, "Closing Client")]
        del self.sessions[number]
        return lines


CLIENTS: dict[str, Client] = {
    "kafka-python": KafkaPython(),
    "aiokafka": Aiokafka(),
    "KafkaJS": KafkaJs(),
    "kafka-go": KafkaGo(),
    "franz-go": FranzGo(),
    "Sarama": Sarama(),
}


class Group:
    """Members of one kind of client and what each of them logs, one file a member."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.logs: dict[int, list[str]] = {}
        self.lives: dict[int, int] = {}
        self.inside: list[int] = []
        self.generation = 0

    def formed(self, second: int, *numbers: int) -> Group:
        """These start together, and their first generation has all of them."""
        for number in numbers:
            self._begins(second, number)
        return self._joined(second + 3)

    def comes(self, second: int, number: int) -> Group:
        """A member starts while others are in."""
        self._log_rebalance(second + 1)
        self._begins(second, number)
        return self._joined(second + 2)

    def goes(self, second: int, number: int) -> Group:
        """A member is closed; the others rebalance."""
        self._write(number, self.client.leaves(second, number, self.lives[number]))
        self.inside.remove(number)
        self._log_rebalance(second + 2)
        return self._joined(second + 3)

    def _begins(self, second: int, number: int) -> None:
        self.lives[number] = self.lives.get(number, 0) + 1
        self._write(number, self.client.begins(second, number, self.lives[number]))
        self.inside.append(number)

    def _log_rebalance(self, second: int) -> None:
        for number in self.inside:
            self._write(number, self.client.is_told(second, number, self.lives[number]))

    def _joined(self, second: int) -> Group:
        self.generation += 1
        for number in self.inside:
            leads = number == self.inside[0]
            lines = self.client.is_in(second, number, self.lives[number], self.generation, leads=leads)
            self._write(number, lines)
        return self

    def _write(self, number: int, lines: list[str]) -> None:
        self.logs.setdefault(number, []).extend(lines)

    def incidents(self, directory: Path, *numbers: int, since: int = 0) -> list[Incident]:
        """What is found in the logs of these members, or of all; `since` leaves out what began before that second."""
        for number in numbers or sorted(self.logs):
            place = directory / f"pay-{number}"
            place.mkdir()
            (place / "app.log").write_text("\n".join(self.logs[number]) + "\n", encoding="utf-8")
        found = analyze([str(directory)], AnalyzeOptions(engine="local")).incidents
        midnight = 1_772_323_200_000
        return [i for i in found if (i.started_at or 0) >= midnight + 1000 * since]
