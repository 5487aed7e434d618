"""A real HTTP endpoint for the stand-ins, on this machine only.

``POST /v1/chat/completions`` and ``GET /v1/models`` are what clients use. ``GET /v1/billing`` tells
how many requests were answered and how many of them were billed: a request that is repeated with
its ``Idempotency-Key`` is answered again and billed once. That ledger has no effect on any answer.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from slowlab.agents.standins.completion import BadRequestError, complete, models

_WAITING_CONNECTIONS = 256
_LONGEST_BODY = 64 * 1024 * 1024
_HTTP_OK, _HTTP_BAD_REQUEST, _HTTP_NOT_FOUND, _HTTP_TOO_LARGE = 200, 400, 404, 413


@contextmanager
def serve_stand_ins(delay_s: float = 0.0, port: int = 0) -> Iterator[str]:
    """Serve the stand-ins while the block runs.

    Args:
        delay_s: time that every answer takes, s.
        port: port on 127.0.0.1; 0 takes a free one.

    Yields:
        Address for clients, such as ``http://127.0.0.1:40123/v1``.

    Raises:
        OSError: the port cannot be had.
    """
    try:
        server = _Server(port, delay_s)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"port {port}") from None
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.hang_up()
        server.server_close()


class Ledger:
    """What was answered and billed; safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered = 0
        self._billed = 0
        self._keys: set[str] = set()

    def enter(self, key: str | None) -> None:
        """Count an answer, and bill it unless its key was billed before."""
        with self._lock:
            self._answered += 1
            if key is None or key not in self._keys:
                self._billed += 1
            if key is not None:
                self._keys.add(key)

    def totals(self) -> dict[str, int]:
        """Counts so far."""
        with self._lock:
            return {"answered": self._answered, "billed": self._billed}


class _Server(ThreadingHTTPServer):
    """Keeps its connections, so that all of them end with it.

    Attributes:
        ledger: what was answered and billed.
        delay_s: time that every answer takes, s.
        ended: set when the server ends; answers that still wait are given at once.
    """

    daemon_threads = True
    request_queue_size = _WAITING_CONNECTIONS

    def __init__(self, port: int, delay_s: float) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.ledger = Ledger()
        self.delay_s = delay_s
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own."""
        arguments = (request, client_address)
        thread = threading.Thread(target=self._converse, args=arguments, daemon=True)
        with self._lock:
            self._open[request] = thread
        thread.start()

    def hang_up(self) -> None:
        """End every connection and wait until its thread has gone."""
        self.ended.set()
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            with suppress(OSError):  # the other side was quicker
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join()

    def _converse(self, request: Any, client_address: Any) -> None:
        try:
            with suppress(OSError):  # the other side has gone
                self.finish_request(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)
            self.shutdown_request(request)


class _Handler(BaseHTTPRequestHandler):
    """One connection, kept open between requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # headers and body leave together
    server: _Server

    def do_GET(self) -> None:
        """Models and billing."""
        path = urlsplit(self.path).path
        if path == "/v1/models":
            self._send(_HTTP_OK, models())
        elif path == "/v1/billing":
            self._send(_HTTP_OK, self.server.ledger.totals())
        else:
            self._refuse(_HTTP_NOT_FOUND, "there is nothing at this address")

    def do_POST(self) -> None:
        """Chat completions."""
        try:
            body = complete(self._request())
        except BadRequestError as error:
            self._refuse(error.status, str(error))
            return
        self.server.ended.wait(self.server.delay_s)
        self.server.ledger.enter(self.headers.get("Idempotency-Key"))
        self._send(_HTTP_OK, body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _request(self) -> dict[str, Any]:
        """The body of the request.

        Raises:
            BadRequestError: another address, or no JSON object of an acceptable length.
        """
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LONGEST_BODY:
            self.close_connection = True
            raise BadRequestError(_HTTP_TOO_LARGE, f"send at most {_LONGEST_BODY} bytes, counted")
        content = self.rfile.read(int(length))
        if urlsplit(self.path).path != "/v1/chat/completions":
            raise BadRequestError(_HTTP_NOT_FOUND, "there is nothing at this address")
        try:
            request = json.loads(content)
        except (ValueError, RecursionError):
            raise BadRequestError(_HTTP_BAD_REQUEST, "the body is not JSON") from None
        if not isinstance(request, dict):
            raise BadRequestError(_HTTP_BAD_REQUEST, "the body is not an object")
        return request

    def _refuse(self, status: int, message: str) -> None:
        self._send(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def _send(self, status: int, body: Mapping[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()
