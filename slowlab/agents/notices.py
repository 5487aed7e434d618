"""What the harness says with a result, in its own words."""

from __future__ import annotations

from slowlab.agents.harness_limits import Cause

INITIAL_IS_KEPT = "This recommendation is kept. It counts if the campaign ends without another one."
DESIGN_IS_COMPLETE = "The day-0 design is complete."

_WHY = {
    Cause.CALLS: "hardly any calls of the campaign are left",
    Cause.DECISIONS: "hardly any decision calls of the campaign are left",
    Cause.PROMPT_CHARACTERS: "hardly any characters of messages are left",
    Cause.IDENTICAL_ERRORS: "the same error was made again and again",
}


def assignment_notice(mode: str) -> str:
    """The feedback mode, after the day-0 design.

    Args:
        mode: its name in the task.
    """
    return (
        f"Day 0 is over, and the feedback mode of this campaign is {mode}: the task now says what "
        "that means. Time can pass from here on."
    )


def endgame_notice(cause: Cause) -> str:
    """Why only a recommendation is accepted.

    Args:
        cause: what has run out.
    """
    return f"It is the last day, and only a recommendation is accepted: {_WHY[cause]}."
