"""Object stores that put an object only on a condition, which pyarrow's file systems do not offer."""

from __future__ import annotations

import os
from datetime import timedelta
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from rebalance_forensics.pipeline.inputs.stores import ALIASES, Store, s3_settings

_RETRY: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
_PATIENCE = {"timeout": "10s"}


def conditional_store(store: Store) -> Any:  # noqa: ANN401 - one of obstore's stores
    """The store as obstore opens it; None for a store without conditional puts (HDFS)."""
    parts = urlsplit(store.uri)
    scheme = ALIASES.get(parts.scheme, parts.scheme)
    make = {"s3": _s3, "gs": _google, "gcs": _google, "abfs": _azure, "abfss": _azure}.get(scheme)
    return make(store.uri) if make else None


def _s3(uri: str) -> Any:  # noqa: ANN401
    from obstore.store import S3Store  # noqa: PLC0415 - only where tables lie in an object store

    parts, settings = urlsplit(uri), s3_settings(uri)
    config: Any = {"region": settings["region"]}
    if host := settings.get("endpoint_override"):
        config["endpoint"] = f"{settings['scheme']}://{host}"
    provider = None
    if find_spec("boto3"):
        # obstore itself knows no profiles of ~/.aws.
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415

        provider = Boto3CredentialProvider()
    return S3Store(
        parts.netloc,
        prefix=parts.path.strip("/") or None,
        config=config,
        client_options=_client(settings.get("scheme", "https")),
        retry_config=_RETRY,
        credential_provider=provider,
    )


def _google(uri: str) -> Any:  # noqa: ANN401
    from obstore.store import GCSStore  # noqa: PLC0415

    user, _, bucket = urlsplit(uri).netloc.rpartition("@")
    server = os.environ.get("CLOUD_STORAGE_EMULATOR_ENDPOINT")
    config: Any = {"skip_signature": True} if user == "anonymous" else {}
    if server:
        config["base_url"] = server
    return GCSStore(
        bucket,
        prefix=urlsplit(uri).path.strip("/") or None,
        config=config,
        client_options=_client(urlsplit(server or uri).scheme),
        retry_config=_RETRY,
    )


def _azure(uri: str) -> Any:  # noqa: ANN401
    from obstore.store import AzureStore  # noqa: PLC0415

    return AzureStore.from_url(uri, client_options=_client("https"), retry_config=_RETRY)


def _client(scheme: str) -> Any:  # noqa: ANN401 - obstore's client options
    return {**_PATIENCE, "allow_http": scheme == "http"}
