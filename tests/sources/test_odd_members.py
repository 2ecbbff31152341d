"""Members that are no plain file, or would like to be somewhere else: one sentence each, the others are read."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_forensics.sources.files.walk import discover
from tests.sources.packing import LOG, read_all, tarred, zipped

NAMES = ["../../out.log", "/etc/cron.d/out.log", "C:\\out.log", "a/../../../out.log"]


def tar_with(odd: tarfile.TarInfo, data: bytes = b"") -> bytes:
    """Between two logs."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for info, content in ((tarfile.TarInfo("a.log"), LOG), (odd, data), (tarfile.TarInfo("z.log"), LOG)):
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def odd(kind: bytes, target: str = "") -> bytes:
    info = tarfile.TarInfo("odd")
    info.type, info.linkname = kind, target
    return tar_with(info)


def marked(packed: bytes, at: int, central_at: int, value: int) -> bytes:
    """A zip with another value in the headers of its first member: its own, and that of the table of contents."""
    data = bytearray(packed)
    struct.pack_into("<H", data, at, value)
    struct.pack_into("<H", data, data.index(b"PK\x01\x02") + central_at, value)
    return bytes(data)


TWO = {"odd": LOG, "z.log": LOG}
ODD: dict[str, tuple[bytes, int, str]] = {
    "a symbolic link": (odd(tarfile.SYMTYPE, "a.log"), 400, "is a link to a.log, not a file"),
    "a symbolic link out of the archive": (odd(tarfile.SYMTYPE, "/etc/passwd"), 400, "is a link to /etc/passwd"),
    "a hard link": (odd(tarfile.LNKTYPE, "a.log"), 400, "is a link to a.log, not a file"),
    "a device": (odd(tarfile.CHRTYPE), 400, "is a device or a pipe, not a file; leave it out"),
    "a pipe": (odd(tarfile.FIFOTYPE), 400, "is a device or a pipe, not a file; leave it out"),
    "an encrypted member": (marked(zipped(TWO), 6, 8, 1), 200, "is encrypted; unpack it with its password"),
    "Deflate64": (marked(zipped(TWO), 8, 10, 9), 200, "is packed with Deflate64, which cannot be read here; unpack it"),
    "a method that nobody knows": (marked(zipped(TWO), 8, 10, 77), 200, "is packed with method 77, which cannot"),
}


def whole_lines(data: bytes) -> int:
    """Lines of the log that are there to their end; a half one is no record."""
    return data[: data.rfind(b"\n")].count(b"INFO")


@pytest.mark.parametrize("what", sorted(ODD))
def test_a_member_that_cannot_be_read_is_named_and_the_others_are_read(what: str, tmp_path: Path) -> None:
    packed, records, sentence = ODD[what]
    (tmp_path / "logs.pack").write_bytes(packed)
    found = discover([str(tmp_path)])
    assert read_all(found) == (records, [])
    ((path, errors, _),) = found.errors
    assert path == "logs.pack!/odd"
    assert errors.startswith(f"logs.pack!/odd {sentence}")


@pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "tar"])
def test_names_in_archives_are_only_names_and_nothing_is_written_under_them(
    tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "logs.pack").write_bytes(pack(dict.fromkeys(NAMES, LOG)))
    found = discover([str(tmp_path / "in")])
    assert {file.path for file in found.files} == {f"logs.pack!/{name}" for name in NAMES}
    assert read_all(found) == (200 * len(NAMES), [])
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["logs.pack"]


def test_archive_members_with_the_same_name_are_all_read_and_distinguished(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for data in (LOG, LOG[:500], b""):
            info = tarfile.TarInfo("server.log")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    (tmp_path / "logs.tar").write_bytes(out.getvalue())
    found = discover([str(tmp_path)])
    assert [file.path for file in found.files] == [f"logs.tar!/server.log{n}" for n in ("", " (2)", " (3)")]
    assert read_all(found)[0] == 200 + whole_lines(LOG[:500])


def test_a_sparse_member_is_read_with_its_holes(tmp_path: Path) -> None:
    """As `tar --sparse` writes it: what is left out counts as NULs."""
    hole = 64 << 10
    info = tarfile.TarInfo("odd")
    info.type = tarfile.GNUTYPE_SPARSE
    info.size = len(LOG)
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT)[:512])
    for at, number in ((386, hole), (398, len(LOG)), (483, hole + len(LOG))):
        header[at : at + 12] = b"%011o\0" % number
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    body = LOG + bytes(-len(LOG) % 512)
    (tmp_path / "logs.tar").write_bytes(bytes(header) + body + tarred({"z.log": LOG}))
    found = discover([str(tmp_path)])
    assert [(file.path, file.size) for file in found.files] == [
        ("logs.tar!/odd", hole + len(LOG)),
        ("logs.tar!/z.log", len(LOG)),
    ]
    assert read_all(found) == (400, [])


@pytest.mark.parametrize("cut", [2_000, 30_000])
def test_of_a_tar_that_is_cut_off_all_that_is_there_is_read_and_the_rest_named(tmp_path: Path, cut: int) -> None:
    packed = tarred({"a.log": LOG, "b.log": LOG})[:cut]
    (tmp_path / "logs.tar").write_bytes(packed)
    found = discover([str(tmp_path)])
    number, said = read_all(found)
    assert number == whole_lines(packed)
    assert len(said) == 1
    assert "its archive ends after the first" in said[0]
    assert "the tar archive is damaged" in found.errors[0][1]


def test_no_members_of_a_truncated_zip_are_reported_as_read(tmp_path: Path) -> None:
    (tmp_path / "logs.zip").write_bytes(zipped({"a.log": LOG, "b.log": LOG})[:-40])
    found = discover([str(tmp_path)])
    assert found.files == ()
    ((_, errors, _),) = found.errors
    assert "it is cut off or damaged, and none of its members could be read" in errors
