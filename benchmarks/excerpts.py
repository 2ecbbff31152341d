"""`python -m benchmarks.excerpts LOGS`: do the whole logs bear out what excerpts of them claim.

LOGS holds one folder an incident, with its logs in it or in `logs/`. Of each, runs of neighbouring lines about groups
(1 to 21 lines of one file, as people paste them) are drawn by a fixed seed and analyzed alone. A claim of an excerpt
holds where the report on the whole logs has an incident of that group, within a minute, with that cause among its root
causes. No label is needed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import rebalance_forensics as rf
from rebalance_forensics.pipeline.refusals import InputError

Report = dict[str, Any]
Times = tuple[float, float]

LENGTHS = (1, 2, 3, 5, 8, 13, 21)
LEVELS = (0.9, 0.75, 0.6, 0.45)
"""Claims are counted by the confidence that they reach."""
_ABOUT_GROUPS = re.compile(
    r"[Gg]roup|generation|[Rr]ebalanc|(?i:coordinator)|\bmember|partitions (assigned|revoked|lost)|StreamThread"
    r"|[Rr]evok|[Aa]ssign"
)
_PACKED = (b"\x1f\x8b", b"PK", b"\x28\xb5", b"\xfd7")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d/\d\d/\d\d|\d\d\.\d\d\.\d{4}|\b[A-Z][a-z]{2} [ \d]\d ")
_A_MINUTE = 60.0
_HALF_HOURS_OF_ZONES = [1800.0 * number for number in range(-28, 29)]


@dataclass(frozen=True)
class Excerpt:
    """Some lines of one file of an incident."""

    incident: str
    file: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """The first cause of an incident that an excerpt shows, and what the whole logs show of that time."""

    excerpt: Excerpt
    cause: str
    confidence: float
    holds: bool
    whole: tuple[str, ...]


@dataclass(frozen=True)
class Drawn:
    """What came of the excerpts of one incident."""

    claims: tuple[Claim, ...]
    excerpts: int
    spoke: int
    """In how many of them something was found, be it unexplained."""


def excerpts_of(folder: Path, count: int, seed: int) -> Iterator[Excerpt]:
    """So many random excerpts of an incident's logs, the same for the same seed."""
    chance = random.Random(f"{folder.name} {seed}")
    files = []
    for path in sorted(_logs_of(folder).rglob("*")):
        if path.is_file() and not path.read_bytes().startswith(_PACKED):
            lines = path.read_text(errors="replace").splitlines()
            if about := [line for line in lines if _ABOUT_GROUPS.search(line)]:
                files.append((path.name, about))
    for _ in range(count if files else 0):
        (name, about), length = chance.choice(files), chance.choice(LENGTHS)
        start = chance.randrange(len(about))
        yield Excerpt(folder.name, name, tuple(about[start : start + length]))


def drawn(folder: Path, count: int, seed: int) -> Drawn:
    """Analyze random excerpts of an incident and hold what they claim to the report on all of its logs."""
    whole = _incidents(_report(_logs_of(folder)))
    claims: list[Claim] = []
    spoke = 0
    for excerpt in excerpts_of(folder, count, seed):
        report = _report_on(excerpt)
        if report is None:
            continue
        found = _incidents(report)
        spoke += bool(found)
        for incident in found:
            first = incident["root_causes"][0]
            if first["cause"] != "unexplained":
                shifts = _shifts(excerpt, report)
                near = [w for w in whole if _is_of_one_group(w, incident, whole) and _is_near(w, incident, shifts)]
                holds = any(first["cause"] == r["cause"] for w in near for r in w["root_causes"])
                causes = tuple(sorted({w["root_causes"][0]["cause"] for w in near}))
                claims.append(Claim(excerpt, first["cause"], first["confidence"], holds, causes))
    return Drawn(tuple(claims), count, spoke)


