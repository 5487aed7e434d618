"""One job's connection to a language model: client, purse, and a dialogue for each campaign."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slowlab.agents.books import Caps
from slowlab.agents.client import ModelClient
from slowlab.agents.dialogue import Dialogue
from slowlab.agents.firewall import Firewall
from slowlab.agents.models import ModelConfig
from slowlab.agents.purse import Purse
from slowlab.agents.standins import serve_stand_ins
from slowlab.agents.transcript import Transcript
from slowlab.campaign.journal import Durability

PARALLEL_CALLS = 64
"""Most campaigns of a job that wait for a model at the same time; no result depends on it."""
LOCAL_CALLS = 1
"""The same where the model runs on this machine: it would only share the processor."""


@dataclass(frozen=True)
class Connection:
    """Where the campaigns of a job get their answers from.

    Attributes:
        model: the model.
        client: asks it.
        purse: what all jobs of the study may spend.
    """

    model: ModelConfig
    client: ModelClient
    purse: Purse

    def dialogue(
        self,
        path: Path,
        header: Mapping[str, Any],
        hidden: Iterable[tuple[str, float | int | str]],
        keys: Iterable[str] = (),
    ) -> AbstractContextManager[Dialogue]:
        """The dialogue of one campaign or reading, followed as far as its transcript goes.

        Args:
            path: the transcript.
            header: what it says about itself.
            hidden: name and value of what no prompt may show.
            keys: further names that may stand in prompts.

        Raises:
            JournalError: the transcript is damaged or in use.
            OSError: it cannot be opened.
        """
        transcript = Transcript.open(path, header, durability=durability_of(self.model))
        return closing(
            Dialogue(transcript, self.model, self.client, self.purse, Firewall(hidden, keys=keys))
        )

    @property
    def parallel_calls(self) -> int:
        """Campaigns or readings that may wait for the model at the same time."""
        return LOCAL_CALLS if self.model.local else PARALLEL_CALLS

    def public_model(self) -> dict[str, Any]:
        """The model as a transcript shows it."""
        return self.model.public()

    def spent(self) -> str:
        """What the study has used so far, in words."""
        return self.purse.totals().sentence()


def durability_of(model: ModelConfig) -> Durability:
    """What records must survive: what was paid for also a loss of power."""
    return Durability.PROCESS if model.free else Durability.DISK


@contextmanager
def connect(model: ModelConfig, purse: Path, caps: Caps) -> Iterator[Connection]:
    """Connect to a model; a stand-in is served for as long as the connection lasts.

    Args:
        model: the model.
        purse: file that all jobs of the study share.
        caps: what they may spend.

    Raises:
        ConfigError: the model's key is not in the environment.
        OSError: the purse cannot be opened.
    """
    with ExitStack() as stack:
        base_url = None
        if model.stand_in is not None:
            base_url = stack.enter_context(serve_stand_ins())
        client = stack.enter_context(closing(ModelClient(model, base_url)))
        opened = Purse.open(purse, caps, durability=durability_of(model))
        stack.enter_context(closing(opened))
        yield Connection(model, client, opened)
