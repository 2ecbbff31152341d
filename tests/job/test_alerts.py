"""Webhooks are told after the tables are written, again when nobody answered, and once for each state."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.job import alerting
from rebalance_forensics.job.alerting import deliver, webhook_of
from rebalance_forensics.pipeline.tables.stores import Store
from tests.job.conftest import Run, rows

SINCE, UNTIL = "2026-03-01", "2026-03-04"
SILENT = 0


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent; answers as it is told to, then with 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: list[int] = []
        self.accepted: list[dict[str, Any]] = []
        self.asked = 0
        self.done = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Answering(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Answer as told."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked += 1
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if answer == SILENT:
            self.server.done.wait(5)
            return
        if answer == 200:
            self.server.accepted.append(body)
        self.send_response(answer)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in the base class
        """Be quiet."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.done.set()
    server.shutdown()
    server.server_close()
    thread.join()


def told(store: Path, *webhooks: str, timeout_s: float = 2.0) -> list[str]:
    return deliver(Store(str(store)), [webhook_of(w) for w in webhooks], pauses_s=(0.01, 0.01), timeout_s=timeout_s)


@pytest.fixture
def tables(run: Run, receiver: Receiver, tmp_path: Path) -> Path:
    """Tables of a run that had somebody to tell."""
    run(SINCE, UNTIL, "--webhook", f"generic={receiver.url}", "--alert-from", "info")
    return tmp_path / "tables"


def test_every_incident_is_told_once(tables: Path, receiver: Receiver, run: Run) -> None:
    incidents = {row["id"] for row in rows(tables)["incidents"]}
    assert told(tables, f"generic={receiver.url}") == []
    run(SINCE, "2026-03-05", "--webhook", f"generic={receiver.url}", "--alert-from", "info")
    assert told(tables, f"generic={receiver.url}") == []
    assert sorted(message["dedup_key"] for message in receiver.accepted) == sorted(incidents)


@pytest.mark.parametrize("answers", [[500, 503], [429, SILENT], [SILENT, 500]])
def test_a_receiver_that_fails_or_times_out_is_asked_again(
    tables: Path, receiver: Receiver, answers: list[int]
) -> None:
    receiver.answers = list(answers)
    assert told(tables, f"generic={receiver.url}", timeout_s=0.3) == []
    assert receiver.asked == len(receiver.accepted) + len(answers)


def test_a_receiver_that_stays_down_is_told_by_the_next_run(tables: Path, receiver: Receiver) -> None:
    incidents = rows(tables)["incidents"]
    receiver.answers = [200, 500, 500, 500]
    (problem,) = told(tables, f"generic={receiver.url}")
    assert "it answered 500" in problem
    assert len(receiver.accepted) == 1
    assert told(tables, f"generic={receiver.url}") == []
    keys = [message["dedup_key"] for message in receiver.accepted]
    assert sorted(keys) == sorted(row["id"] for row in incidents)


def test_a_refusal_is_not_argued_with(tables: Path, receiver: Receiver) -> None:
    receiver.answers = [403]
    assert "it answered 403" in told(tables, f"generic={receiver.url}")[0]
    assert receiver.asked == 1


def test_slack_and_pagerduty_get_what_they_understand(
    tables: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerting, "PAGERDUTY", receiver.url)
    assert told(tables, f"slack={receiver.url}", "pagerduty=R0UT1NGKEY") == []
    assert any("blocks" in message for message in receiver.accepted)
    events = [message for message in receiver.accepted if "event_action" in message]
    assert {event["routing_key"] for event in events} == {"R0UT1NGKEY"}
    assert {event["dedup_key"] for event in events} <= {row["id"] for row in rows(tables)["incidents"]}
    assert not any("R0UT1NGKEY" in path.name for path in tables.rglob("*"))
