from __future__ import annotations

import math
from dataclasses import astuple, replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine import trainer
from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.evaluation import evaluate
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.random_streams import stream
from qrt.engine.split import SplitData
from qrt.engine.stack import INITIAL_CENTRES, LEARNED_CENTRES, Stack
from qrt.engine.trainer import (
    TrainedNetwork,
    TrainingSettings,
    Variant,
    build_network,
    map_rows,
    train_stack,
    training_map_rows,
)
from qrt.engine.training_step import TrainingStep
from qrt.engine.validation import CurveData, Validation
from qrt.engine.variant import EarlyStopping
from qrt.errors import UserError
from support.generated_splits import heteroscedastic, small_split, split_of

BASE = Variant()
QRT = Variant(alpha=1.0, bandwidth=0.1)
SAMPLED = Variant(alpha=1.0, bandwidth=0.1, map_size=32)
QRI, QRG, QRL, STOP = (Variant(alpha=1.0, bandwidth=0.1, ablation=name) for name in ("QRI", "QRG", "QRL", "STOP"))
EVERY_KIND = [BASE, QRT, Variant(alpha=-0.2, bandwidth=0.5), SAMPLED, QRI, QRG, QRL, STOP]


def epochs(number: int, **changes: Any) -> TrainingSettings:
    return TrainingSettings(max_epochs=number, patience=10_000, **changes)


def model(
    network: TrainedNetwork, data: SplitData, part: str, *maps: CalibrationMap
) -> tuple[PredictiveDistribution, Tensor]:
    """The network's predictive distributions of a part of the data, and that part's targets, both standardised."""
    x, y = data.part(part)
    return predictive_from_outputs(network.outputs(x), maps=maps), torch.from_numpy(y).double()


def validation_map(network: TrainedNetwork, data: SplitData, seed: int) -> CalibrationMap:
    """The map that validation uses, built with the evaluation's code."""
    predictive, y = model(network, data, "train")
    assert network.variant.bandwidth is not None
    return fit_map("REFL", predictive.pit(y)[map_rows(len(y), seed)], network.variant.bandwidth, "variance")


def same_bytes(first: TrainedNetwork, second: TrainedNetwork) -> bool:
    assert first.parameters.keys() == second.parameters.keys()
    return all(
        tensor.numpy().tobytes() == second.parameters[name].numpy().tobytes()
        for name, tensor in first.parameters.items()
    )


def test_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    data = small_split()
    first, second, other = (train_stack(data, EVERY_KIND, epochs(6), seed) for seed in (1, 1, 2))
    for one, two, three in zip(first, second, other, strict=True):
        assert same_bytes(one, two)
        assert one.best_value == two.best_value
        assert not same_bytes(one, three)


def test_results_come_in_the_order_asked_for() -> None:
    asked = [QRL, BASE, SAMPLED, QRT]
    assert [network.variant for network in train_stack(small_split(), asked, epochs(2), 0)] == asked
    assert train_stack(small_split(), [], epochs(2), 0) == []


def losses(network: TrainedNetwork) -> np.ndarray[Any, Any]:
    assert network.curves is not None
    return np.array([[record.nll_base, record.nll_recalibrated] for record in network.curves])


SWITCHED = {"map_centres": "second_pass", "early_stopping": "objective", "map_rows_outside": "map_size"}


