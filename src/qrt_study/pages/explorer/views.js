// The views of the explorer: each draws the part of DATA that the choices (`state`) name.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const state = {};
const COLUMNS = ["mean", "standard_error", "difference", "difference_standard_error", "relative", "cohens_d"]; // of a cell
const COLOURS = { BASE: "#6b737c", "BASE-TRAIN": "#a0762a", QRC: "#d98300", QREGC: "#009e73", QRTC: "#2b86c5", QRT: "#56b4e9" };
const MAIN = ["main", "regularised"]; // experiments of the main comparison
const BEST = "#2e9c74", WORST = "#d3543c";

const study = () => DATA.protocols[state.protocol];
const comparison = () => study().comparisons[state.comparison];
const view = (name) => document.querySelector(`#${name} .view`);
const text = (value, digits = 3) => (value === null || value === undefined ? "" : d3.format(`.${digits}~g`)(value).replace("-", "−"));
const exactly = ([value, error]) => `${text(value, 5)}${error === null ? "" : ` ± ${text(error, 5)}`}`;
// A value with as many decimals as two digits of its error have; a single split has no error.
function withError([value, error]) {
  const fixed = d3.format(`.${error > 0 ? Math.max(0, 1 - Math.floor(Math.log10(error))) : 3}f`);
  return `${fixed(value).replace("-", "−")}${error === null ? "" : ` ±\u00a0${fixed(error)}`}`;
}
const listed = (names) => (names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);
const colours = (methods) => ({ domain: methods, range: methods.map((name, at) => COLOURS[name] ?? d3.schemeTableau10[at % 10]) });
const colour = (method) => { const { domain, range } = colours(comparison().methods); return range[domain.indexOf(method)] ?? COLOURS[method]; };
// As wide as there is room, the same for all views.
const width = () => Math.max(300, Math.min(600, view("splits").clientWidth));
// Room for names at the left of a plot, as far as its width allows.
const margin = (names) => Math.min(0.48 * width(), 18 + 6.4 * d3.max(names, (name) => name.length));
// As many ticks as have room beside the names.
const ticks = (names) => Math.max(2, Math.round((width() - margin(names)) / 90));

function element(name, properties = {}, ...content) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...content.filter((one) => one !== null && one !== undefined));
  return made;
}

const words = (...content) => element("p", { className: "nothing" }, ...content);
const show = (name, ...content) => view(name).replaceChildren(...content.filter(Boolean));
const plot = (label, settings) => Plot.plot({ width: width(), marginBottom: 40, ariaLabel: label, style: { fontSize: "11px" }, ...settings });

// Links to datasets, in a sentence.
function datasets(names, at) {
  return names.flatMap((name, place) => [place ? (place === names.length - 1 ? " and " : ", ") : "", lead(name, { dataset: name }, at)]);
}

// A name that breaks between its words, never within one.
function breaking(link) {
  link.replaceChildren(...link.textContent.split(/(?<=[_-])|(?<=[a-z])(?=[A-Z])/).flatMap((part, place) => (place ? [document.createElement("wbr"), part] : [part])));
  return link;
}

function cell(metric, method, dataset) {
  const found = comparison().cells[metric]?.[method]?.[dataset];
  return found && Object.fromEntries(COLUMNS.map((name, at) => [name, found[at]]));
}

