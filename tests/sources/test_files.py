"""What is found under the paths that a user gives, and what is said of the rest."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import lz4.frame
import pytest
import zstandard

from rebalance_forensics.sources.files.budgets import Limits
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.files.walk import Discovery, discover
from tests.sources.packing import LOG, read_all, tarred, zipped


def zst(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def skipped(kind: int, data: bytes) -> bytes:
    """A frame that readers of zstd and lz4 pass over."""
    return bytes([0x50 + kind]) + b"\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data


def found_in(tmp_path: Path, name: str, data: bytes, limits: Limits | None = None) -> Discovery:
    (tmp_path / name).write_bytes(data)
    return discover([str(tmp_path / name)], limits)


PACKED = {
    "plain": LOG,
    "gz": gzip.compress(LOG),
    "gz of two members": gzip.compress(LOG[:1000]) + gzip.compress(LOG[1000:]),
    "gz padded with NUL": gzip.compress(LOG) + bytes(4096),
    "gz in gz": gzip.compress(gzip.compress(LOG)),
    "bz2": bz2.compress(LOG),
    "xz": lzma.compress(LOG),
    "zst": zst(LOG),
    "zst behind a frame that is skipped, as pzstd writes": skipped(0, b"\x10\0\0\0") + zst(LOG),
    "zst behind a long frame that is skipped": skipped(15, bytes(100_000)) + zst(LOG),
    "zst with frames that are skipped all over": b"".join(
        skipped(n, b"note") + zst(LOG[at : at + 5000]) for n, at in enumerate(range(0, len(LOG), 5000))
    ),
    "zst with a frame that is skipped at its end": zst(LOG) + skipped(14, b"table of seekable zstd"),
    "lz4 of two frames": lz4.frame.compress(LOG[:1000]) + lz4.frame.compress(LOG[1000:]),
    "lz4 behind a frame that is skipped": skipped(3, b"note") + lz4.frame.compress(LOG),
    "lz4 and zst": lz4.frame.compress(LOG[:1000]) + skipped(3, b"note") + zst(LOG[1000:]),
    "bz2 of two streams": bz2.compress(LOG[:1000]) + bz2.compress(LOG[1000:]),
    "xz of two streams, padded": lzma.compress(LOG[:1000]) + bytes(8) + lzma.compress(LOG[1000:]),
    "gz of a member a line": b"".join(map(gzip.compress, LOG.splitlines(keepends=True))),
    "gz behind an empty member": gzip.compress(b"") + gzip.compress(LOG),
    "zst of two frames": zst(LOG[:1000]) + zst(LOG[1000:]),
    "lz4": lz4.frame.compress(LOG),
    "zip": zipped({"a.log": LOG}),
    "tar": tarred({"a.log": LOG}),
    "tar.gz": gzip.compress(tarred({"a.log": LOG})),
    "tar.zst": zst(tarred({"a.log": LOG})),
    "zip in zip in zip": zipped({"c.zip": zipped({"b.zip": zipped({"a.log": LOG})})}),
    "gz in tar.gz": gzip.compress(tarred({"a.log.gz": gzip.compress(LOG)})),
}


@pytest.mark.parametrize("name", sorted(PACKED))
def test_a_log_is_read_whatever_it_is_packed_in(name: str, tmp_path: Path) -> None:
    found = found_in(tmp_path, "server.log", PACKED[name])
    assert found.errors == ()
    assert read_all(found) == (200, [])


def test_the_parts_of_an_archive_are_named_by_their_way_in(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        "bundle.tgz",
        gzip.compress(tarred({"/etc/../b-1/server.log": LOG, "x.zip": zipped({"y/a.log": LOG})})),
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


NOISY = b"".join(
    b"%s %s" % (os.urandom(40).hex().encode(), line) for _ in range(20) for line in LOG.splitlines(keepends=True)
)
"""Packs badly, so that a part of it is a part of its lines."""
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": lambda data: bz2.compress(data, 1),
    "xz": lzma.compress,
    "zst": zst,
    "lz4": lz4.frame.compress,
}


@pytest.mark.parametrize("codec", sorted(PACKERS))
def test_what_can_be_read_of_a_truncated_file_is_read_and_the_rest_named(codec: str, tmp_path: Path) -> None:
    packed = PACKERS[codec](NOISY)
    found = found_in(tmp_path, "server.log", packed[: len(packed) * 3 // 4])
    lines = b"".join(chunks_until_damage(found))
    assert NOISY.startswith(lines)
    assert len(NOISY) / 2 < len(lines) < len(NOISY)
    assert f"the {codec} stream is truncated; the {len(lines):,} bytes before that were read" in read_all(found)[1]


@pytest.mark.parametrize("codec", sorted(PACKERS))
def test_data_after_the_end_of_a_packed_file_is_named(codec: str, tmp_path: Path) -> None:
    found = found_in(tmp_path, "server.log", PACKERS[codec](LOG) + b"junk")
    number, said = read_all(found)
    assert number == 200
    assert said == [f"what follows the first {len(LOG):,} bytes is no {codec} data; those were read"]


@pytest.mark.parametrize("codec", ["gz", "bz2"])
def test_damage_in_the_middle_costs_little_of_what_comes_before_it(codec: str, tmp_path: Path) -> None:
    packed = bytearray(PACKERS[codec](NOISY))
    half = len(packed) // 2
    packed[half : half + 64] = bytes(64)
    lines = b"".join(chunks_until_damage(found_in(tmp_path, "server.log", bytes(packed))))
    assert len(lines) > len(NOISY) // 3
    assert NOISY.startswith(lines[: len(NOISY) // 3])


def chunks_until_damage(found: Discovery) -> Iterator[bytes]:
    with suppress(Damage):
        yield from chunks_of(found.files[0].place)


def test_a_packed_file_that_ends_in_its_first_block_cannot_be_read_and_is_reported(tmp_path: Path) -> None:
    packed = zst(os.urandom(1 << 20).hex().encode() + b"\n" + LOG)[:4000]
    found = found_in(tmp_path, "server.log.zst", packed)
    assert found.files == ()
    assert "truncated, and nothing of it can be read; copy it again" in found.errors[0][1]


def test_a_member_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    packed = bytearray(zipped({"a.log": LOG, "b.log": LOG}))
    at = packed.index(b"a.log") + 40
    packed[at : at + 20] = bytes(20)
    found = found_in(tmp_path, "logs.zip", bytes(packed))
    number, said = read_all(found)
    assert number == 200
    assert [unread.path for unread in found.errors] == ["logs.zip!/a.log"]
    assert said == []


def test_a_bomb_is_stopped_by_a_limit_that_the_message_names(tmp_path: Path) -> None:
    found = found_in(tmp_path, "bomb.gz", gzip.compress(LOG * 200), Limits(least=1 << 20, ratio=2))
    number, said = read_all(found)
    assert number > 0
    assert len(said) == 1
    assert "decompression bomb" in said[0]
    assert "1 MiB, at least 2 times its packed size" in said[0]


def test_archives_nested_too_deep_are_stopped_by_a_limit_that_the_message_names(tmp_path: Path) -> None:
    packed = LOG
    for _ in range(9):
        packed = zipped({"a.zip": packed})
    found = found_in(tmp_path, "deep.zip", packed)
    assert found.files == ()
    assert "more than 6 deep" in found.errors[0][1]


def test_a_path_that_does_not_exist_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(LOG)
    found = discover([str(tmp_path / "nothing"), str(tmp_path / "server.log")])
    assert len(found.files) == 1
    assert "does not exist" in found.errors[0][1]


SHARED_MEMORY = Path("/", "dev", "shm")


@pytest.mark.skipif(not SHARED_MEMORY.is_dir(), reason="this system keeps no files in memory")
def test_a_log_in_shared_memory_is_a_file_and_no_stream() -> None:
    with NamedTemporaryFile(dir=SHARED_MEMORY, suffix=".log") as log:
        log.write(LOG)
        log.flush()
        (found,) = discover([log.name]).files
        assert (found.location, found.size) == (log.name, len(LOG))


def test_an_empty_directory_is_reported(tmp_path: Path) -> None:
    assert "without any file" in discover([str(tmp_path)]).errors[0][1]


def test_a_log_with_some_lines_in_utf_16_is_no_binary_file(tmp_path: Path) -> None:
    lines = LOG.decode().splitlines(keepends=True)
    mixed = b"".join(line.encode("utf-16-le" if n % 3 == 0 else "utf-8") for n, line in enumerate(lines))
    (tmp_path / "server.log").write_bytes(b"a line before\n" + mixed)
    found = discover([str(tmp_path)])
    assert [file.path for file in found.files] == ["server.log"]


def test_a_binary_file_is_reported_and_not_read(tmp_path: Path) -> None:
    found = found_in(tmp_path, "00000000000000000000.log", bytes(range(256)) * 64)
    assert found.files == ()
    assert "binary file" in found.errors[0][1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_reported(tmp_path: Path) -> None:
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
