"""Threads in JSON dumps (Spring Boot's actuator, `Thread.dump_to_file`), converted to the format of jstack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, instant
from rebalance_forensics.sources.layouts.json_fields import Fields, first_text, object_of

_WAITS = {"BLOCKED": "waiting to lock", "WAITING": "parking to wait for", "TIMED_WAITING": "parking to wait for"}
_IN_NATIVE_CODE = -2  # StackTraceElement.getLineNumber
# JDK 21 to 24 print neither state nor lock; `parkBlocker` is a separate object.
_LOCKS = {"blockedOn": "waiting to lock", "waitingOn": "waiting on", "parkBlocker": "parking to wait for"}


def is_thread(value: object) -> bool:
    """True for a java.lang.management.ThreadInfo serialized by Jackson, and for a thread of ThreadDumper (JDK 21)."""
    if not isinstance(value, Mapping):
        return False
    return {"threadName", "threadState", "stackTrace"} <= value.keys() or (
        {"tid", "name", "stack"} <= value.keys() and isinstance(value["stack"], list)
    )


def threads(line: Line) -> Sequence[Line] | None:
    """A thread as jstack prints it, at the time of its dump if the fields include it."""
    fields = line.fields
    if fields is None and ('"threadState"' in line.text or '"stack"' in line.text):
        fields = object_of(line.text)
    if fields is None or not is_thread(fields):
        return None
    at = line.at if line.local else instant(first_text(fields, ("time", "timestamp", "@timestamp"))) or line.at
    printed = _of_the_actuator(fields) if "threadName" in fields else _of_the_dumper(fields)
    return (replace(line, text=printed, fields=None, at=at),)


def printed_thread(name: object, number: object, state: object, calls: Iterable[str]) -> str:
    """A thread as jstack prints it; `calls` are its frames, and the locks that they hold or wait for."""
    head = f'"{name}" #{number} prio=5 tid=0x0'
    return "\n".join((head, f"   java.lang.Thread.State: {state or ''}", *calls))


def _of_the_dumper(thread: Fields) -> str:
    frames = thread["stack"]
    calls = [f"\tat {each}" for each in frames if isinstance(each, str)] if isinstance(frames, list) else []
    for key, words in _LOCKS.items():
        lock = thread.get(key)
        lock = lock.get("object") if isinstance(lock, Mapping) else lock
        if isinstance(lock, str):
            calls.insert(1, f"\t- {words} <{lock}>")
    return printed_thread(thread["name"], thread["tid"], thread.get("state"), calls)


def _of_the_actuator(thread: Fields) -> str:
    state = str(thread.get("threadState"))
    frames = thread.get("stackTrace")
    calls = [f"\tat {_call(each)}" for each in frames if isinstance(each, Mapping)] if isinstance(frames, list) else []
    lock = thread.get("lockInfo")
    if isinstance(lock, Mapping) and (kind := lock.get("className")) and state in _WAITS:
        calls.insert(1, f"\t- {_WAITS[state]} <0x0> (a {kind})")
    return printed_thread(thread.get("threadName"), thread.get("threadId", 0), state, calls)


def _call(frame: Fields) -> str:
    line, file = frame.get("lineNumber"), frame.get("fileName")
    where = f"{file}:{line}" if file and isinstance(line, int) and line >= 0 else file or "Unknown Source"
    native = frame.get("nativeMethod") or line == _IN_NATIVE_CODE
    return f"{frame.get('className')}.{frame.get('methodName')}({'Native Method' if native else where})"
