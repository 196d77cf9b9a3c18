// Trees out of a profile's data. Weights are plain numbers; a tree is a set of typed arrays whose
// nodes are in the order of a walk, so that 200,000 of them are laid out within a frame or two.

// A reversed tree may have more nodes than its profile: stacks are cut where it reaches this many.
const MAX_REVERSED = 500_000;

// The nodes of a profile as they were written: functions, and parents as distances.
function decodeNodes(raw) {
  const functions = Int32Array.from(raw.functions);
  const parents = new Int32Array(functions.length);
  for (let node = 0; node < parents.length; node += 1) parents[node] = node - raw.parents[node];
  parents[0] = -1;
  return { functions, parents };
}

// What each node itself weighs: of a plain profile with its samples, filtered by thread.
function ownWeights(view, keepsThread) {
  const size = view.nodes.functions.length;
  if (view.difference) return { old: Float64Array.from(view.selfs.old), new: Float64Array.from(view.selfs.new) };
  const own = { weight: new Float64Array(size), count: new Float64Array(size) };
  const { nodes, threads, counts, weights } = view.samples;
  for (let at = 0; at < nodes.length; at += 1) {
    if (!keepsThread(threads[at])) continue;
    own.weight[nodes[at]] += weights[at];
    own.count[nodes[at]] += counts[at];
  }
  return own;
}

// The same weights with callers above the functions that they call.
function reversed(view, own) {
  const names = Object.keys(own);
  const functions = [view.nodes.functions[0]];
  const parents = [-1];
  const known = new Map();
  const sums = names.map(() => [0]);
  const width = view.functions.length;
  for (let leaf = 0; leaf < view.nodes.functions.length; leaf += 1) {
    if (names.every((name) => own[name][leaf] === 0)) continue;
    let at = 0;
    for (let node = leaf; node > 0; node = view.nodes.parents[node]) {
      const key = at * width + view.nodes.functions[node];
      let next = known.get(key);
      if (next === undefined) {
        if (functions.length >= MAX_REVERSED) break;
        next = functions.length;
        known.set(key, next);
        functions.push(view.nodes.functions[node]);
        parents.push(at);
        for (const sum of sums) sum.push(0);
      }
      at = next;
    }
    names.forEach((name, index) => {
      sums[index][at] += own[name][leaf];
    });
  }
  return inOrder(functions, parents, names, sums);
}

// Renumbers nodes into the order of a walk, children by function.
function inOrder(functions, parents, names, sums) {
  const children = functions.map(() => []);
  for (let node = 1; node < functions.length; node += 1) children[parents[node]].push(node);
  const result = { functions: new Int32Array(functions.length), parents: new Int32Array(functions.length) };
  const own = Object.fromEntries(names.map((name) => [name, new Float64Array(functions.length)]));
  const open = [[0, -1]];
  for (let next = 0; open.length > 0; next += 1) {
    const [node, parent] = open.pop();
    result.functions[next] = functions[node];
    result.parents[next] = parent;
    names.forEach((name, index) => {
      own[name][next] = sums[index][node];
    });
    children[node].sort((a, b) => functions[b] - functions[a]);
    for (const child of children[node]) open.push([child, next]);
  }
  return { nodes: result, own };
}

function totals(parents, own) {
  const total = Float64Array.from(own);
  for (let node = total.length - 1; node > 0; node -= 1) total[parents[node]] += total[node];
  return total;
}

// A tree that can be drawn: `total` and `self` are widths, `values` is what is told about a node.
function buildTree(view, { keepsThread, isReversed, side }) {
  let own = ownWeights(view, keepsThread);
  let nodes = view.nodes;
  if (isReversed) ({ nodes, own } = reversed(view, own));
  const values = {};
  for (const name of Object.keys(own)) values[name] = totals(nodes.parents, own[name]);
  const self = view.difference ? comparedWidths(view, own, values, side) : own.weight;
  const tree = { functions: nodes.functions, parents: nodes.parents, own, values, self, total: totals(nodes.parents, self) };
  return place(tree);
}

// Of two profiles one side gives the widths; what vanished is drawn beside it as wide as it was.
function comparedWidths(view, own, values, side) {
  const scale = { old: view.scale.old, new: view.scale.new };
  return own[side].map((weight, node) => {
    if (side === "new" && values.new[node] === 0) return own.old[node] * scale.old;
    return weight * scale[side];
  });
}

function place(tree) {
  const size = tree.total.length;
  const start = new Float64Array(size);
  const cursor = new Float64Array(size);
  const depth = new Int32Array(size);
  const rows = [];
  for (let node = 0; node < size; node += 1) {
    if (node > 0) {
      const parent = tree.parents[node];
      depth[node] = depth[parent] + 1;
      start[node] = cursor[parent];
      cursor[parent] += tree.total[node];
    }
    cursor[node] = start[node];
    if (tree.total[node] > 0 || node === 0) (rows[depth[node]] ??= []).push(node);
  }
  return Object.assign(tree, { start, depth, rows });
}

// Functions of a tree with what they weigh; one that calls itself counts once.
function byFunction(view, tree) {
  const names = Object.keys(tree.values);
  const lines = new Map();
  const running = new Int32Array(view.functions.length);
  const path = [];
  for (let node = 0; node < tree.functions.length; node += 1) {
    while (path.length > tree.depth[node]) running[path.pop()] -= 1;
    const id = tree.functions[node];
    path.push(id);
    running[id] += 1;
    if (node === 0) continue;
    let line = lines.get(id);
    if (line === undefined) {
      line = { id, self: {}, total: {} };
      for (const name of names) line.self[name] = line.total[name] = 0;
      lines.set(id, line);
    }
    for (const name of names) {
      line.self[name] += tree.own[name][node];
      if (running[id] === 1) line.total[name] += tree.values[name][node];
    }
  }
  return [...lines.values()];
}
