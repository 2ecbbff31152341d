"""Identifies a process so that another one can check whether it is still running."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
_ENDED = ("Z", "X")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process; `world` identifies the boot and the PID namespace in which its id is valid."""

    host: str
    pid: int
    begun: str
    """Its start time as the kernel counts it, which distinguishes processes that reuse an id."""
    world: str

    @classmethod
    def current(cls) -> Process:
        """The current process."""
        pid = os.getpid()
        return cls(host=socket.gethostname(), pid=pid, begun=_state(pid)[1], world=_world())

    @property
    def is_gone(self) -> bool:
        """True if the process is known to have ended; False for one on another machine or in another container."""
        if not self.world or self.world != _world():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            # The process exists but belongs to another user.
            return False
        state, begun = _state(self.pid)
        return state in _ENDED or (begun not in ("", self.begun))


@cache
def _world() -> str:
    # Empty if the system does not provide it; then no process is ever considered dead.
    with suppress(OSError):
        return f"{_BOOT.read_text().strip()} {_NAMESPACE.readlink()}"
    return ""


def _state(pid: int) -> tuple[str, str]:
    # State and start time in clock ticks since boot (proc(5), fields 3 and 22).
    with suppress(OSError, IndexError):
        # The program name is in parentheses and may contain any character.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    return "", ""
