"""Archives and compressed files: damaged, nested, renamed, truncated, with unusual members."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Mapping

import lz4.frame
import zstandard

from benchmarks.fuzz.kinds import bytes as blind

_CODECS = {
    "gz": lambda data: gzip.compress(data, 1, mtime=0),
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data, preset=0),
    "zst": lambda data: zstandard.ZstdCompressor(level=1).compress(data),
    "lz4": lz4.frame.compress,
}
_NAMES = ("a/server.log", "../../evil.log", "/abs/server.log", "a//b.log", "x" * 90, "é\u202e.log", "a!/b.log", "")


def compressed(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """The bytes compressed with a random codec, and its suffix."""
    name = rng.choice(sorted(_CODECS))
    return name, _CODECS[name](data)


def tarred(files: Mapping[str, bytes], rng: random.Random) -> bytes:
    """A tar of these files; some members are links or directories, or have unusual names."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=rng.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(rng.choice(_NAMES) if rng.random() < 0.15 else name)
            info.size, info.mtime = len(data), rng.choice((0, 1_795_169_730, -5, 2**33))
            archive.addfile(info, io.BytesIO(data))
        if rng.random() < 0.2:
            link = tarfile.TarInfo("link.log")
            link.type, link.linkname = (
                rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE)),
                rng.choice(("/dev/zero", "..", "x")),
            )
            archive.addfile(link)
    return out.getvalue()


def zipped(files: Mapping[str, bytes], rng: random.Random) -> bytes:
    """A zip of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, data in files.items():
            chosen = rng.choice(_NAMES) if rng.random() < 0.15 else name
            archive.writestr(zipfile.ZipInfo(chosen or "x", (2026, 11, 20, 10, 15, 30)), data)
    return out.getvalue()


def packed(rng: random.Random, files: Mapping[str, bytes], done: list[str]) -> dict[str, bytes]:
    """The files in one archive or each compressed, wrapped up to three times, then possibly damaged."""
    how = rng.choice(("tar", "zip", "each"))
    done.append(how)
    if how == "each":
        result = {}
        for name, data in files.items():
            suffix, inside = compressed(rng, data)
            result[f"{name}.{suffix}"] = inside
    else:
        result = {f"all.{how}": tarred(files, rng) if how == "tar" else zipped(files, rng)}
    for _ in range(rng.choice((0, 0, 1, 2))):
        result = _wrapped_again(rng, result, done)
    if rng.random() < 0.6:
        name = rng.choice(sorted(result))
        done.append("damaged")
        result[name] = blind.damaged(rng, result[name], done)
    if rng.random() < 0.15:
        done.append("renamed")
        result = {rng.choice(("server.log", "x.zip", "x.gz", "x.json")): next(iter(result.values()))}
    return result


def _wrapped_again(rng: random.Random, files: Mapping[str, bytes], done: list[str]) -> dict[str, bytes]:
    how = rng.choice(("tar", "zip", "codec"))
    done.append(f"in {how}")
    if how == "tar":
        return {"outer.tar": tarred(files, rng)}
    if how == "zip":
        return {"outer.zip": zipped(files, rng)}
    return {f"{name}.{suffix}": data for name, inner in files.items() for suffix, data in [compressed(rng, inner)]}