@pytest.mark.parametrize(("train", "changes"), [(96, {}), (75, {}), (96, SWITCHED)])
def test_company_changes_a_network_by_rounding_only(train: int, changes: dict[str, Any]) -> None:
    # In 50 epochs training amplifies a change of the initial weights by 1e-7, about their rounding, to differences of
    # 1e-7 to 2e-4 in these losses (measured for bandwidths of 0.1 and above; smaller ones are more chaotic). Companies
    # changed them by 1e-6 at most. Another seed changes them by 0.1 and more.
    data, settings, tolerance = small_split(train), epochs(50, record_curves=True, **changes), 1e-3
    variants = [BASE, QRT, Variant(alpha=-0.2, bandwidth=0.1), SAMPLED, Variant(alpha=1.0, bandwidth=1.0)]
    alone = [train_stack(data, [variant], settings, 3)[0] for variant in variants]
    together = train_stack(data, variants, settings, 3)
    small_sample = replace(SAMPLED, map_size=8)
    others = train_stack(data, [QRL, QRT, QRG, QRI, variants[4], QRT, small_sample, SAMPLED], settings, 3)
    other_seed = train_stack(data, variants, settings, 4)
    for number in range(len(variants)):
        assert np.abs(losses(alone[number]) - losses(together[number])).max() < tolerance
        assert np.abs(losses(alone[number]) - losses(other_seed[number])).max() > 20 * tolerance
    for number, place in ((1, 1), (4, 4), (1, 5), (3, 7)):
        assert np.abs(losses(alone[number]) - losses(others[place])).max() < tolerance


def test_networks_that_stop_early_leave_the_others_as_they_would_be() -> None:
    data = small_split(64)
    settings = TrainingSettings(max_epochs=120, patience=2)
    variants = [BASE, QRT, Variant(alpha=1.0, bandwidth=0.5), Variant(alpha=-5.0, bandwidth=0.2)]
    together = train_stack(data, variants, settings, 0)
    assert len({network.epochs for network in together}) > 1
    for variant, network in zip(variants, together, strict=True):
        (alone,) = train_stack(data, [variant], settings, 0)
        assert network.best_value == pytest.approx(alone.best_value, abs=1e-3)
        assert (network.epochs, network.selected_epoch) == (alone.epochs, alone.selected_epoch)


def test_best_value_is_the_objective_of_the_returned_network_on_validation_rows() -> None:
    data = small_split()
    networks = train_stack(data, [BASE, QRT, SAMPLED, QRG, STOP], TrainingSettings(max_epochs=60, patience=5), 0)
    # They have their best validations at different times, while the others still train.
    assert len({network.selected_epoch for network in networks}) > 1
    for network in networks:
        maps = () if network.variant.alpha == 0 else (validation_map(network, data, 0),)
        predictive, y = model(network, data, "validation", *maps)
        log_density, _ = predictive.log_density_and_pit(y)
        assert network.best_value == pytest.approx(-float(log_density.mean()), abs=2e-5)


@pytest.mark.parametrize(
    ("early_stopping", "alpha", "weight"),
    [("nll", -0.5, 0.0), ("nll", 0.5, 1.0), ("nll", 2.0, 1.0), ("objective", -0.5, -0.5), ("objective", 2.0, 2.0)],
)
def test_validation_value_is_an_nll_or_the_objective(early_stopping: str, alpha: float, weight: float) -> None:
    data = small_split()
    settings = epochs(4, early_stopping=early_stopping)
    # In company, since networks whose value needs no map are left out where maps are built.
    others = [BASE, QRL, Variant(alpha=1.0, bandwidth=0.2), Variant(alpha=-5.0, bandwidth=0.2), SAMPLED]
    network = train_stack(data, [*others, Variant(alpha=alpha, bandwidth=0.2)], settings, 0)[-1]
    predictive, y = model(network, data, "validation")
    log_density, pit = predictive.log_density_and_pit(y)
    log_phi = validation_map(network, data, 0).log_density(pit)
    assert network.best_value == pytest.approx(-float((log_density + weight * log_phi).mean()), abs=2e-5)


