"""Rules about a measure: one number for each dataset, such as the difference of two methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from qrt.text.words import counted
from qrt_study.statistics.intervals import (
    BOUNDLESS,
    COVERAGE,
    Interval,
    correlation_interval,
    largest_mean,
    mean_interval,
    median_interval,
    share_interval,
    shift_of_groups,
)
from qrt_study.verdicts.range import Range
from qrt_study.verdicts.verdict import (
    FEWEST,
    MARGIN_COVERAGE,
    NotRun,
    Verdict,
    bounded,
    decide,
    decide_over_datasets,
    interval_words,
    median_splits,
    nearest_limit,
    plain_p,
    too_few_words,
)

COLUMNS = ("dataset", "value", "standard_error", "splits", "discreteness", "published")


@dataclass(frozen=True)
class Measure:
    """A number for each dataset, and what it is.

    `table` has the columns dataset, value, standard_error (over splits, or the rows shown; NaN where there is none),
    splits (what the standard error is over), discreteness (top-10 share) and published (what the paper has; NaN where
    it gives no number).
    """

    table: pd.DataFrame
    what: str  # "NLL of QRTC minus that of BASE"
    units: str = "split"  # what `splits` counts
    note: str = ""  # what a reader should know besides

    @property
    def known(self) -> pd.DataFrame:
        """The rows with a finite value, in the order of the datasets' names, so that no result depends on the order."""
        rows = self.table[np.isfinite(self.table["value"].astype(float))].sort_values("dataset", ignore_index=True)
        if rows.empty:
            raise NotRun(f"no usable value of {self.what} on any dataset")
        return rows

    def on(self, dataset: str) -> pd.Series:
        """The row of one dataset."""
        rows = self.table[(self.table["dataset"] == dataset) & np.isfinite(self.table["value"].astype(float))]
        if rows.empty:
            raise NotRun(f"no usable value of {self.what} on {dataset}")
        return rows.iloc[0]


def share_of_datasets(
    measure: Measure, *, values: str, share: str, standard_errors: float = 0, margin: float = 0
) -> Verdict:
    """The share of datasets whose value is in the range `values` is in the range `share`, widened by the margin.

    `standard_errors` above 0 counts a dataset only if its value is in the range by that many standard errors; below 0
    also if it is outside by less. The interval is Clopper and Pearson's.
    """
    counted_in, claimed = Range.parse(values), Range.parse(share).widened(margin, 0, 1)
    known = measure.known
    if standard_errors:
        known = known[np.isfinite(known["standard_error"].astype(float))]
        if known.empty:
            raise NotRun(f"no standard error of {measure.what} on any dataset")
    coverage = MARGIN_COVERAGE if margin else COVERAGE

    def inside(column: str) -> int:
        pairs = zip(known[column].astype(float), known["standard_error"].astype(float), strict=True)
        return sum(_inside(counted_in, value, error, standard_errors) for value, error in pairs)

    total, count = len(known), inside("value")
    estimate, interval = count / total, share_interval(count, total, coverage)
    noise = f" by {_errors(standard_errors)}" if standard_errors else ""
    condition = f"{measure.what} is {counted_in.words}{noise}"
    return Verdict(
        decide_over_datasets(estimate, interval, claimed, total),
        f"{condition} on {count} of {counted(total, 'dataset')}: a share of {estimate:.2f}"
        f"{interval_words(interval, coverage)}, claimed {claimed.words_within(0, 1)}{too_few_words(total)}"
        f"{measure.note}",
        short=f"{condition[0].upper()}{condition[1:]} on {count} of {counted(total, 'dataset')}.",
        estimate=estimate,
        quantity=f"share of datasets where {condition}",
        limit=nearest_limit(estimate, claimed, (0, 1)),
        published=None if standard_errors else _published(known, lambda _: inside("published") / total),
        interval=interval,
        datasets=total,
        datasets_for=count,
        datasets_against=total - count,
        splits=median_splits(known["splits"]),
        smallest_detectable=_smallest_confirming_share(total, claimed, coverage),
        detectable="share closest to one half whose interval would be inside the claimed range",
    )


def median_effect(measure: Measure, *, median: str) -> Verdict:
    """The median over datasets is in the range `median`; the interval is that of the sign test."""
    return _about_the_median(measure, Range.parse(median), COVERAGE)


def median_within(measure: Measure, *, margin: float, side: Literal["both", "above"] = "both") -> Verdict:
    """The median over datasets is within the margin of zero; `side` above: it may be below zero by any amount."""
    return _about_the_median(measure, _within(margin, side), MARGIN_COVERAGE)


