"""The conda recipe says what pyproject.toml says: conda asks neither pip nor us."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml

from rebalance_forensics import __version__
from tests.conftest import ROOT

FOLDER = ROOT / "deploy" / "conda-forge"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PYTHON = PROJECT["project"]["requires-python"].removeprefix(">=")


def recipe(text: str) -> dict[str, Any]:
    """Its fields, with the values of its context in place."""
    for name, value in yaml.safe_load(text)["context"].items():
        text = text.replace(f"${{{{ {name} }}}}", value)
    fields: dict[str, Any] = yaml.safe_load(text)
    return fields


def of_clone() -> dict[str, Any]:
    return recipe((FOLDER / "recipe.yaml").read_text())


def spaced(requirement: str) -> str:
    """How conda writes it: `name >=1`; a name of our dependencies is the same on PyPI and on conda-forge."""
    name, operator, bound = requirement.partition(">=")
    return f"{name} {operator}{bound}"


def test_the_package_has_the_version_of_the_product() -> None:
    assert of_clone()["package"] == {"name": PROJECT["project"]["name"], "version": __version__}


def test_it_needs_what_the_wheel_needs() -> None:
    needed = of_clone()["requirements"]["run"]
    assert needed == [f"python >={PYTHON}", *map(spaced, PROJECT["project"]["dependencies"])]


def test_it_is_built_as_the_wheel_is() -> None:
    needed = of_clone()["requirements"]["host"]
    assert needed == [f"python {PYTHON}.*", "pip", *map(spaced, PROJECT["build-system"]["requires"])]


def test_it_installs_the_programs_of_the_wheel() -> None:
    programs = [f"{name} = {entry}" for name, entry in PROJECT["project"]["scripts"].items()]
    assert of_clone()["build"]["python"]["entry_points"] == programs


def test_conda_forge_gets_the_published_sdist_and_its_checksum(tmp_path: Path) -> None:
    sdist = tmp_path / "rebalance_forensics.tar.gz"
    sdist.write_bytes(b"an sdist")
    program: list[str | Path] = [sys.executable, FOLDER / "submission.py", "somebody/logs", sdist]
    submitted = recipe(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
    name = f"rebalance_forensics-{__version__}.tar.gz"
    here = of_clone()
    assert here["source"] == {"path": f"../../dist/{name}"}
    assert submitted["source"] == {
        "url": f"https://pypi.org/packages/source/r/rebalance-forensics/{name}",
        "sha256": hashlib.sha256(b"an sdist").hexdigest(),
    }
    assert submitted["extra"] == {"recipe-maintainers": ["somebody"]}
    assert submitted["about"] == {"homepage": "https://github.com/somebody/logs", **here["about"]}
    changed = ("source", "extra", "about")
    assert [submitted[key] for key in here if key not in changed] == [here[key] for key in here if key not in changed]


def test_the_licence_of_every_dependency_is_listed() -> None:
    listed = (ROOT / "docs" / "dependencies.md").read_text()
    extras = PROJECT["project"]["optional-dependencies"]
    needed = [*PROJECT["project"]["dependencies"], *(one for name in extras if name != "dev" for one in extras[name])]
    names = {re.split(r"[<>=;\s\[]", requirement)[0] for requirement in needed} - {"rebalance-forensics"}
    assert [name for name in sorted(names) if not re.search(rf"\b{re.escape(name)}\b", listed)] == []