@pytest.mark.parametrize(("alpha", "bandwidth"), [(-1.0, 0.2), (0.5, 0.1)])
def test_networks_stop_by_the_value_asked_for(alpha: float, bandwidth: float) -> None:
    variant = Variant(alpha=alpha, bandwidth=bandwidth)
    selected = {}
    for early_stopping in get_args(EarlyStopping):
        settings = TrainingSettings(max_epochs=120, patience=8, record_curves=True, early_stopping=early_stopping)
        (network,) = train_stack(small_split(64), [variant], settings, 0)
        assert network.curves is not None
        curves = [record for record in network.curves if record.part == "validation"]
        nll = {record.epoch: record.nll_base if alpha < 0 else record.nll_recalibrated for record in curves}
        objective = {record.epoch: record.nll_base + record.alpha_entropy_pit for record in curves}
        values = nll if early_stopping == "nll" else objective
        assert network.selected_epoch == min(values, key=lambda epoch: values[epoch])
        assert network.epochs == network.selected_epoch + 2 * 8
        selected[early_stopping] = network.selected_epoch
    assert selected["nll"] != selected["objective"]


def test_stop_trains_as_a_network_without_a_map_and_takes_the_epoch_with_the_best_nll_after_one() -> None:
    data, settings = small_split(64), TrainingSettings(max_epochs=120, patience=8, record_curves=True)
    selected = []
    for seed in range(3):
        (plain,), (stopped,) = (train_stack(data, [variant], settings, seed) for variant in (BASE, STOP))
        assert stopped.curves is not None
        # They stop by different values; as long as both train, they are the same network to the last bit.
        base, other = ([record.nll_base for record in network.curves or ()] for network in (plain, stopped))
        both = min(len(base), len(other))
        assert base[:both] == other[:both]
        values = {record.epoch: record.nll_recalibrated for record in stopped.curves if record.part == "validation"}
        assert stopped.selected_epoch == min(values, key=lambda epoch: values[epoch])
        selected.append((plain.selected_epoch, stopped.selected_epoch))
    assert any(of_plain != of_stopped for of_plain, of_stopped in selected)


def test_switches_leave_the_variants_alone_that_they_do_not_concern() -> None:
    data = small_split()
    as_usual = train_stack(data, EVERY_KIND, epochs(6), 1)
    not_concerned = {
        "map_centres": {"second_pass": [BASE, SAMPLED, QRI, QRG, QRL, STOP]},
        "early_stopping": {"objective": [BASE, QRT, SAMPLED, QRI, QRG, QRL, STOP]},
        "free_centres": {"fixed": [BASE, QRT, EVERY_KIND[2], SAMPLED, QRI, QRG, STOP]},
        "map_rows_outside": {"map_size": [BASE, QRT, EVERY_KIND[2], QRI, QRG, QRL, STOP]},
    }
    for switch, values in not_concerned.items():
        for value, untouched in values.items():
            switched = train_stack(data, EVERY_KIND, epochs(6, **{switch: value}), 1)
            for one, two in zip(as_usual, switched, strict=True):
                same = same_bytes(one, two) and one.best_value == two.best_value
                assert same == (one.variant in untouched), (switch, one.variant.id)


def test_maps_of_large_data_are_built_from_2048_training_rows() -> None:
    x, y, _ = heteroscedastic(3100)
    data = split_of(x, y, train=3000, validation=50)
    rows = map_rows(3000, 0)
    assert len(rows) == len(set(rows.tolist())) == 2048
    (network,) = train_stack(data, [QRT], epochs(2), 0)
    predictive, targets = model(network, data, "validation", validation_map(network, data, 0))
    assert network.best_value == pytest.approx(-float(predictive.log_density_and_pit(targets)[0].mean()), abs=2e-5)


def test_early_stopping_waits_for_its_patience_and_validates_every_second_epoch() -> None:
    settings = TrainingSettings(max_epochs=400, patience=3)
    networks = train_stack(small_split(64), [BASE, QRT], settings, 0)
    for network in networks:
        assert network.status == "ok"
        assert network.selected_epoch % 2 == 0
        assert network.epochs == network.selected_epoch + 2 * 3
    (short,) = train_stack(small_split(64), [BASE], TrainingSettings(max_epochs=5, patience=3), 0)
    assert (short.epochs, short.selected_epoch) == (5, 4)


