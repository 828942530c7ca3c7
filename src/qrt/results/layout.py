"""Where files are: every path of a study, once. The rules of the workflow pass wildcards such as "{dataset}"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """The paths of a study, relative to its folder."""

    results: str  # folder of its tables
    networks: str  # of trained and evaluated networks
    figures: str = "paper_figures"  # of figures, tables and pages for people

    # Data, the same for every study.
    def raw(self, dataset: str, form: str) -> str:
        """A dataset as its source has it: `parquet`, and its record, `json`."""
        return f"data/raw/{dataset}.{form}"

    def prepared(self, dataset: str, file: str = "record.json") -> str:
        """A dataset as numbers: x.npy, y.npy and record.json."""
        return f"data/prepared/{dataset}/{file}"

    # Networks: one file per dataset, seed, split and family; evaluated, one per dataset, seed and family.
    def trained(self, dataset: str, seed: int | str, split: int | str, family: str) -> str:
        """What the networks of one training job say."""
        return f"{self.networks}/{dataset}/seed{seed}/split{split}/{family}.networks.parquet"

    def evaluated(self, dataset: str, seed: int | str, family: str, kind: str) -> str:
        """Rows of `runs`, `curves` or `predictions` of one family, all splits."""
        return f"{self.networks}/{dataset}/seed{seed}/{family}.{kind}.parquet"

    def networks_of(self, dataset: str) -> str:
        """The folder of all networks of a dataset."""
        return f"{self.networks}/{dataset}"

    # Tables of the study.
    def methods(self, experiment: str, seed: int | str = 0) -> str:
        """The tuned methods of one experiment."""
        return f"{self.results}/methods/seed{seed}/{experiment}.parquet"

    def tuned_for_one(self, purpose: str, dataset: str) -> str:
        """The tuned methods of one dataset alone, so that what needs them does not wait for the others."""
        return f"{self.results}/{purpose}/{dataset}.parquet"

    def collected(self, dataset: str, kind: str) -> str:
        """All rows of one kind of one dataset."""
        return f"{self.results}/collected/{dataset}.{kind}.parquet"

    def times(self, dataset: str, split: int | str) -> str:
        """Training times on one dataset and split."""
        return f"{self.results}/times/{dataset}/split{split}.parquet"

    def table(self, kind: str) -> str:
        """A whole table of the study (qrt.results.tables.TABLES)."""
        return f"{self.results}/{kind}.parquet"

    def statistics(self, artifact: str, file: str) -> str:
        """A file with the numbers of a figure or page."""
        return f"{self.results}/statistics/{artifact}/{file}"

    # What people look at.
    def figure(self, name: str, form: str) -> str:
        """A figure, a table or a page of the paper's replication."""
        return f"{self.figures}/{name}.{form}"

    def log(self, stage: str, *place: str) -> str:
        """The log of a job that depends on the study's protocol."""
        return "/".join(["logs", self.results, stage, *place]) + ".log"

    def training_log(self, dataset: str, seed: int | str, split: int | str, family: str) -> str:
        """The log of a training job, which does not."""
        return f"logs/train/{self.networks}/{dataset}/seed{seed}/split{split}/{family}.log"


# The studies under both protocols as the paper has them: they share their networks.
PUBLISHED_LAYOUTS = {
    "paper": Layout("results", "results/networks"),
    "released": Layout("results_released", "results/networks", "replication/released"),
}