def shift(measure: Measure, other: Measure, *, difference: str = "", margin: float = 0) -> Verdict:
    """How much a measure is shifted against another one is in the range `difference`, or within the margin of zero.

    Where both are on the same datasets: the median of their differences with the interval of the sign test. Otherwise
    Hodges and Lehmann's shift of two groups with Moses's interval.
    """
    claimed, coverage = (Range.parse(difference), COVERAGE) if difference else (_within(margin), MARGIN_COVERAGE)
    first, second = measure.known, other.known
    both = first.merge(second, on="dataset", suffixes=("", "_other"))
    paired = len(both) == min(len(first), len(second))
    if paired:
        differences = both["value"].to_numpy(float) - both["value_other"].to_numpy(float)
        estimate, interval = float(np.median(differences)), median_interval(differences, coverage)
        datasets, on = len(both), counted(len(both), "dataset")
    else:
        estimate, interval = shift_of_groups(first["value"], second["value"], coverage)
        datasets, on = min(len(first), len(second)), f"{len(first)} against {counted(len(second), 'dataset')}"
    kind = "median of the differences" if paired else "Hodges and Lehmann's shift"
    return Verdict(
        decide_over_datasets(estimate, interval, claimed, datasets),
        f"{measure.what} against {other.what} on {on}: {kind} {estimate:.3g}{interval_words(interval, coverage)}, "
        f"claimed {claimed.words}{too_few_words(datasets)}",
        short=f"{_capital(measure.what)} is {_signed(estimate)} than {other.what} ({kind}).",
        estimate=estimate,
        quantity=f"{kind}: {measure.what} against {other.what}",
        limit=nearest_limit(estimate, claimed),
        interval=bounded(interval),
        datasets=datasets,
        splits=min(median_splits(first["splits"]), median_splits(second["splits"])),
        smallest_detectable=_half_width(estimate, interval),
        detectable="distance from a limit at which the interval would leave the limit out",
    )


def value_on_dataset(measure: Measure, *, dataset: str, value: str) -> Verdict:
    """The value on one dataset is in the range `value`, by Student's interval of the mean over splits.

    Splits share rows, so the standard errors understate the uncertainty. Without one nothing is decided.
    """
    claimed, row = Range.parse(value), measure.on(dataset)
    estimate, error, splits = (float(row[name]) for name in ("value", "standard_error", "splits"))
    interval = mean_interval(estimate, error, int(splits))
    limit = nearest_limit(estimate, claimed)
    p_value = None
    if limit is not None and splits > 1 and error > 0:
        p_value = 2 * float(stats.t.sf(abs(estimate - limit) / error, splits - 1))
    noise = f"standard error {error:.2g}" if math.isfinite(error) else "no standard error"
    return Verdict(
        decide(estimate, interval, claimed),
        f"{measure.what} on {dataset} is {estimate:.4g}{interval_words(interval, COVERAGE)}, {noise} over "
        f"{counted(int(splits), measure.units)}, claimed {claimed.words}{measure.note}",
        short=f"{_capital(measure.what)} is {estimate:.3g} on {dataset}.",
        estimate=estimate,
        quantity=f"{measure.what} on {dataset}",
        limit=limit,
        published=float(row["published"]) if math.isfinite(float(row["published"])) else None,
        interval=bounded(interval),
        p_value=p_value,
        datasets=1,
        splits=int(splits),
        smallest_detectable=_half_width(estimate, interval),
        detectable="distance from the limit that would have been enough",
    )


def among_lowest(measure: Measure, *, dataset: str, quantile: float) -> Verdict:
    """Fewer than the share `quantile` of the other datasets have a lower value than one dataset.

    The interval counts the datasets that are lower beyond doubt, and those that may be: by Welch's interval of the
    difference of the two values.
    """
    own, known = measure.on(dataset), measure.known
    others = known[(known["dataset"] != dataset) & np.isfinite(known["standard_error"].astype(float))]
    if others.empty or not math.isfinite(float(own["standard_error"])):
        raise NotRun(f"no standard error of {measure.what}, so that the place of {dataset} is not known")
    claimed = Range(0, quantile, with_low=True, with_high=False)
    gaps = float(own["value"]) - others["value"].to_numpy(float)
    reach = _welch_half_width(
        float(own["standard_error"]),
        int(own["splits"]),
        others["standard_error"].to_numpy(float),
        others["splits"].to_numpy(float),
    )
    lower, total = int((gaps > 0).sum()), len(others)
    estimate, interval = lower / total, (float((gaps > reach).mean()), float((gaps > -reach).mean()))
    place = f"number {lower + 1} from below among {counted(total + 1, 'dataset')}"
    return Verdict(
        decide_over_datasets(estimate, interval, claimed, total),
        f"{measure.what} on {dataset} is {float(own['value']):.3g}, {place}; lower beyond doubt are "
        f"{interval[0]:.0%} of the others, perhaps lower {interval[1]:.0%}; claimed below {quantile:.0%}"
        f"{too_few_words(total)}",
        short=f"{dataset} is {place} by {measure.what}.",
        estimate=estimate,
        quantity=f"share of the other datasets with a lower {measure.what} than {dataset}",
        limit=quantile,
        interval=interval,
        datasets=total + 1,
        datasets_for=total - lower,
        datasets_against=lower,
        splits=median_splits(known["splits"]),
    )


