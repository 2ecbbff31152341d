"""A damaged input, and the laws that it broke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """Files by path, and the damage done to them.

    `whole` inputs are read in a run with all its outputs. The lines of others are read with the profile of the
    undamaged log, `like` (corpus.profile_like); without it, they are recognized again among other inputs. `kept` is the
    undamaged story whose lines are among the others.
    """

    kind: str
    files: Mapping[str, bytes]
    done: tuple[str, ...]
    links: Mapping[str, str] = field(default_factory=dict)
    like: str | None = None
    kept: str | None = None
    whole: bool = False

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(map(len, self.files.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A broken law. Finds with the same `sign` probably have the same reason."""

    law: str
    sign: str
    detail: str
