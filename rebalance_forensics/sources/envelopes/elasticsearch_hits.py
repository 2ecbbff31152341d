"""The response of an Elasticsearch or OpenSearch search: `hits.hits[]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.elasticsearch import ENVELOPE as DOCUMENT
from rebalance_forensics.sources.layouts.json_fields import Fields, lookup

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = (
    '{"took":3,"hits":{"total":1,"hits":[{"_index":"kafka"'
    ',"_source":{"@timestamp":"2026-11-20T10:15:30.123Z","message":'
    '"[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g '
    '(kafka.coordinator.group.GroupCoordinator)","host":{"name":"b1"}}}]}}'
)
REJECT = '{"hits":4,"message":"joined"}'


def _hits(fields: Fields) -> Sequence[Fields]:
    hits = lookup(fields, "hits.hits")
    return tuple(hit for hit in hits if isinstance(hit, Mapping)) if isinstance(hits, list) else ()


ENVELOPE = replace(DOCUMENT, requires=("hits.hits",), entries=_hits)
