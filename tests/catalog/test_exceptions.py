"""An application's own errors are told from Kafka's, in Java and in Python."""

from __future__ import annotations

import json

from rebalance_forensics.catalog.exceptions import exception_in
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.sources.reading import parse_line

TRACE = 'Traceback (most recent call last):\n  File "/app/worker.py", line 60, in loop\n    handle(m)\n'


def test_what_python_raised_is_the_last_line_of_its_traceback() -> None:
    line = {"asctime": "2026-11-20 10:15:30,123", "levelname": "ERROR", "name": "orders", "message": "worker failed"}
    match = exception_in(parse_line(json.dumps(line | {"exc_info": f"{TRACE}ValueError: unknown currency"})), None)
    assert match is not None
    assert (match.fields["exception"], match.fields["detail"]) == ("ValueError", "unknown currency")


def test_a_traceback_is_looked_for_in_any_layout() -> None:
    assert Catalog.load().prefilter().hits(f'{{"exc_info": {json.dumps(TRACE)}}}\n'.encode())
