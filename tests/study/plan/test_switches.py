"""The nineteen switches: one file describes them, and everything that has them agrees with it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from qrt.methods import BANDWIDTHS, LAMBDAS
from qrt_study.plan.family import CONDITIONS
from qrt_study.plan.protocol import PROTOCOLS, Protocol
from qrt_study.plan.switches import SWITCHES


def test_protocols_have_the_switches_in_the_order_of_their_rows() -> None:
    assert list(SWITCHES) == [field.name for field in fields(Protocol)]
    assert [switch.row for switch in SWITCHES.values()] == list(range(1, 20))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocol_follows_its_side_in_every_switch(protocol: str) -> None:
    assert {switch.setting(PROTOCOLS[protocol]) for switch in SWITCHES.values()} == {protocol}


def test_value_of_neither_side_is_its_own() -> None:
    own_grid = replace(PROTOCOLS["paper"], bandwidth_grid=(0.3,))
    assert SWITCHES["bandwidth_grid"].setting(own_grid) == "own"
    assert SWITCHES["lambda_grid"].setting(own_grid) == "paper"


def test_switches_under_which_networks_are_trained_need_networks() -> None:
    assert all(SWITCHES[name].needs_networks for name in CONDITIONS)
    assert {switch.acts for switch in SWITCHES.values()} == {
        "on the data",
        "on training",
        "after training",
        "on statistics",
    }


def test_grids_of_the_paper_are_those_of_its_methods() -> None:
    assert (PROTOCOLS["paper"].bandwidth_grid, PROTOCOLS["paper"].lambda_grid) == (BANDWIDTHS, LAMBDAS)
