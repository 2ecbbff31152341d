"""The threads of Spring Boot's actuator (`/actuator/threaddump`, `/dump` before 2.0), each as a JVM prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.json_fields import Fields, object_of

_WAITS = {"BLOCKED": "waiting to lock", "WAITING": "parking to wait for", "TIMED_WAITING": "parking to wait for"}
_IN_NATIVE_CODE = -2  # StackTraceElement.getLineNumber


def is_thread(value: object) -> bool:
    """True for a java.lang.management.ThreadInfo as Jackson writes it."""
    return isinstance(value, Mapping) and {"threadName", "threadState", "stackTrace"} <= value.keys()


def threads(line: Line) -> Sequence[Line] | None:
    """A thread as jstack prints it."""
    fields = line.fields
    if fields is None and '"threadState"' in line.text:
        fields = object_of(line.text)
    return (replace(line, text=_printed(fields), fields=None),) if fields is not None and is_thread(fields) else None


def _printed(thread: Fields) -> str:
    state = str(thread.get("threadState"))
    frames = thread.get("stackTrace")
    calls = [f"\tat {_call(each)}" for each in frames if isinstance(each, Mapping)] if isinstance(frames, list) else []
    lock = thread.get("lockInfo")
    if isinstance(lock, Mapping) and (kind := lock.get("className")) and state in _WAITS:
        calls.insert(1, f"\t- {_WAITS[state]} <0x0> (a {kind})")
    head = f'"{thread.get("threadName")}" #{thread.get("threadId", 0)} prio=5 tid=0x0'
    return "\n".join((head, f"   java.lang.Thread.State: {state}", *calls))


def _call(frame: Fields) -> str:
    line, file = frame.get("lineNumber"), frame.get("fileName")
    where = f"{file}:{line}" if file and isinstance(line, int) and line >= 0 else file or "Unknown Source"
    native = frame.get("nativeMethod") or line == _IN_NATIVE_CODE
    return f"{frame.get('className')}.{frame.get('methodName')}({'Native Method' if native else where})"
