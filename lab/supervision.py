"""A memory cgroup with a limit, and supervisord: both log how a member ends."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.jars import cache

SUPERVISORD = "supervisor==4.3.0"
_CGROUPS = Path("/sys/fs/cgroup")


def limit_memory(pid: int, name: str, megabytes: int) -> Path:
    """Put a process into its own cgroup, with a limit above which the kernel kills it; returns its path."""
    of_v2 = (_CGROUPS / "cgroup.controllers").exists()
    cgroup = (_CGROUPS if of_v2 else _CGROUPS / "memory") / name
    cgroup.mkdir(exist_ok=True)
    (cgroup / ("memory.max" if of_v2 else "memory.limit_in_bytes")).write_text(str(megabytes << 20))
    (cgroup / "cgroup.procs").write_text(str(pid))
    return cgroup


def kernel_lines() -> list[str]:
    """The lines in the kernel's log buffer."""
    return subprocess.run(["dmesg", "-T"], check=True, capture_output=True, text=True).stdout.splitlines(keepends=True)


def supervised(program: str, command: Sequence[str], folder: Path) -> tuple[list[str], Mapping[str, str]]:
    """The command with which supervisord runs a program, and its environment. It logs to that folder as well."""
    packages = cache() / SUPERVISORD
    if not packages.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--target", str(packages), SUPERVISORD]
        subprocess.run(pip, check=True)
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder.parent.parent / f"{program}.supervisord.conf"
    # supervisord runs programs in their own sessions, which would outlive a killed lab.
    run = shlex.join(["setpriv", "--pdeathsig", "KILL", *command]).replace("%", "%%")
    configuration.write_text(
        "[supervisord]\nnodaemon=true\nuser=root\n"
        f"logfile={folder / 'supervisord.log'}\npidfile={configuration.with_suffix('.pid')}\n"
        f"[program:{program}]\ncommand={run}\nautorestart=true\nredirect_stderr=true\n"
        f"stdout_logfile={folder / 'app.log'}\nstdout_logfile_maxbytes=0\n"
    )
    return [sys.executable, "-m", "supervisor.supervisord", "-c", str(configuration)], {"PYTHONPATH": str(packages)}


def children_of(pid: int) -> list[int]:
    """The child processes of a process."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill_children_of(pid: int) -> None:
    """`kill -9` the programs that a supervisor runs, not the supervisor."""
    for child in children_of(pid):
        os.kill(child, 9)
