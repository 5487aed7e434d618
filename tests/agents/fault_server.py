"""A chat completions endpoint on this machine that fails on command.

A script is a list of steps, one for each request that is not a repetition; after its end every
request gets the step that is called ``then``. A step is a mapping; ``do`` says what happens:

* ``answer``: a completion. ``text``, ``finish_reason``, ``model``, ``provider``, ``usage``,
  ``message`` (the whole message) replace the defaults.
* ``status``: an HTTP error. ``status``, ``headers``, ``body``.
* ``body``: ``body`` as it is, with ``content_type``, and status 200.
* ``drop``: the request is read and the connection closed without an answer.
* ``reset``: the same with a reset.
* ``cut``: half an answer. ``framing``: ``length``, ``chunked``, or ``reset``.
* ``stall``: nothing for ``seconds``, then an answer.
* ``drip``, ``drip_head``: a byte of the body, or of the head, every ``interval`` seconds.
* ``wait_and_answer``: an answer after ``seconds``, billed at once.

An answer, whole or cut, and a dropped, reset or stalled request is billed unless the step says
``billed: false``; errors are not billed. A request with an ``Idempotency-Key`` that was billed
before gets the same answer and is not billed again, unless the server was made with
``honours_keys=False``.

As a program: ``python fault_server.py --port-file F --script JSON`` serves until it is killed;
``GET /state`` returns the counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import ssl
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Step = Mapping[str, Any]
ANSWER: Step = {"do": "answer"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10}
_BILLED = {"answer", "cut", "drop", "reset", "stall", "drip", "drip_head", "wait_and_answer"}
_LINGER_RESET = struct.pack("ii", 1, 0)


@dataclass
class Seen:
    """One request as it came."""

    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def key(self) -> str | None:
        return self.headers.get("idempotency-key")


@dataclass
class FaultServer:
    """The server; use it in a ``with`` block.

    Attributes:
        requests: all requests.
        billed: number of billed requests by Idempotency-Key.
        arrived: set when a request has come.
    """

    script: Iterable[Step] = ()
    then: Step | Callable[[Seen], Step] = field(default_factory=lambda: ANSWER)
    honours_keys: bool = True
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    requests: list[Seen] = field(default_factory=list)
    billed: Counter[str | None] = field(default_factory=Counter)
    arrived: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._steps = iter(list(self.script))
        self._stored: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self.ended = threading.Event()
        self._server = _Server((self.host, 0), _Handler)
        self._server.owner = self
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,))

    @property
    def base_url(self) -> str:
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://{self.host}:{self.port}/v1"

    @property
    def port(self) -> int:
        return self._server.server_port

    def __enter__(self) -> FaultServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def state(self) -> dict[str, Any]:
        """Counts, as ``GET /state`` returns them."""
        with self._lock:
            billed = {str(key): count for key, count in self.billed.items()}
            return {"requests": len(self.requests), "billed": billed}

    def next_step(self, seen: Seen) -> tuple[Step, bytes]:
        """What to do with a request, and the body of its answer, if it gets one."""
        with self._lock:
            self.requests.append(seen)
            if self.honours_keys and seen.key in self._stored:
                return ANSWER, self._stored[seen.key]
            step = next(self._steps, None)
            if step is None:
                step = self.then(seen) if callable(self.then) else self.then
            content = completion(step, seen)
            if step.get("billed", step["do"] in _BILLED):
                self.billed[seen.key] += 1
                if self.honours_keys and seen.key is not None:
                    self._stored[seen.key] = content
            self.arrived.set()
            return step, content


def completion(step: Step, seen: Seen) -> bytes:
    """The body of an answer."""
    message = step.get("message", {"role": "assistant", "content": step.get("text", "hello")})
    choice = {"index": 0, "message": message, "finish_reason": step.get("finish_reason", "stop")}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": step.get("model", seen.body.get("model")),
        "choices": [choice],
    }
    for name, default in (("usage", USAGE), ("provider", None)):
        if step.get(name, default) is not None:
            body[name] = step.get(name, default)
    return json.dumps(body).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128  # the usual 5 makes the sixth caller wait for a second
    owner: FaultServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, {}, json.dumps(self.server.owner.state()).encode())

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = json.loads(self.rfile.read(length))
        seen = Seen({k.lower(): v for k, v in self.headers.items()}, body)
        step, content = self.server.owner.next_step(seen)
        self.close_connection = True
        getattr(self, f"_do_{step['do']}")(step, content)

    def _do_answer(self, step: Step, content: bytes) -> None:
        self._send(200, {}, content)

    def _do_wait_and_answer(self, step: Step, content: bytes) -> None:
        self.server.owner.ended.wait(step["seconds"])
        self._send(200, {}, content)

    _do_stall = _do_wait_and_answer

    def _do_status(self, step: Step, content: bytes) -> None:
        body = step.get("body", {"error": {"message": "on command", "code": step["status"]}})
        self._send(step["status"], step.get("headers", {}), _as_bytes(body))

    def _do_body(self, step: Step, content: bytes) -> None:
        kind = step.get("content_type", "application/json")
        self._send(200, {"Content-Type": kind}, _as_bytes(step["body"]))

    def _do_drop(self, step: Step, content: bytes) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def _do_reset(self, step: Step, content: bytes) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RESET)
        self.connection.close()

    def _do_cut(self, step: Step, content: bytes) -> None:
        half = content[: len(content) // 2]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if step["framing"] == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(f"{len(half):x}\r\n".encode() + half + b"\r\n")
        else:
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(half)
        if step["framing"] == "reset":
            self.server.owner.ended.wait(0.1)  # so that the half is read before the reset
            self._do_reset(step, content)

    def _do_drip(self, step: Step, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self._drip(content, step["interval"])

    def _do_drip_head(self, step: Step, content: bytes) -> None:
        self._drip(b"HTTP/1.1 200 OK\r\nX-Padding: " + b"a" * 10_000, step["interval"])

    def _drip(self, content: bytes, interval: float) -> None:
        for byte in content:
            if self.server.owner.ended.wait(interval):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def _send(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _as_bytes(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--script", default="[]")
    parser.add_argument("--then", default=json.dumps(ANSWER))
    parser.add_argument("--ignores-keys", action="store_true")
    options = parser.parse_args()
    script, then = json.loads(options.script), json.loads(options.then)
    with FaultServer(script, then, honours_keys=not options.ignores_keys) as server:
        part = options.port_file.with_suffix(".part")
        part.write_text(str(server.port), encoding="utf-8")
        os.replace(part, options.port_file)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
