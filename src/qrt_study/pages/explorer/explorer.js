// The explorer: every view draws the part of DATA that the choices name; the address holds the choices.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const CHOICES = ["protocol", "comparison", "metric", "effect", "dataset", "method", "part", "seed"];
const EFFECTS = { difference: "difference", relative: "relative difference", cohens_d: "Cohen's d", mean: "mean" };
const COLUMNS = ["mean", "standard_error", "difference", "difference_standard_error", "relative", "cohens_d"]; // of a cell
const COLOURS = { BASE: "#5c646e", QRC: "#d98300", QREGC: "#009e73", QRTC: "#0072b2", QRT: "#56b4e9" };
const state = {};
let sorted = { by: "dataset", down: false };

const view = (name) => document.querySelector(`#${name} .view`);
const study = () => DATA.protocols[state.protocol];
const comparison = () => study().comparisons[state.comparison];
const text = (value, digits = 3) => (value === null || value === undefined ? "" : d3.format(`.${digits}~g`)(value).replace("-", "−"));
const width = () => Math.max(320, Math.min(600, document.querySelector("#splits .view").clientWidth));
const colours = (methods) => ({ domain: methods, range: methods.map((name, at) => COLOURS[name] ?? d3.schemeTableau10[at % 10]) });

function cell(metric, method, dataset) {
  const found = comparison().cells[metric]?.[method]?.[dataset];
  return found && Object.fromEntries(COLUMNS.map((name, at) => [name, found[at]]));
}

function show(name, content, otherwise) {
  const place = view(name);
  place.replaceChildren();
  if (content) return place.append(content);
  const words = document.createElement("p");
  words.className = "nothing";
  words.textContent = otherwise;
  place.append(words);
}

// Choices.
function options() {
  const shown = comparison();
  return {
    protocol: Object.keys(DATA.protocols).map((name) => [name, name]),
    comparison: Object.entries(study().comparisons).map(([name, one]) => [name, one.title]),
    metric: shown.metrics.map((name) => [name, name]),
    effect: Object.entries(EFFECTS),
    dataset: shown.datasets.map((name) => [name, name]),
    method: shown.methods.filter((name) => name !== shown.baseline).map((name) => [name, name]),
    part: Object.keys(DATA.parts).map((name) => [name, name]),
    seed: study().seeds.map((seed) => [String(seed), String(seed)]),
  };
}

function settle(wanted) {
  // Protocol and comparison first: what else can be chosen depends on them.
  for (const name of CHOICES) {
    if (name === "comparison" && !(state.protocol in DATA.protocols)) state.protocol = Object.keys(DATA.protocols)[0];
    state[name] = wanted[name] ?? state[name] ?? DATA.first[name];
    const allowed = name === "protocol" ? Object.keys(DATA.protocols) : name === "comparison" ? Object.keys(study().comparisons) : null;
    if (allowed && !allowed.includes(state[name])) state[name] = allowed[0];
  }
  for (const [name, known] of Object.entries(options())) {
    const values = known.map(([value]) => value);
    if (!values.includes(state[name])) state[name] = values.includes(DATA.first[name]) ? DATA.first[name] : values[0];
    const select = document.getElementById(`choose-${name}`);
    select.replaceChildren(...known.map(([value, words]) => new Option(words, value, false, value === state[name])));
    select.parentElement.hidden = known.length < 2;
  }
}

function change(wanted) {
  settle(wanted);
  history.replaceState(null, "", `#${new URLSearchParams(state)}`);
  draw();
}

