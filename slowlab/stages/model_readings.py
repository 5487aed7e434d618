"""Let a language model read all packets of a file, several at the same time.

Every reading has a transcript of its own and is asked for nothing twice: a job that runs again
follows what is recorded. The order of the results is that of the packets, whoever answers first.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowlab.agents.books import Caps
from slowlab.agents.connection import Connection, connect
from slowlab.agents.firewall import FirewallError
from slowlab.agents.outages import CapReachedError, OutageError
from slowlab.agents.profile import HarnessProfile
from slowlab.campaign.session import FailureKind
from slowlab.evaluation.recommendations import Recommendation
from slowlab.plan.agents import model_of, profile_of
from slowlab.plan.entries import ReaderEntry
from slowlab.readers.language_model import LanguageModelReader
from slowlab.readers.packet_view import VIEW_KEYS
from slowlab.readers.reading_transcripts import reading_header
from slowlab.seeds import SeedKey
from slowlab.stages.campaigns import write_recommendations
from slowlab.stages.hidden_values import hidden_values
from slowlab.stages.materials import Materials
from slowlab.stages.readers import PacketRow, load_packets, recommendation
from slowlab.stages.side_by_side import side_by_side

_SAID = 0.25
_log = logging.getLogger(__name__)


def read_with_model(
    materials: Materials,
    entry: ReaderEntry,
    packets: Path,
    target: Path,
    *,
    transcripts: Path,
    purse: Path,
    spending: Caps,
) -> None:
    """Let one language model read all packets of a file and write what it recommends.

    Args:
        materials: what the study's setting names.
        entry: the reader.
        packets: what :func:`slowlab.stages.readers.make_packets` wrote.
        target: gets the recommendations, in the order of the packets.
        transcripts: folder of this reader's transcripts; it survives.
        purse: what all jobs of the study have spent.
        spending: what they may spend.

    Raises:
        ConfigError: no such model or profile, or its key is not in the environment.
        PacketError: the file holds no packets, one that was changed, or one that does not fit into
            a prompt of the profile.
        CapReachedError: a cap was reached; what was paid for is kept, and the job goes on when the
            cap is raised.
        JournalError: a transcript is damaged or in use.
        OSError: a file cannot be read or written.
    """
    rows, profile = load_packets(packets), profile_of(entry)
    with connect(model_of(entry), purse, spending) as connection:
        readings = Readings(materials, entry, profile, connection, transcripts).read(rows)
    write_recommendations(target, materials, readings)


@dataclass(frozen=True)
class Readings:
    """The readings of one language model.

    Attributes:
        materials: what the study's setting names.
        entry: the reader.
        profile: its harness profile.
        connection: to the model.
        transcripts: folder of the transcripts.
    """

    materials: Materials
    entry: ReaderEntry
    profile: HarnessProfile
    connection: Connection
    transcripts: Path

    def read(self, rows: Sequence[PacketRow]) -> list[Recommendation]:
        """Read packets; raises as :func:`read_with_model` does."""
        workers = self.connection.parallel_calls
        return side_by_side(self._read_one, rows, workers, self._reporter(len(rows)))

    def transcript(self, row: PacketRow) -> Path:
        """The transcript of a reading."""
        return self.transcripts / f"site-{row.site:03d}.{row.source}.transcript.jsonl"

    def _read_one(self, row: PacketRow) -> Recommendation:
        """Read one packet; a reading that fails for technical reasons is missing."""
        where = f"{self.entry.name}, site {row.site}, {row.source}"
        try:
            return self._ask(row)
        except OutageError as error:
            return self._missing(row, FailureKind.MODEL_OUTAGE, where, error)
        except FirewallError as error:
            return self._missing(row, FailureKind.FIREWALL, where, error)
        except CapReachedError as error:
            raise CapReachedError(f"{where}: {error}") from error

    def _ask(self, row: PacketRow) -> Recommendation:
        setting = self.materials.setting
        key = SeedKey(setting.study, setting.partition, row.site, row.source, 0, "reading")
        seed = key.seed() % 2**31
        header = reading_header(
            row.packet,
            self.profile,
            self.connection.public_model(),
            seed,
            study=setting.study,
            partition=setting.partition,
            site=row.site,
            source=row.source,
            feedback=row.feedback,
            reader=self.entry.name,
        )
        hidden = hidden_values(self.materials.sites([row.site])[0])
        path = self.transcript(row)
        with self.connection.dialogue(path, header, hidden, VIEW_KEYS) as dialogue:
            reading = LanguageModelReader(self.profile, dialogue, seed).read(row.packet)
        return recommendation(self.entry, row, reading)

    def _missing(
        self, row: PacketRow, kind: FailureKind, where: str, error: Exception
    ) -> Recommendation:
        _log.warning("%s: no reading, %s", where, error)
        return recommendation(self.entry, row, None, kind.value)

    def _reporter(self, total: int) -> Callable[[int], None]:
        """Says at every quarter how far the readings are and what the study has used."""
        said = 0.0

        def say(done: int) -> None:
            nonlocal said
            if done / total >= said + _SAID:
                said = done / total
                text = f"{self.entry.name}: {done} of {total} readings; {self.connection.spent()}"
                print(text, file=sys.stderr)

        return say
