"""Leases: the right to write for a limited time, held by one process at a time across machines.

A lease is a small text that is changed only by compare-and-swap: of several jobs that saw the same state, only one can
replace it. So two jobs can neither take the same lease nor take over the same expired one.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from typing import Any
from uuid import uuid4

from rebalance_forensics.job.lake.object_stores import ALLOW_HTTP, address_of, options_of, scheme_of
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.process.identity import Process
from rebalance_forensics.records import DAY_MS

LEASES = "_leases"
_SUFFIX = ".lease"


class NoConditions(OSError):  # noqa: N818 - a store may well be like that
    """The store does not support conditional puts."""


def names_of_leases(store: Store, below: str) -> list[str]:
    """The names of all leases ever held below a directory."""
    start = f"{LEASES}/{below}/"
    found = {file.path.removeprefix(start).partition("/")[0] for file in store.files(start.rstrip("/"))}
    return sorted(name.removesuffix(_SUFFIX) for name in found)


def slot_of(store: Store, name: str) -> Slot | None:
    """The slot of a lease in a store; None if the store has no atomic swap."""
    directory = store.local_path(f"{LEASES}/{name}{_SUFFIX}")
    if directory is not None:
        return NumberedFiles(directory, store.mode)
    objects = conditional_store(store)
    return objects and ConditionalObject(objects, f"{LEASES}/{name}{_SUFFIX}")


class NumberedFiles:
    """A text in a file system: each state is a file with the next number, and no number is created twice."""

    # O_EXCL is atomic on local disks and over NFS, while a rename replaces an existing file.

    def __init__(self, directory: Path, mode: int = 0o600) -> None:
        self._directory, self._mode = directory, mode

    def read(self) -> tuple[str, str] | None:
        """The text of the highest number."""
        while (number := self._highest()) is not None:
            # Meanwhile a higher number may have replaced it.
            with suppress(FileNotFoundError):
                return self._file(number).read_text(encoding="utf-8"), str(number)
        return None

    def swap(self, tag: str | None, text: str) -> str | None:
        """Create the next number and delete earlier ones."""
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
            # The number existed before and was deleted: another process continued from it.
            self._file(number).unlink(missing_ok=True)
            return None
        for older in self._numbers():
            if older < number:
                self._file(older).unlink(missing_ok=True)
        return str(number)

    def free(self, tag: str, text: str) -> bool:
        """Overwrite the text in place with the same length in one write, which works even on a full disk."""
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
    """A text in an object store: created with If-None-Match, replaced with If-Match."""

    def __init__(self, store: Any, name: str) -> None:  # noqa: ANN401 - one of obstore's stores
        self._store, self._name = store, name

    def read(self) -> tuple[str, str] | None:
        """The text with the store's tag."""
        import obstore  # noqa: PLC0415 - only where tables lie in an object store

        try:
            found = obstore.get(self._store, self._name)
        except FileNotFoundError:
            return None
        except obstore.exceptions.BaseError as error:
            raise OSError(str(error)) from error
        return bytes(found.bytes()).decode("utf-8", "replace"), _tag(found.meta)

    def swap(self, tag: str | None, text: str) -> str | None:
        """One conditional put; a store that ignores conditions is detected once and then holds no lease."""
        swapped = self._put(tag, text)
        if tag is None and swapped is not None and self._put(None, f"{text} ") is not None:
            import obstore  # noqa: PLC0415

            obstore.delete(self._store, self._name)
            raise NoConditions("the store puts objects whatever the condition")
        return swapped

    def free(self, tag: str, text: str) -> bool:
        """A conditional put."""
        return self._put(tag, text) is not None

    def _put(self, tag: str | None, text: str) -> str | None:
        import obstore  # noqa: PLC0415

        mode: Any = "create" if tag is None else json.loads(tag)
        try:
            return _tag(obstore.put(self._store, self._name, text.encode(), mode=mode, use_multipart=False))
        except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError, FileNotFoundError):
            # If a response was lost and the put was retried, the store reports the result of the first one.
            state = self.read()
            return state[1] if state and state[0] == text else None
        except obstore.exceptions.NotSupportedError as error:
            raise NoConditions(str(error)) from error
        except obstore.exceptions.BaseError as error:
            raise OSError(str(error)) from error


