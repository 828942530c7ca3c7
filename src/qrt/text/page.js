"use strict";
/* Tables that sort and filter, folded claims that filter. Loaded in the head, so that pictures that do not load are heard of. */

document.addEventListener("error", (event) => {
  const picture = event.target;
  if (picture instanceof HTMLImageElement) {
    picture.hidden = true;
  }
}, true);

document.addEventListener("DOMContentLoaded", () => {
  /* Inside another page (a report that holds this one) there are no files beside it. */
  if (window.self !== window.top) {
    for (const link of document.querySelectorAll("a[href]:not([href^='#'])")) {
      link.removeAttribute("href");
    }
    document.documentElement.classList.add("embedded");
  }
  document.querySelectorAll("table").forEach(makeSortable);
  document.querySelectorAll(".filters").forEach(makeFilter);
  document.addEventListener("click", followAnchor);
  revealTarget(location.hash.slice(1));
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.notes)").forEach((details) => { details.open = true; });
  });
});

function makeSortable(table) {
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    if (!heading.dataset.sort) {
      return;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    heading.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const ascending = heading.getAttribute("aria-sort") !== "ascending";
      headings.filter((other) => other.dataset.sort).forEach((other) => other.setAttribute("aria-sort", "none"));
      heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      sortRows(table.tBodies[0], column, heading.dataset.sort === "number", ascending);
    });
  });
}

function sortRows(body, column, numeric, ascending) {
  const key = (row) => {
    const cell = row.cells[column];
    const text = cell.dataset.key ?? cell.textContent.trim();
    if (text === "") {
      return null;
    }
    return numeric ? Number(text) : text;
  };
  const compare = (a, b) => numeric ? a - b : a.localeCompare(b, "en", { numeric: true, sensitivity: "base" });
  const rows = Array.from(body.rows, (row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) {
      return (a === null) - (b === null); /* what is missing comes last, up or down */
    }
    return ascending ? compare(a, b) : compare(b, a);
  });
  body.append(...rows.map(([, row]) => row));
}

function makeFilter(bar) {
  const list = document.getElementById(bar.dataset.for);
  const rows = Array.from(list.tBodies ? list.tBodies[0].rows : list.querySelectorAll(".claim"));
  const folds = Array.from(list.querySelectorAll("details.passage"));
  const search = bar.querySelector("input");
  const presses = Array.from(bar.querySelectorAll("button"));
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const apply = () => {
    const wanted = {};
    presses.filter((press) => press.getAttribute("aria-pressed") === "true").forEach((press) => {
      (wanted[press.dataset.fact] ??= []).push(press.dataset.value);
    });
    const typed = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row) => {
      const has = (fact, values) => (row.getAttribute("data-" + fact) ?? "").split(" ").some((v) => values.includes(v));
      const keep = Object.entries(wanted).every(([fact, values]) => has(fact, values))
        && typed.every((word) => words.get(row).includes(word));
      row.hidden = !keep;
      shown += keep;
    });
    const filtered = typed.length > 0 || Object.keys(wanted).length > 0;
    folds.forEach((fold) => {
      fold.hidden = !fold.querySelector(".claim:not([hidden])");
      fold.open = filtered && !fold.hidden;
    });
    bar.querySelector(".shown").textContent = `${shown} of ${rows.length}`;
  };
  search.addEventListener("input", apply);
  presses.forEach((press) => press.addEventListener("click", () => {
    press.setAttribute("aria-pressed", press.getAttribute("aria-pressed") === "true" ? "false" : "true");
    apply();
  }));
  bar.clear = () => {
    search.value = "";
    presses.forEach((press) => press.setAttribute("aria-pressed", "false"));
    apply();
  };
  bar.hidden = false;
  apply();
}

function followAnchor(event) {
  const link = event.target.closest("a[href^='#']");
  if (link && revealTarget(link.getAttribute("href").slice(1))) {
    event.preventDefault(); /* an embedded page has no address of its own to which an anchor could be added */
    if (window.self === window.top) {
      history.replaceState(null, "", link.getAttribute("href"));
    }
  }
}

function revealTarget(name) {
  const target = name && document.getElementById(decodeURIComponent(name));
  if (!target) {
    return false;
  }
  document.querySelectorAll(".filters").forEach((bar) => {
    const list = document.getElementById(bar.dataset.for);
    if (list.contains(target) && target.closest("[hidden]")) {
      bar.clear();
    }
  });
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  document.querySelectorAll(".found").forEach((element) => element.classList.remove("found"));
  target.classList.add("found");
  target.scrollIntoView({ block: target.matches("tr, .claim") ? "center" : "start" });
  return true;
}
