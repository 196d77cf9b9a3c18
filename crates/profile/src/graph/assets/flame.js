// The graph: a canvas as large as the window, behind which a sheet as tall as the tree scrolls.
// Only rows and boxes in sight are drawn, so that a frame's cost is the window's and not the tree's.

const ROW = 18;
const TEXT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
// Boxes narrower than this are drawn as one with their neighbours.
const NARROW = 0.9;
const ZOOM_MS = 180;

class Flame {
  constructor({ scroller, sheet, canvas, paint, describe, choose }) {
    Object.assign(this, { scroller, sheet, canvas, paint, describe, choose });
    this.context = canvas.getContext("2d");
    this.context.font = TEXT;
    this.advance = this.context.measureText("0".repeat(100)).width / 100;
    this.icicle = false;
    this.selected = -1;
    this.hovered = -1;
    this.left = 0;
    this.whole = 1;
    scroller.addEventListener("scroll", () => this.redraw(), { passive: true });
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("dblclick", () => this.zoomTo(0));
    scroller.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(scroller);
  }

  show(tree) {
    this.tree = tree;
    this.selected = this.hovered = -1;
    this.zoomed = 0;
    this.left = 0;
    this.whole = Math.max(tree.total[0], Number.MIN_VALUE);
    this.resize();
    this.scrollToRoot();
  }

  resize() {
    if (this.tree === undefined) return;
    const ratio = window.devicePixelRatio || 1;
    this.width = this.scroller.clientWidth;
    this.height = this.scroller.clientHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.tall = Math.max(this.tree.rows.length * ROW + 8, this.height);
    this.sheet.style.height = `${this.tall}px`;
    this.draw();
  }

  setIcicle(icicle) {
    this.icicle = icicle;
    if (this.tree !== undefined) this.scrollToRoot();
  }

  scrollToRoot() {
    this.scroller.scrollTop = this.icicle ? 0 : this.tall;
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  // From a depth to a place in the window, and back.
  top(depth) {
    const onSheet = this.icicle ? depth * ROW + 4 : this.tall - (depth + 1) * ROW - 4;
    return onSheet - this.scroller.scrollTop;
  }

  depthAt(y) {
    const onSheet = y + this.scroller.scrollTop;
    return Math.floor(this.icicle ? (onSheet - 4) / ROW : (this.tall - 4 - onSheet) / ROW);
  }

  draw() {
    const { context, tree, width, height } = this;
    if (tree === undefined || width === 0) return;
    context.clearRect(0, 0, width, height);
    context.font = TEXT;
    context.textBaseline = "middle";
    const ends = [this.depthAt(0), this.depthAt(height)];
    const last = Math.min(Math.max(...ends), tree.rows.length - 1);
    for (let depth = Math.max(Math.min(...ends), 0); depth <= last; depth += 1) this.drawRow(depth);
    if (this.selected >= 0) this.outline(this.selected, 2);
    if (this.hovered >= 0) this.outline(this.hovered, 1);
  }

  drawRow(depth) {
    const { context, tree, left, width } = this;
    const row = tree.rows[depth];
    const scale = width / this.whole;
    const y = this.top(depth);
    let grey = null;
    const flush = () => {
      if (grey === null) return;
      context.fillStyle = grey.found ? this.paint.found : this.paint.merged;
      context.fillRect(grey.from, y, Math.max(grey.to - grey.from, 0.5), ROW - 1);
      grey = null;
    };
    for (let at = this.firstAt(row, left); at < row.length; at += 1) {
      const node = row[at];
      const x = (tree.start[node] - left) * scale;
      if (x > width) break;
      const wide = tree.total[node] * scale;
      if (wide < NARROW) {
        const found = this.paint.isFound(node);
        if (grey !== null && (x - grey.to > 1 || grey.found !== found)) flush();
        grey = { from: grey?.from ?? x, to: x + wide, found };
      } else {
        flush();
        this.drawBox(node, Math.max(x, 0), y, Math.min(x + wide, width) - Math.max(x, 0));
      }
    }
    flush();
  }

  // The first node of a row that reaches beyond a place.
  firstAt(row, place) {
    const { start, total } = this.tree;
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[row[middle]] + total[row[middle]] <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  drawBox(node, x, y, wide) {
    const { context } = this;
    const caller = this.tree.depth[node] < this.tree.depth[this.zoomed];
    context.globalAlpha = caller ? 0.5 : 1;
    context.fillStyle = this.paint.fill(node);
    context.fillRect(x, y, wide > 2 ? wide - 0.7 : wide, ROW - 1);
    if (this.paint.isHatched(node)) this.hatch(x, y, wide);
    const columns = Math.floor((wide - 6) / this.advance);
    if (columns >= 3) {
      const name = this.paint.name(node);
      context.fillStyle = this.paint.text(node);
      context.fillText(name.length <= columns ? name : `${name.slice(0, columns - 1)}…`, x + 3, y + ROW / 2);
    }
    context.globalAlpha = 1;
  }

  hatch(x, y, wide) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, Math.max(wide - 0.7, 0.5), ROW - 1);
    context.clip();
    context.strokeStyle = this.paint.hatching;
    context.beginPath();
    for (let at = x - ROW; at < x + wide; at += 7) {
      context.moveTo(at, y + ROW);
      context.lineTo(at + ROW, y);
    }
    context.stroke();
    context.restore();
  }

