"""Write the documents that follow from the code alone, whole or in part: `make docs`."""

from __future__ import annotations

from pathlib import Path

from qrt.atomic import write_text
from qrt.text.formats import escape_markdown
from qrt_study.documents import configuration, results
from qrt_study.documents.written_block import with_block
from qrt_study.plan.artifacts import ARTIFACTS, FIGURES
from qrt_study.plan.config import read_schema
from qrt_study.plan.switches import SWITCHES, Side

_PROJECT = Path(__file__).parents[3]


def written_documents(project: Path) -> dict[Path, str]:
    """Each document as the code has it now."""
    protocol, figures = project / "docs/protocol.md", project / "paper_figures/README.md"
    return {
        project / "docs/configuration.md": configuration.documentation(
            read_schema(project / "workflow/schemas/config.schema.yaml")
        ),
        project / "docs/results.md": results.documentation(),
        protocol: with_block(protocol.read_text(encoding="utf-8"), "switches", switch_table()),
        figures: with_block(figures.read_text(encoding="utf-8"), "figures", figure_list()),
    }


def figure_list() -> str:
    """The published figures and tables under both protocols, as seen from the folder of the paper's."""
    lines = ["| | | by the paper's text | by the released code |", "|---|---|---|---|"]
    for name, artifact in ARTIFACTS.items():
        forms = {"picture": "png", "PDF": "pdf"} if name in FIGURES else {"table": "md", "CSV": "csv", "LaTeX": "tex"}
        links = (
            ", ".join(f"[{word}]({folder}{name}.{form})" for word, form in forms.items())
            for folder in ("", "../replication/released/")
        )
        lines.append(f"| {artifact.number} | {escape_markdown(artifact.title)} | {' | '.join(links)} |")
    return "\n".join(lines)


def switch_table() -> str:
    """The 19 switches as a table in Markdown."""
    lines = ["| row | switch | topic | acts | `paper` | `released` |", "|---|---|---|---|---|---|"]
    for switch in SWITCHES.values():
        sides = (_in_words(side) for side in (switch.paper, switch.released))
        cells = (str(switch.row), f"`{switch.name}`", escape_markdown(switch.topic), switch.acts, *sides)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _in_words(side: Side) -> str:
    words = escape_markdown(side.words)
    return words if isinstance(side.value, tuple) else f"`{side.value}`: {words}"


if __name__ == "__main__":
    for path, text in written_documents(_PROJECT).items():
        write_text(path, text)
