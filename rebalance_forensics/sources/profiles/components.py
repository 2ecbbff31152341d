"""The Kafka component and release that logged a text, by its loggers, prefixes and wording."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

# The default client id is the name of the client library and appears in many of the broker's lines.
_OWN_NAME = r"(?<![iI]d[=:])(?<![iI]d[=:][ \"'])"
_NO_ID = r"(?!-(?:[0-9a-f]{8}-|\d))"
_SIGNS: tuple[tuple[str, int, re.Pattern[str]], ...] = tuple(
    (component, weight, re.compile(expression))
    for component, weight, expression in (
        (
            "broker",
            3,
            (
                r"kafka\.server\.|kafka\.coordinator\.|kafka\.log\.|kafka\.controller|kafka\.network\."
                r"|\[GroupCoordinator |\[KafkaServer id=|\[BrokerServer id=|\[KafkaRaftServer"
                r"|\[GroupMetadataManager brokerId|kafka\.cluster\.Partition|GroupCoordinatorShard"
                r"|org\.apache\.kafka\.(?:controller|metadata|image|raft|storage|server)\."
            ),
        ),
        (
            "streams",
            4,
            r"stream-(?:thread|client) \[|kafka\.streams\.|o\.a\.k(?:afka)?\.s(?:treams)?\.|StreamsConfig values",
        ),
        (
            "connect",
            4,
            (
                r"\[Worker clientId=|connect\.runtime\.|o\.a\.k\.c\.r\.|DistributedHerder|DistributedConfig "
                r"values|WorkerCoordinator"
            ),
        ),
        (
            "schema-registry",
            5,
            r"\[Schema registry clientId=|kafka\.schemaregistry|SchemaRegistryConfig values|SchemaRegistryCoordinator",
        ),
        ("share", 5, r"\[ShareConsumer |ShareMembershipManager|ShareConsumerImpl"),
        ("librdkafka", 6, rf"{_OWN_NAME}rdkafka{_NO_ID}|\[thrd:[^\[\]\n]*\]: |#consumer-\d+[\]|]|confluent_kafka"),
        (
            "kafka-python",
            4,
            (
                r"kafka\.coordinator\.(?:consumer|base|heartbeat|assignors)|\bkafka\.(?:conn|client"
                r"|cluster)\b.{0,400}kafka-python|kafka\.coordinator - |:kafka\.coordinator"
            ),
        ),
        ("aiokafka", 5, rf"{_OWN_NAME}aiokafka(?!-\d)"),
        (
            "franz-go",
            4,
            rf"beginning to manage the group lifecycle|\bjoined, balancing group;|franz-go|{_OWN_NAME}\bkgo\b{_NO_ID}",
        ),
        ("sarama", 5, rf"{_OWN_NAME}\[?[Ss]arama\]?{_NO_ID}|consumergroup/[\w.-]+"),
        ("kafkajs", 5, rf"{_OWN_NAME}kafkajs{_NO_ID}|\[ConsumerGroup\] |\[Runner\] "),
        (
            "kafka-go",
            3,
            r"selected as leader for group, |joinGroup succeeded for response|\bthe kafka reader (?:for|got) ",
        ),
        ("brod", 5, r"Group member \([^()]*coor=#PID|group coordinator \(groupId=[^()]*,pid=|brod_group"),
        (
            "consumer",
            1,
            (
                r"\[Consumer (?:instanceId|clientId)=|ConsumerConfig values|ConsumerCoordinator|KafkaConsumer"
                r"|clients\.consumer|c\.consumer\."
            ),
        ),
        ("mirror-maker", 5, r"connect\.mirror\.|MirrorSourceConnector|MirrorMaker"),
        ("ksqldb", 5, r"io\.confluent\.ksql|_confluent-ksql-"),
        ("flink", 3, r"org\.apache\.flink\."),
    )
)
# Every sign of a component contains one of these words: without any, the expression need not be searched.
_IN_ALL: Mapping[str, tuple[str, ...]] = {
    "librdkafka": ("rdkafka", "[thrd:", "#consumer-", "confluent_kafka"),
    "aiokafka": ("aiokafka",),
    "kafkajs": ("kafkajs", "[ConsumerGroup] ", "[Runner] "),
    "sarama": ("arama", "consumergroup/"),
    "franz-go": ("beginning to manage the group lifecycle", "joined, balancing group;", "franz-go", "kgo"),
    "kafka-go": ("selected as leader for group, ", "joinGroup succeeded for response", "the kafka reader "),
}
_MEMBER = re.compile(r"\[Consumer (?:instanceId=[^,\]\n]{1,250}, )?clientId=[^,\]\n]{0,250}, groupId=(?!null\])")
_PLAIN_WORDS = re.compile(r"(?:[\w :,-]|\\[^\w\s])+")
_RELEASE = re.compile(
    r"Kafka version ?: (?P<release>\d+\.\d+(?:\.\d+)*)|Kafka Streams version: (?P<streams>\d+\.\d+(?:\.\d+)*)"
)


class Wording(NamedTuple):
    """Several wordings: plain words are found ten times as fast as an expression with alternatives."""

    words: tuple[str, ...]
    others: re.Pattern[str] | None

    @classmethod
    def of(cls, expression: str) -> Wording:
        """The alternatives of an expression."""
        alternatives = expression.split("|")
        plain = [each for each in alternatives if _PLAIN_WORDS.fullmatch(each)]
        others = "|".join(each for each in alternatives if each not in plain)
        return cls(tuple(each.replace("\\", "") for each in plain), re.compile(others) if others else None)

    def is_in(self, text: str) -> bool:
        """True if a text contains one of them."""
        return any(word in text for word in self.words) or bool(self.others and self.others.search(text))


# Wording by the first release that prints it, newest first: the first one found is a lower bound of the release.
_FIRST_SEEN: tuple[tuple[str, Wording], ...] = tuple(
    (release, Wording.of(expression))
    for release, expression in (
        ("4.3", r"TopicRegexResolver|CoordinatorTimerImpl|while deleting offsets for topics|with stale assignment"),
        (
            "4.2",
            (
                r"and validated topic epoch|Converted the empty streams group|Valid topic configuration found in"
                r"|and group is (?:not )?ready|Creating consumer client for thread"
            ),
        ),
        (
            "4.1",
            (
                r"with metadata hash|streams group|\[GroupId [^\[\]]+\]\[MemberId|Loaded share group"
                r"|StreamsMembershipManager|stopped completely and transitioned to the terminal"
            ),
        ),
        (
            "4.0",
            (
                r"Converted the [\w ]{0,80}group to a|for member leaving\.|ConsumerMembershipManager"
                r"|ConsumerGroupHeartbeatRequest|Completed leaving the group"
                r"|org\.apache\.kafka\.coordinator\.common\.runtime"
            ),
        ),
        ("3.9", r"ClassicKafkaConsumer"),
        ("3.7", r"ConsumerRebalanceListenerInvoker|LegacyKafkaConsumer"),
        ("3.6", r"\[GroupCoordinator id="),
        ("3.2", r"client reason:|Resetting generation and member id"),
        ("3.1", r"Client requested disconnect"),
        (
            "3.0",
            r"Assignment received from leader \S+ for group|Request joining group due to|All members participating",
        ),
        ("2.8", r"in generation \d+ \(__consumer_offsets-\d+\) with \d+ members|Elected as the group coordinator"),
        ("2.7", r"Sent generation was|isDisconnected|per-consumer assignment"),
        (
            "2.6",
            (
                r"Successfully joined group with generation Generation\{|Finished stable assignment"
                r"|Finished unstable assignment"
            ),
        ),
        (
            "2.4",
            r"sending LeaveGroup request to coordinator .{0,400} due to|Lost previously assigned|Kafka Streams version",
        ),
        ("2.3", r"Kafka startTimeMs|\[Consumer instanceId="),
        ("2.2", r"Member \S+ sending LeaveGroup"),
        ("2.1", r"\(reason: "),
    )
)


def component_of(text: str) -> str | None:
    """The component with the most significant signs; a Streams or Connect process also logs its consumers' lines."""
    weights = Counter({name: weight * min(_times(name, sign, text), 400) for name, weight, sign in _SIGNS})
    name, weight = max(weights.items(), key=lambda item: item[1])
    return name if weight else None


def _times(name: str, sign: re.Pattern[str], text: str) -> int:
    """How often the sign of a component occurs in a text."""
    words = _IN_ALL.get(name)
    return len(sign.findall(text)) if words is None or any(word in text for word in words) else 0


def shows_members(text: str) -> bool:
    """True if a text includes lines of group members; a broker's own consumers are in no group."""
    return _MEMBER.search(text) is not None


def release_of(text: str) -> str | None:
    """The release that the text names, else the oldest one with its wording, as `>=3.0`."""
    if match := _RELEASE.search(text):
        return match["release"] or match["streams"]
    return next((f">={release}" for release, wording in _FIRST_SEEN if wording.is_in(text)), None)
