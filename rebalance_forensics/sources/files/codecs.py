"""Decompresses gz, bz2, xz, zst and lz4 (complete, truncated or padded), and decodes UTF-16 and UTF-32."""

from __future__ import annotations

import bz2
import codecs
import importlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import lz4.frame
import zstandard

inflating: ModuleType = zlib
with suppress(ImportError):  # an optional extra, faster than zlib
    inflating = importlib.import_module("isal.isal_zlib")

# At most this much is inflated at once, so that a bomb is detected before it fills the memory.
PIECE = 256 << 10

# A decompressor gets this much at once: if it fails, the output of the step is lost.
_STEP = 16 << 10
_ZST_STEP = 2 << 10
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
_SKIPPABLE_HEAD = 8
_PADDING = re.compile(rb"\x00*")
_UTF_SAMPLE = 16
_MOSTLY = 0.9

_MAGIC = (
    ("gz", b"\x1f\x8b"),
    ("bz2", b"BZh"),
    ("xz", b"\xfd7zXZ\x00"),
    ("zst", b"\x28\xb5\x2f\xfd"),
    ("lz4", b"\x04\x22\x4d\x18"),
)
# Both formats have the same skippable frames.
_IN_FRAMES = ("zst", "lz4")
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
    """The rest of a stream cannot be read; everything before it has been delivered."""

    may_pass = False
    """True if a later attempt may succeed."""


class _Member:
    """One compressed member of a stream; bytes after its end belong to the next."""

    def __init__(self, inflater: Any) -> None:  # noqa: ANN401 - five unrelated classes with the same attributes
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


class _Gz(_Member):
    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._inflater.eof:
            yield self._inflater.decompress(data, PIECE)
            data = self._inflater.unconsumed_tail


class _Zst(_Member):
    """A zstd frame; a small piece of it inflates to at most a few dozen MiB."""

    _after = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _ZST_STEP):
            yield self._inflater.decompress(data[at : at + _ZST_STEP])
            if self._inflater.eof:
                self._after = data[at + _ZST_STEP :]
                return

    @property
    def rest(self) -> bytes:
        return super().rest + self._after


_MEMBERS: dict[str, Callable[[], _Member]] = {
    "gz": lambda: _Gz(inflating.decompressobj(31)),
    "bz2": lambda: _Member(bz2.BZ2Decompressor()),
    "xz": lambda: _Member(lzma.LZMADecompressor()),
    "zst": lambda: _Zst(zstandard.ZstdDecompressor().decompressobj()),
    "lz4": lambda: _Member(lz4.frame.LZ4FrameDecompressor()),
}


def codec_of(head: bytes) -> str | None:
    """The codec of a stream that starts with these bytes; None for plain bytes."""
    return _framed(head) or _wide(head)


def _framed(head: bytes) -> str | None:
    """The codec with this magic number at the start, or after a skippable frame of zstd and lz4."""
    if _SKIPPABLE.match(head):
        behind = _SKIPPABLE_HEAD + int.from_bytes(head[4:8], "little")
        return _framed(head[behind:]) or "zst"
    return next((name for name, magic in _MAGIC if head.startswith(magic)), None)


def _wide(head: bytes) -> str | None:
    """The UTF-16 or UTF-32 encoding (PowerShell's `>` writes it), by the byte order mark or the zero bytes."""
    if codec := _widest(head):
        return codec
    low, high = head[::2], head[1::2]
    # The mark alone may be two stray bytes at the start of a torn log; Kafka's lines are mostly ASCII.
    if head.startswith(codecs.BOM_UTF16_LE) and high.count(0) * 4 > len(high):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE) and low.count(0) * 4 > len(low):
        return "utf-16-be"
    if len(high) < _UTF_SAMPLE:
        return None
    if high.count(0) > _MOSTLY * len(high) and not low.count(0):
        return "utf-16-le"
    return "utf-16-be" if low.count(0) > _MOSTLY * len(low) and not high.count(0) else None


