from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.catalog.pattern_checks import check
from tests.catalog.test_cache import PATTERN


def _problems(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "mine" / "broker" / "buried.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return [str(problem).removeprefix(f"{file}:") for problem in check([tmp_path / "mine"])]


def test_a_sound_pattern_has_no_problem(tmp_path: Path) -> None:
    assert _problems(tmp_path, PATTERN) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("GroupDied", "GroupBuried", "1: there is no event GroupBuried; docs/events.md lists them."),
        ("{group:id}", "{group:id", "4: a lone { at column 23; write it twice for a brace."),
        ("{group:id}", "{group:idd}", "4: no field type is called 'idd'"),
        ("{group:id}", "{grupp:id}", "4: GroupDied has no field 'grupp'; it has generation."),
        ("{group: payments}", "{group: orders}", "8: sample 'buried': group is payments, not orders."),
        ("{group: payments}", "{}", "8: sample 'buried': it yields group: payments, too; add it to fields:."),
        ("fork praised", "fork buried", "12: the reject 'praised' matches all the same."),
        ('buried group {group:id}"', 'ate group {group:id}"', "8: no template matches the sample 'buried'."),
        ("meaning: A group of ours died.\n", "", "1: meaning: is missing; say in one sentence what the line tells."),
        ("templates:", "template:", "3: nothing is called 'template' here"),
        ("    logged_by: Fork.java\n", "", "4: logged_by: is missing"),
        ("event: GroupDied", "event: [", "3: this is not YAML"),
        ("Our fork buried group {group:id}", "{group:id} of {_:id}", "4: no words in it are rare enough"),
    ],
)
def test_each_problem_is_named_with_its_line_and_its_remedy(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert any(line.startswith(said) for line in _problems(tmp_path, PATTERN.replace(before, after, 1)))


def test_a_template_without_a_sample_is_unproven(tmp_path: Path) -> None:
    more = '  - text: "Our fork interred group {group:id}"\n    logged_by: Fork.java\nsamples:'
    assert _problems(tmp_path, PATTERN.replace("samples:", more)) == [
        "6: no sample matches this template; add one under samples:."
    ]


def test_a_pattern_may_not_claim_what_ours_knows(tmp_path: Path) -> None:
    words = "Group {group:id} transitioned to Dead in generation {generation:int}"
    ours = "Group payments transitioned to Dead in generation 5"
    text = PATTERN.replace("Our fork buried group {group:id}", words)
    text = text.replace("Our fork buried group payments", ours).replace(
        "{group: payments}", "{group: payments, generation: 5}"
    )
    assert any("broker/group-died claims the sample 'buried', too." in line for line in _problems(tmp_path, text))


def test_one_file_is_checked_as_its_folder_would_be(tmp_path: Path) -> None:
    _problems(tmp_path, PATTERN)
    assert check([tmp_path / "mine" / "broker" / "buried.yaml"]) == []


def test_a_file_of_the_same_name_as_ours_replaces_ours(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "broker" / "group_died.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(PATTERN)
    assert check([tmp_path / "mine"]) == []
