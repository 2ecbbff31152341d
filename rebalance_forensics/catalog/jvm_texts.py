"""Multi-line texts of JVMs: a JDK 8 collection, the stack of a thread, a fatal error."""

from __future__ import annotations

import re

from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.records import SECOND_MS

Fields = dict[str, FieldValue]

# A healthy log shows shorter stops each second.
_SHORTEST_STOP = SECOND_MS // 10
_KIB = {"B": 1 / 1024, "K": 1, "M": 1 << 10, "G": 1 << 20}
_SIZE = r"\d{1,12}(?:[.,]\d)?[BKMG]"
# The whole heap follows the generations, which are in brackets with their names; G1 prints it on a later line.
_HEAP = re.compile(rf"(?<!: )(?<![\d.,])({_SIZE})->({_SIZE})\(({_SIZE})\)")
_HEAP_OF_G1 = re.compile(rf"\bHeap: ({_SIZE})\(({_SIZE})\)->({_SIZE})\(({_SIZE})\)")
_HEAP_AT_MARK = re.compile(rf"\] ({_SIZE})\(({_SIZE})\), ")
_TOOK = re.compile(r"[,)] ?(\d{1,6}[.,]\d{2,8}) secs\]")
# A concurrent phase that ends during a collection is printed in the middle of it, with its own [Times: .
_BESIDE_THE_APPLICATION = re.compile(r"\[(?:GC |CMS-|ASCMS-)concurrent[^\[\]\n]{0,200}\]")
_OPERATION = re.compile(r"\A ?\(?(CMS Initial Mark|CMS Final Remark|remark|cleanup)\b")
# A young collection becomes a full one if survivors do not fit into the old generation or CMS did not finish in time:
# the same stop then collects the old generation as well, and the words "Full GC" are missing.
_COLLECTS_THE_OLD = re.compile(r"\[(?:CMS(?: Perm)?|Tenured)(?=[\d: ])|\(concurrent mode (?:failure|interrupted)\)")


def kib(text: str) -> int:
    """A size that HotSpot prints, such as `3900M` or `3900.5M`, in KiB."""
    return round(float(text[:-1].replace(",", ".")) * _KIB[text[-1]])


def collection(text: str) -> Fields:
    """A stop for a JDK 8 collection, from the text after `[GC` or `[Full GC`; ValueError if it is too short.

    Concurrent phases (`[GC concurrent-mark-end, 10.1 secs]`) do not stop the application.
    """
    # Without a cause (JDK 7 and older) the heap is printed in its place.
    if text.startswith(" concurrent"):
        text = text.partition("]")[2]  # a concurrent phase may end in the middle of a collection
    # The last duration is the total, after those of phases and generations. G1's own lines are in ms.
    took = _TOOK.findall(_BESIDE_THE_APPLICATION.sub("", text))
    stopped_ms = round(float(took[-1].replace(",", ".")) * 1000) if took else 0
    if stopped_ms < _SHORTEST_STOP:
        raise ValueError(text)
    found: Fields = {"stopped_ms": stopped_ms}
    if of_g1 := _HEAP_OF_G1.search(text):
        found |= {"before_kib": kib(of_g1[1]), "after_kib": kib(of_g1[3]), "size_kib": kib(of_g1[4])}
    elif heaps := _HEAP.findall(text):
        before, after, size = heaps[-1]
        found |= {"before_kib": kib(before), "after_kib": kib(after), "size_kib": kib(size)}
    elif at_mark := _HEAP_AT_MARK.search(text):
        found |= {"after_kib": kib(at_mark[1]), "size_kib": kib(at_mark[2])}
    if operation := _OPERATION.match(text):
        found["operation"] = operation[1]
    elif _COLLECTS_THE_OLD.search(text):
        found["operation"] = "Full GC"
    return found


_TYPE_OF_J9 = re.compile(r'\btype="([a-z -]{1,40})"')
# A `global mark phase` of the balanced policy is incremental, like G1's marking.
_COMPLETE = ("global", "global gc", "global garbage collect")
_DURATION_OF_J9 = re.compile(r'\bdurationms="(\d{1,9}(?:\.\d{1,6})?)"')
_HEAP_OF_J9 = re.compile(r'<mem-info id="\d+" free="(\d{1,15})" total="(\d{1,15})"')


def openj9_stop(text: str) -> Fields:
    """A stop of OpenJ9, from the attributes of the element that ends it; ValueError if it is too short."""
    took = _DURATION_OF_J9.search(text)
    stopped_ms = round(float(took[1])) if took else 0
    if stopped_ms < _SHORTEST_STOP:
        raise ValueError(text)
    found: Fields = {"stopped_ms": stopped_ms}
    if kind := _TYPE_OF_J9.search(text):
        found["operation"] = "Full GC" if kind[1] in _COMPLETE else f"{kind[1].removesuffix(' gc')} GC"
    if heap := _HEAP_OF_J9.search(text):
        free, total = int(heap[1]) // 1024, int(heap[2]) // 1024
        found |= {"after_kib": total - free, "size_kib": total}
    return found


