// The page: what is chosen, what follows from it, and the address that remembers it.

const $ = (id) => document.getElementById(id);
const page = JSON.parse($("data").textContent);
const darkness = window.matchMedia("(prefers-color-scheme: dark)");

// What was sampled comes first: a profile of waits alone has nothing on the CPU.
const first = Math.max(0, page.views.findIndex(({ total }) => total > 0));
const state = { profile: first, panel: "graph", threads: "", reverse: page.reverse, icicle: page.icicle, side: "new", search: "" };
let view;
let tree;
let found = { functions: null };

// The data as it is used: functions are objects, nodes typed arrays.
function prepare(raw) {
  if (raw.nodes.parents !== undefined && !(raw.nodes.parents instanceof Int32Array)) raw.nodes = decodeNodes(raw.nodes);
  if (Array.isArray(raw.functions[0])) {
    raw.functions = raw.functions.map(([name, origin, module, shift, lines = []]) => ({ name, origin, module: raw.modules[module], shift, lines }));
  }
  return raw;
}

const flame = new Flame({ scroller: $("scroller"), sheet: $("sheet"), canvas: $("canvas"), paint, describe, choose: showPath });

// Search ---------------------------------------------------------------------------------------

function matcher(query) {
  try {
    const pattern = new RegExp(query, "iu");
    $("search").classList.remove("invalid");
    return (name) => pattern.test(name);
  } catch {
    // Half of an expression is text, so that typing one does not blink.
    $("search").classList.add("invalid");
    const text = query.toLowerCase();
    return (name) => name.toLowerCase().includes(text);
  }
}

function search() {
  const output = $("matched");
  if (state.search === "") {
    found = { functions: null };
    $("search").classList.remove("invalid");
    output.textContent = "";
  } else {
    const matches = matcher(state.search);
    found = { functions: Uint8Array.from(view.functions, ({ name }, id) => (id > 0 && matches(name) ? 1 : 0)) };
    const count = found.functions.reduce((sum, one) => sum + one, 0);
    output.textContent = `${shareOf(matchedWidth(), tree.total[0])} matched in ${grouped(count)} function${count === 1 ? "" : "s"}`;
  }
  flame.redraw();
  if (state.panel === "functions") showTables();
}

// What is below a match counts with it.
function matchedWidth() {
  let sum = 0;
  let until = -1;
  for (let node = 0; node < tree.functions.length; node += 1) {
    if (until >= 0 && tree.depth[node] > until) continue;
    until = -1;
    if (!paint.isFound(node)) continue;
    sum += tree.total[node];
    until = tree.depth[node];
  }
  return sum;
}

function findInGraph(name) {
  const literal = name.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&");
  $("search").value = state.search = `^${literal}$`;
  state.panel = "graph";
  update();
}

// Choices --------------------------------------------------------------------------------------

function buttons(place, entries, isOn) {
  const made = entries.map(([key, text, action, hint]) => {
    const button = element("button", { type: "button", textContent: text, title: hint ?? "" });
    button.dataset.key = key;
    button.setAttribute("aria-pressed", String(isOn(key)));
    button.addEventListener("click", action);
    return button;
  });
  place.replaceChildren(...made);
}

function choose(change) {
  Object.assign(state, change);
  update();
}

function panels() {
  const list = [["graph", "Graph", "g"], ["functions", "Functions", "t"]];
  if (view.difference) {
    list.push(["vanished", `Vanished (${view.vanished.length})`], ["appeared", `New (${view.appeared.length})`]);
    list.push(["merged", `Tail calls (${view.forwarded.length})`]);
  } else if (view.calls.length > 0) {
    list.push(["calls", "System calls"]);
  }
  return list;
}

