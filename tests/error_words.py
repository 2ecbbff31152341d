"""What clients and brokers print of Kafka's error codes: error_words.csv, from their sources in all releases.

Read in apache/kafka 0.9 to trunk (Errors.java), librdkafka (rdkafka.c, rdkafka.h), Sarama (errors.go), franz-go
(kerr.go), kafka-go (error.go), KafkaJS (protocol/error.js), kafka-python and aiokafka (errors.py), ruby-kafka
(protocol.rb), brod (kafka_protocol's kpro_error_codes.hrl) and Redpanda (kafka/protocol/errors.h).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

_NAME, _CLASS, _SENTENCE = r"[A-Z_]+", r"[A-Z]\w+", r".* .*"
FORMS: dict[str, tuple[tuple[str, str], ...]] = {
    "Java": (
        ("{}", r".*"),
        ("{}.", _SENTENCE),
        ("org.apache.kafka.common.errors.{}", r"\w+Exception"),
        ("org.apache.kafka.common.errors.{}: some words of the broker", r"\w+Exception"),
        ("org.apache.kafka.common.errors.GroupException: {}.", _SENTENCE),
    ),
    "librdkafka": (
        ("{}", r".*"),
        ("RD_KAFKA_RESP_ERR_{}", _NAME),
        ("ERR_{}", _NAME),  # node-rdkafka
        ('KafkaError{{code={},val={code},str="some words"}}', _NAME),  # confluent-kafka-python
    ),
    "Sarama": (("{}", r".*"), ("{}.", r".*")),
    "franz-go": (("{error}: {}.", r".*"),),
    "kafka-go": (("[{code}] {}", r".*"), ("{}", r".*")),
    "KafkaJS": (("{}", r".*"), ("KafkaJSProtocolError: {}", _SENTENCE)),
    "kafka-python": (
        ("[Error {code}] {}", r".*"),
        ("{}", r".*"),
        ("{}()", r".*"),
        ("<class 'kafka.errors.{}'>", r".*"),
        ("{} - {code} - some words", _CLASS),
    ),
    "aiokafka": (("[Error {code}] {}", r".*"), ("{}", r".*"), ("{}()", r".*"), ("<class 'aiokafka.errors.{}'>", r".*")),
    "ruby-kafka": (("Kafka::{}", r".*"),),
    "brod": (("{}", r".*"), ("'{}'", _CLASS)),
    "Redpanda": (("{{ error_code: {} [{code}] }}", r".*"), ("{}", r".*")),
}
"""How each prints an error: a form, and the words that it holds."""


class ErrorWords(NamedTuple):
    """A code of the protocol as one client or broker prints it."""

    speaker: str
    code: int
    error: str
    form: str
    text: str


@cache
def error_words() -> tuple[ErrorWords, ...]:
    """Every error of error_words.csv in every form."""
    return tuple(_error_words())


def _error_words() -> Iterator[ErrorWords]:
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for form, holds in FORMS[row["client"]]:
                if re.fullmatch(holds, row["words"]):
                    text = form.format(row["words"], **row)
                    yield ErrorWords(row["client"], int(row["code"]), row["error"], form + _style(row["words"]), text)


def _style(words: str) -> str:
    """A name, a class or a sentence: what a client prints in one place is always the same of these."""
    return "sentence" if " " in words else "name" if words.isupper() else "atom" if words.islower() else "class"


def with_another_error(speaker: str, shown: str, error: str) -> str | None:
    """The words for `error` that this client prints where it has shown `shown`; None where it has none."""
    own = [w for w in error_words() if w.speaker == ("Java" if speaker.startswith("Java") else speaker)]
    form = next((w.form for w in own if w.text.rstrip(".") == shown.rstrip(".")), None)
    other = next((w.text for w in own if w.form == form and w.error == error), None)
    return other if other is None or other.endswith(".") == shown.endswith(".") else other.rstrip(".")
