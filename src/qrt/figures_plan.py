"""What each figure and table of the paper needs: experiments after tuning, or results of networks on some datasets."""

from __future__ import annotations

from dataclasses import dataclass

from qrt.experiments import MAIN_MODEL


@dataclass(frozen=True)
class Artifact:
    """A figure or table by its number in the paper.

    `experiments` are needed after tuning, `tables` whole (curves, times), and `networks` names the kinds of results of
    the networks of BASE, QRC and QRTC on `datasets` alone.
    """

    title: str
    experiments: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()


def _example(dataset: str) -> Artifact:
    return Artifact(f"predictive densities on {dataset}", networks=("predictions", "runs"), datasets=(dataset,))


def _curves(title: str) -> Artifact:
    return Artifact(title, experiments=("main", "base_train"), tables=("curves",))


ARTIFACTS: dict[str, Artifact] = {
    "fig01": Artifact(
        "metrics per epoch on Yacht and NYC taxi",
        networks=("curves", "runs"),
        datasets=("Yacht", "nyc-taxi-green-dec-2016"),
    ),
    "fig02": Artifact("difference of test NLL to BASE", ("main",)),
    "fig03": Artifact("the main comparison", ("main",)),
    "fig04": Artifact("ablations", ("main", "base_train", "ablation")),
    "fig05": Artifact("the main comparison with MLP-1", ("main_mlp_1",)),
    "fig06": Artifact("the main comparison with MLP-10", ("main_mlp_10",)),
    "fig07": Artifact("the main comparison with ResNet-3", ("main_resnet_3",)),
    "fig08": Artifact("QRTC with all base models", ("main", "main_mlp_1", "main_mlp_10", "main_resnet_3")),
    "fig09": Artifact("size of the calibration map", ("main", "map_size")),
    "fig10": Artifact("bandwidths", ("main", "bandwidth")),
    "fig11": Artifact("calibration maps of simulated PITs"),
    "fig12": Artifact("other post-hoc maps", ("main", "posthoc_map")),
    "fig13": Artifact("differences to BASE on all datasets", ("main",)),
    "fig14": Artifact("weights alpha", ("alpha",)),
    "fig15": _curves("validation NLL per epoch"),
    "fig16": _curves("validation PCE per epoch"),
    "fig17": _curves("training NLL per epoch"),
    "fig18": _curves("training PCE per epoch"),
    "fig19": Artifact("QRTC against discreteness", ("main", "base_train")),
    "fig20": Artifact("QRC against discreteness", ("main", "base_train")),
    "fig21": Artifact("the main comparison on all datasets", ("main",)),
    "fig22": Artifact("the main comparison against BASE without calibration data", ("main", "base_train")),
    "fig23": _example("Allstate_Claims_Severity"),
    "fig24": _example("house_prices_nominal"),
    "fig25": _example("Mercedes_Benz_Greener_Manufacturing"),
    "fig26": _example("yprop_4_1"),
    "fig27": _example("space_ga"),
    "fig28": _example("abalone"),
    "table2": Artifact("training times", tables=("times",)),
}


def example_families(kernel_width: str) -> tuple[str, str]:
    """The families that train BASE, QRC and QRTC of the main base model."""
    return f"{MAIN_MODEL.lower()}.plain", f"{MAIN_MODEL.lower()}.qrt.{kernel_width}"
