"""Caches the compiled catalog on disk as JSON, by the hash of its files and of this code."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import json

from rebalance_forensics.catalog.compiled_catalog import CompiledCatalog, compile_catalog
from rebalance_forensics.catalog.loader import load_all


def directory() -> Path:
    """The cache directory; it need not exist or be writable."""
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
    """The catalog of these files, from the cache if possible."""
    name = f"catalog-{key}.json"
    if (text := read(name)) is not None:
        with contextlib.suppress(ValueError):
            return json.decode(text, type=CompiledCatalog)
    catalog = compile_catalog(load_all(files))
    write(name, json.encode(catalog))
    return catalog


def read(name: str) -> bytes | None:
    """The cached content of this name; None if there is none."""
    try:
        return (directory() / name).read_bytes()
    except OSError:
        return None


def write(name: str, content: bytes) -> None:
    """Cache the content if possible; without a writable cache, runs only take longer."""
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
