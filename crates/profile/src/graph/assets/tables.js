// Tables: functions, system calls, and what a comparison lists beside its graph.

// Rows of a table; a page of more is slower than a search.
const MAX_ROWS = 1000;

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// A table whose headings sort it. A column: { title, number, value(row), cell(row) }.
function sortable(caption, columns, rows, sorted) {
  const table = element("table", {}, element("caption", { textContent: caption }));
  const order = { column: sorted, down: true };
  const fill = () => {
    const { value, number } = columns[order.column];
    const compare = (a, b) => (number ? value(a) - value(b) : String(value(a)).localeCompare(String(value(b))));
    const all = [...rows].sort((a, b) => (order.down ? -compare(a, b) : compare(a, b)));
    const heads = columns.map((column, index) => heading(column, index));
    const lines = all.slice(0, MAX_ROWS).map((row) => element("tr", {}, ...columns.map((column) => cell(column, row))));
    if (all.length > MAX_ROWS) {
      const text = `and ${grouped(all.length - MAX_ROWS)} more: narrow them down with a search`;
      lines.push(element("tr", {}, element("td", { textContent: text, colSpan: columns.length, className: "faint" })));
    }
    table.replaceChildren(table.caption, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
  };
  const heading = (column, index) => {
    const mark = index === order.column ? (order.down ? " ▾" : " ▴") : "";
    const button = element("button", { type: "button", textContent: column.title + mark });
    button.addEventListener("click", () => {
      order.down = index === order.column ? !order.down : Boolean(column.number);
      order.column = index;
      fill();
      table.querySelectorAll("th button")[index].focus();
    });
    const head = element("th", { scope: "col", className: column.number ? "number" : "" }, button);
    if (index === order.column) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    return head;
  };
  fill();
  return table;
}

function cell(column, row) {
  const content = column.cell(row);
  const made = element("td", { className: [column.number ? "number" : "", column.style?.(row) ?? ""].join(" ").trim() });
  made.append(content);
  return made;
}

function nameColumn(view, find) {
  return {
    title: "Function",
    value: (row) => view.functions[row.id].name,
    style: () => "name",
    cell: (row) => {
      const link = element("a", { textContent: view.functions[row.id].name, href: "#", title: "Show in the graph" });
      link.addEventListener("click", (event) => {
        event.preventDefault();
        find(view.functions[row.id].name);
      });
      return link;
    },
  };
}

function moduleColumn(view) {
  const module = (row) => view.functions[row.id].module;
  return { title: "Module", value: module, style: () => "faint", cell: (row) => module(row).split("/").at(-1) };
}

function functionTable(view, rows, whole, { find, colourOf }) {
  const amount = (title, of) => [
    { title, number: true, value: of, cell: (row) => weightOf(view, of(row)) },
    { title: "%", number: true, value: of, cell: (row) => shareOf(of(row), whole) },
  ];
  const bar = (row) => {
    const mark = element("i");
    mark.style.width = `${(row.self.weight / Math.max(whole, 1)) * 100}%`;
    mark.style.background = colourOf(row.id);
    return element("span", { className: "bar" }, mark);
  };
  const lines = (row) => view.functions[row.id].lines.map(([line, weight]) => `${line} (${shareOf(weight, view.total)})`).join(", ");
  const columns = [
    ...amount("Self", (row) => row.self.weight),
    ...amount("Total", (row) => row.total.weight),
    { title: "", number: true, value: (row) => row.self.weight, cell: bar },
    nameColumn(view, find),
    { title: "Lines", value: lines, style: () => "faint", cell: lines },
    moduleColumn(view),
    { title: "Origin", value: (row) => originOf(view, row.id).title, style: () => "faint", cell: (row) => originOf(view, row.id).title },
  ];
  const byTotal = rows.toSorted((a, b) => b.total.weight - a.total.weight);
  return sortable(`${grouped(rows.length)} functions`, columns, byTotal, 0);
}

function differenceTable(view, rows, find, caption) {
  const value = (side, part) => (row) => row[part][side] * view.scale[side];
  const change = (part) => (row) => value("new", part)(row) - value("old", part)(row);
  const direction = (of) => (row) => (of(row) > 0 ? "more" : of(row) < 0 ? "less" : "");
  const amount = (title, of) => ({ title, number: true, value: of, cell: (row) => comparable(view, of(row)) });
  const delta = (title, of) => ({
    title,
    number: true,
    value: (row) => Math.abs(of(row)),
    style: direction(of),
    cell: (row) => signed(comparable(view, of(row)), of(row)),
  });
  const columns = [
    amount("Self old", value("old", "self")),
    amount("Self new", value("new", "self")),
    delta("Change", change("self")),
    amount("Total old", value("old", "total")),
    amount("Total new", value("new", "total")),
    delta("Change", change("total")),
    nameColumn(view, find),
    moduleColumn(view),
  ];
  return sortable(caption, columns, rows, 2);
}

function forwardedTable(view, find) {
  const rows = view.forwarded.map(([id, side, paths, weight]) => ({ id, side, paths, weight }));
  const columns = [
    nameColumn(view, find),
    { title: "Shown by", value: (row) => row.side, cell: (row) => (row.side === "old" ? "old only" : "new only") },
    { title: "Paths", number: true, value: (row) => row.paths, cell: (row) => grouped(row.paths) },
    { title: "Weight there", number: true, value: (row) => row.weight, cell: (row) => weightOf(view, row.weight) },
  ];
  const caption = "Frames that only passed on a call and are there on one side: a tail call, merged with the other side";
  return sortable(caption, columns, rows, 3);
}

function systemCallTable(view) {
  const rows = view.calls.map(([pid, name, calls, errors, total, max]) => ({ pid, name, calls, errors, total, max }));
  const number = (title, of, show) => ({ title, number: true, value: of, cell: (row) => show(of(row)) });
  const columns = [
    { title: "System call", value: (row) => row.name, style: () => "name", cell: (row) => row.name },
    number("Process", (row) => row.pid, String),
    number("Calls", (row) => row.calls, grouped),
    ...(view.requests > 0 ? [number("Per request", (row) => row.calls / view.requests, (value) => value.toFixed(3))] : []),
    number("Errors", (row) => row.errors, grouped),
    number("Total", (row) => row.total, time),
    number("Mean", (row) => row.total / Math.max(row.calls, 1), time),
    number("Longest", (row) => row.max, time),
  ];
  return sortable("System calls, blocked time included", columns, rows, view.requests > 0 ? 5 : 4);
}
