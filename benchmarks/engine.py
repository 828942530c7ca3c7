"""Speed of the engine as ratios of times of one run: `make bench`.

One thread. Ratios hold between machines where times do not; each time is the best of several repeats, the two sides
of a ratio taken in turns, because other people's jobs run on the same machine. Prints a table and saves it with the
machine's description as benchmarks/results/engine.json.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
from torch import Tensor

import qrt
from qrt.atomic import write_json
from qrt.engine import mixture as gaussian
from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.evaluation import evaluate, evaluate_chains, evaluate_many_rows, post_hoc_maps
from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import (
    PredictiveDistribution,
    _levels_of_the_mixture,
    log_densities_and_pits,
    predictive_from_outputs,
    quantiles_of_chains,
)
from qrt.engine.quadrature import crps_and_moments
from qrt.engine.reflected_density import own_log_density, pairwise_log_density
from qrt.engine.registry import MapName
from qrt.engine.resnet import BLOCKS, INNER_WIDTH, WIDTH
from qrt.engine.scores import LEVELS
from qrt.engine.split import SplitData
from qrt.engine.stack import Stack
from qrt.engine.trainer import TrainingSettings, Variant, build_network, train_stack
from qrt.engine.training_step import TrainingStep
from qrt.engine.variant import ResNetForm
from qrt_study.training.machine import processor

RESULTS = Path(__file__).parent / "results" / "engine.json"
BASE, QRT = Variant(), Variant(alpha=1.0, bandwidth=0.1)
BATCH, FEATURES, COMPONENTS, UNITS = 512, 8, 3, 128


@dataclass(frozen=True)
class Ratio:
    """One line of the table. `bound` says on which side of the target the value should be."""

    name: str
    value: float
    bound: str
    target: float
    detail: str

    @property
    def line(self) -> str:
        """The measurement beside its target."""
        verdict = "ok" if self.reached else "MISSED"
        return f"{self.name:62} {self.value:8.3f}   {self.bound} {self.target:<5g} {verdict:6}  {self.detail}"

    @property
    def reached(self) -> bool:
        return self.value <= self.target if self.bound == "at most" else self.value >= self.target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--peak-memory", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().peak_memory:
        train_large_stack()
        print(peak_memory())
        return
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    ratios = []
    for measure in (
        qrt_to_base,
        qrt_to_base_in_stacks,
        pairwise_to_fast_map,
        base_to_products,
        resnet_to_products,
        released_resnet_to_products,
        alone_to_stack,
        chains_apart_to_together,
        chains_of_ten_components,
        cost_of_components,
        exact_to_tabulated_maps,
        quantiles_apart_to_together,
        records_to_steps,
        fit_with_history_to_without,
        base_apart_to_together,
        small_base_apart_to_together,
        evaluation_to_training,
        memory,
    ):
        ratio = measure()
        ratios.append(ratio)
        print(ratio.line, flush=True)
    content = {"machine": machine(), "ratios": [asdict(ratio) | {"reached": ratio.reached} for ratio in ratios]}
    write_json(RESULTS, content)


def machine() -> dict[str, str | int | float]:
    """What the times were measured on."""
    return {
        "processor": processor(),
        "cores": os.cpu_count() or 0,
        "threads_used": torch.get_num_threads(),
        "load_average": os.getloadavg()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def best_seconds(*actions: Callable[[], object], repeats: int, calls: int = 1) -> list[float]:
    """Least processor time of a call of each action, the actions taken in turns."""
    best = [float("inf")] * len(actions)
    for action in actions:
        action()
    for _ in range(repeats):
        for number, action in enumerate(actions):
            start = time.process_time()
            for _ in range(calls):
                action()
            best[number] = min(best[number], (time.process_time() - start) / calls)
    return best


def generated(training_rows: int, features: int, *, validation: int, others: int = 16) -> SplitData:
    """A heteroscedastic regression problem with parts of these sizes; calibration and test have `others` rows."""
    sizes = {"train": training_rows, "calibration": others, "validation": validation, "test": others}
    generator = np.random.default_rng(0)
    x = generator.normal(size=(sum(sizes.values()), features)).astype(np.float32)
    noise = np.exp(0.5 * x[:, 2]) * generator.normal(size=len(x))
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 0] + 0.5 * noise
    y = (y - y[:training_rows].mean()) / y[:training_rows].std()
    return SplitData(x=x, y=y.astype(np.float32), sizes=sizes, y_mean=0.0, y_scale=1.0)


def epochs(number: int) -> TrainingSettings:
    """Settings for a run of so many epochs without early stopping."""
    return TrainingSettings(max_epochs=number, patience=10_000)


def qrt_to_base(networks: int = 1, target: float = 1.2, repeats: int = 25) -> Ratio:
    data, number = generated(16 * BATCH, FEATURES, validation=1260), 4

    def training(variant: Variant) -> Callable[[], object]:
        return lambda: train_stack(data, [variant] * networks, epochs(number), 0)

    base, qrt = best_seconds(training(BASE), training(QRT), repeats=repeats)
    per_step = 1e3 / (16 * number * networks)
    return Ratio(
        f"QRT step / BASE step, with validation, {'alone' if networks == 1 else f'in a stack of {networks}'}",
        qrt / base,
        "at most",
        target,
        f"{qrt * per_step:.2f} and {base * per_step:.2f} ms per network; batch 512, 8 features, K = 3, b = 0.1, 8192 "
        "rows, 1260 validated",
    )


def qrt_to_base_in_stacks() -> Ratio:
    return qrt_to_base(8, 1.15, 6)


def pairwise_to_fast_map() -> Ratio:
    z = torch.rand(1, BATCH, generator=torch.Generator().manual_seed(0))
    scale = kernel_scale(0.1, BATCH, "variance")
    weight = torch.full_like(z, -1 / BATCH)

    def pairwise() -> Tensor:
        to_points, to_centres = pairwise_log_density(z, z, scale)[1](weight)
        return to_points + to_centres

    slow, fast = best_seconds(pairwise, lambda: own_log_density(z, scale)[1](weight), repeats=15, calls=20)
    return Ratio(
        "pairwise map / fast map, value and gradient",
        slow / fast,
        "at least",
        8,
        f"{slow * 1e3:.2f} and {fast * 1e3:.3f} ms; batch 512, b = 0.1",
    )


def bare_products() -> Callable[[], None]:
    """The matrix products of one BASE step, forward and backward, into memory that is there already."""
    layers = [(FEATURES, UNITS), (UNITS, UNITS), (UNITS, UNITS)]
    inputs = [torch.randn(1, BATCH, width) for width, _ in layers]
    weights = [torch.randn(1, *shape) for shape in layers]
    flows = [torch.randn(1, BATCH, width) for _, width in layers]
    last, head, to_outputs = (
        torch.randn(1, BATCH, UNITS),
        torch.randn(1, 3 * COMPONENTS, UNITS),
        torch.randn(1, 3 * COMPONENTS, BATCH),
    )
    hidden = torch.empty(1, BATCH, UNITS)
    gradients = [torch.empty_like(weight) for weight in weights]
    outputs, head_gradient = torch.empty_like(to_outputs), torch.empty_like(head)

    def products() -> None:
        for x, weight in zip(inputs, weights, strict=True):
            torch.bmm(x, weight, out=hidden)
        torch.bmm(head, last.transpose(1, 2), out=outputs)
        torch.bmm(to_outputs, last, out=head_gradient)
        torch.bmm(to_outputs.transpose(1, 2), head, out=hidden)
        for x, flow, gradient in zip(inputs, flows, gradients, strict=True):
            torch.bmm(x.transpose(1, 2), flow, out=gradient)
        for flow, weight in zip(flows[1:], weights[1:], strict=True):
            torch.bmm(flow, weight.transpose(1, 2), out=hidden)

    return products


def base_to_products() -> Ratio:
    data = generated(BATCH, FEATURES, validation=16)
    x, y = (torch.from_numpy(array) for array in data.part("train"))
    settings = TrainingSettings()
    stack = Stack(build_network(BASE, FEATURES, settings), [BASE], settings, [0], batch_rows=BATCH, map_rows=BATCH)
    step, rows = TrainingStep(stack, x, y, settings), torch.randperm(BATCH)
    whole, bare = best_seconds(lambda: step(rows), bare_products(), repeats=25, calls=20)
    return Ratio(
        "BASE step / its bare matrix products",
        whole / bare,
        "at most",
        2.5,
        f"{whole * 1e3:.2f} and {bare * 1e3:.2f} ms; batch 512, 8 features, K = 3",
    )


def resnet_products(form: ResNetForm, networks: int) -> Callable[[], None]:
    """The matrix products of one ResNet step, forward and backward, into memory that is there already."""
    inner = INNER_WIDTH if form == "paper" else 2 * INNER_WIDTH

    def tensor(*shape: int) -> Tensor:
        return torch.randn(networks, *shape)

    x, state, hidden, linear = (tensor(BATCH, width) for width in (FEATURES, WIDTH, INNER_WIDTH, inner))
    first, head, to_outputs = tensor(FEATURES, WIDTH), tensor(3 * COMPONENTS, WIDTH), tensor(3 * COMPONENTS, BATCH)
    weights = [(tensor(WIDTH, inner), tensor(INNER_WIDTH, WIDTH)) for _ in range(BLOCKS)]
    gradients = [tuple(torch.empty_like(weight) for weight in pair) for pair in weights]
    to_first, to_head, outputs = (torch.empty_like(like) for like in (first, head, to_outputs))
    to_state, to_hidden, to_linear = (torch.empty_like(like) for like in (state, hidden, linear))

    def products() -> None:
        torch.bmm(x, first, out=to_state)
        for into, out_of in weights:
            torch.bmm(state, into, out=to_linear)
            torch.bmm(hidden, out_of, out=to_state)
        torch.bmm(head, state.transpose(1, 2), out=outputs)
        torch.bmm(to_outputs, state, out=to_head)
        torch.bmm(to_outputs.transpose(1, 2), head, out=to_state)
        for (into, out_of), (by_into, by_out_of) in zip(weights, gradients, strict=True):
            torch.bmm(hidden.transpose(1, 2), state, out=by_out_of)
            torch.bmm(state, out_of.transpose(1, 2), out=to_hidden)
            torch.bmm(state.transpose(1, 2), linear, out=by_into)
            torch.bmm(linear, into.transpose(1, 2), out=to_state)
        torch.bmm(x.transpose(1, 2), state, out=to_first)

    return products


def resnet_to_products(form: ResNetForm = "paper") -> Ratio:
    networks = 4
    data = generated(BATCH, FEATURES, validation=16)
    x, y = (torch.from_numpy(array) for array in data.part("train"))
    settings = TrainingSettings(resnet_form=form)
    variants = [Variant(base_model="resnet")] * networks
    network = build_network(variants[0], FEATURES, settings)
    stack = Stack(network, variants, settings, [0] * len(variants), batch_rows=BATCH, map_rows=BATCH)
    step, rows = TrainingStep(stack, x, y, settings), torch.randperm(BATCH)
    whole, bare = best_seconds(lambda: step(rows), resnet_products(form, networks), repeats=8)
    return Ratio(
        f"ResNet step / its bare matrix products, {form} form",
        whole / bare,
        "at most",
        1.2,
        f"{whole * 1e3 / networks:.0f} and {bare * 1e3 / networks:.0f} ms per network; stack of 4, batch 512, K = 3",
    )


def released_resnet_to_products() -> Ratio:
    return resnet_to_products("released")


def thirteen_chains(components: int, rows: int) -> tuple[GaussianMixture, list[tuple[CalibrationMap, ...]], Tensor]:
    """Mixtures, the chains of maps that a QRT network is evaluated with, and targets."""
    generator = torch.Generator().manual_seed(0)
    model, calibration = (
        predictive_from_outputs(torch.randn(rows, 3 * components, generator=generator)) for _ in range(2)
    )
    y, to_calibrate = torch.randn(2, rows, generator=generator, dtype=torch.float64)
    training_map = fit_map("REFL", torch.rand(2048, generator=generator) ** 1.2, 0.05, "variance")
    chains: list[tuple[CalibrationMap, ...]] = [(), (training_map,)]
    for below in ((), (training_map,)):
        on = PredictiveDistribution(calibration.mixture, below)
        kinds: list[tuple[MapName, float]] = [(name, b) for name in ("REFL", "KDE", "TRUNC") for b in (0.05, 0.1)]
        chains += [post_hoc_maps(on, to_calibrate, name, b, "variance") for name, b in kinds]
    return model.mixture, chains[:13], y


def chains_apart_to_together(components: int = 3) -> Ratio:
    rows = 820
    mixture, chains, y = thirteen_chains(components, rows)

    def apart() -> None:
        for chain in chains:
            crps_and_moments(mixture, [chain], y)

    def every_metric_apart() -> None:
        for chain in chains:
            evaluate(PredictiveDistribution(mixture, chain), y)

    separate, together, all_separate, all_together = best_seconds(
        apart,
        lambda: crps_and_moments(mixture, chains, y),
        every_metric_apart,
        lambda: evaluate_chains(mixture, chains, y),
        repeats=5,
    )
    return Ratio(
        f"CRPS and moments of 13 chains apart / together, K = {components}",
        separate / together,
        "at least",
        2,
        f"{separate * 1e3:.0f} and {together * 1e3:.0f} ms, {rows} rows; every metric: "
        f"{all_separate / all_together:.2f}, {all_separate * 1e3:.0f} and {all_together * 1e3:.0f} ms",
    )


def chains_of_ten_components() -> Ratio:
    return chains_apart_to_together(10)


def cost_of_components() -> Ratio:
    few, many = (thirteen_chains(components, 820) for components in (3, 10))
    three, ten = best_seconds(lambda: evaluate_chains(*few), lambda: evaluate_chains(*many), repeats=5)
    return Ratio(
        "evaluation of 13 chains, K = 10 / K = 3",
        ten / three,
        "at most",
        10 / 3,
        f"{ten * 1e3:.0f} and {three * 1e3:.0f} ms, 820 rows; 3.3 is linear, 11 is quadratic",
    )


def quantiles_apart_to_together() -> Ratio:
    mixture, chains, y = thirteen_chains(3, 820)
    crps_and_moments(mixture, chains, y)  # makes the tables of the maps

    def apart() -> None:
        for chain in chains:
            levels = LEVELS
            for calibration_map in reversed(chain):
                levels = calibration_map.inverse(levels)
            gaussian.quantile(mixture, levels)

    def together() -> None:
        _levels_of_the_mixture.cache_clear()
        quantiles_of_chains(mixture, chains, LEVELS)

    separate, at_once = best_seconds(apart, together, repeats=5)
    return Ratio(
        "19 quantiles under 13 chains apart / together",
        separate / at_once,
        "at least",
        1.5,
        f"{separate * 1e3:.0f} and {at_once * 1e3:.0f} ms, 820 rows; maps inverted from scratch / by their tables",
    )


def fit_with_history_to_without() -> Ratio:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((1300, 6))
    y = x[:, :3].sum(axis=1) + generator.standard_normal(len(x)) * (1 + x[:, 3] ** 2)
    settings: dict[str, Any] = {"random_state": 0, "max_epochs": 30, "patience": 30}
    recorded, plain = best_seconds(
        lambda: qrt.QRTRegressor(history=True, **settings).fit(x, y),
        lambda: qrt.QRTRegressor(**settings).fit(x, y),
        repeats=3,
    )
    return Ratio(
        "QRTRegressor.fit with history / without",
        recorded / plain,
        "at least",
        1.1,
        f"{recorded:.2f} and {plain:.2f} s, 1,300 rows, 30 epochs; only who asks for it pays",
    )


def base_apart_to_together(rows: int = BATCH * 10, count: int = 10, most: float = 1.1) -> Ratio:
    data = generated(rows, FEATURES, validation=max(20, rows // 7))

    def apart() -> None:
        for seed in (0, 1):
            train_stack(data, [BASE], epochs(count), seed)

    separate, together = best_seconds(
        apart, lambda: train_stack(data, [BASE, BASE], epochs(count), 0, seeds=[0, 1]), repeats=5
    )
    return Ratio(
        f"two networks on rows of their own apart / as a stack, {rows} rows",
        separate / together,
        "at most",
        most,
        "all that one stack of BASE and BASE-TRAIN could gain: below this it is not worth its code",
    )


def small_base_apart_to_together() -> Ratio:
    return base_apart_to_together(135, 200, 1.3)


def exact_to_tabulated_maps() -> Ratio:
    mixture, chains, y = thirteen_chains(3, 8192)
    evaluate_many_rows(mixture, chains, y)  # the tables are those of the quadrature, made once
    exact, tabulated = best_seconds(
        lambda: log_densities_and_pits(mixture, chains, y), lambda: evaluate_many_rows(mixture, chains, y), repeats=3
    )
    return Ratio(
        "exact / tabulated maps on 8192 training rows, 13 chains",
        exact / tabulated,
        "at least",
        4,
        f"{exact * 1e3:.0f} and {tabulated * 1e3:.0f} ms",
    )


def records_to_steps() -> Ratio:
    data, settings = generated(200, 6, validation=31), epochs(40)
    variants = [Variant(alpha=1.0, bandwidth=bandwidth) for bandwidth in (0.01, 0.05, 0.1, 0.2)]
    plain, recorded = best_seconds(
        lambda: train_stack(data, variants, settings, 0),
        lambda: train_stack(data, variants, replace(settings, record_curves=True), 0),
        repeats=7,
    )
    return Ratio(
        "training with per-epoch records / without, 200 rows",
        recorded / plain,
        "at most",
        1.4,
        f"{recorded * 1e3:.0f} and {plain * 1e3:.0f} ms; 4 networks, 40 epochs",
    )


def sixteen_variants() -> list[Variant]:
    """The networks of one small dataset: BASE, QRT and QREG over the paper's grids."""
    bandwidths, alphas = (0.01, 0.05, 0.1, 0.2), (1.0, -0.05, -1.0)
    tuned = [Variant(alpha=alpha, bandwidth=b) for alpha in alphas for b in bandwidths]
    return [BASE, *tuned, *(Variant(alpha=alpha, bandwidth=0.1) for alpha in (-0.01, -0.2, -5.0))]


