"""The figures, tables and comparisons of the study as data. Kinds of figures: `qrt_study.figures.kinds`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from qrt.text.suggestion import did_you_mean
from qrt_study.plan.compared import Compared
from qrt_study.plan.protocol import Protocol

if TYPE_CHECKING:
    from qrt_study.plan.experiments import Experiment

DatasetSet = Literal["non_discrete", "all"]

ALL_METRICS = ("NLL", "PCE", "CRPS", "SD")
DISCRETE = 0.5  # share of targets among the ten most frequent values above which a dataset is discrete
BASE, BASE_TRAIN = Compared("main", "BASE", "BASE"), Compared("base_train", "BASE-TRAIN", "BASE-TRAIN")


@dataclass(frozen=True)
class MethodComparison:
    """Methods against a baseline. `whole` names experiments of which every method is compared, in its order."""

    compared: tuple[Compared, ...]
    baseline: Compared = BASE
    whole: tuple[str, ...] = ()
    dataset_set: DatasetSet = "non_discrete"
    metrics: tuple[str, ...] = ALL_METRICS
    bars: tuple[str, ...] = ()  # methods whose difference of NLL to the baseline is drawn per dataset
    baseline_by_protocol: bool = False  # docs/protocol.md, row 9

    def under(self, protocol: Protocol) -> MethodComparison:
        """The comparison with the baseline that this protocol takes."""
        if not self.baseline_by_protocol:
            return self
        return replace(self, baseline=BASE_TRAIN if protocol.ablation_baseline == "train" else BASE)

    def among(self, planned: Mapping[str, Experiment]) -> tuple[Compared, ...]:
        """The compared methods without the baseline; those of whole experiments as the study has planned them."""
        compared = list(self.compared)
        for name in self.whole:
            methods = planned[name].methods if name in planned else ()
            compared += [Compared(name, method.name, method.name) for method in methods]
        return tuple(method for method in compared if method != self.baseline)

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments whose methods are compared, under any protocol."""
        baselines = (BASE, BASE_TRAIN) if self.baseline_by_protocol else (self.baseline,)
        named = [method.experiment for method in (*baselines, *self.compared)]
        return tuple(dict.fromkeys([*named, *self.whole]))


@dataclass(frozen=True)
class Artifact:
    """A figure or table by its number in the paper. Where `datasets` are named, it shows them alone."""

    number: str  # "Figure 3"
    title: str
    kind: str  # of `qrt_study.figures.kinds`, or "table"
    comparison: MethodComparison | None = None
    datasets: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()  # embedded datasets that take the place of `datasets` in a study without them
    curve: tuple[str, str] = ("", "")  # part and metric of the per-epoch figures of all datasets
    method: str = ""  # of the discreteness figures

    def shown(self, study: Sequence[str]) -> tuple[str, ...]:
        """The datasets to show in a study: the paper's, else their stand-ins, as far as they are in the study."""
        own = tuple(dataset for dataset in self.datasets if dataset in study)
        return own or tuple(dataset for dataset in self.stand_ins if dataset in study)

    def title_in(self, study: Sequence[str]) -> str:
        """The title in a study of these datasets, which names the dataset that is shown."""
        title, shown = self.title, self.shown(study)
        for own, stand_in in zip(self.datasets, self.stand_ins, strict=True):
            title = title.replace(own, stand_in) if stand_in in shown else title
        return title


def _main(suffix: str = "", **settings: object) -> MethodComparison:
    methods = tuple(
        Compared(f"{experiment}{suffix}", name, name)
        for experiment, name in (("main", "QRC"), ("regularised", "QREGC"), ("main", "QRTC"))
    )
    baseline = Compared(f"main{suffix}", "BASE", "BASE")
    return MethodComparison(methods, **({"baseline": baseline} | settings))  # type: ignore[arg-type]


_QRTC = Compared("main", "QRTC", "QRTC")
_BARS = ("QRTC", "QRC")
_DIFFERENCES = (_QRTC, Compared("main", "QRC", "QRC"))


def _comparison(number: int, title: str, comparison: MethodComparison) -> Artifact:
    return Artifact(f"Figure {number}", title, "comparison", comparison)


