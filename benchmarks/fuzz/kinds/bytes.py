"""Damage to bytes regardless of their meaning, as by disks, copies, editors and terminals."""

from __future__ import annotations

import random
from collections.abc import Callable

Damage = Callable[[random.Random, bytes], bytes]
_INSERTED = (
    *(b"\x00", b"\x00" * 17, b"\x00" * 4096, b"\r", b"\r\n", b"\n", b"\n\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1e"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xae", b"\xe2\x80\xa8", b"\x85", b"\x0b\x0c"),
    *(b"\x1b[31m", b"\x1b]0;x\x07", b"\x08\x08", b'"', b"'", b"\\", b"\\u0000", b"{", b"}", b"[", b"]", b"("),
    *(b",", b"\t", b"</script>", b"%s%n", b"\xc2\xa0", b"\xf0\x9f\x98\x80"),
)  # fmt: skip


def flip(rng: random.Random, data: bytes) -> bytes:
    """Some bits are flipped."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes) -> bytes:
    """A piece is missing."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, 1 + len(data) // 3) :]


def truncate(rng: random.Random, data: bytes) -> bytes:
    """The end or the beginning is missing."""
    at = rng.randrange(len(data))
    return data[:at] if rng.random() < 0.7 else data[at:]


def insert(rng: random.Random, data: bytes) -> bytes:
    """Bytes with a special meaning are inserted at a random position."""
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(data))
        data = data[:at] + rng.choice(_INSERTED) + data[at:]
    return data


def repeat(rng: random.Random, data: bytes) -> bytes:
    """A piece is repeated."""
    start = rng.randrange(len(data))
    piece = data[start : start + rng.randint(1, 200)]
    return data[:start] + piece * rng.choice((2, 2, 3, 40)) + data[start:]


def splice(rng: random.Random, data: bytes) -> bytes:
    """A piece overwrites another one."""
    start, target = rng.randrange(len(data)), rng.randrange(len(data))
    piece = data[start : start + rng.randint(1, 120)]
    return data[:target] + piece + data[target + len(piece) :]


def noise(rng: random.Random, data: bytes) -> bytes:
    """Random bytes overwrite a piece."""
    at = rng.randrange(len(data))
    return data[:at] + rng.randbytes(rng.randint(1, 64)) + data[at + rng.randint(0, 64) :]


def ends(rng: random.Random, data: bytes) -> bytes:
    """The line endings are those of another system, or mixed."""
    end = rng.choice((b"\r\n", b"\r", b"\n\r", b"\r\r\n"))
    return b"".join(line + (end if rng.random() < 0.8 else b"\n") for line in data.split(b"\n"))


def encoding(rng: random.Random, data: bytes) -> bytes:
    """Another encoding, or the byte order mark of one."""
    text = data.decode("utf-8", "replace")
    name = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1", "utf-32", "cp1252"))
    return text.encode(name, "replace")


DAMAGES: tuple[Damage, ...] = (flip, cut, truncate, insert, insert, repeat, splice, noise, ends, encoding)


def damaged(rng: random.Random, data: bytes, done: list[str]) -> bytes:
    """One to three kinds of damage, whose names are added to `done`."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if data:
            damage = rng.choice(DAMAGES)
            done.append(damage.__name__)
            data = damage(rng, data)
    return data
