"""Compressed streams, told by their first bytes: gz, bz2, xz, zst and lz4, whole, cut or padded; UTF-16, UTF-32."""

from __future__ import annotations

import bz2
import codecs
import importlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any, BinaryIO, Protocol

import lz4.frame
import zstandard

inflating: ModuleType = zlib
with suppress(ImportError):  # an optional extra, faster than zlib
    inflating = importlib.import_module("isal.isal_zlib")

PIECE = 1 << 20
"""No more than this is inflated at once, so that a bomb is noticed before it fills the memory."""

_READ = 64 << 10
_ZST_PIECE = 2 << 10
_TELLING = 16
_MOSTLY = 0.9

_MAGIC = (
    ("gz", b"\x1f\x8b"),
    ("bz2", b"BZh"),
    ("xz", b"\xfd7zXZ\x00"),
    ("zst", b"\x28\xb5\x2f\xfd"),
    ("lz4", b"\x04\x22\x4d\x18"),
)
ERRORS: tuple[type[Exception], ...] = (
    zlib.error,
    inflating.error,
    OSError,
    EOFError,
    lzma.LZMAError,
    zstandard.ZstdError,
    RuntimeError,
    ValueError,
)


class Damage(Exception):  # noqa: N818 - it ends a stream, its readable part has been delivered
    """What is wrong with the rest of a stream, after all that could be read has been delivered."""


class _Member(Protocol):
    """One compressed member of a stream: fed with bytes until it has ended, the rest is of the next."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...
    @property
    def ended(self) -> bool: ...
    @property
    def rest(self) -> bytes: ...


class _Gz:
    """A gzip member, inflated in bounded pieces."""

    def __init__(self) -> None:
        self._inflater = inflating.decompressobj(31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._inflater.eof:
            yield self._inflater.decompress(data, PIECE)
            data = self._inflater.unconsumed_tail

    @property
    def ended(self) -> bool:
        return bool(self._inflater.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._inflater.unused_data)


class _Bounded:
    """A bz2, xz or lz4 member: their decompressors have one interface."""

    def __init__(self, inflater: Any) -> None:  # noqa: ANN401 - three unrelated classes with the same methods
        self._inflater = inflater

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._inflater.decompress(data, PIECE)
        while not (self._inflater.eof or self._inflater.needs_input):
            yield self._inflater.decompress(b"", PIECE)

    @property
    def ended(self) -> bool:
        return bool(self._inflater.eof)

    @property
    def rest(self) -> bytes:
        return bytes(self._inflater.unused_data or b"")


class _Zst:
    """A zstd frame; a small piece of it cannot inflate to more than a few dozen MiB."""

    def __init__(self) -> None:
        self._inflater = zstandard.ZstdDecompressor().decompressobj()
        self._after = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _ZST_PIECE):
            yield self._inflater.decompress(data[at : at + _ZST_PIECE])
            if self._inflater.eof:
                self._after = data[at + _ZST_PIECE :]
                return

    @property
    def ended(self) -> bool:
        return self._inflater.eof

    @property
    def rest(self) -> bytes:
        return self._inflater.unused_data + self._after


_MEMBERS: dict[str, Callable[[], _Member]] = {
    "gz": _Gz,
    "bz2": lambda: _Bounded(bz2.BZ2Decompressor()),
    "xz": lambda: _Bounded(lzma.LZMADecompressor()),
    "zst": _Zst,
    "lz4": lambda: _Bounded(lz4.frame.LZ4FrameDecompressor()),
}


def codec_of(head: bytes) -> str | None:
    """The codec of a stream that begins with these bytes; None for plain bytes."""
    return next((name for name, magic in _MAGIC if head.startswith(magic)), None) or _wide(head)


def _wide(head: bytes) -> str | None:
    """Which UTF-16 or UTF-32 these bytes are, by their mark or by where they are zero (PowerShell's `>` writes it)."""
    if codec := _widest(head):
        return codec
    low, high = head[::2], head[1::2]
    # A mark alone may be two stray bytes at the head of a torn log; Kafka's lines are ASCII for the most part.
    if head.startswith(codecs.BOM_UTF16_LE) and high.count(0) * 4 > len(high):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE) and low.count(0) * 4 > len(low):
        return "utf-16-be"
    if len(high) < _TELLING:
        return None
    if high.count(0) > _MOSTLY * len(high) and not low.count(0):
        return "utf-16-le"
    return "utf-16-be" if low.count(0) > _MOSTLY * len(low) and not high.count(0) else None


def _widest(head: bytes) -> str | None:
    """Which UTF-32: three of each four bytes are zero, whether a mark stands before them or not."""
    zeros = [head[place::4].count(0) for place in range(4)]
    whole = len(head) // 4
    if whole < _TELLING // 2 and not head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return None
    low, high = zeros[0], zeros[3]
    if min(zeros[2:]) >= whole > 0 and zeros[1] > _MOSTLY * whole and low <= whole // 10:
        return "utf-32-le"
    return "utf-32-be" if min(zeros[:2]) >= whole > 0 and zeros[2] > _MOSTLY * whole and high <= whole // 10 else None


def _narrowed(stream: BinaryIO, codec: str) -> Iterator[bytes]:
    """UTF-16 or UTF-32 as UTF-8."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    while chunk := stream.read(_READ):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def decompressed(stream: BinaryIO, codec: str) -> Iterator[bytes]:
    """The bytes inside, one member after another; raises Damage when the rest cannot be read."""
    if codec not in _MEMBERS:
        yield from _narrowed(stream, codec)
        return
    pending, produced = b"", 0
    member: _Member | None = None
    while chunk := pending or stream.read(_READ):
        pending = b""
        if member is None:
            chunk = chunk.lstrip(b"\x00")
            if not chunk:
                continue
            member = _MEMBERS[codec]()
        try:
            for data in member.feed(chunk):
                produced += len(data)
                if data:
                    yield data
        except ERRORS as error:
            raise Damage(_sentence(codec, error, produced)) from error
        if member.ended:
            pending, member = member.rest, None
    if member is not None:
        raise Damage(f"the {codec} stream is truncated; the {produced:,} bytes before that were read")


def _sentence(codec: str, error: BaseException, produced: int) -> str:
    if produced:
        return f"what follows the first {produced:,} bytes is no {codec} data ({error}); those were read"
    return f"looks like {codec} but cannot be decompressed ({error}); copy it again from its source"
