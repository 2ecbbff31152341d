"""Somebody to call: a web server of a test's own, which fails and keeps silent as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

UNANNOUNCED = 0


class Receiver(ThreadingHTTPServer):
    """Keeps what it is sent; answers as it is told to, then with 200."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.answers: list[int] = []
        self.accepted: list[dict[str, Any]] = []
        self.asked = self.unsent = 0
        self.keys: list[str] = []
        self.done = threading.Event()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Answering(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """Answer as told."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.keys.append(self.headers["Idempotency-Key"])
        self.server.asked += 1
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if answer == UNANNOUNCED:
            self.server.done.wait(5)
            return
        if answer == 200:
            self.server.accepted.append(body)
        self.send_response(answer)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in the base class
        """Be quiet."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver at work."""
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.done.set()
    server.shutdown()
    server.server_close()
    thread.join()
