from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor, nn

from qrt.engine.named_tensors import NamedTensors
from qrt.engine.network import MLP, Backward, Network, Repeat, of_networks
from qrt.engine.optimiser import StackedAdamW
from qrt.engine.random_streams import dropout_mask, stream
from qrt.engine.resnet import ResNet

FEATURES, ROWS = 5, 24


def stacked(network: Network, networks: int, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Tensors of a stack of networks with different weights and statistics."""
    alone = [network.initial(torch.Generator().manual_seed(number)) for number in range(networks)]
    return {name: torch.stack([one[name] for one in alone]).to(dtype) for name in alone[0]}


def rows_of_x(seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(ROWS, FEATURES, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def gradients_of(
    network: Network, tensors: dict[str, Tensor], masks: list[Tensor], weight: Tensor
) -> dict[str, Tensor]:
    """Gradients of sum(weight * outputs)."""
    gradients = {name: torch.zeros_like(tensors[name]) for name in network.parameter_shapes}
    _, backward = network.forward(tensors, rows_of_x(), masks)
    backward(weight, gradients)
    return gradients


def load(linear: nn.Linear, weight: Tensor, bias: Tensor) -> None:
    with torch.no_grad():
        linear.weight.copy_(weight)
        linear.bias.copy_(bias.flatten())


class Mask(nn.Module):
    """Dropout with a given mask."""

    def __init__(self, masks: Iterable[Tensor]) -> None:
        super().__init__()
        self.masks = iter(masks)

    def forward(self, x: Tensor) -> Tensor:
        mask = next(self.masks, None)
        return x if mask is None else x * mask


def torch_mlp(tensors: dict[str, Tensor], number: int, masks: list[Tensor]) -> nn.Module:
    """The same network with torch's own layers."""
    layers: list[nn.Module] = []
    for layer in (1, 2, 3):
        weight = tensors[f"hidden{layer}.weight"][number]
        linear = nn.Linear(*weight.shape).double()
        load(linear, weight.T, tensors[f"hidden{layer}.bias"][number])
        layers += [linear, nn.ReLU()]
    outputs, units = tensors["output.weight"].shape[1:]
    output = nn.Linear(units, outputs).double()
    load(output, tensors["output.weight"][number], tensors["output.bias"][number])
    return nn.Sequential(*layers, Mask(masks), output)


def torch_norm(form: str) -> nn.BatchNorm1d | nn.LayerNorm:
    return nn.BatchNorm1d(256) if form == "paper" else nn.LayerNorm(256)


class TorchBlock(nn.Module):
    def __init__(self, form: str, masks: Mask) -> None:
        super().__init__()
        self.form = form
        self.masks = masks
        self.norm = torch_norm(form)
        self.inner = nn.Linear(256, 512 if form == "paper" else 1024)
        self.outer = nn.Linear(512, 256)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.inner(self.norm(x))
        if self.form == "paper":
            hidden = torch.relu(hidden)
        else:
            value, gate = hidden.split(512, dim=1)
            hidden = value * torch.relu(gate)
        return x + self.masks(self.outer(self.masks(hidden)))


class TorchResNet(nn.Module):
    """The same network with torch's own layers, one of a stack."""

    def __init__(self, tensors: dict[str, Tensor], number: int, form: str, masks: list[Tensor]) -> None:
        super().__init__()
        self.masks = Mask(masks)
        self.input = nn.Linear(FEATURES, 256)
        for block in range(1, 9):
            self.add_module(f"block{block}", TorchBlock(form, self.masks))
        self.output = nn.Sequential(torch_norm(form), nn.ReLU(), nn.Linear(256, tensors["output.weight"].shape[1]))
        self.to(tensors["input.weight"].dtype)
        with torch.no_grad():
            for name, parameter in self.by_name().items():
                parameter.copy_(torchs_shape(name, tensors[name][number], parameter))

    def forward(self, x: Tensor) -> Tensor:
        state = self.input(x)
        for block in range(1, 9):
            state = self.get_submodule(f"block{block}")(state)
        return self.output(state)

    def by_name(self) -> dict[str, nn.Parameter]:
        """The parameters by the names of `ResNet`."""
        new_names = {"output.0.": "output.norm.", "output.2.": "output."}
        found = {}
        for name, parameter in self.named_parameters():
            old = next((start for start in new_names if name.startswith(start)), "")
            found[new_names.get(old, "") + name.removeprefix(old)] = parameter
        return found


def torchs_shape(name: str, tensor: Tensor, parameter: Tensor) -> Tensor:
    """One of our tensors in the shape of torch's parameter: weights are transposed but for those of the output."""
    transposed = name.endswith(".weight") and parameter.dim() == 2 and name != "output.weight"
    return (tensor.T if transposed else tensor).reshape(parameter.shape)


def resnet_stack(form: str, networks: int, dropout: float = 0.2) -> tuple[ResNet, dict[str, Tensor]]:
    """A stack whose norms scale and shift, which they do not when training begins."""
    network = ResNet(FEATURES, 3, "paper" if form == "paper" else "released", dropout)
    tensors = stacked(network, networks)
    generator = torch.Generator().manual_seed(7)
    for name, tensor in tensors.items():
        if ".norm." in name and not name.endswith((".mean", ".variance")):
            tensor.add_(torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype), alpha=0.3)
    return network, tensors


