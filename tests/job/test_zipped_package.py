"""Executors may get the package as a zip, as `--py-files` brings it."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.conftest import ROOT

MATCHES = """
import rebalance_forensics
from rebalance_forensics.pipeline.catalogs import catalog_of
match = catalog_of(()).match("Member c-1-77aa in group g has failed, removing it from the group")
print(Path(rebalance_forensics.__file__).parts[-3], match.event)
"""


def zipped(target: Path, *, compiled: bool = False) -> Path:
    """What the wheel holds: the package, with the patterns inside of it; `compiled`, so that nobody waits for that."""
    with zipfile.ZipFile(target, "w") as archive:
        for folder, inside in (("rebalance_forensics", "."), ("patterns", "catalog/_shipped")):
            for path in (ROOT / folder).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    name = Path("rebalance_forensics", inside, path.relative_to(ROOT / folder))
                    archive.write(path, name)
                    if compiled and path.suffix == ".py":
                        code = target.with_suffix(".pyc")
                        py_compile.compile(
                            str(path), str(code), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
                        )
                        archive.write(code, name.with_suffix(".pyc"))
    return target


def test_the_patterns_are_read_from_a_zip(tmp_path: Path) -> None:
    package = zipped(tmp_path / "package.zip")
    done = subprocess.run(
        [sys.executable, "-c", "from pathlib import Path\n" + MATCHES],
        env={**os.environ, "PYTHONPATH": str(package), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "package.zip MemberFailed\n", done.stderr
    assert not list(tmp_path.glob("rebalance-forensics-*"))
