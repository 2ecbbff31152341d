"""Damage to the content of a line: numbers, names, brackets, lists and whole messages."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Damage = Callable[[random.Random, bytes], bytes]
_NUMBER = re.compile(rb"(?<![\d:.-])\d{1,12}(?![\d:,.-])")
_NAME = re.compile(rb"(?<=[=\s\[(])[A-Za-z][\w.-]{2,60}(?=[\s,\])])")
_BRACKET = re.compile(rb"[\[\](){}<>]")
_SEPARATOR = re.compile(rb"[=:,]\s?")
_NUMBERS = (
    *(b"0", b"-1", b"-0", b"+5", b"00007", b"2147483647", b"2147483648", b"-2147483649", b"9223372036854775807"),
    *(b"9223372036854775808", b"18446744073709551616", b"9" * 30, b"9" * 400, b"9" * 5000, b"1e308", b"1e999", b"NaN"),
    *(b"Infinity", b"1.5", b"1,5", b"0x1F", b"", b" ", "٣".encode(), "²".encode(), b"1_000", b"1'000", b"null"),
)  # fmt: skip
_NAMES = (
    *(b"", b" ", b".", b"-", b"--", b"/", b"..", b"../../etc/passwd", b"null", b"None", b"g" * 5000, b"a-" * 700),
    *("é你好\u202e".encode(), b"\x1b[31mred", b"<script>alert(1)</script>", b"=cmd|' /C calc'!A0", b"a=b", b"a]b"),
    *(b"a)b", b'a"b', b"a'b", b"a\\b", b"group g generation 7", b"__consumer_offsets", b"\xff\xfe", b"${jndi:ldap://x}"),
)  # fmt: skip


def _replaced(rng: random.Random, line: bytes, pattern: re.Pattern[bytes], chosen: tuple[bytes, ...]) -> bytes:
    """Replace some of the matches of a pattern."""
    found = list(pattern.finditer(line))
    for match in sorted(rng.sample(found, min(len(found), rng.randint(1, 2))), key=lambda m: -m.start()):
        line = line[: match.start()] + rng.choice(chosen) + line[match.end() :]
    return line


def number(rng: random.Random, line: bytes) -> bytes:
    """Numbers out of range, and text in place of numbers."""
    return _replaced(rng, line, _NUMBER, _NUMBERS)


def name(rng: random.Random, line: bytes) -> bytes:
    """Unusual names, and missing words."""
    return _replaced(rng, line, _NAME, _NAMES)


def bracket(rng: random.Random, line: bytes) -> bytes:
    """Brackets that do not close, or close another one."""
    return _replaced(rng, line, _BRACKET, (b"", b"[", b"]", b"(", b")", b"{", b"}", b"[[", b"]]", b"[]"))


def separator(rng: random.Random, line: bytes) -> bytes:
    """Separators of fields are missing or replaced."""
    return _replaced(rng, line, _SEPARATOR, (b"", b"=", b":", b",", b", ", b"==", b" ", b"\t", b": : "))


def nested(rng: random.Random, line: bytes) -> bytes:
    """Deeply nested brackets."""
    at, deep = rng.randint(0, len(line)), rng.choice((3, 50, 1_100))
    opening, closing = rng.choice(((b"[", b"]"), (b"(", b")"), (b"{", b"}"), (b'{"a":', b"}"), (b"a=[", b"]")))
    return line[:at] + opening * deep + line[at:] + closing * rng.choice((deep, deep - 1, 0))


def many(rng: random.Random, line: bytes) -> bytes:
    """A very long list."""
    at = rng.randint(0, len(line))
    items = rng.choice((3, 30, 400))
    return line[:at] + b"[" + b", ".join(b"orders-%d" % n for n in range(items)) + b"]" + line[at:]


def doubled(rng: random.Random, line: bytes) -> bytes:
    """A part of the message appears twice."""
    start = rng.randint(0, len(line))
    return line[:start] + line[start : start + rng.randint(1, 60)] * 2 + line[start:]


DAMAGES: tuple[Damage, ...] = (number, number, name, name, bracket, separator, nested, many, doubled)


def damaged(rng: random.Random, lines: list[bytes], done: list[str]) -> list[bytes]:
    """Some lines, each damaged once or twice."""
    share = rng.choice((0.4, 1.0))
    result = list(lines)
    for at, line in enumerate(lines):
        if line and (rng.random() < share or len(lines) == 1):
            for _ in range(rng.choice((1, 1, 2))):
                damage = rng.choice(DAMAGES)
                done.append(damage.__name__)
                result[at] = damage(rng, result[at])
    return result