function showToolbar() {
  const many = page.views.length > 1 ? page.views.map((one, index) => [index, one.name, () => choose({ profile: index, threads: "" })]) : [];
  buttons($("profiles"), many, (key) => key === state.profile);
  const tabs = panels().map(([key, text, shortcut]) => [key, text, () => choose({ panel: key }), shortcut && `Key ${shortcut}`]);
  buttons($("panels"), tabs, (key) => key === state.panel);
  const ways = [
    ["reverse", "Callers", () => choose({ reverse: !state.reverse }), "Reverse: callers above what they call ( r )"],
    ["icicle", "Icicle", () => choose({ icicle: !state.icicle }), "The root at the top ( i )"],
  ];
  if (view.difference) ways.push(["side", "Old widths", () => choose({ side: state.side === "old" ? "new" : "old" }), "As wide as before ( o )"]);
  ways.push(["reset", "Reset", reset, "Whole graph, no search ( Esc )"]);
  const isOn = { reverse: state.reverse, icicle: state.icicle, side: state.side === "old", reset: false };
  buttons($("ways"), ways, (key) => isOn[key]);
}

// Everything, each process, and each thread of a process that has several.
function showThreads() {
  const select = $("threads");
  const threads = view.threads ?? [];
  select.hidden = threads.length < 2;
  const option = (value, text) => element("option", { value, textContent: text, selected: value === state.threads });
  const options = [option("", `All ${grouped(threads.length)} threads`)];
  const processes = Map.groupBy ? Map.groupBy(threads.keys(), (index) => threads[index][0]) : grouping(threads);
  for (const [pid, members] of processes) {
    const [, , name] = threads[members[0]];
    options.push(option(`p${pid}`, `${name} (process ${pid})`));
    if (members.length < 2) continue;
    for (const index of members) options.push(option(`t${index}`, `\u00a0\u00a0${threads[index][2]} (thread ${threads[index][1]})`));
  }
  select.replaceChildren(...options);
}

function grouping(threads) {
  const groups = new Map();
  threads.forEach(([pid], index) => groups.set(pid, [...(groups.get(pid) ?? []), index]));
  return groups;
}

function keepsThread() {
  const wanted = Number(state.threads.slice(1));
  if (state.threads.startsWith("t")) return (thread) => thread === wanted;
  if (state.threads.startsWith("p")) return (thread) => view.threads[thread][0] === wanted;
  return () => true;
}

// What is shown --------------------------------------------------------------------------------

function showHeader() {
  $("subtitle").textContent = view.subtitle;
  const fact = ([label, value, level]) => element("li", { className: level }, `${label} `, element("b", { textContent: value }));
  $("facts").replaceChildren(...view.facts.map(fact));
  $("remarks").replaceChildren(...view.remarks.map((textContent) => element("li", { textContent })));
}

function showLegend() {
  const used = new Set(view.functions.slice(1).map(({ origin }) => origin));
  const entries = view.difference
    ? [["less", changeColour(-0.5)], ["same", changeColour(0)], ["more", changeColour(0.5)], ["vanished (hatched)", colours.paper]]
    : page.origins.filter((_, index) => used.has(index)).map(({ title, hue, saturation, lightness }) => [title, hsl(hue, saturation, lightness)]);
  const entry = ([title, colour]) => {
    const mark = element("i");
    mark.style.background = colour;
    if (title.startsWith("vanished")) mark.style.border = `1px dashed ${colours.faint}`;
    return element("li", {}, mark, title);
  };
  $("legend").replaceChildren(...entries.map(entry));
}

function showTables() {
  const place = $("tables");
  if (state.panel === "graph") return place.replaceChildren();
  if (state.panel === "calls") return place.replaceChildren(systemCallTable(view));
  if (state.panel === "merged") return place.replaceChildren(forwardedTable(view, findInGraph));
  const forward = state.reverse ? buildTree(view, { keepsThread: keepsThread(), isReversed: false, side: state.side }) : tree;
  let rows = byFunction(view, forward);
  if (found.functions !== null) rows = rows.filter(({ id }) => found.functions[id] === 1);
  if (!view.difference) return place.replaceChildren(functionTable(view, rows, forward.total[0], { find: findInGraph, colourOf: (id) => colours.functions[id] }));
  const captions = { vanished: "In the old profile only", appeared: "In the new profile only", functions: "All functions, the largest change first" };
  if (state.panel !== "functions") {
    const wanted = new Set(view[state.panel]);
    rows = rows.filter(({ id }) => wanted.has(id));
  }
  return place.replaceChildren(differenceTable(view, rows, findInGraph, captions[state.panel]));
}

