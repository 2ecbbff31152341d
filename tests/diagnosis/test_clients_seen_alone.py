"""What the logs of clients in other languages tell of their group, without a line of its coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.lives import CLIENTS, Client, Group, clock

EVERY = pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
LATER = 600


def named(found: list[Incident]) -> list[str]:
    return [incident.root_causes[0].cause for incident in found]


@EVERY
def test_members_that_start_into_generation_one_start_the_group(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3).goes(LATER, 3)  # Sarama names a generation when it is over
    assert named(group.incidents(tmp_path))[0] == "startup"


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
    confidences = {
        cause.cause: cause.confidence
        for incident in group.incidents(tmp_path, 2, since=LATER - 1)
        for cause in incident.root_causes
    }
    assert confidences.get("slow-processing", 0) < 0.5
    assert not {"startup", "shutdown", "process-crash"} & {cause for cause, sure in confidences.items() if sure > 0.55}


@EVERY
def test_the_log_of_a_newcomer_alone_does_not_start_the_group(tmp_path: Path, client: Client) -> None:
    group = Group(client).formed(60, 1, 2, 3).comes(LATER, 4)
    assert "startup" not in named(group.incidents(tmp_path, 4))


def test_the_log_of_one_sarama_member_within_its_first_session_shows_no_other_member(tmp_path: Path) -> None:
    (incident,) = Group(CLIENTS["Sarama"]).formed(60, 1, 2, 3).comes(LATER, 4).incidents(tmp_path, 4)
    assert [(cause.cause, cause.confidence) for cause in incident.root_causes] == [("scale-out", 0.4)]


def test_sarama_members_are_in_the_generations_that_their_sessions_end(tmp_path: Path) -> None:
    group = Group(CLIENTS["Sarama"]).formed(60, 1, 2, 3).comes(LATER, 4).goes(2 * LATER, 2)
    group.incidents(tmp_path)
    (only,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).groups
    assert [(g.generation, len(g.members)) for g in only.generations] == [(1, 3), (2, 4)]


def test_another_client_of_the_process_neither_starts_nor_stops_a_sarama_member(tmp_path: Path) -> None:
    group = Group(CLIENTS["Sarama"]).formed(60, 1, 2, 3)
    for second, message in ((LATER, "Initializing new client"), (LATER + 7, "Closing Client")):
        group.logs[1].append(f"[sarama] 2026/03/01 {clock(second)} {message}")
    group.goes(2 * LATER, 3).comes(3 * LATER, 4)
    found = group.incidents(tmp_path)
    assert named(found) == ["startup", "scale-in", "scale-out"]
    assert [culprit.name for culprit in found[1].root_causes[0].culprits] == ["pay-3"]
