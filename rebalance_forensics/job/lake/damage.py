"""Files of the tables that someone or something damaged between two runs: one sentence, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.refusals import InputError


@contextmanager
def undamaged(uri: str, path: str) -> Iterator[None]:
    """Turn an error that shows a damaged file of ours into an InputError."""
    # Arrow reports a broken footer, page or text by exceptions that are a ValueError, KeyError or TypeError too, or
    # by an OSError without a number; an OSError with one is about the place, not the file. Object stores have no
    # numbers either, so the sentence does not claim that it was damage.
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, AttributeError, NotImplementedError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"--output {uri}: {path} cannot be read: {problem}; if it was damaged, restore it or name another --output."
        ) from error


def batches_of(store: Store, path: str) -> Iterator[pa.RecordBatch]:
    """The rows of one Parquet file of our own, some at a time; InputError where it was damaged since."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only where tables are read

    with undamaged(store.uri, path), store.open(path) as stream:
        file = pq.ParquetFile(stream, page_checksum_verification=True)
        missing = file.metadata.num_rows
        for batch in file.iter_batches(batch_size=4096):
            # Parquet does not check that text is text.
            batch.validate(full=True)
            missing -= batch.num_rows
            yield batch
        if missing:
            # The header of a page has no checksum, and one that was changed may hide the page.
            raise ValueError(f"{missing} of its {file.metadata.num_rows} rows are missing")