def extreme(measure: Measure, *, which: Literal["largest", "smallest"], value: str, margin: float = 0) -> Verdict:
    """The largest (smallest) true value of all datasets is in the range `value`, widened by the margin.

    "Never above zero" is: the largest is not above zero. The estimate and the interval allow for the choice of the
    largest among many noisy means (`largest_mean`): the claim is contradicted where one-sided t-tests with Holm's
    correction leave a dataset on which it fails.
    """
    claimed, known = Range.parse(value).widened(margin), measure.known
    known = known[np.isfinite(known["standard_error"].astype(float)) & (known["splits"] > 1)]
    if known.empty:
        raise NotRun(f"no standard error of {measure.what} on any dataset")
    sign = 1.0 if which == "largest" else -1.0
    means, errors, splits = (known[name].to_numpy(float) for name in ("value", "standard_error", "splits"))
    top, (low, high) = largest_mean(sign * means, errors, splits)
    estimate, interval = (top, (low, high)) if sign > 0 else (-top, (-high, -low))
    limit = nearest_limit(estimate, claimed)
    clearest = known["dataset"].iloc[int(np.argmax(sign * means - errors))]
    beyond = int((sign * means > sign * limit).sum()) if limit is not None else 0
    word = decide(estimate, interval, claimed)
    if len(known) < FEWEST and which == "largest" and word != "contradicted":
        word = "inconclusive"  # one dataset refutes "never", few do not show it
    if len(known) < FEWEST and which == "smallest" and word != "confirmed":
        word = "inconclusive"  # one dataset shows "on some", few do not refute it
    side = f"{'above' if sign > 0 else 'below'} {limit:g}" if limit is not None else "beyond the limit"
    return Verdict(
        word,
        f"the {which} {measure.what} of {counted(len(known), 'dataset')}, allowing for the choice among them, is "
        f"{estimate:.3g}{interval_words(interval, COVERAGE)}, claimed {claimed.words}; the mean over splits is "
        f"{side} on {beyond}, most clearly on {clearest}{too_few_words(len(known))}",
        short=f"{_capital(measure.what)} is {side} on {beyond} of {counted(len(known), 'dataset')}, before allowing "
        "for chance.",
        estimate=estimate,
        quantity=f"{which} {measure.what} over datasets, corrected for the choice",
        limit=limit,
        interval=interval,
        datasets=len(known),
        datasets_for=len(known) - beyond if sign > 0 else beyond,
        datasets_against=beyond if sign > 0 else len(known) - beyond,
        splits=median_splits(known["splits"]),
    )


def identity(measure: Measure, *, dataset: str, tolerance: float) -> Verdict:
    """A gap that must be zero but for rounding is below the tolerance; any amount of data decides that."""
    row = measure.on(dataset)
    gap = float(row["value"])
    return Verdict(
        "confirmed" if gap < tolerance else "contradicted",
        f"{measure.what} on {dataset} is {gap:.2g}, claimed below {tolerance:g}",
        short=f"The two sides differ by at most {gap:.2g} on {dataset}.",
        estimate=gap,
        quantity=f"{measure.what} on {dataset}",
        limit=tolerance,
        datasets=1,
        splits=int(row["splits"]),
    )


def trend(measure: Measure, *, correlation: str) -> Verdict:
    """Spearman's correlation of the measure with the discreteness of the targets is in the range `correlation`."""
    return _about_the_trend(measure, Range.parse(correlation), COVERAGE)


def no_trend(measure: Measure, *, margin: float) -> Verdict:
    """Spearman's correlation with the discreteness of the targets is within the margin of zero."""
    return _about_the_trend(measure, _within(margin), MARGIN_COVERAGE)


