"""The names that the page's filter finds an incident by: everybody it is blamed on."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.model import Headline
from rebalance_forensics.report.html.budget import Budget
from rebalance_forensics.report.wording import names_besides

NAMES_LEFT_OUT = "names of members that the filter would find an incident by"


def filter_names(incidents: Sequence[Headline], budget: Budget) -> dict[str, tuple[str, ...]]:
    """By incident id, as many names as the page holds, of each culprit those that people gave before made-up ones."""
    names: dict[str, tuple[str, ...]] = {}
    for number, incident in enumerate(incidents):
        known = _names_of(incident)
        shown = known[: budget.names.room(len(incidents) - number - 1)]
        names[incident.id] = tuple(shown)
        budget.names.left -= len(shown)
        budget.omit(NAMES_LEFT_OUT, len(known) - len(shown))
    return names


def _names_of(incident: Headline) -> list[str]:
    everyone = [culprit for cause in incident.root_causes for culprit in cause.culprits]
    others = (name for culprit in everyone for name in names_besides(culprit))
    return list(dict.fromkeys([*(culprit.name for culprit in everyone), *others]))
