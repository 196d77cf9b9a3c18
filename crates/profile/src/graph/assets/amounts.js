// Numbers as people read them.

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];

function time(ns) {
  const [size, unit] = TIMES.find(([least]) => Math.abs(ns) >= least) ?? [1, "ns"];
  const value = ns / size;
  const digits = Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(Number.isInteger(value) && unit === "ns" ? 0 : digits)} ${unit}`;
}

function grouped(number) {
  return Math.round(number).toLocaleString("en-US");
}

function weightOf(view, weight) {
  return view.unit === "ns" ? time(weight) : grouped(weight);
}

function shareOf(part, whole) {
  return whole > 0 ? `${((part / whole) * 100).toFixed(2)} %` : "-";
}

// A value of a comparison: per request, or a share of its profile.
function comparable(view, value) {
  if (view.compare === "share") return `${(value * 100).toFixed(2)} %`;
  return view.unit === "ns" ? `${time(value)}` : value.toFixed(2);
}

function signed(text, value) {
  return value > 0 ? `+${text}` : text.replace("-", "−");
}
