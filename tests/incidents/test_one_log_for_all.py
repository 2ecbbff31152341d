"""A collector that puts all clients' lines into one file, where Java gave each of them the same client id."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from tests.conftest import SAMPLES
from tests.incidents.sample import LOCAL

RECORD = re.compile(r"(?m)^(?=\S*\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)")
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[.,](\d{3})")


def merged(sample: str, to: Path) -> None:
    """Write the brokers' logs as they are, and those of all clients in one file by time."""
    texts = {log: log.read_text() for log in sorted((SAMPLES / sample).glob("*/*.log"))}
    joined = "".join(texts.values())
    group = re.findall(r"groupId=([^\],\s]+)\]", joined)[0]
    clients = set(re.findall(rf"clientId=([^,\s]+), groupId={re.escape(group)}\]", joined))
    one = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(clients, key=len, reverse=True)))})(?![\w.])")
    records: list[str] = []
    for log, text in texts.items():
        renamed = one.sub(f"consumer-{group}-1", text)
        if log.parent.name.startswith("broker"):
            (to / log.parent.name).mkdir()
            (to / log.parent.name / log.name).write_text(renamed)
        else:
            records += [record for record in RECORD.split(renamed) if STAMP.search(record)]
    (to / "all.log").write_text("".join(sorted(records, key=lambda r: STAMP.search(r).groups())))  # type: ignore[union-attr]


@pytest.mark.parametrize("sample", ["process-crash", "group-max-size", "shared-group-id"])
def test_what_several_members_write_to_one_log_is_laid_at_none_of_them_for_sure(sample: str, tmp_path: Path) -> None:
    merged(sample, tmp_path)
    sure = [
        incident.root_causes[0].cause
        for incident in analyze([str(tmp_path)], LOCAL).incidents
        if incident.root_causes[0].confidence >= 0.75
    ]
    assert set(sure) <= {"startup", sample}
