"""`LOGS#INCIDENT-ID` on a command line: the logs, and the one incident of them that is meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rebalance_forensics.pipeline.refusals import InputError

if TYPE_CHECKING:
    from rebalance_forensics.diagnosis.model import Incident
    from rebalance_forensics.report.model import Report


def split_incident_id(text: str) -> tuple[str, str | None]:
    """The logs and the incident's id, None without one; a file may have a # in its name."""
    path, hash_sign, incident_id = text.rpartition("#")
    return (path, incident_id) if hash_sign and not Path(text).exists() else (text, None)


def incident_in(report: Report, path: str, incident_id: str) -> Incident:
    """The incident whose id begins so; raise InputError with the ids there are where it is none or several."""
    found = [incident for incident in report.incidents if incident_id and incident.id.startswith(incident_id)]
    if len(found) != 1:
        known = ", ".join(incident.id for incident in report.incidents) or "none"
        which = "no incident" if not found else "several incidents"
        raise InputError(f"{path} has {which} {incident_id!r}; its incidents: {known}.")
    return found[0]
