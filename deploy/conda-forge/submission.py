"""The recipe for conda-forge: `python deploy/conda-forge/submission.py OWNER/REPOSITORY SDIST >recipe.yaml`.

The recipe in this directory builds a clone; this one builds the published release, verified by its checksum.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

RECIPE = Path(__file__).with_name("recipe.yaml")
PUBLISHED = "https://pypi.org/packages/source/r/rebalance-forensics/rebalance_forensics-${{ version }}.tar.gz"


def submission(recipe: str, repository: str, checksum: str) -> str:
    """The recipe with the sdist of PyPI as its source, the GitHub repository, and its owner as the maintainer."""
    owner = repository.partition("/")[0]
    source = "  path: ../../dist/rebalance_forensics-${{ version }}.tar.gz\n"
    for here, there in (
        (source, f"  url: {PUBLISHED}\n  sha256: {checksum}\n"),
        ("about:\n", f"about:\n  homepage: https://github.com/{repository}\n"),
        ("recipe-maintainers: []\n", f"recipe-maintainers:\n    - {owner}\n"),
    ):
        if recipe.count(here) != 1:
            raise SystemExit(f"the recipe must have this once: {here}")
        recipe = recipe.replace(here, there)
    return recipe[recipe.index("schema_version") :]


if __name__ == "__main__":
    sdist = Path(sys.argv[2]).read_bytes()
    sys.stdout.write(submission(RECIPE.read_text(), sys.argv[1], hashlib.sha256(sdist).hexdigest()))
