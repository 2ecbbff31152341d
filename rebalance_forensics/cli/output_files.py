"""Writes the output files of a command, in addition to what it prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from rebalance_forensics.cli.outcomes import say, warn
from rebalance_forensics.defects import ASK, DefectError, describe
from rebalance_forensics.diagnosis.model import Gap
from rebalance_forensics.pipeline.options import mode_of
from rebalance_forensics.pipeline.refusals import InputError, address_of
from rebalance_forensics.pipeline.run import Analysis
from rebalance_forensics.process.timings import stage
from rebalance_forensics.report.exports import Export, formats
from rebalance_forensics.report.json_report import json_pieces
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.output_files import held_back, write_whole

STDOUT = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The outputs of a command, checked to be writable before anything is read."""

    json: Path | None = None
    html: Path | None = None
    events: Path | None = None
    tables: Path | None = None
    exports: tuple[tuple[str, Export, Path], ...] = ()
    anonymize: bool = False
    link: str | None = None
    """The address at which the HTML page will be served."""
    mode: int | None = None
    """File permissions; None keeps those of a file that is replaced and gives a new file 600."""

    @classmethod
    def checked(
        cls,
        *,
        json: Path | None,
        html: Path | None,
        events: Path | None,
        tables: Path | None,
        export: Sequence[str],
        anonymize: bool = False,
        link: str | None = None,
        mode: str | None = None,
    ) -> Outputs:
        """The requested outputs; raises InputError for unknown formats, missing directories and conflicts."""
        exports = tuple(map(_export, export))
        permissions = None if mode is None else mode_of("--output-mode", mode)
        chosen = cls(
            json=json, html=html, events=events, tables=tables, exports=exports,
            anonymize=anonymize, link=link and address_of("--link", link), mode=permissions,
        )  # fmt: skip
        places = [target if target == STDOUT else Path(os.path.realpath(target)) for target in chosen.files()]
        for target, place in zip(chosen.files(), places, strict=True):
            check_target(target)
            if target != STDOUT and places.count(place) > 1:
                raise InputError(f"{target} is named for two outputs; give each a file of its own.")
        if events is not None and anonymize:
            raise InputError("--events holds the log lines as they are; leave out --anonymize or --events.")
        for option, directory in (("--events", events), ("--tables", tables)):
            if directory is not None and directory.exists() and not directory.is_dir():
                raise InputError(f"{option} {directory} is a file; name a directory.")
            if directory is not None:
                _check_permission(directory, directory)
        if [*chosen.files()].count(STDOUT) > 1:
            raise InputError("only one of the outputs can go to standard output (-).")
        return chosen

    def files(self) -> Sequence[Path]:
        """All files that will be written."""
        return [path for path in (self.json, self.html, *(path for *_, path in self.exports)) if path is not None]

    @property
    def any_files(self) -> bool:
        """True if there is any output in addition to what is printed."""
        return bool(self.files()) or self.events is not None or self.tables is not None

    @property
    def fills_stdout(self) -> bool:
        """True if a file format is written to standard output."""
        return STDOUT in self.files()


def shown(analysis: Analysis, outputs: Outputs) -> Report:
    """The report to write, with pseudonyms if requested."""
    return replace(_anonymized_if_requested(analysis, outputs), page=outputs.link)


def _anonymized_if_requested(analysis: Analysis, outputs: Outputs) -> Report:
    if not outputs.anonymize:
        return analysis.report
    from rebalance_forensics.pipeline.names_in_events import names_in_events  # noqa: PLC0415 - few ask for it
    from rebalance_forensics.report.anonymizing import anonymized  # noqa: PLC0415

    return anonymized(analysis.report, names_in_events(analysis))


def write_outputs(analysis: Analysis, report: Report, outputs: Outputs) -> Report:
    """Write each output atomically; returns the report with a gap for each output that an internal error prevented.

    Raises:
        InputError: An output would overwrite a log that was read.
        DefectError: No output could be written.

    """
    _refuse_to_overwrite_logs(analysis, outputs)
    is_output_left = not outputs.fills_stdout
    for name, write in _writers(analysis, outputs):
        try:
            with stage(f"write {name}"):
                write(report)
            is_output_left = True
        except (InputError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - the other outputs can still be written
            gap = Gap(
                what=f"{name} could not be written: {describe(error)}",
                consequence=f"the other outputs are whole; {ASK}",
                is_defect=True,
            )
            warn(f"{gap.what}; {gap.consequence}.")
            report = replace(report, gaps=(*report.gaps, gap))
    if not is_output_left:
        raise DefectError(f"nothing could be written; {ASK}")
    return report


def _writers(analysis: Analysis, outputs: Outputs) -> Iterator[tuple[str, Callable[[Report], None]]]:
    # Outputs that show gaps come last: an output that failed is such a gap.
    mode = outputs.mode
    if outputs.events is not None or outputs.tables is not None:
        from rebalance_forensics.pipeline import parquet_files  # noqa: PLC0415 - few ask for it

        if (events := outputs.events) is not None:
            yield "--events", lambda _: parquet_files.write_events(analysis, events, mode)
        if (tables := outputs.tables) is not None:
            yield "--tables", lambda report: parquet_files.write_tables(report, tables, mode)
    for name, export, path in outputs.exports:
        yield f"--export {name}", partial(_put, path, mode, export)
    if outputs.html is not None:
        from rebalance_forensics.report.html import to_html  # noqa: PLC0415 - templates take their time to load

        yield "--html", partial(_put, outputs.html, mode, to_html)
    if outputs.json is not None:
        yield "--json", partial(_put, outputs.json, mode, json_pieces)


def _refuse_to_overwrite_logs(analysis: Analysis, outputs: Outputs) -> None:
    # A report of an earlier run is never read as a log, so it may be replaced.
    read = {Path(file.location).resolve() for file in analysis.plan.files if file.size}
    for target in outputs.files():
        if target != STDOUT and Path(os.path.realpath(target)) in read:
            raise InputError(f"{target} is one of the files that were read; give the output a name of its own.")


def check_target(target: Path) -> None:
    """Raise InputError if a file cannot be written; called before anything is read."""
    if target == STDOUT:
        return
    if not target.parent.is_dir():
        raise InputError(f"{target}: there is no directory {target.parent}; create it first.")
    if target.is_dir():
        raise InputError(f"{target} is a directory; name a file in it.")
    _check_permission(target, target if target.exists() and not target.is_file() else target.parent)


def _check_permission(target: Path, place: Path) -> None:
    # A missing directory is created below its nearest existing parent.
    nearest = next(directory for directory in (place, *place.absolute().parents) if directory.exists())
    if not os.access(nearest, os.W_OK):
        raise InputError(f"cannot write {target}: permission denied; choose another place or make this one writable.")


def _put(path: Path, mode: int | None, render: Callable[[Report], Iterable[str]], report: Report) -> None:
    text = render(report)
    if path == STDOUT:
        for piece in held_back(text):
            say(piece)
    else:
        write_whole(path, text, mode)


def _export(text: str) -> tuple[str, Export, Path]:
    name, _, path = text.partition("=")
    known = formats()
    if name not in known or not path:
        raise InputError(f"--export {text}: write FORMAT=FILE with one of {', '.join(known)}.")
    return name, known[name], Path(path)