  outline(node, thick) {
    const { context, tree } = this;
    const scale = this.width / this.whole;
    const x = (tree.start[node] - this.left) * scale;
    context.strokeStyle = this.paint.outline;
    context.lineWidth = thick;
    context.strokeRect(x + 0.5, this.top(tree.depth[node]) + 0.5, Math.max(tree.total[node] * scale - 1, 1), ROW - 2);
  }

  nodeAt(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const row = this.tree.rows[this.depthAt(event.clientY - bounds.top)];
    if (row === undefined) return -1;
    const place = this.left + ((event.clientX - bounds.left) / this.width) * this.whole;
    const node = row[this.firstAt(row, place)];
    return node !== undefined && this.tree.start[node] <= place ? node : -1;
  }

  hover(event) {
    const node = event === null || this.tree === undefined ? -1 : this.nodeAt(event);
    this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
    this.describe(node >= 0 ? node : this.selected, node >= 0 ? event : null);
    if (node === this.hovered) return;
    this.hovered = node;
    this.redraw();
  }

  click(event) {
    const node = this.nodeAt(event);
    if (node >= 0) this.zoomTo(node);
  }

  zoomTo(node) {
    this.zoomed = node;
    this.selected = node === 0 ? -1 : node;
    this.choose(node);
    this.glide(this.tree.start[node], Math.max(this.tree.total[node], Number.MIN_VALUE));
  }

  // Moves to a part of the tree, at once for those who do not like movement.
  glide(left, whole) {
    cancelAnimationFrame(this.gliding);
    const from = { left: this.left, whole: this.whole };
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const begin = performance.now();
    const step = (now) => {
      const done = calm ? 1 : Math.min(Math.max(now - begin, 0) / ZOOM_MS, 1);
      const eased = 1 - (1 - done) ** 3;
      this.left = from.left + (left - from.left) * eased;
      this.whole = from.whole + (whole - from.whole) * eased;
      this.draw();
      if (done < 1) this.gliding = requestAnimationFrame(step);
    };
    step(calm ? begin : performance.now());
  }

  // Selects a node and brings it into sight.
  select(node) {
    if (node === undefined || node < 0) return;
    this.selected = node;
    this.describe(node, null);
    const y = this.top(this.tree.depth[node]);
    if (y < 0) this.scroller.scrollTop += y - ROW;
    else if (y + ROW > this.height) this.scroller.scrollTop += y + 2 * ROW - this.height;
    this.redraw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = Math.max(this.selected, 0);
    const move = { ArrowUp: this.icicle ? -1 : 1, ArrowDown: this.icicle ? 1 : -1, ArrowLeft: "left", ArrowRight: "right" }[event.key];
    if (move === 1) this.select(this.widestChild(node));
    else if (move === -1) this.select(this.tree.parents[node]);
    else if (move !== undefined) this.select(this.beside(node, move));
    else if (event.key === "Enter") this.zoomTo(node);
    else if (event.key === "Backspace") this.zoomTo(Math.max(this.tree.parents[this.zoomed], 0));
    else return;
    event.preventDefault();
  }

  widestChild(node) {
    const { start, total, rows, depth } = this.tree;
    const row = rows[depth[node] + 1] ?? [];
    let best;
    for (let at = this.firstAt(row, start[node]); at < row.length && start[row[at]] < start[node] + total[node]; at += 1) {
      if (this.tree.parents[row[at]] === node && !(total[row[at]] <= total[best])) best = row[at];
    }
    return best;
  }

  beside(node, side) {
    const row = this.tree.rows[this.tree.depth[node]];
    return row[row.indexOf(node) + (side === "left" ? -1 : 1)];
  }
}