let shown = "";

// The tree is built again only if what it consists of has changed.
function update() {
  const consists = [state.profile, state.threads, state.reverse, state.side].join();
  view = prepare(page.views[state.profile] ?? page.views[0]);
  if (!panels().some(([key]) => key === state.panel)) state.panel = "graph";
  makeColours();
  showHeader();
  showToolbar();
  showThreads();
  showLegend();
  $("graph").hidden = state.panel !== "graph";
  $("tables").hidden = state.panel === "graph";
  $("path").hidden = state.panel !== "graph";
  if (consists !== shown) {
    tree = buildTree(view, { keepsThread: keepsThread(), isReversed: state.reverse, side: state.side });
    shown = consists;
    flame.icicle = state.icicle;
    flame.show(tree);
    showPath(0);
  } else if (flame.icicle !== state.icicle) {
    flame.setIcicle(state.icicle);
  }
  flame.resize();
  search();
  showTables();
  remember();
}

function reset() {
  $("search").value = state.search = "";
  state.threads = "";
  update();
  flame.zoomTo(0);
}

// The address ----------------------------------------------------------------------------------

const DEFAULTS = { ...state };

function remember() {
  const changed = Object.entries(state).filter(([key, value]) => value !== DEFAULTS[key]);
  const hash = new URLSearchParams(changed.map(([key, value]) => [key, String(value)])).toString();
  try {
    window.history.replaceState(null, "", `#${hash}`);
  } catch {
    // Some browsers do not let files have a history; the page works without.
  }
}

function recall() {
  const wanted = new URLSearchParams(window.location.hash.slice(1));
  const read = { boolean: (text) => text === "true", number: (text) => Number(text) || 0, string: (text) => text };
  for (const [key, value] of Object.entries(DEFAULTS)) state[key] = wanted.has(key) ? read[typeof value](wanted.get(key)) : value;
  $("search").value = state.search;
  update();
}

// Keys -----------------------------------------------------------------------------------------

const KEYS = [
  ["/ or Ctrl-F", "search, as text or regular expression", "/", () => $("search").focus()],
  ["g", "graph", "g", () => choose({ panel: "graph" })],
  ["t", "table of functions", "t", () => choose({ panel: "functions" })],
  ["r", "reverse: callers above what they call", "r", () => choose({ reverse: !state.reverse })],
  ["i", "icicle: the root at the top", "i", () => choose({ icicle: !state.icicle })],
  ["o", "comparison: old or new widths", "o", () => view.difference && choose({ side: state.side === "old" ? "new" : "old" })],
  ["Esc", "whole graph, no search", "Escape", reset],
  ["?", "this help", "?", () => $("help").showModal()],
  ["arrows", "in the graph: to callers, callees and neighbours"],
  ["Enter, Backspace", "in the graph: zoom in, zoom out"],
  ["click, double click", "zoom to a function, whole graph"],
];

function key(event) {
  const inText = event.target === $("search");
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && !inText) {
    event.preventDefault();
    $("search").focus();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  if (inText && event.key === "Escape") $("scroller").focus();
  if ((inText && event.key !== "Escape") || event.target.tagName === "SELECT") return;
  const entry = KEYS.find(([, , wanted]) => wanted === event.key);
  if (entry === undefined) return;
  event.preventDefault();
  entry[3]();
}

function start() {
  const rows = KEYS.map(([keys, what]) => element("tr", {}, element("td", { textContent: keys }), element("td", { textContent: what })));
  const close = element("form", { method: "dialog" }, element("button", { textContent: "Close" }));
  $("help").append(element("table", {}, element("tbody", {}, ...rows)), close);
  $("help-button").addEventListener("click", () => $("help").showModal());
  $("search").addEventListener("input", () => {
    state.search = $("search").value;
    search();
    remember();
  });
  $("threads").addEventListener("change", () => choose({ threads: $("threads").value }));
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", recall);
  darkness.addEventListener("change", update);
  recall();
}

start();
