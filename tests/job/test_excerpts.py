"""Lines that somebody picked are as silent about the others in the tables as in a report."""

from __future__ import annotations

import shutil
from pathlib import Path

from rebalance_forensics.pipeline.run import analyze
from tests.incidents.sample import LOCAL
from tests.job.conftest import Run, rows

BROKER = "[GroupCoordinator 1]:"
MEMBER = "c-2-aa935207-ff0c-4c7a-ac08-d0d05ea52456"
LOGGER = "(kafka.coordinator.group.GroupCoordinator)"
PICKED = f"""\
Hi all, what happened here?
```
[2026-03-01 10:00:00,877] INFO {BROKER} Member {MEMBER} in group orders has failed, removing it from the group {LOGGER}
[2026-03-01 10:00:00,878] INFO {BROKER} Preparing to rebalance group orders in state PreparingRebalance with old \
generation 7 (__consumer_offsets-3) (reason: removing member {MEMBER} on heartbeat expiration) {LOGGER}
[2026-03-01 10:30:00,100] INFO {BROKER} Stabilized group orders generation 9 (__consumer_offsets-3) with 2 members \
{LOGGER}
```
"""


def test_what_was_not_picked_is_unknown_on_every_date(run: Run, logs: Path, tmp_path: Path) -> None:
    shutil.rmtree(logs / "broker-1")
    paste = logs / "ticket" / "paste.txt"
    paste.parent.mkdir()
    paste.write_text(PICKED)
    run("2026-03-01", "2026-03-02")
    told = analyze([str(logs)], LOCAL).incidents
    assert told
    found = rows(tmp_path / "tables")
    likely = sorted((cause.cause, cause.confidence) for one in told for cause in one.root_causes)
    assert sorted((row["cause"], row["confidence"]) for row in found["findings"]) == likely
    assert [one["first"] for row in found["inputs"] for one in row["heard"]] == [None]
