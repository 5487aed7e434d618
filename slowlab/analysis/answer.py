"""The answer of a study in words, made from its numbers.

A sentence says what was estimated and how sure that is. It never says "no effect": a difference is
beyond the smallest effect of interest, smaller than it, or undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slowlab.analysis.cell_text import p_text, two_decimals
from slowlab.analysis.study_tables import labels

type Numbers = Mapping[str, Any]

QUESTION = (
    "How good is the greenhouse policy that a method recommends after one year of experiments that "
    "it cannot undo, and does it help to read records while crops grow?"
)
_MINUS = "\N{MINUS SIGN}"
_VERDICTS = {
    "beyond": "larger than {0} EUR/m\N{SUPERSCRIPT TWO}",
    "equivalent": "smaller than {0} EUR/m\N{SUPERSCRIPT TWO} in both directions",
    "undecided": "which may or may not be larger than {0} EUR/m\N{SUPERSCRIPT TWO}",
    "undefined": "without a verdict",
}


def answer(numbers: Numbers) -> str:
    """One or two sentences: the baseline against the reference and others, and its feedback."""
    return " ".join(_sentences(numbers))


def signed(value: float | None) -> str:
    """A difference with its sign and two decimals."""
    if value is None:
        return "unknown"
    text = two_decimals(value)
    return text.replace("-", _MINUS) if value < 0 else f"+{text}"


def _sentences(numbers: Numbers) -> Iterator[str]:
    study, names = numbers["study"], labels(numbers)
    base = study["baseline"]
    sites = f"{study['n_sites']} {study['partition']} site{'s' * (study['n_sites'] != 1)}"
    gain = numbers["tests"].get(f"gain.{base}")
    if gain is None or gain["estimate"] is None:
        yield f"On {sites} there is no score of {names[base]} to compare with."
        return
    yield (
        f"On {sites}, {names[base]} scored {_estimate(gain)} against {names[study['reference']]}, "
        f"{_verdict(numbers, gain)}; {_others(numbers)}"
    )
    feedback = numbers["tests"].get(f"e2.{base}")
    if feedback is not None and feedback["estimate"] is not None:
        yield (
            f"Reading records while crops grow changed its score by {_estimate(feedback)}, "
            f"{_verdict(numbers, feedback)}."
        )


def _others(numbers: Numbers) -> str:
    """How other methods stand against the baseline."""
    tests = [test for test in numbers["tests"].values() if test["question"] == "e1"]
    known = [test for test in tests if test["estimate"] is not None]
    if not known:
        return "no other method was compared."
    if numbers["study"]["n_sites"] == 1:
        return "one site allows no test."
    below = sum(test["significant"] == "yes" and test["estimate"] < 0 for test in known)
    above = sum(test["significant"] == "yes" and test["estimate"] > 0 for test in known)
    count = len(known)
    return (
        f"of {count} other method{'s' * (count != 1)}, {above} scored higher and {below} lower "
        f"than it at an adjusted p below {numbers['study']['alpha']:g}."
    )


def _estimate(test: Mapping[str, Any]) -> str:
    text = f"{signed(test['estimate'])} EUR/m\N{SUPERSCRIPT TWO}"
    if test["ci_low"] is None or test["n_sites"] < 2:
        return f"{text} (no interval)"
    span = f"{signed(test['ci_low'])} to {signed(test['ci_high'])}"
    p = p_text(test["p_adjusted"]).replace("<", "below ")
    return f"{text} (95 % {span}{'; adjusted p ' + p if p else ''})"


def _verdict(numbers: Numbers, test: Mapping[str, Any]) -> str:
    return _VERDICTS[test["verdict"]].format(f"{numbers['study']['sesoi_eur_m2']:g}")
