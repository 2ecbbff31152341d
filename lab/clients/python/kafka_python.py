"""A member of a group with kafka-python, logging as logging.basicConfig does."""

import logging
import os
import time

from kafka import KafkaConsumer

level = logging.DEBUG if os.environ["LEVEL"] == "trouble" else logging.INFO
logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
consumer = KafkaConsumer(
    os.environ["TOPIC"],
    bootstrap_servers=os.environ["BOOTSTRAP"].split(","),
    group_id=os.environ["GROUP"],
    client_id=os.environ["CLIENT"],
    session_timeout_ms=int(os.environ["SESSION_MS"]),
    heartbeat_interval_ms=int(os.environ["HEARTBEAT_MS"]),
    max_poll_interval_ms=int(os.environ["POLL_MS"]),
    auto_offset_reset="earliest",
)
stall = int(os.environ["STALL_S"])
while True:
    consumer.poll(timeout_ms=200)
    if stall and os.path.exists(os.environ["STALL_FILE"]):
        time.sleep(stall)
        stall = 0
