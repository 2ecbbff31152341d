"""Tests that share what is dear to make, one Spark, one Chromium, a file's fixtures, run in one process."""

from __future__ import annotations

import os

import pytest


@pytest.mark.parametrize("turn", range(4))
def test_the_tests_of_a_file_run_in_one_process(
    turn: int, request: pytest.FixtureRequest, testrun_uid: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("`make test` deals out files; this run deals out single tests, or has one process")
    first = tmp_path_factory.getbasetemp().parent / f"process-of-{testrun_uid}"
    if not first.exists():
        first.write_text(str(os.getpid()))
    assert first.read_text() == str(os.getpid()), f"test {turn} of this file runs in another process than the first"
