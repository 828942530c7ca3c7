"""Write the numbers of the published results into README.md and other documents: `make publish` does it."""

from __future__ import annotations

import argparse
from pathlib import Path

from qrt.atomic import write_text
from qrt_study.documents.findings import findings_blocks
from qrt_study.documents.front_page import answer, overview
from qrt_study.documents.job_costs import cost_blocks
from qrt_study.documents.progress import progress_table
from qrt_study.documents.written_block import with_block


def written_documents(project: Path) -> dict[Path, str]:
    """Each document with the numbers of the published results of a project."""
    readme, findings = project / "README.md", project / "docs/findings.md"
    text = findings.read_text(encoding="utf-8")
    for name, block in findings_blocks(project).items():
        text = with_block(text, name, block)
    steps, costs = project / "replication/README.md", project / "docs/costs.md"
    measured = costs.read_text(encoding="utf-8")
    for name, block in cost_blocks(project).items():
        measured = with_block(measured, name, block)
    done = with_block(steps.read_text(encoding="utf-8"), "overview", overview(project))
    return {
        readme: with_block(readme.read_text(encoding="utf-8"), "results", answer(project)),
        findings: text,
        steps: with_block(done, "steps", progress_table(project)),
        costs: measured,
    }


def main() -> None:
    """Write the documents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--project", type=Path, default=Path())
    for path, text in written_documents(parser.parse_args().project).items():
        write_text(path, text)


if __name__ == "__main__":
    main()
