"""Chunks of inputs, with their results, durations and findings."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.fuzz import batches, tables
from benchmarks.fuzz.inputs import KINDS, input_of
from benchmarks.fuzz.model import Find, Input
from benchmarks.fuzz.snippets import Snippets, workplace

CHUNK = 1_000
BATCH = 48
EVERY_INVESTIGATED, EVERY_TWICE, EVERY_WATCHED, EVERY_BATCH = 5, 20, 40, 10
"""One in this many snippets is passed to timeline and diagnosis, read twice, or read with its calls counted; one in
this many batches is run twice and counted."""
LONGEST_S = 30
"""Maximum seconds per input, in case that counting calls does not end it."""


class TooLongError(Exception):
    """An input exceeded the maximum time."""


@dataclass(slots=True)
class Done:
    """The results of a chunk."""

    chunk: int
    kinds: Counter[str] = field(default_factory=Counter)
    damages: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    cpu_s: float = 0.0
    finds: list[dict[str, Any]] = field(default_factory=list)

    def note(self, number: int, kind: str, found: list[Find]) -> None:
        """Add the finds of an input."""
        for one in found:
            record = {"number": number, "kind": kind, "law": one.law, "sign": one.sign, "detail": one.detail[-2000:]}
            self.finds.append(record)

    def text(self) -> str:
        """One line of JSON."""
        record = {
            name: getattr(self, name) for name in ("chunk", "kinds", "damages", "checks", "bytes", "cpu_s", "finds")
        }
        return json.dumps(record)


def run(seed: int, chunk: int, kinds: tuple[str, ...], size: int = CHUNK, *, backstop: bool = True) -> Done:
    """Run all inputs of a chunk; `backstop` ends inputs that take too long."""
    done, started = Done(chunk), time.process_time()
    numbers = range(chunk * CHUNK, chunk * CHUNK + size)
    if "tables" in kinds:
        done.note(numbers[0], "tables", tables.finds(seed, chunk) if tables.is_due(chunk, kinds) else [])
        done.kinds["tables"] += tables.is_due(chunk, kinds)
    others = tuple(kind for kind in kinds if kind in KINDS)
    waiting: dict[int, Input] = {}
    with workplace() as place:
        snippets = Snippets(Path(place))
        for number in numbers if others else ():
            one = input_of(seed, number, others)
            done.kinds[one.kind] += 1
            done.damages.update(one.done[1:])
            done.bytes += one.size
            if one.like is not None:
                _snippet(number, one, snippets, done, backstop=backstop)
            else:
                waiting[number] = one
            if len(waiting) >= BATCH:
                _batch(waiting, done, backstop=backstop)
                waiting = {}
        if waiting:
            _batch(waiting, done, backstop=backstop)
    done.cpu_s = time.process_time() - started
    return done


def _snippet(number: int, one: Input, snippets: Snippets, done: Done, *, backstop: bool) -> None:
    asked = {
        "investigated": number % EVERY_INVESTIGATED == 0,
        "twice": number % EVERY_TWICE == 0,
        "watched": number % EVERY_WATCHED == 0,
    }
    done.checks.update([name for name, is_asked in asked.items() if is_asked] + ["read"])
    try:
        with _alarm(LONGEST_S if backstop else 0):
            found = snippets.finds(one, **asked)
    except TooLongError as error:
        found = [Find(law="work is bounded", sign="seconds", detail=repr(error))]
    done.note(number, one.kind, found)


def _batch(waiting: dict[int, Input], done: Done, *, backstop: bool) -> None:
    often = min(waiting) // BATCH % EVERY_BATCH == 0
    done.checks.update({"whole runs": len(waiting), "runs": 1, "neighbours": 1, "runs twice": int(often)})
    try:
        with _alarm(LONGEST_S * 4 if backstop else 0):
            for number, found in batches.finds(waiting, twice=often, watched=often).items():
                done.note(number, waiting[number].kind, found)
    except TooLongError as error:
        for number, one in waiting.items():
            try:
                with _alarm(LONGEST_S):
                    done.note(number, one.kind, batches.finds({number: one}).get(number, []))
            except TooLongError:
                done.note(number, one.kind, [Find(law="work is bounded", sign="seconds", detail=repr(error))])


@contextlib.contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Raise an error after the given CPU seconds of this process; 0 for never."""

    def ring(_signal: int, frame: FrameType | None) -> None:
        where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "?"
        raise TooLongError(f"after {seconds} s in {where}")

    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
