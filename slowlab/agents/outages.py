"""Why a model call gave no answer: failures of single attempts, and what ends a campaign."""

from __future__ import annotations

from enum import StrEnum


class AttemptFault(StrEnum):
    """Why one attempt failed.

    ``rate_limited``: 429. ``server_error``: 5xx. ``connection_lost``: refused, reset or dropped.
    ``cut_body``: the answer ended in the middle. ``timed_out``: no answer in time.
    ``length_stop``: the answer reached the token limit. ``empty``: no visible answer, also where
    there is hidden reasoning. ``garbled``: an answer that is no completion. ``refused``: any other
    4xx, never tried again. ``wrong_model``, ``wrong_provider``: not the expected one answered.
    """

    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    CONNECTION_LOST = "connection_lost"
    CUT_BODY = "cut_body"
    TIMED_OUT = "timed_out"
    LENGTH_STOP = "length_stop"
    EMPTY = "empty"
    GARBLED = "garbled"
    REFUSED = "refused"
    WRONG_MODEL = "wrong_model"
    WRONG_PROVIDER = "wrong_provider"


class OutageError(RuntimeError):
    """The model could not be had; missing data, never a result."""


class CapReachedError(RuntimeError):
    """The next call could cost more than is allowed; nothing was sent."""
