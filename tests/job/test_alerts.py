"""Webhooks are sent after the tables are written, again if there was no response, and once for each state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_forensics.job import alerts
from rebalance_forensics.job.alerts import deliver, webhook_of
from rebalance_forensics.pipeline.inputs.stores import Store
from tests.conftest import ROOT
from tests.job.conftest import Run, rows
from tests.job.receiver import UNANNOUNCED, Receiver

SINCE, UNTIL = "2026-03-01", "2026-03-04"
KILLED = 9
DIES_BEFORE_NOTING = """
import os, sys
from rebalance_forensics.job.alerts import deliver, webhook_of
from rebalance_forensics.pipeline.inputs.stores import Store
write = Store.write
def dying(store, path, data):
    if "/sent/" in path and not path.endswith(".asked"):
        os._exit(9)
    write(store, path, data)
Store.write = dying
[*deliver(Store(sys.argv[1]), [webhook_of(sys.argv[2])])]
"""


def delivered(store: Path, *webhooks: str, timeout_s: float = 2.0) -> list[str]:
    hooks = [webhook_of(w) for w in webhooks]
    return [*deliver(Store(str(store)), hooks, pauses_s=(0.01, 0.01), timeout_s=timeout_s)]


@pytest.fixture
def tables(run: Run, receiver: Receiver, tmp_path: Path) -> Path:
    """Tables of a run that had somebody to tell."""
    run(SINCE, UNTIL, "--webhook", f"generic={receiver.url}", "--alert-from", "info")
    return tmp_path / "tables"


def test_every_incident_is_sent_once(tables: Path, receiver: Receiver, run: Run) -> None:
    incidents = {row["id"] for row in rows(tables)["incidents"]}
    assert delivered(tables, f"generic={receiver.url}") == []
    run(SINCE, "2026-03-05", "--webhook", f"generic={receiver.url}", "--alert-from", "info")
    assert delivered(tables, f"generic={receiver.url}") == []
    assert sorted(message["dedup_key"] for message in receiver.accepted) == sorted(incidents)


@pytest.mark.parametrize("answers", [[500, 503], [429, UNANNOUNCED], [UNANNOUNCED, 500]])
def test_a_receiver_that_fails_or_times_out_is_asked_again(
    tables: Path, receiver: Receiver, answers: list[int]
) -> None:
    receiver.answers = list(answers)
    assert delivered(tables, f"generic={receiver.url}", timeout_s=0.3) == []
    assert receiver.asked == len(receiver.accepted) + len(answers)


def test_a_receiver_that_stays_down_gets_the_message_from_the_next_run(tables: Path, receiver: Receiver) -> None:
    incidents = rows(tables)["incidents"]
    receiver.answers = [200, 500, 500, 500]
    (problem,) = delivered(tables, f"generic={receiver.url}")
    assert "it responded with 500" in problem
    assert len(receiver.accepted) == 1
    assert delivered(tables, f"generic={receiver.url}") == []
    keys = [message["dedup_key"] for message in receiver.accepted]
    assert sorted(keys) == sorted(row["id"] for row in incidents)


def test_a_refusal_is_not_argued_with(tables: Path, receiver: Receiver) -> None:
    receiver.answers = [403]
    assert "it responded with 403" in delivered(tables, f"generic={receiver.url}")[0]
    assert receiver.asked == 1


def test_slack_and_pagerduty_get_what_they_understand(
    tables: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "PAGERDUTY", receiver.url)
    assert delivered(tables, f"slack={receiver.url}", "pagerduty=R0UT1NGKEY") == []
    assert any("blocks" in message for message in receiver.accepted)
    events = [message for message in receiver.accepted if "event_action" in message]
    assert {event["routing_key"] for event in events} == {"R0UT1NGKEY"}
    assert {event["dedup_key"] for event in events} <= {row["id"] for row in rows(tables)["incidents"]}
    assert not any("R0UT1NGKEY" in path.name for path in tables.rglob("*"))


def test_a_message_links_to_the_page_that_the_same_run_wrote(run: Run, receiver: Receiver, tmp_path: Path) -> None:
    base, tables = "https://reports.example/kafka", tmp_path / "tables"
    run(SINCE, UNTIL, "--webhook", f"slack={receiver.url}", "--alert-from", "info", "--reports", "info", "--link", base)
    assert delivered(tables, f"slack={receiver.url}") == []
    first_lines = [message["blocks"][0] for message in receiver.accepted]
    linked = [
        element["url"].partition("#incident=")
        for line in first_lines
        if line["type"] == "rich_text"
        for element in line["elements"][0]["elements"]
        if element["type"] == "link"
    ]
    faults = {row["id"] for row in rows(tables)["incidents"] if row["severity"] != "info"}
    assert faults == {incident for _, _, incident in linked}
    for address, _, incident in linked:
        page = tables / "reports" / address.removeprefix(f"{base}/")
        assert f'id="incident-{incident}"' in page.read_text()


def killed_before_noting(tables: Path, webhook: str) -> None:
    """A run that tells one incident and dies before it can note that it did."""
    done = subprocess.run(
        [sys.executable, "-c", DIES_BEFORE_NOTING, str(tables), webhook],
        cwd=ROOT, check=False, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == KILLED, done.stderr


def test_pagerduty_gets_the_event_again_with_the_same_key(tables: Path, receiver: Receiver) -> None:
    killed_before_noting(tables, f"pagerduty=R0UT1NGKEY@{receiver.url}")
    assert delivered(tables, f"pagerduty=R0UT1NGKEY@{receiver.url}") == []
    triggers = [message["dedup_key"] for message in receiver.accepted if message["event_action"] == "trigger"]
    assert set(triggers) == {row["id"] for row in rows(tables)["incidents"]}
    assert len(triggers) == len(set(triggers)) + 1


@pytest.mark.parametrize("kind", ["slack", "generic"])
def test_no_other_message_is_sent_twice_whatever_happens(kind: str, tables: Path, receiver: Receiver) -> None:
    killed_before_noting(tables, f"{kind}={receiver.url}")
    (problem,) = delivered(tables, f"{kind}={receiver.url}")
    assert f"{kind} may not have received incident" in problem
    assert len(set(receiver.keys)) == len(receiver.keys) == len(rows(tables)["incidents"])
    assert delivered(tables, f"{kind}={receiver.url}") == []
