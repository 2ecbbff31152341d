"""`analyze --follow`: incidents as they come, until Ctrl-C or the end of standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rebalance_forensics.cli.analysis_run import exit_code
from rebalance_forensics.cli.outcomes import OK, PARTIAL, say, warn, warn_all
from rebalance_forensics.defects import sentence

if TYPE_CHECKING:
    from rebalance_forensics.cli.options import SeverityName
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.pipeline.options import AnalyzeOptions
    from rebalance_forensics.pipeline.run import Analysis
    from rebalance_forensics.report.model import Report

EVERY_S = 1.0
State = tuple[object, ...]


def follow(
    paths: Sequence[str],
    options: AnalyzeOptions,
    write: Callable[[Analysis], Analysis],
    rendered: Callable[[Report], str] | None,
    *,
    fail_on: SeverityName | None,
    keep_events: bool,
) -> int:
    """Print each incident when it is new and when its verdict changes; `write` all outputs at each change.

    Without a verbosity nothing is printed: one of the outputs goes to standard output.
    """
    from rebalance_forensics.pipeline import live  # noqa: PLC0415 - `--help` needs no pyarrow

    states: dict[str, State] = {}
    codes = [OK]

    def show(analysis: Analysis) -> None:
        shown = write(analysis)
        changed = [incident for incident in analysis.report.incidents if states.get(incident.id) != _state(incident)]
        states.update({incident.id: _state(incident) for incident in changed})
        warn_all(error for log in analysis.report.inputs for error in log.errors)
        codes.append(exit_code(shown, fail_on))
        if changed and rendered is not None:
            try:
                text = rendered(_only(shown.report, {incident.id for incident in changed}))
            except Exception as error:  # noqa: BLE001 - whatever it was, the next incidents may be shown
                warn(f"{sentence('an incident could not be printed', error)}.")
                codes[-1] = PARTIAL
            else:
                say(text)

    live.refuse_standing(paths, options)
    warn("following; Ctrl-C ends.")
    live.follow(paths, options, show, every_s=EVERY_S, stdin=sys.stdin.buffer, keep_events=keep_events)
    return codes[-1]


def _state(incident: Incident) -> State:
    """What about an incident is worth saying again when it changes."""
    verdict = incident.root_causes[0]
    return incident.severity, incident.ongoing, verdict.cause, tuple(culprit.name for culprit in verdict.culprits)


def _only(report: Report, ids: set[str]) -> Report:
    from msgspec.structs import replace  # noqa: PLC0415 - `--help` needs none

    incidents = tuple(incident for incident in report.incidents if incident.id in ids)
    groups = {(incident.cluster, group) for incident in incidents for group in incident.group_names}
    return replace(
        report,
        incidents=incidents,
        groups=tuple(group for group in report.groups if (group.cluster, group.group) in groups),
        gaps=(),
    )