def test_batches_are_whole_shuffled_and_drawn_from_the_rows_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    step = TrainingStep.__call__

    def spy(self: TrainingStep, rows: Tensor) -> Tensor:
        seen.append(rows.tolist())
        return step(self, rows)

    monkeypatch.setattr(TrainingStep, "__call__", spy)
    data = small_split(96)
    train_stack(data, [replace(BASE, trained_on="train+calibration")], epochs(2, batch_size=50), 0)
    # 96 + 20 rows: two batches of 50 per epoch, 16 rows left out.
    assert [len(rows) for rows in seen] == [50] * 4
    first, second = {*seen[0], *seen[1]}, {*seen[2], *seen[3]}
    assert len(first) == len(second) == 100
    assert seen[0] != seen[2]
    assert first | second <= set(range(116))
    assert max(first | second) >= 96
    seen.clear()
    train_stack(data, [BASE], epochs(2), 0)
    assert [sorted(rows) for rows in seen] == [list(range(96))] * 2


def test_a_diverged_network_stops_alone() -> None:
    data = small_split()
    broken = Variant(alpha=1e300, bandwidth=0.1)  # infinite in float32
    first, diverged, last = train_stack(data, [BASE, broken, QRT], epochs(6), 0)
    assert (diverged.status, diverged.epochs, diverged.selected_epoch) == ("diverged", 1, 0)
    assert "not finite" in diverged.reason
    assert "epoch 1" in diverged.reason
    assert diverged.best_value == math.inf
    initial = diverged.network.initial(stream(0, "initial weights"))
    assert all(torch.equal(diverged.parameters[name], tensor) for name, tensor in initial.items())
    assert (first.status, last.status) == ("ok", "ok")
    for network, variant in ((first, BASE), (last, QRT)):
        (alone,) = train_stack(data, [variant], epochs(6), 0)
        assert network.best_value == pytest.approx(alone.best_value, abs=1e-4)


def test_a_learning_rate_that_is_too_high_ends_as_diverged() -> None:
    (network,) = train_stack(small_split(), [BASE], epochs(50, learning_rate=1e30), 0)
    assert network.status == "diverged"
    assert 1 <= network.epochs < 50
    # After one step the loss was finite but the network is lost: validation finds it, curves do not stumble over it.
    settings = epochs(50, learning_rate=1e30, validate_every=1, record_curves=True)
    for network in train_stack(small_split(), [BASE, QRT], settings, 0):
        assert (network.status, network.reason) == ("diverged", "validation value is not finite in epoch 1")
        assert network.curves == []


def test_curves_decompose_the_nll_and_agree_with_the_evaluation() -> None:
    data = small_split()
    variants = [BASE, QRT, QRL, Variant(alpha=-0.5, bandwidth=0.2)]
    networks = train_stack(data, variants, epochs(6, record_curves=True), 0)
    for network in networks:
        assert network.curves is not None
        assert [(record.epoch, record.part) for record in network.curves] == [
            (epoch, part) for epoch in (2, 4, 6) for part in ("train", "validation")
        ]
        assert network.selected_epoch == 6  # so that the last records are those of the returned network
        for record in network.curves:
            entropy = record.nll_recalibrated - record.nll_base
            assert record.alpha_entropy_pit == pytest.approx(network.variant.alpha * entropy, abs=1e-9)
    base, qrt, *_ = networks
    assert base.curves is not None
    assert all(record.alpha_entropy_pit == 0 for record in base.curves)
    for network in networks[:2]:
        maps = (validation_map(qrt, data, 0),) if network is qrt else ()
        assert network.curves is not None
        for record in network.curves[-2:]:
            predictive, y = model(network, data, record.part, *maps)
            metrics = evaluate(predictive, y)
            assert record.nll_recalibrated == pytest.approx(metrics["nll"], abs=2e-5)
            assert record.pce == pytest.approx(metrics["pce_levels"], abs=0.02 / len(y))
            plain = gaussian.log_density(predictive.mixture, y).mean()
            assert record.nll_base == pytest.approx(-float(plain), abs=2e-5)
    assert train_stack(data, [BASE], epochs(2), 0)[0].curves is None


