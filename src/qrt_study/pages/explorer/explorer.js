// The choices of the explorer: what can be chosen, what is chosen, and the address, which holds it. views.js draws.
"use strict";
const CHOICES = ["protocol", "comparison", "metric", "effect", "dataset", "method", "switch", "part", "seed"];
const EFFECTS = { difference: "difference", relative: "relative difference", cohens_d: "Cohen's d", mean: "mean" };

function options() {
  const shown = comparison();
  const plain = (names) => names.map((name) => [String(name), String(name)]);
  const not_run = (name) => (study().switches[name].run === "no" ? " (not run)" : "");
  return {
    protocol: plain(Object.keys(DATA.protocols)),
    comparison: Object.entries(study().comparisons).map(([name, one]) => [name, one.title]),
    metric: plain(shown.metrics),
    effect: Object.entries(EFFECTS),
    dataset: plain(shown.datasets),
    method: plain(shown.methods.filter((name) => name !== shown.baseline)),
    switch: Object.entries(DATA.switches).map(([name, one]) => [name, `${one.row}. ${one.topic}${not_run(name)}`]),
    part: plain(Object.keys(DATA.parts)),
    seed: plain(study().seeds),
  };
}

function settle(wanted) {
  // Protocol and comparison first: what else can be chosen depends on them.
  Object.assign(state, { ...DATA.first, ...state, ...wanted });
  if (!(state.protocol in DATA.protocols)) state.protocol = Object.keys(DATA.protocols)[0];
  if (!(state.comparison in study().comparisons)) state.comparison = Object.keys(study().comparisons)[0];
  for (const [name, known] of Object.entries(options())) {
    const values = known.map(([value]) => value);
    if (!values.includes(state[name])) state[name] = values.includes(DATA.first[name]) ? DATA.first[name] : values[0];
    const select = document.getElementById(`choose-${name}`);
    select.replaceChildren(...known.map(([value, words]) => new Option(words, value, false, value === state[name])));
    select.parentElement.hidden = known.length < 2;
  }
  if (!["dataset", ...comparison().methods].includes(order().by)) state.sort = DATA.first.sort;
  if (!(state.view in VIEWS)) delete state.view;
  for (const name of Object.keys(state)) if (![...CHOICES, "sort", "view"].includes(name)) delete state[name];
}

// The matrix is sorted by a column; a minus before its name turns the order.
const order = () => ({ by: state.sort.replace(/^-/, ""), down: state.sort.startsWith("-") });
const address = (wanted) => `#${new URLSearchParams({ ...state, ...wanted })}`;
const fromAddress = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

// Inside another page (a report that holds this one) there is no address.
const remember = (how) => { if (window.self === window.top) history[how](null, "", address()); };

function change(wanted) {
  settle(wanted);
  remember("replaceState");
  draw();
}

// A link to a choice: the address of its own is for other tabs, a click stays on the page and comes back with "back".
function lead(words, wanted, view) {
  const link = Object.assign(document.createElement("a"), { textContent: words, href: address({ ...wanted, ...(view && { view }) }) });
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    remember("pushState");
    change({ ...wanted, ...(view && { view }) });
    if (view) jump(view);
  };
  return link;
}

function jump(name) {
  const place = document.getElementById(name).getBoundingClientRect();
  const bar = document.querySelector(".choices.main");
  const above = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  if (place.top < above || place.top + 120 > innerHeight) scrollBy({ top: place.top - above });
  const heading = document.querySelector(`#${name} h2`); // where the keyboard goes on: the link was drawn anew
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function start() {
  delete state.view;
  change(fromAddress());
  if (state.view) jump(state.view);
}

for (const name of CHOICES) document.getElementById(`choose-${name}`).onchange = (event) => change({ [name]: event.target.value });
for (const link of document.querySelectorAll(".jumps a")) link.onclick = (event) => { event.preventDefault(); change({ view: link.dataset.view }); jump(state.view); };
window.onhashchange = start;
start();