def _per_epoch(number: int, title: str, part: str, metric: str) -> Artifact:
    return Artifact(f"Figure {number}", title, "per_epoch", curve=(part, metric))


def _discreteness(number: int, method: str) -> Artifact:
    compared = Compared("main", method, method)
    comparison = MethodComparison((compared,), dataset_set="all", baseline_by_protocol=True)
    title = f"Cohen's d of {method} against the discreteness of the targets"
    return Artifact(f"Figure {number}", title, "discreteness", comparison, method=method)


def _densities(number: int, dataset: str, stand_in: str) -> Artifact:
    title = f"predictive densities of single test rows of {dataset}"
    return Artifact(f"Figure {number}", title, "densities", datasets=(dataset,), stand_ins=(stand_in,))


ARTIFACTS: dict[str, Artifact] = {
    "fig01_per_epoch": Artifact(
        "Figure 1",
        "metrics per epoch on the validation rows",
        "decomposition",
        datasets=("Yacht", "nyc-taxi-green-dec-2016"),
        stand_ins=("bimodal", "skewed"),
    ),
    "fig02_nll_difference": Artifact(
        "Figure 2",
        "test NLL: difference to BASE",
        "differences",
        MethodComparison(_DIFFERENCES, metrics=("NLL",), bars=_BARS),
    ),
    "fig03_main": _comparison(3, "the main comparison", _main()),
    "fig04_ablation": _comparison(
        4,
        "ablations of QRTC",
        MethodComparison(
            (_QRTC, *(Compared("ablation", name, name) for name in ("QRIC", "QRGC", "QRLC"))), baseline_by_protocol=True
        ),
    ),
    "fig05_main_mlp_1": _comparison(5, "the main comparison with a single Gaussian", _main("_mlp_1", bars=_BARS)),
    "fig06_main_mlp_10": _comparison(6, "the main comparison with a mixture of 10", _main("_mlp_10", bars=_BARS)),
    "fig07_main_resnet_3": _comparison(7, "the main comparison with a ResNet", _main("_resnet_3", bars=_BARS)),
    "fig08_base_models": _comparison(
        8,
        "QRTC on four base models",
        MethodComparison(
            (
                Compared("main_mlp_1", "QRTC", "QRTC-MLP-1"),
                Compared("main", "QRTC", "QRTC-MLP-3"),
                Compared("main_mlp_10", "QRTC", "QRTC-MLP-10"),
                Compared("main_resnet_3", "QRTC", "QRTC-ResNet-3"),
            ),
            baseline=Compared("main", "BASE", "BASE-MLP-3"),
        ),
    ),
    "fig09_map_size": _comparison(
        9, "QRTC with a map of M training rows (Algorithm 2)", MethodComparison((_QRTC,), whole=("map_size",))
    ),
    "fig10_bandwidth": _comparison(10, "QRTC with fixed bandwidths", MethodComparison((), whole=("bandwidth",))),
    "fig11_calibration_maps": Artifact("Figure 11", "calibration maps of 512 PITs from Beta(0.2, 0.2)", "maps"),
    "fig12_posthoc_maps": _comparison(
        12,
        "QRTC with three post-hoc maps",
        MethodComparison(
            (
                Compared("main", "QRTC", "QRTC-REFL"),
                Compared("posthoc_map", "QRTC-TRUNC", "QRTC-TRUNC"),
                Compared("posthoc_map", "QRTC-KDE", "QRTC-KDE"),
            ),
            metrics=("NLL", "PCE"),
        ),
    ),
    "fig13_differences_all": Artifact(
        "Figure 13",
        "differences to BASE on all datasets",
        "differences",
        MethodComparison(_DIFFERENCES, dataset_set="all", bars=_BARS),
    ),
    "fig14_alpha": _comparison(
        14,
        "other weights alpha of the entropy term, with the post-hoc step",
        MethodComparison((), baseline=Compared("alpha", "alpha=0", "alpha=0"), whole=("alpha",)),
    ),
    "fig15_validation_nll": _per_epoch(15, "NLL of F' per epoch, validation rows", "validation", "nll_recalibrated"),
    "fig16_validation_pce": _per_epoch(16, "PCE of F' per epoch, validation rows", "validation", "pce"),
    "fig17_training_nll": _per_epoch(17, "NLL of F' per epoch, training rows", "train", "nll_recalibrated"),
    "fig18_training_pce": _per_epoch(18, "PCE of F' per epoch, training rows", "train", "pce"),
    "fig19_discreteness_qrtc": _discreteness(19, "QRTC"),
    "fig20_discreteness_qrc": _discreteness(20, "QRC"),
    "fig21_main_all": _comparison(21, "the main comparison on all datasets", _main(dataset_set="all")),
    "fig22_base_without_calibration": _comparison(
        22,
        "the main comparison against BASE without calibration data",
        _main(baseline=BASE_TRAIN, bars=_BARS),
    ),
    "fig23_predictions_allstate": _densities(23, "Allstate_Claims_Severity", "bimodal"),
    "fig24_predictions_house_prices": _densities(24, "house_prices_nominal", "skewed"),
    "fig25_predictions_mercedes": _densities(25, "Mercedes_Benz_Greener_Manufacturing", "shifted_groups"),
    "fig26_predictions_yprop": _densities(26, "yprop_4_1", "heavy_tails"),
    "fig27_predictions_space_ga": _densities(27, "space_ga", "heteroscedastic"),
    "fig28_predictions_abalone": _densities(28, "abalone", "counts"),
    "table1_methods": Artifact("Table 1", "the methods of the unified algorithm", "table"),
    "table2_times": Artifact("Table 2", "training times", "table"),
    "table3_datasets": Artifact("Table 3", "the datasets", "table"),
}
FIGURES = {name: artifact for name, artifact in ARTIFACTS.items() if artifact.kind != "table"}
TABLES = tuple(name for name, artifact in ARTIFACTS.items() if artifact.kind == "table")
PAGES = ("scorecard", "disagreements", "agreement", "robustness", "seeds", "own_data", "gains", "coverage", "stopping")
RESULTS = "results"  # the result tables, in `draw:`
EXPLORER = "explorer"  # one page on all protocols
ARTICLE = "article"  # about the published results under both protocols
ARTICLE_READS = (
    *(f"{name}.csv" for name in ("scorecard", "disagreements", "disagreements_by_dataset", "agreement", "robustness")),
    *(f"{name}.csv" for name in ("gains_summary", "coverage_summary", "coverage_intervals", "stopping_summary")),
    *("seeds.csv", "table2_times.csv", "table3_datasets.csv", "fig03_main.pdf", "agreement.pdf"),
)
_GROUPS = {"figures": tuple(FIGURES), "tables": TABLES, "pages": (*PAGES, EXPLORER), RESULTS: (RESULTS,)}


