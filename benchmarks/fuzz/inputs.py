"""Damaged inputs, each determined by a seed and a number."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

from benchmarks.fuzz import corpus
from benchmarks.fuzz.kinds import archives, fields, layout, lines, times
from benchmarks.fuzz.kinds import bytes as blind
from benchmarks.fuzz.model import Input
from benchmarks.fuzz.stories import interleaved, shared_log, stories

_SNIPPET = 3
_FILE = 8
_IN_FILES = 0.02
_WHOLE = 0.0015
_DRIFTS = (timedelta(), timedelta(), timedelta(hours=2), timedelta(hours=-79), timedelta(days=3), timedelta(minutes=7))
Lines = list[bytes]
Change = Callable[[random.Random, Lines, list[str]], bytes]
_WRAPPED_SOURCES = 12


def _bytes(rng: random.Random, some: Lines, done: list[str]) -> bytes:
    return blind.damaged(rng, _text(some), done)


def _lines(rng: random.Random, some: Lines, done: list[str]) -> bytes:
    return _text(lines.damaged(rng, some, done))


def _fields(rng: random.Random, some: Lines, done: list[str]) -> bytes:
    return _text(fields.damaged(rng, some, done))


def _times(rng: random.Random, some: Lines, done: list[str]) -> bytes:
    return _text(times.damaged(rng, some, done))


_CHANGES: dict[str, Change] = {"bytes": _bytes, "lines": _lines, "fields": _fields, "times": _times}


def _text(some: Lines) -> bytes:
    return b"".join(line + b"\n" for line in some)


def _any_change(rng: random.Random, some: Lines, done: list[str]) -> bytes:
    return _CHANGES[rng.choice(sorted(_CHANGES))](rng, some, done)


def _source(rng: random.Random) -> corpus.Source:
    return rng.choice(corpus.catalog_logs() if rng.random() < 0.3 else corpus.logs())


def _simple(kind: str) -> Callable[[random.Random], Input]:
    """Inputs with one kind of damage: mostly a few lines, some files, occasionally a whole incident."""
    change = _CHANGES[kind]

    def make(rng: random.Random) -> Input:
        done: list[str] = []
        draw = rng.random()
        if draw < _WHOLE:
            name = rng.choice(sorted(stories()))
            files = dict(stories()[name])
            for path in rng.sample(sorted(files), rng.randint(1, len(files))):
                files[path] = change(rng, files[path].splitlines(), done)
            return Input(kind=kind, files=files, done=(name, *done), whole=True)
        source = _source(rng)
        in_file = draw < _WHOLE + _IN_FILES
        data = change(rng, source.some(rng, _FILE if in_file else _SNIPPET), done)
        path = source.path.partition("/")[2]
        like = None if in_file else source.path
        return Input(kind=kind, files={path: data}, done=(source.path, *done), like=like)

    return make


def _envelopes(rng: random.Random) -> Input:
    """Lines damaged inside an envelope, outside, or around lines whose times are far from its own."""
    sources = corpus.logs()[:: max(1, len(corpus.logs()) // _WRAPPED_SOURCES)]
    source, writer, drift = rng.choice(sources), rng.choice(corpus.writers()), rng.choice(_DRIFTS)
    in_file = rng.random() < _IN_FILES * 2
    done = [writer, f"{drift.total_seconds():.0f} s off"]
    some = source.some(rng, _FILE if in_file else _SNIPPET)
    if rng.random() < 0.5:
        done.append("inside")
        some = _any_change(rng, some, done).splitlines() or some
    data = corpus.wrapped(writer, [line.decode(errors="replace") for line in some], drift).encode("utf-8", "replace")
    if rng.random() < 0.6:
        done.append("outside")
        data = _any_change(rng, data.splitlines(), done) if rng.random() < 0.7 else blind.damaged(rng, data, done)
    like = None if in_file else f"{source.path} in {writer}"
    return Input(kind="envelopes", files={"export/all.log": data}, done=tuple(done), like=like)


def _story(rng: random.Random) -> tuple[str, dict[str, bytes]]:
    name = rng.choice(sorted(stories()))
    files = dict(list(stories()[name].items())[: rng.randint(1, 3)])
    return name, {path: b"".join(data.splitlines(keepends=True)[: rng.randint(1, 12)]) for path, data in files.items()}


def _archives(rng: random.Random) -> Input:
    name, files = _story(rng)
    done: list[str] = []
    return Input(kind="archives", files=archives.packed(rng, files, done), done=(name, *done))


def _layout(rng: random.Random) -> Input:
    name, files = _story(rng)
    done: list[str] = []
    links: dict[str, str] = {}
    files = layout.changed(rng, files, links, done)
    return Input(kind="layout", files=files, links=links, done=(name, *done))


def _neighbours(rng: random.Random) -> Input:
    """One or two lines of a group are damaged; the report on the other group in the same log must not change.

    The last line is not damaged: it determines the end of the log, and thus which missing lines are evidence.
    """
    own, other = shared_log()
    done: list[str] = []
    at = rng.randrange(len(other) - 1)
    damaged = _any_change(rng, other[at : at + rng.randint(1, 2)], done).splitlines()
    text = interleaved(own, [*other[:at], *damaged, *other[at + 1 :]])
    return Input(kind="neighbours", files={"broker-1/server.log": text}, done=tuple(done), kept="shared log")


KINDS: dict[str, tuple[float, Callable[[random.Random], Input]]] = {
    "bytes": (0.275, _simple("bytes")),
    "lines": (0.26, _simple("lines")),
    "fields": (0.205, _simple("fields")),
    "times": (0.15, _simple("times")),
    "envelopes": (0.09, _envelopes),
    "archives": (0.007, _archives),
    "layout": (0.007, _layout),
    "neighbours": (0.006, _neighbours),
}
"""Kind of damage -> its share of all inputs, and the function that creates one."""


def input_of(seed: int, number: int, kinds: tuple[str, ...] = tuple(KINDS)) -> Input:
    """The input of this number; it depends only on the seed and the number."""
    rng = random.Random(f"{seed}:{number}")
    (kind,) = rng.choices(kinds, [KINDS[kind][0] for kind in kinds])
    return KINDS[kind][1](rng)
