"""Addresses and options of object stores for delta-rs and obstore, which use the same Rust library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from rebalance_forensics.pipeline.inputs.stores import ALIASES, Store, s3_settings

ALLOW_HTTP = "allow_http"


def scheme_of(store: Store) -> str:
    """The canonical scheme of a store: `s3` for `s3a://`, empty for a path."""
    scheme = urlsplit(store.uri).scheme
    return {"gcs": "gs"}.get(scheme, ALIASES.get(scheme, scheme))


def address_of(store: Store, below: str = "") -> str:
    """The address of a directory; users, servers and regions in pyarrow's URIs are options here."""
    scheme = scheme_of(store)
    _, _, rest = store.uri.partition("://")
    place = store.place(below)[1] if scheme in ("s3", "gs") else f"{rest.rstrip('/')}/{below}"
    return f"{scheme}://{place.rstrip('/')}"


def options_of(store: Store) -> Mapping[str, str]:
    """Server, region and credentials that differ from the environment."""
    match scheme_of(store):
        case "s3":
            settings = s3_settings(store.uri)
            options = {"aws_region": settings["region"]}
            if host := settings.get("endpoint_override"):
                options["aws_endpoint"] = f"{settings['scheme']}://{host}"
        case "gs":
            user, server = (
                urlsplit(store.uri).netloc.rpartition("@")[0],
                os.environ.get("CLOUD_STORAGE_EMULATOR_ENDPOINT"),
            )
            options = {"google_skip_signature": "true"} if user == "anonymous" else {}
            if server:
                options["google_base_url"] = server
        case _:
            options = {}
    if any(value.startswith("http://") for value in options.values()):
        options[ALLOW_HTTP] = "true"
    return options
