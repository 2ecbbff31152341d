"""librdkafka's lines that a handler prints without the client's name belong to the one group that they name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from tests.incidents.sample import LOCAL

ASKED = '[thrd:main]: Group "{}": Rejoining group without an assignment: group rejoin\n'
ANSWERED = (
    "[thrd:main]: JoinGroup response: GenerationId 4, Protocol range, LeaderId rdkafka-1 (me), my MemberId rdkafka-1, "
    "member metadata count 1: (no error)\n"
)


@pytest.mark.parametrize("category", ["", "info: com.acme.Bus[0]\n      "])
def test_the_answer_belongs_to_the_group_that_was_asked_for(category: str, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(category + ASKED.format("payments") + category + ANSWERED)
    (group,) = analyze([str(log)], LOCAL).groups
    assert (group.group, [each.generation for each in group.generations]) == ("payments", [4])


def test_of_two_groups_in_one_log_neither_is_answered(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(ASKED.format("payments") + ASKED.format("orders") + ANSWERED)
    groups = {group.group: group.generations for group in analyze([str(log)], LOCAL).groups}
    assert not groups["payments"]
    assert not groups["orders"]