def _with_more(figure: str, title: str, *more: Compared) -> Artifact:
    """The comparison of a figure with more methods."""
    comparison = FIGURES[figure].comparison
    assert comparison is not None
    return Artifact("Comparison", title, "comparison", replace(comparison, compared=(*comparison.compared, *more)))


# Comparisons that claims are about and no figure of the paper shows.
CLAIM_COMPARISONS: dict[str, Artifact] = {
    "with_qreg": _with_more("fig03_main", "the main comparison with QREG", Compared("regularised", "QREG", "QREG")),
    "before_the_map": _with_more(
        "fig03_main", "the main comparison with QRT before its map", Compared("main", "QRT-F", "QRT-F")
    ),
    "with_base_mlp_1": _with_more(
        "fig08_base_models", "QRTC on four base models, with BASE-MLP-1", Compared("main_mlp_1", "BASE", "BASE-MLP-1")
    ),
}
_PREDICTED = MethodComparison(
    tuple(Compared("main", name, name) for name in ("QRC", "QREGC", "QRT", "QRTC")), dataset_set="all"
)
_STOPPING = MethodComparison(
    (Compared("stopping", "QRC-STOP", "QRC-STOP"), _QRTC),
    baseline=Compared("main", "QRC", "QRC"),
    metrics=("NLL", "CRPS", "PCE"),
    bars=("QRTC", "QRC-STOP"),
)
# Comparisons that the paper does not have: of scores that are computed from predictions, and of networks of our own.
EXTENSIONS: dict[str, Artifact] = {
    "gains": Artifact("Extension", "what gain it is: calibration or a better network", "gains", _PREDICTED),
    "coverage": Artifact("Extension", "for whom it is calibrated", "coverage", _PREDICTED),
    "stopping": Artifact("Extension", "the gradient or the stopping", "stopping", _STOPPING),
}
FROM_SCORES = tuple(name for name, one in EXTENSIONS.items() if one.comparison == _PREDICTED)
# All that `python -m qrt_study compare` computes.
COMPARISONS: dict[str, Artifact] = FIGURES | CLAIM_COMPARISONS | EXTENSIONS