_PAUSE = re.compile(
    rf"(?: \((?:[^()\n]|\(\)){{1,80}}\)){{0,4}}(?: (?P<before>{_SIZE})->(?P<after>{_SIZE})\((?P<size>{_SIZE})\))?"
    # JDK 9 also prints the start and the end.
    r"(?: \([\d.,]{1,20}s, [\d.,]{1,20}s\))?,? (?P<ms>\d{1,9}[.,]\d{1,6}) ?ms\]?(?: [a-z][^\n]*)?"
)


def pause(text: str, shortest: int = _SHORTEST_STOP) -> Fields:
    """A stop for a collection, from the text after `Pause Young` and the like; ValueError if it is too short."""
    found = _PAUSE.fullmatch(text.rstrip())
    stopped = float(found["ms"].replace(",", ".")) if found is not None else -1
    if found is None or stopped < shortest:
        raise ValueError(text)
    fields: Fields = {"stopped_ms": max(1, round(stopped))}
    if found["before"]:
        fields |= {f"{name}_kib": kib(found[name]) for name in ("before", "after", "size")}
    return fields


def full_pause(text: str) -> Fields:
    """A stop for a full collection, however short; ValueError if the line does not show its end."""
    return pause(text, 0)


_DELTA = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?(?:\d+[\u00b5\u03bcu]s)?(?:\d+ns)?")
# HikariCP's housekeeper runs every 30 s and warns if it is late by more than half of that.
_HOUSEKEEPING = 30 * SECOND_MS


def housekeeper_delta(text: str) -> int:
    """How long no thread ran, in ms: the delay of HikariCP's housekeeper, which prints `1m6s828ms`."""
    found = _DELTA.fullmatch(text)
    if found is None:
        raise ValueError(text)
    days, hours, minutes, seconds, millis = (int(part or 0) for part in found.groups())
    late = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND_MS + millis - _HOUSEKEEPING
    if late < _SHORTEST_STOP:
        raise ValueError(text)
    return late


