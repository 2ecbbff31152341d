"""Inputs that broke a law, each in a small file with a description; tests/fuzz replays them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.fuzz.model import Find, Input

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An input, a description of the fault, and the law that it broke."""

    name: str
    sentence: str
    law: str
    sign: str
    input: Input


def kept(directory: Path = CASES) -> list[Case]:
    """All cases, by name."""
    return [_read(path) for path in sorted(directory.glob("*.yaml"))]


def _read(path: Path) -> Case:
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    files = {name: text.encode("latin-1") for name, text in document["files"].items()}
    one = Input(
        kind=document["kind"],
        files=files,
        done=tuple(document["done"]),
        links=document.get("links", {}),
        like=document.get("like"),
        kept=document.get("kept"),
        whole=document.get("whole", False),
    )
    return Case(name=path.stem, sentence=document["sentence"], law=document["law"], sign=document["sign"], input=one)


def keep(find: Find, one: Input, seen: str, directory: Path = CASES) -> Path:
    """Write a case; its description is added by hand. Each byte of a file is one character."""
    document: dict[str, object] = {
        "sentence": f"{find.law}: {find.sign}",
        "law": find.law,
        "sign": find.sign,
        "seen": seen,
        "kind": one.kind,
        "done": list(one.done),
        "files": {name: data.decode("latin-1") for name, data in one.files.items()},
    }
    for name in ("links", "like", "kept", "whole"):
        if value := getattr(one, name):
            document[name] = dict(value) if name == "links" else value
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{_name(find.sign)}.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False, width=110), encoding="utf-8")
    return path


def _name(sign: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in sign.lower()).split()
    return "-".join(words)[:70]
