// Chromium: the page of the demo site, the client for browsers, and the browser's own EventSource.
//
//   node browser.mjs PORT NGINX_PID CHROMIUM
import { chromium } from "playwright-core";
import { Report, publishWhileReloading, until } from "./report.mjs";

const [port, master, executablePath] = process.argv.slice(2);
const base = `http://127.0.0.1:${port}`;
const report = new Report("chromium");
const COUNT = 120;
const numbers = Array.from({ length: COUNT }, (_, n) => String(n)).join();

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const context = await browser.newContext();

async function open() {
  const page = await context.newPage();
  page.failures = [];
  page.on("pageerror", (error) => page.failures.push(String(error)));
  await page.goto(`${base}/counter`);
  return page;
}
const count = (page) => page.textContent("#count").then(Number);

await report.run("the page of the demo counts messages in every window", async () => {
  const [one, two] = [await open(), await open()];
  await one.fill("input", "from a window");
  await one.click("button");
  await until(async () => (await count(one)) == 1 && (await count(two)) == 1);
  await two.click("button");
  await until(async () => (await count(one)) == 2 && (await count(two)) == 2);
  const lines = await one.locator("li").allTextContents();
  const late = await open();
  await until(async () => (await count(late)) == 2);
  const counts = [await count(one), await count(two), await count(late)];
  report.check("the page of the demo counts messages in every window", counts.join() == "2,2,2", counts);
  report.check("it shows them, the last one first", lines.join() == "hello,from a window", lines);

  await publishWhileReloading(base, "news", Number(master), COUNT);
  const total = COUNT + 2;
  await until(async () => (await count(one)) >= total && (await count(two)) >= total);
  const after = [await count(one), await count(two)];
  report.check("while nginx reloads twice it counts on without loss", after.join() == `${total},${total}`, after);
  const state = await one.textContent("#state");
  report.check("and tells of no gap", state == "", state);
  report.check("no script has failed", one.failures.length + two.failures.length == 0, [one.failures, two.failures]);
});

const page = await open();

await report.run("the client resumes", async () => {
  await page.evaluate(async () => {
    const { connect } = await import("/weir-messages.js");
    window.got = [];
    window.states = [];
    window.client = connect(`ws://${location.host}/live`, {
      topics: ["resumed/+"],
      onMessage: ({ topic, data }) => got.push(`${topic}=${data}`),
      onGap: () => got.push("gap"),
      onState: (state) => states.push(state),
    });
  });
  // Until it is subscribed.
  await until(async () => {
    await fetch(`${base}/live/resumed/ready`, { method: "POST", body: "ready" });
    return page.evaluate(() => got.length);
  });
  await page.evaluate(() => void (got.length = 0));
  await publishWhileReloading(base, "resumed/a", Number(master), COUNT);
  const numbered = () => page.evaluate(() => got.filter((text) => text != "resumed/ready=ready"));
  await until(async () => (await numbered()).length >= COUNT);
  const got = (await numbered()).map((text) => text.replace("resumed/a=", "")).join();
  report.check("the client gets each message once and in order while nginx reloads twice", got == numbers, got);
  const opened = await page.evaluate(() => states.filter((state) => state == "open").length);
  report.check("over more than one connection", opened > 1, opened);
});

await report.run("the client publishes", async () => {
  const sent = await page.evaluate(async () => {
    got.length = 0;
    client.subscribe("chat/#");
    const sent = client.publish("chat/room", "größe 😀");
    for (let n = 0; n < 200 && !got.length; n++) await new Promise((resolve) => setTimeout(resolve, 20));
    return [sent, ...got];
  });
  report.check("the client subscribes later, and publishes", sent.join() == "true,chat/room=größe 😀", sent);
});

await report.run("EventSource", async () => {
  await page.evaluate(async () => {
    window.events = [];
    const source = new EventSource("/live/native");
    source.onmessage = ({ data }) => events.push(data);
    source.addEventListener("gap", () => events.push("gap"));
    await new Promise((resolve) => (source.onopen = source.onerror = resolve));
  });
  await publishWhileReloading(base, "native", Number(master), COUNT);
  await until(() => page.evaluate((count) => events.length >= count, COUNT));
  const events = await page.evaluate(() => events.join());
  report.check("its EventSource gets each message once and in order while nginx reloads twice", events == numbers, events);
});

await report.run("pages of other origins", async () => {
  // The same site under another name: another origin.
  const other = await context.newPage();
  await other.goto(`http://localhost:${port}/counter`);
  const outcome = await other.evaluate(
    (port) =>
      new Promise((resolve) => {
        const socket = new WebSocket(`ws://127.0.0.1:${port}/live`, "weir.v1");
        socket.onopen = () => resolve("open");
        socket.onclose = ({ code }) => resolve(code);
      }),
    port,
  );
  report.check("a page of another origin cannot connect", outcome == 1006, outcome);
  const status = await other.evaluate(
    (port) => fetch(`http://127.0.0.1:${port}/live/forged`, { method: "POST", mode: "no-cors", body: "x" }).then(String, String),
    port,
  );
  const kept = await fetch(`${base}/live/forged?since=oldest`, { signal: AbortSignal.timeout(1000) }).catch(() => null);
  report.check("nor publish", kept === null, [status, await kept?.text()]);
});

await browser.close();
process.exit(report.close());
