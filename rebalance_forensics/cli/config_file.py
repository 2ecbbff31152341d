"""Reads defaults from `~/.config/rebalance-forensics/config.toml` or the file named by `--config`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rebalance_forensics.pipeline.refusals import InputError, did_you_mean

# Setting -> the command parameter whose default it sets, and its type.
SETTINGS: Mapping[str, tuple[str, type]] = {
    "zones": ("tz", list),
    "cluster": ("cluster", str),
    "cluster_per_directory": ("cluster_per_directory", bool),
    "patterns": ("patterns", list),
    "engine": ("engine", str),
    "java_home": ("java_home", str),
}
# Settings of `[outputs]`: files that every `analyze` writes.
OUTPUTS: Mapping[str, tuple[str, type]] = {
    "html": ("html", str),
    "json": ("json", str),
    "events": ("events", str),
    "tables": ("tables", str),
    "export": ("export", list),
    "output_mode": ("output_mode", str),
}
COMMANDS = ("explain", "timeline", "whois", "events", "coverage", "compare")
DEMO = ("engine", "java_home")
KINDS = {str: "a string", list: "a list of strings", bool: "true or false"}


def users_config() -> Path | None:
    """The path of the user's file (XDG Base Directory Specification); None if the process has no home directory."""
    # There is no home directory under an arbitrary user id in a container. A relative XDG_CONFIG_HOME is ignored.
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    with suppress(RuntimeError):
        return (base if base.is_absolute() else Path.home() / ".config") / "rebalance-forensics" / "config.toml"
    return None


def defaults_from(path: Path | None) -> dict[str, Any]:
    """Defaults by command and parameter; empty if no file was named and the user has none.

    Raises:
        InputError: The file cannot be read, or has an unknown setting or a value of the wrong type.

    """
    if path is None:
        path = users_config()
        if path is None or not path.is_file():
            return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
    outputs = found.pop("outputs", {})
    if not isinstance(outputs, dict):
        raise InputError(f"{path}: outputs is a table; write [outputs] and the files below it.")
    shared = _checked(path, found, SETTINGS)
    if "patterns" in shared:
        shared["patterns"] = [str(path.parent / Path(directory).expanduser()) for directory in shared["patterns"]]
    # The demo reads the shipped logs: only the user's settings for the machine apply to it.
    machine = {name: value for name, value in shared.items() if name in DEMO}
    return dict.fromkeys(COMMANDS, shared) | {
        "demo": machine,
        "analyze": shared | _checked(path, outputs, OUTPUTS),
    }


def _checked(path: Path, found: Mapping[str, Any], known: Mapping[str, tuple[str, type]]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for name, value in found.items():
        if name not in known:
            raise InputError(f"{path}: unknown setting {name}; {did_you_mean(name, known, 'settings')}")
        parameter, kind = known[name]
        texts = value if isinstance(value, list) else ()
        if not isinstance(value, kind) or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{path}: {name} must be {KINDS[kind]}.")
        checked[parameter] = value
    return checked
