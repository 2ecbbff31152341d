"""Where leases lie: beside the tables, as numbered files or as one object that is put on conditions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rebalance_forensics.job.lake.leases import Slot
from rebalance_forensics.pipeline.inputs.stores import ALIASES, Store, s3_settings

LEASES = "_leases"
_SUFFIX = ".lease"


class NoConditions(OSError):  # noqa: N818 - a store may well be like that
    """The store cannot put an object on a condition."""


def names_of_leases(store: Store, below: str) -> list[str]:
    """All leases that were ever held below a directory."""
    start = f"{LEASES}/{below}/"
    found = {file.path.removeprefix(start).partition("/")[0] for file in store.files(start.rstrip("/"))}
    return sorted(name.removesuffix(_SUFFIX) for name in found)


def slot_of(store: Store, name: str) -> Slot | None:
    """Where the lease of this name lies in a store; None where the store has nothing to swap it by."""
    directory = store.local_path(f"{LEASES}/{name}{_SUFFIX}")
    if directory is not None:
        return NumberedFiles(directory, store.mode)
    objects = conditional_store(store)
    return objects and ConditionalObject(objects, f"{LEASES}/{name}{_SUFFIX}")


class NumberedFiles:
    """A text in a file system: each state is a file of the next number, and no number is created twice.

    O_EXCL is one step on local disks and over NFS alike, while a rename replaces whatever is there.
    """

    def __init__(self, directory: Path, mode: int = 0o600) -> None:
        self._directory, self._mode = directory, mode

    def read(self) -> tuple[str, str] | None:
        """The text of the highest number."""
        while (number := self._highest()) is not None:
            # In between a higher one may have taken its place.
            with suppress(FileNotFoundError):
                return self._file(number).read_text(encoding="utf-8"), str(number)
        return None

    def swap(self, tag: str | None, text: str) -> str | None:
        """Create the next number; those before it go."""
        number = int(tag or 0) + 1
        self._directory.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(self._file(number), os.O_CREAT | os.O_EXCL | os.O_WRONLY, self._mode)
        except FileExistsError:
            return None
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                os.fchmod(handle, self._mode)
                file.write(text)
        except OSError:
            self._file(number).unlink(missing_ok=True)
            raise
        if self._highest() != number:
            # The number had been there and gone: somebody went on from it long ago.
            self._file(number).unlink(missing_ok=True)
            return None
        for older in self._numbers():
            if older < number:
                self._file(older).unlink(missing_ok=True)
        return str(number)

    def free(self, tag: str, text: str) -> bool:
        """Overwrite the text in place, in its length and in one write: all that a full disk has room for."""
        with suppress(FileNotFoundError), self._file(int(tag)).open("rb+", buffering=0) as file:
            os.pwrite(file.fileno(), text.encode().ljust(os.fstat(file.fileno()).st_size), 0)
            return True
        return False

    def _file(self, number: int) -> Path:
        return self._directory / f"{number}.json"

    def _numbers(self) -> list[int]:
        with suppress(FileNotFoundError):
            return [int(path.stem) for path in self._directory.glob("*.json") if path.stem.isdecimal()]
        return []

    def _highest(self) -> int | None:
        return max(self._numbers(), default=None)


class ConditionalObject:
    """A text in an object store: put where there is none (If-None-Match), or in place of one state (If-Match)."""

    def __init__(self, store: Any, name: str) -> None:  # noqa: ANN401 - one of obstore's stores
        self._store, self._name = store, name

    def read(self) -> tuple[str, str] | None:
        """The text; its tag is the store's."""
        import obstore  # noqa: PLC0415 - only where tables lie in an object store

        try:
            found = obstore.get(self._store, self._name)
        except FileNotFoundError:
            return None
        except obstore.exceptions.BaseError as error:
            raise OSError(str(error)) from error
        return bytes(found.bytes()).decode("utf-8", "replace"), _tag(found.meta)

    def swap(self, tag: str | None, text: str) -> str | None:
        """One conditional put; a store that has no ear for conditions is asked once, and then holds no lease."""
        swapped = self._put(tag, text)
        if tag is None and swapped is not None and self._put(None, f"{text} ") is not None:
            import obstore  # noqa: PLC0415

            obstore.delete(self._store, self._name)
            raise NoConditions("the store puts objects whatever the condition")
        return swapped

    def free(self, tag: str, text: str) -> bool:
        """A put like any other."""
        return self._put(tag, text) is not None

    def _put(self, tag: str | None, text: str) -> str | None:
        import obstore  # noqa: PLC0415

        mode: Any = "create" if tag is None else json.loads(tag)
        try:
            return _tag(obstore.put(self._store, self._name, text.encode(), mode=mode, use_multipart=False))
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError, FileNotFoundError):
            # Where an answer was lost and the put sent again, the store tells of the first one.
            state = self.read()
            return state[1] if state and state[0] == text else None
        except obstore.exceptions.NotSupportedError as error:
            raise NoConditions(str(error)) from error
        except obstore.exceptions.BaseError as error:
            raise OSError(str(error)) from error


def _tag(meta: Mapping[str, Any]) -> str:
    return json.dumps({name: meta[name] for name in ("e_tag", "version") if meta.get(name) is not None})


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
