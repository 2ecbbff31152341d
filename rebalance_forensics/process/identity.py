"""Which process this is, in words that another process can check: whether it still runs."""

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
    """A process of some machine. `world` names the boot and the PID namespace in which its id means something."""

    host: str
    pid: int
    begun: str
    """When it started, as the kernel counts: another process of the same id began at another time."""
    world: str

    @classmethod
    def current(cls) -> Process:
        """The one that asks."""
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
            # Somebody else's process: it is there, and more may not be seen.
            return False
        state, begun = _state(self.pid)
        return state in _ENDED or (begun not in ("", self.begun))


@cache
def _world() -> str:
    # Empty where the system does not tell, and then no process is ever taken for dead.
    with suppress(OSError):
        return f"{_BOOT.read_text().strip()} {_NAMESPACE.readlink()}"
    return ""


def _state(pid: int) -> tuple[str, str]:
    # How a process is, and its start in clock ticks since the boot (proc(5), fields 3 and 22).
    with suppress(OSError, IndexError):
        # The name of the program stands in parentheses and may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    return "", ""
