"""The uncompressed bytes of a file, whatever it is packed in."""

from __future__ import annotations

import atexit
import io
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from rebalance_forensics.sources.codecs import Damage, codec_of, decompressed
from rebalance_forensics.sources.containers import HEAD, container_of, member_of

CHUNK = 1 << 20
MAX_DEPTH = 6
MAX_UNPACKED = 64 << 30
"""More than this out of one file is taken for a decompression bomb."""
MAX_RATIO = 1_000
_RATIO_FLOOR = 256 << 20
_IN_MEMORY = 32 << 20
_KEPT = 4
_REMOTE: dict[str, Callable[[str], BinaryIO]] = {}


class Bomb(Damage):
    """A stream that unpacks to far more than logs do."""


def open_remote_with(opener: Callable[[str], BinaryIO]) -> None:
    """How this process opens locations that are URIs; the stage that knows the stores says so."""
    _REMOTE["opener"] = opener


def _raw(location: str) -> BinaryIO:
    """The outermost file, by byte ranges."""
    if "://" in location and "opener" in _REMOTE:
        return _REMOTE["opener"](location)
    return cast("BinaryIO", Path(location).open("rb", buffering=0))


def head_of(stream: BinaryIO) -> bytes:
    """The first bytes of a seekable stream."""
    stream.seek(0)
    head = stream.read(HEAD)
    stream.seek(0)
    return head


def _guarded(chunks: Iterator[bytes], packed: int) -> Iterator[bytes]:
    """Stop a stream that grows beyond what a log of its size can be."""
    produced = 0
    for chunk in chunks:
        produced += len(chunk)
        if produced > MAX_UNPACKED or (produced > _RATIO_FLOOR and produced > MAX_RATIO * max(packed, 1)):
            limit = f"{MAX_UNPACKED >> 30} GiB or {MAX_RATIO} times its packed size"
            raise Bomb(f"unpacks to more than {limit}; it is taken for a decompression bomb and was read no further")
        yield chunk


def _size_of(stream: BinaryIO) -> int:
    at = stream.tell()
    size = stream.seek(0, io.SEEK_END)
    stream.seek(at)
    return size


def layers(stream: BinaryIO) -> tuple[list[str], Iterator[bytes]]:
    """The codecs around a stream (gzip in gzip is real) and what is inside them all."""
    packed = _size_of(stream)
    codecs: list[str] = []
    head = head_of(stream)
    chunks: Iterator[bytes] = iter(lambda: stream.read(CHUNK), b"")
    while (codec := codec_of(head)) and len(codecs) < MAX_DEPTH:
        codecs.append(codec)
        source = stream if len(codecs) == 1 else _Reader(chunks)
        inside = _guarded(decompressed(source, codec), packed)
        head, chunks = _peeked(inside)
    return codecs, chunks


def _peeked(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of an iterator, and the iterator as if they had not been read."""
    held: list[bytes] = []
    damage: Damage | None = None
    try:
        while sum(map(len, held)) < HEAD:
            held.append(next(chunks))
    except StopIteration:
        pass
    except Damage as error:
        damage = error

    def again() -> Iterator[bytes]:
        yield from held
        if damage:
            raise damage
        yield from chunks

    return b"".join(held)[:HEAD], again()


class _Reader(io.RawIOBase, BinaryIO):
    """An iterator of chunks as a stream that can be read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes."""
        if not self._rest:
            self._rest = next(self._chunks, b"")
        data, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return data


def spooled(chunks: Iterator[bytes]) -> tuple[BinaryIO, str | None]:
    """The chunks as a seekable stream, in memory while it is small, and what was wrong at its end."""
    spool: BinaryIO = io.BytesIO()
    problem = None
    try:
        for chunk in chunks:
            if isinstance(spool, io.BytesIO) and spool.tell() > _IN_MEMORY:
                on_disk = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - whoever asked closes it
                on_disk.write(spool.getbuffer())
                spool = on_disk
            spool.write(chunk)
    except Damage as damage:
        problem = str(damage)
    spool.seek(0)
    return spool, problem


class _Archives:
    """The archives read last, unpacked: their members are read one after another."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, tuple[str, ...]], BinaryIO] = OrderedDict()

    def get(self, location: str, members: tuple[str, ...]) -> BinaryIO:
        """An archive inside its wrappings as a seekable stream."""
        key = (location, members)
        if key not in self._kept:
            self._kept[key] = self._unpacked(location, members)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)[1].close()
        self._kept.move_to_end(key)
        return self._kept[key]

    @staticmethod
    def _unpacked(location: str, members: tuple[str, ...]) -> BinaryIO:
        with opened(location, members) as stream:
            codecs, chunks = layers(stream)
            if codecs or members:
                return spooled(chunks)[0]
        return _raw(location)

    def close(self) -> None:
        """Let go of all of them."""
        while self._kept:
            self._kept.popitem()[1].close()


_ARCHIVES = _Archives()
atexit.register(_ARCHIVES.close)


@contextmanager
def opened(location: str, members: tuple[str, ...]) -> Iterator[BinaryIO]:
    """A file, or a member of an archive, as it lies there, still in its own wrapping."""
    if not members:
        with _raw(location) as stream:
            yield stream
        return
    archive = _ARCHIVES.get(location, members[:-1])
    kind = container_of(head_of(archive))
    if kind is None:
        raise OSError(f"{location} is no longer the archive it was")
    with member_of(archive, kind, members[-1]) as member:
        if member.seekable() and kind == "tar":
            yield member
            return
        guarded = _guarded(iter(lambda: member.read(CHUNK), b""), _size_of(archive))
        copy, problem = spooled(guarded)
    with copy:
        if problem and not head_of(copy):
            raise Damage(problem)
        yield copy


def chunks_of(location: str, members: tuple[str, ...], start: int = 0) -> Iterator[bytes]:
    """The uncompressed bytes from an offset on; raises Damage or OSError when the rest cannot be read."""
    with opened(location, members) as stream:
        codecs, chunks = layers(stream)
        if not codecs:
            stream.seek(start)
            yield from iter(lambda: stream.read(CHUNK), b"")
            return
        skip = start
        for chunk in _gathered(chunks):
            if skip < len(chunk):
                yield chunk[skip:] if skip else chunk
            skip = max(0, skip - len(chunk))


def _gathered(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The small pieces that decompressors give, put together: each block that is searched costs something by itself."""
    held: list[bytes] = []
    try:
        for chunk in chunks:
            held.append(chunk)
            if sum(map(len, held)) >= CHUNK // 2:
                yield b"".join(held)
                held = []
    except (Damage, OSError):
        # What came before the damage is as good as any.
        yield b"".join(held)
        raise
    yield b"".join(held)
