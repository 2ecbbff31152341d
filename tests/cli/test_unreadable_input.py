"""Input that is partly no log: counted, named by file, and the rest is read."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import zstandard

from rebalance_forensics.sources.lines.blocks import whole_lines
from rebalance_forensics.sources.lines.line_ends import line_feeds
from tests.conftest import SHORT_LOG, Command

LONG_LINE = 100_000_000
LAYOUT_CHANGED = (
    '{"@timestamp":"2026-03-01T10:06:00.000Z","level":"INFO","logger_name":"kafka.coordinator.group.GroupCoordinator"'
    ',"message":"[GroupCoordinator 1]: Stabilized group payments generation 3 (__consumer_offsets-3) with 1 members"}\n'
)


def zipped(name: str, content: str | bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def report_on(
    command: Command, logs: Path, *, code: int
) -> tuple[dict[str, Any], list[str], dict[str, dict[str, Any]]]:
    """The report, what was said on standard error, and the inputs by path."""
    done = command("analyze", logs, "--engine", "local", "--json", "-")
    assert done.returncode == code
    report = json.loads(done.stdout)
    return report, done.stderr.splitlines(), {one["path"]: one for one in report["inputs"]}


def generations(report: dict[str, Any], group: str) -> list[int]:
    found = next(one for one in report["groups"] if one["group"] == group)
    return [one["generation"] for one in found["generations"]]


def test_an_unknown_format_is_counted_line_by_line(command: Command, logs: Path) -> None:
    (logs / "odd.log").write_text("~~ 17 ~~ odd stuff\n" * 50)
    report, errors, inputs = report_on(command, logs, code=0)
    assert errors == []
    assert (inputs["odd.log"]["lines"], inputs["odd.log"]["unparsed"]) == (50, 50)
    assert generations(report, "payments") == [1, 2]


def test_a_format_that_changes_in_mid_file_is_followed(command: Command, logs: Path) -> None:
    (logs / "broker-1" / "server.log").write_text(SHORT_LOG + LAYOUT_CHANGED)
    report, _, inputs = report_on(command, logs, code=0)
    assert inputs["broker-1/server.log"]["matched"] == 7
    assert generations(report, "payments") == [1, 2, 3]


def test_lines_after_a_line_of_100_mb_and_nul_bytes_are_read(command: Command, logs: Path) -> None:
    later = SHORT_LOG.replace("payments", "orders").replace(" 10:", " 11:")
    with (logs / "long.log").open("w") as file:
        file.write("x" * LONG_LINE + "\n" + later)
    (logs / "nul.log").write_bytes(SHORT_LOG.replace("payments", "nul").encode().replace(b"\n", b"\n\0\0\0", 2))
    report, errors, _ = report_on(command, logs, code=3)
    assert errors == [
        "rebalance-forensics: long.log: line 1 of its part is 100,000,001 bytes long; only its beginning was read"
    ]
    assert [generations(report, group) for group in ("orders", "nul", "payments")] == [[1, 2]] * 3


def test_archives_in_archives_are_read_and_what_cannot_be_read_of_them_is_named(command: Command, logs: Path) -> None:
    (logs / "deep.zip").write_bytes(
        zipped("c.zip", zipped("b.zip", zipped("a.log", SHORT_LOG.replace("payments", "deep"))))
    )
    broken = bytearray(zipped("a.log", SHORT_LOG * 50))
    broken[45:65] = bytes(20)
    (logs / "broken.zip").write_bytes(broken)
    bottomless = SHORT_LOG.encode()
    for _ in range(9):
        bottomless = zipped("a.zip", bottomless)
    (logs / "bottomless.zip").write_bytes(bottomless)
    report, errors, _ = report_on(command, logs, code=3)
    assert generations(report, "deep") == [1, 2]
    assert len(errors) == 2
    assert any("broken.zip!/a.log cannot be read" in line for line in errors)
    assert any("archives are nested more than 6 deep here" in line for line in errors)


def test_a_bomb_is_stopped_by_a_limit_that_is_named_after_what_was_before_it(command: Command, logs: Path) -> None:
    log = SHORT_LOG.replace("payments", "before").encode()
    with zstandard.ZstdCompressor().stream_writer((logs / "bomb.log.zst").open("wb")) as bomb:
        bomb.write(log)
        for _ in range(300):
            bomb.write(bytes(1 << 20))
    report, errors, _ = report_on(command, logs, code=3)
    assert "1000 times its packed size; it is taken for a decompression bomb and was read no further" in errors[0]
    assert generations(report, "before") == [1, 2]
    assert generations(report, "payments") == [1, 2]


def test_lines_after_a_hole_in_a_log_are_read(command: Command, logs: Path) -> None:
    log = logs / "broker-1" / "server.log"
    with log.open("r+b") as file:
        file.seek(64 << 20)
        file.write(SHORT_LOG.replace("payments", "orders").encode())
    report, errors, inputs = report_on(command, logs, code=0)
    assert errors == []
    assert inputs["broker-1/server.log"]["lines"] == 12
    assert [generations(report, group) for group in ("orders", "payments")] == [[1, 2]] * 2


def test_a_hole_in_a_log_is_not_read_byte_by_byte() -> None:
    hole = bytes(1 << 20)
    begun = time.process_time()
    blocks = list(whole_lines(line_feeds(iter([b"before\n", *[hole] * 300, b"behind\n"]))))
    assert time.process_time() - begun < 1
    assert blocks[-1].data == b"behind\n"