// Views.
function matrix() {
  const shown = comparison();
  const ours = state.effect === "mean" ? shown.methods : shown.methods.filter((name) => name !== shown.baseline);
  const value = (dataset, method) => cell(state.metric, method, dataset)?.[state.effect] ?? null;
  const rows = shown.datasets.map((dataset) => ({ dataset, values: Object.fromEntries(ours.map((method) => [method, value(dataset, method)])) }));
  const key = (row) => (sorted.by === "dataset" ? row.dataset.toLowerCase() : row.values[sorted.by]);
  rows.sort((a, b) => (key(a) === null) - (key(b) === null) || (sorted.down ? -1 : 1) * d3.ascending(key(a), key(b)));
  const found = rows.flatMap((row) => Object.values(row.values)).filter((one) => one !== null).map(Math.abs).sort(d3.ascending);
  const limit = d3.quantile(found, 0.9) || 1;
  const head = ["dataset", ...ours].map((name) => {
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
    button.onclick = () => { sorted = { by: name, down: sorted.by === name && !sorted.down }; matrix(); };
    const th = Object.assign(document.createElement("th"), { scope: "col" });
    if (sorted.by === name) th.ariaSort = sorted.down ? "descending" : "ascending";
    th.append(button);
    return th;
  });
  const body = rows.map((row) => {
    const tr = document.createElement("tr");
    if (row.dataset === state.dataset) tr.ariaCurrent = "true";
    const name = document.createElement("td");
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: row.dataset });
    button.onclick = () => change({ dataset: row.dataset });
    name.append(button);
    tr.append(name);
    for (const method of ours) {
      const one = row.values[method];
      const td = Object.assign(document.createElement("td"), { textContent: state.effect === "relative" && one !== null ? `${text(100 * one)} %` : text(one) });
      td.dataset.method = method;
      if (one !== null && state.effect !== "mean") td.style.backgroundColor = d3.color(one < 0 ? "#2e9c74" : "#d3543c").copy({ opacity: 0.75 * Math.min(1, Math.abs(one) / limit) });
      td.onclick = () => change({ dataset: row.dataset, method });
      tr.append(td);
    }
    return tr;
  });
  const table = document.createElement("table");
  const thead = document.createElement("thead");
  const first = document.createElement("tr");
  first.append(...head);
  thead.append(first);
  const tbody = document.createElement("tbody");
  tbody.append(...body);
  table.append(thead, tbody);
  const scroll = Object.assign(document.createElement("div"), { className: "scroll", tabIndex: 0 });
  scroll.append(table);
  show("matrix", scroll);
  document.querySelector("#matrix .what").textContent =
    `${state.metric}: ${EFFECTS[state.effect]}${state.effect === "mean" ? "" : ` to ${shown.baseline}`}; green is lower, which is better`;
}

function splits() {
  const methods = comparison().methods;
  const values = (method) => study().splits[state.seed][comparison().keys[method]]?.[state.dataset] ?? [];
  const at = study().metrics.indexOf(state.metric);
  const points = methods.flatMap((method) => values(method).map((one) => ({ method, split: one[0], value: one[at + 1] }))).filter((one) => one.value !== null);
  if (!points.length) return show("splits", null, "No results of this dataset and seed.");
  show("splits", Plot.plot({
    width: width(), height: 60 + 34 * methods.length, marginLeft: 95, x: { grid: true, label: `${state.metric} on test rows →` }, y: { domain: methods, label: null },
    color: colours(methods),
    marks: [
      Plot.dot(points, { x: "value", y: "method", stroke: "method", r: 4, title: (one) => `${one.method}, split ${one.split}: ${text(one.value, 5)}` }),
      Plot.tickX(points, Plot.groupY({ x: "mean" }, { x: "value", y: "method", stroke: "method", strokeWidth: 2.5 })),
    ],
  }));
}

function published() {
  const rows = [];
  for (const [protocol, one] of Object.entries(DATA.protocols)) {
    const own = one.differences.study?.[state.method]?.[state.dataset];
    for (const [setting, values] of Object.entries(one.differences)) {
      const found = values[state.method]?.[state.dataset];
      const shown = setting === "study" || (DATA.switches.includes(setting) && `${found}` !== `${own}`);
      if (found && shown) rows.push({ setting: setting === "study" ? protocol : `${protocol}.${setting}`, difference: found[0], error: found[1], of: protocol });
    }
  }
  const theirs = DATA.published[state.method]?.[state.dataset];
  if (theirs) rows.unshift({ setting: "published", difference: theirs[0], error: theirs[1], of: "published" });
  if (rows.length < 1) return show("published", null, "No difference of this method to BASE on this dataset.");
  show("published", Plot.plot({
    width: width(), height: 50 + 19 * rows.length, marginLeft: 190, y: { domain: rows.map((row) => row.setting), label: null },
    x: { grid: true, label: "test NLL minus that of BASE, ± standard error →" },
    color: { domain: ["published", "paper", "released"], range: ["currentColor", "#0b5c96", "#b85c00"] },
    marks: [
      Plot.ruleX([0]),
      Plot.ruleY(rows, { y: "setting", x1: (row) => row.difference - row.error, x2: (row) => row.difference + row.error, stroke: "of" }),
      Plot.dot(rows, { y: "setting", x: "difference", fill: "of", r: 3.5, title: (row) => `${row.setting}: ${text(row.difference)} ± ${text(row.error, 2)}` }),
    ],
  }));
}

