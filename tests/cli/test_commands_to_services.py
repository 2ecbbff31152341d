"""Lines of the docs that talk to a service, run as they stand by a real shell and curl against a server of the test.

Only the host is another one: a `curl` before the real one puts this server's address in place of the documented one.
Commands of products that are not on this machine (kubectl, stern, docker, logcli, elasticdump, aws, gcloud) are read by
the shell and not run.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.sources.wrapping import WRAPPINGS, entries

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "curl", "jq"))), reason="bash, curl or jq is not installed"
)
OUTPUTS, GETTING_LOGS = (
    (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("outputs.md", "getting-logs.md")
)
TABLE = [
    (row[0].strip(), row[1].strip().strip("`"), row[3].strip().strip("`"))
    for line in GETTING_LOGS.splitlines()
    if len(row := re.split(r"(?<= )\| ", line.strip("| "))) == 4 and row[1].startswith("`")
]
Shell = Callable[..., subprocess.CompletedProcess[str]]


class Service:
    """A server that notes what it is sent, and answers with `answer`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Mapping[str, str], str]] = []
        self.answer = "ok"
        service = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                service.requests.append((self.command, self.path, dict(self.headers), body))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(service.answer.encode())

            def log_message(self, *_: Any) -> None:  # noqa: ANN401 - whatever it would print
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def service() -> Iterator[Service]:
    """A server on this machine."""
    running = Service()
    yield running
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture
def shell(tmp_path: Path, service: Service) -> Shell:
    """A shell in a directory with logs, in which the program is installed and each host is the server of the test."""
    here, programs = tmp_path / "cwd", tmp_path / "bin"
    programs.mkdir()
    here.mkdir()
    (here / "logs").symlink_to(ROOT / "sample_logs" / "slow-processing")
    scripts = {
        "rebalance-forensics": f'exec "{sys.executable}" -m rebalance_forensics "$@"',
        "curl": f'exec "{shutil.which("curl")}" --max-time 30 "${{@/#https:\\/\\/+([^\\/])/{service.address}}}"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!{shutil.which('bash')}\nshopt -s extglob\n{script}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"

    def run(line: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line], cwd=here, capture_output=True, text=True, check=False, timeout=300,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(tmp_path), **env},
        )  # fmt: skip

    return run


def sending(to: str) -> str:
    """The command of docs/outputs.md that sends there, all lines of it."""
    found = re.search(rf"^\$ (rebalance-forensics [^\n]*{to}(?:[^\n]*\n +)?[^\n]*)$", OUTPUTS, re.MULTILINE)
    assert found, to
    return found[1]


def fetching(product: str) -> str:
    return next(command for name, command, _ in TABLE if name == product)


def test_the_message_for_slack_arrives_as_json_with_its_blocks(shell: Shell, service: Service) -> None:
    done = shell(sending("slack=-"), SLACK_WEBHOOK="https://hooks.slack.com/services/T0/B0/x")
    assert done.returncode == 0, done.stderr
    [(_, path, headers, body)] = service.requests
    assert (path, headers["Content-Type"]) == ("/services/T0/B0/x", "application/json")
    message = json.loads(body)
    assert message["text"].startswith("Warning: slow-processing, 97 % sure")
    assert message["blocks"]


def test_each_event_for_pagerduty_arrives_as_json_with_the_key(shell: Shell, service: Service) -> None:
    done = shell(sending("pagerduty=-"), KEY="r0ut1ng")
    assert done.returncode == 0, done.stderr
    assert {(path, headers["Content-Type"]) for _, path, headers, _ in service.requests} == {
        ("/v2/enqueue", "application/json")
    }
    triggered, resolved = (json.loads(body) for _, _, _, body in service.requests)
    assert (triggered["event_action"], resolved["event_action"]) == ("trigger", "resolve")
    assert (triggered["routing_key"], resolved["routing_key"]) == ("r0ut1ng", "r0ut1ng")
    assert (triggered["dedup_key"], triggered["payload"]["severity"]) == (resolved["dedup_key"], "warning")


def test_a_service_that_refuses_a_message_is_heard(shell: Shell) -> None:
    done = shell(sending("slack=-"), SLACK_WEBHOOK="http://127.0.0.1:1/nobody")
    assert done.returncode != 0
    assert "curl:" in done.stderr


def test_the_search_of_datadog_asks_as_its_api_wants_and_its_answer_is_read(shell: Shell, service: Service) -> None:
    service.answer = WRAPPINGS["datadog api"](entries())
    done = shell(f"{fetching('Datadog')} && rebalance-forensics coverage datadog.json", DD_API_KEY="a", DD_APP_KEY="b")
    assert done.returncode == 0, done.stderr
    [(method, path, headers, body)] = service.requests
    assert (method, path) == ("POST", "/api/v2/logs/events/search")
    assert (headers["DD-API-KEY"], headers["DD-APPLICATION-KEY"], headers["Content-Type"]) == (
        "a", "b", "application/json",
    )  # fmt: skip
    asked = json.loads(body)
    assert (asked["filter"]["from"], asked["filter"]["to"], asked["page"]["limit"]) == ("now-2h", "now", 1000)
    assert "broker-1" in done.stdout


def test_the_export_of_splunk_sends_its_search_and_its_answer_is_read(shell: Shell, service: Service) -> None:
    service.answer = WRAPPINGS["splunk json"](entries())
    done = shell(f"{fetching('Splunk')} && rebalance-forensics coverage splunk.json", SPLUNK_USER="me:secret")
    assert done.returncode == 0, done.stderr
    [(method, path, headers, body)] = service.requests
    assert (method, path) == ("POST", "/services/search/v2/jobs/export")
    assert headers["Authorization"] == f"Basic {base64.b64encode(b'me:secret').decode()}"
    assert body == "search=search index=apps earliest=-2h&output_mode=json"
    assert "broker-1" in done.stdout


def test_every_way_of_getting_at_logs_has_a_command() -> None:
    assert {"kubectl", "journald", "Loki", "CloudWatch", "GCP", "Datadog", "Splunk"} <= {name for name, _, _ in TABLE}
    assert len(TABLE) >= 12


@pytest.mark.parametrize(("product", "line"), [(name, line) for name, line, _ in TABLE])
def test_a_shell_reads_the_command(product: str, line: str) -> None:
    read = subprocess.run(["bash", "-n", "-c", line], capture_output=True, text=True, check=False)
    assert read.returncode == 0, f"{product}: {read.stderr}"


def test_every_make_target_of_the_docs_is_there() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    texts = [document.read_text(encoding="utf-8") for document in documents]
    named = {target for text in texts for target in re.findall(r"(?:^\$ |^    |`)make ([a-z-]+)", text, re.MULTILINE)}
    assert {"demo", "test", "check", "lint", "test-patterns"} <= named
    there = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert named <= set(there)