def _widest(head: bytes) -> str | None:
    """The UTF-32 encoding, in which three of four bytes are zero, with or without a byte order mark."""
    zeros = [head[place::4].count(0) for place in range(4)]
    whole = len(head) // 4
    if whole < _UTF_SAMPLE // 2 and not head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return None
    low, high = zeros[0], zeros[3]
    if min(zeros[2:]) >= whole > 0 and zeros[1] > _MOSTLY * whole and low <= whole // 10:
        return "utf-32-le"
    return "utf-32-be" if min(zeros[:2]) >= whole > 0 and zeros[2] > _MOSTLY * whole and high <= whole // 10 else None


def _narrowed(chunks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """Convert UTF-16 or UTF-32 to UTF-8."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


class _Packed:
    """Compressed bytes, read in steps; bytes that a decompressor did not consume are returned again."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = filter(None, chunks)
        self._held, self._at = b"", 0

    def step(self) -> bytes:
        """The next bytes; empty at the end."""
        if self._at >= len(self._held):
            self._held, self._at = next(self._chunks, b""), 0
        data = self._held[self._at : self._at + _STEP]
        self._at += len(data)
        return data

    def back(self, size: int) -> None:
        """Return the last `size` bytes of the last step, to be read again."""
        self._at -= size

    def head(self) -> bytes:
        """The next bytes, enough for a magic number; NULs between members are skipped as padding."""
        while True:
            padding = _PADDING.match(self._held, self._at)
            self._at = padding.end() if padding else self._at
            if len(self._held) - self._at >= _SKIPPABLE_HEAD:
                return self._held[self._at : self._at + _SKIPPABLE_HEAD]
            more = next(self._chunks, b"")
            if not more:
                return self._held[self._at :]
            self._held, self._at = self._held[self._at :] + more, 0

    def skip(self, size: int) -> bool:
        """Skip `size` bytes; False if there are fewer."""
        while size > len(self._held) - self._at:
            size -= len(self._held) - self._at
            self._held, self._at = next(self._chunks, b""), 0
            if not self._held:
                return False
        self._at += size
        return True


def decompressed(chunks: Iterator[bytes], codec: str) -> Iterator[bytes]:
    """The decompressed bytes of all members; Damage if the rest cannot be read."""
    if codec not in _MEMBERS:
        yield from _narrowed(chunks, codec)
        return
    packed, produced = _Packed(chunks), 0
    while head := packed.head():
        if codec in _IN_FRAMES and _SKIPPABLE.match(head):
            if not packed.skip(_SKIPPABLE_HEAD + int.from_bytes(head[4:8], "little")):
                raise Damage(_truncated(codec, produced))
            continue
        found = _framed(head)
        if produced and found != codec and not (codec in _IN_FRAMES and found in _IN_FRAMES):
            raise Damage(f"what follows the first {produced:,} bytes is no {codec} data; those were read")
        for data in _member(packed, found or codec, produced):
            produced += len(data)
            yield data


def _member(packed: _Packed, codec: str, before: int) -> Iterator[bytes]:
    """The decompressed bytes of one member; earlier members yielded `before` bytes."""
    member, produced = _MEMBERS[codec](), before
    while not member.ended:
        step = packed.step()
        if not step:
            raise Damage(_truncated(codec, produced))
        try:
            for data in member.feed(step):
                produced += len(data)
                if data:
                    yield data
        except ERRORS as error:
            raise Damage(_sentence(codec, error, produced)) from error
    packed.back(len(member.rest))


def _truncated(codec: str, produced: int) -> str:
    if not produced:
        return f"the {codec} stream is truncated, and nothing of it can be read; copy it again from its source"
    return f"the {codec} stream is truncated; the {produced:,} bytes before that were read"


def _sentence(codec: str, error: BaseException, produced: int) -> str:
    if produced:
        return f"what follows the first {produced:,} bytes is no {codec} data ({error}); those were read"
    return f"looks like {codec} but cannot be decompressed ({error}); copy it again from its source"
