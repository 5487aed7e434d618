"""Pictures of the development stage, with the published values beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from slowlab.plots.style import BLACK, BLUE, GREY, ORANGE, VERMILLION, figure_style, new_figure

PREDICTOR_AGES_DAYS = (15, 30, 45, 60, 90, 120, 150)
PUBLISHED_PREDICTOR_RMSE_EUR_M2: Mapping[str, tuple[float, ...]] = {
    "policy_only": (10.1,) * 7,
    "harvest_lai": (9.0, 9.0, 8.2, 7.8, 6.9, 5.5, 4.2),
    "all": (9.0, 8.9, 8.3, 7.7, 6.7, 5.4, 4.1),
    "naive": (54.8, 54.5, 50.0, 42.2, 26.5, 14.2, 6.0),
}
"""Error of predicted margins on held-out sites. Source: SlowLab, process predictor, validation."""
PUBLISHED_LENGTH_SCALES: Mapping[str, float] = {
    "day_temperature_c": 0.52220,
    "night_temperature_c": 1.08163,
    "co2_target_ppm": 2.10860,
    "supplemental_light_hours": 1.44687,
    "vent_temperature_offset_c": 1.88550,
    "vent_rh_threshold_pct": 2.01769,
    "season": 0.09696,
}
"""Frozen hyperparameters. Source: SlowLab, prior-informed local optimiser, kernel."""

_CURVES = {
    "naive": ("extrapolation of the readings", GREY, "D", (0, (1, 1.5))),
    "policy_only": ("policy and season only", BLACK, "s", (0, (5, 2))),
    "harvest_lai": ("with harvest and canopy", ORANGE, "^", (0, (3, 1, 1, 1))),
    "all": ("with heat, light and CO2 too", BLUE, "o", "solid"),
}
_ROW_NAMES = {
    "day_temperature_c": "day temperature",
    "night_temperature_c": "night temperature",
    "co2_target_ppm": "CO2 target",
    "supplemental_light_hours": "lamp hours",
    "vent_temperature_offset_c": "vent offset",
    "vent_rh_threshold_pct": "vent humidity",
    "season": "season (on its circle)",
}


def predictor_figure(
    ages_days: Sequence[float], rmse_eur_m2: Mapping[str, Sequence[float]], margin_sd: float
) -> Figure:
    """Error of predicted margins against the age of the crop; lines are ours, dots published.

    Args:
        ages_days: ages of our errors, d.
        rmse_eur_m2: errors by set of inputs and for the plain extrapolation, EUR/m2.
        margin_sd: SD of the true margins, EUR/m2.
    """
    with figure_style():
        figure = new_figure(3.5, 2.9)
        axes = figure.add_axes((0.13, 0.15, 0.84, 0.72))
        for name, (label, colour, marker, dashes) in _CURVES.items():
            axes.plot(ages_days, rmse_eur_m2[name], color=colour, ls=dashes, label=label, gid=name)
            axes.plot(
                PREDICTOR_AGES_DAYS,
                PUBLISHED_PREDICTOR_RMSE_EUR_M2[name],
                color=colour,
                ls="none",
                marker=marker,
                ms=5.4 if marker == "^" else 3.6,
                mfc="white",
                mew=0.9,
                gid=f"{name}-published",
            )
        axes.axhline(margin_sd, color=VERMILLION, lw=0.6)
        axes.text(178, margin_sd * 1.04, "SD of the margins", color=VERMILLION, ha="right", size=6)
        axes.set(yscale="log", ylim=(1.0, 90.0), xlim=(0, 180))
        axes.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axes.set_yticks([], minor=True)
        axes.set_xticks(range(0, 181, 30))
        axes.set_xlabel("age of the crop (days)")
        axes.set_ylabel("error of the margin (EUR/m2)")
        figure.suptitle("Process predictor on held-out sites", size=8, y=0.975, x=0.13, ha="left")
        axes.set_title("lines: this build; marks: published", size=6.5, color=GREY, loc="left")
        axes.legend(loc="lower left", handlelength=2.6)
    return figure


def kernel_figure(length_scales: Mapping[str, float], allowed: tuple[float, float]) -> Figure:
    """Length scales of the kernel, ours and the published ones.

    Args:
        length_scales: ours, by policy field and ``season``.
        allowed: range that was searched.
    """
    names = list(PUBLISHED_LENGTH_SCALES)
    with figure_style():
        figure = new_figure(3.5, 2.5)
        axes = figure.add_axes((0.36, 0.17, 0.61, 0.68))
        for row, name in enumerate(names):
            ours, theirs = length_scales[name], PUBLISHED_LENGTH_SCALES[name]
            axes.plot([ours, theirs], [row, row], color="#C8C8C8", lw=1.0, zorder=1)
        rows = range(len(names))
        axes.plot(
            [length_scales[name] for name in names],
            rows,
            ls="none",
            marker="o",
            ms=4.5,
            color=BLUE,
            label="this build",
            gid="ours",
        )
        axes.plot(
            [PUBLISHED_LENGTH_SCALES[name] for name in names],
            rows,
            ls="none",
            marker="D",
            ms=4.0,
            color=ORANGE,
            mfc="white",
            label="published",
            gid="published",
        )
        for edge in allowed:
            axes.axvline(edge, color=GREY, lw=0.6, ls=(0, (2, 2)))
        axes.set(xscale="log", xlim=(allowed[0] / 1.3, allowed[1] * 1.3), ylim=(6.6, -0.6))
        axes.set_yticks(rows, [_ROW_NAMES[name] for name in names])
        axes.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
        axes.set_xlabel("length scale (widths of the allowed range)")
        figure.suptitle("Kernel of the local optimiser", size=8, y=0.975, x=0.36, ha="left")
        axes.set_title("dashed: limits of the search", size=6.5, color=GREY, loc="left")
        axes.legend(loc="lower right", framealpha=1.0, frameon=True, edgecolor="none")
    return figure
