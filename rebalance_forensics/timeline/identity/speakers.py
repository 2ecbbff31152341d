"""Who speaks in each line: which process of a host, and which client where the line does not say."""

from __future__ import annotations

from rebalance_forensics.timeline.clocks.file_clocks import read_clocks
from rebalance_forensics.timeline.cluster_events import Surroundings
from rebalance_forensics.timeline.group_lines import Lines
from rebalance_forensics.timeline.identity.configured_names import with_configured_names
from rebalance_forensics.timeline.identity.copied_logs import without_copies
from rebalance_forensics.timeline.identity.id_correlation import with_introduced_names
from rebalance_forensics.timeline.identity.nameless import is_nameless, with_client_ids
from rebalance_forensics.timeline.identity.processes_per_host import apart


def identified(lines: Lines, around: Surroundings) -> Lines:
    """The same lines with the process and the client behind each."""
    mine, beside = apart(*without_copies(lines.own, lines.beside))
    own, other = with_client_ids(with_configured_names(lines.group, mine, beside), beside)
    if any(is_nameless(event) for event in own):
        # When an id was given and when a client asked for it stand in different logs. This is a first look at the
        # clocks: whose the other lines are, and with them the clocks of their logs, is known only with these names.
        own, other = with_introduced_names(own, other, read_clocks([*own, *around.witnesses]))
    return Lines(lines.group, tuple(own), tuple(other))