function matrix() {
  const shown = comparison(), sorted = order();
  const ours = state.effect === "mean" ? shown.methods : shown.methods.filter((name) => name !== shown.baseline);
  const value = (dataset, method) => cell(state.metric, method, dataset)?.[state.effect] ?? null;
  const rows = shown.datasets.map((dataset) => ({ dataset, values: Object.fromEntries(ours.map((method) => [method, value(dataset, method)])) }));
  const key = (row) => (sorted.by === "dataset" ? row.dataset.toLowerCase() : row.values[sorted.by] ?? null);
  rows.sort((a, b) => (key(a) === null) - (key(b) === null) || (sorted.down ? -1 : 1) * d3.ascending(key(a), key(b)));
  const found = rows.flatMap((row) => Object.values(row.values)).filter((one) => one !== null).map(Math.abs).sort(d3.ascending);
  const limit = d3.quantile(found, 0.9) || 1;
  const written = (one) => (state.effect === "relative" && one !== null ? `${text(100 * one)} %` : text(one));
  const fill = (one) => d3.color(one < 0 ? BEST : WORST).copy({ opacity: 0.75 * Math.min(1, Math.abs(one) / limit) });
  const head = ["dataset", ...ours].map((name) => {
    const turned = sorted.by === name && !sorted.down;
    const button = element("button", { type: "button", textContent: name, onclick: () => { change({ sort: `${turned ? "-" : ""}${name}` }); view("matrix").querySelector(`[data-sort="${CSS.escape(name)}"]`).focus(); } });
    button.dataset.sort = name;
    const th = element("th", { scope: "col" }, button);
    if (sorted.by === name) th.ariaSort = sorted.down ? "descending" : "ascending";
    return th;
  });
  const body = rows.map((row) => {
    const chosen = row.dataset === state.dataset;
    const tr = element("tr", {}, element("th", { scope: "row" }, breaking(lead(row.dataset, { dataset: row.dataset }, "splits"))));
    if (chosen) tr.ariaCurrent = "true";
    for (const method of ours) {
      const one = row.values[method];
      const of = method === shown.baseline ? { dataset: row.dataset } : { dataset: row.dataset, method };
      const td = element("td", {}, one === null ? null : lead(written(one), of, "splits"));
      td.dataset.method = method;
      if (chosen && method === state.method) td.ariaCurrent = "true";
      if (one !== null && state.effect !== "mean") td.style.backgroundColor = fill(one);
      tr.append(td);
    }
    return tr;
  });
  const top = view("matrix").querySelector(".scroll")?.scrollTop ?? 0;
  const scroll = element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "All datasets" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)));
  show("matrix", scroll);
  scroll.scrollTop = top;
  document.querySelector("#matrix .what").textContent =
    `${state.metric}: ${EFFECTS[state.effect]}${state.effect === "mean" ? ", lower is better" : ` to ${shown.baseline}; green is lower, which is better`}`;
}

// Test values of a method by split, as [split, value].
function values(method) {
  const at = study().metrics.indexOf(state.metric) + 1;
  const rows = study().splits[state.seed][comparison().keys[method]]?.[state.dataset] ?? [];
  return rows.map((row) => [row[0], row[at]]).filter(([, value]) => value !== null);
}

// The name of a method in the main comparison, if it is one of its methods.
function inMain(method) {
  const [experiment, name] = comparison().keys[method].split("/");
  return MAIN.includes(experiment) ? name : undefined;
}

// The published difference to BASE of a method, if the comparison shows this very method.
function theirs(method) {
  const { keys, baseline } = comparison();
  return state.metric === "NLL" && keys[baseline] === "main/BASE" ? DATA.published[inMain(method)]?.[state.dataset] : undefined;
}

function splits() {
  const { methods, baseline } = comparison();
  const points = methods.flatMap((method) => values(method).map(([split, value]) => ({ method, split, value })));
  if (!points.length) return show("splits", words("No results of this dataset and random start."));
  const base = new Map(values(baseline));
  const ours = methods.filter((method) => method !== baseline);
  const paired = points.filter((one) => one.method !== baseline && base.has(one.split)).map((one) => ({ ...one, value: one.value - base.get(one.split) }));
  const published = ours.map((method) => ({ method, value: theirs(method)?.[0], error: theirs(method)?.[1] })).filter((one) => one.value !== undefined);
  const drawn = (of, rows, label, marks) => plot(label, {
    height: 62 + 30 * of.length, marginLeft: margin(methods), x: { grid: true, label: `${label} →`, inset: 8, ticks: ticks(methods) }, y: { domain: of, label: null }, color: colours(methods),
    marks: [
      ...marks,
      Plot.dot(rows, { x: "value", y: "method", stroke: "method", r: 4, title: (one) => `${one.method}, split ${one.split}: ${text(one.value, 5)}` }),
      Plot.tickX(rows, Plot.groupY({ x: "mean", title: (group) => `${group[0].method}, mean: ${text(d3.mean(group, (one) => one.value), 5)}` }, { x: "value", y: "method", stroke: "method", strokeWidth: 2.5, title: (one) => one })),
    ],
  });
  const differences = paired.length ? drawn(ours.filter((method) => paired.some((one) => one.method === method)), paired, `${state.metric} minus that of ${baseline}, split by split`, [
    Plot.ruleX([0], { strokeOpacity: 0.5 }),
    Plot.ruleY(published, { y: "method", x1: (one) => one.value - one.error, x2: (one) => one.value + one.error, dy: 10, strokeWidth: 1.5 }),
    Plot.dot(published, { x: "value", y: "method", symbol: "diamond", fill: "currentColor", r: 4.5, dy: 10, title: (one) => `${one.method}, published: ${exactly([one.value, one.error])}` }),
  ]) : null;
  show("splits", drawn(methods.filter((method) => values(method).length), points, `${state.metric} on test rows`, []), differences, element("p", { className: "soft beneath" }, about(published.map((one) => one.method))));
}

