"""Webhooks: what is to be said is decided with the tables, said after them, and never twice for one state.

The messages of a run become visible together with its tables. Whatever a run could not send, because it was killed
or nobody answered, the next one sends; a mark for each message that got through keeps it from being sent again. Only a
run that is killed between its question and the mark leaves open whether it was heard: PagerDuty, which knows repeats by
their key, is asked again; of others the next run says that they may not know.
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
# Before each further attempt.
PAUSES_S = (1.0, 2.0, 4.0, 8.0)
TOO_MANY, SERVER_ERROR = 429, 500
_KINDS = ("slack", "pagerduty", "generic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A receiver of messages. `key` is PagerDuty's routing key."""

    kind: str
    url: str
    key: str = ""

    @property
    def name(self) -> str:
        """A name for marks, which does not give the webhook's secrets away."""
        return hashed(self.kind, self.url, self.key)


def webhook_of(text: str) -> Webhook:
    """`slack=URL`, `generic=URL`, `pagerduty=ROUTING-KEY` or `pagerduty=ROUTING-KEY@URL`."""
    kind, _, rest = text.partition("=")
    key, at, url = rest.partition("@") if kind == "pagerduty" else ("", "", rest)
    url = url if at or kind != "pagerduty" else PAGERDUTY
    if kind not in _KINDS or not url.startswith(("http://", "https://")):
        raise InputError(f"--webhook {kind}=…: write slack=URL, generic=URL or pagerduty=KEY, URL with https://.")
    return Webhook(kind=kind, url=url, key=key)


def state_of(incident: Incident) -> str:
    """The state of an incident as one word: a new one is a new message."""
    severity, ongoing, cause, culprits = incident_facts.state_of(incident)
    return hashed(severity, ongoing, [(cause, *culprits)])


def outbox_text(
    dated: Iterable[DatedIncident], page_of: Callable[[DatedIncident], str | None]
) -> tuple[str, list[str]]:
    """The messages about these incidents; a sentence for each that a defect of ours spoiled."""
    # `page_of` gives the address of an incident's page.
    messages: list[dict[str, Any]] = []
    spoiled: list[str] = []
    for each in dated:
        incident = each.incident
        try:
            messages.append(_message(each, page_of(each)))
        except Exception as error:  # noqa: BLE001 - whatever it was, the other incidents are told
            spoiled.append(defects.sentence(f"the message about incident {incident.id} could not be written", error))
    return json.dumps(messages, sort_keys=True), spoiled


def outbox_of(run: str) -> str:
    """Where the messages of a run wait."""
    return f"{OUTBOX}/{run}/messages.json"


def is_unsent(store: Store, run: str) -> bool:
    """True if messages of a run wait still."""
    return store.kind(outbox_of(run)) == "file"


def report_of(dated: DatedIncident) -> Report:
    """A report of one incident and the groups that it disturbed."""
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
    """Send what waits; a sentence for each webhook that could not be reached. What failed waits for the next run."""
    # A sentence is handed on before its message is marked as done with, so that a kill in between loses none.
    problems: set[str] = set()
    # Messages of a run that was killed before its commit are about nothing that the tables have.
    for run in edition_of(store).named.unsent:
        waiting = outbox_of(run)
        if not is_unsent(store, run):
            continue
        with undamaged(store.uri, waiting):
            messages = json.loads(store.read(waiting))
        any_waits = False
        for problem, waits in (p for hook in webhooks for p in _send(store, hook, messages, pauses_s, timeout_s)):
            any_waits |= waits
            if problem not in problems:
                yield problem
            problems.add(problem)
        if not any_waits:
            store.delete_tree(f"{OUTBOX}/{run}")


def _send(
    store: Store, hook: Webhook, messages: Sequence[dict[str, Any]], pauses_s: Sequence[float], timeout_s: float
) -> Iterator[tuple[str, bool]]:
    # What went wrong with a message, and whether it waits for the next run.
    for message in messages:
        mark = f"{SENT}/{hook.name}-{message['id']}-{message['state']}"
        if store.kind(mark) == "file":
            continue
        asked = f"{mark}.asked"
        # PagerDuty drops a repeated message by its dedup_key.
        if store.kind(asked) == "file" and hook.kind != "pagerduty":
            warning = f"{hook.kind} may not know of incident {message['id']}: a run was stopped while it told of it."
            yield warning, False
            store.write(mark, b"")
            continue
        store.write(asked, b"")
        for text in message[hook.kind]:
            problem = _post(hook, text, f"{message['id']}-{message['state']}", pauses_s, timeout_s)
            if problem:
                store.delete(asked)
                # A receiver that does not answer one message will not answer the next hundred either.
                warning = (
                    f"the {hook.kind} webhook was not told of incident {message['id']}: {problem}; the next run will."
                )
                yield warning, True
                return
        store.write(mark, b"")
        store.delete(asked)


def _post(hook: Webhook, text: str, key: str, pauses_s: Sequence[float], timeout_s: float) -> str | None:
    # Send one message; None if it got through, else what was wrong at last.
    body = json.dumps({**json.loads(text), "routing_key": hook.key}) if hook.kind == "pagerduty" else text
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        hook.url, body.encode(), {"Content-Type": "application/json", "Idempotency-Key": key}, method="POST"
    )
    problem: str | None = None
    for pause in (*pauses_s, None):
        problem, lasting = _attempt(lambda: urllib.request.urlopen(request, timeout=timeout_s))  # noqa: S310
        if problem is None or lasting or pause is None:
            break
        time.sleep(pause)
    return problem


def _attempt(send: Callable[[], Any]) -> tuple[str | None, bool]:
    # What was wrong with one attempt, and whether another would be no better.
    try:
        with send():
            return None, False
    except urllib.error.HTTPError as error:
        with error:
            return f"it answered {error.code}", error.code < SERVER_ERROR and error.code != TOO_MANY
    except OSError as error:
        return str(getattr(error, "reason", None) or error), False
