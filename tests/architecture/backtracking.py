"""Whether a regular expression can backtrack without bound, told from its structure and not from a clock.

A backtracking engine that fails has tried every path through the expression. Paths are few, however long the text,
unless two places p and q can both be left and come back to by the same word w, and that word leads from p to q as well:
then w repeated n times is read in n ways (p for a while, q from then on), and each costs a walk of its own. Places are
the characters of the expression; a search adds one before it that takes anything.

What stands behind a place that ends the match whatever follows cannot fail, and is left out. Finite repeats are few.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product
from re import _compiler, _parser  # type: ignore[attr-defined]  # the only parser of exactly what `re` runs
from typing import Any

_CHARS = [*map(chr, range(256)), "\u2502", "\u4e2d", "\u0660", "\u2003"]
EDGE = 1 << len(_CHARS)
"""Where the text begins or ends, among what may stand before or behind a place."""
ANYTHING = EDGE - 1
_MANY = 1000
_FEW = 2
_LEAVES = ("IN", "LITERAL", "NOT_LITERAL", "ANY")
_WORD = sum(1 << n for n, char in enumerate(_CHARS) if char.isalnum() or char == "_")
_BREAK = 1 << _CHARS.index("\n")

Paths = list[tuple[int, int, int]]
"""To which place, what may stand before, what may come next."""


@dataclass
class Machine:
    """The places of one expression, and the ways between them that read nothing."""

    flags: int
    is_bytes: bool
    masks: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    ways: dict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    reads: dict[int, int] = field(default_factory=dict)
    states: int = 0

    def state(self) -> int:
        """A new one."""
        self.states += 1
        return self.states - 1

    def way(self, begin: int, end: int, before: int = -1, ahead: int = -1) -> None:
        """From one state to another without reading."""
        self.ways[begin].append((end, before, ahead))

    def read(self, begin: int, mask: int) -> int:
        """Read one character."""
        self.reads[begin] = len(self.masks)
        self.masks.append(mask)
        self.after.append(self.state())
        return self.after[-1]

    def sequence(self, nodes: Any, begin: int, flags: int) -> int:  # noqa: ANN401 - sre has no types
        """All nodes one after another."""
        for node in nodes:
            begin = self.node(node, begin, flags)
        return begin

    def node(self, node: Any, begin: int, flags: int) -> int:  # noqa: ANN401, PLR0911 - one case for each operation of sre
        """One node; the state behind it."""
        operation, value = str(node[0]), node[1]
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                here = self.state()
                self.way(begin, here)
                return self.read(here, self._leaf(node, flags))
            case "SUBPATTERN":
                return self.sequence(value[3], begin, (flags | value[1]) & ~value[2])
            case "ATOMIC_GROUP":
                return self.sequence(value, begin, flags)
            case "BRANCH":
                end = self.state()
                for branch in value[1]:
                    start = self.state()
                    self.way(begin, start)
                    self.way(self.sequence(branch, start, flags), end)
                return end
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                return self._repeat(operation, value, begin, flags)
            case "ASSERT" | "ASSERT_NOT":
                return self._look(operation == "ASSERT", value, begin, flags)
            case "AT":
                return self._at(str(value), begin, flags)
            case "GROUPREF_EXISTS":
                end = self.state()
                for branch in value[1:]:
                    self.way(self.sequence(branch or (), begin, flags), end)
                return end
            case "GROUPREF":
                return begin
        raise NotImplementedError(operation)

    def _leaf(self, node: Any, flags: int) -> int:  # noqa: ANN401 - sre has no types
        parsed = _parser.SubPattern(_parser.State(), [node])
        parsed.state.str = b"" if self.is_bytes else ""
        parsed.state.flags = flags
        return _leaf_mask(repr(node), parsed, flags, is_bytes=self.is_bytes)

    def _repeat(self, operation: str, value: Any, begin: int, flags: int) -> int:  # noqa: ANN401 - sre has no types
        least, most, item = value
        for _ in range(min(least, _FEW)):
            begin = self.sequence(item, begin, flags)
        end = self.state()
        ahead = -1
        if operation == "POSSESSIVE_REPEAT" and len(item) == 1 and str(item[0][0]) in _LEAVES:
            ahead = (ANYTHING | EDGE) & ~self._leaf(item[0], flags)
        if most is not _parser.MAXREPEAT and most <= _MANY:
            for _ in range(min(most - least, _FEW)):
                self.way(begin, end, -1, ahead)
                begin = self.sequence(item, begin, flags)
            self.way(begin, end)
            return end
        hub, start = self.state(), self.state()
        self.way(begin, hub)
        self.way(hub, start)
        self.way(self.sequence(item, start, flags), hub)
        self.way(hub, end, -1, ahead)
        return end

    def _look(self, wanted: bool, value: Any, begin: int, flags: int) -> int:  # noqa: ANN401, FBT001 - sre has no types
        direction, item = value
        end = self.state()
        leaves = [str(node[0]) in _LEAVES for node in item]
        if leaves and leaves[-1] and (len(item) == 1 or (wanted and direction < 0)):
            mask = self._leaf(item[-1], flags)
            allowed = mask if wanted else (ANYTHING | EDGE) & ~mask
            self.way(begin, end, *((allowed, -1) if direction < 0 else (-1, allowed)))
            return end
        self.way(begin, end)
        if direction > 0:
            inside = self.state()
            self.way(begin, inside)
            self.sequence(item, inside, flags)  # whatever it finds, it goes no further from there
        return end

    def _at(self, where: str, begin: int, flags: int) -> int:
        end = self.state()
        breaks = _BREAK if flags & re.MULTILINE else 0
        if where in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            self.way(begin, end, EDGE | breaks)
        elif where == "AT_END":
            self.way(begin, end, -1, EDGE | _BREAK)
        elif where == "AT_END_STRING":
            self.way(begin, end, -1, EDGE)
        else:
            same = where == "AT_NON_BOUNDARY"
            rest = (ANYTHING | EDGE) & ~_WORD
            self.way(begin, end, _WORD, _WORD if same else rest)
            self.way(begin, end, rest, rest if same else _WORD)
        return end

    def paths(self, state: int) -> tuple[Paths, list[tuple[int, int]]]:
        """Every way from a state to a place that reads, and to the end, which is state 1."""
        found: Paths = []
        ends: list[tuple[int, int]] = []
        todo: list[tuple[int, int, int, tuple[int, ...]]] = [(state, -1, -1, (state,))]
        while todo:
            here, before, ahead, met = todo.pop()
            if here == 1:
                ends.append((before, ahead))
            if here in self.reads:
                found.append((self.reads[here], before, ahead))
            for end, also_before, also_ahead in self.ways[here]:
                if met.count(end) < _FEW:  # a loop within a loop is come back to by both
                    todo.append((end, before & also_before, ahead & also_ahead, (*met, end)))
        return found, ends


_masks: dict[tuple[str, int, bool], int] = {}


def _leaf_mask(name: str, parsed: Any, flags: int, *, is_bytes: bool) -> int:  # noqa: ANN401 - sre has no types
    key = name, flags, is_bytes
    if key not in _masks:
        code = _compiler._code(parsed, flags)  # noqa: SLF001 - compile() would read the text that it came from
        one = _compiler._sre.compile(  # noqa: SLF001
            b"" if is_bytes else "", flags, code, 0, {}, (None,)
        )
        chars = (
            (n, c.encode("latin-1") if is_bytes else c) for n, c in enumerate(_CHARS) if not is_bytes or ord(c) < 256
        )
        _masks[key] = sum(bool(one.fullmatch(char)) << n for n, char in chars)
    return _masks[key]


def ambiguity(expression: re.Pattern[str] | re.Pattern[bytes], how: str) -> str | None:
    """What makes it backtrack without bound when asked to `match`, `fullmatch` or `search`; None where nothing does."""
    is_bytes = isinstance(expression.pattern, bytes)
    parsed = _parser.parse(expression.pattern, expression.flags & ~re.DEBUG)
    machine = Machine(parsed.state.flags, is_bytes)
    begin, end = machine.state(), machine.state()
    start = machine.state()
    machine.way(begin, start)
    if how == "search":
        machine.way(machine.read(start, ANYTHING), begin)
        start = machine.state()
        machine.way(begin, start)
    machine.way(machine.sequence(parsed, start, parsed.state.flags), end, -1, EDGE if how == "fullmatch" else -1)
    return _Paths(machine, begin).ambiguity()


class _Paths:
    """The places of a machine, and how one reads from each to the next."""

    def __init__(self, machine: Machine, begin: int) -> None:
        self.masks = machine.masks
        steps = [machine.paths(after) for after in machine.after]
        self.final = {place for place, (_, ends) in enumerate(steps) if self._surely_ends(place, *steps[place])}
        self.steps: list[Paths] = [
            []
            if place in self.final
            else [
                (to, before, ahead)
                for to, before, ahead in found
                if before & self.masks[place] and ahead & self.masks[to]
            ]
            for place, (found, _) in enumerate(steps)
        ]
        self.reached = self._closure({to for to, before, _ in machine.paths(begin)[0] if before & EDGE})
        self.onward = {place: self._closure({to for to, _, _ in self.steps[place]}) for place in self.reached}

    def _surely_ends(self, place: int, found: Paths, ends: list[tuple[int, int]]) -> bool:
        whatever = any(before & ANYTHING == ANYTHING and ahead == -1 for before, ahead in ends)
        takes_all = any(
            to == place and self.masks[place] == ANYTHING and before == ahead == -1 for to, before, ahead in found
        )
        return whatever or (bool(ends) and takes_all)

    def _closure(self, places: set[int]) -> set[int]:
        todo, met = list(places), set(places)
        while todo:
            for to, _, _ in self.steps[todo.pop()]:
                if to not in met:
                    met.add(to)
                    todo.append(to)
        return met

    def ambiguity(self) -> str | None:
        looping = [p for p in sorted(self.reached) if p in self.onward[p]]
        for p in looping:
            if self._two_ways(p):
                return f"place {p} is come back to in two ways"
        for p, q in product(looping, looping):
            if p != q and q in self.onward[p] and self.masks[p] and self._slides(p, q):
                return f"place {p} slides to place {q}"
        return None

    def _two_ways(self, p: int) -> bool:
        """Two ways to the same next place that read nothing different, on a loop."""
        ways: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for to, before, ahead in self.steps[p]:
            if p in self.onward[to] | {to}:
                if any(before & b & self.masks[p] and ahead & a & self.masks[to] for b, a in ways[to]):
                    return True
                ways[to].append((before, ahead))
        return False

    def _slides(self, p: int, q: int) -> bool:
        """Whether one word leads from p to p, from p to q, and from q to q."""
        loop_p = {x for x in self.onward[p] if p in self.onward[x]}
        loop_q = {x for x in self.onward[q] if q in self.onward[x]}
        between = {x for x in self.onward[p] if q in self.onward[x] or x == q}
        todo, met = [(p, p, q)], {(p, p, q)}
        while todo:
            places = todo.pop()
            here = self.masks[places[0]] & self.masks[places[1]] & self.masks[places[2]]
            for a, b, c in product(*(self.steps[place] for place in places)):
                if a[0] not in loop_p or b[0] not in between or c[0] not in loop_q:
                    continue
                there = self.masks[a[0]] & self.masks[b[0]] & self.masks[c[0]] & a[2] & b[2] & c[2]
                if there and here & a[1] & b[1] & c[1]:
                    reached = (a[0], b[0], c[0])
                    if reached == (p, q, q):
                        return True
                    if reached not in met:
                        met.add(reached)
                        todo.append(reached)
        return False
