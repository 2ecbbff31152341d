"""The figures of a long run as tables for docs/trust.md."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.measuring import table

Done = Mapping[str, Any]
CHECKS = {
    "read": "read alone: no exception, the text of each event at its offset",
    "investigated": "passed to timeline and diagnosis",
    "whole runs": "recognized, read and reported in a whole run, with undamaged stories whose report must not change",
    "watched": "read alone with calls counted against the bound",
    "twice": "read alone twice, with the same result",
    "runs twice": "whole runs repeated and counted, with the same report",
}


def summary(seed: int, chunks: Iterable[Done]) -> str:
    """Tables of inputs, checks and findings; findings with the same sign probably have the same reason."""
    kinds: Counter[str] = Counter()
    damages: Counter[str] = Counter()
    checks: Counter[str] = Counter()
    finds: dict[tuple[str, str], list[int]] = defaultdict(list)
    cpu, size = 0.0, 0
    for done in chunks:
        kinds.update(done["kinds"])
        damages.update(done["damages"])
        checks.update(done["checks"])
        cpu, size = cpu + done["cpu_s"], size + done["bytes"]
        for find in done["finds"]:
            finds[find["law"], find["sign"]].append(find["number"])
    total = kinds.total()
    each = f"{cpu / total * 1000:.1f} ms each" if total else ""
    found = f"{sum(map(len, finds.values())):,} findings of {len(finds)} signs"
    parts = [
        f"{total:,} inputs of seed {seed}, {size / 1e6:,.0f} MB, {cpu / 60:.0f} minutes of CPU, {each}; {found}.\n",
        table(("kind", "inputs"), [(kind, f"{number:,}") for kind, number in kinds.most_common()]),
        table(("checked", "inputs"), [(words, f"{checks[name]:,}") for name, words in CHECKS.items()]),
    ]
    if finds:
        rows = [
            (law, sign.replace("|", "\\|"), len(numbers), min(numbers))
            for (law, sign), numbers in sorted(finds.items(), key=lambda item: -len(item[1]))
        ]
        parts.append(table(("broken law", "sign", "times", "first number"), rows))
    return "\n".join(parts)
