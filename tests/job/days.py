"""Broker logs of several days, as a broker that rolls its log at midnight leaves them."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 1, tzinfo=UTC)


def line(at: datetime, said: str) -> str:
    """One line of a coordinator."""
    stamp = at.strftime("%Y-%m-%d %H:%M:%S,") + f"{at.microsecond // 1000:03d}"
    return f"[{stamp}] INFO [GroupCoordinator 1]: {said} (kafka.coordinator.group.GroupCoordinator)\n"


def failure(at: datetime, group: str, generation: int) -> list[tuple[datetime, str]]:
    """A member fails and comes back two minutes later: two generations."""
    member = f"{group}-c1-{generation:04d}aaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
    back = f"{group}-c1-{generation:04d}ffff-bbbb-cccc-dddd-eeeeeeeeeeee"
    prepare = f"Preparing to rebalance group {group} in state PreparingRebalance with old generation"
    partition = "(__consumer_offsets-3)"
    said = [
        (0, f"Member {member} in group {group} has failed, removing it from the group"),
        (1, f"{prepare} {generation} {partition} (reason: removing member {member} on heartbeat expiration)"),
        (3000, f"Stabilized group {group} generation {generation + 1} {partition} with 1 members"),
        (120_000, (f"Dynamic member with unknown member id joins group {group} in Stable state. Created a new member id"
                  f" {back} and request the member to rejoin with this id.")),
        (120_001, (f"{prepare} {generation + 1} {partition} (reason: Adding new member {back} with group instance id "
                  "None; client reason: not provided)")),
        (123_000, f"Stabilized group {group} generation {generation + 2} {partition} with 2 members"),
        (123_050, (f"Assignment received from leader {member} for group {group} for generation {generation + 2}. "
                  "The group has 2 members, 0 of which are static.")),
    ]  # fmt: skip
    return [(at + timedelta(milliseconds=ms), words) for ms, words in said]


def week(directory: Path, days: int = 7) -> list[Path]:
    """A directory per broker with one file a day; one incident a day at noon, and one that crosses each midnight."""
    said: list[tuple[datetime, str]] = []
    for day in range(days):
        midnight = START + timedelta(days=day)
        said += failure(midnight + timedelta(hours=12), "payments", 10 * day + 1)
        said += failure(midnight + timedelta(hours=23, minutes=59, seconds=30), "orders", 10 * day + 1)
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for day in range(days):
        midnight = START + timedelta(days=day)
        lines = [line(at, words) for at, words in said if midnight <= at < midnight + timedelta(days=1)]
        path = directory / f"server.log.{midnight:%Y-%m-%d}"
        path.write_text("".join(lines))
        paths.append(path)
    return paths


def packed(path: Path) -> Path:
    """The file as a log shipper leaves it: gzipped beside its old name, which goes."""
    target = path.with_name(f"{path.name}.gz")
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
    return target
