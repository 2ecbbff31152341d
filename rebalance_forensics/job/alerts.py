"""Sends webhook messages about incidents: once for each state of an incident, after the tables are committed.

The messages of a run are committed together with its tables. If a run could not send a message because it was killed or
the receiver did not respond, the next run sends it; a marker is written for each message that was delivered. If a run
is killed between sending a message and writing its marker, delivery is unknown: PagerDuty, which drops duplicates by
their key, gets the message again; for other receivers, the next run warns that they may not have received it.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rebalance_forensics import __version__, defects
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.job.lake.editions import edition_of
from rebalance_forensics.job.lake.layout import OUTBOX, undamaged
from rebalance_forensics.job.steps.findings import DatedIncident
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.rows import hashed
from rebalance_forensics.report import incident_facts
from rebalance_forensics.report.exports import pagerduty, slack
from rebalance_forensics.report.json_report import incident_document
from rebalance_forensics.report.model import Report

SENT = "_alerts/sent"
PAGERDUTY = "https://events.pagerduty.com/v2/enqueue"
TIMEOUT_S = 10.0
# The wait before each retry.
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
TOO_MANY, SERVER_ERROR = 429, 500
_KINDS = ("slack", "pagerduty", "generic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A receiver of messages; `key` is PagerDuty's routing key."""

    kind: str
    url: str
    key: str = ""

    @property
    def name(self) -> str:
        """The receiver's name in markers; a hash, because the URL and the key are secret."""
        return hashed(self.kind, self.url, self.key)


def webhook_of(text: str) -> Webhook:
    """Parse `slack=URL`, `generic=URL`, `pagerduty=ROUTING-KEY` or `pagerduty=ROUTING-KEY@URL`."""
    kind, _, rest = text.partition("=")
    key, at, url = rest.partition("@") if kind == "pagerduty" else ("", "", rest)
    url = url if at or kind != "pagerduty" else PAGERDUTY
    if kind not in _KINDS or not url.startswith(("http://", "https://")):
        raise InputError(f"--webhook {kind}=…: write slack=URL, generic=URL or pagerduty=KEY, URL with https://.")
    return Webhook(kind=kind, url=url, key=key)


def state_of(incident: Incident) -> str:
    """A hash of the incident's state; a message is sent for each new state."""
    severity, ongoing, cause, culprits = incident_facts.state_of(incident)
    return hashed(severity, ongoing, [(cause, *culprits)])


def outbox_text(
    dated: Iterable[DatedIncident], page_of: Callable[[DatedIncident], str | None]
) -> tuple[str, list[str]]:
    """The messages about these incidents as JSON, and a sentence for each message that an internal error prevented.

    `page_of` returns the address of an incident's page, if it has one.
    """
    messages: list[dict[str, Any]] = []
    failed: list[str] = []
    for each in dated:
        incident = each.incident
        try:
            messages.append(_message(each, page_of(each)))
        except Exception as error:  # noqa: BLE001 - the other messages are still written
            failed.append(defects.sentence(f"the message about incident {incident.id} could not be written", error))
    return json.dumps(messages, sort_keys=True), failed


def outbox_of(run: str) -> str:
    """The path of a run's unsent messages."""
    return f"{OUTBOX}/{run}/messages.json"


def is_unsent(store: Store, run: str) -> bool:
    """True if a run has unsent messages."""
    return store.kind(outbox_of(run)) == "file"


def report_of(dated: DatedIncident) -> Report:
    """A report with a single incident and the groups that it affected."""
    return Report(
        tool_version=__version__, inputs=(), groups=dated.histories, incidents=(dated.incident,), gaps=dated.gaps
    )


def _message(dated: DatedIncident, page: str | None) -> dict[str, Any]:
    incident, report = dated.incident, replace(report_of(dated), page=page)
    state = state_of(incident)
    generic = {"dedup_key": incident.id, "state": state, "incident": incident_document(incident)}
    return {
        "id": incident.id,
        "state": state,
        "slack": [slack.export(report)],
        "pagerduty": pagerduty.export(report).splitlines(),
        "generic": [json.dumps(generic, sort_keys=True)],
    }


def deliver(
    store: Store, webhooks: Sequence[Webhook], *, pauses_s: Sequence[float] = PAUSES_S, timeout_s: float = TIMEOUT_S
) -> Iterator[str]:
    """Send all unsent messages; yields a sentence for each webhook that failed, which the next run retries."""
    # Each sentence is yielded before its message is marked, so that none is lost if the run is killed in between.
    problems: set[str] = set()
    # Only of committed runs: a run that was killed before its commit has no rows in the tables.
    for run in edition_of(store).named.unsent:
        outbox = outbox_of(run)
        if not is_unsent(store, run):
            continue
        with undamaged(store.uri, outbox):
            messages = json.loads(store.read(outbox))
        is_complete = True
        for problem, has_unsent in (p for hook in webhooks for p in _send(store, hook, messages, pauses_s, timeout_s)):
            is_complete &= not has_unsent
            if problem not in problems:
                yield problem
            problems.add(problem)
        if is_complete:
            store.delete_tree(f"{OUTBOX}/{run}")


def _send(
    store: Store, hook: Webhook, messages: Sequence[dict[str, Any]], pauses_s: Sequence[float], timeout_s: float
) -> Iterator[tuple[str, bool]]:
    # Yields each problem with a message, and whether the message has to be sent by the next run.
    for message in messages:
        sent_marker = f"{SENT}/{hook.name}-{message['id']}-{message['state']}"
        if store.kind(sent_marker) == "file":
            continue
        attempt_marker = f"{sent_marker}.asked"
        # PagerDuty drops a repeated message by its dedup_key.
        if store.kind(attempt_marker) == "file" and hook.kind != "pagerduty":
            warning = f"{hook.kind} may not have received incident {message['id']}: a run was stopped while sending it."
            yield warning, False
            store.write(sent_marker, b"")
            continue
        store.write(attempt_marker, b"")
        for text in message[hook.kind]:
            problem = _post(hook, text, f"{message['id']}-{message['state']}", pauses_s, timeout_s)
            if problem:
                store.delete(attempt_marker)
                # A receiver that fails for one message would fail for all others, each with its retries.
                warning = (
                    f"incident {message['id']} could not be sent to the {hook.kind} webhook: {problem}; "
                    "the next run will retry."
                )
                yield warning, True
                return
        store.write(sent_marker, b"")
        store.delete(attempt_marker)


def _post(hook: Webhook, text: str, key: str, pauses_s: Sequence[float], timeout_s: float) -> str | None:
    # Send one message; returns None if it was delivered, else the last problem.
    body = json.dumps({**json.loads(text), "routing_key": hook.key}) if hook.kind == "pagerduty" else text
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        hook.url, body.encode(), {"Content-Type": "application/json", "Idempotency-Key": key}, method="POST"
    )
    problem: str | None = None
    for pause in (*pauses_s, None):
        problem, is_permanent = _attempt(lambda: urllib.request.urlopen(request, timeout=timeout_s))  # noqa: S310
        if problem is None or is_permanent or pause is None:
            break
        time.sleep(pause)
    return problem


def _attempt(send: Callable[[], Any]) -> tuple[str | None, bool]:
    # The problem of one attempt, and whether it is permanent, so that retries are pointless.
    try:
        with send():
            return None, False
    except urllib.error.HTTPError as error:
        with error:
            return f"it responded with {error.code}", error.code < SERVER_ERROR and error.code != TOO_MANY
    except OSError as error:
        return str(getattr(error, "reason", None) or error), False
