"""Weather years by label, as the partitions name them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slowlab.weather.pools import year_from_label
from slowlab.weather.series import WeatherError, WeatherYear
from slowlab.world.site import YearLabel


@dataclass(frozen=True)
class WeatherSource:
    """Where the years of a study come from; small, so that it can be sent to other processes.

    Attributes:
        name: ``synthetic`` or ``cabauw``, as in the partitions' weather pools.
        folder: the monthly files, for ``cabauw`` only.
    """

    name: Literal["synthetic", "cabauw"] = "synthetic"
    folder: Path | None = None

    def year(self, label: YearLabel) -> WeatherYear:
        """The year called ``label``.

        Raises:
            WeatherError: no such year, no folder, or files that cannot be used.
        """
        if self.name == "synthetic":
            try:
                return year_from_label(str(label))
            except ValueError as error:
                raise WeatherError(str(error)) from None
        if self.folder is None or not isinstance(label, int):
            raise WeatherError(f"measured year {label!r}: a folder and a calendar year are needed")
        from slowlab.weather.cabauw import read_cabauw_year

        return read_cabauw_year(self.folder, label)
