"""Hosts of a lab run: network namespaces on one bridge, each with its own address and a link that can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

BRIDGE = "lab-br"
BROKERS = "10.99.0.1"


def is_possible() -> bool:
    """True if namespaces can be created, which requires root and iproute2."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


class Network:
    """A bridge with the brokers' address, and a namespace for each host."""

    def __init__(self) -> None:
        self._hosts: list[str] = []
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{BROKERS}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")

    def add(self, host: str) -> Sequence[str]:
        """Add a host; returns the command prefix that runs a program on it."""
        self._hosts.append(host)
        place, cable = f"lab-{host}", self._cable(host)
        _ip("netns", "add", place)
        _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", place)
        _ip("link", "set", cable, "master", BRIDGE, "up")
        _ip("-n", place, "addr", "add", f"10.99.0.{10 + len(self._hosts)}/24", "dev", "eth0")
        _ip("-n", place, "link", "set", "eth0", "up")
        _ip("-n", place, "link", "set", "lo", "up")
        return ("ip", "netns", "exec", place)

    def cut(self, host: str) -> None:
        """Cut the link of a host."""
        _ip("link", "set", self._cable(host), "down")

    def mend(self, host: str) -> None:
        """Restore the link of a host."""
        _ip("link", "set", self._cable(host), "up")

    def close(self) -> None:
        """Remove everything, whatever its state."""
        for host in self._hosts:
            # This also removes its peer; removing only the namespace would wait until its last process is reaped.
            subprocess.run(["ip", "link", "del", self._cable(host)], check=False)
            subprocess.run(["ip", "netns", "del", f"lab-{host}"], check=False)
        subprocess.run(["ip", "link", "del", BRIDGE], check=False)

    def _cable(self, host: str) -> str:
        return f"lab{self._hosts.index(host)}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
