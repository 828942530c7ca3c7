"""The commands that the rules of the workflow call: `python -m qrt COMMAND ...`."""

from __future__ import annotations

import argparse
import sys

from qrt.commands import data, paper, study, verdict
from qrt.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake becomes one message and status 2."""
    parser = argparse.ArgumentParser(prog="python -m qrt", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for stage in (data, study, paper, verdict):
        stage.add_commands(commands)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
