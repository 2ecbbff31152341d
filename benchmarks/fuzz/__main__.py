"""Fuzz: `python -m benchmarks.fuzz --inputs 1000000`. Interrupted, the same command continues where it stopped."""

from __future__ import annotations

import argparse
import logging
import tempfile
import warnings
from pathlib import Path

from benchmarks.fuzz import reduction
from benchmarks.fuzz.cases import CASES, keep, kept
from benchmarks.fuzz.chunks import CHUNK
from benchmarks.fuzz.inputs import KINDS, input_of
from benchmarks.fuzz.summary import summary
from benchmarks.fuzz.workers import done_before, run_all

ALL = (*KINDS, "tables")


def main() -> None:
    """Run the fuzzer with the given options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number to begin with, where another run ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(ALL), help="some of them, with commas between")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--state", type=Path, default=Path(tempfile.gettempdir()) / "rebalance-forensics-fuzz")
    parser.add_argument("--show", type=int, help="the input of this number, and what is found on it")
    parser.add_argument("--keep", type=int, help="the same, made smaller and kept as a case")
    parser.add_argument("--replay", action="store_true", help="the kept cases: which of them still break a law")
    arguments = parser.parse_args()
    kinds = tuple(arguments.kinds.split(","))
    if unknown := set(kinds) - set(ALL):
        parser.error(f"no such kind: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    number = arguments.show if arguments.show is not None else arguments.keep
    if arguments.replay:
        replay()
    elif number is not None:
        look(arguments.seed, number, tuple(kind for kind in kinds if kind in KINDS), keeping=arguments.keep is not None)
    else:
        first = arguments.first // CHUNK
        wanted = range(first, first + -(-arguments.inputs // CHUNK))
        run(arguments.seed, wanted, kinds, arguments.state, arguments.processes)


def run(seed: int, chunks: range, kinds: tuple[str, ...], state: Path, processes: int) -> None:
    """Run all remaining chunks; returns the table of all chunks."""
    state.mkdir(parents=True, exist_ok=True)
    file = state / f"{seed}-{'-'.join(kinds)}.jsonl"
    before = {record["chunk"] for record in done_before(file)}
    if rest := [chunk for chunk in chunks if chunk not in before]:
        done = len(chunks) - len(rest)
        print(f"{done} of {len(chunks)} thousand are done; what is done is kept in {file}", flush=True)
        run_all(seed, rest, kinds, file, processes)
    print(summary(seed, [record for record in done_before(file) if record["chunk"] in chunks]))


def look(seed: int, number: int, kinds: tuple[str, ...], *, keeping: bool) -> None:
    """Run a single input and print what it breaks."""
    one = input_of(seed, number, kinds)
    found = reduction.finds(one)
    for find in found:
        print(f"{find.law}: {find.sign}\n{find.detail}\n")
    if keeping and found:
        one = reduction.reduced(one, found[0].sign)
        print(f"kept in {keep(found[0], one, f'seed {seed}, number {number}')}; write its sentence")
    print(one.kind, *one.done, sep=", ")
    for path, data in one.files.items():
        print(f"--- {path}\n{data!r}")


def replay() -> None:
    """Run all stored cases."""
    for case in kept():
        found = reduction.finds(case.input)
        print(f"{'BREAKS' if found else 'holds'}  {case.name}: {case.sentence}")
        for find in found:
            print(f"        {find.law}: {find.sign}")
    print(f"in {CASES}")


if __name__ == "__main__":
    main()
