"""Measures of agents beside the tests: what they reached, how steadily, and how they failed.

The ideas are those of AutoLab (arXiv:2606.05080), on SlowLab's scores. All of it describes; none of
it is tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slowlab.analysis.anchoring import anchored_numbers
from slowlab.analysis.attempts import attempt_numbers, dominance_numbers
from slowlab.analysis.campaign_facts import campaign_facts
from slowlab.analysis.conduct import conduct_numbers
from slowlab.analysis.failures import failure_numbers
from slowlab.analysis.frontier import cost_frontier, generation_deltas
from slowlab.analysis.leaderboard import leaderboard
from slowlab.analysis.paired import Cell
from slowlab.analysis.scores import CellKey
from slowlab.analysis.study_inputs import AnalysisInputs


def autolab_numbers(inputs: AnalysisInputs, cells: Mapping[CellKey, Cell]) -> dict[str, Any]:
    """All measures of a study.

    Args:
        inputs: the study.
        cells: its scores by method and condition.
    """
    facts = campaign_facts(inputs, cells)
    attempts = attempt_numbers(inputs, cells)
    return {
        "anchored": anchored_numbers(inputs, cells),
        "attempts": attempts,
        "leaderboard": leaderboard(inputs, cells, attempts["methods"]),
        "dominance": dominance_numbers(inputs, cells),
        "failures": failure_numbers(inputs, facts),
        "conduct": conduct_numbers(inputs, facts),
        "cost_frontier": cost_frontier(inputs, cells, facts),
        "generations": generation_deltas(inputs, cells),
    }