_FRAME = re.compile(r"\n[ \t]{1,8}at ([^\s()]{1,400}\([^()\n]{0,200}\))")
_OF_JAVA = ("java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "kotlinx.", "scala.", "groovy.", "clojure.")
_OF_LIBRARIES = tuple(
    """
    org.apache. kafka. org.springframework. io.netty. io.grpc. com.google. okhttp3. okio. retrofit2. feign. reactor.
    rx. io.reactivex. akka. io.vertx. io.quarkus. io.smallrye. io.micronaut. io.micrometer. io.opentelemetry.
    org.eclipse. org.glassfish. org.jboss. io.undertow. org.xnio. com.zaxxer. org.postgresql. com.mysql. org.mariadb.
    oracle. com.microsoft. org.h2. org.hibernate. org.jooq. com.mongodb. com.datastax. redis. io.lettuce. org.redisson.
    org.elasticsearch. co.elastic. org.opensearch. software.amazon. com.amazonaws. com.azure. com.fasterxml. org.slf4j.
    ch.qos. org.rocksdb. io.confluent. com.netflix. cats. zio. fs2. net.bytebuddy. org.aspectj. io.github.resilience4j.
    datadog. com.newrelic.
    """.split()  # noqa: SIM905 - names read best as words
)
_CONSUMER = "org.apache.kafka.clients.consumer."
# Frames of the loops that call poll() and pass on what it returns.
_LOOPS = (
    _CONSUMER,
    *"""
    org.apache.kafka.streams.processor.internals.StreamThread. org.apache.kafka.connect.runtime.Worker
    org.springframework.kafka.listener. org.apache.camel.component.kafka. io.micronaut.configuration.kafka.
    io.smallrye.reactive.messaging.kafka. akka.kafka. org.apache.pekko.kafka. reactor.kafka. fs2.kafka. zio.kafka.
    org.apache.flink.connector.kafka. org.apache.flink.streaming.connectors.kafka. io.confluent.parallelconsumer.
    """.split(),  # noqa: SIM905
)
# The heartbeat thread, and the background thread of the KIP-848 consumer.
_BESIDE_THE_LOOP = ("$HeartbeatThread.run", "ConsumerNetworkThread.run")
_WAITS_FOR = re.compile(
    r"- (?:waiting to lock|parking to wait for|waiting on) +<(?:(?:0x)?[0-9a-f]+> \(an? ([\w.$]+)|([\w.$]+)@[0-9a-f]+>)"
)
_HIDDEN_CLASS = re.compile(r"/0x[0-9a-f]+(?=\.)")
_MOST_FRAMES = 3


def thread_stack(text: str) -> Fields:
    """The state and position of a thread; ValueError if it neither runs application code nor drives a consumer.

    `frames` are the topmost of the application, `called` what these called, `top` the topmost of all; `in_poll` is
    True if no application code is above poll().
    """
    state = text.partition("\n")[0].partition(" (")[0].strip() or None
    # Module and class loader may precede the class: `java.base@17.0.15/`, `app//`.
    frames = [_without_module(frame) for frame in _FRAME.findall(text)]
    of_heartbeats = any(method_of(frame).endswith(_BESIDE_THE_LOOP) for frame in frames)
    drives = not of_heartbeats and any(frame.startswith(_LOOPS) for frame in frames)
    own = [at for at, frame in enumerate(frames) if not frame.startswith((*_OF_JAVA, *_OF_LIBRARIES))]
    if not own and not drives:
        raise ValueError(text)
    polls = next(
        (at for at, f in enumerate(frames) if f.startswith(_CONSUMER) and method_of(f).endswith(".poll")), None
    )
    in_poll = polls is not None and not any(at < polls for at in own)
    first = own[0] if own else next((at for at, f in enumerate(frames) if not f.startswith(_OF_JAVA)), 0)
    shown = own or [at for at, frame in enumerate(frames) if not frame.startswith(_OF_JAVA)]
    waits = _WAITS_FOR.search(text)
    return {
        "state": state,
        "frames": tuple(frames[at] for at in shown[:_MOST_FRAMES]),
        "called": frames[first - 1] if first else None,
        "top": frames[0] if frames else None,
        "waits_for": waits[1] or waits[2] if waits else None,
        "in_poll": in_poll,
        "drives_consumer": drives,
    }


def method_of(frame: str) -> str:
    """`com.acme.Rates.lookUp` of `com.acme.Rates.lookUp(Rates.java:42)`."""
    return frame.partition("(")[0]


def _without_module(frame: str) -> str:
    name, bracket, source = frame.partition("(")
    return _HIDDEN_CLASS.sub("", name).rpartition("/")[2] + bracket + source.rpartition("/")[2]


_SIGNAL = re.compile(r"^#\s+(SIG\w+|EXCEPTION_\w+|Internal Error)\b", re.MULTILINE)
_OUT_OF_MEMORY = re.compile(r"^#\s+fatal error: OutOfMemory encountered: ([^\n]+)", re.MULTILINE)
_NATIVE = re.compile(
    r"^#\s+(?:Native memory allocation|Cannot create GC thread|Out of Memory Error)[^\n]*", re.MULTILINE
)
_PROBLEMATIC = re.compile(r"^# Problematic frame:\n# ([^\n]+)", re.MULTILINE)
_PID = re.compile(r"\bpid=(\d+)")
_COMMAND = re.compile(r"^java_command: (\S+)", re.MULTILINE)
# JVM options come first; their values follow `=` or `:`.
_COMMAND_LINE = re.compile(r"^Command Line: (?:-\S* )*([^\s-]\S*)", re.MULTILINE)
_LISTED = re.compile(r"^(?:=>| ) ?0x[0-9a-f]{4,16} JavaThread \"([^\"\n]*)\"", re.MULTILINE)
_USED = re.compile(r"\btotal (\d+[KM]), used (\d+[KM])")


# Metaspace, threads and direct buffers are not part of the heap.
_OF_THE_HEAP = ("heap space", "GC overhead")


def out_of_memory(text: str) -> Fields:
    """The error for which a JVM ended itself, and what it ran out of if that was an OutOfMemoryError."""
    reason = text.strip()
    if not reason.startswith("OutOfMemoryError"):
        return {"reason": reason}
    of_heap = any(words in reason for words in _OF_THE_HEAP)
    return {"reason": reason, "out_of_memory": "heap" if of_heap else "other"}


def vm_error(text: str) -> Fields:
    """The fatal error of a JVM, from its console output or its hs_err file."""
    signal, memory, native = _SIGNAL.search(text), _OUT_OF_MEMORY.search(text), _NATIVE.search(text)
    reason = signal[1] if signal else native[0].lstrip("# ") if native else None
    frame, pid = _PROBLEMATIC.search(text), _PID.search(text)
    found: Fields = {
        **(out_of_memory(f"OutOfMemoryError: {memory[1].strip()}") if memory else {"reason": reason}),
        "frame": " ".join(frame[1].split()).partition(" @ 0x")[0] if frame else None,
        "pid": int(pid[1]) if pid else None,
    }
    if program := _COMMAND.search(text) or _COMMAND_LINE.search(text):
        found["program"] = program[1]
    if "\nJava Threads: " in text:
        found["threads"] = tuple(_LISTED.findall(text))
    if used := _USED.findall(text):
        # The Parallel and Serial collectors list each generation.
        found["size_kib"] = sum(kib(size) for size, _ in used)
        found["after_kib"] = sum(kib(size) for _, size in used)
    return found
