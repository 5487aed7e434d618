"""What tables share: names as they are shown, and the order of tests, methods and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

type Numbers = Mapping[str, Any]
type Row = dict[str, str]
type Place = tuple[str, str, str, str]
"""Method and condition, by name and as they are shown."""

FEEDBACK_WORDS = {
    "full": "full",
    "endpoint": "endpoint",
    "initial": "initial",
    "none": "no campaign",
    "delayed": "delayed",
    "shuffled": "shuffled",
}
"""Conditions as they are shown."""


def labels(numbers: Numbers) -> dict[str, str]:
    """Names of methods in figures and tables; that of a stand-in says what it is."""
    return {item["name"]: item["label"] for item in numbers["methods"]}


def tests_in_order(numbers: Numbers) -> dict[str, Mapping[str, Any]]:
    """All tests by name, in the order in which they were declared.

    A canonical file sorts its keys, so the order of keys in the numbers means nothing.
    """
    names = [name for family in numbers["families"] for name in family["tests"]]
    return {name: numbers["tests"][name] for name in names}


def conditions(numbers: Numbers) -> list[str]:
    """All conditions of a study in the order of its tables."""
    initial = ["initial"] if any(item["model"] for item in numbers["methods"]) else []
    return [*numbers["study"]["feedback"], *initial, "none"]


def by_condition(numbers: Numbers, section: str) -> list[tuple[str, str, Any]]:
    """Method, condition and content of a section of the numbers, in the study's order."""
    content, modes = numbers[section], conditions(numbers)
    return [
        (item["name"], mode, content[item["name"]][mode])
        for item in numbers["methods"]
        for mode in modes
        if mode in content.get(item["name"], {})
    ]


def places_of(numbers: Numbers) -> list[Place]:
    """Methods and their conditions, by name and as they are shown."""
    names = labels(numbers)
    return [
        (method, mode, names[method], FEEDBACK_WORDS[mode])
        for method, mode, _ in by_condition(numbers, "means")
    ]
