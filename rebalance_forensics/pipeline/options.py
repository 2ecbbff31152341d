"""What a run is asked to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rebalance_forensics.pipeline.instants import Instant
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.sources.files.budgets import Limits
from rebalance_forensics.sources.times.zones import UnknownZoneError, ZoneRules

Engine = Literal["auto", "spark", "local"]
DEFAULT_CLUSTER = "default"


class Wanted(NamedTuple):
    """What the outputs of a run need beside incidents and gaps."""

    events: bool = False
    """The events themselves, as rows."""
    lanes: bool = True
    """Swim lanes: nearly every line of a group once more, as pages and some exports draw it."""


WHOLE_CASES = Wanted()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeOptions:
    """How to analyze; the report depends on everything here but `engine`, `split_bytes` and what starts Java."""

    engine: Engine = "spark"
    """`auto`: Spark where a session runs or there is much to read, see `engine_choice`."""
    group: str | None = None
    since: Instant | None = None
    until: Instant | None = None
    zones: ZoneRules = field(default_factory=ZoneRules)
    cluster: str | None = None
    cluster_per_directory: bool = False
    """Each directory right below the input is a cluster of its own."""
    patterns: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    """How far a packed file may unpack."""
    split_bytes: int = 64 << 20
    java_home: str | None = None
    processes: int = 1
    """How many processes may share the work without Spark; more than one only where a process may be spawned."""
    keep_warm: bool = False
    lanes: bool = True
    """Whether an output may draw swim lanes."""


def zone_rules(given: Sequence[str]) -> ZoneRules:
    """The zones of `--tz ZONE --tz HOST=ZONE`."""
    try:
        return ZoneRules.of(given)
    except UnknownZoneError as error:
        raise InputError(f"{error}.") from error
