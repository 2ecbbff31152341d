"""What is found under the paths that a user gives, and what is said of the rest."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from rebalance_forensics.sources import opening
from rebalance_forensics.sources.files import Discovery, discover
from rebalance_forensics.sources.profile import profile
from rebalance_forensics.sources.reading import SplitCounts, read_records
from rebalance_forensics.sources.splits import plan

LINE = (
    "[2026-11-20 10:15:30,{n:03d}] INFO [GroupCoordinator 1]: Stabilized group g{n} "
    "(kafka.coordinator.group.GroupCoordinator)\n"
)
LOG = "".join(LINE.format(n=n) for n in range(200)).encode()


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_log", ".log").replace("_zip", ".zip"), data)
    return out.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1795169730
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def read_all(found: Discovery) -> tuple[int, list[str]]:
    """How many records all files hold, and what was said while reading."""
    number, said = 0, []
    for file in found.files:
        counts = SplitCounts()
        number += sum(1 for split in plan([file], [profile(file)]) for _ in read_records(split, None, counts))
        said += counts.errors
    return number, said


def found_in(tmp_path: Path, name: str, data: bytes) -> Discovery:
    (tmp_path / name).write_bytes(data)
    return discover([str(tmp_path / name)])


PACKED = {
    "plain": LOG,
    "gz": gzip.compress(LOG),
    "gz of two members": gzip.compress(LOG[:1000]) + gzip.compress(LOG[1000:]),
    "gz padded with NUL": gzip.compress(LOG) + bytes(4096),
    "gz in gz": gzip.compress(gzip.compress(LOG)),
    "bz2": bz2.compress(LOG),
    "xz": lzma.compress(LOG),
    "zst": zst(LOG),
    "zst of two frames": zst(LOG[:1000]) + zst(LOG[1000:]),
    "lz4": lz4.frame.compress(LOG),
    "zip": zipped(a_log=LOG),
    "tar": tarred({"a.log": LOG}),
    "tar.gz": gzip.compress(tarred({"a.log": LOG})),
    "tar.zst": zst(tarred({"a.log": LOG})),
    "zip in zip in zip": zipped(c_zip=zipped(b_zip=zipped(a_log=LOG))),
    "gz in tar.gz": gzip.compress(tarred({"a.log.gz": gzip.compress(LOG)})),
}


@pytest.mark.parametrize("name", sorted(PACKED))
def test_a_log_is_read_whatever_it_is_packed_in(name: str, tmp_path: Path) -> None:
    found = found_in(tmp_path, "server.log", PACKED[name])
    assert found.errors == ()
    assert read_all(found) == (200, [])


def test_the_parts_of_an_archive_are_named_by_their_way_in(tmp_path: Path) -> None:
    found = found_in(
        tmp_path, "bundle.tgz", gzip.compress(tarred({"/etc/../b-1/server.log": LOG, "x.zip": zipped(y__a_log=LOG)}))
    )
    assert [file.path for file in found.files] == ["bundle.tgz!//etc/../b-1/server.log", "bundle.tgz!/x.zip!/y/a.log"]
    assert read_all(found) == (400, [])
    assert found.files[0].mtime_ms == 1795169730000


def test_paths_are_relative_to_the_root_and_to_the_roots_name_when_there_are_several(tmp_path: Path) -> None:
    for root in ("a/logs", "b/logs"):
        (tmp_path / root).mkdir(parents=True)
        (tmp_path / root / "server.log").write_bytes(LOG)
    one = discover([str(tmp_path)])
    two = discover([str(tmp_path / "a/logs"), str(tmp_path / "b/logs")])
    assert [file.path for file in one.files] == ["a/logs/server.log", "b/logs/server.log"]
    assert [file.path for file in two.files] == ["a/logs/server.log", "b/logs/server.log"]
    assert [file.path for file in discover([str(tmp_path / "a")]).files] == ["logs/server.log"]


@pytest.mark.parametrize(
    ("data", "readable", "sentence"),
    [
        (gzip.compress(LOG, 0)[:9000], True, "truncated"),
        (gzip.compress(LOG) + b"junk after the end", True, "is no gz data"),
        (zst(os.urandom(1 << 20).hex().encode() + b"\n" + LOG)[:4000], False, "truncated"),
    ],
    ids=["truncated gz", "gz and junk", "truncated zst"],
)
def test_what_can_be_read_of_a_damaged_file_is_read_and_the_damage_told(
    data: bytes, sentence: str, tmp_path: Path, *, readable: bool
) -> None:
    found = found_in(tmp_path, "server.log.gz", data)
    number, said = read_all(found)
    said += [sentence for _, sentence in found.errors]
    assert len(said) == 1
    assert sentence in said[0]
    assert (number > 0) == readable


def test_a_member_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    packed = bytearray(zipped(a_log=LOG, b_log=LOG))
    at = packed.index(b"a.log") + 40
    packed[at : at + 20] = bytes(20)
    found = found_in(tmp_path, "logs.zip", bytes(packed))
    number, said = read_all(found)
    assert number == 200
    assert [path for path, _ in found.errors] == ["logs.zip!/a.log"]
    assert said == []


def test_a_bomb_is_stopped_by_a_limit_that_the_message_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_UNPACKED", 1 << 20)
    found = found_in(tmp_path, "bomb.gz", gzip.compress(LOG * 200))
    number, said = read_all(found)
    assert number > 0
    assert len(said) == 1
    assert "decompression bomb" in said[0]
    assert "times its packed size" in said[0]


def test_archives_nested_too_deep_are_stopped_by_a_limit_that_the_message_names(tmp_path: Path) -> None:
    packed = LOG
    for _ in range(9):
        packed = zipped(a_zip=packed)
    found = found_in(tmp_path, "deep.zip", packed)
    assert found.files == ()
    assert "more than 6 deep" in found.errors[0][1]


def test_a_path_that_does_not_exist_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(LOG)
    found = discover([str(tmp_path / "nothing"), str(tmp_path / "server.log")])
    assert len(found.files) == 1
    assert "does not exist" in found.errors[0][1]


def test_an_empty_directory_is_told(tmp_path: Path) -> None:
    assert "without any file" in discover([str(tmp_path)]).errors[0][1]


def test_a_log_with_some_lines_in_utf_16_is_no_binary_file(tmp_path: Path) -> None:
    lines = LOG.decode().splitlines(keepends=True)
    mixed = b"".join(line.encode("utf-16-le" if n % 3 == 0 else "utf-8") for n, line in enumerate(lines))
    (tmp_path / "server.log").write_bytes(b"a line before\n" + mixed)
    found = discover([str(tmp_path)])
    assert [file.path for file in found.files] == ["server.log"]


def test_a_binary_file_is_told_and_not_read(tmp_path: Path) -> None:
    found = found_in(tmp_path, "00000000000000000000.log", bytes(range(256)) * 64)
    assert found.files == ()
    assert "binary file" in found.errors[0][1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(LOG)
    (tmp_path / "server.log").chmod(0)
    assert "permission denied" in discover([str(tmp_path)]).errors[0][1]


def test_an_empty_file_is_a_file_without_lines(tmp_path: Path) -> None:
    found = found_in(tmp_path, "server.log", b"")
    assert (len(found.files), found.errors) == (1, ())
    assert read_all(found) == (0, [])


def test_standard_input_is_read_as_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(LOG))

    monkeypatch.setattr("sys.stdin", Stdin())
    found = discover(["-"])
    assert [file.path for file in found.files] == ["-"]
    assert read_all(found) == (200, [])
