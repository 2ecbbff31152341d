"""`make check` runs the tests that a change touches, nearest first, and no longer than a time box."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.touched import touched

SOURCES = {
    "rebalance_forensics/records.py": "",
    "rebalance_forensics/timeline/leaders.py": "from rebalance_forensics.records import Origin",
    "rebalance_forensics/report/html/page.py": 'ASSET = "report.css"\nFOLDER = "templates"',
    "tests/building.py": "from rebalance_forensics.timeline import leaders",
    "tests/timeline/test_leaders.py": "import subprocess",
    "tests/timeline/test_members.py": "from tests.building import a_leader",
    "tests/report/test_html.py": "from rebalance_forensics.report.html.page import to_html",
    "tests/test_readme.py": 'README = ROOT / "README.md"',
    "tests/test_other.py": "import re",
}


def test_a_module_touches_its_own_test_and_whatever_imports_it_nearest_first() -> None:
    assert touched(["rebalance_forensics/timeline/leaders.py"], SOURCES) == [
        "tests/timeline/test_leaders.py",
        "tests/timeline/test_members.py",
    ]
    assert touched(["rebalance_forensics/records.py"], SOURCES) == ["tests/timeline/test_members.py"]


def test_a_changed_test_is_touched_by_itself() -> None:
    assert touched(["tests/test_other.py"], SOURCES) == ["tests/test_other.py"]


def test_a_file_that_is_no_module_touches_the_tests_that_name_it_or_its_folder() -> None:
    assert touched(["README.md"], SOURCES) == ["tests/test_readme.py"]
    for asset in ("report.css", "incident.html.j2"):
        assert touched([f"rebalance_forensics/report/templates/{asset}"], SOURCES) == ["tests/report/test_html.py"]


def test_a_deleted_file_is_not_run() -> None:
    assert touched(["tests/test_gone.py"], SOURCES) == []


def test_the_time_box_ends_a_run_between_two_tests_and_says_how_many_are_left(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    code = (
        "import sys, pytest, tests.touched as touched\n"
        f"touched.ROOT, touched.TIME_BOX_S = touched.Path({str(tmp_path)!r}), 3_600\n"
        "class OneTest(touched.TimeBox):\n"
        "    def pytest_runtest_logfinish(self):\n"
        "        super().pytest_runtest_logfinish()\n"
        "        self.ends_at = 0\n"
        "box = OneTest([])\n"
        f"pytest.main(['-p', 'no:cacheprovider', {str(tmp_path)!r}], plugins=[box])\n"
        "sys.exit(0 if box.over and not box.failed else 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "1 passed" in done.stdout
    assert "`make test` runs the other 1 as well" in done.stdout
