"""The simulator of a task: its rules, its instruments and the compiled step that obeys them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slowlab.greenlight.integrator import Scheme
from slowlab.greenlight.stepper import Stepper
from slowlab.world.compiled import compiled_facility, compiled_settings
from slowlab.world.contract import Contract
from slowlab.world.sensors import SensorSpec

Precision = Literal["float32", "float64"]


@dataclass(frozen=True)
class Simulator:
    """Rules, instruments and the compiled step that obeys them.

    Attributes:
        contract: the task's rules.
        sensors: the instruments.
        stepper: the compiled step.
    """

    contract: Contract
    sensors: SensorSpec
    stepper: Stepper

    @classmethod
    def build(
        cls,
        contract: Contract,
        sensors: SensorSpec,
        *,
        precision: Precision = "float32",
        substeps: int | None = None,
    ) -> Simulator:
        """A simulator for a contract.

        Args:
            contract: the task's rules.
            sensors: the instruments.
            precision: of the states.
            substeps: of a control step; by default those of production runs.

        Raises:
            UnsupportedConfigError: a rule that the compiled step cannot follow.
        """
        scheme = Scheme() if substeps is None else Scheme(substeps=substeps)
        settings = compiled_settings(contract, sensors, scheme)
        return cls(contract, sensors, Stepper(compiled_facility(contract), settings, precision))
