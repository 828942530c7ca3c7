"""The graph of rules in the report: rules of one kind are one node, and nothing else is lost."""

from __future__ import annotations

import inspect
from typing import Any

from snakemake.report import html_reporter, rulegraph_spec

from qrt.running.rule_graph import fold, folding

KINDS = {"fig01": "figures", "fig02": "figures", "table1": "tables"}


def graph(rules: list[str], links: list[tuple[int, int]]) -> dict[str, list[dict[str, Any]]]:
    """A graph as Snakemake has it; links are pairs of places, source first."""

    def written(direct: bool) -> list[dict[str, Any]]:
        return [
            {"source": one, "target": two, "sourcerule": rules[one], "targetrule": rules[two], "value": 1}
            for one, two in links
            if (two - one == 1) == direct
        ]

    nodes = [{"rule": rule, "fx": 10, "fy": 50 * place} for place, rule in enumerate(rules)]
    return {"nodes": nodes, "links": written(False), "links_direct": written(True)}


def edges(drawn: dict[str, list[dict[str, Any]]]) -> set[tuple[str, str]]:
    return {(link["sourcerule"], link["targetrule"]) for kind in ("links", "links_direct") for link in drawn[kind]}


def test_rules_of_one_kind_become_one_node_with_the_links_of_all() -> None:
    drawn = fold(
        graph(
            ["fetch", "collect", "fig01", "fig02", "table1", "agreement"],
            [(0, 1), (1, 2), (1, 3), (0, 4), (2, 5), (3, 5), (4, 5)],
        ),
        KINDS,
    )
    assert [node["rule"] for node in drawn["nodes"]] == ["fetch", "collect", "2 figures", "table1", "agreement"]
    assert [node["fy"] for node in drawn["nodes"]] == [0, 50, 100, 150, 200]
    assert edges(drawn) == {
        ("fetch", "collect"),
        ("collect", "2 figures"),
        ("fetch", "table1"),
        ("2 figures", "agreement"),
        ("table1", "agreement"),
    }
    for kind, is_direct in (("links", False), ("links_direct", True)):
        assert all((link["target"] - link["source"] == 1) == is_direct for link in drawn[kind])
        assert all(link["sourcerule"] == drawn["nodes"][link["source"]]["rule"] for link in drawn[kind])


def test_graph_without_such_rules_and_a_rule_on_two_levels_stay_as_they_are() -> None:
    plain = graph(["tune", "train", "tune", "all"], [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert fold(plain, KINDS) == plain
    assert fold(fold(plain, KINDS), KINDS) == plain


def test_snakemake_draws_its_report_with_the_function_that_is_replaced() -> None:
    assert "rulegraph_spec(self.dag)" in inspect.getsource(html_reporter)
    assert "rulegraph_spec" in vars(html_reporter)
    assert '"links_direct": list(' in inspect.getsource(rulegraph_spec)


def test_size_is_that_of_the_folded_graph() -> None:
    whole = graph(["collect", "fig01", "fig02"], [(0, 1), (0, 2)])
    drawn, width, height = folding(lambda dag: (whole, 100, 100), KINDS)(None)
    assert (len(drawn["nodes"]), width, height) == (2, 100, 50)
