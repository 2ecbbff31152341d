"""What was asked for and fits nothing in the logs is said, and not answered with a report that all is well."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.refusals import near_names
from rebalance_forensics.sources.times.zones import UnknownZoneError, ZoneRules
from tests.conftest import Command

LOCAL = ("--engine", "local", "--quiet")


@pytest.mark.parametrize("wrong", ["paymnets", "PAYMENTS", "pay"])
def test_a_group_that_no_line_mentions(command: Command, logs: Path, wrong: str) -> None:
    done = command("analyze", logs, *LOCAL, "--group", wrong)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rebalance-forensics: no line mentions group {wrong!r}; did you mean payments?\n"


def test_for_an_unknown_group_name_the_existing_groups_are_listed(command: Command, logs: Path) -> None:
    done = command("timeline", logs, "--engine", "local", "--group", "xyz")
    assert done.returncode == 2
    assert "groups in these logs: payments." in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--since", "2030-01-01"), "nothing in this window; the logs end at 2026-03-01 10:05:00 UTC."),
        (("--until", "2020-01-01"), "nothing in this window; the logs begin at 2026-03-01 10:00:00 UTC."),
        (("--since", "1h", "--until", "2h"), "is not before --until"),
    ],
)
def test_a_window_outside_the_logs_is_refused_not_called_free_of_faults(
    command: Command, logs: Path, options: tuple[str, ...], said: str
) -> None:
    done = command("analyze", logs, *LOCAL, *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


def test_a_date_is_no_place_in_logs_that_print_none(command: Command, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(
        "01:58:34.063 [main] INFO  o.a.k.c.c.i.AbstractCoordinator - "
        "[Consumer clientId=c-1, groupId=etl] (Re-)joining group\n"
    )
    os.utime(tmp_path / "app.log", (0, 0))
    done = command("analyze", tmp_path, "--since", "2026-03-01", *LOCAL)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "These logs print no date" in done.stderr


def test_a_host_that_is_in_no_log_is_named(command: Command, logs: Path) -> None:
    done = command("analyze", logs, *LOCAL, "--tz", "broker-9=+02:00")
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "--tz broker-9=+02:00: no file is of that name or host; did you mean broker-1?" in done.stderr


def test_options_that_fit_are_no_news(command: Command, logs: Path) -> None:
    done = command("analyze", logs, *LOCAL, "--since", "1h", "--tz", "broker-1=UTC", "--group", "payments")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("zone", ["+25:00", "-15", "broker-1=+1430"])
def test_an_offset_that_no_zone_has(zone: str) -> None:
    with pytest.raises(UnknownZoneError, match="no zone is so far from UTC"):
        ZoneRules.of([zone])


def test_wrong_usage_reads_as_sentences(command: Command, logs: Path) -> None:
    assert command("analize", logs).stderr == (
        "rebalance-forensics: No such command 'analize'. Did you mean 'analyze'? See rebalance-forensics --help.\n"
    )
    wrong = command("analyze", logs, "--fail-on", "bad").stderr
    assert "Invalid value for '--fail-on': 'bad' is not one of 'info', 'warning', 'critical'; see" in wrong


def test_near_names_are_the_likeliest_first() -> None:
    known = ["orders", "payments", "payments-dlq", "audit"]
    assert near_names("Payments", known) == ["payments", "payments-dlq"]
    assert near_names("paymets", known) == ["payments", "payments-dlq"]
    assert near_names("zzz", known) == near_names("", known) == []


def test_a_group_that_only_the_beginning_of_a_broken_line_names_is_reported(command: Command, tmp_path: Path) -> None:
    paste = tmp_path / "paste.txt"
    paste.write_text("[Consumer clientId=orders-4, groupId=orders] JoinGroup failed\nfatal error: The\n")
    done = command("analyze", paste, *LOCAL)
    assert done.returncode == 0
    assert "too little is logged about 1 group" in done.stdout
