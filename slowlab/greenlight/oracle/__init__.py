"""GreenLight 2.0.5 itself, run in an environment of its own, as the yardstick of the simulator.

GreenLight pins NumPy 1.26, which cannot live beside this project's NumPy 2. The oracle therefore
is a separate virtual environment (`environment`) and a few scripts (`scripts/`) that run in it as
a child process and exchange ``.npz`` files. Nothing in this project imports ``greenlight``.

* ``run_oracle("greenlight_rhs", ...)``: GreenLight's right-hand side at given states and inputs;
* ``run_oracle("greenlight_simulate", ...)``: its solver on one compartment with held inputs;
* ``run_oracle("greenlight_timing", {"days": 1})``: its native run, timed; the speed is
  ``info["lane_days_per_s"]``.
"""

from slowlab.greenlight.oracle.environment import (
    OracleError,
    OracleResult,
    default_folder,
    ensure_environment,
    is_ready,
    run_oracle,
)

__all__ = [
    "OracleError",
    "OracleResult",
    "default_folder",
    "ensure_environment",
    "is_ready",
    "run_oracle",
]
