"""One small log of two hosts, wrapped in every way in which people export logs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

Entry = tuple[str, int, str]
"""Host, UTC milliseconds, one physical line."""

START = 1795169730123


def entries(offset_ms: int = 0) -> list[Entry]:
    """Two brokers' lines interleaved; a record of three lines is broken by a line of the other."""
    records = [
        (
            "broker-1",
            0,
            ["[GroupCoordinator 1]: Preparing to rebalance group g (kafka.coordinator.group.GroupCoordinator)"],
        ),
        (
            "broker-2",
            40,
            [
                "ConsumerConfig values: ",
                "\tgroup.id = g",
                "\tclient.id = c",
                " (org.apache.kafka.clients.consumer.ConsumerConfig)",
            ],
        ),
        ("broker-1", 900, ['[GroupCoordinator 1]: Said "hello" \\ <b> (kafka.coordinator.group.GroupCoordinator)']),
        ("broker-2", 1500, ["é 你好 (kafka.server.KafkaServer)"]),
        ("broker-1", 2000, ["[GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"]),
        (
            "broker-2",
            2600,
            [
                "down (kafka.server.KafkaServer)",
                "java.lang.IllegalStateException: x",
                "\tat kafka.Kafka.main(Kafka.scala:1)",
            ],
        ),
    ]
    lines: list[Entry] = []
    for host, after, texts in records:
        at = START + after
        lines += [(host, at, f"[{time_of(at + offset_ms)}] INFO {texts[0]}"), *((host, at, text) for text in texts[1:])]
    lines[2], lines[5] = lines[2], lines[5]
    middle = lines.pop(5)
    lines.insert(3, middle)
    return lines


