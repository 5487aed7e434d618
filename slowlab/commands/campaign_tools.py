"""The analysis tools of a campaign that a command runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from slowlab.campaign.errors import Reply
    from slowlab.campaign.history import History
    from slowlab.campaign.opening import CampaignSpec
    from slowlab.campaign.session import ToolCall, ToolHandler
    from slowlab.tools.artifacts import ArtifactFolder

ArtifactsOption = Annotated[
    Path | None,
    typer.Option("--artifacts", help="Folder of fitted results; by default that of contract v8."),
]
_log = logging.getLogger(__name__)


def artifact_folder(spec: CampaignSpec, folder: Path | None) -> ArtifactFolder:
    """The fitted results that go with a campaign's contract."""
    from slowlab.config import CONFIG_ROOT
    from slowlab.tools.artifacts import ArtifactFolder

    return ArtifactFolder(folder or CONFIG_ROOT / "artifacts" / "v8", spec.contract.id)


def make_tools(
    spec: CampaignSpec, history: History, artifacts: ArtifactFolder, seed: int
) -> ToolHandler:
    """Answers tool calls; a tool whose fitted result is missing is refused, not a failure.

    Args:
        spec: the campaign.
        history: what its agent has seen, kept up to date by whoever plays it.
        artifacts: fitted results.
        seed: the tool seed.
    """
    from slowlab.tools.artifacts import ArtifactError
    from slowlab.tools.errors import ToolError, ToolReason
    from slowlab.tools.toolbox import Toolbox

    toolbox = Toolbox(history, artifacts, seed, spec.contract.analysis_tools)

    def answer(call: ToolCall) -> Reply:
        try:
            return toolbox(call)
        except ArtifactError as error:
            _log.warning("%s: %s", call.name, error)
            message = "this tool has not been fitted for this task"
            return ToolError(ToolReason.UNKNOWN_TOOL, message).reply()

    return answer
