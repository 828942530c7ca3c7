"""What is trained: one network of the study (`Variant`), and how all networks of a study are trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from qrt.engine.registry import ABLATIONS, Ablation, BaseModel, MapSource
from qrt.errors import UserError

if TYPE_CHECKING:  # variants are also planned and tabulated where torch is not wanted
    from qrt.engine.kernel import KernelWidth
    from qrt.engine.reflected_density import MapFormula

TrainedOn = Literal["train", "train+calibration"]
ResNetForm = Literal["paper", "released"]
MapCentres = Literal["same_pass", "second_pass"]
EarlyStopping = Literal["nll", "objective"]
FreeCentres = Literal["trained", "fixed"]
MapRowsOutside = Literal["standard", "map_size"]


@dataclass(frozen=True)
class Variant:
    """One network of a dataset and split: base model, rows and objective (docs/protocol.md, sections 2, 4, 5).

    `alpha` 0 is plain NLL and has no bandwidth; the ablation STOP trains as alpha 0 does, and its map, with weight
    `alpha`, takes part in early stopping alone. `map_size` None builds the map from the batch (Algorithm 1), a number M
    from M training rows drawn at each step (Algorithm 2).
    """

    base_model: BaseModel = "mlp"
    components: int = 3
    alpha: float = 0.0
    bandwidth: float | None = None
    map_size: int | None = None
    ablation: Ablation | None = None
    trained_on: TrainedOn = "train"

    def __post_init__(self) -> None:
        _one_of("base model", self.base_model, get_args(BaseModel))
        _one_of("trained_on", self.trained_on, ("train", "train+calibration"))
        _one_of("ablation", self.ablation, (None, *ABLATIONS))
        _at_least("number of mixture components", self.components, 1)
        if not math.isfinite(self.alpha):
            raise UserError(f"alpha is {self.alpha}: it must be a finite number")
        if self.alpha == 0:
            if (self.bandwidth, self.map_size, self.ablation) != (None, None, None):
                raise UserError(
                    f"{self}: with alpha 0 there is no map in training, so bandwidth, map_size and ablation "
                    "must be None"
                )
            return
        if self.bandwidth is None or not (math.isfinite(self.bandwidth) and self.bandwidth > 0):
            raise UserError(
                f"bandwidth is {self.bandwidth}: with alpha {self.alpha:g} it must be a number above 0, for example 0.1"
            )
        if self.map_size is not None:
            _at_least("map_size", self.map_size, 1)
            if self.ablation is not None:
                raise UserError(f"map_size {self.map_size} and ablation {self.ablation} exclude each other")

    @property
    def id(self) -> str:
        """A short text that names this variant and no other, fit for file names."""
        parts = [f"{self.base_model}{self.components}", self.trained_on, f"alpha{self.alpha:.12g}"]
        if self.bandwidth is not None:
            parts.append(f"b{self.bandwidth:.12g}")
        if self.map_size is not None:
            parts.append(f"M{self.map_size}")
        if self.ablation is not None:
            parts.append(self.ablation)
        return "_".join(parts)

    @property
    def map_source(self) -> MapSource | None:
        """Where the map's centres come from; None without a map."""
        if self.alpha == 0:
            return None
        if self.ablation is not None:
            return ABLATIONS[self.ablation]
        return "batch" if self.map_size is None else "sample"

    def __lt__(self, other: Variant) -> bool:
        return self._order < other._order

    @property
    def _order(self) -> tuple[Any, ...]:
        return (
            self.base_model,
            self.components,
            self.trained_on,
            self.ablation or "",
            self.map_size or 0,
            self.bandwidth or 0.0,
            self.alpha,
        )


@dataclass(frozen=True)
class TrainingSettings:
    """How networks are trained (docs/protocol.md, section 2, and rows 2, 8, 14, 15, 18 and 19 of section 8).

    Each of these acts on some variants only:

    - `map_centres`, where the map is built from the batch with a gradient through its centres: the PITs of the batch
      in both roles, or as centres those of a second forward pass with dropout masks of its own.
    - `early_stopping`, alpha other than 0 and 1: by the validation NLL (of F for alpha < 0, of F' = Phi_train o F for
      alpha > 0), or by the objective that is minimised.
    - `free_centres`, QRL: trained with the network, or left at their random start.
    - `map_rows_outside`, variants with a `map_size` M: outside training the map of min(2048, n) rows as for all
      others, or of M rows, drawn again for each validation and for the test.

    `map_formula` changes times and no results: "pairwise" is for timing training as the released code does it, with the
    map's density in training always by its formula, never by the series, and every second pass computed whole.
    """

    max_epochs: int = 5000
    patience: int = 15  # in validations
    validate_every: int = 2  # epochs
    batch_size: int = 512
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    dropout: float = 0.2
    kernel_width: KernelWidth = "variance"
    resnet_form: ResNetForm = "paper"
    map_centres: MapCentres = "same_pass"
    early_stopping: EarlyStopping = "nll"
    free_centres: FreeCentres = "trained"
    map_rows_outside: MapRowsOutside = "standard"
    map_formula: MapFormula = "fast"
    record_curves: bool = False

    def __post_init__(self) -> None:
        _at_least("patience", self.patience, 1)
        _at_least("validate_every", self.validate_every, 1)
        _at_least(
            "max_epochs (no network is selected before the first validation)",
            self.max_epochs,
            self.validate_every,
        )
        _at_least("batch_size", self.batch_size, 2)
        _one_of("kernel width", self.kernel_width, ("variance", "scale"))
        _one_of("form of the ResNet", self.resnet_form, ("paper", "released"))
        _one_of("map_centres", self.map_centres, ("same_pass", "second_pass"))
        _one_of("early_stopping", self.early_stopping, ("nll", "objective"))
        _one_of("free_centres", self.free_centres, ("trained", "fixed"))
        _one_of("map_rows_outside", self.map_rows_outside, ("standard", "map_size"))
        _one_of("map_formula", self.map_formula, ("fast", "pairwise"))
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UserError(f"learning_rate is {self.learning_rate}: it must be a number above 0")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise UserError(f"weight_decay is {self.weight_decay}: it must be 0 or a number above")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout is {self.dropout}: it must be a probability below 1")


def _one_of(what: str, value: object, allowed: tuple[object, ...]) -> None:
    if value not in allowed:
        known = ", ".join(str(name) for name in allowed)
        raise UserError(f"{what} {value!r} is unknown: use one of {known}")


def _at_least(what: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{what} is {value!r}: it must be a whole number, {least} or more")
