"""A column for each member of a group: who was in each generation, who led it, who joined and who left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from string import ascii_uppercase

from msgspec import Struct
from rich.console import RenderableType

from rebalance_forensics.report.member_names import hosts_of, short_name
from rebalance_forensics.report.terminal.rich_blocks import indented, labelled, text_block
from rebalance_forensics.timeline.model import Generation, GroupHistory, Member

ROOM_FOR_WORDS = 24
"""What stands beside the columns of a generation: its outcome, its cause and how long it took."""
LEGEND = "L leads, o member, + joined, - left"
SYMBOLS = {"lead": "L", "member": "o", "joined": "+", "left": "-", "": "."}


class MemberColumns(Struct, frozen=True, kw_only=True):
    """The members of a group in their order, and the heads under which they stand."""

    short: Mapping[str, str]
    heads: Mapping[str, str]
    hosts: Mapping[str, str]
    lettered: bool
    """Heads are letters, with a key above, and what is below them symbols."""

    @property
    def width(self) -> int:
        """How wide all columns are together."""
        return sum(max(len(head), self._cell) + self._between for head in self.heads.values())

    @property
    def _between(self) -> int:
        return 1 if self.lettered else 2

    @property
    def _cell(self) -> int:
        return 2 if self.lettered else len("member")

    def key(self) -> Iterator[RenderableType]:
        """Tell whom each head stands for, where it does not say so itself."""
        if any(head != name for name, head in self.heads.items()):
            yield indented(labelled((head, self._at_home(name)) for name, head in self.heads.items()))
        if self.lettered:
            yield text_block(LEGEND, "dim")

    def _at_home(self, name: str) -> str:
        host = self.hosts.get(name)
        return f"{name} at {host.removeprefix('/')}" if host and host not in (name, self.heads[name]) else name

    def head(self) -> str:
        """The heads above their columns."""
        return self._laid_out(self.heads.values())

    def row(self, generation: Generation) -> str:
        """What each member is in one generation."""
        return self._laid_out(map(self._cells(generation).__getitem__, self.heads))

    def _laid_out(self, cells: Iterable[str]) -> str:
        widths = (max(len(head), self._cell) for head in self.heads.values())
        return "".join(f"{cell:<{width + self._between}}" for cell, width in zip(cells, widths, strict=True))

    def _cells(self, generation: Generation) -> dict[str, str]:
        there = Counter(map(self.name, generation.members))
        came = Counter(self.name(member) for member in generation.members if member.member_id in generation.joined)
        left = Counter(self.short.get(member, member) for member in generation.left)
        leader = next(
            (self.name(member) for member in generation.members if member.member_id == generation.leader), None
        )
        return {
            name: self._cell_of(
                there[name], came[name], left[name], leads=name == leader and generation.leader is not None
            )
            for name in self.heads
        }

    def _cell_of(self, there: int, came: int, left: int, *, leads: bool) -> str:
        symbols = SYMBOLS if self.lettered else {word: word for word in SYMBOLS}
        if there > 1:
            return str(there) + (f"+{came}" if came else "")
        if not there:
            return symbols["left"] if left else symbols[""]
        plus = "+" if came and leads else ""
        return plus + symbols["lead" if leads else "joined" if came else "member"]

    def name(self, member: Member) -> str:
        """The short name of a member."""
        return short_name(member, self.short)


def columns_of(history: GroupHistory, short: Mapping[str, str], room: int) -> MemberColumns | None:
    """Columns for all members where they fit beside the words of a generation, by their names or by letters."""
    members = [member for generation in history.generations for member in generation.members]
    names = sorted({short_name(member, short) for member in members}, key=_naturally)
    hosts = dict(hosts_of(members, short))
    by_letters = dict(zip(names, ascii_uppercase, strict=False))
    by_hosts = {name: min(hosts.get(name, name), name, key=len) for name in names}
    for heads, lettered in ((by_hosts, False), (by_letters, True)):
        columns = MemberColumns(short=short, heads=heads, hosts=hosts, lettered=lettered)
        if names and len(heads) == len(names) and columns.width + ROOM_FOR_WORDS <= room:
            return columns
    return None


def _naturally(name: str) -> tuple[tuple[int, str], ...]:
    """`node-10` comes after `node-2`."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,9})", name))
