"""The tests that a change touches, nearest first, for as long as a time box lasts: the last step of `make check`."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
CODE = ("rebalance_forensics", "tests", "benchmarks", "docs", "lab", "deploy")
TIME_BOX_S = 30.0
"""What is left of a minute after lint and types."""
MOST_FILES = 25
"""Merely to import more of them takes that long."""
QUICK = "not long and not spark and not browser"
NOTHING_TO_RUN = 5
"""How pytest ends where it was given tests and all of them are slow ones."""


class TimeBox:
    """Ends a run of pytest between two tests, and says how many were left for `make test`."""

    def __init__(self, order: list[str]) -> None:
        self.order = {path: place for place, path in enumerate(order)}
        self.ends_at = time.monotonic() + TIME_BOX_S
        self.left = 0
        self.over = self.failed = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Begin with what is nearest to the change."""
        items.sort(key=lambda item: self.order.get(item.path.relative_to(ROOT).as_posix(), len(self.order)))
        self.left = len(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember whether anything failed: to stop early is no failure."""
        self.failed = self.failed or report.failed

    def pytest_runtest_logfinish(self) -> None:
        """Count one test, and look at the clock."""
        self.left -= 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Stop before a test that would begin too late."""
        if time.monotonic() > self.ends_at:
            self.over = True
            item.session.shouldstop = f"{TIME_BOX_S:.0f} s are over; `make test` runs the other {self.left} as well"
            pytest.skip("no time left in make check")


def touched(changed: Iterable[str], sources: Mapping[str, str]) -> list[str]:
    """Test files by how many imports lie between them and a change; `sources` are all Python files by their path.

    A file that is no Python, or that nobody imports, touches the sources that name it, else those that name its folder.
    """
    importers = _importers(sources)
    nearest: dict[str, int] = {}
    front = sorted({path for one in changed for path in (one, *_by_name(one, sources))})
    distance = 0
    while front:
        nearest |= dict.fromkeys(front, distance)
        front = sorted({by for path in front for by in importers.get(path, ()) if by not in nearest})
        distance += 1
    tests = [path for path in nearest if PurePosixPath(path).name.startswith("test_") and path in sources]
    return sorted(tests, key=lambda path: (nearest[path], path))


def _by_name(changed: str, sources: Mapping[str, str]) -> Iterator[str]:
    """The sources that name a file: its own test, and for a file that is no module those that read it."""
    path = PurePosixPath(changed)
    if path.suffix == ".py":
        yield from (one for one in sources if PurePosixPath(one).name == f"test_{path.stem}.py")
        return
    for name in (path.name, *(part for part in reversed(path.parts[:-1]) if part not in CODE)):
        naming = [one for one, text in sources.items() if f'{name}"' in text or f"/{name}" in text]
        if naming:
            yield from naming
            return


def _importers(sources: Mapping[str, str]) -> dict[str, set[str]]:
    modules = {_module(path): path for path in sources}
    importers: dict[str, set[str]] = {}
    for path, text in sources.items():
        for name in _imported(ast.parse(text)):
            if name in modules:
                importers.setdefault(modules[name], set()).add(path)
    return importers


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _git_lines(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files(since: str | None) -> list[str]:
    """What differs from `since`, else from where this branch left main; what is not committed yet is part of it."""
    bases = (
        [since]
        if since
        else [*_git_lines("merge-base", "HEAD", "origin/main"), *_git_lines("merge-base", "HEAD", "main")]
    )
    base = next(iter(bases), "HEAD")
    return sorted({*_git_lines("diff", "--name-only", base), *_git_lines("ls-files", "--others", "--exclude-standard")})


def main() -> int:
    """Run them."""
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in CODE
        for path in (ROOT / folder).rglob("*.py")
    }
    tests = touched(changed_files(os.environ.get("SINCE")), sources)
    if not tests:
        sys.stdout.write("No test is touched by what differs from main; SINCE=HEAD~1 looks further back.\n")
        return 0
    if len(tests) > MOST_FILES:
        sys.stdout.write(f"The nearest {MOST_FILES} of {len(tests)} files of tests; `make test` runs them all.\n")
    box = TimeBox(tests[:MOST_FILES])
    code = int(pytest.main(["-m", QUICK, "--maxfail=5", *tests[:MOST_FILES]], plugins=[box]))
    return 0 if code == NOTHING_TO_RUN or (box.over and not box.failed) else code


if __name__ == "__main__":
    sys.exit(main())
