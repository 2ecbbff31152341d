"""Changes to files: renamed, rolled over, cut, merged, empty, linked, in unusual directories."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

Files = dict[str, bytes]
Change = Callable[[random.Random, Files, dict[str, str]], Files]
_NAMES = (
    *("server.log", "app.log", "x", ".hidden", "log.2026-11-21", "server.log.2026-11-21-02", "kafka.log.1", "a b.log"),
    *("é你好.log", "\u202egol.log", "new\nline.log", "-rf.log", "~", "report.json", "core", "broker-1", "\x1b[31m.log"),
    *("server.log.gz", "x.zip", "journal.json", "n" * 200, "#x#", "server.log~", "server.log.swp", "'", '"', "%s"),
)


def rename(rng: random.Random, files: Files, _: dict[str, str]) -> Files:
    """Random names; a file with the name of a previous one is put into a subdirectory."""
    renamed: Files = {}
    for data in files.values():
        name = rng.choice(_NAMES)
        while any(name == other or other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in renamed):
            name = f"d{len(name) % 7}/{name}"[-240:].lstrip("/")
        renamed[name] = data
    return renamed


def roll(rng: random.Random, files: Files, _: dict[str, str]) -> Files:
    """Rolled over at random positions, also within a line, and possibly compressed."""
    name = rng.choice(sorted(files))
    data = files[name]
    cuts = sorted(rng.randint(0, len(data)) for _ in range(rng.randint(1, 3)))
    parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    rolled = {name: parts[-1]}
    for age, part in enumerate(reversed(parts[:-1]), 1):
        is_packed = rng.random() < 0.3
        rolled[f"{name}.{age}" + (".gz" if is_packed else "")] = gzip.compress(part, 1, mtime=0) if is_packed else part
    return {**{other: files[other] for other in files if other != name}, **rolled}


def merge(rng: random.Random, files: Files, _: dict[str, str]) -> Files:
    """All files merged into one, in sequence or line by line."""
    if rng.random() < 0.5:
        return {"all.log": b"".join(files.values())}
    lines = [line for data in files.values() for line in data.splitlines(keepends=True)]
    return {"all.log": b"".join(sorted(lines) if rng.random() < 0.5 else rng.sample(lines, len(lines)))}


def empty(rng: random.Random, files: Files, _: dict[str, str]) -> Files:
    """Some files are empty, or contain only line endings or NULs."""
    nothing = rng.choice((b"", b"\n", b"\n" * 5000, b"\x00" * 10_000, b"\xef\xbb\xbf", b" ", b"\r\n"))
    return {**files, rng.choice(sorted(files)): nothing, "more.log": nothing}


def link(rng: random.Random, files: Files, links: dict[str, str]) -> Files:
    """Links to files, to nothing, to themselves and to parent directories."""
    for number in range(rng.randint(1, 3)):
        links[f"link{number}.log"] = rng.choice((rng.choice(sorted(files)), "nowhere", f"link{number}.log", ".", ".."))
    return files


def copy(rng: random.Random, files: Files, _: dict[str, str]) -> Files:
    """The same file twice."""
    name = rng.choice(sorted(files))
    return {**files, f"copy/{name}": files[name]}


def outputs(rng: random.Random, files: Files, _: dict[str, str]) -> Files:
    """A file among them looks like a report of this program."""
    said = (
        b'{"schema_version": 1, "tool": {"name": "rebalance-forensics"',
        b"<!doctype html>\n<title>rebalance",
        b"[{}",
    )
    return {**files, rng.choice(("report.json", "report.html", "events.json")): rng.choice(said)}


CHANGES: tuple[Change, ...] = (rename, roll, roll, merge, empty, link, copy, outputs)


def changed(rng: random.Random, files: Files, links: dict[str, str], done: list[str]) -> Files:
    """One to three changes."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        change = rng.choice(CHANGES)
        done.append(change.__name__)
        files = change(rng, files, links)
    return files
