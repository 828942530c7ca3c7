"""Predictions from the command line: `qrt predict` (or `python -m qrt predict`)."""

from __future__ import annotations

import argparse
import sys

from qrt import predict_command
from qrt.errors import UserError
from qrt.text.terminal import printable


def command_line() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="qrt", description=__doc__)
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    words = (predict_command.__doc__ or "").splitlines()[0]
    predict_command.add_arguments(parsers.add_parser("predict", help=words, description=words))
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run the command; a user's mistake becomes one message and status 2, Ctrl-C one and status 130."""
    try:
        predict_command.run(command_line().parse_args(arguments))
    except UserError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        told = f": {interrupt}" if interrupt.args else ""
        print(printable(f"interrupted (Ctrl-C){told}"), file=sys.stderr)
        return 130  # as shells have it
    return 0


if __name__ == "__main__":
    sys.exit(main())
