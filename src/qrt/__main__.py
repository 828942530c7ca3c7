"""The commands that the rules of the workflow call: `python -m qrt COMMAND ...`, one module of `qrt.commands` each."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import resource
import sys

from qrt import commands
from qrt.errors import UserError

_SHARED = "arguments"  # the one module beside the commands
_LONG = ("train", "evaluate", "time")  # commands whose log ends with what they took


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake becomes one message and status 2."""
    parser = argparse.ArgumentParser(prog="python -m qrt", description=__doc__)
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in (module.name for module in pkgutil.iter_modules(commands.__path__) if module.name != _SHARED):
        command = importlib.import_module(f"qrt.commands.{name}")
        words = (command.__doc__ or "").splitlines()[0]
        command_parser = parsers.add_parser(name, help=words, description=words)
        command.add_arguments(command_parser)
        command_parser.set_defaults(run=command.run, command=name)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.command in _LONG:
        print(what_it_took(), flush=True)
    return 0


def what_it_took() -> str:
    """Processor time and memory of this process so far, in words."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return f"took {used.ru_utime + used.ru_stime:.1f} s of processor time and {used.ru_maxrss / unit:.0f} MB at most"


if __name__ == "__main__":
    sys.exit(main())
