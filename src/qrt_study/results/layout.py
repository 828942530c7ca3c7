"""Where files are: every path of a study, once. The rules of the workflow pass wildcards such as "{dataset}"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def splits_word(splits: Sequence[int]) -> str:
    """Numbers of splits as part of a path: 0-4, or 0+2."""
    first, last = min(splits), max(splits)
    whole = sorted(splits) == list(range(first, last + 1)) and len(splits) > 1
    return f"{first}-{last}" if whole else "+".join(map(str, sorted(splits)))


def splits_of_word(word: str) -> list[int]:
    """The numbers behind `splits_word`."""
    first, _, last = word.partition("-")
    return list(range(int(first), int(last) + 1)) if last else [int(split) for split in word.split("+")]


def raw_data(dataset: str, form: str) -> str:
    """A dataset as its source has it: `parquet`, and its record, `json`."""
    return f"data/raw/{dataset}.{form}"


def prepared_data(dataset: str, file: str = "record.json") -> str:
    """A dataset as numbers: x.npy, y.npy and record.json."""
    return f"data/prepared/{dataset}/{file}"


@dataclass(frozen=True)
class Layout:
    """The paths of a study, relative to its folder. A scenario is a protocol, or one with a switch changed."""

    networks: str  # folder of trained and evaluated networks, the same for all scenarios
    name: str = ""  # of the study, at the end of the names of its folders

    @property
    def results(self) -> str:
        """The folder of result tables."""
        return f"results_{self.name}" if self.name else "results"

    @property
    def figures(self) -> str:
        """The folder of figures, tables and pages for people."""
        return f"figures_{self.name}" if self.name else "figures"

    # Networks: one file per dataset, seed, split and family; evaluated, one per dataset, seed and family.
    def trained(self, dataset: str, seed: int | str, split: int | str, family: str) -> str:
        """The outputs of the networks of one training job."""
        return f"{self.networks}/{dataset}/seed{seed}/split{split}/{family}.networks.parquet"

    def retrained(self, dataset: str, split: int | str, family: str) -> str:
        """The outputs of the tuned networks of a published family, trained again."""
        return f"{self.networks}/{dataset}/seed0/split{split}/{family}.retrained.parquet"

    def evaluated(self, dataset: str, seed: int | str, splits: str, family: str, kind: str) -> str:
        """Rows of `runs`, `curves` or `predictions` of one family on these splits (`splits_word`)."""
        return f"{self.networks}/{dataset}/seed{seed}/splits{splits}/{family}.{kind}.parquet"

    def networks_of(self, dataset: str) -> str:
        """The folder of all networks of a dataset."""
        return f"{self.networks}/{dataset}"

    def predictions(self, dataset: str) -> str:
        """The mixtures of the main comparison on a dataset, under every protocol."""
        return f"{self.networks}/{dataset}/predictions.parquet"

    def from_predictions(self, kind: str, protocol: str, dataset: str) -> str:
        """Rows of `scores` or `conditional` on a dataset, which are computed from predictions."""
        return f"{self.networks}/{dataset}/{kind}.{protocol}.parquet"

    # Tables of a scenario.
    def methods(self, scenario: str, experiment: str, seed: int | str = 0) -> str:
        """The tuned methods of one experiment."""
        return f"{self.results}/{scenario}/methods/seed{seed}/{experiment}.parquet"

    def times(self, scenario: str, dataset: str) -> str:
        """Training times on one dataset."""
        return f"{self.results}/{scenario}/times/{dataset}.parquet"

    def table(self, scenario: str, kind: str) -> str:
        """A whole table (qrt_study.results.tables.TABLES)."""
        return f"{self.results}/{scenario}/{kind}.parquet"

    @property
    def pits(self) -> str:
        """The PITs of published predictions, counted, of all protocols."""
        return f"{self.results}/pits.csv"

    def comparison(self, scenario: str, name: str, file: str = "") -> str:
        """The folder with the numbers of a comparison, or a file there."""
        return f"{self.results}/{scenario}/comparisons/{name}" + (f"/{file}" if file else "")

    def verdicts(self, scenario: str, file: str) -> str:
        """What was judged: verdicts.csv, key_numbers.csv, differences.csv."""
        return f"{self.results}/{scenario}/{file}"

    def figure(self, scenario: str, name: str, form: str) -> str:
        """A figure, a table or a page for people."""
        return f"{self.figures}/{scenario}/{name}.{form}"

    @property
    def explorer(self) -> str:
        """The page on all protocols."""
        return f"{self.figures}/explorer.html"

    @property
    def article(self) -> str:
        """The article, about both protocols."""
        return f"{self.figures}/article.pdf"

    # Logs.
    def log(self, *place: str) -> str:
        """The log of a job that depends on the study."""
        return "/".join(["logs", self.results, *place]) + ".log"

    def training_log(self, dataset: str, seed: int | str, split: int | str, family: str) -> str:
        """The log of a training job, which does not."""
        return f"logs/train/{self.networks}/{dataset}/seed{seed}/split{split}/{family}.log"

    def retraining_log(self, dataset: str, family: str) -> str:
        """The log of a training job that is done again."""
        return f"logs/retrain/{self.networks}/{dataset}/{family}.log"

    def evaluation_log(self, dataset: str, seed: int | str, splits: str, family: str) -> str:
        """The log of an evaluation."""
        return f"logs/evaluate/{self.networks}/{dataset}/seed{seed}/splits{splits}/{family}.log"
