"""The graph of rules in Snakemake's report, with rules of one kind as one node: thirty figures hide everything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

# What `snakemake.report.rulegraph_spec.rulegraph_spec` returns: nodes and two kinds of links, and the size.
Spec = tuple[dict[str, list[dict[str, Any]]], int, int]
_STEP = 50  # between nodes, as Snakemake has it


def folding(rulegraph_spec: Callable[[Any], Spec], kinds: Mapping[str, str]) -> Callable[[Any], Spec]:
    """Snakemake's function with rules of one kind folded; `kinds` maps names of rules to words such as "figures"."""

    def spec(dag: Any) -> Spec:
        graph, width, _ = rulegraph_spec(dag)
        folded = fold(graph, kinds)
        return folded, width, _STEP * (len(folded["nodes"]) - 1)

    return spec


def fold(graph: Mapping[str, list[dict[str, Any]]], kinds: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """The graph with one node for all rules of a kind, where the last of them was; "28 figures" is its name."""
    rules = [node["rule"] for node in graph["nodes"]]
    members = Counter(kinds[rule] for rule in set(rules) if rule in kinds)

    def name(rule: str) -> str:
        kind = kinds.get(rule, "")
        return f"{members[kind]} {kind}" if members[kind] > 1 else rule

    # A rule may have a node on several levels: only rules that are folded become one.
    is_folded = {rule: name(rule) != rule for rule in rules}
    keys = [name(rule) if is_folded[rule] else place for place, rule in enumerate(rules)]
    last = {key: place for place, key in enumerate(keys)}
    order = {key: place for place, key in enumerate(sorted(last, key=lambda key: last[key]))}
    at = [order[key] for key in keys]
    nodes = [{"rule": "", "fx": 10, "fy": _STEP * place} for place in range(len(order))]
    for place, rule in zip(at, rules, strict=True):
        nodes[place]["rule"] = name(rule)
    links: dict[tuple[int, int], None] = {}  # a dictionary keeps the order
    for link in (*graph["links"], *graph["links_direct"]):
        source, target = at[link["source"]], at[link["target"]]
        if source != target:
            links[source, target] = None
    written: list[dict[str, Any]] = [
        {
            "target": target,
            "source": source,
            "sourcerule": nodes[source]["rule"],
            "targetrule": nodes[target]["rule"],
            "value": 1,
        }
        for source, target in links
    ]
    return {
        "nodes": nodes,
        "links": [link for link in written if link["target"] - link["source"] != 1],
        "links_direct": [link for link in written if link["target"] - link["source"] == 1],
    }