function curves() {
  const found = study().curves[state.part]?.[state.dataset];
  if (!found) return show("curves", null, "No per-epoch records of this dataset.");
  const rows = Object.entries(found).flatMap(([method, values]) => values.map(([epoch, mean, error]) => ({ method, epoch, mean, error })));
  const methods = Object.keys(found);
  const worst = d3.quantile(rows.map((row) => row.mean).sort(d3.ascending), 0.97);
  const best = d3.min(rows, (row) => row.mean);
  show("curves", Plot.plot({
    width: width(), height: 300, marginLeft: 55, color: { legend: true, ...colours(methods) }, x: { label: "epoch →" },
    y: { grid: true, label: `↑ ${state.part}`, domain: [best - 0.03 * (worst - best), worst], clamp: true },
    marks: [
      Plot.areaY(rows, { x: "epoch", y1: (row) => row.mean - row.error, y2: (row) => row.mean + row.error, fill: "method", fillOpacity: 0.15 }),
      Plot.lineY(rows, { x: "epoch", y: "mean", stroke: "method", tip: true }),
    ],
  }));
}

function densities() {
  const found = study().densities[state.dataset];
  if (!found) return show("densities", null, `Densities are there of ${Object.keys(study().densities).join(", ") || "no dataset"}.`);
  const rows = found.flatMap(({ row, method, y, density }) => y.map((value, at) => ({ row, method, y: value, density: density[at] })));
  const methods = [...new Set(rows.map((row) => row.method))];
  const targets = d3.groups(found, (one) => one.row).map(([row, group]) => ({ row, target: group[0].target }));
  show("densities", Plot.plot({
    width: width(), height: 460, marginRight: 60, color: { legend: true, ...colours(methods) }, x: { label: "target →" }, fy: { label: "test row", axis: "right" },
    y: { label: "↑ density", ticks: 3 },
    marks: [
      Plot.lineY(rows, { x: "y", y: "density", fy: "row", stroke: "method" }),
      Plot.ruleX(targets, { x: "target", fy: "row", strokeDasharray: "3,3" }),
    ],
  }));
}

function ranks() {
  const rows = comparison().ranks.filter((row) => row.metric === state.metric);
  if (!rows.length) return show("ranks", null, "This comparison has no ranks.");
  show("ranks", Plot.plot({
    width: width(), height: 50 + 22 * rows.length, marginLeft: 95, y: { domain: d3.sort(rows, (row) => row.rank).map((row) => row.method), label: null },
    x: { grid: true, label: `mean rank in ${state.metric} over ${rows[0].datasets} datasets →`, zero: false, domain: [1, d3.max(rows, (row) => row.rank)] },
    color: colours(comparison().methods),
    marks: [Plot.ruleY(rows, { y: "method", x1: 1, x2: "rank", stroke: "method", strokeOpacity: 0.4 }), Plot.dot(rows, { y: "method", x: "rank", fill: "method", r: 5, tip: true })],
  }));
}

const VIEWS = [matrix, splits, published, curves, densities, ranks];
function draw() {
  document.querySelectorAll(".of-dataset").forEach((place) => { place.textContent = state.dataset; });
  document.querySelectorAll(".of-method").forEach((place) => { place.textContent = state.method; });
  for (const one of VIEWS) one();
}

for (const name of CHOICES) document.getElementById(`choose-${name}`).onchange = (event) => change({ [name]: event.target.value });
const fromAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
window.onhashchange = () => change(fromAddress());
change(fromAddress());
