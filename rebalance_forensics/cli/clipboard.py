"""Reads the clipboard with the system's own program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process import scratch

_TIMEOUT_S = 10
_POWERSHELL = ("-NoProfile", "-Command", "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-Clipboard -Raw")


def clipboard_file() -> str:
    """A temporary file with the contents of the clipboard, deleted when the process ends.

    Raises:
        InputError: No program can read the clipboard, or it contains no text.

    """
    reasons = []
    for program, arguments in _programs():
        try:
            done = subprocess.run(  # noqa: S603 - a program of the system, with fixed arguments
                [program, *arguments], capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            reasons.append(f"{Path(program).name} failed: {error}")
            continue
        if done.returncode == 0 and done.stdout.strip():
            file = scratch.directory() / "clipboard.txt"
            file.write_bytes(done.stdout)
            return str(file)
        problem = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        reasons.append(f"{Path(program).name}: {problem or 'no text in the clipboard'}")
    if reasons:
        raise InputError(f"the clipboard could not be read ({'; '.join(reasons)}); pipe the text to `analyze -`.")
    raise InputError(
        "no program that reads the clipboard was found (pbpaste, wl-paste, xclip, xsel, powershell); "
        "pipe the text to `analyze -`."
    )


def _programs() -> Iterator[tuple[str, tuple[str, ...]]]:
    # The installed programs that can read the clipboard, most likely first.
    known: list[tuple[str, tuple[str, ...]]] = [
        ("pbpaste", ()),
        ("xclip", ("-selection", "clipboard", "-o")),
        ("xsel", ("--clipboard", "--output")),
        ("powershell", _POWERSHELL),
        ("powershell.exe", _POWERSHELL),
    ]
    # Under Wayland, xclip sees only what X programs have copied.
    known.insert(1 if os.environ.get("WAYLAND_DISPLAY") else 3, ("wl-paste", ("--no-newline",)))
    for name, arguments in known:
        if (found := shutil.which(name)) is not None:
            yield found, arguments
