"""A member of a group with confluent-kafka-python, with librdkafka's log passed to logging.basicConfig."""

import logging
import os
import time

from confluent_kafka import Consumer

trouble = os.environ["LEVEL"] == "trouble"
logging.basicConfig(
    level=logging.DEBUG if trouble else logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
)
log = logging.getLogger("orders")
settings = {
    "bootstrap.servers": os.environ["BOOTSTRAP"],
    "group.id": os.environ["GROUP"],
    "client.id": os.environ["CLIENT"],
    "max.poll.interval.ms": int(os.environ["POLL_MS"]),
    "auto.offset.reset": "earliest",
}
if os.environ["PROTOCOL"] == "consumer":
    settings["group.protocol"] = "consumer"
else:
    settings["session.timeout.ms"] = int(os.environ["SESSION_MS"])
    settings["heartbeat.interval.ms"] = int(os.environ["HEARTBEAT_MS"])
if trouble:
    settings["debug"] = "cgrp"
consumer = Consumer(settings, logger=logging.getLogger("consumer"))
consumer.subscribe(
    [os.environ["TOPIC"]],
    on_assign=lambda _, partitions: log.info("Assignment: %s", partitions),
    on_revoke=lambda _, partitions: log.info("Revoked: %s", partitions),
    on_lost=lambda _, partitions: log.warning("Lost: %s", partitions),
)
stall = int(os.environ["STALL_S"])
while True:
    message = consumer.poll(0.2)
    if message is not None and message.error():
        log.error("Consumer error: %s", message.error())
    if stall and os.path.exists(os.environ["STALL_FILE"]):
        time.sleep(stall)
        stall = 0