def counted(claims: Sequence[Claim]) -> dict[float, tuple[int, int]]:
    """By level: how many of the claims between it and the next the whole logs bear out, and how many there are."""
    found = {}
    for level, above in zip(LEVELS, (2.0, *LEVELS), strict=False):
        at = [claim.holds for claim in claims if level <= claim.confidence < above]
        found[level] = sum(at), len(at)
    return found


def _logs_of(folder: Path) -> Path:
    return folder / "logs" if (folder / "logs").is_dir() else folder


def _report(logs: Path) -> Report:
    report: Report = json.loads(rf.analyze(str(logs), engine="local").to_json())
    return report


def _report_on(excerpt: Excerpt) -> Report | None:
    """The report on an excerpt alone; None where it is refused for holding no line of Kafka."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "excerpt" / excerpt.file
        path.parent.mkdir()
        path.write_text("".join(f"{line}\n" for line in excerpt.lines))
        try:
            return _report(path.parent)
        except InputError:
            return None


def _incidents(report: Report) -> list[Report]:
    """Its incidents; one of the whole cluster once for each of its groups."""
    return [i | g for i in report["incidents"] for g in (i["groups"] if i.get("scope") == "cluster" else [{}])]


def _is_of_one_group(whole: Report, part: Report, everything: Sequence[Report]) -> bool:
    return whole["group"] == part["group"] or all(part["group"] != one["group"] for one in everything)


def _shifts(excerpt: Excerpt, report: Report) -> Sequence[float]:
    """By how much times of an excerpt may be off that does not print its zone, or not even a date."""
    if not any(_DATE.search(line) for line in excerpt.lines):
        return ()
    return [0.0] if any(one["zone"] for one in report["inputs"]) else _HALF_HOURS_OF_ZONES


def _is_near(whole: Report, part: Report, shifts: Sequence[float]) -> bool:
    """Whether both may be of one time; always where the excerpt has no date."""
    if part["started_at"] is None or not shifts:
        return True
    (begin, end), (since, until) = _times(part), _times(whole)
    return any(since - _A_MINUTE <= end + s and begin + s <= until + _A_MINUTE for s in shifts)


def _times(incident: Report) -> Times:
    begin, end = (
        None if at is None else datetime.fromisoformat(at).timestamp()
        for at in (incident["started_at"], incident["ended_at"])
    )
    return begin or 0.0, end or float("inf")


def main() -> None:
    """Draw, analyze, count; write the refuted excerpts where they are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.excerpts", description=__doc__)
    parser.add_argument("logs", type=Path, help="directory with one folder an incident")
    parser.add_argument("--excerpts", type=int, default=12, help="how many of each incident")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--refuted", type=Path, help="directory for the excerpts that the whole logs do not bear out")
    asked = parser.parse_args()
    folders = sorted(path for path in asked.logs.iterdir() if path.is_dir())
    with ProcessPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(partial(drawn, count=asked.excerpts, seed=asked.seed), folders))
    claims = [claim for one in found for claim in one.claims]
    for level, (held, of) in counted(claims).items():
        print(f"claims at {level} and more: {held} of {of} borne out")
    refuted = [claim for claim in claims if not claim.holds and claim.confidence >= LEVELS[-1]]
    for (confidence, cause), number in Counter((c.confidence, c.cause) for c in refuted).most_common():
        print(f"not borne out: {cause} at {confidence}, {number} times")
    print(f"something found in {sum(one.spoke for one in found)} of {sum(one.excerpts for one in found)} excerpts")
    for number, claim in enumerate(sorted(refuted, key=lambda c: -c.confidence) if asked.refuted else ()):
        name = f"{claim.confidence}-{claim.cause}-{number:03}-{claim.excerpt.incident}-{'+'.join(claim.whole)}"
        path = asked.refuted / name / claim.excerpt.file
        path.parent.mkdir(parents=True)
        path.write_text("".join(f"{line}\n" for line in claim.excerpt.lines))


if __name__ == "__main__":
    main()
