"""What the logs of clients in other languages tell of their group, without a line of its coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from tests.diagnosis.lives import CLIENTS, Client, Group

EVERY = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
LATER = 600


def named(found: list[Incident]) -> list[str]:
    return [incident.root_causes[0].cause for incident in found]


@EVERY
def test_members_that_start_into_generation_one_start_the_group(tmp_path: Path, client: Client) -> None:
    assert named(Group(client).formed(60, 1, 2, 3).incidents(tmp_path)) == ["startup"]


@EVERY
def test_a_member_that_starts_while_others_are_in_was_added(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3).comes(LATER, 4)
    (incident,) = group.incidents(tmp_path, since=LATER - 1)
    assert incident.root_causes[0].cause == "scale-out"
    assert [culprit.name[-1] for culprit in incident.root_causes[0].culprits] == ["4"]


@EVERY
def test_members_that_are_closed_and_start_again_one_by_one_are_a_deployment(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3)
    for step, number in enumerate((1, 2, 3)):
        group.goes(LATER + 30 * step, number).comes(LATER + 30 * step + 8, number)
    found = group.incidents(tmp_path, since=LATER - 1)
    assert named(found) == ["rolling-restart"]


@EVERY
def test_a_member_that_is_closed_while_others_stay_was_removed(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3).goes(LATER, 3)
    group.comes(2 * LATER, 4)
    found = group.incidents(tmp_path, since=LATER - 1)
    assert named(found)[0] == "scale-in"


@EVERY
def test_the_log_of_one_member_that_was_restarted_blames_no_poll_loop(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3).goes(LATER, 2).comes(LATER + 8, 2)
    told = {
        cause.cause: cause.confidence
        for incident in group.incidents(tmp_path, 2, since=LATER - 1)
        for cause in incident.root_causes
    }
    assert told.get("slow-processing", 0) < 0.5
    assert not {"startup", "shutdown", "process-crash"} & {cause for cause, sure in told.items() if sure > 0.55}


@EVERY
def test_the_log_of_a_newcomer_alone_does_not_start_the_group(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3).comes(LATER, 4)
    assert "startup" not in named(group.incidents(tmp_path, 4))
