"""Defaults from a file: `~/.config/rebalance-forensics/config.toml`, or the one that `--config` names."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rebalance_forensics.pipeline.refusals import InputError, did_you_mean

# Setting -> the parameter of commands whose default it is, and its type.
SETTINGS: Mapping[str, tuple[str, type]] = {
    "zones": ("tz", list),
    "cluster": ("cluster", str),
    "cluster_per_directory": ("cluster_per_directory", bool),
    "patterns": ("patterns", list),
    "engine": ("engine", str),
    "java_home": ("java_home", str),
}
# What `[outputs]` may hold: files that every `analyze` writes.
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
    """Where a user's file is, by the XDG Base Directory Specification: a relative XDG_CONFIG_HOME does not count."""
    # None if the process has no home, as under a user id that a container made up.
    base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    with suppress(RuntimeError):
        return (base if base.is_absolute() else Path.home() / ".config") / "rebalance-forensics" / "config.toml"
    return None


def defaults_from(path: Path | None) -> dict[str, Any]:
    """Defaults by command and parameter; none where no file was named and the user has none."""
    # Raises InputError where the file cannot be read or holds what is no setting.
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
    # The logs of the demo are ours: of a user's settings only those of the machine are its own.
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
