// The library `eventsource`.
//
//   node events.mjs PORT NGINX_PID
import { EventSource } from "eventsource";
import { Report, publishWhileReloading, until } from "./report.mjs";

const [port, master] = process.argv.slice(2);
const base = `http://127.0.0.1:${port}`;
const report = new Report("eventsource");
const COUNT = 120;

await report.run("resuming", async () => {
  const got = [];
  let opened = 0;
  const source = new EventSource(`${base}/live/events`);
  source.onmessage = ({ data, lastEventId }) => got.push([data, lastEventId]);
  source.addEventListener("gap", () => got.push(["gap"]));
  source.onopen = () => opened++;
  await until(() => opened);
  await publishWhileReloading(base, "events", Number(master), COUNT);
  await until(() => got.length >= COUNT);
  source.close();
  const data = got.map(([data]) => data).join();
  const expected = Array.from({ length: COUNT }, (_, n) => String(n)).join();
  report.check("each message once and in order while nginx reloads twice", data == expected, data);
  report.check("over more than one connection", opened > 1, opened);
  report.check("each with an id of its own", new Set(got.map(([, id]) => id)).size == COUNT, got.slice(0, 3));
});

await report.run("filters", async () => {
  const got = [];
  const source = new EventSource(`${base}/live?topic=${encodeURIComponent("f/+")}&since=oldest`);
  source.onmessage = ({ data }) => got.push(JSON.parse(data));
  let isOpen = false;
  source.onopen = () => (isOpen = true);
  await until(() => isOpen);
  const text = "one\ntwo\n\n größe: 😀\u2028";
  await fetch(`${base}/live/f/lines`, { method: "POST", body: text });
  await until(() => got.length);
  source.close();
  report.check("a filter gives objects with topic and data", got[0]?.topic == "f/lines" && got[0]?.data == text, got);
});

await report.run("raw lines", async () => {
  const got = [];
  const text = "one\ntwo\n\nthree: 😀\n";
  await fetch(`${base}/live/lines`, { method: "POST", body: text });
  await fetch(`${base}/live/lines`, { method: "POST", body: Buffer.from([255, 0, 10]) });
  const source = new EventSource(`${base}/live/lines?since=oldest`);
  source.onmessage = ({ data }) => got.push(data);
  source.addEventListener("binary", ({ data }) => got.push(`base64 ${data}`));
  await until(() => got.length >= 2);
  source.close();
  report.check("lines arrive as they were, other bytes as Base64", got.join("|") == `${text}|base64 /wAK`, got);
});

process.exit(report.close());
