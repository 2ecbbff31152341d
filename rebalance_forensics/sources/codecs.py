"""Compressed streams, told by their first bytes: gz, bz2, xz, zst and lz4, whole, truncated or padded."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

import lz4.frame
import zstandard

CHUNK = 1 << 20

_MAGIC = (
    ("gz", b"\x1f\x8b"),
    ("bz2", b"BZh"),
    ("xz", b"\xfd7zXZ\x00"),
    ("zst", b"\x28\xb5\x2f\xfd"),
    ("lz4", b"\x04\x22\x4d\x18"),
)


class Damage(Exception):  # noqa: N818 - it ends a stream, its readable part has been delivered
    """What is wrong with the rest of a stream, after all that could be read has been delivered."""


class _Inflater(Protocol):
    """What the decompressors of the standard library have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def codec_of(head: bytes) -> str | None:
    """The codec of a stream that begins with these bytes; None for plain bytes."""
    return next((name for name, magic in _MAGIC if head.startswith(magic)), None)


def _gz() -> _Inflater:
    try:
        from isal import isal_zlib  # noqa: PLC0415 - an optional extra, faster than zlib
    except ImportError:
        return zlib.decompressobj(31)
    inflater: _Inflater = isal_zlib.decompressobj(31)
    return inflater


def _zst() -> _Inflater:
    return zstandard.ZstdDecompressor().decompressobj()


_INFLATERS: dict[str, Callable[[], _Inflater]] = {
    "gz": _gz,
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zst": _zst,
    "lz4": lz4.frame.LZ4FrameDecompressor,
}
_ERRORS = (zlib.error, OSError, EOFError, lzma.LZMAError, zstandard.ZstdError, RuntimeError, ValueError)


def decompressed(stream: BinaryIO, codec: str) -> Iterator[bytes]:
    """The bytes inside, one member after another; raises Damage when the rest cannot be read."""
    new, pending, produced = _INFLATERS[codec], b"", 0
    inflater: _Inflater | None = None
    while chunk := pending or stream.read(CHUNK):
        pending = b""
        if inflater is None:
            chunk = chunk.lstrip(b"\x00")  # some writers pad the file to a whole block
            if not chunk:
                continue
            inflater = new()
        try:
            data = inflater.decompress(chunk)
            ended = inflater.eof
        except _ERRORS as error:
            data, ended = _salvaged(new, inflater, chunk) if codec == "gz" else (b"", False)
            if data:
                yield data
            raise Damage(_sentence(codec, error, produced + len(data))) from error
        produced += len(data)
        if data:
            yield data
        if ended:
            pending, inflater = inflater.unused_data, None
    if inflater is not None:
        raise Damage(f"the {codec} stream is truncated; the {produced:,} bytes before that were read")


def _salvaged(new: Callable[[], _Inflater], inflater: _Inflater, chunk: bytes) -> tuple[bytes, bool]:
    """What a damaged chunk gives when it is fed in small pieces."""
    del new
    data = b""
    for at in range(0, len(chunk), 512):
        try:
            data += inflater.decompress(chunk[at : at + 512])
        except _ERRORS:
            break
    return data, False


def _sentence(codec: str, error: BaseException, produced: int) -> str:
    if produced:
        return f"what follows the first {produced:,} bytes is no {codec} data ({error}); those were read"
    return f"looks like {codec} but cannot be decompressed ({error}); copy it again from its source"
