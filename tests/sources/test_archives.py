"""What reading archives costs, counted; and that no archive is taken for another one of its name."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.files.walk import discover
from tests.conftest import SHORT_LOG
from tests.sources.conftest import Work
from tests.sources.packing import LOG, read_all, tarred, zipped

LOCAL = AnalyzeOptions(engine="local")
BEGINNINGS = 1 << 20
"""More than what is looked at of one log before it is read: where it is an archive, who wrote it, and how."""


def of_group(name: str) -> str:
    return SHORT_LOG.replace("payments", name)


def test_a_member_of_a_zip_is_unpacked_once_to_be_read_however_large_it_is(tmp_path: Path, work: Work) -> None:
    log = LOG * 60
    (tmp_path / "logs.zip").write_bytes(zipped({"a.log": log, "b.log": log}))
    with held_open():
        number, said = read_all(discover([str(tmp_path)]))
    assert (number, said) == (2 * 200 * 60, [])
    assert 2 * len(log) <= work.unpacked <= 2 * (len(log) + BEGINNINGS)


def test_a_large_member_of_a_zip_is_one_task_because_each_split_would_unpack_it_again(
    tmp_path: Path, work: Work
) -> None:
    log = SHORT_LOG.encode() * 500
    (tmp_path / "logs.zip").write_bytes(zipped({"a.log": log}))
    analyze([str(tmp_path)], AnalyzeOptions(engine="local", split_bytes=100_000))
    assert work.unpacked <= len(log) + BEGINNINGS


@pytest.mark.parametrize("number", [20, 200])
def test_a_packed_tar_is_unpacked_once_and_its_headers_are_read_once(tmp_path: Path, work: Work, number: int) -> None:
    archive = tarred({f"{n}.log": SHORT_LOG.encode() for n in range(number)})
    (tmp_path / "logs.tgz").write_bytes(gzip.compress(archive))
    analyze([str(tmp_path)], LOCAL)
    assert len(archive) <= work.unpacked <= len(archive) + BEGINNINGS
    assert work.headers <= number + 2


def test_the_table_of_contents_of_a_zip_is_read_once_a_run(tmp_path: Path, work: Work) -> None:
    (tmp_path / "logs.zip").write_bytes(zipped({f"{n}.log": SHORT_LOG.encode() for n in range(50)}))
    analyze([str(tmp_path)], LOCAL)
    assert work.tables_of_contents == 1


def test_archives_are_read_one_after_another_whatever_weighs_more_in_them(tmp_path: Path, work: Work) -> None:
    size = 0
    for n in range(8):
        archive = tarred({f"{m}.log": of_group(f"g{n}-{m}").encode() * (m + 1) for m in range(4)})
        size += len(archive)
        (tmp_path / f"{n}.tgz").write_bytes(gzip.compress(archive))
    report = analyze([str(tmp_path)], LOCAL)
    assert len(report.groups) == 32
    assert work.unpacked <= 3 * size + BEGINNINGS


def test_archives_in_an_archive_are_unpacked_as_they_come(tmp_path: Path, work: Work) -> None:
    inner = {f"{n}.zip": zipped({f"{m}.log": of_group(f"g{n}-{m}").encode() for m in range(3)}) for n in range(12)}
    archive = tarred(inner)
    (tmp_path / "logs.tgz").write_bytes(gzip.compress(archive))
    report = analyze([str(tmp_path)], LOCAL)
    assert len(report.groups) == 36
    assert work.unpacked <= len(archive) + 36 * 3 * len(SHORT_LOG) + BEGINNINGS


Pack = Callable[[dict[str, bytes]], bytes]
PACKS: dict[str, Pack] = {"zip": zipped, "tar": tarred, "tgz": lambda members: gzip.compress(tarred(members))}


@pytest.mark.parametrize("kind", sorted(PACKS))
def test_the_next_analysis_reads_the_archive_that_is_there_then(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "logs.pack"
    for name in ("payments", "shipping"):
        path.write_bytes(PACKS[kind]({"a.log": of_group(name).encode()}))
        assert [group.group for group in analyze([str(tmp_path)], LOCAL).groups] == [name]


CHANGED = "its archive was changed while it was read; run again when nobody writes to it"
NEIGHBOUR = "b.log"


@pytest.mark.parametrize("how", ["in its place", "another file of its name"])
@pytest.mark.parametrize("kind", sorted(PACKS))
def test_an_archive_that_changes_during_a_run_is_reported_and_never_mixed(tmp_path: Path, how: str, kind: str) -> None:
    pack, path = PACKS[kind], tmp_path / "logs.pack"
    path.write_bytes(pack({"a.log": LOG, NEIGHBOUR: LOG}))
    found = discover([str(path)])
    later = pack({"z.log": b"", "a.log": LOG * 2, NEIGHBOUR: LOG[:1000]})
    if how == "in its place":
        path.write_bytes(later)
    else:
        (tmp_path / "new").write_bytes(later)
        (tmp_path / "new").replace(path)
    assert read_all(found) == (0, [CHANGED, CHANGED])


def test_an_archive_that_is_held_open_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "logs.tgz"
    path.write_bytes(gzip.compress(tarred({"a.log": LOG, NEIGHBOUR: LOG})))
    with held_open():
        found = discover([str(path)])
        path.write_bytes(gzip.compress(tarred({"z.log": b""})))
        assert read_all(found) == (400, [])


def test_an_archive_that_is_emptied_while_its_members_are_read_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "logs.tar"
    path.write_bytes(tarred({"a.log": LOG, NEIGHBOUR: LOG}))
    with held_open():
        found = discover([str(path)])
        path.write_bytes(b"")
        assert read_all(found) == (0, [CHANGED, CHANGED])
