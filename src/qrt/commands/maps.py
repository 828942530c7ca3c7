"""Fit the calibration maps of Figure 11 to simulated PITs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--protocol", type=json.loads, required=True, help="the protocol's switches as JSON")
    parser.add_argument("--maps", type=Path, required=True)
    parser.add_argument("--sample", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Write the maps and the sample they are fitted to."""
    from qrt.results.tables import MAPS, SAMPLE, write_rows
    from qrt.study.protocol import Protocol
    from qrt.training.simulated_maps import map_comparison

    maps, sample = map_comparison(Protocol.from_dict(options.protocol).kernel_width)
    write_rows(options.maps, maps, MAPS)
    write_rows(options.sample, sample, SAMPLE)
