// The client for browsers, against a WebSocket and timers that the test controls.
//
//   node client.mjs PATH/weir-messages.js
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const { connect } = await import(pathToFileURL(process.argv[2]));

const sockets = [];
const timers = new Map();
let now = 0;
let nextTimer = 1;
const schedule = (run, delay, repeat) => (timers.set(nextTimer, { run, at: now + delay, repeat }), nextTimer++);
globalThis.setTimeout = (run, delay) => schedule(run, delay);
globalThis.setInterval = (run, delay) => schedule(run, delay, delay);
globalThis.clearTimeout = globalThis.clearInterval = (id) => void timers.delete(id);

function pass(duration) {
  const end = now + duration;
  for (;;) {
    const due = [...timers].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at)[0];
    if (!due) break;
    const [id, timer] = due;
    now = timer.at;
    if (timer.repeat) timer.at += timer.repeat;
    else timers.delete(id);
    timer.run();
  }
  now = end;
}

globalThis.WebSocket = class {
  constructor(url, protocol) {
    Object.assign(this, { url, protocol, readyState: 0, sent: [] });
    sockets.push(this);
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.readyState = 2;
  }
  accept() {
    this.readyState = 1;
    this.onopen();
  }
  say(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }
  drop() {
    this.readyState = 3;
    this.onclose();
  }
};

const seen = [];
const client = connect("wss://x/messages", {
  topics: ["a/+", "b"],
  onMessage: (message) => seen.push(message),
  onGap: (gap) => seen.push(gap),
  onPresence: ({ count }) => seen.push(["present", count]),
  onState: (state, detail) => seen.push(detail ? [state, detail] : state),
});
const last = () => sockets.at(-1);
const take = () => seen.splice(0);

assert.equal(last().protocol, "weir.v1");
assert.equal(client.publish("a/1", "early"), false);
last().accept();
assert.deepEqual(last().sent, [{ subscribe: ["a/+", "b"] }]);
assert.deepEqual(take(), ["connecting", "open"]);

// Messages of both kinds, an error; then the connection breaks and goes on behind the last message.
last().say({ subscribed: ["a/+", "b"], at: "1f:5" });
last().say({ topic: "a/1", id: "1f:6", data: "" });
last().say({ topic: "b", id: "1f:7", base64: "/wo=" });
last().say({ error: "no", about: "c" });
assert.deepEqual(take(), [
  { topic: "a/1", id: "1f:6", data: "" },
  { topic: "b", id: "1f:7", data: Uint8Array.of(255, 10) },
  ["error", { error: "no", about: "c" }],
]);
// Who is there is no message: it has no id to go on from.
last().say({ topic: "a/1", count: 1, present: [{ id: "01", name: "anna" }] });
last().say({ topic: "a/1", count: 0, left: { id: "01", name: "anna" } });
assert.deepEqual(take(), [["present", 1], ["present", 0]]);
client.unsubscribe("b");
client.subscribe("c/#");
assert.equal(client.publish("a/2", "x", 9), true);
assert.deepEqual(last().sent.slice(1), [
  { unsubscribe: ["b"] },
  { subscribe: ["c/#"] },
  { publish: "a/2", data: "x", id: 9 },
]);
last().drop();
pass(1000);
assert.equal(sockets.length, 2);
last().accept();
assert.deepEqual(last().sent, [{ subscribe: ["a/+", "c/#"], since: "1f:7" }]);
take();

// A gap moves on, too; the server says when to come back.
last().say({ gap: "*", from: "1f:7", to: "20:3" });
assert.deepEqual(take(), [{ gap: "*", from: "1f:7", to: "20:3" }]);
last().say({ subscribed: ["a/+", "c/#"], at: "20:3" });
last().say({ reconnect_ms: 5000 });
last().drop();
pass(4999);
assert.equal(sockets.length, 2);
pass(1001);
assert.equal(sockets.length, 3);

// Attempts that fail are further and further apart, but at most 30 s.
const started = now;
for (let count = 0; count < 20; count++) {
  last().drop();
  const before = sockets.length;
  pass(30_000);
  assert.equal(sockets.length, before + 1);
}
assert.ok(now > started);
last().accept();
assert.deepEqual(last().sent, [{ subscribe: ["a/+", "c/#"], since: "20:3" }]);

// A silent connection is asked, and given up when it does not answer; what it says later is not heard.
const silent = last();
pass(30_000);
assert.deepEqual(silent.sent.at(-1), { ping: 0 });
silent.say({ pong: 0 });
pass(30_000);
take();
pass(31_000);
assert.equal(silent.readyState, 2);
assert.equal(sockets.at(-2), silent);
silent.say({ topic: "a/1", id: "20:4", data: "late" });
silent.drop();
assert.deepEqual(take(), ["closed", "connecting"]);

// More filters than a frame takes; and a closed client stays closed.
for (let n = 0; n < 1500; n++) client.subscribe(`t/${n}`);
last().accept();
const parts = last().sent.map((frame) => [frame.subscribe.length, frame.since, frame.more]);
assert.deepEqual(parts, [...Array(7).fill([200, "20:3", true]), [102, "20:3", undefined]]);
const count = sockets.length;
client.close();
last().drop();
pass(120_000);
assert.equal(sockets.length, count);
assert.equal(timers.size, 0);
console.log("client: resumes, waits, gives up and closes as it should");