@pytest.mark.parametrize(("train", "seeds"), [(96, None), (2100, None), (96, range(len(EVERY_KIND)))])
@pytest.mark.parametrize("early_stopping", ["nll", "objective"])
def test_curves_are_the_same_whether_they_share_the_work_of_validation_or_not(
    train: int, seeds: range | None, early_stopping: EarlyStopping, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, settings = small_split(train), epochs(2, record_curves=True, early_stopping=early_stopping)
    shared = train_stack(data, EVERY_KIND, settings, 0, seeds=seeds)

    def all_anew(validation: Validation, stack: Stack, training: CurveData) -> Any:
        assert (len(training.of_maps) == 0) == (seeds is not None)
        validation._seen = None
        return curve_terms(validation, stack, replace(training, of_maps=training.of_maps[:0]))

    curve_terms = Validation.curve_terms
    monkeypatch.setattr(Validation, "curve_terms", all_anew)
    for one, other in zip(shared, train_stack(data, EVERY_KIND, settings, 0, seeds=seeds), strict=True):
        assert one.curves is not None
        assert other.curves is not None
        assert len(one.curves) == len(other.curves) == 2
        for found, expected in zip(one.curves, other.curves, strict=True):
            assert (found.epoch, found.part) == (expected.epoch, expected.part)
            assert astuple(found)[2:] == pytest.approx(astuple(expected)[2:], rel=1e-6, abs=1e-7)


def test_qri_keeps_the_pits_of_the_initial_network_and_qrl_trains_its_centres() -> None:
    data = small_split()
    fixed, learned, plain = train_stack(data, [QRI, QRL, QRT], epochs(6), 0)
    initial = build_network(QRI, 3, TrainingSettings()).initial(stream(0, "initial weights"))
    untrained = replace(fixed, parameters=initial)
    predictive, y = model(untrained, data, "train")
    expected = predictive.pit(y)[map_rows(96, 0)]
    torch.testing.assert_close(fixed.parameters[INITIAL_CENTRES].double(), expected, rtol=1e-4, atol=1e-5)
    start = torch.rand(96, generator=stream(0, "learned centres"))
    moved = (learned.parameters[LEARNED_CENTRES] - start).abs()
    assert 0 < float(moved.max()) < 0.1
    assert float((moved > 0).double().mean()) > 0.9
    assert not {INITIAL_CENTRES, LEARNED_CENTRES} & set(plain.parameters)


def test_fixed_free_centres_stay_at_their_start_while_the_network_trains() -> None:
    data = small_split()
    settings = epochs(6, free_centres="fixed")
    fixed, base = train_stack(data, [QRL, BASE], settings, 0)
    start = torch.rand(96, generator=stream(0, "learned centres"))
    assert torch.equal(fixed.parameters[LEARNED_CENTRES], start)
    assert LEARNED_CENTRES not in base.parameters
    initial = build_network(QRL, 3, settings).initial(stream(0, "initial weights"))
    assert all(not torch.equal(fixed.parameters[name], tensor) for name, tensor in initial.items())
    own_map = fit_map("REFL", start.double(), 0.1, "variance")
    predictive, y = model(fixed, data, "validation", own_map)
    assert fixed.best_value == pytest.approx(-float(predictive.log_density_and_pit(y)[0].mean()), abs=2e-5)


def test_networks_with_centres_of_their_own_hand_them_on_inside_the_unit_interval() -> None:
    data = small_split()
    networks = train_stack(data, EVERY_KIND, epochs(6), 0)
    own = {network.variant.ablation: network.own_centres for network in networks}
    assert own[None] is None
    assert own["QRG"] is None
    for network in networks:
        rows = training_map_rows(network.variant, 96, epochs(6), 0)
        assert (rows is None) == (network.variant in (BASE, QRI, QRL))
        if network.own_centres is not None:
            own_map = fit_map("REFL", network.own_centres, 0.1, "variance")
            predictive, y = model(network, data, "validation", own_map)
            assert network.best_value == pytest.approx(-float(predictive.log_density_and_pit(y)[0].mean()), abs=2e-5)
    outside = {LEARNED_CENTRES: torch.tensor([-0.25, 0.5, 1.25])}
    reflected = replace(networks[-1], parameters=outside).own_centres
    assert reflected is not None
    assert reflected.tolist() == [0.25, 0.5, 0.75]


def rows_of_maps(variants: list[Variant], validations: int, data: SplitData) -> list[list[list[int]]]:
    """Numbers of the training rows in the map of each network at each validation, found by their PITs."""
    x, y = (torch.from_numpy(array) for array in data.part("train"))
    settings = TrainingSettings(map_rows_outside="map_size")
    network = build_network(BASE, x.shape[1], settings)
    stack = Stack(network, variants, settings, [0] * len(variants), batch_rows=len(x), map_rows=len(x))
    validation = Validation((x, y), (x, y), settings, [0] * len(variants))
    outputs = network.forward(stack.tensors(0, 1), x, None)[0][0].T
    pits = predictive_from_outputs(outputs).pit(y.double())
    found = []
    for _ in range(validations):
        validation.values(stack)
        by_network: list[list[int]] = []
        for one in validation.maps(stack):
            distance = (one.centres.double().unsqueeze(2) - pits).abs()
            assert float(distance.amin(dim=2).max()) < 1e-6
            by_network.extend(sorted(numbers.tolist()) for numbers in distance.argmin(dim=2))
        found.append(by_network)
    return found


def test_maps_of_algorithm_2_may_keep_their_size_at_validation_and_get_new_rows_each_time() -> None:
    data = small_split()
    alone = rows_of_maps([SAMPLED], 3, data)
    for (rows,) in alone:
        assert len(rows) == len(set(rows)) == 32
    assert len({tuple(rows) for (rows,) in alone}) == 3
    # In the stack's order: QRT, then M = 8, 32, 2048.
    company = [replace(SAMPLED, map_size=8), BASE, QRT, SAMPLED, replace(SAMPLED, map_size=2048)]
    together = rows_of_maps(company, 3, data)
    assert [networks[2] for networks in together] == [rows for (rows,) in alone]
    assert [len(rows) for rows in together[0]] == [96, 8, 32, 96]
    assert together[0][0] == together[0][3] == list(range(96))


def test_a_map_of_all_training_rows_is_the_same_whichever_way_its_rows_are_drawn() -> None:
    all_rows = replace(SAMPLED, map_size=2048)
    usual, drawn = (
        train_stack(small_split(), [all_rows], epochs(6, map_rows_outside=rows), 0)[0]
        for rows in ("standard", "map_size")
    )
    assert same_bytes(usual, drawn)
    assert drawn.best_value == pytest.approx(usual.best_value, abs=1e-5)


def test_training_time_map_has_the_rows_of_validation_or_rows_drawn_for_the_test() -> None:
    own_size = TrainingSettings(map_rows_outside="map_size")
    standard = training_map_rows(SAMPLED, 3000, TrainingSettings(), 0)
    assert standard is not None
    assert torch.equal(standard, map_rows(3000, 0))
    for variant in (QRT, QRG):
        rows = training_map_rows(variant, 3000, own_size, 0)
        assert rows is not None
        assert torch.equal(rows, standard)
    drawn, again, other_seed = (training_map_rows(SAMPLED, 3000, own_size, seed) for seed in (0, 0, 1))
    assert drawn is not None
    assert again is not None
    assert other_seed is not None
    assert len(drawn) == len(set(drawn.tolist())) == 32
    assert torch.equal(drawn, again)
    assert not torch.equal(drawn, other_seed)
    assert not torch.equal(drawn, standard[:32])
    few = training_map_rows(SAMPLED, 20, own_size, 0)
    assert few is not None
    assert sorted(few.tolist()) == list(range(20))


def test_outputs_do_not_depend_on_how_many_rows_are_asked_for_at_once() -> None:
    (network,) = train_stack(small_split(), [BASE], epochs(2), 0)
    x = np.random.default_rng(0).normal(size=(2500, 3)).astype(np.float32)
    outputs = network.outputs(x)
    assert outputs.shape == (2500, 9)
    assert outputs.dtype == torch.float32
    parts = torch.cat([network.outputs(part) for part in np.split(x, [1, 700, 2100])])
    torch.testing.assert_close(outputs, parts, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("form", "centres"), [("paper", "same_pass"), ("released", "same_pass"), ("released", "second_pass")]
)
def test_resnets_train_in_stacks_too(form: Any, centres: Any) -> None:
    data, settings = small_split(48), epochs(4, resnet_form=form, map_centres=centres)
    variants = [replace(BASE, base_model="resnet"), replace(QRT, base_model="resnet")]
    networks = train_stack(data, variants, settings, 0)
    for variant, network in zip(variants, networks, strict=True):
        assert network.status == "ok"
        (alone,) = train_stack(data, [variant], settings, 0)
        assert network.best_value == pytest.approx(alone.best_value, abs=1e-3)
        maps = () if variant.alpha == 0 else (validation_map(network, data, 0),)
        predictive, y = model(network, data, "validation", *maps)
        assert network.best_value == pytest.approx(-float(predictive.log_density_and_pit(y)[0].mean()), abs=1e-4)


def test_progress_names_epoch_networks_left_best_value_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "_SECONDS_BETWEEN_LINES", 0.0)
    lines: list[str] = []
    networks = train_stack(small_split(), [BASE, QRT], epochs(4), 0, lines.append)
    assert [line.split(":")[0] for line in lines] == ["epoch 1", "epoch 2", "epoch 3", "epoch 4"]
    assert all("2 of 2 networks left" in line and " s left" in line for line in lines)
    assert f"{min(network.best_value for network in networks):.4f}" in lines[-1]
    monkeypatch.setattr(trainer, "_SECONDS_BETWEEN_LINES", 3600.0)
    lines.clear()
    train_stack(small_split(), [BASE], epochs(4), 0, lines.append)
    assert lines == []


