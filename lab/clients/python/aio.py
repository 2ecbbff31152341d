"""A member of a group with aiokafka, logging as logging.basicConfig does."""

import asyncio
import logging
import os

from aiokafka import AIOKafkaConsumer

level = logging.DEBUG if os.environ["LEVEL"] == "trouble" else logging.INFO
logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


async def consume() -> None:
    """Read forever. A long record delays the next fetch, but not the heartbeats that asyncio sends."""
    consumer = AIOKafkaConsumer(
        os.environ["TOPIC"],
        bootstrap_servers=os.environ["BOOTSTRAP"],
        group_id=os.environ["GROUP"],
        client_id=os.environ["CLIENT"],
        session_timeout_ms=int(os.environ["SESSION_MS"]),
        heartbeat_interval_ms=int(os.environ["HEARTBEAT_MS"]),
        max_poll_interval_ms=int(os.environ["POLL_MS"]),
        auto_offset_reset="earliest",
    )
    await consumer.start()
    stall = int(os.environ["STALL_S"])
    async for _ in consumer:
        if stall and os.path.exists(os.environ["STALL_FILE"]):
            await asyncio.sleep(stall)
            stall = 0


asyncio.run(consume())
