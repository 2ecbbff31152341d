"""Logs that are still written: how far each went, and which parts came since."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from rebalance_forensics.pipeline.inputs.file_listing import Listed, Listing, list_inputs, refuse_missing_inputs
from rebalance_forensics.pipeline.inputs.file_probe import Look, Looked, look_here, look_tasks
from rebalance_forensics.pipeline.inputs.log_streams import Offset, Part, Tails, parts_between
from rebalance_forensics.pipeline.inputs.sights import Sight, profiles_beside, read_as
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import reading_of
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.sources.records.splits import Split


@dataclass(frozen=True, slots=True)
class Added:
    """Splits that hold what was added to a log, or to the logs of one packed archive; `part` says so of a log."""

    splits: tuple[Split, ...]
    part: Part


class GrowingLogs:
    """Logs, looked at again and again; one that is as it was is not opened again.

    `again`: the end of each log is read once more when it has grown, for its last record may not have been whole.
    """

    def __init__(self, paths: Sequence[str], options: AnalyzeOptions, *, again: bool) -> None:
        refuse_missing_inputs(paths)  # once: later on a log may be away for a moment, while it is rolled
        self._paths, self._options, self._again = paths, options, again
        self._tails = Tails(whole_lines=not again)
        self._seen: dict[str, tuple[str, Looked]] = {}

    @property
    def reading(self) -> Reading:
        """How lines become rows."""
        return reading_of(self._options)

    def offset(self) -> Offset:
        """How far each log goes now."""
        return self._tails.offset(list_inputs(self._paths))

    def added(self, start: Offset, end: Offset) -> Iterator[Added]:
        """What came between two offsets, by log; together what lies in one packed archive."""
        parts = {part.path: part for part in parts_between(start, end, again=self._again)}
        together: dict[str, Added] = {}
        sights = self._beside(list_inputs(self._paths), parts)
        profiles = profiles_beside(sights, self._options.zones)
        for sight in sights:
            file, profile = sight.file, profiles[sight.file.path]
            part = parts.get(file.path.partition("!/")[0])
            if part is None:
                continue
            part = replace(part.of(file, profile), read_as=read_as(profile, sight.look))
            splits = part.splits(file, profile, self._options.split_bytes)
            place = file.location if file.in_packed else file.path
            known = together.get(place)
            together[place] = Added((*known.splits, *splits), known.part) if known else Added(splits, part)
        yield from together.values()

    def _beside(self, listing: Listing, parts: Collection[str]) -> list[Sight]:
        """The logs to read and those that lie beside them."""
        directories = {path.rpartition("/")[0] for path in parts}
        near = [file for file in listing.files if file.directory in directories]
        return [sight for file in near for sight in self.look(file).sights]

    def look(self, file: Listed) -> Looked:
        """What a file shows by itself; one that is as it was is not opened again."""
        etag, looked = self._seen.get(file.path, ("", Looked()))
        if etag != file.etag:
            looked = looked_into([file], self._options)
            self._seen[file.path] = file.etag, looked
        return looked


def looked_into(files: Sequence[Listed], options: AnalyzeOptions) -> Looked:
    """What each of these files shows by itself."""
    return look_here(Look(tasks=look_tasks(files), limits=options.limits))
