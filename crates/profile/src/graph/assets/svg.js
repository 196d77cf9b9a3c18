// Zoom, search and inversion of a flame graph in a browser. The picture is complete without it.
(() => {
  "use strict";
  const svg = document.currentScript.ownerSVGElement;
  const number = (name) => Number(svg.dataset[name]);
  const [head, row, rows, margin] = ["head", "row", "rows", "margin"].map(number);
  const width = svg.viewBox.baseVal.width;
  const room = width - 2 * margin;
  const SVG = "http://www.w3.org/2000/svg";

  // What the picture says about its boxes, in units of its own width.
  const boxes = Array.from(svg.querySelectorAll("#boxes > g"), (group) => {
    const [title, rect, text] = group.children;
    const [name, ...detail] = title.textContent.split("\n");
    const x = Number(rect.getAttribute("x")) - margin;
    const shown = Number(rect.getAttribute("width"));
    const line = (Number(rect.getAttribute("y")) - head) / row;
    const depth = number("icicle") ? line : rows - 1 - line;
    return { group, rect, text, name, detail: detail.join(" "), x, width: shown > 1.4 ? shown + 0.6 : shown, depth };
  });
  const root = boxes[0];
  const state = { zoom: root, icicle: number("icicle") === 1, query: "", typing: false };

  // The advance of the font that the viewer has found.
  const advance = (() => {
    const probe = document.createElementNS(SVG, "text");
    probe.textContent = "0".repeat(100);
    svg.append(probe);
    const length = probe.getComputedTextLength() / 100;
    probe.remove();
    return length || 7.3;
  })();

  function fit(name, pixels) {
    const columns = Math.floor((pixels - 6) / advance);
    if (columns < 3) return "";
    return name.length <= columns ? name : name.slice(0, columns - 1) + "…";
  }

  // Boxes are put where the zoomed one is as wide as the picture; its callers are as wide too.
  function draw() {
    const { x: left, width: whole, depth } = state.zoom;
    const scale = room / whole;
    for (const box of boxes) {
      const caller = box.depth < depth && box.x <= left + 0.05 && box.x + box.width >= left + whole - 0.05;
      const inside = box.depth >= depth && box.x + box.width > left + 0.005 && box.x < left + whole - 0.005;
      box.group.style.display = caller || inside ? "" : "none";
      if (!caller && !inside) continue;
      box.group.classList.toggle("aside", caller);
      const x = caller ? 0 : (box.x - left) * scale;
      const pixels = caller ? room : box.width * scale;
      const y = head + row * (state.icicle ? box.depth : rows - 1 - box.depth);
      box.rect.setAttribute("x", margin + x);
      box.rect.setAttribute("y", y);
      box.rect.setAttribute("width", pixels > 2 ? pixels - 0.6 : pixels);
      box.text.setAttribute("x", margin + x + 3);
      box.text.setAttribute("y", y + 13);
      box.text.textContent = fit(box.name, pixels);
    }
  }

  function matcher(query) {
    if (query === "") return () => false;
    try {
      const pattern = new RegExp(query, "i");
      return (name) => pattern.test(name);
    } catch {
      const text = query.toLowerCase();
      return (name) => name.toLowerCase().includes(text);
    }
  }

  // A box inside of a found one adds nothing: boxes come parents first, from left to right.
  function search() {
    const matches = matcher(state.query);
    let sum = 0;
    const covered = [];
    for (const box of boxes) {
      const found = matches(box.name);
      box.group.classList.toggle("found", found);
      if (!found) continue;
      while (covered.length > 0 && covered.at(-1).depth >= box.depth) covered.pop();
      const outer = covered.at(-1);
      if (outer !== undefined && box.x >= outer.x - 0.05 && box.x + box.width <= outer.x + outer.width + 0.05) continue;
      sum += box.width;
      covered.push(box);
    }
    buttons(state.query === "" ? "" : `${((sum / root.width) * 100).toFixed(2)} % matched`);
  }

  function reset() {
    Object.assign(state, { zoom: root, query: "", typing: false });
    search();
    draw();
  }

  function invert() {
    state.icicle = !state.icicle;
    draw();
  }

  function typing() {
    state.typing = true;
    search();
  }

  // From right to left, above the boxes.
  function buttons(matched) {
    const label = state.typing || state.query !== "" ? `Search: ${state.query}${state.typing ? "▏" : ""}` : "Search (/)";
    const entries = [["Invert (i)", invert], ["Reset (Esc)", reset], [label, typing], [matched, null]];
    let x = width - margin;
    const made = entries.map(([text, action]) => {
      const element = document.createElementNS(SVG, "text");
      element.textContent = text;
      element.setAttribute("text-anchor", "end");
      element.setAttribute("y", 24);
      element.setAttribute("x", x);
      if (action === null) element.classList.add("plain");
      else element.addEventListener("click", action);
      return element;
    });
    const place = svg.querySelector("#buttons");
    place.replaceChildren(...made);
    for (const element of made) {
      element.setAttribute("x", x);
      x -= element.getComputedTextLength() + 18;
    }
  }

  function key(event) {
    const starts = event.key === "/" || ((event.ctrlKey || event.metaKey) && event.key === "f");
    if (starts && !state.typing) {
      event.preventDefault();
      return typing();
    }
    if (event.key === "Escape") return reset();
    if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
    if (!state.typing) return event.key === "i" ? invert() : undefined;
    if (event.key === "Enter") state.typing = false;
    else if (event.key === "Backspace") state.query = state.query.slice(0, -1);
    else if (event.key.length === 1) state.query += event.key;
    else return undefined;
    event.preventDefault();
    return search();
  }

  const detail = svg.querySelector("#detail");
  for (const box of boxes) {
    box.group.addEventListener("mouseenter", () => {
      detail.textContent = `${box.name}  ${box.detail}`;
    });
    box.group.addEventListener("click", () => {
      state.zoom = box;
      draw();
    });
  }
  svg.addEventListener("mouseleave", () => {
    detail.textContent = " ";
  });
  document.addEventListener("keydown", key);
  // `graph.svg#search=ngx` opens with a search.
  const wanted = new URLSearchParams(document.location.hash.slice(1)).get("search");
  if (wanted !== null) state.query = wanted;
  search();
})();
