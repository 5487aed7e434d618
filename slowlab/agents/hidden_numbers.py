"""Finding hidden values in a text, in whatever form they are printed.

A number in a text is compared with a hidden one at the precision at which it is written, so full
precision, fixed, scientific and rounded forms are all found. What has few digits is no evidence: it
agrees with something by chance.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from decimal import Decimal

NUMBER = re.compile(r"(?<![\d.])\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
"""A number without its sign."""
FEWEST_DIGITS = 4
"""Significant digits, without zeros at the end, from which on a number is evidence at all."""
SHORT_FORM = 5
"""Fewer digits are compared as if zeros followed: a hidden value is never printed shorter."""
LONG_FORM = 9
"""Significant digits from which on a number cannot agree with a hidden one by chance."""
_EXACT = 15
_LARGEST = 300
_MOST_PERCENT = 10.0
_SHORTEST_TEXT = 4

Hidden = tuple[str, float | int | str]
"""Name and value of something hidden."""


class HiddenValues:
    """Hidden values, ready to be looked for.

    Args:
        hidden: names and values. Whole numbers with fewer than four digits and texts with fewer
            than four characters cannot be looked for.
    """

    def __init__(self, hidden: Iterable[Hidden] = ()) -> None:
        values = [value for _, value in hidden]
        whole = {abs(v) for v in values if isinstance(v, int) and not isinstance(v, bool)}
        sizes = {abs(v) for v in values if isinstance(v, float)}
        percent = {100 * size for size in sizes if size < _MOST_PERCENT}
        rounded = {float(number) for number in whole if len(str(number)) >= LONG_FORM}
        self._whole = {number for number in whole if len(str(number)) >= FEWEST_DIGITS}
        self._sizes = sorted(sizes | percent | rounded)
        self._texts = _any_of({v for v in values if isinstance(v, str)})

    def in_text(self, text: str) -> bool:
        """Whether a text holds a hidden number in any form, or a hidden text."""
        if self._texts is not None and self._texts.search(text):
            return True
        return self._any_number(text, FEWEST_DIGITS)

    def in_long_form(self, text: str) -> bool:
        """Whether a text holds a hidden number with nine digits or more."""
        return self._any_number(text, LONG_FORM)

    def _any_number(self, text: str, fewest: int) -> bool:
        tokens = (match.group() for match in NUMBER.finditer(text))
        return any(self._matches(Decimal(token), fewest) for token in tokens)

    def _matches(self, number: Decimal, fewest: int) -> bool:
        """Whether a number as written agrees with a hidden one and has digits enough."""
        place = number.adjusted()
        if not number or abs(place) > _LARGEST:
            return False
        is_whole = place + 1 >= fewest and number == number.to_integral_value()
        if is_whole and int(number) in self._whole:
            return True
        written = "".join(map(str, number.as_tuple().digits)).lstrip("0")
        if len(written.rstrip("0")) < fewest:
            return False
        precision = min(max(len(written), SHORT_FORM), _EXACT)
        margin = 0.5000001 * 10.0 ** (place - precision + 1)
        size = float(number)
        first = bisect_left(self._sizes, size - margin)
        return first < len(self._sizes) and self._sizes[first] <= size + margin


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern for any of the texts as a whole word."""
    known = sorted((t for t in texts if len(t) >= _SHORTEST_TEXT), key=len, reverse=True)
    words = "|".join(map(re.escape, known))
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if words else None
