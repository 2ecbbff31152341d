"""Every command does what the contract says, as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.conftest import SAMPLES, SHORT_LOG, Command

FAILED = (
    "[2026-03-01 10:05:00,000] INFO [GroupCoordinator 1]: Member c-1-77aa in group payments has failed, "
    "removing it from the group (kafka.coordinator.group.GroupCoordinator)"
)


def test_analyze_prints_the_report_and_nothing_else(command: Command, logs: Path) -> None:
    done = command("analyze", logs, "--engine", "local")
    assert (done.returncode, done.stderr) == (0, "")
    assert "payments" in done.stdout
    assert "\x1b" not in done.stdout


def test_analyze_reads_standard_input(command: Command) -> None:
    done = command("analyze", "-", "--engine", "local", "--json", "-", input=SHORT_LOG)
    assert json.loads(done.stdout)["groups"][0]["group"] == "payments"


def test_the_same_input_gives_the_same_bytes(command: Command, logs: Path) -> None:
    first, second = (command("analyze", logs, "--engine", "local", "--json", "-").stdout for _ in range(2))
    assert first == second


def test_analyze_writes_every_output_at_once(command: Command, logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    done = command(
        "analyze", logs, "--engine", "local",
        "--json", out / "r.json", "--html", out / "r.html", "--events", out / "events",
        "--export", f"markdown={out / 'r.md'}",
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads((out / "r.json").read_text())["schema_version"] == 1
    assert (out / "r.html").read_text().startswith("<!")
    assert "payments" in (out / "r.md").read_text()
    events = pq.read_table(out / "events").to_pylist()
    assert [event["line"] for event in events if event["event"] == "MemberFailed"] == [4]


@pytest.mark.parametrize(("severity", "code"), [("info", 1), ("critical", 0)])
def test_fail_on_turns_an_incident_into_an_exit_code(command: Command, logs: Path, severity: str, code: int) -> None:
    report = json.loads(command("analyze", logs, "--engine", "local", "--json", "-").stdout)
    assert {incident["severity"] for incident in report["incidents"]} - {"critical"}
    done = command("analyze", logs, "--engine", "local", "--fail-on", severity)
    assert done.returncode == (1 if any(i["severity"] == "critical" for i in report["incidents"]) else code)


def test_only_the_group_that_was_asked_for(command: Command, logs: Path) -> None:
    other = logs / "other.log"
    other.write_text(SHORT_LOG.replace("payments", "orders"))
    done = command("analyze", logs, "--engine", "local", "--json", "-", "--group", "orders")
    report = json.loads(done.stdout)
    assert {group["group"] for group in report["groups"]} == {"orders"}
    assert {incident["group"] for incident in report["incidents"]} == {"orders"}


def test_directories_can_be_separate_clusters(command: Command, tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        (tmp_path / "logs" / cluster).mkdir(parents=True)
        (tmp_path / "logs" / cluster / "server.log").write_text(SHORT_LOG)
    done = command("analyze", tmp_path / "logs", "--cluster-per-directory", "--engine", "local", "--json", "-")
    report = json.loads(done.stdout)
    assert [(group["cluster"], group["group"]) for group in report["groups"]] == [
        ("east", "payments"),
        ("west", "payments"),
    ]
    assert [one["cluster"] for one in report["inputs"]] == ["east", "west"]


def test_an_anonymized_report_contains_no_names(command: Command, logs: Path) -> None:
    done = command("analyze", logs, "--engine", "local", "--anonymize", "--json", "-")
    assert json.loads(done.stdout)["groups"]
    assert "payments" not in done.stdout
    assert "c-1-77aa" not in done.stdout


def test_timeline_shows_the_generations_of_a_group(command: Command, logs: Path) -> None:
    done = command("timeline", logs, "--group", "payments", "--engine", "local")
    assert done.returncode == 0
    assert "generation 1" in done.stdout


def test_timeline_needs_no_name_where_there_is_one_group(command: Command, logs: Path) -> None:
    done = command("timeline", logs, "--engine", "local")
    assert done.returncode == 0
    assert "generation 1" in done.stdout


def test_timeline_of_several_groups_asks_for_one(command: Command) -> None:
    done = command(
        "timeline",
        SAMPLES / "coordinator-failover",
        SAMPLES / "slow-processing",
        "--engine",
        "local",
    )
    assert done.returncode == 2
    assert "groups with --group: " in done.stderr


def test_timeline_of_an_unknown_group_names_those_there_are(command: Command, logs: Path) -> None:
    done = command("timeline", logs, "--group", "orders", "--engine", "local")
    assert done.returncode == 2
    assert done.stderr.endswith("groups in these logs: payments.\n")


def test_whois_rejects_an_unknown_name_and_lists_similar_names(command: Command, logs: Path) -> None:
    done = command("whois", logs, "c-1-77ab", "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no member, broker or topic matches 'c-1-77ab'; did you mean c-1-77aa?" in done.stderr


def test_whois_without_a_name_says_what_it_takes(command: Command, logs: Path) -> None:
    assert "whois takes PATH... NAME" in command("whois", logs).stderr


def test_whois_finds_a_member(command: Command, logs: Path) -> None:
    assert "c-1" in command("whois", logs, "c-1", "--engine", "local").stdout


def test_events_are_lines_of_json_with_the_place_of_each_line(command: Command, logs: Path) -> None:
    lines = command("events", logs, "--engine", "local").stdout.splitlines()
    failed = next(event for event in map(json.loads, lines) if event["event"] == "MemberFailed")
    assert failed["timestamp"] == "2026-03-01T10:05:00.000Z"
    assert failed["group"] == "payments"
    assert failed["members"] == ["c-1-77aa"]
    assert failed["pattern"].startswith("broker/")
    assert (failed["path"], failed["line"]) == ("broker-1/server.log", 4)
    whole = (logs / "broker-1" / "server.log").read_bytes()
    assert whole[failed["byte_offset"] :].startswith(FAILED.encode())


def test_coverage_tells_what_each_file_is(command: Command, logs: Path) -> None:
    done = command("coverage", logs, "--engine", "local")
    assert "broker-1/server.log" in done.stdout


def test_compare_shows_what_differs(command: Command, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "later.log").write_text("\n".join(SHORT_LOG.splitlines()[:3]) + "\n")
    done = command("compare", logs, tmp_path / "later.log", "--engine", "local")
    assert done.returncode == 0
    assert done.stdout


def test_compare_heads_its_columns_with_what_tells_the_inputs_apart(command: Command, tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        (tmp_path / day / "server.log").write_text(SHORT_LOG)
    (tmp_path / "tuesday" / "server.log").write_text("\n".join(SHORT_LOG.splitlines()[:3]) + "\n")
    done = command("compare", tmp_path / "monday", tmp_path / "tuesday", "--engine", "local")
    assert re.search(r"^ +monday +tuesday$", done.stdout, re.MULTILINE)
    assert str(tmp_path) not in done.stdout


def test_compare_names_the_incidents_there_are(command: Command, logs: Path) -> None:
    done = command("compare", f"{logs}#nonsense", logs, "--engine", "local")
    assert done.returncode == 2
    assert "no incident 'nonsense'; its incidents: " in done.stderr


def test_compare_takes_files_with_a_hash_sign_in_their_name(command: Command, logs: Path, tmp_path: Path) -> None:
    odd = tmp_path / "monday#1"
    logs.rename(odd)
    assert "no difference" in command("compare", odd, odd, "--engine", "local").stdout
    assert "has no incident 'nope'" in command("compare", f"{odd}#nope", odd, "--engine", "local").stderr


def test_explain_teaches_a_cause(command: Command) -> None:
    done = command("explain", "process-crash")
    assert done.returncode == 0
    assert "What to do" in done.stdout


@pytest.mark.parametrize("asked", ["25", "UnknownMemberIdException", "unknown member id"])
def test_explain_knows_an_error_by_its_number_its_exception_and_its_name(command: Command, asked: str) -> None:
    assert command("explain", asked).stdout.startswith("UNKNOWN_MEMBER_ID\nError 25 ")


def test_explain_guesses_what_was_meant(command: Command) -> None:
    assert "did you mean process-crash?" in command("explain", "proces-crash").stderr


def test_explain_reads_one_line_field_by_field(command: Command) -> None:
    output = command("explain", "--line", FAILED).stdout
    assert "MemberFailed" in output
    assert "2026-03-01T10:05:00.000 (zone unknown)" in output
    assert '["c-1-77aa"]' in output


def test_patterns_match_answers_each_line(command: Command) -> None:
    lines = f"{FAILED}\nnothing of Kafka\n\n"
    known, *unknown = map(json.loads, command("patterns", "match", input=lines).stdout.splitlines())
    assert (known["event"], known["fields"]["members"]) == ("MemberFailed", ["c-1-77aa"])
    assert unknown == [None, None]


def test_patterns_list_names_each_pattern_with_its_event(command: Command) -> None:
    listed = command("patterns", "list").stdout.splitlines()
    assert any(line.startswith("broker/") and " MemberFailed " in line for line in listed)


def test_patterns_check_finds_a_sample_that_does_not_match(command: Command, tmp_path: Path) -> None:
    own = tmp_path / "own" / "app"
    own.mkdir(parents=True)
    (own / "gone.yaml").write_text(
        "event: MemberLeft\nmeaning: Our wrapper says that a member went.\n"
        "templates:\n  - text: 'member {member:id} of {group:id} went'\n    logged_by: Wrapper.java\n"
        "samples:\n  - name: wrong\n    message: 'member c-1 of payments goes'\n    fields: {member: c-1}\n"
        "rejects:\n  - name: other\n    message: 'nothing'\n"
    )
    done = command("patterns", "check", tmp_path / "own")
    assert done.returncode == 1
    assert "gone.yaml:" in done.stdout


def test_wrong_usage_is_one_sentence(command: Command) -> None:
    done = command("analyze", "--frobnicate", "x")
    assert done.returncode == 2
    assert done.stderr == "rebalance-forensics: No such option: --frobnicate; see rebalance-forensics analyze --help.\n"


def test_the_version_is_printed(command: Command) -> None:
    assert command("--version").stdout.startswith("rebalance-forensics ")


@pytest.mark.parametrize("name", ["patterns match", "--help", "explain --help"])
def test_small_commands_do_not_load_spark(command: Command, name: str) -> None:
    done = command(*name.split(), input="", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "rebalance_forensics.cli.program" in loaded
    assert not loaded & {"pyspark", "pandas", "pyarrow", "rebalance_forensics.report.model"}
