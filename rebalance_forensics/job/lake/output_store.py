"""The directory or bucket of the tables, known to be writable before anything is read."""

from __future__ import annotations

from uuid import uuid4

import pyarrow as pa

from rebalance_forensics.job.lake.layout import WORK
from rebalance_forensics.pipeline.inputs.stores import Store, StoreError, checked_store, first_line
from rebalance_forensics.pipeline.refusals import InputError


def output_store(store: Store) -> Store:
    """The store of the tables, known to be writable."""
    uri = store.uri
    checked_store(uri, role="--output")
    if store.kind() == "file":
        raise InputError(f"--output {uri} is a file; name a directory.")
    try:
        # Two jobs that start together must not stumble over each other's.
        probe = f"{WORK}/probe-{uuid4().hex[:8]}"
        store.write(probe, b"")
        store.delete(probe)
    except (OSError, pa.ArrowException) as error:
        sentence = f"--output {uri} cannot be written: {first_line(error)}; check its permissions."
        raise StoreError.of(uri, error, "the tables are as they were") or InputError(sentence) from error
    return store