# What tells BASE, QRC, QRT and QRTC apart in figures of single datasets.
EXAMPLE_EXPERIMENTS = ("main", "base_train")


# Result tables that figures of a kind are drawn from, besides tuned methods.
_TABLES = {
    "decomposition": ("curves",),
    "per_epoch": ("curves",),
    "densities": ("predictions",),
    "maps": ("maps", "sample"),
    "gains": ("scores", "conditional"),
    "coverage": ("scores", "conditional"),
}


@dataclass(frozen=True)
class RequiredResults:
    """The results that the numbers of a figure or comparison are computed from.

    `examples`: the figure shows `datasets` alone and needs nothing else of the study, neither other datasets nor other
    experiments than EXAMPLE_EXPERIMENTS.
    """

    datasets: tuple[str, ...] = ()  # whose records are read
    experiments: tuple[str, ...] = ()  # whose tuned methods are read
    tables: tuple[str, ...] = ()  # result tables besides `methods`
    examples: bool = False


def required_results(artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
    """What a figure or comparison needs in a study of these datasets."""
    tables = _TABLES.get(artifact.kind, ())
    if artifact.datasets:
        return RequiredResults(artifact.shown(datasets), tables=tables, examples=True)
    if "scores" in tables:
        return RequiredResults(tuple(datasets), tables=tables)
    if artifact.kind == "maps":
        return RequiredResults(tables=tables)  # of simulated PITs
    experiments = artifact.comparison.experiments if artifact.comparison else EXAMPLE_EXPERIMENTS
    return RequiredResults(tuple(datasets), experiments, tables)


def is_example(dataset: str) -> bool:
    """Whether a figure shows predictive densities of this dataset."""
    shown = (one for one in ARTIFACTS.values() if one.kind == "densities")
    return any(dataset in (*one.datasets, *one.stand_ins) for one in shown)


def in_order(artifact: Artifact) -> str:
    """The number of an artifact in words that sort: Figure 03."""
    kind, number = artifact.number.split()
    return f"{kind} {int(number):02d}"


def short_target(name: str) -> str:
    """The target rule of an artifact: fig03, table2."""
    return name.split("_", maxsplit=1)[0]


def artifacts_by_name(names: Iterable[str]) -> tuple[tuple[str, ...], list[str]]:
    """The figures, tables and pages that `draw:` asks for, in the order of the paper, and what is wrong with it.

    Known are groups (`all`, `figures`, ...), pages, and figures and tables by number (`fig03`, `fig3`) or name.
    """
    whole = (EXPLORER, ARTICLE)
    every = (*ARTIFACTS, *PAGES, RESULTS, *whole)
    short = {short_target(name): (name,) for name in ARTIFACTS}
    known = {"all": every} | _GROUPS | {name: (name,) for name in every} | short
    chosen: set[str] = set()
    problems = []
    for name in names:
        asked = re.sub(r"^(fig|table)(\d)$", r"\g<1>0\2" if name.startswith("fig") else r"\1\2", name)
        if asked in known:
            chosen.update(known[asked])
        else:
            hint = did_you_mean(name, known) or f"; known are {', '.join([*short, *PAGES, *whole, 'all', *_GROUPS])}"
            problems.append(f"draw: there is no figure, table or page {name!r}{hint}")
    return tuple(name for name in every if name in chosen), problems
