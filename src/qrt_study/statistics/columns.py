"""The columns of the statistics tables, with their meaning, by what computes them (docs/results.md shows them)."""

from __future__ import annotations

from collections.abc import Mapping

_METRIC = {"metric": "metric of the figure: NLL, PCE, CRPS, SD; test rows, lower is better"}
_METHOD = {"method": "method by its name in the figure"}

Columns = Mapping[str, str]  # column -> meaning
# Columns of names and words; all others are numbers, or True and False.
TEXT_COLUMNS = frozenset(
    ["metric", "method", "dataset", "baseline", "left", "right", "part", "mark", "direction", "map", "size", "way"]
)

COMPARISON: dict[str, Columns] = {
    "per_dataset": _METRIC
    | _METHOD
    | {
        "dataset": "name of the dataset",
        "splits": "usable runs: status ok and a finite value",
        "mean": "mean over these runs",
        "standard_error": "sample standard deviation over the square root of their number",
        "baseline": "method that the differences are to",
        "common_splits": "splits in which the method and the baseline are both usable",
        "difference": "mean over the common splits of method - baseline",
        "difference_standard_error": "standard error of these paired differences",
        "relative_difference": "difference over the absolute mean of the baseline on the common splits",
        "cohens_d": "Cohen's d in the protocol's form, which the figure shows",
        "cohens_d_pooled": "Cohen's d with the pooled standard deviation (paper)",
        "cohens_d_released": "Cohen's d as the released code computes it",
        "discreteness": "share of the training targets among their ten most frequent values",
    },
    "letter_values": _METRIC
    | _METHOD
    | {
        "quantile": "level of the letter value",
        "value": "quantile of Cohen's d over the datasets on which all methods with any Cohen's d have one",
        "datasets": "number of these datasets; 0 for a method without any Cohen's d",
    },
    "circles": _METRIC
    | _METHOD
    | {
        "dataset": "dataset whose Cohen's d is beyond the outer letter values; all of them where they are fewer than 8",
        "cohens_d": "its Cohen's d",
    },
    "ranks": _METRIC | _METHOD | {"mean_rank": "mean over datasets, 1 is best", "datasets": "datasets in the test"},
    "friedman": _METRIC
    | {
        "methods": "methods compared",
        "datasets": "datasets on which all of them have results",
        "statistic": "Friedman's statistic; missing with fewer than 3 methods or 2 datasets",
        "p_value": "its p-value",
    },
    "pairs": _METRIC
    | {
        "left": "one method",
        "right": "the other",
        "datasets": "datasets in the test",
        "left_lower": "datasets on which left is lower (better)",
        "right_lower": "datasets on which right is lower",
        "rank_share": "share of Wilcoxon's sum of ranks of the datasets on which left is lower, from 0 to 1",
        "median_difference": "median over datasets of left - right",
        "statistic": "Wilcoxon's signed-rank statistic (Pratt's treatment of zeros)",
        "p_value": "its two-sided p-value, uncorrected",
        "p_holm": "p-value after Holm's correction over all pairs of the metric and figure",
        "significant": "p_holm < 0.05 and, with three methods or more, Friedman's p-value < 0.05",
    },
    "groups": _METRIC | {"group": "number of a largest group without a significant difference inside"} | _METHOD,
}
CURVES: dict[str, Columns] = {
    "curves": {
        "dataset": "name of the dataset",
        "method": "BASE (without calibration data) or QRT",
        "part": "rows: train or validation",
        "metric": "nll_recalibrated, nll_base, alpha_entropy_pit or pce; standardised targets",
        "epoch": "epochs trained",
        "runs": "runs still training",
        "mean": "mean over these runs",
        "standard_error": "population standard deviation over the square root of their number, as published",
        "all_alive": "whether no run has stopped yet",
    },
    "selected": {
        "dataset": "name of the dataset",
        "method": "BASE, QRT (bars), QRC or QRTC (stars)",
        "part": "rows: train or validation",
        "metric": "as in the curves",
        "mark": "bar or star",
        "selected_epoch": "mean over splits of the selected epoch",
        "value": "mean over splits of the value after the selected epoch, or after the post-hoc step",
        "standard_error": "as in the curves",
        "runs": "runs in the mean",
    },
}
DISCRETENESS: dict[str, Columns] = {
    "isotonic": _METRIC
    | _METHOD
    | {
        "discreteness": "share of targets among the ten most frequent values",
        "fitted": "isotonic regression of Cohen's d",
        "direction": "increasing or decreasing",
        "spearman": "Spearman's correlation of Cohen's d with the discreteness",
        "spearman_p": "its p-value",
    },
}
DENSITIES: dict[str, Columns] = {
    "densities": {
        "dataset": "name of the dataset",
        "row": "number of the test row",
        "method": "BASE, QRC or QRTC",
        "y": "point of the grid, original scale",
        "density": "predictive density there",
    },
    "instances": {
        "dataset": "name of the dataset",
        "row": "number of the test row",
        "method": "BASE, QRC or QRTC",
        "target": "realised target",
        "nll": "its negative log-likelihood",
    },
}
MAPS: dict[str, Columns] = {
    "maps": {
        "map": "EMP, KDE, TRUNC or REFL",
        "z": "probability integral transform",
        "cdf": "value of the map",
        "density": "its density; missing for EMP",
    },
    "sample": {"z": "the simulated PITs"},
}

# Of the extensions that are computed from predictions.
INTERVALS: Columns = {
    "size": "datasets by their training rows, or all",
    "method": "method by its name in the figure",
    "datasets": "datasets on which every method has results; numbers are means over them of means over splits",
    "coverage": "share of targets inside the central 90 % interval",
    "relative_length": "its mean length over that of the baseline, geometric mean",
    "coverage_sd1": "coverage among the fifth of the rows with the least predicted standard deviation",
    "coverage_sd5": "among the fifth with the largest",
    "coverage_gap": "mean distance from 0.9 of the coverage of the five fifths",
    "coverage_gap_calibrated": "what a model shows on as many rows that covers 90 % in each",
    "worst_slab": "coverage of the worst slab of x, chosen on other rows",
    "worst_slab_calibrated": "the same where targets fall outside by chance",
    "excess_risk": "share of the Brier score of their frequency that a classifier on x saves for targets outside",
    "pce": "PCE by the protocol's reading",
    "pce_calibrated": "PCE that a calibrated model shows on as many rows",
}
WAYS: Columns = {
    "size": INTERVALS["size"],
    "way": "what the distribution is: F, or maps on top; of BASE, of QRC's networks or of QRTC's",
    "datasets": "datasets on which every way has results; numbers are means over them of means over splits",
    "pit_variance": "variance of the PITs times 12: 1 if calibrated, less if predictions are too wide",
    "coverage": INTERVALS["coverage"],
    "pce": INTERVALS["pce"],
    "nll": "test NLL",
}
