"""How clients in other languages show in their own logs that they are new to a running group."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

ID = "app-{}-98a07f61-71e0-4d07-9f3f-8a8a1b2c3d4{}"
FRANZ_REFUSED = "join returned MemberIDRequired, rejoining with response's MemberID"
PYTHON_JOINED = "kafka.coordinator: Successfully joined group payments"
STEADY_UNTIL = 40
PYTHON = (
    "{at},300 INFO kafka.coordinator: (Re-)joining group payments",
    "{at},310 INFO kafka.coordinator: Received member id {id} for group payments; will retry join-group",
    "{at},320 INFO kafka.coordinator: (Re-)joining group payments",
)
FRANZ_GO = (
    "{at}.300 [INFO] joining group; group: payments",
    "{at}.310 [INFO] " + FRANZ_REFUSED + "; group: payments, member_id: {id}",
)
PYTHON_IN = ("{at},400 INFO " + PYTHON_JOINED + " <Generation {generation} (member_id: {id}, protocol: range)>",)
FRANZ_GO_IN = ("{at}.400 [INFO] joined; group: payments, member_id: {id}, generation: {generation}, leader: false",)


def grown(directory: Path, comes: tuple[str, ...], is_in: tuple[str, ...]) -> tuple[Incident, ...]:
    """Three members start a few seconds apart and are in one generation; two more come half a minute later."""
    asks_again = tuple(line for line in comes if "oining group" in line)[:1]
    for number, second in ((1, 1), (2, 3), (3, 5), (4, STEADY_UNTIL), (5, STEADY_UNTIL)):
        parts = [(second, comes, 1)]
        if second < STEADY_UNTIL:
            parts += [(9, is_in, 1), (STEADY_UNTIL + 2, asks_again, 2)]
        parts.append((STEADY_UNTIL + 3, is_in, 2))
        lines = [
            line.format(at=f"2026-03-01 01:10:{at:02}", id=ID.format(number, number), generation=generation)
            for at, said, generation in parts
            for line in said
        ]
        (directory / f"node-{number}").mkdir()
        (directory / f"node-{number}" / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tuple(analyze([str(directory)], AnalyzeOptions(engine="local")).incidents)


@pytest.mark.parametrize(
    ("comes", "is_in"),
    [(PYTHON, PYTHON_IN), (FRANZ_GO, FRANZ_GO_IN)],
    ids=["kafka-python", "franz-go"],
)
def test_members_that_are_given_their_first_ids_while_others_are_in_were_added(
    tmp_path: Path, comes: tuple[str, ...], is_in: tuple[str, ...]
) -> None:
    causes = {c.cause: c for incident in grown(tmp_path, comes, is_in) for c in incident.root_causes[:1]}
    assert "unexplained" not in causes
    assert sorted(culprit.name[-1] for culprit in causes["scale-out"].culprits) == ["4", "5"]