def _about_the_median(measure: Measure, claimed: Range, coverage: float) -> Verdict:
    known = measure.known
    values = known["value"].to_numpy(float)
    estimate, interval = float(np.median(values)), median_interval(values, coverage)
    count = sum(value in claimed for value in values)
    return Verdict(
        decide_over_datasets(estimate, interval, claimed, len(values)),
        f"the median of {measure.what} over {counted(len(values), 'dataset')} is {estimate:.3g}"
        f"{interval_words(interval, coverage)}, claimed {claimed.words}{too_few_words(len(values))}{measure.note}",
        short=f"The median of {measure.what} is {estimate:.3g} over {counted(len(values), 'dataset')}.",
        estimate=estimate,
        quantity=f"median of {measure.what}",
        limit=nearest_limit(estimate, claimed),
        published=_published(known, lambda published: float(np.median(published))),
        interval=bounded(interval),
        datasets=len(values),
        datasets_for=count,
        datasets_against=len(values) - count,
        splits=median_splits(known["splits"]),
        smallest_detectable=_half_width(estimate, interval),
        detectable="distance of the median from a limit at which its interval would leave the limit out",
    )


def _about_the_trend(measure: Measure, claimed: Range, coverage: float) -> Verdict:
    known = measure.known
    known = known[np.isfinite(known["discreteness"].astype(float))]
    datasets, rho, p_value, interval = len(known), 0.0, 1.0, BOUNDLESS
    if datasets > 2 and known["value"].nunique() > 1 and known["discreteness"].nunique() > 1:
        result = stats.spearmanr(known["discreteness"], known["value"])
        rho, p_value = float(result.statistic), float(result.pvalue)
    if datasets > 2:
        interval = correlation_interval(rho, datasets, coverage)
    detectable = math.tanh(stats.norm.isf((1 - coverage) / 2) / math.sqrt(datasets - 3)) if datasets > 4 else None
    facts: dict[str, Any] = {
        "estimate": rho,
        "limit": nearest_limit(rho, claimed, (-1, 1)),
        "interval": bounded(interval),
        "p_value": p_value,
        "datasets": datasets,
        "splits": median_splits(known["splits"]),
        "smallest_detectable": detectable,
        "detectable": "correlation whose interval would leave out zero (normal approximation)",
    }
    return Verdict(
        decide_over_datasets(rho, interval, claimed, datasets),
        f"Spearman's correlation of {measure.what} with the discreteness of the targets is {rho:.2f} on "
        f"{counted(datasets, 'dataset')}{interval_words(interval, coverage)}, {plain_p(p_value)}, "
        f"claimed {claimed.words_within(-1, 1)}{too_few_words(datasets)}",
        short=f"The correlation with the discreteness of the targets is {rho:.2f} on {counted(datasets, 'dataset')}.",
        quantity=f"Spearman's correlation of {measure.what} with discreteness",
        **facts,
    )


def _published(known: pd.DataFrame, estimate: Callable[[np.ndarray], float]) -> float | None:
    """The estimate from the published values; None unless the paper has one for every dataset."""
    published = known["published"].to_numpy(float)
    return estimate(published) if np.isfinite(published).all() else None


def _within(margin: float, side: Literal["both", "above"] = "both") -> Range:
    """The numbers that are no farther from zero than the margin."""
    return Range(-margin if side == "both" else -math.inf, margin, with_low=False, with_high=False)


def _inside(claimed: Range, value: float, error: float, standard_errors: float) -> bool:
    if not standard_errors:
        return value in claimed
    low, high = value - abs(standard_errors) * error, value + abs(standard_errors) * error
    return claimed.holds(low, high) if standard_errors > 0 else not claimed.misses(low, high)


def _smallest_confirming_share(datasets: int, claimed: Range, coverage: float) -> float | None:
    """The share closest to one half whose interval would lie inside the claimed range; None if there is none."""
    shares = [count for count in range(datasets + 1) if claimed.holds(*share_interval(count, datasets, coverage))]
    return min(shares, key=lambda count: abs(2 * count - datasets)) / datasets if shares else None


def _welch_half_width(error: float, runs: int, errors: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Half of the 95 % interval of the difference of two means, for each of the others."""
    together = error**2 + errors**2
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = together**2 / (error**4 / (runs - 1) + errors**4 / (counts - 1))
    freedom = np.where(np.isfinite(freedom), freedom, 1.0)
    return np.asarray(stats.t.isf((1 - COVERAGE) / 2, freedom) * np.sqrt(together))


def _errors(number: float) -> str:
    return "1 standard error" if number == 1 else f"{number:.2g} standard errors"


def _half_width(estimate: float, interval: Interval) -> float | None:
    return max(estimate - interval[0], interval[1] - estimate) if bounded(interval) else None


def _signed(value: float) -> str:
    return f"{abs(value):.3g} {'lower' if value < 0 else 'higher'}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
