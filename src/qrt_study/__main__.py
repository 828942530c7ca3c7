"""The commands that the rules of the workflow call: `python -m qrt_study COMMAND ...`.

`qrt_study.commands` says which function each is. Its signature is its command line: parameters before `*` are
positional, the others are options, and the annotation says how a value is read.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import resource
import sys
import types
import typing
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from qrt.errors import UserError
from qrt.text.terminal import printable
from qrt_study.commands import COMMANDS
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.family import Family
from qrt_study.running.caller import end_with_caller

_READ: dict[Any, Callable[[str], Any]] = {
    StudyConfig: lambda text: StudyConfig.from_facts(json.loads(text)),
    Family: Family.from_json,
    Mapping: json.loads,
}
_LONG = ("train", "evaluate", "time")  # commands whose log ends with what they took


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake becomes one message and status 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(prog="python -m qrt_study", description=__doc__)
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    asked = [name for name in COMMANDS if name in arguments[:1]]
    gc.disable()  # importing makes many objects and drops few: looking for unused ones would take a seventh of its time
    for name in asked or COMMANDS:  # importing a command takes time, so only the one that is asked for
        module, _, function = COMMANDS[name].rpartition(":")
        command = getattr(import_module(f"qrt_study.{module or 'commands'}"), function or name)
        words = (command.__doc__ or "").splitlines()[0]
        command_parser = parsers.add_parser(name, help=words, description=words)
        add_arguments(command_parser, command)
        command_parser.set_defaults(run=command)
    gc.freeze()
    if asked != ["figure"]:  # its process ends with the picture, and looking would take a tenth of its time
        gc.enable()
    options = vars(parser.parse_args(arguments))
    end_with_caller()
    try:
        options.pop("run")(**options)
    except UserError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    if arguments[0] in _LONG:
        print(what_it_took(), flush=True)
    return 0


def add_arguments(parser: argparse.ArgumentParser, function: Callable[..., None]) -> None:
    """Add the arguments of a function, by its signature."""
    hints = typing.get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        kind = _without_none(hints[name])
        needed = parameter.default is parameter.empty
        settings: dict[str, Any] = {} if needed else {"default": parameter.default}
        if kind is bool:
            settings["action"] = "store_true"
        else:
            several = typing.get_origin(kind) is list
            settings["type"] = _reader(typing.get_args(kind)[0] if several else kind)
            if several:
                settings["nargs"] = "*"
        if parameter.kind is parameter.KEYWORD_ONLY:
            parser.add_argument(f"--{name.replace('_', '-')}", required=needed, **settings)
        else:
            parser.add_argument(name, **settings)


def _without_none(kind: Any) -> Any:
    """`T` for `T | None`."""
    if isinstance(kind, types.UnionType):
        return next(one for one in typing.get_args(kind) if one is not types.NoneType)
    return kind


def _reader(kind: Any) -> Callable[[str], Any]:
    if kind in (str, int, float, Path):
        return typing.cast("Callable[[str], Any]", kind)
    return _READ[kind if kind in _READ else typing.get_origin(kind)]


def what_it_took() -> str:
    """Processor time and memory of this process so far, in words."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return f"took {used.ru_utime + used.ru_stime:.1f} s of processor time and {used.ru_maxrss / unit:.0f} MB at most"


if __name__ == "__main__":
    sys.exit(main())
