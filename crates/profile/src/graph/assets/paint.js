// How a node looks, and what is told about it. `state`, `view` and `tree` are those of page.js.

let colours;

function originOf(of, id) {
  return page.origins[of.functions[id].origin];
}

// Colours ------------------------------------------------------------------------------------

function hsl(hue, saturation, lightness) {
  return `hsl(${hue.toFixed(1)} ${saturation.toFixed(0)}% ${(darkness.matches ? lightness - 12 : lightness).toFixed(1)}%)`;
}

// Blue for less, red for more, grey for the same: as in `of_change` of colour.rs.
function changeColour(change) {
  const strength = Math.sqrt(Math.min(Math.abs(change), 1));
  if (strength < 0.02) return hsl(230, 6, 87);
  return hsl(change > 0 ? 6 : 216, 20 + 60 * strength, 86 - 18 * strength);
}

function changeOf(node) {
  const { old, new: now } = tree.values;
  return ((now[node] * view.scale.new - old[node] * view.scale.old) / Math.max(view.whole.old, view.whole.new)) * 4;
}

function makeColours() {
  const style = getComputedStyle(document.documentElement);
  colours = {
    functions: view.functions.map(({ origin, shift }) => {
      const { hue, saturation, lightness } = page.origins[origin];
      return hsl(hue + shift * 9, saturation, lightness + shift * 4);
    }),
    ink: style.getPropertyValue("--ink"),
    paper: style.getPropertyValue("--paper"),
    faint: style.getPropertyValue("--faint"),
  };
}

const paint = {
  found: "#d65cf0",
  get merged() {
    return darkness.matches ? "#5a5d68" : "#c9cbd2";
  },
  get outline() {
    return colours.ink;
  },
  get hatching() {
    return colours.faint;
  },
  name: (node) => view.functions[tree.functions[node]].name,
  isFound: (node) => found.functions !== null && found.functions[tree.functions[node]] === 1,
  isHatched: (node) => view.difference && state.side === "new" && tree.values.new[node] === 0 && tree.values.old[node] > 0,
  text: (node) => (paint.isHatched(node) ? colours.ink : "#1c1d21"),
  fill(node) {
    if (paint.isFound(node)) return paint.found;
    if (paint.isHatched(node)) return colours.paper;
    if (view.difference) return changeColour(changeOf(node));
    return colours.functions[tree.functions[node]];
  },
};

// What a node is -------------------------------------------------------------------------------

function facts(node) {
  const { name, module } = view.functions[tree.functions[node]];
  const list = view.difference ? comparedFacts(node) : plainFacts(node);
  if (module) list.push(["module", module]);
  if (node > 0) list.push(["origin", originOf(view, tree.functions[node]).title]);
  return { name, list };
}

function plainFacts(node) {
  const weight = tree.values.weight[node];
  const list = [["total", `${weightOf(view, weight)}, ${shareOf(weight, tree.total[0])}`]];
  const own = tree.own.weight[node];
  if (!state.reverse) list.push(["self", `${weightOf(view, own)}, ${shareOf(own, tree.total[0])}`]);
  if (view.unit === "ns") list.push(["samples", grouped(tree.values.count[node])]);
  if (view.requests > 0) {
    const each = weight / view.requests;
    list.push(["per request", view.unit === "ns" ? time(each) : each.toFixed(3)]);
  }
  const { lines } = view.functions[tree.functions[node]];
  if (lines.length > 0) list.push(["lines", lines.map(([line, sum]) => `${line} (${shareOf(sum, view.total)})`).join(", ")]);
  return list;
}

function comparedFacts(node) {
  const values = ["old", "new"].map((side) => tree.values[side][node] * view.scale[side]);
  const change = values[1] - values[0];
  const relative = values[0] > 0 && values[1] > 0 ? ` (${signed(`${((change / values[0]) * 100).toFixed(1)} %`, change)})` : "";
  const per = view.compare === "share" ? "" : " per request";
  return [
    ["old", comparable(view, values[0]) + per],
    ["new", comparable(view, values[1]) + per],
    ["change", signed(comparable(view, change), change) + (values[0] === 0 ? " (new)" : values[1] === 0 ? " (vanished)" : relative)],
  ];
}

function describe(node, event) {
  const tip = $("tip");
  if (node < 0 || tree === undefined) {
    tip.hidden = true;
    $("status").textContent = "";
    return;
  }
  const { name, list } = facts(node);
  $("status").textContent = `${name} · ${list.map(([label, value]) => `${label} ${value}`).join(" · ")}`;
  tip.hidden = event === null;
  if (event === null) return;
  const terms = list.flatMap(([label, value]) => [element("dt", { textContent: label }), element("dd", { textContent: value })]);
  tip.replaceChildren(element("b", { textContent: name }), element("dl", {}, ...terms));
  const [x, y] = [event.clientX + 14, event.clientY + 16];
  tip.style.left = `${Math.max(Math.min(x, window.innerWidth - tip.offsetWidth - 8), 8)}px`;
  tip.style.top = `${y + tip.offsetHeight > window.innerHeight ? Math.max(event.clientY - tip.offsetHeight - 10, 0) : y}px`;
}

function showPath(node) {
  const parts = [];
  for (let at = node; at >= 0; at = tree.parents[at]) parts.push(at);
  const links = parts.reverse().flatMap((at, index) => {
    const last = index === parts.length - 1;
    const part = element(last ? "b" : "a", { textContent: paint.name(at) });
    if (!last) part.addEventListener("click", () => flame.zoomTo(at));
    return index === 0 ? [part] : [" › ", part];
  });
  $("path").replaceChildren(element("span", {}, ...links));
}