def _tag(meta: Mapping[str, Any]) -> str:
    return json.dumps({name: meta[name] for name in ("e_tag", "version") if meta.get(name) is not None})


_CONDITIONAL = ("s3", "gs", "abfs", "abfss")


def conditional_store(store: Store) -> Any:  # noqa: ANN401 - one of obstore's stores
    """The store as obstore opens it; None for a store without conditional puts (HDFS)."""
    scheme = scheme_of(store)
    if scheme not in _CONDITIONAL:
        return None
    from obstore.store import from_url  # noqa: PLC0415 - only where tables lie in an object store

    options, provider = dict(options_of(store)), None
    allow_http = options.pop(ALLOW_HTTP, "") == "true"
    if scheme == "s3" and find_spec("boto3"):
        # obstore itself does not read profiles in ~/.aws.
        from obstore.auth.boto3 import Boto3CredentialProvider  # noqa: PLC0415

        provider = Boto3CredentialProvider()
    config: Any = options
    return from_url(
        address_of(store), config=config, credential_provider=provider,
        client_options={"timeout": "10s", "allow_http": allow_http},
        retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=20)},
    )  # fmt: skip


_left_behind: set[str] = set()
"""States of leases that this process has released but could not write."""
_TAKEN = "another job has taken its lease over"


Slot = NumberedFiles | ConditionalObject
"""Where the text of a lease is stored.

`read` returns the text with the tag of its state, None if there is none yet; `swap` replaces the state with this tag
and returns the new tag, None if another process was faster; `free` overwrites the process's own state, even on a full
disk, if it still is its own."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock in epoch ms, which machines share, and a monotonic clock."""

    wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    steady_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The content of a lease: its holder, its expiry, and its duration. Without a holder it is free."""

    holder: Process | None
    since_ms: int
    ends_ms: int
    lasts_ms: int
    change: str = field(default_factory=lambda: uuid4().hex)
    """Makes the text of each state unique, so that a writer without a response can check whether it succeeded."""

    @classmethod
    def free(cls, now_ms: int, lasts_ms: int) -> Record:
        """A record without a holder."""
        return cls(holder=None, since_ms=now_ms, ends_ms=now_ms, lasts_ms=lasts_ms)

    def text(self) -> str:
        """The record as text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, text: str, lasts_ms: int) -> Record:
        """The record in a text; a truncated one has no known holder."""
        try:
            fields = json.loads(text)
            holder = Process(**fields.pop("holder")) if fields["holder"] else None
            return cls(**{**fields, "holder": holder})
        except (ValueError, KeyError, TypeError, AttributeError):
            nobody = Process(host="an unknown host", pid=0, begun="", world="")
            return cls(holder=nobody, since_ms=0, ends_ms=0, lasts_ms=lasts_ms, change=text)


class LeaseLost(Exception):  # noqa: N818 - it is nobody's mistake
    """Another process holds the lease, or may hold it: it expired and could not be renewed."""


