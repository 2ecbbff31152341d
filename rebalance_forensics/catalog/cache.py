"""The compiled catalog on disk: kept by the hash of its files and of this code, as JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rebalance_forensics.catalog.compiled_catalog import CompiledCatalog, Entry, compile_catalog
from rebalance_forensics.catalog.fields import frozen
from rebalance_forensics.catalog.loader import load_all
from rebalance_forensics.catalog.program import Program


def directory() -> Path:
    """Where compiled catalogs are kept; it need not exist, nor be writable."""
    base = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / "rebalance-forensics"


def key_of(files: Sequence[tuple[Path, str]]) -> str:
    """A hash of the files, their ids, and the code that compiles them."""
    digest = hashlib.sha256(_code())
    for path, identifier in files:
        digest.update(f"{path}\0{identifier}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


@cache
def _code() -> bytes:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).digest()


def compiled(files: Sequence[tuple[Path, str]], key: str) -> CompiledCatalog:
    """The catalog of these files, from the cache where it is there."""
    name = f"catalog-{key}.json"
    if (text := read(name)) is not None:
        with contextlib.suppress(ValueError, KeyError, TypeError, IndexError):
            return _from_json(json.loads(text))
    catalog = compile_catalog(load_all(files))
    write(name, json.dumps(_to_json(catalog), separators=(",", ":")).encode())
    return catalog


def read(name: str) -> bytes | None:
    """What the cache holds under this name."""
    try:
        return (directory() / name).read_bytes()
    except OSError:
        return None


def write(name: str, content: bytes) -> None:
    """Keep it if that is possible; a cache that cannot be written costs time, nothing else."""
    target = directory() / name
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(temporary).replace(target)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def _to_json(catalog: CompiledCatalog) -> dict[str, object]:
    return {
        "entries": [_entry_row(e) for e in catalog.entries],
        "fragments": {name: [_program_row(p) for p in programs] for name, programs in catalog.fragments.items()},
        "errors": catalog.errors,
        "meanings": catalog.meanings,
    }


def _entry_row(entry: Entry) -> list[object]:
    return [
        entry.pattern, entry.event, entry.loggers, entry.prefixes, entry.weight, entry.dressed, entry.search_words,
        entry.sources, entry.only_at_debug, entry.in_doubt, entry.releases, *_program_row(entry.program),
    ]  # fmt: skip


def _program_row(program: Program) -> list[object]:
    return [
        program.lead, program.needle, program.source, program.loose, program.holes, program.constants, program.cuts,
        program.words, program.between,
    ]  # fmt: skip


def _from_json(found: dict[str, Any]) -> CompiledCatalog:
    return CompiledCatalog(
        entries=tuple(_entry(row) for row in found["entries"]),
        fragments={name: tuple(map(_program, rows)) for name, rows in found["fragments"].items()},
        errors=found["errors"],
        meanings=found["meanings"],
    )


def _entry(row: Sequence[Any]) -> Entry:
    pattern, event, loggers, prefixes, weight, dressed, search_words, sources, only_at_debug, *rest = row
    in_doubt, releases, *program = rest
    return Entry(
        pattern=pattern,
        event=event,
        loggers=tuple(loggers),
        prefixes=tuple(prefixes),
        weight=weight,
        dressed=dressed,
        search_words=search_words,
        program=_program(program),
        sources=tuple(sources),
        only_at_debug=only_at_debug,
        in_doubt=in_doubt,
        releases=None if releases is None else (tuple(releases[0]), tuple(releases[1])),
    )


def _program(row: Sequence[Any]) -> Program:
    lead, needle, source, loose, holes, constants, cuts, words, between = row
    return Program(
        lead=lead,
        needle=needle,
        source=source,
        loose=loose,
        holes=tuple((name, kind) for name, kind in holes),
        constants={name: frozen(value) for name, value in constants.items()},
        cuts=(cuts[0], cuts[1]),
        words=tuple(words),
        between=tuple(between),
    )
