"""Campaigns of registered methods on the fake facility, and what readers need."""

from __future__ import annotations

from pathlib import Path

from slowlab.campaign.history import History
from slowlab.campaign.journal import Durability, Journal
from slowlab.campaign.pool import Ending, Entry, run_pool
from slowlab.methods._base import Campaign, watched
from slowlab.methods._registry import build_method
from slowlab.readers.packets import Packet, make_packet
from slowlab.seeds import SeedKey
from slowlab.tools.artifacts import ArtifactFolder, write_artifact
from slowlab.tools.toolbox import Toolbox
from slowlab.world.policy import POLICY_FIELDS, Policy
from slowlab.world.task import Feedback
from tests.campaign.sessions import FakeStepping, fake_session
from tests.tools.campaigns import contract, open_campaign
from tests.tools.predictors import PROVENANCE, write_predictor

KERNEL = {
    "policy_length_scales": dict(
        zip(POLICY_FIELDS, (0.5222, 1.08163, 2.1086, 1.44687, 1.8855, 2.01769), strict=True)
    ),
    "season_length_scale": 0.09696,
    "season_share": 3.354e-4,
    "common_season": 1.02294,
    "noise_ratio": 1e-4,
    "signal_sd_eur_m2": 10.0,
    "replicate_sd_eur_m2": 1.0,
}


def fallback() -> Policy:
    """The fixed reference of the rules."""
    return contract().fixed_reference


def write_artifacts(folder: Path) -> ArtifactFolder:
    """All artifacts that methods and readers of these tests use."""
    contents = {
        "kernel": KERNEL,
        "radius": {"radius": 0.35, "candidates": []},
        "fixed_reference": {"policy": fallback().model_dump(), "candidates": []},
    }
    for name, content in contents.items():
        write_artifact(
            folder / f"{name}.json",
            contract=contract().id,
            fields=POLICY_FIELDS,
            provenance=PROVENANCE,
            content=content,
        )
    return write_predictor(folder)


def played(
    method: str,
    artifacts: ArtifactFolder,
    feedback: Feedback = Feedback.FULL,
    *,
    site: int = 0,
    settings: dict | None = None,
    journal: Path | None = None,
) -> tuple[History, Policy]:
    """A whole campaign through the pool: what was seen, and the method's own recommendation."""
    executor, key = open_campaign(feedback), ("test", "development", site, method, 0)
    kept = None if journal is None else Journal.open(journal, durability=Durability.PROCESS)
    session = fake_session(executor, FakeStepping(), kept)
    history = History(session.task())
    steps = build_method(method, settings or {}, artifacts).play(
        Campaign(history), SeedKey(*key, "method").generator()
    )
    tools = Toolbox(history, artifacts, SeedKey(*key, "tools").seed())
    (result,) = run_pool([Entry("only", session, watched(steps, history), tools)])
    assert result.ending is Ending.SETTLED, result.error
    assert result.settlement.policy is not None
    assert history.sha256() == executor.history.sha256()
    return history, result.settlement.policy


def packet_of(history: History) -> Packet:
    """The packet of a campaign."""
    return make_packet(history, fallback())