// What the paper publishes beside these values.
function about(published) {
  const has = Object.keys(DATA.published).filter((method) => state.dataset in DATA.published[method]);
  const marks = "Rings are splits, the bar is their mean. ";
  if (published.length) {
    const none = comparison().methods.filter((method) => method !== comparison().baseline && !published.includes(method));
    return `${marks}Diamonds are the published differences ± standard error (Figure 2)${none.length ? `; the paper has none of ${listed(none)}` : ""}.`;
  }
  if (!Object.keys(DATA.published).length) return marks;
  if (!has.length) return `${marks}The paper publishes no value of this dataset.`;
  if (state.metric !== "NLL") return `${marks}The paper publishes no ${state.metric} of single datasets; of NLL, it has differences to BASE.`;
  return `${marks}Of this dataset the paper publishes differences of ${listed(has)} to BASE alone, which are in the main comparison.`;
}

function published() {
  const method = inMain(state.method);
  const own = Object.entries(DATA.protocols).map(([protocol, one]) => ({ setting: protocol, now: one.differences[method]?.[state.dataset], of: protocol }));
  const changed = Object.entries(DATA.protocols).flatMap(([protocol, one]) => Object.entries(one.switches).map(([name, { values }]) => {
    const [before, , after, error] = values[method]?.[state.dataset] ?? [];
    return { setting: `${protocol}.${name}`, now: after === undefined ? undefined : [after, error], before, of: protocol };
  }));
  const paper = DATA.published[method]?.[state.dataset];
  const rows = [{ setting: "published", now: paper, of: "published" }, ...own, ...changed].filter((row) => row.now);
  if (!rows.length) return show("published", words(`No difference of ${state.method} to BASE on this dataset: there are differences of the methods of the main comparison on datasets with continuous targets.`));
  const tone = { domain: ["published", ...Object.keys(DATA.protocols)], range: ["currentColor", "#2b86c5", "#d98300"] };
  const moved = rows.filter((row) => row.before !== undefined);
  show("published", plot("Differences of test NLL to BASE", {
    height: 62 + 19 * rows.length, marginLeft: margin(rows.map((row) => row.setting)), y: { domain: rows.map((row) => row.setting), label: null, tickSize: 0 },
    x: { grid: true, label: "test NLL minus that of BASE, ± standard error →", inset: 8, ticks: ticks(rows.map((row) => row.setting)) }, color: tone,
    marks: [
      Plot.ruleX([0], { strokeOpacity: 0.5 }),
      paper ? Plot.ruleX([paper[0]], { strokeDasharray: "2,3" }) : null,
      Plot.ruleY(rows, { y: "setting", x1: (row) => row.now[0] - row.now[1], x2: (row) => row.now[0] + row.now[1], stroke: "of" }),
      Plot.link(moved, { y: "setting", x1: "before", x2: (row) => row.now[0], stroke: "of", strokeOpacity: 0.4, strokeWidth: 3 }),
      Plot.dot(moved, { y: "setting", x: "before", stroke: "of", fill: "var(--ground)", r: 3.5, title: (row) => `${row.setting}, without: ${text(row.before, 5)}` }),
      Plot.dot(rows, { y: "setting", x: (row) => row.now[0], fill: "of", r: 4, title: (row) => `${row.setting}: ${exactly(row.now)}` }),
    ],
  }), element("p", { className: "soft beneath" }, `${paper ? "" : "The paper publishes no value of this dataset and method. "}${moved.length ? "Filled: with the switch changed to the other side; ring: without, over the same random starts." : "No switch that was run changes this value."}`));
}

