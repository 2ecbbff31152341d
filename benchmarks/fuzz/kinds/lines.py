"""Damage to whole lines: lost, repeated, out of order, wrapped, joined, very long."""

from __future__ import annotations

import random
from collections.abc import Callable

Lines = list[bytes]
Damage = Callable[[random.Random, Lines], Lines]


def drop(rng: random.Random, lines: Lines) -> Lines:
    """Some lines are lost."""
    return [line for line in lines if rng.random() < 0.7] or lines


def repeat(rng: random.Random, lines: Lines) -> Lines:
    """A line is repeated."""
    at = rng.randrange(len(lines))
    return [*lines[:at], *([lines[at]] * rng.choice((2, 2, 5, 60))), *lines[at + 1 :]]


def swap(rng: random.Random, lines: Lines) -> Lines:
    """The lines are in random order."""
    return rng.sample(lines, len(lines))


def join(rng: random.Random, lines: Lines) -> Lines:
    """Lines of two writers are joined."""
    at = rng.randrange(len(lines))
    return [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]]


def interleave(rng: random.Random, lines: Lines) -> Lines:
    """A writer's line appears within a line of another writer."""
    at = rng.randrange(len(lines))
    here, other = lines[at], rng.choice(lines)
    middle = rng.randint(0, len(here))
    return [*lines[:at], here[:middle] + other + here[middle:], *lines[at + 1 :]]


def wrap(rng: random.Random, lines: Lines) -> Lines:
    """Lines are wrapped at a width, as by a terminal or a mail program."""
    width = rng.choice((1, 20, 72, 80, 120))
    at = rng.randrange(len(lines))
    line = lines[at][:4000]
    return lines[:at] + [line[n : n + width] for n in range(0, len(line), width)] + lines[at + 1 :]


def torn(rng: random.Random, lines: Lines) -> Lines:
    """A line is cut in the middle."""
    at = rng.randrange(len(lines))
    return [*lines[:at], lines[at][: rng.randint(0, len(lines[at]))], *lines[at + 1 :]]


def giant(rng: random.Random, lines: Lines) -> Lines:
    """A line is very long."""
    at = rng.randrange(len(lines))
    line = lines[at]
    start = rng.randint(0, len(line))
    piece = line[start : start + rng.randint(1, 40)] or b"x"
    return [
        *lines[:at],
        line[:start] + piece * (rng.choice((500, 5_000)) // len(piece)) + line[start:],
        *lines[at + 1 :],
    ]


def indent(rng: random.Random, lines: Lines) -> Lines:
    """All or some lines are indented, quoted or prefixed."""
    prefix = rng.choice((b" ", b"\t", b"    ", b"> ", b"| ", b"+ ", b"- ", b"1: ", b'"', b"Caused by: ", b"at "))
    share = rng.choice((0.3, 1.0))
    return [prefix + line if rng.random() < share else line for line in lines]


def foreign(rng: random.Random, lines: Lines) -> Lines:
    """Lines of other programs appear between them."""
    other = rng.choice(
        (b"", b"---", b"{}", b"[]", b'{"a":', b"</pre>", b"==> x <==", b"Exception in thread", b"...", b"\t... 12 more",
         b"time,host,message", b"-- Logs begin at Mon 2026-11-20 --", b"[2026-11-21 02:04:38,9", b"{" * 300, b"[" * 300)
    )  # fmt: skip
    at = rng.randint(0, len(lines))
    return [*lines[:at], *([other] * rng.choice((1, 1, 3, 40))), *lines[at:]]


DAMAGES: tuple[Damage, ...] = (drop, repeat, swap, join, interleave, wrap, torn, giant, indent, foreign)


def damaged(rng: random.Random, lines: Lines, done: list[str]) -> Lines:
    """One to three kinds of damage."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        damage = rng.choice(DAMAGES)
        done.append(damage.__name__)
        lines = damage(rng, lines) or lines
    return lines