def alone_to_stack() -> Ratio:
    data, variants = generated(135, FEATURES, validation=20), sixteen_variants()

    def alone() -> None:
        for variant in variants:
            train_stack(data, [variant], epochs(20), 0)

    separate, together = best_seconds(alone, lambda: train_stack(data, variants, epochs(20), 0), repeats=7)
    per_step = 1e3 / (16 * 20)
    return Ratio(
        "16 networks alone / as a stack, 135 rows",
        separate / together,
        "at least",
        1.6,
        f"{separate * per_step:.2f} and {together * per_step:.2f} ms per network and step, with validation",
    )


def evaluation_to_training() -> Ratio:
    data = generated(16 * BATCH, FEATURES, validation=1200, others=1200)
    start = time.process_time()
    (network,) = train_stack(data, [QRT], TrainingSettings(), 0)
    training = time.process_time() - start

    def evaluation() -> None:
        x, y = data.part("calibration")
        model = predictive_from_outputs(network.outputs(x))
        maps = post_hoc_maps(model, torch.from_numpy(y).double(), "REFL", 0.1, "variance")
        x, y = data.part("test")
        evaluate(predictive_from_outputs(network.outputs(x), maps=maps), torch.from_numpy(y).double())

    (seconds,) = best_seconds(evaluation, repeats=5)
    return Ratio(
        "evaluation of a QRTC model / its training",
        seconds / training,
        "at most",
        0.05,
        f"{seconds * 1e3:.0f} ms and {training:.2f} s; 1200 test and calibration rows, 8192 x 8 rows, "
        f"{network.epochs} epochs",
    )


def twenty_four_variants() -> Sequence[Variant]:
    """A stack with every kind of map."""
    ablations = [Variant(alpha=1.0, bandwidth=0.1, ablation=name) for name in ("QRI", "QRG", "QRL")]
    sampled = [Variant(alpha=1.0, bandwidth=0.1, map_size=size) for size in (8, 32, 128, 512, 2048)]
    return [*sixteen_variants(), *ablations, *sampled]


def train_large_stack() -> None:
    torch.set_num_threads(1)
    train_stack(generated(53_164, 90, validation=9_000), twenty_four_variants(), epochs(2), 0)


def peak_memory() -> int:
    """Most memory this process ever held, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise SystemExit("peak memory is measured on Linux only")


def memory() -> Ratio:
    child = subprocess.run([sys.executable, __file__, "--peak-memory"], check=True, capture_output=True, text=True)
    gigabytes = int(child.stdout) / 1e9
    return Ratio(
        "peak memory of 24 networks on 53,164 x 90 rows, GB",
        gigabytes,
        "at most",
        1.5,
        "two epochs and a validation in a process of their own, torch included",
    )


if __name__ == "__main__":
    main()