def test_every_network_is_charged_its_time() -> None:
    networks = train_stack(small_split(), EVERY_KIND, epochs(4), 0)
    assert all(network.train_seconds > 0 for network in networks)
    base, large = networks[0], networks[3]
    assert large.train_seconds > base.train_seconds  # Algorithm 2 has a pass of its own


def with_changed(data: SplitData, array: str, row: int, value: float) -> SplitData:
    changed = getattr(data, array).copy()
    changed[row] = value
    return replace(data, **{array: changed})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_changed(small_split(), "x", 3, math.nan), "train: x is not finite in 3 places, the first in row 3"),
        (with_changed(small_split(), "y", 5, math.inf), "train: y is not finite"),
        (with_changed(small_split(), "y", 120, math.nan), "validation: y is not finite"),
        (replace(small_split(), y=np.zeros(168, dtype=np.float32)), "target is constant"),
        (replace(small_split(), x=np.zeros((168, 0), dtype=np.float32)), "no columns"),
        (replace(small_split(), x=np.zeros((168, 2), dtype=np.float16)), "float32"),
        (
            replace(small_split(), sizes={"train": 0, "calibration": 116, "validation": 32, "test": 20}),
            "train: there are no rows",
        ),
        (
            replace(small_split(), sizes={"train": 128, "calibration": 20, "validation": 0, "test": 20}),
            "validation: there are no rows",
        ),
        (
            replace(small_split(), sizes={"train": 1, "calibration": 115, "validation": 32, "test": 20}),
            "at least 2 training rows",
        ),
    ],
)
def test_unusable_data_is_refused_in_words(data: SplitData, message: str) -> None:
    with pytest.raises(UserError, match=message):
        train_stack(data, [BASE], epochs(2), 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": 1.0, "bandwidth": 0.0}, "above 0"),
        ({"alpha": 1.0, "bandwidth": -0.1}, "above 0"),
        ({"alpha": 1.0, "bandwidth": None}, "above 0"),
        ({"alpha": 1.0, "bandwidth": math.nan}, "above 0"),
        ({"alpha": math.inf, "bandwidth": 0.1}, "finite"),
        ({"alpha": 0.0, "bandwidth": 0.1}, "must be None"),
        ({"alpha": 1.0, "bandwidth": 0.1, "map_size": 0}, "map_size"),
        ({"alpha": 1.0, "bandwidth": 0.1, "map_size": 8, "ablation": "QRI"}, "exclude each other"),
        ({"alpha": 1.0, "bandwidth": 0.1, "ablation": "QRX"}, "QRX"),
        ({"components": 0}, "components"),
        ({"base_model": "tree"}, "tree"),
        ({"trained_on": "test"}, "test"),
    ],
)
def test_impossible_variants_are_refused_in_words(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Variant(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 1},
        {"max_epochs": 1},
        {"patience": 0},
        {"validate_every": 0},
        {"learning_rate": 0.0},
        {"weight_decay": -0.1},
        {"dropout": 1.0},
        {"kernel_width": "wide"},
        {"resnet_form": "other"},
        {"map_centres": "third_pass"},
        {"early_stopping": "crps"},
        {"free_centres": "moved"},
        {"map_rows_outside": "all"},
        {"map_formula": "slow"},
    ],
)
def test_impossible_settings_are_refused_in_words(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=str(next(iter(changes.values())))):
        TrainingSettings(**changes)


