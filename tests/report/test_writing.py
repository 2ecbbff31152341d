from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_forensics.report import output_files
from rebalance_forensics.report.output_files import OutputError, held_back, write_whole


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    write_whole(target, "new \udcff\n")
    assert target.read_text(encoding="utf-8") == "new \\udcff\n"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("characters_in_memory", [0, 1 << 24])
def test_pieces_that_cannot_be_made_leave_the_old_file_and_an_empty_pipe(
    characters_in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "MOST_IN_MEMORY", characters_in_memory)

    def pieces() -> Iterator[str]:
        yield "{"
        raise ValueError

    target, pipe = tmp_path / "report.json", tmp_path / "pipe"
    write_whole(target, iter(["old", "\n"]))
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for place in (target, pipe):
        with pytest.raises(ValueError, match=r"^$"):
            write_whole(place, pieces())
    assert target.read_text(encoding="utf-8") == "old\n"
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_a_new_file_holds_log_text_and_is_its_owners_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "report.json", "x")
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write .*report\.json: no such file or directory; choose another"):
        write_whole(tmp_path / "nowhere" / "report.json", "x")


def test_a_folder_in_place_of_the_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is a directory"):
        write_whole(tmp_path, "x")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old", encoding="utf-8")
    (tmp_path / "link.json").symlink_to("real.json")
    write_whole(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text(encoding="utf-8") == "new"


def test_a_disk_that_is_full_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this machine")
    with pytest.raises(OutputError, match="no space left on device"):
        write_whole(Path("/dev/full"), "x")


@pytest.mark.parametrize("characters_in_memory", [0, 1 << 24])
def test_a_long_report_for_a_pipe_waits_as_it_is_until_all_of_it_is_made(
    characters_in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "MOST_IN_MEMORY", characters_in_memory)
    made: list[str] = []

    def pieces() -> Iterator[str]:
        for piece in ("{\r\n", "\udcff ü\n", "}\n"):
            made.append(piece)
            yield piece

    held = held_back(pieces())
    assert "".join(made) == "".join(held) == "{\r\n\udcff ü\n}\n"
    assert list(held_back("whole")) == ["whole"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "through the pipe")
    assert os.read(reader, 100) == b"through the pipe"
    assert pipe.is_fifo()
    os.close(reader)


def test_the_systems_own_words_say_why() -> None:
    arrow = OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")
    sentence = str(OutputError.of(Path("x"), arrow))
    assert sentence.startswith("cannot write x: no space left on device; free some space there or choose")
