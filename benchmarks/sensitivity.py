"""Which verdicts depend on a span of time? Each span of `timeline/windows.py` three times longer, then shorter.

    python -m benchmarks.sensitivity [FOLDER…] [--only SPAN,…] [--stride 1] [--jobs 2]

Every folder holds incidents: folders of logs, or folders with `logs` inside (default: sample_logs); `--stride 4` takes
every fourth incident. Prints Markdown: for each span and factor, the inputs whose incidents with a confidence of 0.9 or
more differ from those with unchanged spans. Each case is a forked process that changes the span before it is imported.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
from collections.abc import Iterable
from pathlib import Path

from rebalance_forensics.timeline import windows

SURE = 0.9
FACTORS = (3.0, 1 / 3)
Verdict = tuple[str, str, tuple[str, ...]]
Case = tuple[str, float]


def spans() -> list[str]:
    """The names of all spans."""
    return [name for name in dir(windows) if name.endswith("_MS")]


def incidents_in(folders: Iterable[Path]) -> list[Path]:
    """The folders of logs below these."""
    found = (path for folder in folders for path in sorted(folder.iterdir()) if path.is_dir())
    return [path / "logs" if (path / "logs").is_dir() else path for path in found]


def verdicts(logs: Path) -> list[Verdict]:
    """Group, cause and culprits of each incident with a high confidence."""
    import rebalance_forensics as rf  # noqa: PLC0415 - only once the span is changed

    with contextlib.redirect_stderr(io.StringIO()):
        report = json.loads(rf.analyze(str(logs), engine="local").to_json())
    causes = ((incident["group"], incident["root_causes"][0]) for incident in report["incidents"])
    return sorted(
        (group or "", cause["cause"], tuple(c["name"] for c in cause["culprits"]))
        for group, cause in causes
        if cause["confidence"] >= SURE
    )


def measure(case: Case, paths: list[Path]) -> dict[str, list[Verdict]]:
    """The verdicts for all inputs with one span changed."""
    name, factor = case
    if name:
        setattr(windows, name, round(getattr(windows, name) * factor))
    return {path.as_posix(): verdicts(path) for path in paths}


def _in_its_own_process(arguments: tuple[Case, list[Path]]) -> tuple[Case, dict[str, list[Verdict]]]:
    case, paths = arguments
    return case, measure(case, paths)


def name_of(path: str) -> str:
    """The incident's folder."""
    parts = Path(path).parts
    return parts[-2] if parts[-1] == "logs" else parts[-1]


def difference(before: list[Verdict], after: list[Verdict]) -> str:
    """Lost and gained verdicts, as `- cause` and `+ cause`."""
    lost = [f"- {cause} ({group})" for group, cause, culprits in before if (group, cause, culprits) not in after]
    gained = [f"+ {cause} ({group})" for group, cause, culprits in after if (group, cause, culprits) not in before]
    return ", ".join([*lost, *gained])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[Path("sample_logs")])
    parser.add_argument("--only", default="")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    paths = incidents_in(options.folders)[:: options.stride]
    wanted = [n for n in options.only.split(",") if n] or spans()
    cases: list[Case] = [("", 1.0), *((name, factor) for name in wanted for factor in FACTORS)]
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        found = dict(pool.imap(_in_its_own_process, [(case, paths) for case in cases], chunksize=1))
    before = found[cases[0]]
    print(f"{len(paths)} inputs, {sum(map(len, before.values()))} verdicts at {SURE} and more\n")
    print("| span | ms | factor | verdicts that change |\n|---|---|---|---|")
    for name, factor in cases[1:]:
        after = found[name, factor]
        changed = [(name_of(p), difference(before[p], after[p])) for p in before if before[p] != after[p]]
        listed = "; ".join(f"{incident}: {what}" for incident, what in changed)
        times = "x 3" if factor > 1 else "/ 3"
        print(f"| {name} | {getattr(windows, name):,} | {times} | {listed or 'none'} |")


if __name__ == "__main__":
    main()