def test_networks_that_cannot_share_a_stack_are_refused() -> None:
    for other in (
        Variant(components=1),
        replace(BASE, base_model="resnet"),
        replace(BASE, trained_on="train+calibration"),
    ):
        with pytest.raises(ValueError, match="must share"):
            train_stack(small_split(), [BASE, other], epochs(2), 0)


def test_variants_have_stable_ids_an_order_and_work_as_keys() -> None:
    assert BASE.id == "mlp3_train_alpha0"
    assert Variant(alpha=-0.05, bandwidth=0.2, map_size=8).id == "mlp3_train_alpha-0.05_b0.2_M8"
    assert replace(QRG, trained_on="train+calibration").id == "mlp3_train+calibration_alpha1_b0.1_QRG"
    assert len({variant.id for variant in EVERY_KIND}) == len(set(EVERY_KIND)) == len(EVERY_KIND)
    backwards = EVERY_KIND[::-1]
    assert sorted(backwards) == sorted(EVERY_KIND)
    assert sorted([QRT, BASE]) == [BASE, QRT]


@pytest.mark.parametrize("base_model", ["mlp", "resnet"])
@pytest.mark.parametrize("changes", [{}, SWITCHED])
def test_networks_with_seeds_of_their_own_become_what_they_are_alone(base_model: Any, changes: dict[str, Any]) -> None:
    data, settings = small_split(75), TrainingSettings(max_epochs=8, patience=2, **changes)
    kinds = [BASE, QRT, SAMPLED, QRI, QRG, QRL] if base_model == "mlp" else [BASE, QRT]
    variants = [replace(one, base_model=base_model) for one in kinds for _ in range(2)]
    seeds = [number % 2 + 5 for number in range(len(variants))]
    together = train_stack(data, variants, settings, 0, seeds=seeds)
    for variant, seed, network in zip(variants, seeds, together, strict=True):
        (alone,) = train_stack(data, [variant], settings, seed)
        assert (network.epochs, network.selected_epoch) == (alone.epochs, alone.selected_epoch)
        # By rounding only, as with any company.
        assert network.best_value == pytest.approx(alone.best_value, abs=1e-4)
        for name, tensor in alone.parameters.items():
            torch.testing.assert_close(network.parameters[name], tensor, rtol=0, atol=2e-3)
    assert together[0].best_value != pytest.approx(together[1].best_value, abs=1e-3)
