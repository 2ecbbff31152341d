"""Damage to the tables of the job between two runs, which must lead to no exception and no hang.

The next run need not restore tables that were removed or damaged, but it reports the damage or continues, and a run
into a new output directory produces the usual tables.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from benchmarks.fuzz.kinds import bytes as blind
from benchmarks.fuzz.laws import broken
from benchmarks.fuzz.model import Find
from benchmarks.fuzz.snippets import workplace
from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.run import Outcome
from rebalance_forensics.job.steps.engines import InProcess
from rebalance_forensics.pipeline.refusals import InputError
from tests.job.days import week

EVERY = 20
"""One in this many chunks also damages tables: a run of the job costs as much as hundreds of other inputs."""


def is_due(chunk: int, kinds: tuple[str, ...]) -> bool:
    """True if the chunk damages tables; with tables as the only kind, every chunk does."""
    return kinds == ("tables",) or chunk % EVERY == 0


def finds(seed: int, chunk: int) -> list[Find]:
    """Two runs with damage between them."""
    rng = random.Random(f"{seed}:tables:{chunk}")
    done: list[str] = []
    with workplace() as place:
        logs, output = Path(place) / "logs", Path(place) / "tables"
        paths = week(logs / "broker-1", days=3)
        late = paths[-1].read_bytes()
        paths[-1].unlink()
        try:
            _run(logs, output, "2026-03-01", "2026-03-03")
            for _ in range(rng.choice((1, 1, 2))):
                _damage(rng, output, done)
            paths[-1].write_bytes(late)
            _run(logs, output, "2026-03-01", "2026-03-04")
        except InputError:
            return []
        except Exception as error:  # noqa: BLE001 - whatever it was, it is a find
            find = broken(error, "damaged tables do not break a run")
            return [Find(law=find.law, sign=find.sign, detail=f"{done}\n{find.detail}")]
    return []


def _run(logs: Path, output: Path, since: str, until: str) -> Outcome:
    given = ["--input", str(logs), "--output", str(output), "--since", since, "--until", until]
    return run_job(parse(given).options, InProcess())


def _damage(rng: random.Random, output: Path, done: list[str]) -> None:
    """A file is deleted, truncated or overwritten, or a directory is deleted."""
    files = sorted(path for path in output.rglob("*") if path.is_file())
    chosen = rng.choice(files)
    how = rng.choice(("delete", "cut", "empty", "garble", "directory", "stray"))
    done.append(f"{how} {chosen.relative_to(output)}")
    if how == "delete":
        chosen.unlink()
    elif how == "cut":
        data = chosen.read_bytes()
        chosen.write_bytes(data[: rng.randint(0, len(data))])
    elif how == "empty":
        chosen.write_bytes(b"")
    elif how == "garble":
        chosen.write_bytes(blind.damaged(rng, chosen.read_bytes() or b"x", done))
    elif how == "directory":
        shutil.rmtree(chosen.parent)
    else:
        chosen.with_name(f"stray-{chosen.name}").write_bytes(rng.randbytes(200))
