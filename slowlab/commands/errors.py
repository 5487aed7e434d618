"""Faults that a user can mend: one clear message and exit code 2, without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

USER_ERROR = 2
"""Exit code when the input is at fault."""


class InputError(ValueError):
    """An option or a file of a command that cannot be used; the message names it."""


@contextmanager
def report_user_errors() -> Iterator[None]:
    """End the command with a message where what was raised is a fault of the input."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, _user_errors()):
            raise
        typer.echo(f"Error: {describe(error)}", err=True)
        raise typer.Exit(USER_ERROR) from None


def describe(error: Exception) -> str:
    """The message for a person; a file error names its file."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _user_errors() -> tuple[type[Exception], ...]:
    """Everything that bad input can raise. Imported late: only a command that failed pays."""
    from slowlab.campaign.journal_format import JournalError
    from slowlab.campaign.opening import OpeningError
    from slowlab.canonical import StrictJsonError
    from slowlab.config import ConfigError
    from slowlab.evaluation.common_file import CommonPolicyError
    from slowlab.evaluation.recommendations import RecommendationError
    from slowlab.greenlight.definition import DefinitionError
    from slowlab.greenlight.lanes import LaneParameterError
    from slowlab.methods._base import MethodError
    from slowlab.prereg.errors import LockError
    from slowlab.strict_yaml import YamlError
    from slowlab.tools.artifacts import ArtifactError
    from slowlab.weather.series import WeatherError
    from slowlab.world.commitments import CommitmentError
    from slowlab.world.compiled import UnsupportedConfigError
    from slowlab.world.partitions import PartitionError
    from slowlab.world.policy import PolicyError
    from slowlab.world.simulation import SimulationError
    from slowlab.world.site import SiteError

    return (
        InputError,
        ArtifactError,
        CommitmentError,
        CommonPolicyError,
        ConfigError,
        DefinitionError,
        JournalError,
        LaneParameterError,
        LockError,
        MethodError,
        OSError,
        OpeningError,
        PartitionError,
        PolicyError,
        RecommendationError,
        SimulationError,
        SiteError,
        StrictJsonError,
        UnsupportedConfigError,
        WeatherError,
        YamlError,
    )
