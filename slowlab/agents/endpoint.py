"""One request to a chat completions endpoint through the OpenAI library: bytes out, bytes in.

The library's own retries are off, TLS certificates are checked, redirects are not followed, and
every attempt has a connection of its own, so that no fault of one attempt reaches the next. Headers
that tell about the machine or the account of whoever asks are taken off.

Imported late: the library takes long to load.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "idempotency-key",
        "user-agent",
    }
)
"""All that is sent, beside the key."""
_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol)


@dataclass(frozen=True)
class Response:
    """A complete HTTP response.

    Attributes:
        status: HTTP status.
        headers: by lower-case name.
        content: the body.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class ExchangeError(Exception):
    """No complete response.

    Attributes:
        timed_out: whether it took too long.
        begun: whether a response had begun.
        sent: whether the request may have reached the endpoint.
        detail: what happened, in words.
    """

    def __init__(self, detail: str, *, timed_out: bool, begun: bool, sent: bool) -> None:
        super().__init__(detail)
        self.timed_out = timed_out
        self.begun = begun
        self.sent = sent
        self.detail = detail


class Endpoint:
    """An endpoint; safe between threads."""

    def __init__(
        self, base_url: str, key: str | None, *, timeout_s: float, connect_timeout_s: float
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            base_url: address up to and with ``/v1``.
            key: the key, or None where none is needed.
            timeout_s: longest time of an attempt, s.
            connect_timeout_s: longest time until a connection stands, s.
        """
        self._key = key
        self._timeout_s = timeout_s
        self._now = threading.local()
        is_near = urlsplit(base_url).hostname in ("127.0.0.1", "::1", "localhost")
        http = httpx2.Client(
            timeout=httpx2.Timeout(timeout_s, connect=connect_timeout_s),
            limits=httpx2.Limits(max_keepalive_connections=0),
            trust_env=not is_near,  # no proxy on the way to this machine
            event_hooks={"request": [self._before], "response": [self._begins]},
        )
        self._library = openai.OpenAI(
            api_key=key or "none",
            organization="",
            project="",
            base_url=base_url,
            max_retries=0,
            http_client=http,
        )

    def post(self, body: Mapping[str, Any], idempotency_key: str) -> Response:
        """Ask for a chat completion once.

        Args:
            body: the request.
            idempotency_key: the same for the same attempt, also after a restart.

        Raises:
            ExchangeError: no complete response came.
        """
        attempt = self._now.attempt = _Attempt()
        with attempt.limited_to(self._timeout_s):
            try:
                raw = self._library.post(
                    "/chat/completions",
                    cast_to=httpx2.Response,
                    body=dict(body),
                    options={"headers": {"Idempotency-Key": idempotency_key}},
                )
            except openai.APIStatusError as error:
                raw = error.response
            except openai.APIConnectionError as error:
                raise attempt.failure(error) from None
        headers = {name.lower(): value for name, value in raw.headers.items()}
        return Response(raw.status_code, headers, raw.content)

    def close(self) -> None:
        """Let go of everything."""
        self._library.close()

    def _before(self, request: httpx2.Request) -> None:
        """Take off what identifies, and follow the connection that this request gets."""
        for name in [name for name in request.headers if name not in _HEADERS]:
            del request.headers[name]
        if self._key is not None:
            request.headers["authorization"] = f"Bearer {self._key}"
        request.extensions["trace"] = self._now.attempt.follow

    def _begins(self, response: httpx2.Response) -> None:
        self._now.attempt.begun = True


@dataclass
class _Attempt:
    """One request on its way, and how it is cut off when its time is up.

    The library only limits the silence between two bytes, so an endpoint that sends one byte now
    and then would never be given up.
    """

    begun: bool = False
    expired: bool = False
    _connection: socket.socket | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def limited_to(self, seconds: float) -> _Limit:
        """Cut the connection off after so many seconds, unless the block ends before."""
        return _Limit(threading.Timer(seconds, self._cut_off))

    def follow(self, event: str, details: Mapping[str, Any]) -> None:
        """Take note of the connection, as soon as there is one."""
        if not event.endswith(_CONNECTED):
            return
        with self._lock:
            self._connection = details["return_value"].get_extra_info("socket")
            if self.expired:
                self._shut()

    def failure(self, error: openai.APIConnectionError) -> ExchangeError:
        """What went wrong, in our words."""
        cause = error.__cause__ or error
        timed_out = self.expired or isinstance(error, openai.APITimeoutError)
        detail = (
            "no complete answer in time" if self.expired else f"{type(cause).__name__}: {cause}"
        )
        sent = not isinstance(cause, _NOT_SENT)
        return ExchangeError(detail, timed_out=timed_out, begun=self.begun, sent=sent)

    def _cut_off(self) -> None:
        with self._lock:
            self.expired = True
            self._shut()

    def _shut(self) -> None:
        if self._connection is not None:
            with suppress(OSError):  # it has ended by itself
                socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


@dataclass(frozen=True)
class _Limit:
    """A timer that runs while a block does."""

    timer: threading.Timer

    def __enter__(self) -> None:
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.timer.join()