function switched() {
  const name = state.switch, side = DATA.switches[name], found = study().switches[name];
  const own = study().differences;
  const methods = Object.keys(own).filter((method) => state.dataset in own[method]);
  const here = state.protocol === "released" ? ["As released", side.released, "As the paper has it", side.paper] : ["As the paper has it", side.paper, "As released", side.released];
  const meaning = element("dl", {}, element("dt", {}, `Without (${here[0].toLowerCase()})`), element("dd", {}, here[1]), element("dt", {}, `Changed (${here[2].toLowerCase()})`), element("dd", {}, here[3]), element("dt", {}, "Why it matters"), element("dd", {}, side.why));
  const content = [meaning];
  const starts = new Set();
  const ran = (method) => found.datasets[method]?.includes(state.dataset);
  if (!methods.some(ran)) {
    content.push(words(Object.keys(found.datasets).length ? methods.length ? `It was not run on ${state.dataset}.` : `There are differences of datasets with continuous targets, and ${state.dataset} is none.` : "No method of the main comparison was run this way."));
  } else {
    const rows = methods.map((method) => {
      const changed = found.values[method]?.[state.dataset];
      if (changed) starts.add(changed[4]);
      const paper = DATA.published[method]?.[state.dataset];
      const cells = changed ? [changed.slice(0, 2), changed.slice(2, 4)].map(withError) : [withError(own[method][state.dataset]), ran(method) ? "unchanged" : "not run"];
      return element("tr", {}, element("th", { scope: "row" }, method), ...[...cells, paper ? withError(paper) : "none"].map((one) => element("td", {}, one)));
    });
    const head = ["method", "without", "changed", "published"].map((one) => element("th", { scope: "col" }, one));
    const seeds = starts.size ? `; where it changes, means over ${listed([...starts].map(String))} random start${starts.size === 1 && starts.has(1) ? "" : "s"}` : "";
    content.push(element("div", { className: "scroll" }, element("table", { className: "values" }, element("caption", {}, `Test NLL minus that of BASE on ${state.dataset}, ± standard error over splits${seeds}`), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows))));
  }
  const most = Object.entries(found.values[inMain(state.method)] ?? {}).map(([dataset, [before, , after]]) => [dataset, Math.abs(after - before)]);
  if (most.length) content.push(element("p", { className: "soft" }, `${inMain(state.method)} changes most on `, ...datasets(most.sort((a, b) => d3.descending(a[1], b[1])).slice(0, 5).map(([dataset]) => dataset), "switch"), "."));
  if (found.verdicts.length) {
    const badge = (verdict) => element("td", { className: `verdict ${verdict.replaceAll(" ", "-")}` }, verdict);
    const rows = found.verdicts.map(([id, before, after]) => element("tr", {}, element("th", { scope: "row" }, id), element("td", { className: "claim-words" }, DATA.claims[id]), badge(before), badge(after)));
    const head = ["claim", "", "without", "changed"].map((one) => element("th", { scope: "col" }, one));
    const table = element("table", { className: "claims" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
    const summary = element("summary", {}, `${rows.length} of ${found.judged} verdicts change`);
    content.push(element("details", { open: rows.length < 8 }, summary, element("div", { className: "scroll" }, table)));
  } else if (found.judged) content.push(element("p", {}, found.run === "nothing to change" ? "No result depends on it." : `None of ${found.judged} verdicts changes.`));
  show("switch", ...content);
}

function curves() {
  const found = study().curves[state.part]?.[state.dataset];
  if (!found) return show("curves", words("No per-epoch records of this dataset."));
  const methods = Object.keys(found);
  const rows = Object.entries(found).flatMap(([method, { whole, points }]) => points.map(([epoch, mean, error]) => ({ method, epoch, mean, error, whole: epoch <= whole, tail: epoch >= whole })));
  const solid = rows.filter((row) => row.whole);
  const theirs = Object.entries(DATA.published_curves[state.part]?.[state.dataset] ?? {}).flatMap(([method, points]) => points.map(([epoch, mean]) => ({ method, epoch, mean })));
  const means = (solid.length ? solid : rows).map((row) => row.mean).sort(d3.ascending);
  // The first epochs are far above all others, and so may single ones be: neither sets the scale.
  const best = d3.min(rows, (row) => row.mean), usual = d3.quantile(means, 0.97), late = 0.15 * d3.max(rows, (row) => row.epoch);
  const worst = Math.max(usual, Math.min(d3.max(rows, (row) => (row.epoch > late ? row.mean : -Infinity)), 2 * usual - best));
  const ends = Object.entries(found).filter(([, { whole, points }]) => whole !== null && whole < points.at(-1)[0]).map(([method, { whole }]) => ({ method, whole }));
  show("curves", plot(`${state.part} per epoch`, {
    height: 300, marginLeft: 55, color: { legend: true, ...colours(methods) }, x: { label: "epoch →" },
    y: { grid: true, label: `↑ ${state.part}`, domain: [best - 0.03 * (worst - best), worst] },
    marks: [
      Plot.areaY(solid, { x: "epoch", y1: (row) => row.mean - row.error, y2: (row) => row.mean + row.error, fill: "method", fillOpacity: 0.15, clip: true }),
      Plot.ruleX(ends, { x: "whole", stroke: "method", strokeOpacity: 0.5, strokeDasharray: "2,3" }),
      Plot.lineY(solid, { x: "epoch", y: "mean", stroke: "method", clip: true, ariaDescription: "curve" }),
      Plot.lineY(rows.filter((row) => row.tail), { x: "epoch", y: "mean", stroke: "method", strokeDasharray: "1,3", strokeOpacity: 0.7, clip: true, ariaDescription: "tail" }),
      Plot.lineY(theirs, { x: "epoch", y: "mean", stroke: "method", strokeDasharray: "7,4", strokeOpacity: 0.8, strokeWidth: 1, clip: true, ariaDescription: "published" }),
      Plot.tip(rows, Plot.pointerX({ x: "epoch", y: "mean", stroke: "method" })),
    ],
  }), element("p", { className: "soft beneath" }, `Means over splits with their standard error, of the standardised target.${ends.length ? ` Dotted from the epoch at which a first split has stopped early (${ends.map((one) => `${one.method}: ${one.whole}`).join(", ")}): fewer splits, so jumps there mean nothing.` : ""} ${theirs.length ? "Dashed: the published curves (Figure 1)." : Object.keys(DATA.published_curves).length ? "The paper has no such curve of this dataset as numbers." : ""}`));
}

function calibration() {
  const found = study().pits[state.dataset];
  const there = Object.keys(study().pits).sort(d3.ascending);
  if (!found) return show("calibration", words(...(there.length ? ["No published predictions of this dataset. There are predictions of ", ...datasets(there, "calibration"), "."] : ["There are no published predictions."])));
  const { keys, baseline } = comparison();
  const shown = [state.method, baseline].filter((method) => keys[method] in found);
  if (!shown.length) return show("calibration", words(`Predictions are published of the methods of the main comparison: ${listed(Object.keys(found).map((key) => key.split("/")[1]))}.`));
  const one = found[keys[shown[0]]];
  const both = width() >= 520 ? (width() - 16) / 2 : width();
  const diagrams = shown.map((method) => {
    const { histogram, reliability } = found[keys[method]], bins = histogram.length, fill = colour(method);
    const share = d3.format(".3~p");
    const bars = plot(`PIT histogram of ${method}`, {
      width: both, height: 230, marginLeft: 40, x: { label: `PIT of ${method} →`, domain: [0, 1], ticks: 5 },
      y: { label: "↑ density", grid: true, domain: [0, Math.max(2, 1.05 * d3.max(histogram, (row) => bins * Math.max(row[1], row[3])))] },
      marks: [
        Plot.rectY(histogram, { x1: (row) => row[0] - 1 / bins, x2: (row) => row[0], y: (row) => bins * row[1], fill, fillOpacity: 0.6, inset: 0.5, title: (row) => `PITs from ${text(row[0] - 1 / bins)} to ${text(row[0])}: ${share(row[1])}; calibrated: ${share(row[2])} to ${share(row[3])}` }),
        Plot.rect([histogram[0]], { x1: 0, x2: 1, y1: (row) => bins * row[2], y2: (row) => bins * row[3], fill: "currentColor", fillOpacity: 0.15, ariaDescription: "band" }),
        Plot.ruleY([1], { strokeDasharray: "3,3" }),
      ],
    });
    const curve = plot(`Reliability diagram of ${method}`, {
      width: both, height: 230, marginLeft: 40, x: { label: "level →", domain: [0, 1], ticks: 5 },
      y: { label: `↑ share of PITs of ${method} at or below it`, grid: true, domain: [0, 1], ticks: 5 },
      marks: [
        Plot.areaY([[0, 0, 0, 0], ...reliability, [1, 1, 1, 1]], { x: (row) => row[0], y1: (row) => row[2], y2: (row) => row[3], fill: "currentColor", fillOpacity: 0.15, ariaDescription: "band" }),
        Plot.link([0], { x1: 0, y1: 0, x2: 1, y2: 1, strokeDasharray: "3,3", strokeWidth: 1 }),
        Plot.lineY(reliability, { x: (row) => row[0], y: (row) => row[1], stroke: fill, strokeWidth: 2, ariaDescription: "curve" }),
        Plot.tip(reliability, Plot.pointerX({ x: (row) => row[0], y: (row) => row[1], title: (row) => `level ${text(row[0])}: ${share(row[1])}; calibrated: ${share(row[2])} to ${share(row[3])}` })),
      ],
    });
    return element("div", { className: "pair" }, bars, curve);
  });
  const chance = "Bands are pointwise: in each bin, and at each level, a calibrated model is inside with probability 95 %, so about one of 20 bins is outside by chance.";
  const none = keys[state.method] in found ? null : words(`There are no published predictions of ${state.method}, but of the methods of the main comparison.`);
  show("calibration", none, ...diagrams, element("p", { className: "soft beneath" }, `${one.splits} splits pooled: ${one.rows} PITs of published predictions, which tell as much as ${one.effective_rows} independent ones, because rows come back in the test sets of other splits. ${chance}`));
}

function densities() {
  const found = study().densities[state.dataset];
  const there = Object.keys(study().densities);
  if (!found) return show("densities", words(...(there.length ? ["There are densities of ", ...datasets(there, "densities"), "."] : ["There are no densities."])));
  const rows = found.flatMap(({ row, method, y, density }) => y.map((value, at) => ({ row, method, y: value, density: density[at] })));
  const methods = [...new Set(rows.map((row) => row.method))];
  const targets = d3.groups(found, (one) => one.row).map(([row, group]) => ({ row, target: group[0].target }));
  show("densities", plot("Predictive densities", {
    height: 90 * targets.length + 50, marginRight: 60, color: { legend: true, ...colours(methods) }, x: { label: "target →" }, fy: { label: "test row", axis: "right" }, y: { label: "↑ density", ticks: 3 },
    marks: [
      Plot.lineY(rows, { x: "y", y: "density", fy: "row", stroke: "method", ariaDescription: "density" }),
      Plot.ruleX(targets, { x: "target", fy: "row", strokeDasharray: "3,3" }),
    ],
  }), element("p", { className: "soft beneath" }, "The dashed line is the target of the row."));
}

function ranks() {
  const rows = comparison().ranks.filter((row) => row.metric === state.metric);
  if (!rows.length) return show("ranks", words("This comparison has no ranks."));
  const ordered = d3.sort(rows, (row) => row.rank).map((row) => row.method);
  show("ranks", plot("Mean ranks", {
    height: 62 + 22 * rows.length, marginLeft: margin(ordered), y: { domain: ordered, label: null },
    x: { grid: true, label: `mean rank in ${state.metric} over ${rows[0].datasets} datasets →`, zero: false, domain: [1, d3.max(rows, (row) => row.rank)], insetRight: 8 },
    color: colours(comparison().methods),
    marks: [
      Plot.ruleY(rows, { y: "method", x1: 1, x2: "rank", stroke: "method", strokeOpacity: 0.4 }),
      Plot.dot(rows, { y: "method", x: "rank", fill: "method", r: 5, title: (row) => `${row.method}: ${text(row.rank, 5)}` }),
    ],
  }));
}

const VIEWS = { matrix, splits, published, switch: switched, curves, calibration, densities, ranks };
function draw() {
  document.querySelectorAll(".of-dataset").forEach((place) => { place.textContent = `${state.dataset}, ${state.method}, protocol ${state.protocol}`; });
  document.querySelectorAll(".jumps a").forEach((link) => { link.href = address({ view: link.dataset.view }); });
  for (const one of Object.values(VIEWS)) one();
}