@pytest.mark.parametrize("components", [1, 3, 10])
def test_mlp_computes_what_torchs_layers_compute(components: int) -> None:
    network = MLP(FEATURES, components)
    tensors = stacked(network, 3)
    outputs, _ = network.forward(tensors, rows_of_x(), None)
    assert outputs.shape == (3, 3 * components, ROWS)
    for number in range(3):
        expected = torch_mlp(tensors, number, [])(rows_of_x())
        torch.testing.assert_close(outputs[number].T, expected.detach(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_gradient_of_mlp_is_that_of_torchs_layers(dropout: float) -> None:
    network = MLP(FEATURES, 3, dropout)
    tensors = stacked(network, 2)
    masks = [mask.double() for mask in network.masks(ROWS, stream(0, "dropout"))]
    weight = torch.randn(2, 9, ROWS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = gradients_of(network, tensors, masks, weight)
    for number in range(2):
        module = torch_mlp(tensors, number, masks)
        (module(rows_of_x()) * weight[number].T).sum().backward()
        expected = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        assert len(expected) == len(found)
        for (name, gradient), value in zip(found.items(), expected, strict=True):
            mine = gradient[number].T if name.startswith("hidden") else gradient[number]
            torch.testing.assert_close(mine.reshape(value.shape), value, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("network", [MLP(FEATURES, 1), ResNet(FEATURES, 1, "paper"), ResNet(FEATURES, 1, "released")])
def test_backward_adds_to_gradients_that_are_there(network: Network) -> None:
    tensors = stacked(network, 1)
    weight = torch.ones(1, 3, ROWS, dtype=torch.float64)
    once = gradients_of(network, tensors, [], weight)
    twice = {name: gradient.clone() for name, gradient in once.items()}
    network.forward(tensors, rows_of_x(), [])[1](weight, twice)
    for name, gradient in once.items():
        torch.testing.assert_close(twice[name], 2 * gradient)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("form", ["paper", "released"])
def test_resnet_trains_and_evaluates_as_torchs_layers_do(form: str, dropout: float) -> None:
    network, tensors = resnet_stack(form, 2, dropout)
    generator = stream(0, "dropout")
    modules = [TorchResNet(tensors, number, form, []) for number in range(2)]
    weight = torch.randn(2, 9, ROWS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for step in range(3):
        masks = [mask.double() for mask in network.masks(ROWS, generator)]
        assert len(masks) == (16 if dropout else 0)
        outputs, backward = network.forward(tensors, rows_of_x(step), masks)
        gradients = {name: torch.zeros_like(tensors[name]) for name in network.parameter_shapes}
        backward(weight, gradients)
        for number, module in enumerate(modules):
            module.masks.masks = iter(masks)
            module.zero_grad()
            expected = module(rows_of_x(step))
            (expected * weight[number].T).sum().backward()
            torch.testing.assert_close(outputs[number].T, expected.detach(), rtol=1e-9, atol=1e-10)
            assert module.by_name().keys() == gradients.keys()
            for name, parameter in module.by_name().items():
                assert parameter.grad is not None
                mine = torchs_shape(name, gradients[name][number], parameter)
                torch.testing.assert_close(mine, parameter.grad, rtol=1e-8, atol=1e-9)
    evaluated, _ = network.forward(tensors, rows_of_x(9), None)
    for number, module in enumerate(modules):
        torch.testing.assert_close(evaluated[number].T, module.eval()(rows_of_x(9)).detach(), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("form", ["paper", "released"])
def test_gradient_of_resnet_in_single_precision_is_as_close_as_autograds(form: str) -> None:
    network, exact = resnet_stack(form, 1)
    masks = network.masks(ROWS, stream(0, "dropout"))
    weight = torch.randn(1, 9, ROWS, generator=torch.Generator().manual_seed(1))
    tensors = {name: tensor.float() for name, tensor in exact.items()}
    mine = {name: torch.zeros_like(tensors[name]) for name in network.parameter_shapes}
    network.forward({**tensors}, rows_of_x().float(), masks)[1](weight, mine)
    errors = {"mine": 0.0, "autograd": 0.0}
    truth = TorchResNet(
        {name: tensor.double() for name, tensor in tensors.items()}, 0, form, [m.double() for m in masks]
    )
    (truth(rows_of_x().float().double()) * weight[0].T.double()).sum().backward()
    single = TorchResNet(tensors, 0, form, masks)
    (single(rows_of_x().float()) * weight[0].T).sum().backward()
    for name, parameter in truth.by_name().items():
        reference, theirs = parameter.grad, single.by_name()[name].grad
        assert reference is not None
        assert theirs is not None
        errors["mine"] += float((torchs_shape(name, mine[name][0], parameter) - reference).square().sum())
        errors["autograd"] += float((theirs - reference).square().sum())
    assert math.sqrt(errors["mine"]) < 1.5 * math.sqrt(errors["autograd"])


def test_biases_that_batchnorm_cancels_have_no_gradient_at_all() -> None:
    for dropout, cancelled in (
        (0.2, {"input.bias"}),
        (0.0, {"input.bias", *(f"block{b}.outer.bias" for b in range(1, 9))}),
    ):
        network, tensors = resnet_stack("paper", 1, dropout)
        masks = [mask.double() for mask in network.masks(ROWS, stream(0, "dropout"))]
        weight = torch.randn(1, 9, ROWS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        gradients = gradients_of(network, tensors, masks, weight)
        assert {name for name, gradient in gradients.items() if not gradient.any()} == cancelled
    network, tensors = resnet_stack("released", 1)
    assert all(gradient.any() for gradient in gradients_of(network, tensors, [], weight).values())


def test_evaluation_does_not_move_batchnorms_statistics() -> None:
    network = ResNet(FEATURES, 1)
    tensors = stacked(network, 1)
    before = {name: tensors[name].clone() for name in network.statistic_shapes}
    network.forward(tensors, rows_of_x(), None)
    assert all(torch.equal(tensors[name], value) for name, value in before.items())
    network.forward(tensors, rows_of_x(), [])
    assert not any(torch.equal(tensors[name], value) for name, value in before.items())


@pytest.mark.parametrize("network", [MLP(90, 3), ResNet(90, 3, "paper"), ResNet(90, 3, "released")])
def test_initial_weights_follow_torchs_default(network: Network) -> None:
    tensors = network.initial(torch.Generator().manual_seed(0))
    assert set(tensors) == {*network.parameter_shapes, *network.statistic_shapes}
    widths = {
        "hidden1": 90,
        "input": 90,
        "output": 256 if isinstance(network, ResNet) else 128,
        "inner": 256,
        "outer": 512,
    }
    for name, tensor in tensors.items():
        assert tensor.shape == {**network.parameter_shapes, **network.statistic_shapes}[name]
        if ".norm." in name:
            continue
        layer = name.split(".")[-2]
        bound = 1 / math.sqrt(widths.get(layer, 128))
        assert float(tensor.abs().max()) <= bound
        if tensor.numel() > 1000:
            uniform = stats.kstest(tensor.flatten()[:20_000].numpy(), stats.uniform(-bound, 2 * bound).cdf)
            assert uniform.pvalue > 1e-4, name


def test_numbers_of_parameters_are_those_of_the_architectures() -> None:
    def count(network: Network) -> int:
        return sum(math.prod(shape) for shape in network.parameter_shapes.values())

    assert count(MLP(8, 3)) == 8 * 128 + 128 + 2 * (128 * 128 + 128) + 128 * 9 + 9
    norms = 9 * 2 * 256
    head = 256 * 9 + 9
    assert count(ResNet(8, 3, "paper")) == 9 * 256 + 8 * (257 * 512 + 513 * 256) + norms + head
    assert count(ResNet(8, 3, "released")) == 9 * 256 + 8 * (257 * 1024 + 513 * 256) + norms + head


@pytest.mark.parametrize("dropout", [0.0, 0.2])
@pytest.mark.parametrize("repeated", [slice(0, 3), slice(1, 3), slice(0, 1)])
def test_repeated_pass_of_mlp_shares_hidden_layers_and_is_a_second_pass(dropout: float, repeated: slice) -> None:
    network = MLP(FEATURES, 3, dropout)
    tensors = stacked(network, 3)
    first, second = ([mask.double() for mask in network.masks(ROWS, stream(seed, "dropout"))] for seed in (0, 1))
    weights = torch.randn(2, 3, 9, ROWS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def outputs_and_gradients(pass_of: Callable[..., tuple[Tensor, Backward, Repeat]]) -> dict[str, Tensor]:
        gradients = {name: torch.zeros_like(tensors[name]) for name in network.parameter_shapes}
        outputs, backward, repeat = pass_of(tensors, rows_of_x(), first)
        again, backward_of_repetition = repeat(repeated, second)
        backward_of_repetition(weights[1, repeated], of_networks(gradients, repeated))
        backward(weights[0], gradients)
        return {**gradients, "outputs": outputs, "outputs again": again}

    shared = outputs_and_gradients(network.forward_repeatable)
    whole = outputs_and_gradients(partial(Network.forward_repeatable, network))
    for name, found in shared.items():
        torch.testing.assert_close(found, whole[name], rtol=1e-10, atol=1e-12)
    for number in range(3):
        leaves = {name: tensor[number].clone().requires_grad_() for name, tensor in tensors.items()}
        passes = [(first, 0), (second, 1)] if number in range(3)[repeated] else [(first, 0)]
        loss = torch.zeros((), dtype=torch.float64)
        for masks, which in passes:
            hidden = rows_of_x()
            for layer in (1, 2, 3):
                hidden = torch.relu(hidden @ leaves[f"hidden{layer}.weight"] + leaves[f"hidden{layer}.bias"])
            outputs = leaves["output.weight"] @ Mask(masks)(hidden).T + leaves["output.bias"]
            loss = loss + (outputs * weights[which, number]).sum()
        for (name, _), gradient in zip(leaves.items(), torch.autograd.grad(loss, list(leaves.values())), strict=True):
            torch.testing.assert_close(shared[name][number], gradient, rtol=1e-9, atol=1e-10)


def test_repeated_pass_of_resnet_is_a_pass_of_its_own() -> None:
    network = ResNet(FEATURES, 1, "released")
    tensors = stacked(network, 2)
    first, second = ([mask.double() for mask in network.masks(ROWS, stream(seed, "dropout"))] for seed in (0, 1))
    _, _, repeat = network.forward_repeatable(tensors, rows_of_x(), first)
    outputs, backward = repeat(slice(1, 2), second)
    found = {name: torch.zeros_like(tensors[name][1:]) for name in network.parameter_shapes}
    backward(torch.ones_like(outputs), found)
    weight = torch.tensor([0.0, 1.0], dtype=torch.float64).view(2, 1, 1).expand(2, 3, ROWS)
    for name, gradient in gradients_of(network, tensors, second, weight).items():
        torch.testing.assert_close(found[name], gradient[1:], rtol=1e-8, atol=1e-10)


def test_dropout_mask_drops_the_share_it_should_and_keeps_the_mean() -> None:
    mask = dropout_mask((500, 128), 0.2, stream(1, "dropout"))
    assert set(mask.unique().tolist()) == {0.0, 1.25}
    dropped = int((mask == 0).sum())
    assert abs(dropped - 0.2 * 64_000) < 5 * math.sqrt(64_000 * 0.16)
    # Four units share a random number of 64 bits: each of the four must have the right share.
    shares = (mask.flatten().view(-1, 4) == 0).double().mean(dim=0)
    np.testing.assert_allclose(shares.numpy(), 0.2, atol=5 * math.sqrt(0.16 / 16_000))
    again = dropout_mask((500, 128), 0.2, stream(1, "dropout"))
    assert torch.equal(mask, again)


def test_streams_of_different_purposes_and_seeds_differ() -> None:
    draws = [torch.rand(8, generator=stream(seed, purpose)) for seed in (0, 1) for purpose in ("dropout", "map sample")]
    assert len({tuple(draw.tolist()) for draw in draws}) == 4


def test_stacked_adamw_is_torchs_adamw_also_after_networks_left() -> None:
    shapes = {"weight": (7, 3), "bias": (5,), "centres": (9,)}
    generator = torch.Generator().manual_seed(0)
    parameters = NamedTensors(3, shapes)
    for view in parameters.views.values():
        view.normal_(generator=generator)
    mine = StackedAdamW(parameters, learning_rate=0.05, weight_decay=0.3, undecayed=frozenset({"centres"}))
    theirs = {name: view.clone().requires_grad_() for name, view in parameters.views.items()}
    decayed, undecayed = [theirs["weight"], theirs["bias"]], [theirs["centres"]]
    torchs = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.3}, {"params": undecayed, "weight_decay": 0.0}], lr=0.05
    )
    kept = [0, 1, 2]
    for step in range(30):
        if step == 15:
            parameters = parameters.selected(torch.tensor([2, 0]))
            mine.keep(torch.tensor([2, 0]))
            kept = [2, 0]
        gradients = NamedTensors(len(kept), shapes)
        for name, expected in theirs.items():
            expected.grad = torch.randn(expected.shape, generator=generator) * 10 ** (step % 5 - 2)
            gradients.views[name].copy_(expected.grad[kept])
        torchs.step()
        with torch.no_grad():
            mine.step(parameters, gradients)
        for name, expected in theirs.items():
            torch.testing.assert_close(parameters.views[name], expected.detach()[kept], rtol=2e-5, atol=1e-6)