class Watch:
    """Waits for a lease by polling it."""

    def __init__(self, slot: Slot, lasts_ms: int, clock: Clock, *, is_gone: Callable[[Process], bool]) -> None:
        self._slot, self._lasts_ms, self._clock, self._gone = slot, lasts_ms, clock, is_gone
        self._tag: str | None = None
        self._seen_ms = clock.steady_ms()

    def standing(self) -> Record | None:
        """The current holder of the lease; None if it is free."""
        state = self._slot.read()
        tag = state[1] if state else None
        if tag != self._tag:
            self._tag, self._seen_ms = tag, self._clock.steady_ms()
        if state is None:
            return None
        record = Record.parse(state[0], self._lasts_ms)
        return record if record.holder and not self._is_over(record, record.holder) else None

    def _is_over(self, record: Record, holder: Process) -> bool:
        # True if the holder died or let the lease expire. Wall clocks of two machines may be hours apart if the
        # hardware clock is taken for local time: unless a lease expired a day ago, it is watched for changes.
        unchanged_ms = self._clock.steady_ms() - self._seen_ms
        by_the_clock = record.ends_ms and self._clock.wall_ms() >= record.ends_ms + DAY_MS
        over = unchanged_ms >= record.lasts_ms or by_the_clock or record.change in _left_behind
        return bool(over or self._gone(holder))

    def take(self, holder: Process) -> Lease | Record:
        """The lease, or the record of its holder."""
        standing = self.standing()
        if standing is not None:
            return standing
        now = self._clock.wall_ms()
        lasts = self._lasts_ms
        record = Record(holder=holder, since_ms=now, ends_ms=now + lasts, lasts_ms=lasts)
        steady = self._clock.steady_ms()
        tag = self._slot.swap(self._tag, record.text())
        if tag is None:
            state = self._slot.read()
            return Record.parse(state[0], lasts) if state else record
        return Lease(self._slot, record, tag, self._clock, steady)

    def clear(self) -> Record | None:
        """The holder of the lease; an expired lease is marked as free, so that its holder notices when it resumes."""
        standing = self.standing()
        state = self._slot.read() if standing is None else None
        if state is None or Record.parse(state[0], self._lasts_ms).holder is None:
            return standing
        free = Record.free(self._clock.wall_ms(), self._lasts_ms)
        if state[1] == self._tag and self._slot.swap(state[1], free.text()) is not None:
            return None
        changed = self._slot.read()
        return Record.parse(changed[0], self._lasts_ms) if changed else None


class Lease:
    """A lease held by this process, usable by several threads."""

    def __init__(self, slot: Slot, record: Record, tag: str, clock: Clock, renewed_ms: int) -> None:
        self._slot, self._record, self._tag, self._clock = slot, record, tag, clock
        self._renewed_ms, self._lock, self._lost = renewed_ms, RLock(), False

    @property
    def lasts_ms(self) -> int:
        """How long it lasts without renewal, in ms."""
        return self._record.lasts_ms

    def renew(self) -> None:
        """Renew the lease; LeaseLost if another process holds it."""
        with self._lock:
            now, steady = self._clock.wall_ms(), self._clock.steady_ms()
            if self._lost:
                raise LeaseLost(_TAKEN)
            record = replace(self._record, ends_ms=now + self.lasts_ms, change=uuid4().hex)
            tag = self._slot.swap(self._tag, record.text())
            if tag is None:
                self._lost = True
                raise LeaseLost(_TAKEN)
            self._record, self._tag, self._renewed_ms = record, tag, steady

    def confirm(self) -> None:
        """LeaseLost if it is lost; checks the store only after half of its duration."""
        with self._lock:
            if self._lost:
                raise LeaseLost(_TAKEN)
            steady = self._clock.steady_ms() - self._renewed_ms
            # If the machine was suspended, only one of the two clocks includes that time.
            by_the_clock = self._clock.wall_ms() - (self._record.ends_ms - self.lasts_ms)
            elapsed = max(steady, by_the_clock)
            if elapsed < self.lasts_ms // 2:
                return
            try:
                self.renew()
            except OSError as error:
                if elapsed >= self.lasts_ms * 3 // 4:
                    raise LeaseLost(f"its lease could not be renewed ({error})") from error

    def release(self) -> None:
        """Release the lease; if that cannot be written, at least for this process."""
        with self._lock:
            if self._lost:
                raise LeaseLost(_TAKEN)
            self._lost = True
            free = Record.free(self._clock.wall_ms(), self.lasts_ms)
            try:
                freed = self._slot.free(self._tag, free.text())
            except OSError:
                _left_behind.add(self._record.change)
                raise
            if not freed:
                raise LeaseLost(_TAKEN)
