"""A Connect cluster recorded with lab/connect.py: six connectors created once, then one reconfigured every minute."""

from __future__ import annotations

import json
import re
import tarfile
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

RECORDED = Path(__file__).parent / "connect" / "reconfiguration-loop-4.1.1.tgz"
EVERY_LOG = ("broker-1", "worker-1", "worker-2")


@cache
def recorded() -> dict[str, str]:
    with tarfile.open(RECORDED) as archive:
        files = {m.name: archive.extractfile(m) for m in archive.getmembers() if m.isfile()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


def squeezed(clock: str, begin: str, tighter: int) -> str:
    at, since = datetime.fromisoformat(clock), datetime.fromisoformat(begin[1:])
    return f"{since + (at - since) / tighter:%Y-%m-%d %H:%M:%S,%f}"[:-3]


def change(
    folder: Path, hosts: tuple[str, ...], *, from_request: int | None = None, to: int | None = None, tighter: int = 1
) -> Incident:
    """The incident of the changes, from the lines of these hosts from one request of the recording to another."""
    requests = json.loads(recorded()["truth.json"])["requests"]
    clocks = [f"[{datetime.fromtimestamp(r['ts'] / 1000, UTC):%Y-%m-%d %H:%M:%S}" for r in requests]
    begin, end = "" if from_request is None else clocks[from_request], "~" if to is None else clocks[to]
    for host in hosts:
        (name,) = (name for name in recorded() if f"/{host}/" in name)
        lines = [line for line in recorded()[name].splitlines(keepends=True) if begin <= line < end]
        if tighter > 1:
            lines = [re.sub(r"(?<=^\[)[\d: ,-]+", lambda clock: squeezed(clock[0], begin, tighter), li) for li in lines]
        (folder / host).mkdir()
        (folder / host / Path(name).name).write_text("".join(lines))
    report = analyze([str(folder)], AnalyzeOptions(engine="local"))
    (incident,) = (i for i in report.incidents if i.root_causes[0].cause == "connect-config-change")
    assert {i.root_causes[0].cause for i in report.incidents} <= {"startup", "connect-config-change"}
    return incident


@pytest.mark.parametrize("hosts", [EVERY_LOG, *((host,) for host in EVERY_LOG)], ids="+".join)
def test_a_connector_reconfigured_every_minute_for_a_quarter_of_an_hour_is_a_warning(
    tmp_path: Path, hosts: tuple[str, ...]
) -> None:
    incident = change(tmp_path, hosts, from_request=6)
    blamed = [culprit.name for culprit in incident.root_causes[0].culprits]
    assert (incident.severity, blamed) == ("warning", [] if hosts == ("broker-1",) else ["copy-1"])
    assert "16 times" in incident.summary


@pytest.mark.parametrize("hosts", [EVERY_LOG, *((host,) for host in EVERY_LOG)], ids="+".join)
def test_six_connectors_created_within_ten_seconds_are_planned(tmp_path: Path, hosts: tuple[str, ...]) -> None:
    assert change(tmp_path, hosts, to=6).severity == "info"


# Sixteen rebalances in as many seconds may be sixteen connectors, as far as a broker logs it.
@pytest.mark.parametrize(
    ("tighter", "hosts"), [(7, EVERY_LOG), (7, ("broker-1",)), (60, EVERY_LOG), (60, ("worker-1",))]
)
def test_a_tighter_loop_is_no_healthier(tmp_path: Path, tighter: int, hosts: tuple[str, ...]) -> None:
    incident = change(tmp_path, hosts, from_request=6, tighter=tighter)
    assert incident.severity == "warning"
    assert hosts == ("broker-1",) or "copy-1 16 times" in incident.summary