def time_of(at: int) -> str:
    """As log4j prints it."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]


def iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _lines(write: Callable[[Entry], str]) -> Callable[[Iterable[Entry]], str]:
    return lambda entries: "".join(write(entry) + "\n" for entry in entries)


def _json(shape: Callable[[Entry], object]) -> Callable[[Iterable[Entry]], str]:
    return _lines(lambda entry: json.dumps(shape(entry), ensure_ascii=False))


def _es(entry: Entry) -> dict[str, object]:
    host, at, text = entry
    return {"_index": "k", "_source": {"@timestamp": iso(at), "message": text, "host": {"name": host}}}


def _csv(entries: Iterable[Entry]) -> str:
    out = io.StringIO()
    rows = csv.writer(out, quoting=csv.QUOTE_ALL)
    rows.writerow(["_time", "host", "source", "_raw"])
    rows.writerows([iso(at), host, "server.log", text] for host, at, text in entries)
    return out.getvalue()


def _subscription(entries: Iterable[Entry]) -> str:
    return "".join(
        json.dumps(
            {
                "messageType": "DATA_MESSAGE",
                "logGroup": "/msk",
                "logStream": host,
                "logEvents": [{"id": "1", "timestamp": at, "message": text}],
            }
        )
        for host, at, text in entries
    )


def _loki_api(entries: Iterable[Entry]) -> str:
    found = list(entries)
    streams = [
        {"stream": {"pod": name}, "values": [[str(at * 1_000_000), text] for host, at, text in found if host == name]}
        for name in sorted({host for host, _, _ in found})
    ]
    return json.dumps({"status": "success", "data": {"resultType": "streams", "result": streams}})


def _journald(entry: Entry) -> dict[str, object]:
    host, at, text = entry
    message: object = text if text.isascii() else list(text.encode())
    return {
        "__REALTIME_TIMESTAMP": str(at * 1000),
        "_HOSTNAME": host,
        "_SYSTEMD_UNIT": "kafka.service",
        "MESSAGE": message,
    }


def _tailed(entries: Iterable[Entry]) -> str:
    """A heading whenever the file changes, behind a blank line."""
    out, last = "", None
    for host, _, text in entries:
        out += "" if host == last else f"{'' if last is None else chr(10)}==> {host}/server.log <==\n"
        out, last = f"{out}{text}\n", host
    return out


WRAPPINGS: dict[str, Callable[[Iterable[Entry]], str]] = {
    "compose": _lines(lambda e: f"{e[0]}  | {e[2]}"),
    "compose with times": _lines(lambda e: f"{e[0]}  | {iso(e[1])[:-1]}456789Z {e[2]}"),
    "stern": _lines(lambda e: f"{e[0]} kafka {e[2]}"),
    "stern with times": _lines(lambda e: f"{e[0]} kafka {iso(e[1])[:-1]}456789Z {e[2]}"),
    "stern json": _json(
        lambda e: {
            "message": e[2],
            "nodeName": "worker-7",
            "namespace": "kafka",
            "podName": e[0],
            "containerName": "kafka",
        }
    ),
    "kubectl-prefix": _lines(lambda e: f"[pod/{e[0]}/kafka] {e[2]}"),
    "kubectl prefix and timestamps": _lines(lambda e: f"[pod/{e[0]}/kafka] {iso(e[1])} {e[2]}"),
    "journald": _json(_journald),
    "syslog-3164": _lines(
        lambda e: f"<14>{datetime.fromtimestamp(e[1] / 1000, UTC):%b %d %H:%M:%S} {e[0]} kafka[81]: {e[2]}"
    ),
    "syslog-5424": _lines(lambda e: f"<14>1 {iso(e[1])} {e[0]} kafka 812 - - {e[2]}"),
    "fluent bit": _json(
        lambda e: {
            "date": e[1] / 1000,
            "stream": "stdout",
            "_p": "F",
            "log": e[2],
            "kubernetes": {"pod_name": e[0], "namespace_name": "k"},
        }
    ),
    "fluentd": _json(
        lambda e: {"stream": "stdout", "logtag": "F", "message": e[2], "time": iso(e[1]), "hostname": e[0]}
    ),
    "fluent bit array": lambda entries: json.dumps(
        [{"date": e[1] / 1000, "log": e[2], "kubernetes": {"pod_name": e[0], "namespace_name": "k"}} for e in entries]
    ),
    "vector": _json(
        lambda e: {
            "message": e[2],
            "timestamp": iso(e[1]),
            "stream": "stdout",
            "source_type": "kubernetes_logs",
            "kubernetes": {"pod_name": e[0]},
        }
    ),
    "cloudwatch subscription": _subscription,
    "cloudwatch events": lambda entries: json.dumps(
        {
            "events": [
                {"logStreamName": e[0], "timestamp": e[1], "message": e[2], "ingestionTime": e[1] + 9} for e in entries
            ]
        },
        indent=2,
    ),
    "aws logs tail": _lines(lambda e: f"{iso(e[1])[:-1]}000+00:00 {e[0]} {e[2]}"),
    "aws filter-log-events as text": _lines(lambda e: f"EVENTS\t3812\t{e[1] + 700}\t{e[0]}\t{e[2]}\t{e[1]}"),
    "rsyslog with tabs escaped": _lines(
        lambda e: f"{iso(e[1])[:-1]}000+00:00 {e[0]} kafka[812]: {e[2]}".replace("\t", "#011")
    ),
    "tail of two files": _tailed,
    "loki jsonl": _json(lambda e: {"labels": {"pod": e[0]}, "line": e[2], "timestamp": iso(e[1])}),
    "loki text": _lines(lambda e: f'{iso(e[1])} {{app="kafka", pod="{e[0]}"}} {e[2]}'),
    "loki api": _loki_api,
    "elasticsearch": _json(_es),
    "elasticsearch hits": lambda entries: json.dumps(
        {"took": 1, "hits": {"total": 9, "hits": [_es(entry) for entry in entries]}}, indent=1
    ),
    "elasticsearch array": lambda entries: json.dumps([_es(entry) for entry in entries]),
    "datadog": _json(
        lambda e: {
            "_id": "A",
            "date": iso(e[1]),
            "host": e[0],
            "service": "kafka",
            "status": "info",
            "message": e[2],
            "attributes": {},
        }
    ),
    "splunk json": _json(
        lambda e: {"preview": False, "result": {"_raw": e[2], "_time": iso(e[1]), "host": e[0], "source": "s"}}
    ),
    "splunk csv": _csv,
    "google cloud": _json(
        lambda e: {
            "timestamp": iso(e[1]),
            "resource": {"type": "k8s_container", "labels": {"pod_name": e[0]}},
            "textPayload": e[2],
            "severity": "INFO",
        }
    ),
    "gcloud as one array": lambda entries: json.dumps(
        [
            {
                "insertId": str(number),
                "labels": {"k8s-pod/app": "kafka"},
                "logName": "projects/p/logs/stdout",
                "receiveTimestamp": iso(at + 700),
                "resource": {"labels": {"container_name": "kafka", "pod_name": host}, "type": "k8s_container"},
                "severity": "INFO",
                "textPayload": text,
                "timestamp": iso(at),
            }
            for number, (host, at, text) in enumerate(entries)
        ],
        indent=2,
    ),
    "datadog api": lambda entries: json.dumps(
        {
            "meta": {"status": "done", "page": {"after": "eyJhZnRlciI"}, "elapsed": 132},
            "data": [
                {
                    "type": "log",
                    "id": f"AQ{number}",
                    "attributes": {
                        "service": "kafka",
                        "host": host,
                        "timestamp": iso(at),
                        "status": "info",
                        "message": text,
                        "tags": ["env:p"],
                        "attributes": {},
                    },
                }
                for number, (host, at, text) in enumerate(entries)
            ],
        }
    ),
    "any json": _json(lambda e: {"ts": iso(e[1]), "pod": e[0], "msg": e[2]}),
}
"""By name, what writes a whole export of several hosts."""
